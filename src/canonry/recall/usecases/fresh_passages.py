"""Fresh passages: what the index has not seen yet, embedded by the search that needs it."""

import math
from array import array
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from canonry.canon.session.passage_parts import (
    PassageChanges,
    PassagePart,
    changed_parts,
    embedded,
    ids_of_parts,
    passage_changes,
)
from canonry.log.commits import Position
from canonry.log.ports.ledger import Ledger
from canonry.readmodels.follow_log import LogCursor, heads_of, ids_in
from canonry.readmodels.ports.documents import Documents
from canonry.readmodels.ports.embedder import Embedder, Vector
from canonry.readmodels.ports.state import Spaces, State
from canonry.readmodels.ports.text import TextQuery
from canonry.readmodels.ports.vectors import VectorEntry
from canonry.values.ids import SpaceId

FRESH: Final = 256
"""So many passages a search embeds at most; of more, the newest ones."""

InTime: TypeAlias = Callable[[], bool]
"""Whether there is time for more."""

KnownDigests: TypeAlias = Callable[[Sequence[str]], Awaitable[Mapping[str, Sequence[bytes]]]]
"""The digests of what the index has of passages."""

_AT_ONCE: Final = 16
_ASKED_ONE_BY_ONE: Final = 32
"""Of more spaces than these the heads are read together with all others."""


@dataclass(slots=True, kw_only=True)
class _Stretch:
    """What is remembered of a space: the commits past `start`, up to `end`."""

    start: Position
    end: Position
    entries: dict[str, Sequence[VectorEntry]] = field(
        default_factory=dict[str, Sequence[VectorEntry]]
    )


class FreshPassages:
    """The newest passages of each space, for one model."""

    def __init__(self, ledger: Ledger, state: State, documents: Documents) -> None:
        """Remember nothing yet."""
        self._ledger = ledger
        self._state = state
        self._documents = documents
        self._stretches: dict[SpaceId, _Stretch] = {}
        self.missing = 0

    def forget_until(self, cursor: LogCursor) -> None:
        """Forget the spaces of which the index has everything that is remembered."""
        for space, stretch in tuple(self._stretches.items()):
            if stretch.end <= cursor.at(space):
                del self._stretches[space]

    def replaced(self) -> frozenset[str]:
        """The ids of which something newer than the index is known."""
        return frozenset(i for each in self._stretches.values() for i in each.entries)

    async def read_on(
        self,
        cursor: LogCursor,
        spaces: Spaces,
        embedder: Embedder,
        *,
        known: KnownDigests,
        in_time: InTime,
    ) -> None:
        """Embed what was written past `cursor`, newest first, while it is `in_time`.

        What was written about a passage whose text stayed the same is left to the index.
        `missing` counts the commits that were too many.

        Raises:
            Unavailable: `embedder.unavailable`.
        """
        heads = await self._heads(spaces)
        late = {space: head for space, head in heads.items() if head > cursor.at(space)}
        self.missing = sum(head - self._known(space, cursor) for space, head in late.items())
        for space, head in late.items():
            await self._read_space(
                space, cursor.at(space), head, embedder, known=known, in_time=in_time
            )
        gaps = (
            max(0, self._stretches[space].start - cursor.at(space))
            for space in late
            if space in self._stretches
        )
        self.missing = sum(gaps)

    def nearest(self, vector: Vector, query: TextQuery) -> Sequence[tuple[str, float]]:
        """Every remembered passage within `query`, with its likeness."""
        wanted = array("f", vector)
        found: list[tuple[str, float]] = []
        for stretch in self._stretches.values():
            for entries in stretch.entries.values():
                likeness = [
                    math.fsum(map(float.__mul__, wanted, array("f", entry.vector)))
                    for entry in entries
                    if _asked_for(query, entry)
                ]
                if likeness:
                    found.append((entries[0].id, min(1.0, max(likeness))))
        return found

    async def _heads(self, spaces: Spaces) -> dict[SpaceId, Position]:
        if spaces is not None and len(spaces) <= _ASKED_ONE_BY_ONE:
            return {space: await self._ledger.head(space) for space in sorted(spaces)}
        heads = await heads_of(self._ledger)
        return {s: head for s, head in heads.items() if spaces is None or s in spaces}

    def _known(self, space: SpaceId, cursor: LogCursor) -> Position:
        stretch = self._stretches.get(space)
        return cursor.at(space) if stretch is None else max(stretch.end, cursor.at(space))

    async def _read_space(
        self,
        space: SpaceId,
        indexed: Position,
        head: Position,
        embedder: Embedder,
        *,
        known: KnownDigests,
        in_time: InTime,
    ) -> None:
        stretch = self._stretches.get(space)
        end = indexed if stretch is None else stretch.end
        if end >= head:
            return
        start = Position(max(end, head - FRESH))
        commits = await self._ledger.read(space, after=start, limit=FRESH)
        ids = dict.fromkeys(i for commit in commits for i in ids_in(commit))
        changes = await passage_changes(self._state, self._documents, ids)
        remembered = {} if stretch is None else stretch.entries
        news = await _news(changes, remembered, known)
        made = await _embedded_in_time(news.parts[-FRESH:], embedder, in_time)
        left = len(news.parts) - len(made)
        entries: dict[str, Sequence[VectorEntry]] = dict.fromkeys(changes.removed, ())
        entries |= {i: remembered[i] for i in news.held}
        for entry in made:
            entries[entry.id] = (*entries.get(entry.id, ()), entry)
        read_to = commits[-1].position if commits else head
        whole = stretch is not None and start == end
        if stretch is None or not whole or left > 0 or len(stretch.entries) > FRESH:
            begin = read_to if left > 0 else start
            kept = entries
        else:
            stayed = {i: each for i, each in remembered.items() if i not in news.indexed}
            begin, kept = stretch.start, {**stayed, **entries}
        self._stretches[space] = _Stretch(start=begin, end=read_to, entries=kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class _News:
    """What is to be embedded; the passages that are as remembered, or again as indexed."""

    parts: Sequence[PassagePart]
    held: frozenset[str]
    indexed: frozenset[str]


async def _news(
    changes: PassageChanges, remembered: Mapping[str, Sequence[VectorEntry]], known: KnownDigests
) -> _News:
    digests = {i: tuple(entry.digest for entry in each) for i, each in remembered.items()}
    otherwise = changed_parts(changes.parts, digests)
    asked = ids_of_parts(otherwise)
    parts = changed_parts(otherwise, await known(asked)) if asked else ()
    return _News(
        parts=parts,
        held=frozenset(changes.ids).difference(asked),
        indexed=frozenset(asked).difference(ids_of_parts(parts)),
    )


async def _embedded_in_time(
    parts: Sequence[PassagePart], embedder: Embedder, in_time: InTime
) -> Sequence[VectorEntry]:
    """The last of `parts` that there is time for."""
    found: list[VectorEntry] = []
    high = len(parts)
    while high > 0 and in_time():
        block = parts[max(0, high - _AT_ONCE) : high]
        found += await embedded(block, embedder)
        high -= len(block)
    return found


def _asked_for(query: TextQuery, entry: VectorEntry) -> bool:
    return (
        entry.collection is query.collection
        and (query.spaces is None or entry.space in query.spaces)
        and (not query.entities or not query.entities.isdisjoint(entry.entities))
        and query.source_id in {None, entry.source_id}
        and (query.without_scene is None or entry.scene_id != query.without_scene)
    )
