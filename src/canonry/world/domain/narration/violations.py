"""Narration: its claims, the scene that they are of, and what it may not claim."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Final

from canonry.language.reading.tokens import language
from canonry.language.texts.english import lemma
from canonry.language.texts.sentences import sentence_starts
from canonry.readmodels.edges import Direction
from canonry.values.data_files import read_toml
from canonry.values.ids import EntityId
from canonry.world.domain.admission.schema import Rejection, missing, no_passage
from canonry.world.domain.checks import KnownWay, Person, Stack
from canonry.world.domain.utterances.lexicon import (
    DIRECTIONS,
    Nameable,
    count_of,
    forms_of,
    groups_of,
)
from canonry.world.domain.utterances.naming import SpokenWord, called, words_in

NARRATION_MAX: Final = 4_000
_QUOTED: Final = re.compile(
    r"\"[^\"]{0,1000}\"|\u201c[^\u201d]{0,1000}\u201d|\u201e[^\u201c]{0,1000}\u201c"
)
_NAME_WORDS: Final = 6


_TABLES: Final = read_toml(__package__, "words.toml")
WORDS: Final = groups_of(_TABLES["groups"])
_PHRASES: Final = {name: tuple(w for w in some if " " in w) for name, some in WORDS.items()}
_STEMS: Final = {
    name: frozenset(lemma(word) for word in some if " " not in word) for name, some in WORDS.items()
}
_MEANT: Final = groups_of(_TABLES["meant"])


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

        Verbs also match by the meaning that players give them.
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
        is_open = asked or any(
            f" {each} " in told for each in (*WORDS["unclaimed"], *WORDS["reporting"])
        )
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
    text: str, words: Sequence[SpokenWord], names: "NamesByStems", *, is_open: bool
) -> Iterator[Claim]:
    you = False
    for part in _parts(words):
        first = part[0].text
        named = tuple(_named(part, names))
        begins = any(each.start == 0 for each in named[:1])
        if any(word.text in WORDS["you"] for word in part):
            you = True
        elif begins or first in WORDS["articles"]:
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
    def breaks(word: SpokenWord) -> bool:
        return word.text in WORDS["breaks"] or not word.text[0].isalnum()

    return (tuple(some) for apart, some in groupby(words, breaks) if not apart)


NamesByStems = Mapping[tuple[str, ...], Sequence[Nameable]]
"""The items that some stems in a row name, those with the whole name first."""


def _names(known: Sequence[Nameable]) -> NamesByStems:
    found: dict[tuple[str, ...], list[Nameable]] = {}
    for place in (0, 1):
        for thing in known:
            for stems in _ways_to_say(thing)[place]:
                found.setdefault(stems, []).append(thing)
    return found


@lru_cache(maxsize=8_192)
def _ways_to_say(thing: Nameable) -> tuple[Sequence[tuple[str, ...]], Sequence[tuple[str, ...]]]:
    """Return the stems of the whole name, and each stem that names the item by itself."""
    words = [lemma(word.text) for word in words_in(thing.name)]
    whole = tuple(word for i, word in enumerate(words) if i or word not in {"the", "a"})
    if not whole:  # of signs, or an article alone: no word of a narration names it
        return (), ()
    heads = called(thing).heads
    if thing.kind == "location":
        heads = frozenset(whole[-1:]) if "of" not in whole else frozenset(whole[:1])
    return (whole,), [(head,) for head in sorted(heads) if (head,) != whole]


def _named(words: Sequence[SpokenWord], names: NamesByStems) -> Iterator[Named]:
    stems = [lemma(word.text) for word in words]
    start = 0
    while start < len(stems):
        ends = range(min(start + _NAME_WORDS, len(stems)), start, -1)
        end = next((end for end in ends if tuple(stems[start:end]) in names), None)
        for thing in names[tuple(stems[start:end])] if end is not None else ():
            yield Named(thing=thing, start=start, end=end or start)
        start = end or start + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Somewhere:
    """A place that is named: how long the shortest way there takes; None: there is no way."""

    place: Nameable
    travel_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldOfWorld:
    """A statement of canon: a layer's text or a sentence of lore, with its item's id."""

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
        """The reason that keeps somebody from taking part in an event there."""
        place = EntityId(self.place.id)
        return missing(person, place, f"{person.name} is not at the location.")

    @property
    def held(self) -> frozenset[str]:
        """The items that the player has."""
        if self.player is None:
            return frozenset()
        return frozenset(item.id for item in self.items if item.holder == self.player)

    @property
    def present(self) -> tuple[Person, ...]:
        """The living who are there."""
        return tuple(person for person in self.people if self.gone(person) is None)

    @property
    def known(self) -> tuple[Nameable, ...]:
        """All that can be named."""
        people = (Nameable(id=each.id, kind=each.kind, name=each.name) for each in self.people)
        items = (Nameable(id=each.id, kind="item", name=each.name) for each in self.items)
        return (self.place, *people, *items, *(each.place for each in self.places))


POLICY_VERSION: Final = "narration-1.1.0"


class NarrationLimit(StrEnum):
    """Kind of statement that a claim contradicts."""

    POSITION = "position"
    DEAD = "dead"
    ABSENT = "absent"
    LORE = "lore"
    TIME = "time"
    ITEM = "item"
    LAYER = "layer"
    DIRECTION = "direction"


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A claim, its span in the text, and the id of the contradicted item."""

    constraint: NarrationLimit
    start: int
    end: int
    against: str
    reason: str


def violations_of(narration: str, scene: NarratedScene) -> list[Violation]:
    """Everything that is claimed and cannot be so, in the order of the text."""
    found: dict[tuple[int, NarrationLimit], Violation] = {}
    for sentence in sentences_of(narration, scene.known):
        for each in (*_told_of_lore(sentence, scene), *_claimed(sentence, scene)):
            found.setdefault((each.start, each.constraint), each)
    return sorted(found.values(), key=lambda v: (v.start, v.constraint))


def _claimed(sentence: Sentence, scene: NarratedScene) -> Iterator[Violation]:
    for claim in sentence.claims:
        if claim.open:
            continue
        if claim.denied:
            if any(f" {each} " in claim.plain for each in WORDS["still"]):
                yield from _layers(claim, scene)
            continue
        first = next(_positions(claim, sentence, scene), None) or next(
            _directions(claim, scene), None
        )
        if first is not None:
            yield first
        yield from _times(claim, sentence, scene)
        yield from _persons(claim, sentence, scene)
        yield from _items(claim, scene)
        yield from _layers(claim, scene)


def _violation(claim: Claim, constraint: NarrationLimit, against: str, reason: str) -> Violation:
    start, end = claim.span
    return Violation(constraint=constraint, start=start, end=end, against=against, reason=reason)


def _way(scene: NarratedScene, direction: Direction) -> KnownWay | None:
    return next((way for way in scene.ways if way.direction is direction), None)


def _positions(claim: Claim, sentence: Sentence, scene: NarratedScene) -> Iterator[Violation]:
    """Yield positions without an exit to them: flight, heights, or another location."""
    if claim.has("lifted"):
        reason = "Nothing in this world moves anybody away."
        yield _violation(claim, NarrationLimit.POSITION, scene.place.id, reason)
    if not claim.you:
        return
    high = claim.has("tops") and not any(_is_place(each) for each in claim.named)
    arrives = any(claim.has(group) for group in ("being", "arriving", "going", "flights"))
    if claim.has("flights"):
        reason = "Nobody flies or vanishes from one location to another."
        yield _violation(claim, NarrationLimit.POSITION, scene.place.id, reason)
    elif (high and arrives and _way(scene, Direction.UP) is None) or (
        claim.has("upward")
        and " up " in claim.plain
        and _way(scene, Direction.UP) is None
        and not any(_is_place(each) and each.thing.id != scene.place.id for each in claim.named)
    ):
        yield _violation(claim, NarrationLimit.POSITION, scene.place.id, "No exit leads up.")
    else:
        yield from _elsewhere(claim, sentence, scene)


def _elsewhere(claim: Claim, sentence: Sentence, scene: NarratedScene) -> Iterator[Violation]:
    places = {n.thing.id for c in sentence.claims for n in c.named if _is_place(n)}
    onward = len(places - {scene.place.id}) > 1 or any(map(_takes_time, sentence.claims))
    for each in claim.named:
        if not _is_place(each) or each.thing.id == scene.place.id:
            continue
        before = claim.words[each.start - 1].text if each.start else ""
        before = claim.words[each.start - 2].text if before == "the" and each.start > 1 else before
        if before in WORDS["away"]:
            continue
        travel = _travel(scene, each)
        is_there = claim.has("being") and before in WORDS["inside"]
        if is_there and travel == 0:
            continue
        if is_there and (travel is None or not _takes_time(claim)):
            reason = f"The player is not in {each.thing.name}."
            yield _violation(claim, NarrationLimit.POSITION, each.thing.id, reason)
        elif claim.has("arriving") or claim.has("going"):
            if travel is None:
                reason = f"No open exit leads to {each.thing.name}."
                yield _violation(claim, NarrationLimit.POSITION, each.thing.id, reason)
            elif (
                claim.has("arriving")
                and not onward
                and all(way.to != each.thing.id for way in scene.ways)
            ):
                reason = f"No exit leads from there to {each.thing.name}."
                yield _violation(claim, NarrationLimit.POSITION, each.thing.id, reason)


def _takes_time(claim: Claim) -> bool:
    return "later" in claim.plain or "after" in claim.plain


def _is_place(each: Named) -> bool:
    return each.thing.kind == "location"


def _travel(scene: NarratedScene, each: Named) -> int | None:
    return next((p.travel_ms for p in scene.places if p.place.id == each.thing.id), None)


def _directions(claim: Claim, scene: NarratedScene) -> Iterator[Violation]:
    direction = _direction_in(claim)
    goes = claim.you and claim.has("going")
    told = claim.has("ways") and claim.has("leading")
    slips = claim.you and claim.has("downward")
    direction = Direction.DOWN if direction is None and slips else direction
    if direction is None or not (goes or told or slips):
        return
    way = _way(scene, direction)
    refused = no_passage(way, direction, scene.held)
    if refused is not None and way is None:
        yield _violation(claim, NarrationLimit.DIRECTION, scene.place.id, refused.reason)
    elif refused is not None and way is not None and goes:
        yield _violation(claim, NarrationLimit.POSITION, way.id, refused.reason)


def _direction_in(claim: Claim) -> Direction | None:
    """Return the claimed direction; short words such as "up" count only without an object."""
    words = [word.text for word in claim.words]
    for at, word in enumerate(words):
        way = DIRECTIONS.get(word)
        if way is None or word in WORDS["no_way"]:
            continue
        if word in {"up", "down"}:
            before = words[at - 1] if at else ""
            if not (is_of("going", before) or is_of("leading", before) or before == "you"):
                continue
        return way
    return None


def _times(claim: Claim, sentence: Sentence, scene: NarratedScene) -> Iterator[Violation]:
    parts = () if claim.has("habit") else _PARTS
    told = next((part for part in parts if claim.has(part)), None)
    if scene.time_of_day and told and told not in _ALIKE.get(scene.time_of_day, ()):
        reason = f"The time of day is {scene.time_of_day}."
        yield _violation(claim, NarrationLimit.TIME, scene.place.id, reason)
    for each in claim.named:
        travel = _travel(scene, each) if _is_place(each) else None
        if not travel or not claim.you:
            continue
        spent = _spent(sentence)
        if spent is not None and spent * 2 < travel:
            reason = f"The way to {each.thing.name} takes {travel} ms."
            yield _violation(claim, NarrationLimit.TIME, each.thing.id, reason)


_PARTS: Final = ("night", "dawn", "morning", "noon", "afternoon", "dusk", "day")
_ALIKE: Final = groups_of(_TABLES["alike"])


def _spent(sentence: Sentence) -> int | None:
    """Return the milliseconds that pass in a sentence; None if it does not say."""
    words = [word.text for claim in sentence.claims for word in claim.words]
    plain = f" {' '.join(words)} "
    counts = [count_of(word) for word in words]
    instant = any(f" {each} " in plain for each in WORDS["instantly"])
    if instant and not any(counts):
        return 1_000
    for count, word in pairwise(zip(counts, words, strict=True)):
        unit = _WORDS.unit_of(word[1])
        if count[0] is not None and unit is not None and unit[0] == "time":
            return round(count[0] * unit[1] * 1_000)
    return None


_WORDS: Final = language("en")


def _persons(claim: Claim, sentence: Sentence, scene: NarratedScene) -> Iterator[Violation]:
    alive = any(each.has("alive") for each in sentence.claims)
    buried = any(each.has("dead") for each in sentence.claims)
    places = {n.thing.id for c in sentence.claims for n in c.named if _is_place(n)}
    missing: dict[str, Rejection | None] = {each.id: scene.gone(each) for each in scene.people}
    for each in claim.named:
        if claim.words[each.end - 1].owns or _spoken_of(claim, each):
            continue
        gone = missing.get(each.thing.id)
        if gone is None:
            continue
        if gone.rule == "person.dead":
            if not alive and not buried:
                yield _violation(claim, NarrationLimit.DEAD, each.thing.id, gone.reason)
        elif not places - {scene.place.id} and not any(
            n.start == each.start and missing.get(n.thing.id, gone) is None for n in claim.named
        ):
            yield _violation(claim, NarrationLimit.ABSENT, each.thing.id, gone.reason)


def _spoken_of(claim: Claim, each: Named) -> bool:
    before = [word.text for word in claim.words[max(0, each.start - 2) : each.start]]
    spoken = before[:1] if before[-1:] == ["the"] else before[-1:]
    return any(word in WORDS["about"] for word in spoken)


def _items(claim: Claim, scene: NarratedScene) -> Iterator[Violation]:
    plain = claim.plain
    own = " your " in plain and (claim.has("body") or claim.has("holding"))
    if not own and not (claim.you and claim.has("holding")):
        return
    carried: dict[str, Stack] = {each.id: each for each in scene.items}
    for start in dict.fromkeys(each.start for each in claim.named):
        named = [n for n in claim.named if n.start == start and n.thing.id in carried]
        things = [carried[each.thing.id] for each in named]
        if not things:
            continue
        if not any(_at_hand(thing, claim, scene) for thing in things):
            reason = f"The player does not have {things[0].name}."
            yield _violation(claim, NarrationLimit.ITEM, things[0].id, reason)
            continue
        count = count_of(claim.words[start - 1].text) if start else None
        most = sum(thing.quantity for thing in things if thing.id in scene.held)
        if count is not None and most and count > most:
            reason = f"The player has {most}."
            yield _violation(claim, NarrationLimit.ITEM, things[0].id, reason)


def _at_hand(thing: Stack, claim: Claim, scene: NarratedScene) -> bool:
    """Items at the location can be picked up, but cannot already be worn.

    Possession is checked only if a player is given.
    """
    if thing.id in scene.held:
        return True
    worn = " your " in claim.plain and claim.has("body")
    return not worn and (scene.player is None or thing.holder == scene.place.id)


def _layers(claim: Claim, scene: NarratedScene) -> Iterator[Violation]:
    """Yield claims of weather or light that contradict the layers of the location."""
    for layer in scene.layers:
        told = f" {' '.join(_plain(layer.text))} "
        for one, other in _OPPOSED:
            holds = any(f" {each} " in told for each in WORDS[f"layer.{one}"])
            if holds and claim.has(f"layer.{other}") and not claim.has(f"layer.{one}"):
                reason = f"A layer of the location says: {layer.text[:120]}"
                yield _violation(claim, NarrationLimit.LAYER, layer.id, reason)
                return


def _plain(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in text.casefold()).split()


_PAIRS: Final = tuple(each.split("/") for each in _TABLES["layers"]["opposed"].split())
_OPPOSED: Final = tuple((one, other) for a, b in _PAIRS for one, other in ((a, b), (b, a)))


def _told_of_lore(sentence: Sentence, scene: NarratedScene) -> Iterator[Violation]:
    """Yield claims that an item exists, lives or is lit although the lore says otherwise."""
    if sentence.open:
        return
    words = _plain(sentence.text)
    plain = f" {' '.join(words)} "
    stems = {lemma(word) for word in words}
    denied = any(claim.denied for claim in sentence.claims)
    for told in scene.lore:
        about = [lemma(word) for word in _plain(told.about) if word not in {"the", "a"}]
        if not about or not set(about) <= stems:
            continue
        held = f" {' '.join(_plain(f'{told.text} {told.status}'))} "
        for gone, there in _TABLES["states"].items():
            was = any(f" {each} " in held for each in WORDS[gone])
            now = any(f" {each} " in plain for each in WORDS[there]) or (
                gone == "ended" and _is_used(sentence, told.about)
            )
            never = denied and any(f" {each} " in plain for each in WORDS[gone])
            if was and ((now and not denied) or never):
                reason = f"The lore says: {told.text[:160]}"
                start, end = sentence.start, sentence.end
                yield Violation(
                    constraint=NarrationLimit.LORE, start=start, end=end,
                    against=told.id, reason=reason,
                )  # fmt: skip
                break


def _is_used(sentence: Sentence, name: str) -> bool:
    about = f" {' '.join(_plain(name))} "
    return any(
        each.you and (each.has("going") or each.has("being")) and about in each.plain
        and not any(word.text in WORDS["away"] for word in each.words)
        for each in sentence.claims
    )  # fmt: skip
