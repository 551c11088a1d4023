"""The default embedder: a sentence model on the CPU, from a file of an installed package.

Each text goes through the network alone, so that its vector is the same to the last bit whatever
is embedded with it; several go at once, in threads, the longest first, so that all threads end
together. A text longer than the model's window is read in windows that overlap, and its vector is
their mean.
"""

import asyncio
import ctypes
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from canonry.adapters.embedders.pinned import MINILM, PinnedModel, genuine_file, installed_file
from canonry.adapters.embedders.unavailability import unavailable
from canonry.adapters.embedders.unit_vectors import unit_vector
from canonry.adapters.embedders.wordpiece import WordPiece, uncased
from canonry.ports.embedder import Embedder, EmbeddingModel, Purpose, Vector

_OVERLAP: Final = 32
_NICENESS: Final = 19
"""The least that there is: writers beside the model lose less than at 10."""

_WARNINGS_AND_WORSE: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    session: Any
    tokens: WordPiece


class OnnxEmbedder(Embedder):
    """One model, loaded when it is first used; queries do not wait for passages."""

    def __init__(
        self,
        *,
        model: PinnedModel = MINILM,
        identity: EmbeddingModel | None = None,
        folder: Path | None = None,
        threads: int | None = None,
    ) -> None:
        """Use the file in `folder`, else that of a package; embed so many passages at once.

        `identity` is one of the model's `forms`, where this one is asked in its place.
        """
        self._pinned = model
        self._identity = identity or model.identity
        self._folder = folder
        self._loading = threading.Lock()
        self._loaded: _Loaded | None = None
        self._passages = ThreadPoolExecutor(
            threads or os.cpu_count() or 1, "passages", initializer=_stand_back
        )

    @property
    @override
    def model(self) -> EmbeddingModel:
        return self._identity

    @override
    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        loop = asyncio.get_running_loop()
        threads = None if purpose is Purpose.QUERY else self._passages
        longest_first = sorted(range(len(texts)), key=lambda n: -len(texts[n]))
        runs = {n: loop.run_in_executor(threads, self._vector, texts[n]) for n in longest_first}
        return await asyncio.gather(*(runs[n] for n in range(len(texts))))

    @override
    async def close(self) -> None:
        self._loaded = None
        self._passages.shutdown(wait=False, cancel_futures=True)

    def _vector(self, text: str) -> Vector:
        loaded = self._load()
        total: NDArray[np.float64] = np.zeros(self._identity.dimensions)
        for window in _windows(loaded.tokens, text, self._pinned.window):
            ids = np.array([window], dtype=np.int64)
            inputs = {
                "input_ids": ids,
                "attention_mask": np.ones_like(ids),
                "token_type_ids": np.zeros_like(ids),
            }
            states = loaded.session.run(None, inputs)[0][0]
            mean = states.mean(axis=0, dtype=np.float64)
            total += mean * (len(window) / np.linalg.norm(mean))
        return unit_vector(total.tolist())

    def _load(self) -> _Loaded:
        with self._loading:
            if self._loaded is None:
                file = installed_file(self._pinned, self._folder)
                try:
                    self._loaded = _opened(genuine_file(self._pinned, file))
                except ImportError as error:
                    message = "install onnxruntime, or set another embedder"
                    raise unavailable(message, package=error.name) from error
                except (OSError, ValueError, KeyError) as error:
                    message = "the model's files cannot be read; install the model again"
                    raise unavailable(message, model=self.model.name) from error
            return self._loaded


def _opened(network: bytes) -> _Loaded:
    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1  # texts go side by side instead, which is faster
    options.inter_op_num_threads = 1
    options.log_severity_level = _WARNINGS_AND_WORSE
    session = runtime.InferenceSession(network, options, providers=["CPUExecutionProvider"])
    _give_back()
    return _Loaded(session=session, tokens=uncased())


def _give_back() -> None:
    """Hand what loading took back to the system: with glibc it is a quarter of the process."""
    if sys.platform == "linux":
        with suppress(AttributeError, OSError):
            ctypes.CDLL(None).malloc_trim(0)


def _stand_back() -> None:
    """Let whoever waits for an answer go first, where the system knows priorities of threads."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


def _windows(tokens: WordPiece, text: str, size: int) -> Iterator[Sequence[int]]:
    """The tokens of a text in stretches of at most `size`, each with a beginning and an end."""
    numbers = tokens.encode(text)
    length = size - 2
    for start in range(0, max(1, len(numbers) - _OVERLAP), length - _OVERLAP):
        yield (tokens.begin, *numbers[start : start + length], tokens.end)
