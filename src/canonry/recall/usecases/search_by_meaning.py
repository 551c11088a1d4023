"""Search by meaning, including passages that are not indexed yet."""

import asyncio
import math
from array import array
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Final, TypeAlias

from canonry.log.commits import Position
from canonry.log.ports.ledger import Ledger
from canonry.log.ports.world import Clock
from canonry.readmodels.follow_log import LogCursor, changed_ids, heads_of
from canonry.readmodels.ports.documents import Documents
from canonry.readmodels.ports.state import Spaces, State
from canonry.readmodels.ports.text import (
    Embedder,
    EmbeddingModel,
    Purpose,
    Reranker,
    TextQuery,
    Vector,
    VectorEntry,
    VectorQuery,
    Vectors,
)
from canonry.recall.usecases.passage_parts import (
    PassagePart,
    changed_parts,
    embed_parts,
    ids_of_parts,
    passage_changes,
)
from canonry.values.errors import Unavailable
from canonry.values.ids import SpaceId

FRESH: Final = 256
"""The most new passages that a search embeds itself, the newest ones."""

InTime: TypeAlias = Callable[[], bool]
"""Returns whether there is time for more."""

KnownDigests: TypeAlias = Callable[[Sequence[str]], Awaitable[Mapping[str, Sequence[bytes]]]]
"""Returns the digests that the index has of passages."""

_AT_ONCE: Final = 16  # the deadline is checked between blocks: bench search
_ASKED_ONE_BY_ONE: Final = 32  # with more spaces, their heads are read in one query with all others


@dataclass(slots=True, kw_only=True)
class _CachedPart:
    """The cached part of a space's log: the commits after `start`, up to `end`."""

    start: Position
    end: Position
    entries: dict[str, Sequence[VectorEntry]] = field(
        default_factory=dict[str, Sequence[VectorEntry]]
    )


class FreshPassages:
    """The newest passages of each space, embedded in memory for one model."""

    def __init__(self, ledger: Ledger, state: State, documents: Documents) -> None:
        """Start with an empty cache."""
        self._ledger = ledger
        self._state = state
        self._documents = documents
        self._cached_parts: dict[SpaceId, _CachedPart] = {}
        self.missing = 0

    def forget_until(self, cursor: LogCursor) -> None:
        """Drop the spaces that the index now covers."""
        for space, part in tuple(self._cached_parts.items()):
            if part.end <= cursor.position_in(space):
                del self._cached_parts[space]

    def replaced_ids(self) -> frozenset[str]:
        """The ids with a newer text than in the index."""
        return frozenset(i for each in self._cached_parts.values() for i in each.entries)

    async def embed_new(
        self,
        cursor: LogCursor,
        spaces: Spaces,
        embedder: Embedder,
        *,
        known: KnownDigests,
        in_time: InTime,
    ) -> None:
        """Embed the passages written after `cursor`, newest first, while there is time.

        Changes that leave a passage's text unchanged are left to the index. `missing` counts
        commits beyond the limit.

        Raises:
            Unavailable: `embedder.unavailable`.
        """
        heads = await self._read_heads(spaces)
        lagging = {space: head for space, head in heads.items() if head > cursor.position_in(space)}
        self.missing = sum(
            head - self._known_position(space, cursor) for space, head in lagging.items()
        )
        for space, head in lagging.items():
            await self._read_space(
                space, cursor.position_in(space), head, embedder, known=known, in_time=in_time
            )
        gaps = (
            max(0, self._cached_parts[space].start - cursor.position_in(space))
            for space in lagging
            if space in self._cached_parts
        )
        self.missing = sum(gaps)

    def nearest_passages(self, vector: Vector, query: TextQuery) -> Sequence[tuple[str, float]]:
        """Return every cached passage within `query`, with its similarity."""
        wanted = array("f", vector)
        found: list[tuple[str, float]] = []
        for part in self._cached_parts.values():
            for entries in part.entries.values():
                likeness = [
                    math.fsum(map(float.__mul__, wanted, array("f", entry.vector)))
                    for entry in entries
                    if query.allows(entry)
                ]
                if likeness:
                    found.append((entries[0].id, min(1.0, max(likeness))))
        return found

    async def _read_heads(self, spaces: Spaces) -> dict[SpaceId, Position]:
        if spaces is not None and len(spaces) <= _ASKED_ONE_BY_ONE:
            return {space: await self._ledger.head_position(space) for space in sorted(spaces)}
        heads = await heads_of(self._ledger)
        return {s: head for s, head in heads.items() if spaces is None or s in spaces}

    def _known_position(self, space: SpaceId, cursor: LogCursor) -> Position:
        part = self._cached_parts.get(space)
        return (
            cursor.position_in(space) if part is None else max(part.end, cursor.position_in(space))
        )

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
        part = self._cached_parts.get(space)
        end = indexed if part is None else part.end
        if end >= head:
            return
        start = Position(max(end, head - FRESH))
        commits = await self._ledger.read_commits(space, after=start, limit=FRESH)
        ids = dict.fromkeys(i for commit in commits for i in changed_ids(commit))
        changes = await passage_changes(self._state, self._documents, ids)
        remembered = {} if part is None else part.entries
        digests = {i: tuple(entry.digest for entry in each) for i, each in remembered.items()}
        otherwise = changed_parts(changes.parts, digests)
        asked = frozenset(ids_of_parts(otherwise))
        parts = changed_parts(otherwise, await known(ids_of_parts(otherwise))) if asked else ()
        made = await _embed_in_time(parts[-FRESH:], embedder, in_time)
        left = len(parts) - len(made)
        entries: dict[str, Sequence[VectorEntry]] = dict.fromkeys(changes.removed, ())
        entries |= {i: remembered[i] for i in frozenset(changes.ids) - asked}  # as cached
        for entry in made:
            entries[entry.id] = (*entries.get(entry.id, ()), entry)
        read_to = commits[-1].position if commits else head
        whole = part is not None and start == end
        if part is None or not whole or left > 0 or len(part.entries) > FRESH:
            begin = read_to if left > 0 else start
            kept = entries
        else:
            again = asked.difference(ids_of_parts(parts))  # again as indexed
            stayed = {i: each for i, each in remembered.items() if i not in again}
            begin, kept = part.start, {**stayed, **entries}
        self._cached_parts[space] = _CachedPart(start=begin, end=read_to, entries=kept)


async def _embed_in_time(
    parts: Sequence[PassagePart], embedder: Embedder, in_time: InTime
) -> Sequence[VectorEntry]:
    """Embed the last of `parts` for which there is time."""
    found: list[VectorEntry] = []
    high = len(parts)
    while high > 0 and in_time():
        block = parts[max(0, high - _AT_ONCE) : high]
        found += await embed_parts(block, embedder)
        high -= len(block)
    return found


# Search by meaning, including recently written passages.
#
# A search reads the log after the index, embeds the newest passages itself, and caches them until
# the index has them: at most `FRESH` passages, within `PATIENCE` seconds. `behind` counts the
# commits beyond that.

PATIENCE: Final = 2.0
"""Seconds after which a search stops embedding new passages."""

QUERY_PATIENCE: Final = 10.0
"""Seconds that a search waits for the model; the first search loads it."""

_REST: Final = 1.5  # the pause after a model failed, in multiples of the patience

_STATUS_SECONDS: Final = 5.0  # searches share one check of the index: bench search
_PARTS: Final = 32
_QUESTIONS: Final = 32  # bounds the memory of embedded questions


@dataclass(frozen=True, slots=True, kw_only=True)
class Engines:
    """The engines of recall, opened on first use so that an idle server stays small.

    `embedder` returns the one in the settings, or the one for a given model, if any.
    """

    embedder: Callable[[EmbeddingModel | None], Embedder | None]
    vectors: Callable[[], Vectors]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallEngines:
    """The open engines, with the embedder of the settings."""

    embedder: Embedder
    vectors: Vectors


@dataclass(slots=True, kw_only=True)
class _Serving:
    """The serving model, its cursor, and the time of that cursor."""

    embedder: Embedder
    cursor: LogCursor
    since: float
    fresh: FreshPassages


@dataclass(eq=False)
class Recall:
    """Finds passages by meaning in the index that `index_passages` fills.

    It opens the engines when somebody asks; a search waits `patience` seconds for the model. The
    first search sets `asked`, after which an indexer may start.
    """

    engines: Engines
    _: KW_ONLY
    ledger: Ledger
    state: State
    documents: Documents
    clock: Clock
    patience: float = QUERY_PATIENCE
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    _opened: RecallEngines | None = None
    _others: dict[EmbeddingModel, Embedder | None] = field(default_factory=dict)
    _searching: asyncio.Lock = field(default_factory=asyncio.Lock)
    _serving: _Serving | None = None
    _rests_until: float = 0.0
    _questions: dict[tuple[EmbeddingModel, str], asyncio.Future[Vector]] = field(
        default_factory=dict
    )

    @property
    def commits_behind(self) -> int:
        """The commits that neither the index nor the last search covered."""
        return self._serving.fresh.missing if self._serving is not None else 0

    async def open_engines(self) -> RecallEngines:
        """Return the engines, and open them first.

        Raises:
            Unavailable: `embedder.unavailable`, a package is not installed.
        """
        async with self._opening:
            if self._opened is None:
                try:
                    self._opened = await asyncio.to_thread(self._make_engines)
                except ImportError as error:
                    message = f"Search by meaning needs the package {error.name}. Install it."
                    raise Unavailable(
                        "embedder.unavailable", message, package=error.name
                    ) from error
            return self._opened

    async def find_nearest(self, text: str, query: TextQuery) -> Sequence[tuple[str, float]]:
        """Return the ids of passages near `text` within `query`, nearest first, with similarity.

        It is 1 for equal texts and 0 for texts as different as the model can express.

        `query` is used as a filter; its own text is ignored. Items may have changed since, so
        callers must read them again.

        Raises:
            Unavailable: `embedder.unavailable`, `vectors.unavailable` or `vectors.corrupt`;
                callers search words only and report it.
        """
        self.asked.set()
        if query.limit < 1:
            return ()
        opened = await self.open_engines()
        self._require_rested()
        try:
            async with asyncio.timeout(self.patience):
                async with self._searching:
                    serving = await self._serving_model(opened)
                    await self._catch_up(serving, opened.vectors, query)
                vector = await self._vector_of(serving.embedder, text)
        except TimeoutError as error:
            raise self._too_slow() from error
        # Read the cache before the index, because passages leave it once the index has them.
        nearest = dict(serving.fresh.nearest_passages(vector, query))
        replaced = serving.fresh.replaced_ids()
        found = await opened.vectors.search(
            VectorQuery(
                model=serving.embedder.model,
                vector=vector,
                collection=query.collection,
                spaces=query.spaces,
                entities=query.entities,
                source_id=query.source_id,
                without_scene=query.without_scene,
                limit=query.limit + _PARTS,
            )
        )
        for identity, _, similarity in found:
            if similarity >= nearest.get(identity, -1.0) and identity not in replaced:
                nearest[identity] = similarity
        ranked = sorted(nearest.items(), key=lambda item: (-item[1], item[0]))
        low = serving.embedder.unrelated_similarity
        return tuple((i, (near - low) / (1 - low)) for i, near in ranked[: query.limit])

    async def former_embedder(self) -> Embedder | None:
        """Return the former embedder while its index still serves, if any.

        Raises:
            Unavailable: as for `find_nearest`.
        """
        opened = await self.open_engines()
        embedder, _ = await self._choose_model(opened, await opened.vectors.cursors())
        return None if embedder is opened.embedder else embedder

    def record_indexed(self, model: EmbeddingModel, cursor: LogCursor) -> None:
        """Record that the index of `model` reaches `cursor`; indexers in this process call it."""
        serving = self._serving
        if serving is not None and serving.embedder.model == model:
            serving.cursor = cursor
            serving.fresh.forget_until(cursor)
        elif cursor.complete:
            self._serving = None  # the next search checks which model serves

    def drop_caches(self) -> None:
        """Drop all caches after the index was deleted."""
        self._serving = None

    async def close(self) -> None:
        """Close the engines."""
        opened, self._opened = self._opened, None
        if opened is None:
            return
        for embedder in (opened.embedder, *self._others.values()):
            if embedder is not None:
                await embedder.close()
        await opened.vectors.close()

    def _make_engines(self) -> RecallEngines:
        embedder = self.engines.embedder(None)
        if embedder is None:
            raise Unavailable("embedder.unavailable", "No embedder is set. Set recall.embedder.")
        return RecallEngines(embedder=embedder, vectors=self.engines.vectors())

    async def _serving_model(self, opened: RecallEngines) -> _Serving:
        now = self.clock.monotonic()
        serving = self._serving
        if serving is not None and now - serving.since < _STATUS_SECONDS:
            return serving
        embedder, cursor = await self._choose_model(opened, await opened.vectors.cursors())
        if serving is not None and serving.embedder.model == embedder.model:
            fresh = serving.fresh
        else:
            fresh = FreshPassages(self.ledger, self.state, self.documents)
        fresh.forget_until(cursor)
        self._serving = _Serving(embedder=embedder, cursor=cursor, since=now, fresh=fresh)
        return self._serving

    async def _choose_model(
        self, opened: RecallEngines, kept: Mapping[EmbeddingModel, str]
    ) -> tuple[Embedder, LogCursor]:
        """Return the model of the settings if it has indexed everything, else the former one."""
        wanted = opened.embedder.model
        cursors = {model: LogCursor.parse_cursor(cursor) for model, cursor in kept.items()}
        mine = cursors.get(wanted, LogCursor())
        if not mine.complete:
            for model, cursor in cursors.items():
                if cursor.complete and model != wanted:
                    if model not in self._others:
                        self._others[model] = await asyncio.to_thread(self.engines.embedder, model)
                    other = self._others[model]
                    if other is not None:
                        return other, cursor
        return opened.embedder, mine

    async def _catch_up(self, serving: _Serving, vectors: Vectors, query: TextQuery) -> None:
        """Embed passages that the index lacks, until the time is over (see `commits_behind`)."""
        self._require_rested()
        start = self.clock.monotonic()
        try:
            await serving.fresh.embed_new(
                serving.cursor,
                query.spaces,
                serving.embedder,
                known=partial(vectors.vector_digests, serving.embedder.model),
                in_time=lambda: self.clock.monotonic() - start < PATIENCE,
            )
        except Unavailable:
            self._start_rest()
            raise

    async def _vector_of(self, embedder: Embedder, text: str) -> Vector:
        """Return the vector of a question; concurrent searches of one reply share it."""
        key = embedder.model, text
        asked = self._questions.get(key)
        if asked is None or (asked.done() and (asked.cancelled() or asked.exception())):
            asked = asyncio.ensure_future(self._embed_question(embedder, text))
            asked.add_done_callback(_take_exception)
            self._questions[key] = asked
            while len(self._questions) > _QUESTIONS:
                del self._questions[next(iter(self._questions))]
        return await asyncio.shield(asked)

    async def _embed_question(self, embedder: Embedder, text: str) -> Vector:
        self._require_rested()
        try:
            async with asyncio.timeout(self.patience):
                return (await embedder.embed((text,), Purpose.QUERY))[0]
        except TimeoutError as error:
            raise self._too_slow() from error
        except Unavailable:
            self._start_rest()
            raise

    def _too_slow(self) -> Unavailable:
        self._start_rest()
        message = "The embedding model did not answer in time. Search matches words only."
        return Unavailable("embedder.unavailable", message)

    def _start_rest(self) -> None:
        self._rests_until = self.clock.monotonic() + _REST * self.patience

    def _require_rested(self) -> None:
        """Fail at once while a model rests after a failure."""
        if self.clock.monotonic() < self._rests_until:
            message = "The embedding model has just failed. Search matches words only."
            raise Unavailable("embedder.unavailable", message)


def _take_exception(asked: asyncio.Future[Vector]) -> None:
    """Retrieve the exception of a failed question that no search waits for any more."""
    if not asked.cancelled():
        asked.exception()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallServices:
    """Without `recall`, search matches words only; without `reranking`, the order stays."""

    recall: "Recall | None" = None
    reranking: Reranker | None = None
