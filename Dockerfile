# syntax=docker/dockerfile:1
# The images: one static program each. `make image` makes them without a container engine, and puts the licences of what is
# linked into them and a bill of materials beside the program; here these are not. tests/dockerfile.sh runs all of this
# file but the compilation.
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
        -p why-terminating-agent -p why-terminating-aggregator-service -p why-terminating-aggregator \
    && cd "target/$target/release" \
    && cp why-terminating-agent why-terminating-aggregator kubectl-why_terminating /

FROM scratch AS plugin
LABEL org.opencontainers.image.title="kubectl-why_terminating" \
      org.opencontainers.image.description="Says what holds anything stuck in Terminating" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /kubectl-why_terminating /kubectl-why_terminating
USER 65532:65532
WORKDIR /
ENTRYPOINT ["/kubectl-why_terminating"]

FROM scratch AS aggregator
LABEL org.opencontainers.image.title="why-terminating-aggregator" \
      org.opencontainers.image.description="Says, for a cluster, what holds everything that should be gone" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /why-terminating-aggregator /why-terminating-aggregator
USER 65532:65532
WORKDIR /
ENTRYPOINT ["/why-terminating-aggregator"]

FROM scratch AS agent
LABEL org.opencontainers.image.title="why-terminating-agent" \
      org.opencontainers.image.description="Says, on one node, what holds every pod that should be gone" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /why-terminating-agent /why-terminating-agent
USER 0:0
WORKDIR /
ENTRYPOINT ["/why-terminating-agent"]
