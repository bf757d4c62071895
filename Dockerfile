# The stowage image: bundles of what runs (tools/build/image.mjs) on Debian's slim image of Node. docs/image.md says how it is built and pinned.
#
#   docker build --tag stowage:local .
#
# It needs BuildKit, Docker's builder since version 23. All that runs while it builds runs on the builder's own architecture.
ARG BUILD_IMAGE=node:24.21.0-bookworm@sha256:64af3819f9275802414d7cdc38c27e9d82bd564dec4d4da87d008255d36c63b4
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6

FROM --platform=$BUILDPLATFORM ${BUILD_IMAGE} AS build
WORKDIR /source
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
ARG VERSION=
ARG SOURCE_DATE_EPOCH=0
ARG TARGETARCH
# All that is laid over the base, in one tree whose times are given: the same sources give the same layer. Temporal's client trusts what the
# system trusts; the slim image has no certificates.
RUN node tools/build/image.mjs /image/stowage --version "${VERSION}" --arch "${TARGETARCH}" \
    && mkdir -p /image/usr/local/bin /image/etc/ssl/certs \
    && ln -s /stowage/stowage /image/usr/local/bin/stowage \
    && cp --dereference /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ \
    && find /image -exec touch --no-dereference --date="@${SOURCE_DATE_EPOCH}" {} +

# Files alone: an image of another architecture needs no emulation.
FROM ${NODE_IMAGE}
ARG NODE_IMAGE
ARG VERSION=
ARG REVISION=
ARG CREATED=
LABEL org.opencontainers.image.title="Stowage" \
      org.opencontainers.image.description="A Kubernetes node autoscaler whose every node action is a durable Temporal workflow" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.base.name="${NODE_IMAGE}"
COPY --from=build /image/ /
# Both keep memory at rest small (docs/image.md); a large cluster gives V8's young generation more room.
ENV NODE_ENV=production \
    NODE_OPTIONS=--max-semi-space-size=8 \
    MALLOC_ARENA_MAX=2
# By number, so that a cluster can see that it is not root: the user `node`. Nothing is written anywhere.
USER 1000:1000
# Node itself is PID 1: it gets SIGTERM and stops in order. It starts no processes.
ENTRYPOINT ["stowage"]
CMD ["run"]
