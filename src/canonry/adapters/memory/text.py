"""Keyword search in memory: BM25 over a scan."""

import math
from collections import Counter
from collections.abc import Sequence

from typing_extensions import override

from canonry.adapters.memory.store import MemoryStore
from canonry.domain.entries import Thing
from canonry.domain.passages import Passage, passages_of
from canonry.domain.words import terms_of
from canonry.ports.views.text import Hit, Text, TextQuery

K1, B = 1.2, 0.75


class MemoryText(Text):
    """Reads what the ledger folded."""

    def __init__(self, store: MemoryStore) -> None:
        """Share `store` with the ledger."""
        self._store = store

    @override
    async def search(self, query: TextQuery) -> Sequence[Hit]:
        passages = [
            p
            for thing in self._things()
            for p in passages_of(thing)
            if p.collection is query.collection
            and (query.spaces is None or p.space in query.spaces)
            and (not query.entities or not query.entities.isdisjoint(p.entities))
            and query.source_id in {None, p.source_id}
            and (query.without_scene is None or p.scene_id != query.without_scene)
        ]
        hits = rank(frozenset(terms_of(query.text)), passages)
        return hits[: query.limit]

    def _things(self) -> Sequence[Thing]:
        return list(self._store.things.values())


def rank(wanted: frozenset[str], passages: Sequence[Passage]) -> list[Hit]:
    """Passages with any wanted word, by BM25 scaled into (0, 1), best first."""
    counts = [Counter(terms_of(p.text)) for p in passages]
    seen = Counter(term for count in counts for term in wanted & count.keys())
    average = sum(c.total() for c in counts) / (len(counts) or 1) or 1
    hits: list[Hit] = []
    for passage, count in zip(passages, counts, strict=True):
        found = sorted(wanted & count.keys())
        raw = 0.0
        for term in found:
            idf = math.log(1 + (len(passages) - seen[term] + 0.5) / (seen[term] + 0.5))
            norm = count[term] + K1 * (1 - B + B * count.total() / average)
            raw += idf * count[term] * (K1 + 1) / norm
        if raw > 0:
            hits.append(Hit(passage=passage, score=raw / (raw + 1), terms=tuple(found)))
    return sorted(hits, key=lambda hit: (-hit.score, hit.passage.id))
