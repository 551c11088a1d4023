"""Claims: a narration cut into clauses that claim something, and the scene that they are of."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Final

from canonry.language.clauses.tokens import lemma
from canonry.language.texts.sentences import sentence_starts
from canonry.values.ids import EntityId
from canonry.world.domain.admission.kit import Rejection, missing
from canonry.world.domain.checks import KnownWay, Person, Stack
from canonry.world.domain.utterances.clauses import SpokenWord, words_in
from canonry.world.domain.utterances.lexicon import Nameable, forms_of
from canonry.world.domain.utterances.naming import called

NARRATION_MAX: Final = 4_000
_QUOTED: Final = re.compile(
    r"\"[^\"]{0,1000}\"|\u201c[^\u201d]{0,1000}\u201d|\u201e[^\u201c]{0,1000}\u201c"
)
_BREAKS: Final = frozenset({",", ";", ":", "and", "but", "as", "while", "until", "where"})
_YOU: Final = frozenset({"you", "yourself"})
_NAME_WORDS: Final = 6


def _read() -> Mapping[str, tuple[str, ...]]:
    text = (files("canonry.world.domain.narration") / "words.txt").read_text("utf-8")
    groups = text.replace("\n ", " ").splitlines()
    return {
        name: tuple(each.replace("_", " ") for each in told.split())
        for name, _, told in (group.partition(": ") for group in groups)
    }


WORDS: Final = _read()


UNCLAIMED: Final = (*WORDS["unclaimed"], *WORDS["reporting"])
_PHRASES: Final = {
    name: tuple(each for each in told if " " in each) for name, told in WORDS.items()
}
_STEMS: Final = {
    name: frozenset(lemma(each) for each in told if " " not in each) for name, told in WORDS.items()
}
_MEANT: Final = {
    "going": frozenset({"move", "flee"}),
    "holding": frozenset(
        {"take", "use", "throw", "put", "give", "drop", "drink", "eat", "read", "light", "play"}
    ),
}


@lru_cache(maxsize=8_192)
def is_of(group: str, word: str) -> bool:
    """Whether a word is a form of one of a group, or a verb that means the same to players."""
    if lemma(word) in _STEMS[group]:
        return True
    forms, respelled = forms_of(word)
    single = next((form for form in forms if len(form.words) == 1), None)
    return not respelled and single is not None and single.verb in _MEANT.get(group, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Something known that a clause names, from which of its words to which."""

    thing: Nameable
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One clause: its words, who it is about, and what it names; `you` is the player.

    A `denied` one says that something is not so; an `open` one claims nothing of the world.
    """

    text: str
    words: tuple[SpokenWord, ...]
    you: bool
    denied: bool
    open: bool
    named: tuple[Named, ...]

    @property
    def plain(self) -> str:
        """Its words with a space around each."""
        return f" {' '.join(word.text for word in self.words)} "

    def has(self, group: str) -> bool:
        """Whether it has a word of this group in any form, or words in a row as they are.

        What somebody does counts by what players mean with the verb, too.
        """
        plain = self.plain
        if any(f" {each} " in plain for each in _PHRASES[group]):
            return True
        if group.startswith("layer."):  # what is brightly lit is not bright weather
            return any(f" {each} " in plain for each in WORDS[group])
        return any(is_of(group, word.text) for word in self.words if not word.owns)

    @property
    def span(self) -> tuple[int, int]:
        """From where to where it stands in the narration."""
        return self.words[0].start, self.words[-1].end


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence without what is quoted in it, and its claims."""

    text: str
    start: int
    end: int
    open: bool
    claims: tuple[Claim, ...]


def sentences_of(narration: str, known: Sequence[Nameable]) -> list[Sentence]:
    """The sentences in order; what characters say claims nothing, and questions do not either."""
    text = narration[:NARRATION_MAX]
    bare = _QUOTED.sub(lambda match: " " * len(match[0]), text)
    bounds = [0, *sentence_starts(text), len(text)]
    names = _names(known)
    found = []
    for start, end in pairwise(bounds):
        words = tuple(
            SpokenWord(word.text, word.start + start, word.end + start, word.owns)
            for word in words_in(bare[start:end])
        )
        if not any(word.text[0].isalnum() for word in words):
            continue
        asked = text[start:end].rstrip().endswith("?")
        told = f" {' '.join(word.text for word in words)} "
        is_open = asked or any(f" {each} " in told for each in UNCLAIMED)
        begin = 0 if asked or not is_open else _reported(told)
        claims = (
            *_claims(bare, words[:begin], names, is_open=False),
            *_claims(bare, words[begin:], names, is_open=is_open),
        )
        found.append(
            Sentence(
                text=bare[start:end].strip(), start=words[0].start, end=words[-1].end,
                open=is_open, claims=claims,
            )
        )  # fmt: skip
    return found


def _reported(told: str) -> int:
    """How many words stand before it is said that somebody said something: who says it is there.

    None do where something else before them claims nothing either.
    """
    open_at, at = (
        min((place for each in WORDS[group] if (place := told.find(f" {each} ")) >= 0), default=-1)
        for group in ("unclaimed", "reporting")
    )
    if at < 0 or 0 <= open_at < at:
        return 0
    return told[:at].count(" ")


def _claims(
    text: str, words: Sequence[SpokenWord], names: "NamesByStem", *, is_open: bool
) -> Iterator[Claim]:
    you = False
    for part in _parts(words):
        first = part[0].text
        named = tuple(_named(part, names))
        begins = any(each.start == 0 for each in named[:1])
        if any(word.text in _YOU for word in part):
            you = True
        elif begins or first in {"the", "a", "an"}:
            you = False
        plain = {word.text for word in part}
        yield Claim(
            text=text[part[0].start : part[-1].end],
            words=part,
            you=you,
            denied=bool(plain & set(WORDS["denials"])),
            open=is_open,
            named=named,
        )


def _parts(words: Sequence[SpokenWord]) -> Iterator[tuple[SpokenWord, ...]]:
    current: list[SpokenWord] = []
    for word in words:
        if word.text in _BREAKS or not word.text[0].isalnum():
            if current:
                yield tuple(current)
            current = []
        else:
            current.append(word)
    if current:
        yield tuple(current)


NamesByStem = Mapping[str, Sequence[tuple[tuple[str, ...], Nameable, bool]]]
"""What things are called, by the stem of the last word: the stems, the thing, whether in full."""


def _names(known: Sequence[Nameable]) -> NamesByStem:
    found: dict[str, list[tuple[tuple[str, ...], Nameable, bool]]] = {}
    for thing in known:
        for stems, whole in _ways_to_say(thing):
            found.setdefault(stems[-1], []).append((stems, thing, whole))
    return {
        last: sorted(each, key=lambda told: (-len(told[0]), not told[2]))
        for last, each in found.items()
    }


@lru_cache(maxsize=8_192)
def _ways_to_say(thing: Nameable) -> tuple[tuple[tuple[str, ...], bool], ...]:
    words = [lemma(word.text) for word in words_in(thing.name)]
    whole = tuple(word for i, word in enumerate(words) if i or word not in {"the", "a"})
    if not whole:  # of signs, or an article alone: no word of a narration names it
        return ()
    heads = called(thing).heads
    if thing.kind == "location":
        heads = frozenset(whole[-1:]) if "of" not in whole else frozenset(whole[:1])
    single = ((head,) for head in sorted(heads) if (head,) != whole)
    return ((whole, True), *((each, False) for each in single))


def _named(words: Sequence[SpokenWord], names: NamesByStem) -> Iterator[Named]:
    """What is named, the longest names first, so that no word belongs to two."""
    stems = [lemma(word.text) for word in words]
    taken: set[int] = set()
    found: list[Named] = []
    for length in range(_NAME_WORDS, 0, -1):
        for end in range(length, len(stems) + 1):
            start = end - length
            if taken & set(range(start, end)):
                continue
            said = tuple(stems[start:end])
            things = [thing for each, thing, _ in names.get(said[-1], ()) if each == said]
            if things:
                taken |= set(range(start, end))
                found += [Named(thing=thing, start=start, end=end) for thing in things]
    yield from sorted(found, key=lambda each: each.start)


@dataclass(frozen=True, slots=True, kw_only=True)
class Somewhere:
    """A place that is named: how long the shortest way there takes; None: there is no way."""

    place: Nameable
    travel_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldOfWorld:
    """A statement of canon: a layer's text, or a sentence of lore, with the id of its thing."""

    id: str
    text: str
    about: str = ""
    status: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NarratedScene:
    """Everything that bears on a narration; `time_of_day` None: nobody has set the clock.

    `people` are those there and those named, wherever they are; `player` is who acts, if anybody.
    """

    place: Nameable
    player: EntityId | None = None
    time_of_day: str | None = None
    people: tuple[Person, ...] = ()
    items: tuple[Stack, ...] = ()
    ways: tuple[KnownWay, ...] = ()
    places: tuple[Somewhere, ...] = ()
    layers: tuple[ToldOfWorld, ...] = ()
    lore: tuple[ToldOfWorld, ...] = ()

    def gone(self, person: Person) -> Rejection | None:
        """What keeps somebody from taking part in what happens there."""
        place = EntityId(self.place.id)
        return missing(person, place, f"{person.name} is not there")

    @property
    def held(self) -> frozenset[str]:
        """The items that the player has."""
        if self.player is None:
            return frozenset()
        return frozenset(item.id for item in self.items if item.holder == self.player)

    @property
    def present(self) -> tuple[Person, ...]:
        """Who is there and lives."""
        return tuple(person for person in self.people if self.gone(person) is None)

    @property
    def known(self) -> tuple[Nameable, ...]:
        """All that can be named."""
        people = (Nameable(id=each.id, kind=each.kind, name=each.name) for each in self.people)
        items = (Nameable(id=each.id, kind="item", name=each.name) for each in self.items)
        return (self.place, *people, *items, *(each.place for each in self.places))
