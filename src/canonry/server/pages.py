"""Pages outside of the protocol: health, readiness, metrics, and files behind signed links."""

from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import quote

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from canonry.canon.session.canon import Canon
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal, require_complete
from canonry.gateway.toolset_introduction import load_attribute
from canonry.records.usecases.files import BUCKET, LinkedFile, open_link
from canonry.server.middleware import HostGuard
from canonry.server.openapi import PREFIX
from canonry.server.options import ServerOptions
from canonry.server.rest import RestApi
from canonry.values.errors import CanonryError, NotAllowed, NotFound

if TYPE_CHECKING:
    from canonry.server.identity import BearerVerifier


_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-store",
}
"""Headers of a file: browsers neither show it nor guess its type, as it may hold scripts."""


def file_route(canon: Canon) -> Route:
    """Return the route that serves the links of `canon`."""

    async def serve_file(request: Request) -> Response:
        query = request.query_params
        path = f"{BUCKET}/{request.path_params['key']}"
        try:
            found = await open_link(
                canon, path, query.get("expires", ""), query.get("signature", "")
            )
        except NotFound:
            return _refusal_page("This file no longer exists.", 404)
        except CanonryError:
            return _refusal_page("The file cannot be read now. Try again later.", 503)
        if found is None:
            return _refusal_page("This link is invalid or has expired. Ask for another one.", 403)
        name = quote(found.name, safe="")
        disposition = f"attachment; filename*=UTF-8''{name}"
        media = f"{found.mime_type}; charset=utf-8" if _is_text(found) else found.mime_type
        headers = {**_HEADERS, "Content-Disposition": disposition, "Content-Type": media}
        return Response(found.data, headers=headers)

    return Route(f"/{BUCKET}/{{key:path}}", serve_file, methods=["GET", "HEAD"])


def _is_text(found: LinkedFile) -> bool:
    """Return whether the beginning of a file is text in UTF-8."""
    if not found.mime_type.startswith("text/"):
        return False
    try:
        found.data[:1024].decode()
    except UnicodeDecodeError as error:
        return (
            error.start >= min(len(found.data), 1024) - 3
        )  # a character that the end of the beginning cuts
    return True


def _refusal_page(message: str, status: int) -> Response:
    return PlainTextResponse(f"{message}\n", status_code=status, headers=_HEADERS)


FOR_OPERATORS: Final = frozenset({"/healthz", "/readyz", "/metrics"})
"""Return the answer of pages that check no token."""

_METRICS_TYPE: Final = "text/plain; version=0.0.4"
_FORWARDED: Final = ("forwarded", "x-forwarded-for", "x-real-ip")


class ToolsetRoutes(Protocol):
    """Routes of a toolset over HTTP outside of the protocol; its `web_routes` names the class.

    The class takes the gateway of this toolset alone, a function that returns the principal of the
    request being served, one that returns the principal of a given request or None if it has no
    rights, and the seconds that a character has to answer.
    """

    def open_routes(self) -> Sequence[BaseRoute]:
        """Return routes by their whole paths; each checks its callers itself."""
        ...

    def guarded_routes(self) -> Sequence[BaseRoute]:
        """Return routes below `/api`, for requests whose host and token were accepted."""
        ...

    async def close(self) -> None:
        """End background work."""
        ...


class Pages:
    """Pages for health (is the process alive), readiness (may it get work), and metrics."""

    def __init__(
        self,
        gateway: Gateway,
        guard: HostGuard,
        *,
        verifier: "BearerVerifier | None",
        options: ServerOptions,
        principal: Principal,
        identify: Callable[[], Principal],
        rest: RestApi,
    ) -> None:
        """Serve metrics to this machine, and to callers with a token.

        Without a verifier, every admitted caller is the `principal`. `identify` returns the
        principal of the request that is being served.
        """
        self._principal = principal
        self._gateway = gateway
        self._guard = guard
        self._rest = rest
        self._verifier = verifier
        self._backend = None if verifier is None else BearerAuthBackend(verifier)
        self._scopes = frozenset(() if options.bearer is None else options.bearer.required_scopes)
        self.toolset_routes: Sequence[ToolsetRoutes] = [
            load_attribute(toolset.web_routes)(
                gateway.for_toolset(toolset.name),
                identify,
                self._caller_of,
                options.dialogue_seconds,
            )
            for toolset in gateway.catalogue.toolsets
            if toolset.web_routes is not None
        ]

    def make_app(self, front: ASGIApp | None = None) -> Starlette:
        """Return the application of the pages; `front` answers every other path."""
        pages: list[BaseRoute] = [
            Route("/healthz", self._health_page),
            Route("/readyz", self._readiness_page),
            Route("/metrics", self._metrics_page),
            file_route(self._gateway.canon),
            *(route for each in self.toolset_routes for route in each.open_routes()),
        ]
        guarded = [route for each in self.toolset_routes for route in each.guarded_routes()]
        # The guards that check the host and the token of a request.
        passed = [Middleware(self._guard.wrap_app)]
        if self._backend is not None:
            passed += [
                Middleware(AuthenticationMiddleware, backend=self._backend),
                Middleware(AuthContextMiddleware),
                Middleware(RequireAuthMiddleware, required_scopes=sorted(self._scopes)),
            ]
        pages.append(Mount(PREFIX, self._rest.make_app(passed)))
        if guarded:
            pages.append(Mount("/api", routes=guarded, middleware=passed))
        if front is not None:
            pages.append(Mount("/", self._guard.wrap_pages(front)))
        return Starlette(routes=pages)

    async def _caller_of(self, request: Request) -> Principal | None:
        """Return the principal of a request; None if it may not ask from there."""
        if self._guard.refusal_for(request.scope) is not None:
            return None
        return self._principal if self._verifier is None else await self._token_principal(request)

    async def _token_principal(self, request: Request) -> Principal | None:
        """Return the principal of the request's token; None without a valid one."""
        if self._verifier is None or self._backend is None:
            return None
        found = await self._backend.authenticate(request)
        if found is None or not self._scopes <= set(found[0].scopes):
            return None
        return self._verifier.principal_in(getattr(found[1], "access_token", None))

    async def _health_page(self, _: Request) -> Response:
        # Not an error: a restart of the unhealthy process would only stop its readers.
        code = await self._gateway.clock_fault()
        return PlainTextResponse("ok\n" if code is None else f"ok\n{code}\n")

    async def _readiness_page(self, _: Request) -> Response:
        if not await self._gateway.is_ready():
            return PlainTextResponse("The store does not answer.\n", status_code=503)
        away = [each for each in self._gateway.canon.outside if each.fault is not None]
        lines = "".join(f"away: {each.name}\n" for each in away)
        keys = None if self._verifier is None else self._verifier.keys
        if keys is not None and not keys.are_known:
            keys.start_fetching()
            return PlainTextResponse(
                f"No key of the token issuer is known.\n{lines}", status_code=503
            )
        return PlainTextResponse(f"ready\n{lines}")

    async def _metrics_page(self, request: Request) -> Response:
        if (refusal := self._guard.refusal_for(request.scope)) is not None:
            return refusal
        here = _is_from_here(request)
        if not here and self._verifier is not None:
            refusal = await self._verifier.refusal_for(request.scope)
        if refusal is not None:
            return refusal
        if (bearer := await self._token_principal(request)) is not None:
            try:
                require_complete(bearer)
            except NotAllowed as error:
                return PlainTextResponse(f"{error.message}\n", 403)
        elif not here:
            message = "Metrics are served to this machine, or to a caller with a token.\n"
            return PlainTextResponse(message, 401, headers={"WWW-Authenticate": "Bearer"})
        text = self._gateway.audit.metrics.render_metrics()
        return PlainTextResponse(text, media_type=_METRICS_TYPE)


def _is_from_here(request: Request) -> bool:
    """Return whether a program of this machine asks, and no proxy for another machine."""
    if request.client is None or any(each in request.headers for each in _FORWARDED):
        return False
    return is_loopback(request.client.host)


def is_loopback(host: str) -> bool:
    """Return whether only this machine has that address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
