"""Index passages by their meaning."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from canonry.log.commits import ORIGIN, Position
from canonry.log.items.scenes import Memory, Turn
from canonry.readmodels.follow_log import Followed, LogCursor, follow_log, heads_of
from canonry.readmodels.ports.documents import Documents
from canonry.readmodels.ports.text import (
    Embedder,
    EmbeddingModel,
    Purpose,
    Vector,
    VectorBatch,
    VectorEntry,
    Vectors,
)
from canonry.recall.usecases.passage_parts import (
    PassageChanges,
    changed_parts,
    embedded,
    left_alone,
    passage_changes,
)
from canonry.recall.usecases.recall import Recall
from canonry.values.errors import Unavailable
from canonry.values.ids import SpaceId

# Index passages: follow the log and keep the vector of each passage.
#
# Every step is stored with its cursor, so that the next process continues after a crash.

THINGS: Final = 128
"""The number of items in a step, which an interruption can lose."""

LOOKS_EVERY: Final = 1.0
"""Seconds between two checks for an older index, while a model is slow."""

_AT_ONCE: Final = 128
"""The number of parts embedded together; with fewer, some cores wait for the last ones."""
_TRIES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """The result of a step: commits read, vectors made, and commits that wait.

    `idle` means that nothing was to do: no new commits, and no passages of renamed entities.
    """

    commits: int
    vectors: int
    waiting: int
    idle: bool = False


@dataclass(slots=True, kw_only=True)
class _IndexPlace:
    """The position of a model's index, and the stored cursor.

    Passages embedded since the position in `fresh` have the names of that time.
    """

    kept: str
    cursor: LogCursor
    fresh: Mapping[SpaceId, Position] = field(default_factory=dict[SpaceId, Position])


class PassageIndexer:
    """Follows the log for the model in the settings; one process runs it at a time.

    Until that model has indexed everything, the index of the former model follows too, however slow
    the new one is.
    """

    def __init__(
        self, recall: Recall, *, things: int = THINGS, looks_every: float = LOOKS_EVERY
    ) -> None:
        """Start at the stored cursor, with the first step."""
        self._recall = recall
        self._things = things
        self._looks_every = looks_every
        self._places: dict[EmbeddingModel, _IndexPlace] = {}

    async def step(self) -> Indexed:
        """Index the next passages after the stored cursor, also after a crash.

        Raises:
            Unavailable: of the embedder or the index; nothing is lost, and you can retry the
                step.
        """
        opened = await self._recall.opened()
        if await self._recall.older() is None:
            return await self._follow(opened.vectors, opened.embedder)
        step = asyncio.create_task(self._follow(opened.vectors, opened.embedder))
        try:
            while not step.done():
                done = await self.step_older()
                more = done is not None and not done.idle
                await asyncio.wait((step,), timeout=0 if more else self._looks_every)
            return await step
        finally:
            step.cancel()
            await asyncio.gather(step, return_exceptions=True)

    async def step_older(self) -> Indexed | None:
        """Index the next passages for the former model; None: there is none any more.

        Raises:
            Unavailable: of the index, or of the engines if they cannot be opened.
        """
        opened, older = await self._recall.opened(), await self._recall.older()
        if older is None:
            return None
        try:
            return await self._follow(opened.vectors, older)
        except Unavailable:  # search by words covers the rest until the switch
            return Indexed(commits=0, vectors=0, waiting=0, idle=True)

    async def tend(self) -> bool:
        """Publish the indexed vectors for fast search, if it is time."""
        opened = await self._recall.opened()
        return await opened.vectors.tend(opened.embedder.model)

    async def _follow(self, vectors: Vectors, embedder: Embedder) -> Indexed:
        recall, model = self._recall, embedder.model
        place = self._places.pop(model, None) or await self._place(vectors, model)
        cursor = place.cursor
        followed = await follow_log(recall.ledger, cursor, ids=self._things)
        if followed.commits == 0 and cursor.again:
            return await self._read_again(vectors, embedder, place, followed)
        if followed.commits == 0 and (followed.cursor == cursor or not followed.cursor.positions):
            self._places[model] = place
            return Indexed(commits=0, vectors=0, waiting=followed.waiting, idle=True)
        changes = await passage_changes(
            recall.state, recall.documents, followed.ids, followed.erasing
        )
        renamed = (e for e in followed.renamed if e.position > place.fresh.get(e.space, ORIGIN))
        again = {**followed.cursor.again, **dict.fromkeys((e.entity for e in renamed), "")}
        reached = replace(followed.cursor, again=again)
        made = await self._keep(vectors, embedder, place, changes, reached)
        if changes.removed:
            await vectors.remove(changes.removed)
        if any(reached.at(space) > place.fresh.get(space, ORIGIN) for space in followed.erasing):
            await vectors.purge()
        if (
            reached.complete
            and not cursor.complete
            and embedder is (await recall.opened()).embedder
        ):
            for older in await vectors.cursors():  # the index that served until now
                if older != model:
                    await vectors.drop(older)
        recall.indexed(model, reached)
        return Indexed(commits=followed.commits, vectors=made, waiting=followed.waiting)

    async def _place(self, vectors: Vectors, model: EmbeddingModel) -> _IndexPlace:
        kept = (await vectors.cursors()).get(model, "")
        cursor = LogCursor.read(kept)
        fresh = {} if cursor.positions else await heads_of(self._recall.ledger)
        return _IndexPlace(kept=kept, cursor=cursor, fresh=fresh)

    async def _keep(
        self,
        vectors: Vectors,
        embedder: Embedder,
        place: _IndexPlace,
        changes: PassageChanges,
        reached: LogCursor,
    ) -> int:
        """Embed and store a step, except known parts; return the number of vectors."""
        known = await vectors.digests(embedder.model, changes.ids)
        parts = changed_parts(changes.parts, known)
        entries: list[VectorEntry] = []
        for low in range(0, len(parts), _AT_ONCE):
            entries += await embedded(parts[low : low + _AT_ONCE], embedder)
        written = reached.written()
        await vectors.apply(
            VectorBatch(
                model=embedder.model,
                entries=entries,
                removed=changes.removed,
                cursor=written,
                follows=place.kept,
            )
        )
        self._places[embedder.model] = _IndexPlace(kept=written, cursor=reached, fresh=place.fresh)
        return len(entries)

    async def _read_again(
        self, vectors: Vectors, embedder: Embedder, place: _IndexPlace, followed: Followed
    ) -> Indexed:
        """Embed the next passages of a renamed entity."""
        recall, again = self._recall, dict(place.cursor.again)
        entity, after = next(iter(again.items()))
        ids = await vectors.about(embedder.model, entity, after=after, limit=self._things)
        if len(ids) < self._things:
            del again[entity]
        else:
            again[entity] = ids[-1]
        # The passages that were embedded with a name, and the turns next to them.
        found: dict[str, None] = {}
        for thing in (await recall.state.things(ids)).values() if ids else ():
            if isinstance(thing, Turn | Memory):
                found[thing.id] = None
            if isinstance(thing, Turn):
                page = await recall.documents.turns(thing.scene_id, after=thing.index, limit=1)
                found.update((turn.id, None) for turn in page)
        changes = await passage_changes(recall.state, recall.documents, list(found))
        reached = replace(place.cursor, again=again)
        made = await self._keep(vectors, embedder, place, changes, reached)
        return Indexed(commits=0, vectors=made, waiting=followed.waiting)


async def drop_index(recall: Recall) -> None:
    """Delete all vectors, including damaged ones; indexing starts again.

    Raises:
        Unavailable: `vectors.unavailable`.
    """
    opened = await recall.opened()
    await opened.vectors.drop()
    recall.indexed_anew()


async def forget_passages(
    vectors: Vectors,
    documents: Documents,
    space: SpaceId,
    ids: Sequence[str],
    *,
    erased_at: Position,
) -> None:
    """Remove passages erased at a position from the index of every model.

    The turns after them were embedded with their text. They are removed too, unless the indexer has
    read the erasure and embedded them again. No byte of the erased text stays in the index's files.
    A damaged index is dropped, because its content is unknown.

    Raises:
        Unavailable: `vectors.unavailable`, `vectors.moved` or `vectors.unfinished`; a retry
            removes the rest.
    """
    after = [turn.id async for turn in left_alone(documents, space)]
    try:
        for model in await vectors.cursors():
            await _forget(vectors, model, ids, after, seen=(space, erased_at))
        await vectors.purge()
    except Unavailable as error:
        if error.code != "vectors.corrupt":
            raise
        await vectors.drop()


async def _forget(
    vectors: Vectors,
    model: EmbeddingModel,
    ids: Sequence[str],
    after: Sequence[str],
    *,
    seen: tuple[SpaceId, Position],
) -> None:
    """Remove `ids` between two steps; `after` too, unless the index has `seen` the erasure."""
    space, erased_at = seen
    for tries_left in reversed(range(_TRIES)):
        cursor = (await vectors.cursors()).get(model, "")
        knows = LogCursor.read(cursor).at(space) >= erased_at
        removed = ids if knows else [*ids, *after]
        try:
            await vectors.apply(
                VectorBatch(model=model, removed=removed, cursor=cursor, follows=cursor)
            )
        except Unavailable as error:
            if error.code != "vectors.moved" or not tries_left:
                raise
        else:
            return


# Index ahead: embed passages before the indexer reaches them, to share its work.
#
# The process that follows the log moves the index's cursor. A helper embeds later passages and
# leaves the cursor; the indexer then finds these vectors and skips them. The processes need not
# know of each other, and a crash leaves nothing to clean up.

STEPS: Final = 16
"""The number of steps between the cursor and the furthest passage of a helper."""


async def index_ahead(recall: Recall, *, seat: int = 0, things: int = THINGS) -> int:
    """Embed one step ahead; return the number of vectors, 0 if nothing is left.

    Helpers with different seats start at different places.

    Raises:
        Unavailable: of the embedder or of the index; nothing is lost.
    """
    opened = await recall.opened()
    vectors, embedder = opened.vectors, opened.embedder
    kept = (await vectors.cursors()).get(embedder.model)
    if kept is None:  # indexing has not started
        return 0
    followed = await follow_log(recall.ledger, LogCursor.read(kept), ids=things * STEPS)
    ahead = followed.ids[things:]  # the indexer works on the next step
    chunks = [ahead[low : low + things] for low in range(0, len(ahead), things)]
    for n in range(len(chunks)):
        if made := await _embed(recall, vectors, embedder, chunks[(seat - n - 1) % len(chunks)]):
            return made
    return 0


async def _embed(recall: Recall, vectors: Vectors, embedder: Embedder, ids: Sequence[str]) -> int:
    """Embed unknown passages, unless they change or are erased meanwhile.

    Items are read after the cursor and stored only while it stays there. Later changes are
    therefore ahead of the indexer, which will read them.
    """
    made: dict[str, Vector] = {}
    for tries_left in reversed(range(_TRIES)):
        kept = (await vectors.cursors()).get(embedder.model)
        if kept is None:
            return 0
        changes = await passage_changes(recall.state, recall.documents, ids)
        known = await vectors.digests(embedder.model, changes.ids)
        parts = changed_parts(changes.parts, known)
        if not parts:
            return 0
        new = list(dict.fromkeys(part.text for part in parts if part.text not in made))
        if new:
            made.update(zip(new, await embedder.embed(new, Purpose.PASSAGE), strict=True))
        entries = [part.with_vector(made[part.text]) for part in parts]
        batch = VectorBatch(model=embedder.model, entries=entries, cursor=kept, follows=kept)
        try:
            await vectors.apply(batch)
        except Unavailable as error:
            if error.code != "vectors.moved" or not tries_left:
                raise
        else:
            return len(entries)
    return 0
