"""Keywords alone: BM25 over stems, as the text view scores them, and the outside reference."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.recall.conversations import Conversation
from canonry.language.texts.stems import query_stems, stems_of
from canonry.readmodels.ranking import CORRECTED, K1, Asked, B, Figures, most_frequent, words_alike


class Keywords:
    """Every turn's stems, and where each stem occurs; `k1` and `b` as BM25 has them."""

    def __init__(self, conversation: Conversation, *, k1: float = K1, b: float = B) -> None:
        self._k1, self._b = k1, b
        counts = [Counter(stems_of(turn.text)) for turn in conversation.turns]
        self._n = len(counts)
        self._length = [count.total() for count in counts]
        self._mean = sum(self._length) / self._n
        self._found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, count in enumerate(counts):
            for stem, times in count.items():
                self._found[stem].append((number, times))

    def search(self, text: str) -> tuple[Asked, Mapping[int, Mapping[str, float]]]:
        """Parse a query, and return the score of each found turn by each term."""
        stems = query_stems(text)
        hits: dict[int, dict[str, float]] = defaultdict(dict)
        possible: dict[str, float] = {}
        for stem in stems:
            possible[stem] = self._idf(len(self._found.get(stem, ()))) * (self._k1 + 1)
            for found, share in self._meant(stem):
                idf = self._idf(len(self._found[found])) * share
                for number, times in self._found[found]:
                    norm = times + self._k1 * (
                        1 - self._b + self._b * self._length[number] / self._mean
                    )
                    score = idf * times * (self._k1 + 1) / norm
                    hits[number][stem] = max(score, hits[number].get(stem, 0.0))
        strongest = max((sum(terms.values()) for terms in hits.values()), default=0.0)
        return Asked(terms=possible, strongest=strongest, itself=self._itself(text, stems)), hits

    def figures(self, stems: Iterable[str]) -> Figures:
        """Return the figures of these stems."""
        found_in = {stem: len(self._found[stem]) for stem in stems if stem in self._found}
        return Figures(passages=self._n, length=self._mean, found_in=found_in)

    def _itself(self, text: str, asked: Sequence[str]) -> float:
        """Return the score of a turn with the same text."""
        said = Counter(stems_of(text))
        slack = self._k1 * (1 - self._b + self._b * said.total() / self._mean)
        worth = {stem: self._idf(len(self._found.get(stem, ()))) * (self._k1 + 1) for stem in asked}
        return sum(worth[s] * said[s] / (said[s] + slack) for s in asked if said[s])

    def _meant(self, stem: str) -> Sequence[tuple[str, float]]:
        if stem in self._found:
            return [(stem, 1.0)]
        words = [(each, len(found)) for each, found in self._found.items()]
        near = most_frequent(words_alike(stem, words)) or most_frequent(
            words_alike(stem, words, at_start=True)
        )
        return [(each, CORRECTED) for each in near]

    def _idf(self, found_in: int) -> float:
        return math.log(1 + (self._n - found_in + 0.5) / (found_in + 0.5))


def in_order(hits: Mapping[int, Mapping[str, float]]) -> Sequence[int]:
    """The turns found, by the sum of their terms."""
    return sorted(hits, key=lambda number: (-sum(hits[number].values()), number))


class Reference:
    """bm25s as its documentation shows it, with English stop words and Snowball stems."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._bm25s: Any = import_module("bm25s")
        self._stemmer = import_module("Stemmer").Stemmer("english")
        self._index = self._bm25s.BM25()
        self._index.index(self._tokens(texts), show_progress=False)

    def search(self, text: str) -> Sequence[int]:
        """The turns that share a stem with the question, best first."""
        tokens = self._tokens([text], ids=False)[0]
        known = [token for token in tokens if token in self._index.vocab_dict]
        if not known:
            return []
        scores: NDArray[np.float32] = self._index.get_scores(known)
        order = np.argsort(-scores, kind="stable")
        return [int(number) for number in order if scores[number] > 0]

    def _tokens(self, texts: Sequence[str], *, ids: bool = True) -> Any:
        return self._bm25s.tokenize(
            list(texts),
            stopwords="en",
            stemmer=self._stemmer,
            return_ids=ids,
            show_progress=False,
        )
