# Canonry over HTTP; the store is the volume /data, or what CANONRY_POSTGRES_URL or CANONRY_MONGODB_URL name.
# Pin the base image by its digest: --build-arg PYTHON=python:3.13-slim@sha256:...
ARG PYTHON=python:3.13-slim
FROM ${PYTHON} AS build
WORKDIR /source
COPY requirements/image.lock requirements/image.lock
RUN python -m venv /opt/canonry \
    && /opt/canonry/bin/pip install --no-cache-dir --no-deps --require-hashes -r requirements/image.lock
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /opt/canonry/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM ${PYTHON}
# Registries of MCP servers look for this name, to know that the image is ours.
LABEL io.modelcontextprotocol.server.name="dev.canonry/canonry"
RUN useradd --system --uid 10001 --home-dir /data canonry \
    && install --directory --owner canonry --mode 0700 /data
COPY --from=build /opt/canonry /opt/canonry
ENV PATH=/opt/canonry/bin:$PATH PYTHONUNBUFFERED=1 CANONRY_DATA=/data
USER canonry
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/readyz', timeout=2)"]
ENTRYPOINT ["canonry"]
# It starts only with tokens (CANONRY_AUTH_ISSUER and its kin), or where the operator sets
# CANONRY_HTTP_PUBLIC and the role of everybody who reaches the port, CANONRY_AGENT_TYPE.
CMD ["serve", "--http", "0.0.0.0:8000", "--http-allowed-hosts", "localhost:*,127.0.0.1:*"]
