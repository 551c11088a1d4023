"""Segments: what follows a verb, cut at its prepositions, and the phrases of a row of things."""

from collections.abc import Sequence
from dataclasses import dataclass

from canonry.world.domain.utterances import lexicon
from canonry.world.domain.utterances.clauses import SpokenWord
from canonry.world.domain.utterances.naming import phrase_of


@dataclass(frozen=True, slots=True)
class Segment:
    """What follows a preposition, or the verb itself."""

    before: str
    words: tuple[SpokenWord, ...]


def segments_of(words: Sequence[SpokenWord]) -> list[Segment]:
    """The words after the verb, and after each preposition."""
    found: list[Segment] = []
    before, current = "", list[SpokenWord]()
    for word in words:
        if word.text in lexicon.PREPOSITIONS or word.text in {"out", "away", "off"}:
            if current or before == "":
                found.append(Segment(before, tuple(current)))
            before, current = word.text, []
        else:
            current.append(word)
    found.append(Segment(before, tuple(current)))
    return found


def list_of(words: Sequence[SpokenWord]) -> list[tuple[SpokenWord, ...]]:
    """The phrases of "the rope, the torch and the lute"."""
    found: list[list[SpokenWord]] = [[]]
    for word in words:
        if word.text in {",", "and", "und"}:
            found.append([])
        else:
            found[-1].append(word)
    return [tuple(part) for part in found if phrase_of(part).words or phrase_of(part).count]
