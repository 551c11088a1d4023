"""Interrupted calls: a session of every writing tool, cut off after each append."""

import asyncio
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar, Final, cast

from typing_extensions import override

from canonry.canon.session.canon import Canon
from canonry.gateway.call import Gateway
from canonry.gateway.limits import SECONDS
from canonry.gateway.principal import KEY_META, Principal
from canonry.gateway.replies import Result
from canonry.log.commits import ORIGIN, Append, Appended, Outcome
from canonry.log.ports.ledger import Ledger, LocalFile, LocalFiles
from canonry.records.usecases.files import RecordServices
from canonry.testing.clocks import a_caller
from canonry.testing.conformance.kit import Backend, Contract, requirement
from canonry.values.errors import Unavailable
from canonry.values.fields import with_changes
from canonry.values.ids import SpaceId
from canonry.values.json_values import decode_json, read_value
from canonry.values.moments import SECOND

# A session that calls every writing tool. `CutsContract` cuts it off after each append.
#
# `$name` in an argument stands for one of `_GIVEN`, or for a value that an earlier reply returned.
# `keeps` holds its path in that reply.

NOTE: Final = "# Note\n\nInvoice INV-77 of Acme Corp is due on 2025-03-01.\n"
_GIVEN: Final = {
    "note_file": b64encode(NOTE.encode()).decode(),
    "book": "\n\n".join(
        f"Day {n}. Odo keeps the light at Marrow. {'It rains. ' * 200}" for n in (1, 2)
    ),
    "pages": "\n\n".join(f"Page {n}. {'The ring is lost. ' * 60}" for n in range(260)),
}


@dataclass(frozen=True, slots=True)
class CutCall:
    """One call: a tool, its arguments, and the parts of its reply that later calls need."""

    tool: str
    arguments: Mapping[str, Any]
    keeps: Mapping[str, str] = field(default_factory=dict)


@cache  # read from a file once
def every_call() -> Sequence[CutCall]:
    """Read the whole session. The player creates a world first, with the key `$world`."""
    text = files(__package__).joinpath("calls.json").read_bytes()
    return [read_value(each, CutCall) for each in decode_json(text)]


ServeToolsets = Callable[[Canon], Gateway]
"""Creates the gateway that serves all toolsets over a canon."""

_ASKED_MAX: Final = 5  # attempts of a call that is told to retry, because a view may be behind

_STEPS: Final = 3  # some calls of the session make at least this many appends
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


_KEPT: Final = re.compile(r"\$([a-z_0-9]+)")
_PASSING: Final = re.compile(r"2025-01-15T[0-9:.]+Z|1736[89][0-9]{11}|[0-9a-f]{64}")


class DiedError(BaseException):
    """The process has died: no code that follows in it runs."""


def _time_out() -> BaseException:
    message = f"The call was stopped after {SECONDS:g} s. Retry it, or ask for less."
    return Unavailable("call.deadline", message, seconds=SECONDS)


ENDS: Final[Mapping[str, Callable[[], BaseException]]] = {
    "killed": DiedError,
    "cancelled": asyncio.CancelledError,
    "out of time": _time_out,
}
"""Ways in which a call may end. The call's code meets the exception at an append."""


class CutLedger:
    """A ledger that ends the call after its append number `cut_at`."""

    def __init__(self, inner: Ledger) -> None:
        """Interrupt no call before `begin_call`."""
        self._inner = inner
        self.begin_call(0, DiedError)

    def begin_call(self, cut_at: int, end: Callable[[], BaseException]) -> None:
        """Count the appends of the next call. With 0 it is not interrupted."""
        self.cut_at, self.end = cut_at, end
        self.appends = 0
        self.cut = self.dead = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def append_drafts(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        """Append, and end the call at its append `cut_at`. A dead process appends nothing."""
        if self.dead:
            raise DiedError
        outcomes = await self._inner.append_drafts(batch)
        self.appends += any(isinstance(o, Appended) and not o.replayed for o in outcomes)
        if self.cut_at and self.appends == self.cut_at and not self.cut:
            self.cut, self.dead = True, self.end is DiedError
            raise self.end()
        return outcomes


class _OneNote(LocalFiles):
    """A folder with one file."""

    @override
    async def read_file(self, path: str, *, most: int) -> LocalFile:
        return LocalFile(name=path, data=NOTE.encode())


@dataclass(slots=True, kw_only=True)
class _Session:
    """A session on a store. `cut_at` is the append after which each call is cut off.

    Its replies must equal those of the session `like`. `replies` omit accidental ids and times.
    `appends` has the number of appends of each call.
    """

    backend: Backend
    serve: ServeToolsets
    cut_at: Sequence[int] = ()
    like: "_Session | None" = None
    keyed: bool = True
    end: Callable[[], BaseException] = DiedError
    kept: dict[str, str] = field(default_factory=_GIVEN.copy)
    names: dict[str, str] = field(default_factory=dict)
    replies: list[tuple[str, str]] = field(default_factory=list)
    appends: list[int] = field(default_factory=list)
    served: tuple[CutLedger, Gateway] | None = None

    async def play_calls(self) -> None:
        """Create a world, then make every call."""
        from canonry.world.domain.atlas import Atlas, Location, Mover  # noqa: PLC0415 - can be left out
        from canonry.world.usecases.exchange import import_world  # noqa: PLC0415 - as above

        location = Location(key="inn", name="Inn", description="A low room.")
        ann = Mover(key="ann", name="Ann", location="inn")
        atlas = Atlas(name="The Isle", starter="inn", locations=(location,), players=(ann,))
        builder = a_caller("Operator", "world import")
        done = await import_world(
            self.backend.canon, builder, atlas, origin="kit", progress=lambda *_: None
        )
        self.kept["world"] = done.world_id
        for number, call in enumerate(every_call()):
            result = await self._make_call(call, number)
            self.names.clear()
            self.replies.append((call.tool, self._plain_text(result.text)))
            assert self.like is None or self.replies[-1] == self.like.replies[number], number
            assert result.error is None, (call.tool, result.text)
            self.kept |= {name: _value_at(result.body, path) for name, path in call.keeps.items()}

    async def _make_call(self, call: CutCall, number: int) -> Result:
        arguments = _fill_names(call.arguments, self.kept)
        ledger, gateway = self.served or self._serve_toolsets()
        ledger.begin_call(self.cut_at[number] if self.cut_at else 0, self.end)
        meta = {KEY_META: f"call {number}"} if self.keyed else None
        who = self._caller_of(gateway, call.tool)
        result: Result | None = None
        try:
            result = await gateway.call(call.tool, arguments, who, meta)
        except (DiedError, asyncio.CancelledError):
            assert ledger.cut
        self.appends.append(ledger.appends)
        if ledger.cut:
            self.backend.clock.move_by(SECOND)
            if ledger.dead and self.backend.reopen is not None:
                self.backend = await self.backend.reopen()
            if ledger.dead:
                ledger, gateway = self._serve_toolsets()
            for _ in range(_ASKED_MAX):
                result = await gateway.call(call.tool, arguments, who, meta)
                if '"retryable":true' not in result.text:
                    break
        assert result is not None
        return result

    def _serve_toolsets(self) -> tuple[CutLedger, Gateway]:
        ledger = CutLedger(self.backend.canon.ledger)
        gateway = self.serve(with_changes(self.backend.canon, ledger=cast("Ledger", ledger)))
        filing = gateway.canon.find_service(RecordServices).filing
        if filing is not None:
            filing.local = _OneNote()
        self.served = ledger, gateway
        return self.served

    def _caller_of(self, gateway: Gateway, tool: str) -> Principal:
        offer = gateway.catalogue.find_tool(tool)
        assert offer is not None, f"no toolset serves {tool}"
        roles = offer.item.roles - {"*"} or offer.toolset.agent_types
        role = "Solo" if "Solo" in roles else min(roles)
        world = SpaceId(self.kept["world"]) if offer.toolset.name == "world" else None
        return Principal(agent_id=role.lower(), agent_type=role, world=world, authorities=None)

    def _plain_text(self, text: str) -> str:
        named = _UUID.sub(lambda m: self.names.setdefault(m[0], f"#{len(self.names)}"), text)
        return _PASSING.sub("@", named)

    async def list_commits(self) -> list[list[str]]:
        """Return every commit of each space, in a comparable form."""
        ledger, commit_texts = self.backend.canon.ledger, list[list[str]]()
        for head in await ledger.list_heads(limit=100):
            self.names.clear()
            commits = await ledger.read_commits(head.space, after=ORIGIN, limit=1_000)
            commit_texts.append(
                [self._plain_text(f"{each.tool} {each.entries}") for each in commits]
            )
        return sorted(commit_texts)


def _value_at(body: Any, path: str) -> str:
    for step in path.split("."):
        body = body[int(step)] if step.isdigit() else body[step]
    return str(body)


def _fill_names(value: Any, kept: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _KEPT.sub(lambda found: kept[found[1]], value)
    if isinstance(value, Mapping):
        return {name: _fill_names(each, kept) for name, each in value.items()}
    return [_fill_names(each, kept) for each in value] if isinstance(value, list) else value


class CutsContract(Contract):
    """For backends behind all toolsets. Subclasses have the fixtures `backend` and `serve`."""

    ends: ClassVar[tuple[str, ...]] = tuple(ENDS)
    rounds: ClassVar[int | None] = None
    """A slow backend may skip some ends, and limit the rounds of each."""

    @requirement("calls:cut:covered")
    async def test_every_tool_that_writes_is_cut(
        self, backend: Backend, serve: ServeToolsets
    ) -> None:
        """The interrupted session calls every writing tool."""
        tools = serve(backend.canon).catalogue.tools
        writing = {name for name, offer in tools.items() if not offer.read_only}

        assert writing - {call.tool for call in every_call()} == set()

    @requirement("calls:key:changes-nothing")
    async def test_a_key_changes_nothing_of_what_a_call_does(
        self, backend: Backend, serve: ServeToolsets
    ) -> None:
        """An idempotency key changes neither the reply nor the commits of a call."""
        with_keys = await _play_session(backend, serve)
        without = await _play_session(await backend.another(), serve, keyed=False, like=with_keys)

        assert await without.list_commits() == await with_keys.list_commits()

    @requirement("calls:cut:anywhere")
    async def test_f1_a_call_cut_off_anywhere_is_finished_by_sending_it_again(
        self, backend: Backend, serve: ServeToolsets
    ) -> None:
        """A call that is cut off after any of its appends is completed by sending it again.

        If the call was killed, cancelled or out of time, its retry with the same key gives the same
        reply and the same log as an uninterrupted call. This holds for every writing tool.
        """
        whole = await _play_session(backend, serve)
        logs = await whole.list_commits()
        assert max(whole.appends) > _STEPS, "no call of several appends is cut off"
        for end in self.ends:
            for turn in range(self.rounds or max(whole.appends)):
                # Each round cuts a call off after another of its appends.
                cut_at = [turn < n and 1 + (i + turn) % n for i, n in enumerate(whole.appends)]
                store = await backend.another()
                cut = await _play_session(store, serve, cut_at=cut_at, end=ENDS[end], like=whole)
                assert await cut.list_commits() == logs, (end, turn)


async def _play_session(backend: Backend, serve: ServeToolsets, **given: Any) -> _Session:
    session = _Session(backend=backend, serve=serve, **given)
    await session.play_calls()
    return session
