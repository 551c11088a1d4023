"""Naming: which of the known things a phrase names, and what was named last."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from canonry.language.clauses.tokens import lemma
from canonry.language.texts.stems import terms_of
from canonry.log.schemas.world_types import MOVERS, WorldType
from canonry.values.json_values import plain_signs
from canonry.world.domain.utterances import lexicon
from canonry.world.domain.utterances.clauses import SpokenClause, SpokenWord
from canonry.world.domain.utterances.lexicon import EntityRef, MeantThing, Nameable

_WITHIN_A_WORD: Final = re.compile(r"(?<=\w)'(?=\w)(?!s\b)", re.IGNORECASE)
"""An apostrophe that is no possessive: words are compared without it."""
_SLIP: Final = 0.8
_COMPOUND: Final = 4
_MOST_CANDIDATES: Final = 8
_KINDS: Final = {
    "person": frozenset(map(str, MOVERS)),
    "thing": frozenset({str(WorldType.ITEM)}),
    "place": frozenset({str(WorldType.LOCATION)}),
}


@dataclass(frozen=True, slots=True)
class CalledAs:
    """By which words a thing is called: the ones that suffice, and the ones that only add."""

    thing: Nameable
    heads: frozenset[str]
    others: frozenset[str]


@lru_cache(maxsize=8_192)
def called(thing: Nameable) -> CalledAs:
    """How a thing is called: "Brannoch the Smith" is Brannoch and the smith, never "the"."""
    words = terms_of(_WITHIN_A_WORD.sub("", plain_signs(thing.name)))
    told = [word for word in words if word not in lexicon.DETERMINERS]
    stems = [lemma(word) for word in told]
    if not stems:
        return CalledAs(thing, frozenset(), frozenset())
    heads = {stems[-1]}
    if thing.kind in _KINDS["person"]:
        if "the" in words[1:] or told[0] not in lexicon.TITLES:
            heads.add(stems[0])
        heads |= {stem for word, stem in zip(told, stems, strict=True) if word in _CALLING}
    elif "of" in words:
        heads.add(stems[0])
    if thing.kind in _KINDS["place"]:
        heads |= set(stems)
    return CalledAs(thing, frozenset(heads), frozenset(stems))


_CALLING: Final = lexicon.TITLES - {"old", "young", "red", "black", "white", "lord", "lady"}


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun with what stands before it; `owner` is whose it is said to be.

    `first` is the head of what has an "of", such as the temple of tides.
    """

    words: tuple[SpokenWord, ...]
    owner: tuple[SpokenWord, ...] = ()
    count: int | str | None = None
    first: SpokenWord | None = None

    @property
    def surface(self) -> str:
        """As it was said."""
        return " ".join(word.text for word in self.words)


_LEFT_OUT: Final = lexicon.DETERMINERS | {"half", ",", "back"}


def phrase_of(words: Sequence[SpokenWord]) -> NounPhrase:
    """The phrase without its articles; numbers and "all" are how many there are."""
    count: int | str | None = None
    told: list[SpokenWord] = []
    head: SpokenWord | None = None
    owner: tuple[SpokenWord, ...] = ()
    for place, word in enumerate(words):
        text = word.text
        if text in lexicon.ALL:
            count = "all"
        elif text.isdecimal() and not told:
            count = int(text[:9])
        elif text in lexicon.COUNTS and not told:
            article = text in {"a", "an"}
            count = count if article else lexicon.COUNTS[text]
        elif word.owns and place + 1 < len(words):
            owner, told = (*told, word), []
        elif text == "of" and told:
            head = told[-1]
        elif text in _LEFT_OUT or (text.endswith("ly") and len(text) > len("only")):
            continue
        else:
            told.append(word)
    if not told and (pronouns := [word for word in words if word.text in lexicon.PRONOUNS]):
        told = pronouns[-1:]
    return NounPhrase(tuple(told), owner, count, head)


def named(
    phrase: NounPhrase, known: Iterable[Nameable], kinds: Sequence[str] = ()
) -> EntityRef | None:
    """What the phrase names: the best of these things, those of the first of `kinds` before others.

    Without any word there is nothing; what fits nothing is told as it was said.
    """
    if not phrase.words:
        return None
    stems = [lemma("".join(terms_of(word.text)) or word.text) for word in phrase.words]
    scored = [(score, thing) for thing in known if (score := _score(stems, called(thing))) > 0]
    if not scored and phrase.owner:
        return named(NounPhrase(phrase.owner), known, kinds)
    for kind in kinds:
        some = [each for each in scored if each[1].kind in _KINDS[kind]]
        if some:
            scored = some
            break
    head = (phrase.first or phrase.words[-1]).text
    if not scored:
        return EntityRef(kind="latent", surface=head, confidence=0.2)
    best = max(score for score, _ in scored)
    meant = sorted({thing.id: thing for score, thing in scored if score == best}.values(),
                   key=lambda thing: (thing.name, thing.id))  # fmt: skip
    sure = round(min(best / (len(stems) + 0.0) if len(stems) > best else 1.0, 1.0), 2)
    if len(meant) == 1:
        [only] = meant
        return EntityRef(kind=only.kind, surface=phrase.surface, confidence=sure, id=only.id)
    share = round(sure / len(meant), 2)
    return EntityRef(
        kind=meant[0].kind,
        surface=phrase.surface,
        confidence=share,
        candidates=tuple(
            MeantThing(id=each.id, name=each.name, confidence=share)
            for each in meant[:_MOST_CANDIDATES]
        ),
    )


def _score(stems: Sequence[str], thing: CalledAs) -> float:
    """How many words of the phrase are the thing's; its last word has to be what it is called."""
    if stems[-1] in thing.heads:
        first = 1.0
    elif _near(stems[-1], thing.heads):
        first = _SLIP
    else:
        return 0.0
    others = [stem for stem in stems[:-1] if stem not in lexicon.DETERMINERS]
    unknown = [stem for stem in others if stem not in thing.others]
    return first + len(others) - len(unknown) - 0.5 * len(unknown) if first else 0.0


def _near(stem: str, heads: frozenset[str]) -> bool:
    """Whether a word is a slip of one of these, or the end of one: a gull is a seagull."""
    ends = len(stem) >= _COMPOUND and any(head.endswith(stem) for head in heads)
    return ends or lexicon.misspelled(stem, tuple(heads)) is not None


def refers_to_person(ref: EntityRef | None) -> bool:
    """Whether what was named is somebody."""
    return ref is not None and ref.kind in _KINDS["person"]


def refers_to_thing(ref: EntityRef | None) -> bool:
    """Whether what was named is an item."""
    return ref is not None and ref.kind in _KINDS["thing"]


def refers_to_place(ref: EntityRef | None) -> bool:
    """Whether what was named is a place."""
    return ref is not None and ref.kind in _KINDS["place"]


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


@dataclass(slots=True)
class LastNamed:
    """What was named last, so that pronouns mean something."""

    things: list[EntityRef] = field(default_factory=list)
    persons: list[EntityRef] = field(default_factory=list)

    def note(self, ref: EntityRef | None) -> None:
        """Remember what was named."""
        if ref is None or ref.id is None:
            return
        (self.persons if refers_to_person(ref) else self.things).append(ref)

    def meant(self, pronoun: str, *, animate: bool) -> EntityRef | None:
        """What a pronoun stands for: somebody where only that makes sense, else a thing first."""
        first, second = (self.persons, self.things) if animate else (self.things, self.persons)
        if pronoun in {"him", "her", "he", "she", "ihn", "ihm"}:
            first, second = self.persons, []
        found = first or second
        return replace(found[-1], surface=pronoun) if found else None


@dataclass(frozen=True, slots=True)
class Hearing:
    """Who speaks, the text, what can be named, and what has been."""

    text: str
    subject: Nameable
    known: Sequence[Nameable]
    memory: LastNamed

    def raw(self, clause: SpokenClause) -> str:
        """The words of a clause as they were said."""
        return self.text[clause.words[0].start : clause.words[-1].end]
