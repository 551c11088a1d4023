"""Sign-in and sessions of the inspector, and one visit of a page."""

import hmac
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from canonry.assistant.desk import recorded_time
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal, require_complete
from canonry.gateway.rates import Seats
from canonry.gateway.replies import Result
from canonry.gateway.tool import Run
from canonry.inspector.drawing import PageFrame, Texts, draw
from canonry.log.ports.world import Clock, Identities
from canonry.values.errors import InvalidInput

SESSIONS_MAX: Final = 1_000
"""Of so many sessions one ends: that of whoever has most, which was idle the longest."""
SESSIONS_EACH: Final = 20
"""Of so many sessions of one principal the one that was idle the longest ends."""
_IDLE: Final = 0
_KEY_LENGTH: Final = 64
_HEX: Final = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlocked:
    """Whoever reaches the server is this principal, as it is for the protocol beside it."""

    principal: Principal


@dataclass(slots=True, kw_only=True)
class OneLink:
    """Whoever opens the link first is this principal; the link opens nothing again."""

    principal: Principal
    key: str
    used: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenDesk:
    """Whoever shows a bearer token is whom it names, until `seconds` from now have passed."""

    verify: Callable[[str], Awaitable[tuple[Principal, float] | None]]


Door: TypeAlias = Unlocked | OneLink | TokenDesk


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Somebody who is in: as whom, and the key of their session; `fresh`: they have it not yet."""

    principal: Principal
    key: str
    fresh: bool = False


@dataclass(slots=True, eq=False)
class Hall:
    """The sessions behind one door; they live as long as the process does."""

    door: Door
    clock: Clock
    identities: Identities
    _known: dict[str, tuple[Principal, float]] = field(default_factory=dict)
    _seats: Seats[Hashable, str] = field(
        default_factory=lambda: Seats(total=SESSIONS_MAX, each=SESSIONS_EACH, ranks=1)
    )
    _seal: bytes = b""

    def __post_init__(self) -> None:
        """Forms of another process are none of ours."""
        self._seal = self.identities.salt() + self.identities.salt()

    def visitor(self, key: str | None) -> Visitor | None:
        """Who shows the session key `key`; None: somebody who has to come in first."""
        known = key if key and len(key) == _KEY_LENGTH and _HEX.issuperset(key) else None
        if isinstance(self.door, Unlocked):
            if known is None:
                return Visitor(principal=self.door.principal, key=self._drawn(), fresh=True)
            return Visitor(principal=self.door.principal, key=known)
        found = self._known.get(known or "")
        if known is None or found is None:
            return None
        if found[1] <= self.clock.monotonic():
            self._end(known)
            return None
        self._seats.place(_owner(found[0]), known, _IDLE)
        return Visitor(principal=found[0], key=known)

    def enter(self, key: str) -> Visitor | None:
        """Come in by the link that bears `key`, once."""
        door = self.door
        if not isinstance(door, OneLink) or door.used or not _same(key, door.key):
            return None
        door.used = True
        return self._admitted(door.principal, float("inf"))

    async def sign_in(self, token: str) -> Visitor | None:
        """Come in by a bearer token.

        Raises:
            NotAllowed: `identity.missing`.
        """
        if not isinstance(self.door, TokenDesk):
            return None
        found = await self.door.verify(token.strip())
        if found is None:
            return None
        require_complete(found[0])
        return self._admitted(*found)

    @property
    def keeps_sessions(self) -> bool:
        """Whether a session can be ended."""
        return not isinstance(self.door, Unlocked)

    def __len__(self) -> int:
        """How many sessions there are."""
        return len(self._known)

    def leave(self, visitor: Visitor) -> None:
        """End a session."""
        self._end(visitor.key)

    def form_key(self, visitor: Visitor) -> str:
        """What every form of a visitor carries, and nobody else can know."""
        return hmac.digest(self._seal, visitor.key.encode(), "sha256").hex()

    def is_own_form(self, visitor: Visitor, key: str) -> bool:
        """Whether a form that carries `key` was drawn for the visitor."""
        return _same(key, self.form_key(visitor))

    def _admitted(self, principal: Principal, seconds: float) -> Visitor:
        key, owner = self._drawn(), _owner(principal)
        if (gives := self._seats.must_go(owner)) is not None:
            self._end(gives[1])
        self._seats.place(owner, key, _IDLE)
        self._known[key] = principal, self.clock.monotonic() + seconds
        return Visitor(principal=principal, key=key, fresh=True)

    def _end(self, key: str) -> None:
        found = self._known.pop(key, None)
        if found is not None:
            self._seats.leave(_owner(found[0]), key)

    def _drawn(self) -> str:
        return (self.identities.salt() + self.identities.salt()).hex()[:_KEY_LENGTH]


def _owner(principal: Principal) -> Hashable:
    return principal.user, principal.agent_id


def link_key(identities: Identities) -> str:
    """A key for a link that nobody guesses."""
    return identities.salt().hex()


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode())


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
