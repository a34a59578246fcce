# The program alone: no shell, no package manager, nothing to update but itself.
#
#   docker build --build-arg VERSION=v1.2.0 --build-arg COMMIT="$(git rev-parse HEAD)" --tag tollbook .
#   docker run --rm --publish 4020:4020 --volume tollbook:/data --env DATABASE_URL=… tollbook
#
# Everything but "serve" and "mcp" needs DATABASE_URL: there is no Postgres in here. compose.yaml has one.
ARG GO=1.26
FROM --platform=$BUILDPLATFORM golang:${GO} AS build
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=v0.0.0
ARG COMMIT=unknown
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false \
      -ldflags "-s -w -X main.linkedVersion=$VERSION -X main.linkedCommit=$COMMIT" -o /out/tollbook ./cmd/tollbook \
    && mkdir /out/data /out/tmp

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build --chown=65532:65532 /out/tmp /tmp
COPY --from=build /out/tollbook /tollbook
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 4020 9402
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=2m --retries=3 CMD ["/tollbook", "ready", "http://127.0.0.1:4020/healthz"]
ENTRYPOINT ["/tollbook"]
CMD ["up", "--data", "/data", "--listen", "0.0.0.0:4020", "--metrics", "0.0.0.0:9402"]
