"""A visit: one request of somebody who is in, and what it may ask of the gateway."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from canonry.assistant.desk import recorded_time
from canonry.gateway.call import Gateway
from canonry.gateway.replies import Result
from canonry.gateway.tool import Run
from canonry.inspector.doors import Hall, Visitor
from canonry.inspector.drawing import PageFrame, draw
from canonry.inspector.texts import Texts
from canonry.values.errors import InvalidInput

FORM_MAX: Final = 256 * 1024
"""So many bytes a form may have."""
_FIELDS_MAX: Final = 1_000
_STATUS: Final = {
    "NOT_ALLOWED": 403,
    "NOT_FOUND": 404,
    "INVALID": 400,
    "CONFLICT": 409,
    "NOT_HERE": 400,
    "TRY_AGAIN": 503,
}


AMBIGUOUS: Final = "space.ambiguous"
"""The reason where a call names no space, and nothing that lies in one."""


class Refused(Exception):  # noqa: N818 - named for what happened
    """The gateway refused a call; the page says what it said."""

    def __init__(self, result: Result) -> None:
        """As the gateway worded it."""
        super().__init__("refused")
        body = result.body if isinstance(result.body, Mapping) else {}
        told = body.get("error") or {}
        self.word = str(told.get("code", "FAILED"))
        self.message = str(told.get("message", ""))
        details = told.get("details") or {}
        self.reason = str(details.get("reason", ""))
        self.candidates = [str(each) for each in details.get("candidates", ())]
        self.status = 404 if result.protocol else _STATUS.get(self.word, 500)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request, by whom, and in which language."""

    request: Request
    gateway: Gateway
    hall: Hall
    visitor: Visitor
    texts: Texts

    async def show(self, tool: str, look: Run, /, **arguments: Any) -> Any:
        """What `look` makes of the canon for this visitor, by the path of a call of `tool`.

        Raises:
            Refused: the gateway refused it.
        """
        given = {name: value for name, value in arguments.items() if value not in (None, "")}
        return self._body(await self.gateway.show(tool, look, given, self.visitor.principal))

    async def call(self, tool: str, /, **arguments: Any) -> Any:
        """The reply of a tool; arguments that are empty are left out.

        Raises:
            Refused: as `show`.
        """
        given = {name: value for name, value in arguments.items() if value not in (None, "")}
        return self._body(await self.gateway.call(tool, given, self.visitor.principal))

    @staticmethod
    def _body(result: Result) -> Any:
        if result.error is not None:
            raise Refused(result)
        return result.body

    @property
    def times(self) -> dict[str, str]:
        """The times that the page is asked for, as the tools take them."""
        named = {"at": self.asked("at"), "as_known_at": self.asked("known")}
        return {name: value for name, value in named.items() if value}

    async def require_times(self) -> None:
        """Ask for times that the page may not look at, so that none is ignored in silence.

        Raises:
            Refused: nobody can read them.
        """
        if not self.times or self.gateway.catalogue.find_tool("find") is None:
            return
        try:
            await self.call("find", space=self.asked("space"), limit=1, **self.times)
        except Refused as refused:
            # Only a space knows the words of its calendar; a date is read without one.
            if refused.reason != AMBIGUOUS or not all(map(_is_date, self.times.values())):
                refused.reason = ""  # it is the time that nobody can read, and not the thing
                raise

    def asked(self, name: str) -> str:
        """A parameter of the address, without what stands around it."""
        return self.request.query_params.get(name, "").strip()

    @property
    def offset(self) -> int:
        """The row that a list begins with."""
        text = self.asked("from")
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else 0  # noqa: PLR2004

    async def form(self) -> Mapping[str, list[str]]:
        """The fields of a form that was drawn for this visitor.

        Raises:
            PermissionError: it was not, or it is too large to be one.
        """
        body = b""
        async for piece in self.request.stream():
            body += piece
            if len(body) > FORM_MAX:
                raise PermissionError
        try:
            fields = parse_qs(body.decode("utf-8", "replace"), max_num_fields=_FIELDS_MAX)
        except ValueError:
            raise PermissionError from None
        (key,) = fields.get("key", [""])[:1]
        if not self.hall.is_own_form(self.visitor, key):
            raise PermissionError
        return fields

    @property
    def frame(self) -> PageFrame:
        """What is around every page of this visit."""
        offers = self.gateway.offered(self.gateway.catalogue.tools.values(), self.visitor.principal)
        params = self.request.query_params
        principal = self.visitor.principal
        return PageFrame(
            texts=self.texts,
            form_key=self.hall.form_key(self.visitor),
            path=self.request.scope["path"],
            asked={name: tuple(params.getlist(name)) for name in params},
            tools=frozenset(each.thing.name for each in offers),
            leaves=self.hall.keeps_sessions,
            who=principal.user or principal.agent_id or "",
        )

    def draw(self, template: str, /, status: int = 200, **values: Any) -> Response:
        """The page that a template makes."""
        return HTMLResponse(draw(template, self.frame, **values), status_code=status)

    def go(self, path: str) -> Response:
        """Send the browser to another page, which it gets anew."""
        return RedirectResponse(path, status_code=303)


def _is_date(text: str) -> bool:
    try:
        recorded_time(text, path="")
    except InvalidInput:
        return False
    return True
