# syntax=docker/dockerfile:1
# The agent's image: one static program. `make image` makes the same without a container engine.
FROM rust:1.95-slim-bookworm AS build
WORKDIR /source
COPY . .
# With the target named, the flag does not reach procedural macros, which must be shared libraries.
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/source/target \
    target="$(rustc -vV | sed -n 's/^host: //p')" \
    && RUSTFLAGS="-C target-feature=+crt-static" cargo build --locked --release --target "$target" -p why-terminating-agent \
    && cp "target/$target/release/why-terminating-agent" /why-terminating-agent

FROM scratch
LABEL org.opencontainers.image.title="why-terminating-agent" \
      org.opencontainers.image.description="Says, on one node, what holds every pod that should be gone" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /why-terminating-agent /why-terminating-agent
USER 0:0
WORKDIR /
ENTRYPOINT ["/why-terminating-agent"]
