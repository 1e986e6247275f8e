# The images: one static program each. In a release its licences and bill of materials lie beside it.
#
#   docker build --target agent -t …/agent:0.1.0 .          (or aggregator, or plugin)
#
# `make image` copies programs that are built already: BINARIES=prebuilt, and a context that holds a folder for each image.
ARG BINARIES=build

FROM rust:1.95-slim-bookworm@sha256:d7482085ff5b415f84dba5647ae71606650bdef00db7aeb69f4b3d170c3e4082 AS build
RUN apt-get update -q && apt-get install -y -q --no-install-recommends jq
WORKDIR /source
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/source/target \
    for program in agent aggregator plugin; do sh deploy/contents.sh $program release "$(uname -m)" /$program || exit 1; done

FROM scratch AS prebuilt
COPY . /

FROM ${BINARIES} AS binaries

FROM scratch AS plugin
LABEL org.opencontainers.image.title="kubectl-why_terminating" \
      org.opencontainers.image.description="Says what holds anything stuck in Terminating" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=binaries /plugin /
USER 65532:65532
WORKDIR /
ENTRYPOINT ["/kubectl-why_terminating"]

FROM scratch AS aggregator
LABEL org.opencontainers.image.title="why-terminating-aggregator" \
      org.opencontainers.image.description="Says, for a cluster, what holds everything that should be gone" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=binaries /aggregator /
USER 65532:65532
WORKDIR /
ENTRYPOINT ["/why-terminating-aggregator"]

FROM scratch AS agent
LABEL org.opencontainers.image.title="why-terminating-agent" \
      org.opencontainers.image.description="Says, on one node, what holds every pod that should be gone" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=binaries /agent /
USER 0:0
WORKDIR /
ENTRYPOINT ["/why-terminating-agent"]
