"""Clocks, identities and a writer for tests."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from typing_extensions import override

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.log.commits import Append, Appended, Draft, Outcome, Position
from canonry.log.entries import Born, Entry, StoredItem
from canonry.log.ports.world import Clock, Identities
from canonry.log.sealing import SALT_BYTES
from canonry.readmodels.ports.state import State
from canonry.testing.example_items import (
    ELSEWHERE,
    MIDDLE_EARTH,
    a_space,
    creation_entries,
    uuid_of,
)
from canonry.values.ids import SpaceId
from canonry.values.moments import SECOND, Instant
from canonry.values.provenance import Actor

A_DAY_IN_2025 = Instant(1_736_899_200 * SECOND)


class HandClock(Clock):
    """A clock that moves only by `move_by`."""

    def __init__(self, start: Instant = A_DAY_IN_2025) -> None:
        """Start at `start`."""
        self._now = start

    def move_by(self, microseconds: int) -> None:
        """Advance the clock."""
        self._now = Instant(self._now + microseconds)

    @override
    def now(self) -> Instant:
        return self._now

    @override
    def monotonic(self) -> float:
        return self._now / SECOND


class CountingIdentities(Identities):
    """UUIDs 1, 2, 3, ... after `prefix`, and salts that count too."""

    def __init__(self, prefix: int = 0) -> None:
        """Instances with different prefixes never return the same identity."""
        self._prefix = prefix
        self._count = 0

    @override
    def new_id(self) -> str:
        self._count += 1
        high, low = self._count >> 16 & 0xFFFF, self._count & 0xFFF
        return f"{self._prefix:08x}-{high:04x}-7{low:03x}-8000-{self._count:012x}"

    @override
    def new_salt(self) -> bytes:
        self._count += 1
        return self._count.to_bytes(SALT_BYTES)


def a_caller(agent_type: str = "CanonKeeper", tool: str = "test") -> Caller:
    """Return a caller of this type with access to every space and every authority."""
    actor = Actor(agent_id=f"{agent_type.lower()}-001", agent_type=agent_type)
    return Caller(actor=actor, tool=tool)


ACTOR = Actor(agent_id="scribe-001", agent_type="CanonKeeper")


def a_draft(name: str, entries: Iterable[Entry], *, space: SpaceId = MIDDLE_EARTH) -> Draft:
    """Return a draft whose commit id derives from `name`."""
    return Draft(
        id=uuid_of(f"commit/{name}"), space=space, actor=ACTOR, tool="test", entries=tuple(entries)
    )


def an_append(
    name: str,
    entries: Iterable[Entry],
    *,
    space: SpaceId = MIDDLE_EARTH,
    judged_at: int = 0,
    reads: Iterable[str] = (),
) -> Append:
    """Return an append. By default its verdict depends on nothing."""
    return Append(
        draft=a_draft(name, entries, space=space),
        judged_at=Position(judged_at),
        reads=frozenset(reads),
    )


class Scribe:
    """Writes commits with numbered ids."""

    def __init__(self, canon: Canon, name: str = "scribe", space: SpaceId = MIDDLE_EARTH) -> None:
        """Scribes with different names never use the same commit id."""
        self._canon = canon
        self._name = name
        self._space = space
        self._count = 0

    async def write_entries(self, *entries: Entry) -> Appended:
        """Write one commit of these entries, judged at the head."""
        head = await self._canon.ledger.head_position(self._space)
        (outcome,) = await self.append_batch([self.next_append(entries, judged_at=head)])
        assert isinstance(outcome, Appended)
        return outcome

    async def make_items(self, *items: Born) -> Appended:
        """Write one commit that creates these items."""
        return await self.write_entries(*creation_entries(*items))

    async def open_spaces(self, *names: str) -> None:
        """Create the spaces with these names, each in its own commit."""
        for name in names:
            space = a_space(name)
            append = an_append(f"{self._name}/open/{name}", creation_entries(space), space=space.id)
            await self._canon.ledger.append_drafts([append])

    async def append_batch(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        """Pass the batch to the ledger."""
        return await self._canon.ledger.append_drafts(batch)

    def next_append(
        self, entries: Iterable[Entry], *, judged_at: int = 0, reads: Iterable[str] = ()
    ) -> Append:
        """Return the next commit without writing it."""
        self._count += 1
        name = f"{self._name}/{self._count}"
        return an_append(name, entries, space=self._space, judged_at=judged_at, reads=reads)


async def make_elsewhere(canon: Canon, *items: Any) -> Appended:
    """Write one commit that creates these items in another space than the usual one."""
    moved = [replace(item, space=ELSEWHERE) for item in items]
    return await Scribe(canon, "there", ELSEWHERE).make_items(*moved)


async def item_named(state: State, name: str) -> StoredItem:
    """Return the item whose id derives from `name`."""
    item_id = uuid_of(name)
    return (await state.items_by_id([item_id]))[item_id]
