"""Index ahead: what another process will come to is embedded for it, so that several share work.

Whoever follows the log moves the index's cursor. Whoever comes second embeds what lies further on
and leaves the cursor where it is, so that the first one finds it known and passes over it; neither
has to know of the other, and whoever dies leaves nothing to tidy up.
"""

from collections.abc import Sequence
from typing import Final

from canonry.canon.session.passage_parts import PassagePart, changed_parts, passage_changes
from canonry.readmodels.follow_log import LogCursor, follow_log
from canonry.readmodels.ports.embedder import Embedder, Purpose, Vector
from canonry.readmodels.ports.vectors import VectorBatch, VectorEntry, Vectors
from canonry.recall.usecases.index_passages import THINGS
from canonry.recall.usecases.recall import Recall
from canonry.values.errors import Unavailable

STEPS: Final = 16
"""So many steps lie between the cursor and the end of what is looked at."""

_TRIES: Final = 20


async def index_ahead(recall: Recall, *, seat: int = 0, things: int = THINGS) -> int:
    """Embed a step's worth of what lies ahead; the number of vectors made, 0 where nothing does.

    Those who sit on different seats begin at different places.

    Raises:
        Unavailable: of the embedder or of the index; nothing is lost.
    """
    opened = await recall.opened()
    vectors, embedder = opened.vectors, opened.embedder
    kept = (await vectors.cursors()).get(embedder.model)
    if kept is None:  # nobody has begun
        return 0
    followed = await follow_log(recall.ledger, LogCursor.read(kept), ids=things * STEPS)
    ahead = followed.ids[things:]  # the next step is being made
    chunks = [ahead[low : low + things] for low in range(0, len(ahead), things)]
    for n in range(len(chunks)):
        if made := await _embed(recall, vectors, embedder, chunks[(seat - n - 1) % len(chunks)]):
            return made
    return 0


async def _embed(recall: Recall, vectors: Vectors, embedder: Embedder, ids: Sequence[str]) -> int:
    """Embed what is not known of these, unless it changes or is erased meanwhile.

    The things are read after the cursor, and kept only while it stands there: whatever happens to
    them later lies ahead of it, so that the one who follows the log comes to it.
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
        entries = await _entries(parts, embedder, made)
        batch = VectorBatch(model=embedder.model, entries=entries, cursor=kept, follows=kept)
        try:
            await vectors.apply(batch)
        except Unavailable as error:
            if error.code != "vectors.moved" or not tries_left:
                raise
        else:
            return len(entries)
    return 0


async def _entries(
    parts: Sequence[PassagePart], embedder: Embedder, made: dict[str, Vector]
) -> Sequence[VectorEntry]:
    new = list(dict.fromkeys(part.text for part in parts if part.text not in made))
    if new:
        made.update(zip(new, await embedder.embed(new, Purpose.PASSAGE), strict=True))
    return [part.with_vector(made[part.text]) for part in parts]
