"""Vectors of texts by the default embedder, kept between runs where `CANONRY_BENCH_CACHE` says."""

import asyncio
import hashlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from canonry.readmodels.ports.text import Purpose
from canonry.recall.embedders import MINILM, OnnxEmbedder

AT_ONCE = 256


def vectors_of(texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
    """A row for each text."""
    file = _folder() / f"{_key(texts, purpose)}.npy"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        np.save(file, asyncio.run(_embedded(texts, purpose)))
    kept: NDArray[np.float32] = np.load(file)
    return kept


def _folder() -> Path:
    named = os.environ.get("CANONRY_BENCH_CACHE")
    return Path(named) if named else Path(tempfile.gettempdir()) / "canonry-bench-recall"


def _key(texts: Sequence[str], purpose: Purpose) -> str:
    model = MINILM.identity.digest or ""
    return hashlib.sha256("\0".join((model, purpose, *texts)).encode()).hexdigest()[:32]


async def _embedded(texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
    embedder = OnnxEmbedder()
    rows: list[bytes] = []
    try:
        for start in range(0, len(texts), AT_ONCE):
            rows += await embedder.embed(texts[start : start + AT_ONCE], purpose)
    finally:
        await embedder.close()
    return np.frombuffer(b"".join(rows), dtype="<f4").reshape(len(texts), -1)
