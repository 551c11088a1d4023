"""The default embedder: a sentence model on the CPU, from files of an installed package.

Texts run in small batches of like length. A text longer than the model's window is read in
windows that overlap, and its vector is their mean.
"""

import asyncio
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

from canonry.adapters.embedders import bert
from canonry.adapters.embedders.pinned import (
    MINILM,
    TOKENIZER,
    WEIGHTS,
    PinnedModel,
    installed_folder,
    require_genuine,
)
from canonry.adapters.embedders.safetensors import read_tensors
from canonry.adapters.embedders.unavailability import unavailable
from canonry.ports.embedder import Embedder, EmbeddingModel, Purpose, Vector

TOKENS_AT_ONCE: Final = 1024
"""So many tokens, padding included, go through the network at once; more takes memory, not time."""

_OVERLAP: Final = 32
_NICENESS: Final = 19
"""The least that there is: writers beside the model lose less than at 10."""

_WARNINGS_AND_WORSE: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    session: Any
    tokenizer: Any
    constants: Any  # the runtime reads them in place, so that they live as long as the session


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    text: int
    ids: Sequence[int]


class OnnxEmbedder(Embedder):
    """One model, loaded when it is first used; queries overtake passages between two batches."""

    def __init__(
        self, *, model: PinnedModel = MINILM, folder: Path | None = None, threads: int | None = None
    ) -> None:
        """Use the files in `folder`, else those of a package; `threads` for each batch."""
        self._pinned = model
        self._folder = folder
        self._threads = threads or max(1, (os.cpu_count() or 1) // 2)
        self._loading = threading.Lock()
        self._loaded: _Loaded | None = None
        self._turn = asyncio.Lock()
        self._background = ThreadPoolExecutor(1, "passages", initializer=_stand_back)

    @property
    @override
    def model(self) -> EmbeddingModel:
        return self._pinned.identity

    @override
    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        if not texts:
            return []
        if purpose is Purpose.QUERY:
            return await asyncio.to_thread(self._embed, texts)
        async with self._turn:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._background, self._embed, texts)

    @override
    async def close(self) -> None:
        self._loaded = None
        self._background.shutdown(wait=False, cancel_futures=True)

    def _embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        loaded = self._load()
        sums = np.zeros((len(texts), self.model.dimensions), dtype=np.float32)
        for batch in _batches(_windows(loaded.tokenizer, texts)):
            vectors = loaded.session.run([bert.OUTPUT], _inputs(batch))[0][:, 0]
            shares = np.array([len(window.ids) for window in batch], dtype=np.float32)
            np.add.at(sums, [window.text for window in batch], vectors * shares[:, None])
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        return [row.tobytes() for row in (sums / lengths).astype("<f4")]

    def _load(self) -> _Loaded:
        with self._loading:
            if self._loaded is None:
                folder = installed_folder(self._pinned, self._folder)
                try:
                    require_genuine(self._pinned, folder)
                    self._loaded = self._open(folder)
                except ImportError as error:
                    message = "install onnxruntime and tokenizers, or set another embedder"
                    raise unavailable(message, package=error.name) from error
                except (OSError, ValueError, KeyError) as error:
                    message = "the model's files cannot be read; install the model again"
                    raise unavailable(message, model=self.model.name) from error
            return self._loaded

    def _open(self, folder: Path) -> _Loaded:
        runtime = import_module("onnxruntime")
        tokenizer = import_module("tokenizers").Tokenizer.from_file(str(folder / TOKENIZER))
        tokenizer.enable_truncation(self._pinned.window, stride=_OVERLAP)
        tokenizer.no_padding()
        shape = bert.Shape(
            dimensions=self.model.dimensions,
            heads=self._pinned.heads,
            epsilon=self._pinned.epsilon,
        )
        network = bert.sentence_encoder(read_tensors(folder / WEIGHTS), shape)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.log_severity_level = _WARNINGS_AND_WORSE
        # Idle threads of the runtime would spin on cores that other processes need.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        values = [runtime.OrtValue.ortvalue_from_numpy(t) for t in network.constants.values()]
        options.add_external_initializers(list(network.constants), values)
        session = runtime.InferenceSession(
            network.model, options, providers=["CPUExecutionProvider"]
        )
        return _Loaded(session=session, tokenizer=tokenizer, constants=(network, values))


def _stand_back() -> None:
    """Let whoever waits for an answer go first, where the system knows priorities of threads."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


def _windows(tokenizer: Any, texts: Sequence[str]) -> Sequence[_Window]:
    found: list[_Window] = []
    for number, encoding in enumerate(tokenizer.encode_batch(list(texts))):
        parts = (encoding, *encoding.overflowing)
        found.extend(_Window(text=number, ids=part.ids) for part in parts)
    return sorted(found, key=lambda window: len(window.ids))


def _batches(windows: Sequence[_Window]) -> Iterator[Sequence[_Window]]:
    """Windows by length, so that little is padded."""
    start = 0
    for end, window in enumerate(windows):
        if end > start and (end - start + 1) * len(window.ids) > TOKENS_AT_ONCE:
            yield windows[start:end]
            start = end
    yield windows[start:]


def _inputs(batch: Sequence[_Window]) -> dict[str, NDArray[Any]]:
    longest = max(len(window.ids) for window in batch)
    ids = np.zeros((len(batch), longest), dtype=np.int32)
    mask = np.zeros_like(ids)
    pool = np.zeros((len(batch), 1, longest), dtype=np.float32)
    for row, window in enumerate(batch):
        size = len(window.ids)
        ids[row, :size] = window.ids
        mask[row, :size] = 1
        pool[row, 0, :size] = 1 / size
    return {bert.IDS: ids, bert.MASK: mask, bert.POOL: pool}
