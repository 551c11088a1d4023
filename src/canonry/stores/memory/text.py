"""Keyword search in memory: BM25 over a scan."""

from collections.abc import Iterable, Mapping, Sequence

from typing_extensions import override

from canonry.language.texts.stems import stems_of
from canonry.readmodels.keywords import Figures, figures_of, measure_of, sought_in
from canonry.readmodels.passages import Passage, passages_of
from canonry.readmodels.ports.text import Hit, Text, TextFound, TextQuery
from canonry.stores.memory.store import MemoryView


class MemoryText(MemoryView, Text):
    """Reads what was folded."""

    @override
    async def search(self, query: TextQuery) -> TextFound:
        everything = self._searched(query)
        measure = measure_of(sought_in(query.text), [stems for _, stems in everything])
        hits = [
            _hit(passage, shares)
            for passage, stems in everything
            if query.allows(passage) and (shares := measure.shares(stems))
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.id))
        asked = measure.asked(hits[0].shares if hits else {})
        return TextFound(hits=hits[: query.limit], asked=asked)

    @override
    async def figures(self, stems: Iterable[str], query: TextQuery) -> Figures:
        return figures_of([held for _, held in self._searched(query)], among=frozenset(stems))

    def _searched(self, query: TextQuery) -> Sequence[tuple[Passage, Sequence[str]]]:
        """The passages of the collection and spaces, each with its stems."""
        return [
            (passage, stems_of(passage.text))
            for thing in self._store.things.values()
            for passage in passages_of(thing)
            if passage.collection is query.collection
            and (query.spaces is None or passage.space in query.spaces)
        ]

    @override
    async def placed(self, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
        things = (self._store.things.get(identity) for identity in frozenset(ids))
        return [
            _hit(passage, {})
            for thing in things
            if thing is not None
            for passage in passages_of(thing)
            if query.allows(passage)
        ]


def _hit(passage: Passage, shares: Mapping[str, float]) -> Hit:
    raw = sum(shares.values())
    return Hit(
        id=passage.id,
        score=raw / (raw + 1),
        shares=shares,
        scene_id=passage.scene_id,
        place=passage.place,
        entities=passage.entities,
    )
