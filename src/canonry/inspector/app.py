"""The web application: every address of the inspector, behind sign-in and security headers."""

from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from canonry.gateway.call import Gateway
from canonry.gateway.face import load_attribute
from canonry.inspector import pages
from canonry.inspector.doors import AMBIGUOUS, Door, Hall, OneLink, Refused, Visit, Visitor
from canonry.inspector.drawing import (
    GuardedHeaders,
    PageFrame,
    Texts,
    draw,
    installed_pages,
    language_of,
)
from canonry.values.errors import NotAllowed
from canonry.values.ids import is_uuid

Answering = Callable[[Visit], Awaitable[Response]]
NEEDED: Final = "spaces"
"""A tool of the toolset that the pages need; without it there are no pages."""

_PAGES: Final[dict[str, Answering]] = {
    "/": pages.home,
    "/space": pages.space,
    "/find": pages.find,
    "/thing/{id}": pages.thing,
    "/page/{id}/{number}": pages.page_picture,
    "/difference": pages.difference,
    "/difference/{id}": pages.difference,
    "/timeline": pages.timeline,
    "/graph": pages.graph,
    "/log": pages.log,
    "/health": pages.health,
    "/review": pages.review,
    "/review/head": pages.head,
}
_INVALID: Final = 400
_YEAR: Final = 365 * 86_400
_LANGUAGE: Final = "canonry-language"
_TOKEN_MAX: Final = 20_000
_PACKED: Final = 5
"""The compression level of pages: a third of the time of the highest, and at most 1 % larger."""


def inspector_app(gateway: Gateway, door: Door) -> Starlette:
    """Return the pages over `gateway`, for users who sign in by `door`."""
    host = _Reception(gateway, Hall(door, gateway.canon.clock, gateway.canon.identities))
    optional = {path: load_attribute(target) for path, target in installed_pages().items()}
    every: dict[str, Answering] = {**_PAGES, **optional}
    return Starlette(
        routes=[
            *(Route(path, host.page(page), methods=["GET"]) for path, page in every.items()),
            Route("/decide", host.page(pages.decide), methods=["POST"]),
            Route("/propose", host.page(pages.propose), methods=["POST"]),
            Route("/enter", host.enter, methods=["GET"]),
            Route("/sign-in", host.sign_in, methods=["POST"]),
            Route("/leave", host.page(host.leave), methods=["POST"]),
            Route("/language", host.page(host.language), methods=["POST"]),
            Mount("/static", StaticFiles(packages=[("canonry.inspector", "static")])),
        ],
        exception_handlers={404: host.lost, 405: host.lost},
        middleware=[
            Middleware(GuardedHeaders),
            Middleware(GZipMiddleware, minimum_size=1_000, compresslevel=_PACKED),
        ],
    )


class _Reception:
    """Signs users in, and gives each page its session."""

    def __init__(self, gateway: Gateway, hall: Hall) -> None:
        self._gateway = gateway
        self._hall = hall

    def page(self, page: Answering) -> Callable[[Request], Awaitable[Response]]:
        """Return the page for signed-in users; others get the sign-in page."""

        async def answer(request: Request) -> Response:
            visitor = self._hall.visitor(request.cookies.get(_cookie(request)))
            if visitor is None or self._gateway.catalogue.find_tool(NEEDED) is None:
                return self._door(request, visitor)
            visit = Visit(
                request=request,
                gateway=self._gateway,
                hall=self._hall,
                visitor=visitor,
                texts=self._texts(request),
            )
            try:
                await visit.require_times()
                response = await page(visit)
            except Refused as refused:
                if refused.status == _INVALID and _names_nothing(request, refused):
                    return await self.lost(request, refused)
                response = visit.draw("refused.html", refused.status, refused=refused)
            except PermissionError:
                response = visit.draw("stale.html", 403)
            if visitor.fresh:
                _set_cookie(request, response, _cookie(request), visitor.key)
            return response

        return answer

    async def enter(self, request: Request) -> Response:
        """Sign in by the link, once."""
        visitor = self._hall.enter(request.query_params.get("key", ""))
        if visitor is None:
            return self._door(request, None, failed=True)
        return _signed_in(request, visitor)

    async def sign_in(self, request: Request) -> Response:
        """Sign in by a token; a foreign page that signs a user in can only show them less."""
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > _TOKEN_MAX:
                return self._door(request, None, failed=True)
        token = parse_qs(body.decode("utf-8", "replace")).get("token", [""])[0]
        foreign = request.headers.get("sec-fetch-site") not in {None, "same-origin", "none"}
        try:
            visitor = None if foreign else await self._hall.sign_in(token)
        except NotAllowed as error:
            return self._door(request, None, failed=True, why=error.message)
        if visitor is None:
            return self._door(request, None, failed=True)
        return _signed_in(request, visitor)

    async def leave(self, visit: Visit) -> Response:
        """Sign out."""
        await visit.form()
        self._hall.leave(visit.visitor)
        response = visit.go("/")
        response.delete_cookie(_cookie(visit.request))
        return response

    async def language(self, visit: Visit) -> Response:
        """Change the language."""
        form = await visit.form()
        response = visit.go(pages.back_to(form))
        chosen = language_of(form.get("language", [""])[0], "")
        _set_cookie(visit.request, response, _LANGUAGE, chosen, max_age=_YEAR)
        return response

    async def lost(self, request: Request, _: Exception) -> Response:
        """Return the page about a missing page."""
        frame = self._bare(request)
        return HTMLResponse(draw("lost.html", frame), 404)

    def _door(
        self, request: Request, visitor: Visitor | None, *, failed: bool = False, why: str = ""
    ) -> Response:
        by_link = isinstance(self._hall.door, OneLink)
        kind = "closed" if visitor is not None else "link" if by_link else "token"
        page = draw("door.html", self._bare(request), kind=kind, failed=failed, why=why)
        return HTMLResponse(page, 404 if kind == "closed" else 403 if why else 401)

    def _bare(self, request: Request) -> PageFrame:
        return PageFrame(
            texts=self._texts(request), form_key="", path="/", asked={}, tools=frozenset()
        )

    @staticmethod
    def _texts(request: Request) -> Texts:
        chosen = request.cookies.get(_LANGUAGE)
        return Texts(language_of(chosen, request.headers.get("accept-language", "")))


def _names_nothing(request: Request, refused: Refused) -> bool:
    """Return whether the path has an unknown id."""
    named = request.path_params.get("id")
    return named is not None and (not is_uuid(named) or refused.reason == AMBIGUOUS)


def _cookie(request: Request) -> str:
    """Return the name of the cookie: browsers share cookies between the ports of a machine."""
    server = request.scope.get("server")
    return f"canonry-{server[1] if server else 'session'}"


def _signed_in(request: Request, visitor: Visitor) -> Response:
    response = RedirectResponse("/", status_code=303)
    _set_cookie(request, response, _cookie(request), visitor.key)
    return response


def _set_cookie(
    request: Request, response: Response, name: str, value: str, *, max_age: int | None = None
) -> None:
    """Set a cookie that scripts cannot read and other sites do not send."""
    secure = request.scope["scheme"] == "https"
    response.set_cookie(
        name, value, max_age=max_age, httponly=True, samesite="strict", secure=secure
    )
