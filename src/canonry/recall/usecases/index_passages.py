"""Index passages by their meaning."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
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
from canonry.recall.usecases import passage_parts
from canonry.recall.usecases.search_by_meaning import Recall
from canonry.values.errors import Unavailable
from canonry.values.ids import SpaceId

# Index passages: follow the log and keep the vector of each passage.
#
# Every step is stored with its cursor, so that the next process continues after a crash.

ITEMS_PER_STEP: Final = 128
"""The number of items in a step, which an interruption can lose."""

POLL_SECONDS: Final = 1.0
"""Seconds between two checks for an older index, while a model is slow."""

_AT_ONCE: Final = 128
"""The number of parts embedded together; with fewer, some cores wait for the last ones."""
_TRIES: Final = 20  # an indexing process may move the cursor first, batch after batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """The result of a step: commits read, vectors made, and commits that wait.

    `idle` means that nothing was to do: no new commits, and no passages of renamed entities.
    """

    commits: int
    vectors: int
    pending: int
    idle: bool = False


@dataclass(slots=True, kw_only=True)
class _IndexPosition:
    """The position of a model's index, and the stored cursor.

    Passages embedded since the position in `fresh` have the names of that time.
    """

    kept: str
    cursor: LogCursor
    fresh: Mapping[SpaceId, Position] = field(default_factory=dict[SpaceId, Position])


@dataclass(eq=False)
class PassageIndexer:
    """Follows the log for the model in the settings; one process runs it at a time.

    Until that model has indexed everything, the index of the former model follows too, however slow
    the new one is.
    """

    recall: Recall
    _: KW_ONLY
    items_per_step: int = ITEMS_PER_STEP
    poll_seconds: float = POLL_SECONDS
    _positions: dict[EmbeddingModel, _IndexPosition] = field(default_factory=dict)

    async def index_step(self) -> Indexed:
        """Index the next passages after the stored cursor, also after a crash.

        Raises:
            Unavailable: of the embedder or the index; nothing is lost, and you can retry the
                step.
        """
        opened = await self.recall.open_engines()
        if await self.recall.former_embedder() is None:
            return await self._index_next(opened.vectors, opened.embedder)
        step = asyncio.create_task(self._index_next(opened.vectors, opened.embedder))
        try:
            while not step.done():
                done = await self.step_older()
                more = done is not None and not done.idle
                await asyncio.wait((step,), timeout=0 if more else self.poll_seconds)
            return await step
        finally:
            step.cancel()
            await asyncio.gather(step, return_exceptions=True)

    async def step_older(self) -> Indexed | None:
        """Index the next passages for the former model; None: there is none any more.

        Raises:
            Unavailable: of the index, or of the engines if they cannot be opened.
        """
        opened, older = await self.recall.open_engines(), await self.recall.former_embedder()
        if older is None:
            return None
        try:
            return await self._index_next(opened.vectors, older)
        except Unavailable:  # search by words covers the rest until the switch
            return Indexed(commits=0, vectors=0, pending=0, idle=True)

    async def publish_vectors(self) -> bool:
        """Publish the indexed vectors for fast search, if it is time."""
        opened = await self.recall.open_engines()
        return await opened.vectors.compact_updates(opened.embedder.model)

    async def _index_next(self, vectors: Vectors, embedder: Embedder) -> Indexed:
        recall, model = self.recall, embedder.model
        index_position = self._positions.pop(model, None) or await self._find_position(
            vectors, model
        )
        cursor = index_position.cursor
        followed = await follow_log(recall.ledger, cursor, ids=self.items_per_step)
        if followed.commits == 0 and cursor.again:
            return await self._embed_renamed(vectors, embedder, index_position, followed)
        if followed.commits == 0 and (followed.cursor == cursor or not followed.cursor.positions):
            self._positions[model] = index_position
            return Indexed(commits=0, vectors=0, pending=followed.waiting, idle=True)
        changes = await passage_parts.passage_changes(
            recall.state, recall.documents, followed.ids, followed.erasing
        )
        renamed = (
            e for e in followed.renamed if e.position > index_position.fresh.get(e.space, ORIGIN)
        )
        again = {**followed.cursor.again, **dict.fromkeys((e.entity for e in renamed), "")}
        reached = replace(followed.cursor, again=again)
        made = await self._store_step(vectors, embedder, index_position, changes, reached)
        if changes.removed:
            await vectors.remove(changes.removed)
        if any(
            reached.position_in(space) > index_position.fresh.get(space, ORIGIN)
            for space in followed.erasing
        ):
            await vectors.purge()
        if (
            reached.complete
            and not cursor.complete
            and embedder is (await recall.open_engines()).embedder
        ):
            for older in await vectors.cursors():  # the index that served until now
                if older != model:
                    await vectors.drop(older)
        recall.record_indexed(model, reached)
        return Indexed(commits=followed.commits, vectors=made, pending=followed.waiting)

    async def _find_position(self, vectors: Vectors, model: EmbeddingModel) -> _IndexPosition:
        kept = (await vectors.cursors()).get(model, "")
        cursor = LogCursor.parse_cursor(kept)
        fresh = {} if cursor.positions else await heads_of(self.recall.ledger)
        return _IndexPosition(kept=kept, cursor=cursor, fresh=fresh)

    async def _store_step(
        self,
        vectors: Vectors,
        embedder: Embedder,
        index_position: _IndexPosition,
        changes: passage_parts.PassageChanges,
        reached: LogCursor,
    ) -> int:
        """Embed and store a step, except known parts; return the number of vectors."""
        known = await vectors.vector_digests(embedder.model, changes.ids)
        parts = passage_parts.changed_parts(changes.parts, known)
        entries: list[VectorEntry] = []
        for low in range(0, len(parts), _AT_ONCE):
            entries += await passage_parts.embed_parts(parts[low : low + _AT_ONCE], embedder)
        written = reached.format_cursor()
        await vectors.apply(
            VectorBatch(
                model=embedder.model,
                entries=entries,
                removed=changes.removed,
                cursor=written,
                follows=index_position.kept,
            )
        )
        self._positions[embedder.model] = _IndexPosition(
            kept=written, cursor=reached, fresh=index_position.fresh
        )
        return len(entries)

    async def _embed_renamed(
        self,
        vectors: Vectors,
        embedder: Embedder,
        index_position: _IndexPosition,
        followed: Followed,
    ) -> Indexed:
        """Embed the next passages of a renamed entity."""
        recall, again = self.recall, dict(index_position.cursor.again)
        entity, after = next(iter(again.items()))
        ids = await vectors.passages_about(
            embedder.model, entity, after=after, limit=self.items_per_step
        )
        if len(ids) < self.items_per_step:
            del again[entity]
        else:
            again[entity] = ids[-1]
        # The passages that were embedded with a name, and the turns next to them.
        found: dict[str, None] = {}
        for item in (await recall.state.items_by_id(ids)).values() if ids else ():
            if isinstance(item, Turn | Memory):
                found[item.id] = None
            if isinstance(item, Turn):
                page = await recall.documents.turns(item.scene_id, after=item.index, limit=1)
                found.update((turn.id, None) for turn in page)
        changes = await passage_parts.passage_changes(recall.state, recall.documents, list(found))
        reached = replace(index_position.cursor, again=again)
        made = await self._store_step(vectors, embedder, index_position, changes, reached)
        return Indexed(commits=0, vectors=made, pending=followed.waiting)


async def drop_index(recall: Recall) -> None:
    """Delete all vectors, including damaged ones; indexing starts again.

    Raises:
        Unavailable: `vectors.unavailable`.
    """
    opened = await recall.open_engines()
    await opened.vectors.drop()
    recall.drop_caches()


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
    after = [turn.id async for turn in passage_parts.turns_after_erased(documents, space)]
    try:
        for model in await vectors.cursors():
            await _remove_between_steps(vectors, model, ids, after, seen=(space, erased_at))
        await vectors.purge()
    except Unavailable as error:
        if error.code != "vectors.corrupt":
            raise
        await vectors.drop()


async def _remove_between_steps(
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
        knows = LogCursor.parse_cursor(cursor).position_in(space) >= erased_at
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


async def index_ahead(
    recall: Recall, *, seat: int = 0, items_per_step: int = ITEMS_PER_STEP
) -> int:
    """Embed one step ahead; return the number of vectors, 0 if nothing is left.

    Helpers with different seats start at different positions.

    Raises:
        Unavailable: of the embedder or of the index; nothing is lost.
    """
    opened = await recall.open_engines()
    vectors, embedder = opened.vectors, opened.embedder
    kept = (await vectors.cursors()).get(embedder.model)
    if kept is None:  # indexing has not started
        return 0
    followed = await follow_log(
        recall.ledger, LogCursor.parse_cursor(kept), ids=items_per_step * STEPS
    )
    ahead = followed.ids[items_per_step:]  # the indexer works on the next step
    chunks = [ahead[low : low + items_per_step] for low in range(0, len(ahead), items_per_step)]
    for n in range(len(chunks)):
        if made := await _embed_unknown(
            recall, vectors, embedder, chunks[(seat - n - 1) % len(chunks)]
        ):
            return made
    return 0


async def _embed_unknown(
    recall: Recall, vectors: Vectors, embedder: Embedder, ids: Sequence[str]
) -> int:
    """Embed unknown passages, unless they change or are erased meanwhile.

    Items are read after the cursor and stored only while it stays there. Later changes are
    therefore ahead of the indexer, which will read them.
    """
    made: dict[str, Vector] = {}
    for tries_left in reversed(range(_TRIES)):
        kept = (await vectors.cursors()).get(embedder.model)
        if kept is None:
            return 0
        changes = await passage_parts.passage_changes(recall.state, recall.documents, ids)
        known = await vectors.vector_digests(embedder.model, changes.ids)
        parts = passage_parts.changed_parts(changes.parts, known)
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
