"""What `canonry doctor` sees of recall by meaning: the model, the index, and how far it is."""

import asyncio
from pathlib import Path
from typing import Final

from canonry.app.diagnosis import Diagnosis
from canonry.readmodels.follow_log import LogCursor, heads_of
from canonry.readmodels.ports.embedder import EmbeddingModel, Purpose
from canonry.recall.usecases.recall import Recall, Reranking
from canonry.values.errors import Unavailable

_REMEDIES: Final = {
    "embedder.unavailable": "search goes on by words; install or start the model, or set another",
    "embedder.slow": "search goes on by words; look at the endpoint, or raise recall.patience",
    "vectors.corrupt": "search goes on by words; `canonry rebuild --only vectors` makes it anew",
    "vectors.unavailable": "search goes on by words; look at the rights and the disk of its folder",
}
_RERANKER: Final = (
    "search goes on without it; look at recall.rerank_url, or set recall.reranker none"
)


async def look_at_recall(diagnosis: Diagnosis, recall: Recall, folder: Path, origin: str) -> None:
    """Ask the model for one vector, and the index how far it is; nothing is changed.

    `origin` says where the model comes from. Whatever is wrong, search goes on by words.
    """
    try:
        opened = await recall.opened()
        diagnosis.store["recall_model"] = _told(opened.embedder.model)
        diagnosis.store["recall_model_origin"] = origin
        async with asyncio.timeout(recall.patience):
            await opened.embedder.embed(("hello",), Purpose.QUERY)
    except TimeoutError:
        what = f"the embedding model: it did not answer in time ({recall.patience:g} s)"
        diagnosis.is_wrong(what, _REMEDIES["embedder.slow"])
    except Unavailable as error:
        diagnosis.is_wrong(f"the embedding model: {error.message}", _remedy(error))
        if error.details.get("package"):
            return
    try:
        await _look_at_index(diagnosis, recall, folder)
    except Unavailable as error:
        diagnosis.is_wrong(f"the index of vectors: {error.message}", _remedy(error))


async def look_at_reranking(diagnosis: Diagnosis, reranking: Reranking) -> None:
    """Ask for the order of two texts; whatever is wrong, search goes on without."""
    try:
        await reranking.order("hello", ("hello", "good night"))
    except Unavailable as error:
        diagnosis.is_wrong(f"the reranker: {error.message}", _RERANKER)


async def _look_at_index(diagnosis: Diagnosis, recall: Recall, folder: Path) -> None:
    heads = await heads_of(recall.ledger)
    opened = await recall.opened()
    statuses = await opened.vectors.status() if await asyncio.to_thread(folder.is_dir) else ()
    mine = next((each for each in statuses if each.model == opened.embedder.model), None)
    cursor = LogCursor() if mine is None else LogCursor.read(mine.cursor)
    waiting = sum(max(0, head - cursor.at(space)) for space, head in heads.items())
    diagnosis.store["recall_vectors"] = 0 if mine is None else mine.count
    diagnosis.store["recall_commits_waiting"] = waiting
    older = [each.model for each in statuses if each is not mine]
    if older:
        diagnosis.hint(
            f"vectors of another model are kept: {', '.join(map(_told, older))}",
            "they serve until the new model has seen everything; a server sees to that",
        )
    if waiting:
        diagnosis.hint(
            f"{waiting} commits are not indexed by meaning yet",
            "a server does it in the background; or `canonry rebuild --only vectors` now",
        )


def _told(model: EmbeddingModel) -> str:
    return f"{model.name}, version {model.version}, {model.dimensions} dimensions"


def _remedy(error: Unavailable) -> str:
    return _REMEDIES.get(error.code, "search goes on by words; try again later")
