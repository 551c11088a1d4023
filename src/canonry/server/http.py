"""Serve many clients over Streamable HTTP, with pages for health and metrics."""

import contextlib
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override

from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.log.ports.world import Clock
from canonry.server import middleware
from canonry.server.binding import bind_gateway, host_files
from canonry.server.messages import Sessions
from canonry.server.openapi import PREFIX
from canonry.server.options import ServerOptions
from canonry.server.pages import FOR_OPERATORS, Pages, is_loopback
from canonry.server.rest import RestApi, as_problems
from canonry.server.sockets import bounded_config, open_socket
from canonry.server.stdio import Close, LineLog, capture_library_logs
from canonry.values.errors import InvalidInput, Unavailable
from canonry.values.moments import SECOND

if TYPE_CHECKING:
    from canonry.server.identity import BearerVerifier

_ENVELOPE: Final = 1 << 20
"""Bytes for the parts of a request outside of the arguments, which its tool bounds."""

Bearers = Callable[[str], Awaitable[tuple[Principal, float] | None]]
"""Return the principal of a token and the seconds until it expires; None if it is not valid."""
Front = Callable[[Gateway, Principal | None, Bearers], ASGIApp]
"""Make the pages outside of MCP for the principal of the process; None: tokens name it."""

_GUARDED_ALREADY: Final = TransportSecuritySettings(enable_dns_rebinding_protection=False)
LOCAL: Final = "127.0.0.1"
_LOCAL_NAMES: Final = (LOCAL, "localhost", "[::1]")


async def serve_app(
    gateway: Gateway,
    make: Callable[[], ASGIApp],
    *,
    address: tuple[str, int],
    server_options: ServerOptions,
    close: Close,
    listening: Callable[[str], None] | None = None,
) -> None:
    """Serve the application that `make` returns until the process is asked to stop.

    `make` is `http_app` or `local_pages`. At the end, requests in flight are answered, and `close`
    closes the canon. `listening` gets the address as soon as clients can connect; port 0 takes a
    free port.

    Raises:
        InvalidInput: `http.unprotected`, for an address beyond this machine without bearer tokens.
        Unavailable: `http.address`, if the address cannot be taken.
    """
    log = LineLog()
    capture_library_logs(log)
    gateway.audit.write_to(log.write_line)
    try:
        app = make()
        body_bytes = _largest_body(gateway, server_options)
        seconds = server_options.shutdown_seconds
        await gateway.clock_fault()  # the log has the line before the first request
        config = bounded_config(
            app,
            server_options.limits,
            body_bytes,
            shutdown_seconds=seconds,
            proxies=server_options.trusted_proxies,
        )
        with open_socket(*address) as taken:
            reached = f"http://{address[0]}:{taken.getsockname()[1]}"
            host_files(gateway.canon, server_options.public_url or reached)
            if listening is not None:
                listening(reached)
            gc.freeze()  # loaded modules stay: no garbage collection visits them again
            await _Host(config).serve(sockets=[taken])
    finally:
        await close()
        log.close()


def local_pages(pages: ASGIApp, server_options: ServerOptions) -> ASGIApp:
    """Return an application of `pages` alone, for browsers of this machine."""
    return _make_guard(LOCAL, server_options).wrap_pages(pages)


def http_app(
    gateway: Gateway,
    principal: Principal,
    *,
    host: str = "127.0.0.1",
    server_options: ServerOptions,
    front: Front | None = None,
) -> ASGIApp:
    """Return the whole ASGI application.

    `/mcp` serves every toolset of the gateway and `/mcp/<toolset>` one of them; `/api/v1` serves
    their tools as a REST API. `front` makes the application of every other path.

    Raises:
        InvalidInput: `http.unprotected`.
    """
    require_protection(host, server_options)
    guard = _make_guard(host, server_options)
    verifier = _make_verifier(gateway, server_options)
    known = verifier.current_principal if verifier else lambda: principal

    def identify_caller() -> Principal:
        return middleware.narrow_principal(known())

    gateways = {"/mcp": gateway}
    for toolset in gateway.catalogue.toolsets:
        gateways[f"/mcp/{toolset.name}"] = gateway.for_toolset(toolset.name)
    limits = server_options.limits
    sessions = Sessions(limits)
    # The largest single body is always within the bound.
    body_bytes = _largest_body(gateway, server_options)
    flight = middleware.InFlight(max(limits.in_flight_bytes, body_bytes))
    apps = [
        _mcp_app(
            path, each, identify_caller, verifier, options=server_options, held=(sessions, flight)
        )
        for path, each in gateways.items()
    ]
    pages = Pages(
        gateway,
        guard,
        verifier=verifier,
        options=server_options,
        principal=principal,
        identify=identify_caller,
        rest=RestApi(gateway, identify_caller, (body_bytes, flight), bearer=verifier is not None),
    )
    before = None
    if front is not None:
        bearer_reader = _bearer_reader(verifier, gateway.canon.clock)
        shown = front(gateway, None if verifier else principal, bearer_reader)
        before = _over_tls(shown, server_options)
    served = _Dispatcher(apps, pages, guard, before, verifier)
    return middleware.open_to(server_options.allowed_origins, served)


def _bearer_reader(verifier: "BearerVerifier | None", clock: Clock) -> Bearers:
    async def bearer_of(token: str) -> tuple[Principal, float] | None:
        if verifier is None:
            return None
        try:
            return await verifier.bearer_of(token, clock.now() // SECOND)
        except Unavailable as error:
            headers = {"Retry-After": str(error.details["retry_after"])}
            raise HTTPException(503, error.message, headers) from error

    return bearer_of


def _mcp_app(
    path: str,
    gateway: Gateway,
    identify: Callable[[], Principal],
    verifier: "BearerVerifier | None",
    *,
    options: ServerOptions,
    held: tuple[Sessions, middleware.InFlight],
) -> Starlette:
    """Return the application that serves `gateway` at `path`; all paths share `held`."""
    server, auth, (sessions, flight) = bind_gateway(gateway, identify, options), None, held
    if options.bearer is not None:
        from canonry.server.identity import auth_settings  # noqa: PLC0415 - needs PyJWT

        auth = auth_settings(options.bearer)
    app = server.streamable_http_app(
        streamable_http_path=path,
        max_sessions=None,  # we count them for each caller
        transport_security=_GUARDED_ALREADY,
        auth=auth,
        token_verifier=verifier,
    )
    manager = server.session_manager
    bodies = middleware.RequestBodies(manager.asgi_app.app, _largest_body(gateway, options), flight)
    bounded: Any = middleware.throttle_app(sessions.wrap_app(bodies), gateway, identify)
    manager.asgi_app = bounded  # typed as the SDK's own bound on bodies, which this replaces
    return app


def _over_tls(app: ASGIApp, options: ServerOptions) -> ASGIApp:
    """Return `app` with the scheme of its clients, which decides whether cookies are `Secure`."""
    if options.bearer is None or not options.bearer.resource_url.startswith("https:"):
        return app

    def serve_secure(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        return app({**scope, "scheme": "https"}, receive, send)

    return serve_secure


def _largest_body(gateway: Gateway, options: ServerOptions) -> int:
    """Return the largest body in bytes: the setting, or enough for the files that a tool takes."""
    own = (offer.item.limits for offer in gateway.catalogue.tools.values())
    largest = max((each.characters for each in own if each is not None), default=0)
    return max(options.body_bytes, largest + _ENVELOPE)


_BLANKS: Final = b" \t"
"""Characters around the value of a header that are no part of it; some parsers leave them."""


class _Host(uvicorn.Server):
    """Uvicorn that returns when it is asked to stop; the canon is closed after that."""

    @override
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True


class _Dispatcher:
    """Sends a request to the application of its path, in one step."""

    def __init__(
        self,
        apps: list[Starlette],
        pages: Pages,
        guard: middleware.HostGuard,
        front: ASGIApp | None,
        verifier: "BearerVerifier | None",
    ) -> None:
        self._apps = apps
        self._verifier = verifier
        self._pages = pages.make_app(front)
        self._toolset_routes = pages.toolset_routes
        self._by_path: dict[str, ASGIApp] = {
            route.path: guard.wrap_app(app)
            for app in apps
            for route in app.routes
            if isinstance(route, Route)
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await Starlette(lifespan=self._run_lifespan)(scope, receive, send)
            return
        if any(value[:1] in _BLANKS or value[-1:] in _BLANKS for _, value in scope["headers"]):
            trimmed = [(name, value.strip(_BLANKS)) for name, value in scope["headers"]]
            scope = {**scope, "headers": trimmed}
        path = scope["path"].rstrip("/")
        if path.startswith(PREFIX):
            send = as_problems(send)
        verifier = None if path in FOR_OPERATORS else self._verifier
        if verifier is not None and (refused := await verifier.refusal_for(scope)) is not None:
            await refused(scope, receive, send)
            return
        world = middleware.world_in(path)
        if world is not None and middleware.PATH in self._by_path:
            inner = {**scope, "path": middleware.PATH, "raw_path": middleware.PATH.encode()}
            with middleware.bind_world(world):
                await self._by_path[middleware.PATH](inner, receive, send)
            return
        await self._by_path.get(path, self._pages)(scope, receive, send)

    @contextlib.asynccontextmanager
    async def _run_lifespan(self, _: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for app in self._apps:
                await stack.enter_async_context(app.router.lifespan_context(app))
            for routes in self._toolset_routes:
                stack.push_async_callback(routes.close)
            if self._verifier is not None and self._verifier.keys is not None:
                self._verifier.keys.start_fetching()
                stack.push_async_callback(self._verifier.keys.close)
            yield


def _make_verifier(gateway: Gateway, options: ServerOptions) -> "BearerVerifier | None":
    if options.bearer is None:
        return None
    from canonry.server.identity import BearerVerifier  # noqa: PLC0415 - needs PyJWT

    return BearerVerifier(options.bearer, gateway.canon.outside)


def require_protection(host: str, options: ServerOptions) -> None:
    """Refuse an address that other machines reach, without tokens and `http_public`.

    Raises:
        InvalidInput: `http.unprotected`.
    """
    if is_loopback(host) or options.bearer is not None or options.allow_unprotected:
        return
    message = (
        f"Other machines can reach '{host}', and the server has no tokens. Either configure bearer "
        "tokens (auth.issuer, auth.audience and auth.key_file), or serve 127.0.0.1, or set "
        "http_public and the role of every caller (agent_type)."
    )
    raise InvalidInput("http.unprotected", message, path="/http")


def _make_guard(host: str, options: ServerOptions) -> middleware.HostGuard:
    names, origins = list(options.allowed_hosts), list(options.allowed_origins)
    if is_loopback(host):
        names += [f"{name}:*" for name in _LOCAL_NAMES]
        origins += [f"http://{name}:*" for name in _LOCAL_NAMES]
    return middleware.HostGuard(names, origins)
