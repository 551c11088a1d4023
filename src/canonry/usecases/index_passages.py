"""Index passages: the log is followed, and the index has the vector of each passage in it.

Every step is kept with the cursor that it reached, so that a process that is killed goes on there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from canonry.ports.embedder import Embedder, Purpose
from canonry.ports.views.vectors import VectorBatch, VectorEntry, Vectors
from canonry.usecases.follow_log import LogCursor, follow_log
from canonry.usecases.passage_parts import PassagePart, passage_changes
from canonry.usecases.recall import Recall

THINGS: Final = 128
"""So many things a step looks at: what is lost, at most, when it is interrupted."""

_AT_ONCE: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What a step did: commits read, vectors made, and how many commits wait for the next one."""

    commits: int
    vectors: int
    waiting: int


class PassageIndexer:
    """Follows the log for the model that the settings name; one process runs it at a time."""

    def __init__(self, recall: Recall, *, things: int = THINGS) -> None:
        """Begin where the index says, with the first step."""
        self._recall = recall
        self._things = things
        self._cursor: LogCursor | None = None

    async def step(self) -> Indexed:
        """Index what comes next; the index tells where that is, also after a crash.

        Raises:
            Unavailable: of the embedder or of the index; nothing is lost, and the same step may
                be made again.
        """
        recall = self._recall
        opened = await recall.opened()
        embedder, vectors = opened.embedder, opened.vectors
        cursor = self._cursor or await _stored_cursor(vectors, embedder)
        self._cursor = None
        followed = await follow_log(recall.ledger, cursor, ids=self._things)
        if followed.commits == 0 and followed.cursor == cursor:
            self._cursor = cursor
            return Indexed(commits=0, vectors=0, waiting=followed.waiting)
        changes = await passage_changes(
            recall.state, recall.documents, followed.ids, followed.erasing
        )
        entries = await _embedded(changes.parts, embedder)
        if not followed.cursor.positions:
            return Indexed(commits=0, vectors=0, waiting=0)
        await vectors.apply(
            VectorBatch(
                model=embedder.model,
                entries=entries,
                removed=changes.removed,
                cursor=followed.cursor.written(),
            )
        )
        self._cursor = followed.cursor
        if changes.removed:
            await _forget(vectors, changes.removed, but=embedder)
        if followed.cursor.complete and not cursor.complete:
            await _drop_others(vectors, embedder)
        recall.indexed(embedder.model, followed.cursor)
        return Indexed(commits=followed.commits, vectors=len(entries), waiting=followed.waiting)

    async def tend(self) -> bool:
        """Make what was indexed fast to search, if it is time."""
        opened = await self._recall.opened()
        return await opened.vectors.tend(opened.embedder.model)


async def drop_index(recall: Recall) -> None:
    """Forget all vectors, also damaged ones; indexing begins anew.

    Raises:
        Unavailable: `vectors.unavailable`.
    """
    opened = await recall.opened()
    await opened.vectors.drop()
    recall.indexed_anew()


async def forget_passages(recall: Recall, ids: Sequence[str]) -> None:
    """Take what was erased out of the index, of every model, before an indexer sees it in the log.

    Raises:
        Unavailable: `vectors.unavailable` or `vectors.corrupt`.
    """
    await _forget((await recall.opened()).vectors, ids)


async def _forget(vectors: Vectors, ids: Sequence[str], but: Embedder | None = None) -> None:
    for status in await vectors.status():
        if but is None or status.model != but.model:
            batch = VectorBatch(model=status.model, removed=ids, cursor=status.cursor)
            await vectors.apply(batch)


async def _stored_cursor(vectors: Vectors, embedder: Embedder) -> LogCursor:
    found = (each for each in await vectors.status() if each.model == embedder.model)
    return next((LogCursor.read(each.cursor) for each in found), LogCursor())


async def _embedded(parts: Sequence[PassagePart], embedder: Embedder) -> Sequence[VectorEntry]:
    found: list[VectorEntry] = []
    for low in range(0, len(parts), _AT_ONCE):
        block = parts[low : low + _AT_ONCE]
        vectors = await embedder.embed([part.text for part in block], Purpose.PASSAGE)
        found += [part.with_vector(each) for part, each in zip(block, vectors, strict=True)]
    return found


async def _drop_others(vectors: Vectors, embedder: Embedder) -> None:
    """An older model served until now; nobody asks it any more."""
    for status in await vectors.status():
        if status.model != embedder.model:
            await vectors.drop(status.model)
