"""Recall as the settings say: which embedder makes the vectors, and where the index lies.

Engines are imported when they are first needed, so that an idle server neither loads nor keeps
them.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from canonry.bootstrap.settings import KEY_VARIABLE, Settings
from canonry.ports.embedder import Embedder, EmbeddingModel
from canonry.ports.views.vectors import Vectors
from canonry.usecases.canon import Canon
from canonry.usecases.recall import Engines, Recall

if TYPE_CHECKING:
    from canonry.adapters.embedders import Library

FOLDER: Final = "recall"
RECALL_FILE: Final = "recall.db"
NONE: Final = "none"


def recall_folder(settings: Settings) -> Path:
    """Where the index lies: it may be deleted whenever no server runs."""
    return settings.data / FOLDER


def recall_for(settings: Settings, canon: Canon) -> Recall | None:
    """Recall by meaning over the records of `canon`, None where the settings want none."""
    if settings.recall_embedder == NONE or settings.memory:
        return None

    def open_vectors() -> Vectors:
        from canonry.adapters.vectors import FolderVectors  # noqa: PLC0415 - see above

        return FolderVectors(recall_folder(settings))

    engines = Engines(embedder=lambda model: embedder_for(settings, model), vectors=open_vectors)
    return Recall(
        engines,
        ledger=canon.ledger,
        state=canon.state,
        documents=canon.documents,
        clock=canon.clock,
    )


def embedder_for(settings: Settings, model: EmbeddingModel | None = None) -> Embedder | None:
    """The embedder of the settings, or one that makes the vectors of `model` too, if any does.

    An endpoint or a hub is asked for another model by its name; it may still not have it.
    """
    from canonry.adapters import embedders  # noqa: PLC0415 - see above

    known: list[Embedder] = [
        embedders.OnnxEmbedder(folder=settings.recall_model_folder),
        embedders.HashingEmbedder(),
    ]
    match settings.recall_embedder:
        case "onnx":
            chosen = known[0]
        case "hashing":
            chosen = known[1]
        case "openai":
            chosen = _endpoint(settings, model)
        case "hub":
            chosen = _hub(settings, embedders.Library(settings.recall_library), model)
        case _:
            return None
    if model is None:
        return chosen
    return next((each for each in (chosen, *known) if each.model == model), None)


def _endpoint(settings: Settings, model: EmbeddingModel | None) -> Embedder:
    from canonry.adapters.embedders import Endpoint, OpenAICompatibleEmbedder  # noqa: PLC0415

    return OpenAICompatibleEmbedder(
        Endpoint(
            base_url=settings.recall_url or "",
            model=_name(settings, model),
            dimensions=_dimensions(settings, model),
            version=settings.recall_model_version if model is None else model.version,
            key=os.environ.get(KEY_VARIABLE) or None,
            ask_dimensions=settings.recall_ask_dimensions,
        )
    )


def _hub(settings: Settings, library: "Library", model: EmbeddingModel | None) -> Embedder:
    from canonry.adapters.embedders import HubEmbedder  # noqa: PLC0415 - see above

    return HubEmbedder(
        library=library,
        name=_name(settings, model),
        dimensions=_dimensions(settings, model),
        version=settings.recall_model_version if model is None else model.version,
    )


def _name(settings: Settings, model: EmbeddingModel | None) -> str:
    return (settings.recall_model or "") if model is None else model.name


def _dimensions(settings: Settings, model: EmbeddingModel | None) -> int:
    return int(settings.recall_dimensions or 0) if model is None else model.dimensions
