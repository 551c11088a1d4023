"""Serving many clients over Streamable HTTP, with health and metrics beside."""

import asyncio
import contextlib
import gc
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from ipaddress import ip_address
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from mcp.server import Server
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override

from canonry.domain.errors import InvalidInput, Unavailable
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.server.binding import bind
from canonry.server.bodies import ReadableBodies
from canonry.server.file_hosts import host_files
from canonry.server.files import file_route
from canonry.server.logs import LineLog, capture_library_logs
from canonry.server.options import ServerOptions
from canonry.server.worlds import PATH, about, narrowed, world_in

if TYPE_CHECKING:
    from canonry.server.identity import BearerVerifier

_LOCAL_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
_METRICS_TYPE: Final = "text/plain; version=0.0.4"
_ENVELOPE: Final = 1 << 20
"""Room for what a request says beside the arguments that its tool bounds."""

Close = Callable[[], Awaitable[None]]


async def serve_http(
    gateway: Gateway,
    principal: Principal,
    *,
    host: str,
    port: int,
    server_options: ServerOptions,
    close: Close,
    listening: Callable[[str], None] | None = None,
) -> None:
    """Serve until the process is asked to stop; answer what is in flight, then `close` the canon.

    `/mcp` serves every toolset of the gateway and `/mcp/<toolset>` one of them. `listening` is
    told the address of the server as soon as clients can connect; port 0 takes a free one.

    Raises:
        InvalidInput: `http.unprotected`, for an address beyond this machine without bearer tokens.
        Unavailable: `http.address`, if the address cannot be taken.
    """
    log = LineLog()
    capture_library_logs(log)
    gateway.audit.write_to(log.write)
    try:
        app = http_app(gateway, principal, host=host, server_options=server_options)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=max(1, round(server_options.shutdown_seconds)),
        )
        taken = _listen(host, port)
        address = f"http://{host}:{taken.getsockname()[1]}"
        host_files(gateway.canon, server_options.public_url or address)
        if listening is not None:
            listening(address)
        gc.freeze()  # what is loaded stays: no collection looks at it again
        await _Host(config).serve(sockets=[taken])
    finally:
        await close()
        log.close()


def run_on_fastest_loop(main: Coroutine[Any, Any, None]) -> None:
    """Run `main` on uvloop where it is installed, else on the loop that Python has."""
    try:
        import uvloop  # noqa: PLC0415 - absent on Windows, and stdio starts faster without it
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


def http_app(
    gateway: Gateway,
    principal: Principal,
    *,
    host: str = "127.0.0.1",
    server_options: ServerOptions,
) -> ASGIApp:
    """The whole ASGI application.

    Raises:
        InvalidInput: `http.unprotected`.
    """
    _require_protection(host, server_options)
    security = _security(host, server_options)
    verifier = _verifier(server_options)
    known = verifier.principal if verifier else lambda: principal

    def identify() -> Principal:
        return narrowed(known())

    gateways = {"/mcp": gateway}
    for toolset in gateway.catalogue.toolsets:
        gateways[f"/mcp/{toolset.name}"] = gateway.only(toolset.name)
    apps = [
        _mcp_app(
            path,
            bind(each, identify, server_options),
            verifier=verifier,
            security=security,
            options=server_options,
            body_bytes=_body_bytes(each, server_options),
        )
        for path, each in gateways.items()
    ]
    return _Dispatcher(apps, _Pages(gateway, security).app())


class _Host(uvicorn.Server):
    """Uvicorn that returns when it is asked to stop, so that the canon can be closed in order."""

    @override
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True


class _Dispatcher:
    """Sends a request to the application of its path, in one step."""

    def __init__(self, apps: list[Starlette], pages: Starlette) -> None:
        self._apps = apps
        self._pages = pages
        self._by_path: dict[str, ASGIApp] = {
            route.path: ReadableBodies(app)
            for app in apps
            for route in app.routes
            if isinstance(route, Route)
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(scope, receive, send)
            return
        path = scope["path"].rstrip("/")
        world = world_in(path)
        if world is not None and PATH in self._by_path:
            inner = {**scope, "path": PATH, "raw_path": PATH.encode()}
            with about(world):
                await self._by_path[PATH](inner, receive, send)
            return
        await self._by_path.get(path, self._pages)(scope, receive, send)

    async def _lifespan(self, scope: Scope, receive: Receive, send: Send) -> None:
        await Starlette(lifespan=self._running)(scope, receive, send)

    @contextlib.asynccontextmanager
    async def _running(self, _: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for app in self._apps:
                await stack.enter_async_context(app.router.lifespan_context(app))
            yield


class _Pages:
    """Health for whoever starts the server, readiness for whoever sends it work, and metrics."""

    def __init__(self, gateway: Gateway, security: TransportSecuritySettings) -> None:
        self._gateway = gateway
        self._security = TransportSecurityMiddleware(security)

    def app(self) -> Starlette:
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
        refusal = await self._security.validate_request(request)
        if refusal is not None:
            return refusal
        text = self._gateway.audit.metrics.exposition()
        return PlainTextResponse(text, media_type=_METRICS_TYPE)


def _mcp_app(
    path: str,
    server: Server,
    *,
    verifier: "BearerVerifier | None",
    security: TransportSecuritySettings,
    options: ServerOptions,
    body_bytes: int,
) -> Starlette:
    auth = None
    if options.bearer is not None:
        from canonry.server.identity import auth_settings  # noqa: PLC0415 - needs PyJWT

        auth = auth_settings(options.bearer)
    return server.streamable_http_app(
        streamable_http_path=path,
        max_request_body_size=body_bytes,
        transport_security=security,
        auth=auth,
        token_verifier=verifier,
    )


def _body_bytes(gateway: Gateway, options: ServerOptions) -> int:
    """The largest body: as set, or as a tool that takes files needs it, with room for the rest."""
    own = (offer.thing.limits for offer in gateway.catalogue.tools.values())
    largest = max((each.characters for each in own if each is not None), default=0)
    return max(options.body_bytes, largest + _ENVELOPE)


def _verifier(options: ServerOptions) -> "BearerVerifier | None":
    if options.bearer is None:
        return None
    from canonry.server.identity import BearerVerifier  # noqa: PLC0415 - needs PyJWT

    return BearerVerifier(options.bearer)


def _listen(host: str, port: int) -> socket.socket:
    address = host.strip("[]")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family, backlog=2048)
    except OSError as error:
        message = f"the address {host}:{port} cannot be taken: {error.strerror}; choose another"
        raise Unavailable("http.address", message) from error


def _require_protection(host: str, options: ServerOptions) -> None:
    if _is_local(host) or options.bearer is not None or options.allow_unprotected:
        return
    message = (
        f"'{host}' can be reached from other machines: configure bearer tokens (issuer, audience "
        "and key), or serve 127.0.0.1, or allow unprotected access explicitly"
    )
    raise InvalidInput("http.unprotected", message, path="/http")


def _security(host: str, options: ServerOptions) -> TransportSecuritySettings:
    """Which Host and Origin headers are served; a browser may be made to send any others."""
    names, origins = list(options.allowed_hosts), list(options.allowed_origins)
    if _is_local(host):
        names += [f"{name}:*" for name in _LOCAL_NAMES]
        origins += [f"http://{name}:*" for name in _LOCAL_NAMES]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=bool(names),
        allowed_hosts=names,
        allowed_origins=origins,
    )


def _is_local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
