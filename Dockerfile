# syntax=docker/dockerfile:1
# The images: one static program each, and beside it the licences of what is linked into it and its bill of materials.
# `make image` makes the same without a container engine. tests/dockerfile.sh runs all of this file but the compilation.
#
#   docker build --target agent -t …/agent:0.1.0 .
#   docker build --target aggregator -t …/aggregator:0.1.0 .
#   docker build --target plugin -t …/kubectl-why-terminating:0.1.0 .
FROM rust:1.95-slim-bookworm AS build
WORKDIR /source
COPY . .
# With the target named, the flag does not reach procedural macros, which must be shared libraries.
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/source/target \
    target="$(rustc -vV | sed -n 's/^host: //p')" \
    && RUSTFLAGS="-C target-feature=+crt-static" cargo build --locked --release --target "$target" \
        -p why-terminating-agent -p why-terminating-aggregator -p kubectl-why-terminating \
    && cd "target/$target/release" \
    && mkdir /agent /aggregator /plugin \
    && cp why-terminating-agent /agent && cp why-terminating-aggregator /aggregator && cp kubectl-why_terminating /plugin \
    && cd /source \
    && cargo run --locked -p xtask -- bill agent /agent/why-terminating-agent /agent \
    && cargo run --locked -p xtask -- bill aggregator /aggregator/why-terminating-aggregator /aggregator \
    && cargo run --locked -p xtask -- bill plugin /plugin/kubectl-why_terminating /plugin

FROM scratch AS plugin
LABEL org.opencontainers.image.title="kubectl-why_terminating" \
      org.opencontainers.image.description="Says what holds anything stuck in Terminating" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /plugin /
USER 65532:65532
WORKDIR /
ENTRYPOINT ["/kubectl-why_terminating"]

FROM scratch AS aggregator
LABEL org.opencontainers.image.title="why-terminating-aggregator" \
      org.opencontainers.image.description="Says, for a cluster, what holds everything that should be gone" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /aggregator /
USER 65532:65532
WORKDIR /
ENTRYPOINT ["/why-terminating-aggregator"]

FROM scratch AS agent
LABEL org.opencontainers.image.title="why-terminating-agent" \
      org.opencontainers.image.description="Says, on one node, what holds every pod that should be gone" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /agent /
USER 0:0
WORKDIR /
ENTRYPOINT ["/why-terminating-agent"]
