"""Keyword search in memory: BM25 over a scan."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from typing_extensions import override

from canonry.adapters.memory.store import MemoryView
from canonry.domain.recall.keywords import (
    Figures,
    Measure,
    Sought,
    alike,
    doubted,
    measure,
    most_frequent,
    sought_in,
)
from canonry.domain.recall.passages import Passage, passages_of
from canonry.domain.texts.stems import stems_of
from canonry.ports.views.text import Hit, Text, TextFound, TextQuery


class MemoryText(MemoryView, Text):
    """Reads what was folded."""

    @override
    async def search(self, query: TextQuery) -> TextFound:
        everything = [
            (passage, stems_of(passage.text))
            for thing in self._store.things.values()
            for passage in passages_of(thing)
            if passage.collection is query.collection
            and (query.spaces is None or passage.space in query.spaces)
        ]
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
    async def placed(self, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
        things = (self._store.things.get(identity) for identity in frozenset(ids))
        return [
            _hit(passage, {})
            for thing in things
            if thing is not None
            for passage in passages_of(thing)
            if query.allows(passage)
        ]


def measure_of(sought: Sought, passages: Sequence[Sequence[str]]) -> Measure:
    """What words are worth among these passages, each given by its stems."""
    found_in = Counter(stem for stems in passages for stem in set(stems))
    figures = Figures(
        passages=len(passages),
        length=sum(map(len, passages)) / (len(passages) or 1) or 1,
        found_in=found_in,
    )
    return measure(
        sought,
        figures,
        corrected={each: _meant(each, found_in) for each in doubted(sought, found_in)},
        begun={each: _begun(each, found_in) for each in sought.begun},
    )


def _meant(stem: str, found_in: Mapping[str, int]) -> Mapping[str, int]:
    words = found_in.items()
    return most_frequent(alike(stem, words)) or most_frequent(alike(stem, words, at_start=True))


def _begun(beginning: str, found_in: Mapping[str, int]) -> Mapping[str, int]:
    return most_frequent(word for word in found_in.items() if word[0].startswith(beginning))


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
