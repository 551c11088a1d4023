"""Senses: words of one sense as one word, opposites, and words of which one is said of a thing."""

from dataclasses import replace
from functools import lru_cache
from typing import Final

from canonry.domain.frames.frames import Frame, Phrase
from canonry.domain.frames.tokens import lemma
from canonry.domain.vocabularies.frame_words import ENDED, ENDING_VERBS, OFFICES, RULING
from canonry.domain.vocabularies.opposites import (
    KINDS,
    ONE_OF,
    OPPOSED_GROUPS,
    OPPOSITES,
    RULED_OUT,
    SYNONYMS,
)
from canonry.domain.vocabularies.state_tags import EXCLUSIVE_GROUPS


def _senses() -> dict[str, str]:
    found: dict[str, str] = {}
    for group in SYNONYMS:
        found.update((lemma(word), lemma(group[0])) for word in group)
    return found


_SENSES: Final = _senses()


def _opposites() -> frozenset[frozenset[str]]:
    pairs = [frozenset(map(lemma, pair)) for pair in OPPOSITES]
    pairs += [frozenset(lemma(word) for word in (pair[0], pair[1])) for pair in OPPOSITES]
    pairs += [frozenset(sense(lemma(word)) for word in pair) for pair in OPPOSITES]
    for mine, theirs in OPPOSED_GROUPS:
        pairs += [frozenset((lemma(one), lemma(other))) for one in mine for other in theirs]
    return frozenset(pair for pair in pairs if len(pair) > 1)


def sense(stem: str) -> str:
    """The stem that stands for all of the same sense."""
    return _SENSES.get(stem, stem)


_OPPOSED: Final = _opposites()
_CLASSES: Final = tuple(frozenset(map(lemma, group)) for group in ONE_OF)
_PREFIXES: Final = ("un", "in", "im", "dis", "non", "ir", "il")
_SHORT: Final = 3


@lru_cache(maxsize=16_384)
def opposed(one: str, other: str) -> bool:
    """Whether two stems are opposites, by the list or by a prefix that denies."""
    if frozenset((one, other)) in _OPPOSED:
        return True
    short, long = sorted((one, other), key=len)
    denied = any(long == prefix + short for prefix in _PREFIXES) and len(short) > _SHORT
    less = one.removesuffix("less") == other.removesuffix("ful") and one != other
    more = other.removesuffix("less") == one.removesuffix("ful") and one != other
    return denied or ("less" in one + other and (less or more))


def one_class(one: str, other: str) -> bool:
    """Whether of the two stems only one is said of a thing, as of colours."""
    return one != other and any(one in group and other in group for group in _CLASSES)


_KINDS: Final = {
    lemma(one): lemma(kind) for kind, covered in reversed(KINDS.items()) for one in covered.split()
}


_WIDE: Final = frozenset(_KINDS.values())


def kind_of(stem: str) -> str:
    """The wider word that covers this one; the word itself where there is none."""
    return _KINDS.get(stem, stem)


def widened(frame: Frame, to: frozenset[str]) -> Frame:
    """The frame with words replaced by wider ones, where those are among `to`."""
    if to.isdisjoint(_WIDE):
        return frame

    def wide(phrase: Phrase) -> Phrase:
        kind = kind_of(phrase.head)
        return replace(phrase, head=kind) if kind in to and kind != phrase.head else phrase

    return replace(
        frame, subject=tuple(map(wide, frame.subject)), phrases=tuple(map(wide, frame.phrases))
    )


def _united() -> dict[str, str]:
    """Each word that has an opposite or a sense, by the first of all that belong together."""
    root: dict[str, str] = {}

    def top(word: str) -> str:
        while root.get(word, word) != word:
            word = root[word]
        return word

    groups = [*map(tuple, _OPPOSED), *map(tuple, _CLASSES)]
    groups += [tuple(map(lemma, group)) for group in SYNONYMS]
    groups += [tuple(map(lemma, group)) for group in EXCLUSIVE_GROUPS]
    groups += [(lemma(kind), *map(lemma, told.split())) for kind, told in KINDS.items()]
    for group in groups:
        first, *others = sorted(group)
        for other in others:
            root[top(other)] = top(first)
    return {word: top(word) for group in groups for word in group}


_UNITED: Final = _united()
_OFFICES: Final = frozenset(map(lemma, OFFICES | RULING | ENDED | ENDING_VERBS))
"""What somebody is or does by an office, and the words that end it."""
_STATES: Final = {
    lemma(act): tuple(
        lemma(state)
        for states, ruled in RULED_OUT.items()
        if act in ruled.split()
        for state in states.split()
    )
    for acts in RULED_OUT.values()
    for act in acts.split()
}


@lru_cache(maxsize=16_384)
def is_described(stem: str) -> bool:
    """Whether the stem is of a word that describes, by its having an opposite."""
    return stem in _UNITED


@lru_cache(maxsize=16_384)
def topics_of(stem: str) -> tuple[str, ...]:
    """Under which words a stem is found: one for all that it may be set against."""
    ruled = dict.fromkeys(_UNITED.get(state, state) for state in _STATES.get(stem, ())[:2])
    held = ("~office",) if stem in _OFFICES else ()
    return (_UNITED.get(stem, stem), *held, *ruled)


def sensed(frame: Frame) -> Frame:
    """The frame with each word replaced by the one that stands for its sense."""
    words = {frame.verb, *(word for phrase in frame.phrases for word in phrase.words)}
    if words.isdisjoint(_SENSES):
        return frame
    return replace(
        frame, verb=sense(frame.verb), phrases=tuple(_sensed(phrase) for phrase in frame.phrases)
    )


def _sensed(phrase: Phrase) -> Phrase:
    return replace(phrase, head=sense(phrase.head), extras=frozenset(map(sense, phrase.extras)))
