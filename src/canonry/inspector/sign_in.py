"""Sign-in and sessions of the inspector, and one request of a page."""

import hmac
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from canonry.canon.queries.names import read_recorded_time
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal, require_complete
from canonry.gateway.rates import Seats
from canonry.gateway.replies import Result
from canonry.gateway.tool import Run
from canonry.inspector.rendering import PageFrame, Texts, draw_template
from canonry.log.ports.world import Clock, Identities
from canonry.values.errors import InvalidInput

SESSIONS_MAX: Final = 1_000
"""The most sessions. Beyond it, the longest idle one of the user with the most ends."""
SESSIONS_EACH: Final = 20
"""The most sessions of one principal. Beyond it, the longest idle one ends."""
_IDLE: Final = 0
_KEY_LENGTH: Final = 64
_HEX: Final = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlocked:
    """Every caller of the server is this principal, as for the protocol."""

    principal: Principal


@dataclass(slots=True, kw_only=True)
class OneLink:
    """The first user of the link is this principal; the link works once."""

    principal: Principal
    key: str
    used: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSignIn:
    """A user with a bearer token is the principal that it names, for the next `seconds`."""

    verify: Callable[[str], Awaitable[tuple[Principal, float] | None]]


AuthMethod: TypeAlias = Unlocked | OneLink | TokenSignIn


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSession:
    """A signed-in user: the principal and the session key; `fresh`: the browser lacks the key."""

    principal: Principal
    key: str
    fresh: bool = False


@dataclass(slots=True, eq=False)
class SessionStore:
    """The sessions of one method of signing in; they end with the process."""

    auth_method: AuthMethod
    clock: Clock
    identities: Identities
    _known: dict[str, tuple[Principal, float]] = field(default_factory=dict)
    _seats: Seats[Hashable, str] = field(
        default_factory=lambda: Seats(total=SESSIONS_MAX, each=SESSIONS_EACH, ranks=1)
    )
    _seal: bytes = b""

    def __post_init__(self) -> None:
        """Make a key, which forms of another process lack."""
        self._seal = self.identities.new_salt() + self.identities.new_salt()

    def find_session(self, key: str | None) -> UserSession | None:
        """Return the user with the session key `key`; None if there is none."""
        known = key if key and len(key) == _KEY_LENGTH and _HEX.issuperset(key) else None
        if isinstance(self.auth_method, Unlocked):
            if known is None:
                return UserSession(
                    principal=self.auth_method.principal, key=self._random_key(), fresh=True
                )
            return UserSession(principal=self.auth_method.principal, key=known)
        found = self._known.get(known or "")
        if known is None or found is None:
            return None
        if found[1] <= self.clock.monotonic():
            self._drop_session(known)
            return None
        self._seats.seat_holder(_owner_of(found[0]), known, _IDLE)
        return UserSession(principal=found[0], key=known)

    def enter_by_link(self, key: str) -> UserSession | None:
        """Sign in by the link with `key`, once."""
        method = self.auth_method
        if not isinstance(method, OneLink) or method.used or not _is_same(key, method.key):
            return None
        method.used = True
        return self._start_session(method.principal, float("inf"))

    async def sign_in(self, token: str) -> UserSession | None:
        """Sign in by a bearer token.

        Raises:
            NotAllowed: `identity.missing`.
        """
        if not isinstance(self.auth_method, TokenSignIn):
            return None
        found = await self.auth_method.verify(token.strip())
        if found is None:
            return None
        require_complete(found[0])
        return self._start_session(*found)

    def __len__(self) -> int:
        """Return the number of sessions."""
        return len(self._known)

    def end_session(self, session: UserSession) -> None:
        """End a session."""
        self._drop_session(session.key)

    def form_key(self, session: UserSession) -> str:
        """Return the secret that every form of the user carries."""
        return hmac.digest(self._seal, session.key.encode(), "sha256").hex()

    def _start_session(self, principal: Principal, seconds: float) -> UserSession:
        key, owner = self._random_key(), _owner_of(principal)
        if (gives := self._seats.find_leaver(owner)) is not None:
            self._drop_session(gives[1])
        self._seats.seat_holder(owner, key, _IDLE)
        self._known[key] = principal, self.clock.monotonic() + seconds
        return UserSession(principal=principal, key=key, fresh=True)

    def _drop_session(self, key: str) -> None:
        found = self._known.pop(key, None)
        if found is not None:
            self._seats.release_seat(_owner_of(found[0]), key)

    def _random_key(self) -> str:
        return (self.identities.new_salt() + self.identities.new_salt()).hex()[:_KEY_LENGTH]


def _owner_of(principal: Principal) -> Hashable:
    return principal.user, principal.agent_id


def link_key(identities: Identities) -> str:
    """Return a random key for a link."""
    return identities.new_salt().hex()


def _is_same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode())


FORM_MAX: Final = 256 * 1024
"""The most bytes of a form."""
_FIELDS_MAX: Final = 1_000  # against forms of many empty fields, which cost time to split
_STATUS: Final = {
    "NOT_ALLOWED": 403,
    "NOT_FOUND": 404,
    "INVALID": 400,
    "CONFLICT": 409,
    "NOT_HERE": 400,
    "TRY_AGAIN": 503,
}


AMBIGUOUS: Final = "space.ambiguous"
"""The code of a call that names neither a space nor an item in one."""


class Refused(Exception):  # noqa: N818 - named for what happened
    """The gateway refused a call; the page shows its error."""

    def __init__(self, result: Result) -> None:
        """Take the gateway's result."""
        super().__init__("refused")
        body = result.body if isinstance(result.body, Mapping) else {}
        error_body = body.get("error") or {}
        self.word = str(error_body.get("code", "FAILED"))
        self.message = str(error_body.get("message", ""))
        details = error_body.get("details") or {}
        self.reason = str(details.get("reason", ""))
        self.candidates = [str(each) for each in details.get("candidates", ())]
        self.status = 404 if result.protocol else _STATUS.get(self.word, 500)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """A request with its user and language."""

    request: Request
    gateway: Gateway
    sessions: SessionStore
    session: UserSession
    texts: Texts

    async def show_view(self, tool: str, view: Run, /, **arguments: Any) -> Any:
        """Return the result of `view` for this user, on the path of a call of `tool`.

        Raises:
            Refused: the gateway refused it.
        """
        given = {name: value for name, value in arguments.items() if value not in (None, "")}
        return self._reply_body(
            await self.gateway.run_as_tool(tool, view, given, self.session.principal)
        )

    async def call_tool(self, tool: str, /, **arguments: Any) -> Any:
        """Return the reply of a tool; empty arguments are left out.

        Raises:
            Refused: as `show_view`.
        """
        given = {name: value for name, value in arguments.items() if value not in (None, "")}
        return self._reply_body(await self.gateway.call(tool, given, self.session.principal))

    @staticmethod
    def _reply_body(result: Result) -> Any:
        if result.error is not None:
            raise Refused(result)
        return result.body

    @property
    def asked_times(self) -> dict[str, str]:
        """Return the times in the address of the page, as tools take them."""
        named = {"at": self.query_parameter("at"), "as_known_at": self.query_parameter("known")}
        return {name: value for name, value in named.items() if value}

    async def require_times(self) -> None:
        """Check the times in the address: a page that ignores them would mislead.

        Raises:
            Refused: if a time is unreadable.
        """
        if not self.asked_times or self.gateway.catalogue.find_tool("find") is None:
            return
        try:
            await self.call_tool(
                "find", space=self.query_parameter("space"), limit=1, **self.asked_times
            )
        except Refused as refused:
            # Only a space knows its calendar; a date can be read without one.
            if refused.reason != AMBIGUOUS or not all(map(_is_date, self.asked_times.values())):
                refused.reason = ""  # the time is unreadable, not the item
                raise

    def query_parameter(self, name: str) -> str:
        """Return a parameter of the address without spaces around it."""
        return self.request.query_params.get(name, "").strip()

    @property
    def offset(self) -> int:
        """Return the first row of a list."""
        text = self.query_parameter("from")
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else 0  # noqa: PLR2004

    async def read_form(self) -> Mapping[str, list[str]]:
        """Return the fields of a form that was made for this user.

        Raises:
            PermissionError: if the form belongs to another session or is too large.
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
        if not _is_same(key, self.sessions.form_key(self.session)):
            raise PermissionError
        return fields

    @property
    def page_frame(self) -> PageFrame:
        """Return the frame of every page of this request."""
        offers = self.gateway.offers_for(
            self.gateway.catalogue.tools.values(), self.session.principal
        )
        params = self.request.query_params
        principal = self.session.principal
        return PageFrame(
            texts=self.texts,
            form_key=self.sessions.form_key(self.session),
            path=self.request.scope["path"],
            asked={name: tuple(params.getlist(name)) for name in params},
            tools=frozenset(each.item.name for each in offers),
            leaves=not isinstance(self.sessions.auth_method, Unlocked),
            who=principal.user or principal.agent_id or "",
        )

    def draw_page(self, template: str, /, status: int = 200, **values: Any) -> Response:
        """Return the page of a template."""
        return HTMLResponse(draw_template(template, self.page_frame, **values), status_code=status)

    def redirect_to(self, path: str) -> Response:
        """Send the browser to another page, which it loads again."""
        return RedirectResponse(path, status_code=303)


def _is_date(text: str) -> bool:
    try:
        read_recorded_time(text, path="")
    except InvalidInput:
        return False
    return True
