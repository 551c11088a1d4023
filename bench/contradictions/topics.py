"""Run `python -m bench.contradictions.topics FILE`: writes which words belong to one topic.

The words are those of the default model's vocabulary; near are those whose vectors are. The same
model and the same seed give the same file, up to the last bits of the processor's arithmetic.
"""

import argparse
import asyncio
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from canonry.language.clauses.frames import lemma
from canonry.language.texts.stems import DEFAULT, STOP_WORDS
from canonry.readmodels.ports.text import Purpose
from canonry.recall.embedders.onnx import OnnxEmbedder

TOPICS, ROUNDS, AT_ONCE, SHORTEST = 1_000, 12, 256, 3
NEAR, MOST = 0.6, 3
"""How near a word is to the middle of each of its topics, beside its nearest; and how many."""

Vectors = NDArray[np.float32]


async def vectors_of(words: Sequence[str]) -> Vectors:
    """The vector of each word, by the default model."""
    embedder = OnnxEmbedder()
    found: list[bytes] = []
    for start in range(0, len(words), AT_ONCE):
        found += await embedder.embed(words[start : start + AT_ONCE], Purpose.PASSAGE)
    await embedder.close()
    return np.array([np.frombuffer(one, dtype="<f4") for one in found])


def of_length_one(vectors: Vectors) -> Vectors:
    """The same directions."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-9), dtype=np.float32)


def by_stem(words: Sequence[str], vectors: Vectors) -> tuple[list[str], Vectors]:
    """Each stem once, with the mean of the vectors of its words."""
    found: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        found.setdefault(lemma(word), []).append(place)
    stems = sorted(found)
    return stems, of_length_one(np.array([vectors[found[stem]].mean(0) for stem in stems]))


def middles_of(vectors: Vectors) -> Vectors:
    """The middles of the topics, by k-means on the sphere."""
    chosen = np.random.default_rng(0).choice(len(vectors), TOPICS, replace=False)
    middles = vectors[chosen]
    for _round in range(ROUNDS):
        sums = np.zeros_like(middles)
        np.add.at(sums, (vectors @ middles.T).argmax(1), vectors)
        middles = np.where(sums.any(1, keepdims=True), of_length_one(sums), middles)
    return middles


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file: a topic a line, its stems in order."""
    parser = argparse.ArgumentParser(prog="python -m bench.contradictions.topics")
    parser.add_argument("file", type=Path)
    chosen = parser.parse_args(arguments)
    vocabulary = files("canonry.recall.embedders") / "vocabulary" / "uncased.txt"
    words = [
        word
        for word in vocabulary.read_text("utf-8").splitlines()
        if word.isascii() and word.isalpha() and len(word) >= SHORTEST
        and word not in STOP_WORDS[DEFAULT]
    ]  # fmt: skip
    stems, vectors = by_stem(words, asyncio.run(vectors_of(words)))
    nearness = vectors @ middles_of(vectors).T
    lines: list[list[str]] = [[] for _topic in range(TOPICS)]
    for stem, row in zip(stems, nearness, strict=True):
        nearest = np.argsort(-row)[:MOST]
        for place, topic in enumerate(nearest):
            if not place or row[topic] >= NEAR:
                lines[topic].append(stem)
    told = [" ".join(line) for line in lines if len(line) > 1]
    chosen.file.write_text("\n".join(told) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
