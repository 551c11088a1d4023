"""Files behind signed links, as both hosts serve them; a link that does not hold tells nothing."""

from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from canonry.canon.session.canon import Canon
from canonry.records.domain.file_links import BUCKET
from canonry.records.usecases.files import LinkedFile, open_link
from canonry.values.errors import CanonryError, NotFound

_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-store",
}
"""A file may be a page with scripts: it is shown nowhere, and its kind is guessed by nobody."""


def file_route(canon: Canon) -> Route:
    """The route under which the links of `canon` are served."""

    async def serve(request: Request) -> Response:
        query = request.query_params
        path = f"{BUCKET}/{request.path_params['key']}"
        try:
            found = await open_link(
                canon, path, query.get("expires", ""), query.get("signature", "")
            )
        except NotFound:
            return _refusal("there is no such file any more", 404)
        except CanonryError:
            return _refusal("the file cannot be read now", 503)
        if found is None:
            return _refusal("the link does not hold; ask for another", 403)
        return _served(found)

    return Route(f"/{BUCKET}/{{key:path}}", serve, methods=["GET", "HEAD"])


def _served(found: LinkedFile) -> Response:
    name = quote(found.name, safe="")
    disposition = f"attachment; filename*=UTF-8''{name}"
    media = f"{found.mime_type}; charset=utf-8" if _is_text(found) else found.mime_type
    headers = {**_HEADERS, "Content-Disposition": disposition, "Content-Type": media}
    return Response(found.data, headers=headers)


def _is_text(found: LinkedFile) -> bool:
    """Whether it is a text in UTF-8, as far as its beginning tells."""
    if not found.mime_type.startswith("text/"):
        return False
    try:
        found.data[:1024].decode()
    except UnicodeDecodeError as error:
        return error.start >= min(len(found.data), 1024) - 3  # a character that was cut
    return True


def _refusal(message: str, status: int) -> Response:
    return PlainTextResponse(f"{message}\n", status_code=status, headers=_HEADERS)
