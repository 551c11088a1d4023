"""A typed client of the REST API: the twelve verbs of the default toolset, and any other tool."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from json import dumps
from typing import Any, Generic, Literal, Required, Self, TypedDict, TypeVar, Unpack
from urllib.parse import quote

import httpx2
from typing_extensions import override

from canonry.values.errors import CanonryError

Made_co = TypeVar("Made_co", covariant=True)
Answer = dict[str, Any]
"""A reply; `hint` may say what to call next, and `next` is the cursor of the next page."""

Str = str | None
Int = int | None
"""`Str` and `Int` are arguments that a call may leave out."""
SoughtKind = Literal["entity", "fact", "event", "relation", "passage", "document", "lore"]
Claimed = Literal["entity", "fact", "relation", "state", "event", "correction", "merge", "retcon"]
Unsettled = Literal["pending", "review", "conflicts", "duplicates", "unclear"]
OnProposal = Literal["judge", "accept", "reject", "waive", "separate"]
OnItem = Literal["merge", "split", "retcon", "forget", "reveal", "end", "read", "undo"]
ClaimedRank = Literal["source", "gm", "player", "system"]
_Reserved = TypedDict("_Reserved", {"from": str, "for": Sequence[str]}, total=False)


class NewClaim(_Reserved, total=False):
    """One claim; its kind decides which other members it has."""

    kind: Required[Claimed]
    name: str
    type: str
    says: str
    more: str
    about: Sequence[str]
    who: Sequence[str]
    same_as: str
    to: str
    of: str
    tags: Sequence[str]
    untags: Sequence[str]
    where: str
    when: str
    caused_by: Sequence[str]
    replaces: str
    reason: str
    field: str
    value: Any
    fields: Mapping[str, Any]
    evidence: Sequence[str]
    confidence: float


class AsOf(TypedDict, total=False):
    """A space, a valid time `at` (a date, RFC 3339 or words), and a time of the records."""

    space: str
    at: str
    as_known_at: str


class Rows(AsOf, total=False):
    """Up to 50 rows of one state; `cursor` is the `next` of the page before."""

    full: bool
    limit: int
    cursor: str


class CallError(CanonryError):
    """An error of a call.

    `code` is stable, such as `entity.unknown`, and `hint` says what is wrong and what to do next.
    After `retry` seconds the same call may succeed; None: change the call. Repeat a write only
    with its `key`. `status` is that of HTTP, or 0 if no answer came; `details` are JSON values.
    """

    def __init__(self, status: int, retry: float | None, problem: Mapping[str, Any]) -> None:
        """Take the members of a problem as of RFC 9457, or those that it has."""
        super().__init__(problem.get("code", f"http.{status}"), problem.get("detail", ""))
        self.status, self.retry, self.hint = status, retry, self.message
        self.details = problem.get("details", {})


class Verbs(ABC, Generic[Made_co]):
    """The verbs; each raises `CallError`. Arguments that Python reserves end in `_`."""

    _http: Any
    _make: Any

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        *,
        token: Str = None,
        agent: Mapping[str, Any] | None = None,
        seconds: float = 60.0,
    ) -> None:
        """Take the address of the server and a bearer token; connect with the first call.

        `agent` narrows the identity, for example `{"agent_type": "Reader"}`. Each step of a call,
        such as waiting for the answer, takes at most `seconds`.
        """
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if agent is not None:
            headers["Canonry-Agent"] = dumps(agent)
        base = f"{url.rstrip('/')}/api/v1/"
        self._http = self._make(base_url=base, headers=headers, timeout=seconds)

    @abstractmethod
    def _send_request(self, method: str, path: str, **request: Any) -> Made_co: ...

    def tools(self) -> Made_co:
        """List the tools that you may call: `{"tools": [{"name", "inputSchema", ...}]}`."""
        return self._send_request("GET", "tools")

    def call(self, tool: str, arguments: Mapping[str, Any], *, key: Str = None) -> Made_co:
        """Call any tool of the server and return its reply; a list is in `items`."""
        headers = {} if key is None else {"Idempotency-Key": key}
        return self._send_request(
            "POST", f"tools/{quote(tool)}", json=dict(arguments), headers=headers
        )

    def _call_verb(self, tool: str, given: dict[str, Any]) -> Made_co:
        """Call a verb with the local variables of its method."""
        given |= given.pop("more", {})
        key, _ = given.pop("key", None), given.pop("self")
        named = {name.rstrip("_"): each for name, each in given.items() if each is not None}
        return self.call(tool, named, key=key)

    def spaces(self, *, limit: Int = None, cursor: Str = None) -> Made_co:
        """List the spaces that you can read: `{"spaces": [{"id", "name", ...}], "total"}`."""
        return self._call_verb("spaces", locals())

    def open(
        self, name: str, about: Str = None, *, calendar: Any = None, key: Str = None
    ) -> Made_co:
        """Open a new space: `{"id", "name"}`."""
        return self._call_verb("open", locals())

    def find(
        self,
        text: Str = None,
        *,
        kinds: Sequence[SoughtKind] | None = None,
        about: Str = None,
        type_: Str = None,
        **more: Unpack[Rows],
    ) -> Made_co:
        """Search by words and meaning: `{"found": [{"kind", "id", ...}], "searched"}`."""
        return self._call_verb("find", locals())

    def get(self, of: str, **more: Unpack[Rows]) -> Made_co:
        """Read one item by name or id; its members depend on its kind."""
        return self._call_verb("get", locals())

    def tell(
        self,
        text: Str = None,
        *,
        title: Str = None,
        turns: Sequence[Mapping[str, str]] | None = None,
        scene: Str = None,
        place: Str = None,
        when: Str = None,
        for_: Sequence[str] | None = None,
        end_scene: Str = None,
        records: Sequence[Mapping[str, Any]] | None = None,
        file: Str = None,
        path: Str = None,
        mime_type: Str = None,
        space: Str = None,
        key: Str = None,
    ) -> Made_co:
        """Record words, or turns: `{"document", "passages": [{"id"}]}` or `{"scene", "turns"}`."""
        return self._call_verb("tell", locals())

    def propose(
        self,
        claims: Sequence[NewClaim],
        *,
        evidence: Sequence[str] | None = None,
        said: Str = None,
        authority: ClaimedRank | None = None,
        dry_run: bool | None = None,
        space: Str = None,
        key: Str = None,
    ) -> Made_co:
        """Propose claims: `{"accepted": 1, "of": 1, "verdicts": [{"outcome", "id", ...}]}`."""
        return self._call_verb("propose", locals())

    def review(
        self,
        what: Unsettled | None = None,
        *,
        about: Str = None,
        as_known_at: Str = None,
        space: Str = None,
        limit: Int = None,
        cursor: Str = None,
    ) -> Made_co:
        """List items that need a decision: `{"waiting": [...], "total"}`."""
        return self._call_verb("review", locals())

    def decide(
        self,
        verdict: OnProposal | OnItem,
        of: Sequence[str] | None = None,
        *,
        reason: Str = None,
        other: Str = None,
        along: bool | None = None,
        when: Str = None,
        field: Str = None,
        space: Str = None,
        key: Str = None,
    ) -> Made_co:
        """Decide on open items, or undo a mistake: `{"verdict", "note", ...}`."""
        return self._call_verb("decide", locals())

    def why(self, of: str, *, field: Str = None, **more: Unpack[Rows]) -> Made_co:
        """Explain an item: its evidence, the rule that decided, and what rests on it."""
        return self._call_verb("why", locals())

    def timeline(
        self, about: Str = None, *, from_: Str = None, to: Str = None, **more: Unpack[Rows]
    ) -> Made_co:
        """List events, beginnings and ends in story order: `{"timeline": [...], "total"}`."""
        return self._call_verb("timeline", locals())

    def changes(
        self, since: Str = None, *, from_: Str = None, limit: Int = None, **more: Unpack[AsOf]
    ) -> Made_co:
        """List what is new: `{"changes": [...], "cursor", "left"}`; `from_` adds `differences`."""
        return self._call_verb("changes", locals())

    def context(
        self, of: Str = None, *, question: Str = None, tokens: Int = None, **more: Unpack[AsOf]
    ) -> Made_co:
        """Write a brief for a model: `{"brief": "...", "tokens": 412}`."""
        return self._call_verb("context", locals())


class Canonry(Verbs[Answer]):
    """A client whose methods return replies; use it as a context manager."""

    _make = httpx2.Client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    @override
    def _send_request(self, method: str, path: str, **request: Any) -> Answer:
        with _translate_failures():
            return _reply_in(self._http.request(method, path, **request))


class AsyncCanonry(Verbs[Awaitable[Answer]]):
    """A client whose methods return awaitables of replies; use it as a context manager."""

    _make = httpx2.AsyncClient

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    @override
    async def _send_request(self, method: str, path: str, **request: Any) -> Answer:
        with _translate_failures():
            return _reply_in(await self._http.request(method, path, **request))


@contextmanager
def _translate_failures() -> Iterator[None]:
    try:
        yield
    except httpx2.TransportError as error:
        detail = f"No answer ({type(error).__name__}). Start the server: canonry serve --http"
        raise CallError(0, 1.0, {"code": "connection.lost", "detail": detail}) from error


def _reply_in(answer: httpx2.Response) -> Answer:
    try:
        body = answer.json()
    except ValueError:  # a proxy answers with a page
        body = {"detail": answer.text}
    if answer.is_success:
        return body if isinstance(body, dict) else {"items": body}
    wait = answer.headers.get("Retry-After", "")
    retry = float(wait) if wait.isdecimal() else 1.0 if body.get("retryable") else None
    raise CallError(answer.status_code, retry, body)
