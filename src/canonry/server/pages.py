"""Pages beside the protocol: health, readiness, metrics, and files behind signed links."""

from ipaddress import ip_address
from typing import Final

from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend
from mcp.server.auth.provider import TokenVerifier
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from canonry.gateway.call import Gateway
from canonry.server.files import file_route
from canonry.server.hosts import HostGuard
from canonry.server.options import BearerOptions

_METRICS_TYPE: Final = "text/plain; version=0.0.4"
_FORWARDED: Final = ("forwarded", "x-forwarded-for", "x-real-ip")


class Pages:
    """Health for whoever starts the server, readiness for whoever sends it work, and metrics."""

    def __init__(
        self,
        gateway: Gateway,
        guard: HostGuard,
        verifier: TokenVerifier | None,
        bearer: BearerOptions | None,
    ) -> None:
        """Metrics are told on this machine, and to whoever has a token."""
        self._gateway = gateway
        self._guard = guard
        self._backend = None if verifier is None else BearerAuthBackend(verifier)
        self._scopes = frozenset(() if bearer is None else bearer.required_scopes)

    def app(self) -> Starlette:
        """The application of the pages."""
        return Starlette(
            routes=[
                Route("/healthz", self._health),
                Route("/readyz", self._readiness),
                Route("/metrics", self._metrics),
                file_route(self._gateway.canon),
            ]
        )

    async def _health(self, _: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _readiness(self, _: Request) -> Response:
        if await self._gateway.ready():
            return PlainTextResponse("ready\n")
        return PlainTextResponse("the records do not answer\n", status_code=503)

    async def _metrics(self, request: Request) -> Response:
        if (refusal := self._guard.refusal(request.scope)) is not None:
            return refusal
        if not (_is_from_here(request) or await self._is_known(request)):
            message = "metrics are told on this machine, or to a bearer of a token\n"
            return PlainTextResponse(message, 401, headers={"WWW-Authenticate": "Bearer"})
        text = self._gateway.audit.metrics.exposition()
        return PlainTextResponse(text, media_type=_METRICS_TYPE)

    async def _is_known(self, request: Request) -> bool:
        if self._backend is None:
            return False
        found = await self._backend.authenticate(request)
        return found is not None and self._scopes <= set(found[0].scopes)


def _is_from_here(request: Request) -> bool:
    """Whether a program of this machine asks, and not a proxy for somebody else."""
    if request.client is None or any(each in request.headers for each in _FORWARDED):
        return False
    return is_loopback(request.client.host)


def is_loopback(host: str) -> bool:
    """Whether only this machine has that address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
