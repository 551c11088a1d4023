"""What `canonry doctor` sees of recall by meaning: the model, the index, and how far it is."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from canonry.domain.errors import Unavailable
from canonry.ports.embedder import EmbeddingModel, Purpose
from canonry.usecases.kernel.follow_log import LogCursor, heads_of
from canonry.usecases.kernel.recall import Recall

_REMEDIES: Final = {
    "embedder.unavailable": "search goes on by words; install or start the model, or set another",
    "embedder.slow": "search goes on by words; look at the endpoint, or raise recall.patience",
    "vectors.corrupt": "search goes on by words; `canonry rebuild --only vectors` makes it anew",
    "vectors.unavailable": "search goes on by words; look at the rights and the disk of its folder",
}


@dataclass(slots=True, kw_only=True)
class RecallSeen:
    """Facts, and each finding with what helps."""

    facts: dict[str, str | int] = field(default_factory=dict[str, str | int])
    wrong: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    hints: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


async def look_at_recall(recall: Recall, folder: Path, origin: str) -> RecallSeen:
    """Ask the model for one vector, and the index how far it is; nothing is changed.

    `origin` says where the model comes from.
    """
    seen = RecallSeen()
    try:
        opened = await recall.opened()
        seen.facts["recall_model"] = _told(opened.embedder.model)
        seen.facts["recall_model_origin"] = origin
        async with asyncio.timeout(recall.patience):
            await opened.embedder.embed(("hello",), Purpose.QUERY)
    except TimeoutError:
        what = f"the embedding model: it did not answer in time ({recall.patience:g} s)"
        seen.wrong.append((what, _REMEDIES["embedder.slow"]))
    except Unavailable as error:
        seen.wrong.append((f"the embedding model: {error.message}", _remedy(error)))
        if error.details.get("package"):
            return seen
    try:
        await _look_at_index(seen, recall, folder)
    except Unavailable as error:
        seen.wrong.append((f"the index of vectors: {error.message}", _remedy(error)))
    return seen


async def _look_at_index(seen: RecallSeen, recall: Recall, folder: Path) -> None:
    heads = await heads_of(recall.ledger)
    opened = await recall.opened()
    statuses = await opened.vectors.status() if await asyncio.to_thread(folder.is_dir) else ()
    mine = next((each for each in statuses if each.model == opened.embedder.model), None)
    cursor = LogCursor() if mine is None else LogCursor.read(mine.cursor)
    waiting = sum(max(0, head - cursor.at(space)) for space, head in heads.items())
    seen.facts["recall_vectors"] = 0 if mine is None else mine.count
    seen.facts["recall_commits_waiting"] = waiting
    older = [each.model for each in statuses if each is not mine]
    if older:
        seen.hints.append(
            (
                f"vectors of another model are kept: {', '.join(map(_told, older))}",
                "they serve until the new model has seen everything; a server sees to that",
            )
        )
    if waiting:
        advice = "a server does it in the background; or `canonry rebuild --only vectors` now"
        seen.hints.append((f"{waiting} commits are not indexed by meaning yet", advice))


def _told(model: EmbeddingModel) -> str:
    return f"{model.name}, version {model.version}, {model.dimensions} dimensions"


def _remedy(error: Unavailable) -> str:
    return _REMEDIES.get(error.code, "search goes on by words; try again later")
