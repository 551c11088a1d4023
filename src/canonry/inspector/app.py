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
from canonry.gateway.toolset_introduction import load_attribute
from canonry.inspector import pages, rendering
from canonry.inspector.sign_in import (
    AMBIGUOUS,
    AuthMethod,
    OneLink,
    PageRequest,
    Refused,
    SessionStore,
    UserSession,
)
from canonry.values.errors import NotAllowed
from canonry.values.ids import is_uuid

Answering = Callable[[PageRequest], Awaitable[Response]]
NEEDED: Final = "spaces"
"""A tool of the toolset that the pages need; without it there are no pages."""

_PAGES: Final[dict[str, Answering]] = {
    "/": pages.home_page,
    "/space": pages.space_page,
    "/find": pages.find_page,
    "/thing/{id}": pages.item_page,
    "/page/{id}/{number}": pages.page_picture,
    "/difference": pages.difference_page,
    "/difference/{id}": pages.difference_page,
    "/timeline": pages.timeline_page,
    "/graph": pages.graph_page,
    "/log": pages.log_page,
    "/health": pages.health_page,
    "/review": pages.review_page,
    "/review/head": pages.head_position,
}
_INVALID: Final = 400
_LANGUAGE: Final = "canonry-language"
_TOKEN_MAX: Final = 20_000  # larger than any token
_PACKED: Final = 5
"""The compression level of pages: a third of the time of the highest, and at most 1 % larger."""


def inspector_app(gateway: Gateway, auth_method: AuthMethod) -> Starlette:
    """Return the pages over `gateway`, for users who sign in by `auth_method`."""
    host = _SignInPages(
        gateway, SessionStore(auth_method, gateway.canon.clock, gateway.canon.identities)
    )
    optional = {
        path: load_attribute(target) for path, target in rendering.installed_pages().items()
    }
    every: dict[str, Answering] = {**_PAGES, **optional}
    return Starlette(
        routes=[
            *(Route(path, host.guard_page(page), methods=["GET"]) for path, page in every.items()),
            Route("/decide", host.guard_page(pages.apply_decision), methods=["POST"]),
            Route("/propose", host.guard_page(pages.propose_claim), methods=["POST"]),
            Route("/enter", host.enter_by_link, methods=["GET"]),
            Route("/sign-in", host.sign_in, methods=["POST"]),
            Route("/leave", host.guard_page(host.sign_out), methods=["POST"]),
            Route("/language", host.guard_page(host.set_language), methods=["POST"]),
            Mount("/static", StaticFiles(packages=[("canonry.inspector", "static")])),
        ],
        exception_handlers={404: host.missing_page, 405: host.missing_page},
        middleware=[
            Middleware(rendering.GuardedHeaders),
            Middleware(GZipMiddleware, minimum_size=1_000, compresslevel=_PACKED),
        ],
    )


class _SignInPages:
    """Signs users in, and gives each page its session."""

    def __init__(self, gateway: Gateway, sessions: SessionStore) -> None:
        self._gateway = gateway
        self._sessions = sessions

    def guard_page(self, page: Answering) -> Callable[[Request], Awaitable[Response]]:
        """Return the page for signed-in users; others get the sign-in page."""

        async def answer_request(request: Request) -> Response:
            session = self._sessions.find_session(request.cookies.get(_cookie_name(request)))
            if session is None or self._gateway.catalogue.find_tool(NEEDED) is None:
                return self._sign_in_page(request, session)
            visit = PageRequest(
                request=request,
                gateway=self._gateway,
                sessions=self._sessions,
                session=session,
                texts=self._texts_for(request),
            )
            try:
                await visit.require_times()
                response = await page(visit)
            except Refused as refused:
                if refused.status == _INVALID and _has_unknown_id(request, refused):
                    return await self.missing_page(request, refused)
                response = visit.draw_page("refused.html", refused.status, refused=refused)
            except PermissionError:
                response = visit.draw_page("stale.html", 403)
            if session.fresh:
                _set_cookie(request, response, _cookie_name(request), session.key)
            return response

        return answer_request

    async def enter_by_link(self, request: Request) -> Response:
        """Sign in by the link, once."""
        session = self._sessions.enter_by_link(request.query_params.get("key", ""))
        if session is None:
            return self._sign_in_page(request, None, failed=True)
        return _signed_in(request, session)

    async def sign_in(self, request: Request) -> Response:
        """Sign in by a token; a foreign page that signs a user in can only show them less."""
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > _TOKEN_MAX:
                return self._sign_in_page(request, None, failed=True)
        token = parse_qs(body.decode("utf-8", "replace")).get("token", [""])[0]
        foreign = request.headers.get("sec-fetch-site") not in {None, "same-origin", "none"}
        try:
            session = None if foreign else await self._sessions.sign_in(token)
        except NotAllowed as error:
            return self._sign_in_page(request, None, failed=True, why=error.message)
        if session is None:
            return self._sign_in_page(request, None, failed=True)
        return _signed_in(request, session)

    async def sign_out(self, visit: PageRequest) -> Response:
        """Sign out."""
        await visit.read_form()
        self._sessions.end_session(visit.session)
        response = visit.redirect_to("/")
        response.delete_cookie(_cookie_name(visit.request))
        return response

    async def set_language(self, visit: PageRequest) -> Response:
        """Change the language."""
        form = await visit.read_form()
        response = visit.redirect_to(pages.back_to(form))
        chosen = rendering.language_of(form.get("language", [""])[0], "")
        _set_cookie(visit.request, response, _LANGUAGE, chosen, max_age=365 * 86_400)
        return response

    async def missing_page(self, request: Request, _: Exception) -> Response:
        """Return the page about a missing page."""
        frame = self._bare_frame(request)
        return HTMLResponse(rendering.draw_template("lost.html", frame), 404)

    def _sign_in_page(
        self, request: Request, session: UserSession | None, *, failed: bool = False, why: str = ""
    ) -> Response:
        by_link = isinstance(self._sessions.auth_method, OneLink)
        kind = "closed" if session is not None else "link" if by_link else "token"
        page = rendering.draw_template(
            "door.html", self._bare_frame(request), kind=kind, failed=failed, why=why
        )
        return HTMLResponse(page, 404 if kind == "closed" else 403 if why else 401)

    def _bare_frame(self, request: Request) -> rendering.PageFrame:
        return rendering.PageFrame(
            texts=self._texts_for(request), form_key="", path="/", asked={}, tools=frozenset()
        )

    @staticmethod
    def _texts_for(request: Request) -> rendering.Texts:
        chosen = request.cookies.get(_LANGUAGE)
        return rendering.Texts(
            rendering.language_of(chosen, request.headers.get("accept-language", ""))
        )


def _has_unknown_id(request: Request, refused: Refused) -> bool:
    """Return whether the path has an unknown id."""
    named = request.path_params.get("id")
    return named is not None and (not is_uuid(named) or refused.reason == AMBIGUOUS)


def _cookie_name(request: Request) -> str:
    """Return the name of the cookie: browsers share cookies between the ports of a machine."""
    server = request.scope.get("server")
    return f"canonry-{server[1] if server else 'session'}"


def _signed_in(request: Request, session: UserSession) -> Response:
    response = RedirectResponse("/", status_code=303)
    _set_cookie(request, response, _cookie_name(request), session.key)
    return response


def _set_cookie(
    request: Request, response: Response, name: str, value: str, *, max_age: int | None = None
) -> None:
    """Set a cookie that scripts cannot read and other sites do not send."""
    secure = request.scope["scheme"] == "https"
    response.set_cookie(
        name, value, max_age=max_age, httponly=True, samesite="strict", secure=secure
    )
