"""Narration: its claims, the scene that they are of, and what it may not claim."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Final

from canonry.language.reading.tokens import word_table
from canonry.language.texts.english import lemma_of
from canonry.language.texts.sentences import sentence_starts
from canonry.readmodels.edges import Direction
from canonry.values.data_files import read_toml
from canonry.values.ids import EntityId
from canonry.world.domain.admission.schema import Rejection, reject_missing, reject_passage
from canonry.world.domain.checks import KnownExit, Person, Stack
from canonry.world.domain.utterances.lexicon import (
    DIRECTIONS,
    Nameable,
    count_of,
    forms_of,
    groups_of,
)
from canonry.world.domain.utterances.names import SpokenWord, names_of, words_in

NARRATION_MAX: Final = 4_000  # bounds the time of a check: bench.table, narrations
_QUOTED: Final = re.compile(
    r"\"[^\"]{0,1000}\"|\u201c[^\u201d]{0,1000}\u201d|\u201e[^\u201c]{0,1000}\u201c"
)
_NAME_WORDS: Final = 6


_TABLES: Final = read_toml(__package__, "words.toml")
WORDS: Final = groups_of(_TABLES["groups"])
_PHRASES: Final = {name: tuple(w for w in some if " " in w) for name, some in WORDS.items()}
_STEMS: Final = {
    name: frozenset(lemma_of(word) for word in some if " " not in word)
    for name, some in WORDS.items()
}
_MEANT: Final = groups_of(_TABLES["meant"])


@lru_cache(maxsize=8_192)  # each group is asked for each word: bench.table, narrations
def is_in_group(group: str, word: str) -> bool:
    """Return whether a word is a form of a group's word, or a verb that means the same."""
    if lemma_of(word) in _STEMS[group]:
        return True
    forms, respelled = forms_of(word)
    single = next((form for form in forms if len(form.words) == 1), None)
    return not respelled and single is not None and single.verb in _MEANT.get(group, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedItem:
    """Something known that a clause names, from which of its words to which."""

    item: Nameable
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
    named: tuple[NamedItem, ...]

    @property
    def plain_text(self) -> str:
        """Its words with a space around each."""
        return f" {' '.join(word.text for word in self.words)} "

    def has_group(self, group: str) -> bool:
        """Return whether it has a word of this group in any form, or words in a row as they are.

        Verbs also match by the meaning that players give them.
        """
        plain = self.plain_text
        if any(f" {each} " in plain for each in _PHRASES[group]):
            return True
        if group.startswith("layer."):  # what is brightly lit is not bright weather
            return any(f" {each} " in plain for each in WORDS[group])
        return any(is_in_group(group, word.text) for word in self.words if not word.owns)

    @property
    def text_span(self) -> tuple[int, int]:
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
    """Return the sentences in order; quoted speech and questions make no claims."""
    text = narration[:NARRATION_MAX]
    bare = _QUOTED.sub(lambda match: " " * len(match[0]), text)
    bounds = [0, *sentence_starts(text), len(text)]
    names: dict[tuple[str, ...], list[Nameable]] = {}
    for rank in (0, 1):
        for item in known:
            for stems in _name_stems(item)[rank]:
                names.setdefault(stems, []).append(item)
    found = []
    for start, end in pairwise(bounds):
        words = tuple(
            SpokenWord(word.text, word.start + start, word.end + start, word.owns)
            for word in words_in(bare[start:end])
        )
        if not any(word.text[0].isalnum() for word in words):
            continue
        asked = text[start:end].rstrip().endswith("?")
        plain = f" {' '.join(word.text for word in words)} "
        is_open = asked or any(
            f" {each} " in plain for each in (*WORDS["unclaimed"], *WORDS["reporting"])
        )
        begin = 0 if asked or not is_open else _words_before_report(plain)
        claims = (
            *_read_claims(bare, words[:begin], names, is_open=False),
            *_read_claims(bare, words[begin:], names, is_open=is_open),
        )
        found.append(
            Sentence(
                text=bare[start:end].strip(), start=words[0].start, end=words[-1].end,
                open=is_open, claims=claims,
            )
        )  # fmt: skip
    return found


def _words_before_report(plain: str) -> int:
    """Return how many words stand before the verb of a reported speech, which name its speaker.

    Return 0 if an earlier word already keeps the sentence from being a claim.
    """
    open_at, at = (
        min(
            (offset for each in WORDS[group] if (offset := plain.find(f" {each} ")) >= 0),
            default=-1,
        )
        for group in ("unclaimed", "reporting")
    )
    return 0 if at < 0 or 0 <= open_at < at else plain[:at].count(" ")


def _read_claims(
    text: str, words: Sequence[SpokenWord], names: "NamesByStems", *, is_open: bool
) -> Iterator[Claim]:
    you = False
    for part in _split_parts(words):
        first = part[0].text
        named = tuple(_find_named(part, names))
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


def _split_parts(words: Sequence[SpokenWord]) -> Iterator[tuple[SpokenWord, ...]]:
    def is_break(word: SpokenWord) -> bool:
        return word.text in WORDS["breaks"] or not word.text[0].isalnum()

    return (tuple(some) for apart, some in groupby(words, is_break) if not apart)


NamesByStems = Mapping[tuple[str, ...], Sequence[Nameable]]
"""The items that some stems in a row name, those with the whole name first."""


@lru_cache(maxsize=8_192)  # each sentence asks for all names: bench.table, narrations
def _name_stems(item: Nameable) -> tuple[Sequence[tuple[str, ...]], Sequence[tuple[str, ...]]]:
    """Return the stems of the whole name, and each stem that names the item by itself."""
    words = [lemma_of(word.text) for word in words_in(item.name)]
    whole = tuple(word for i, word in enumerate(words) if i or word not in {"the", "a"})
    if not whole:  # of signs, or an article alone: no word of a narration names it
        return (), ()
    heads = names_of(item).heads
    if item.kind == "location":
        heads = frozenset(whole[-1:]) if "of" not in whole else frozenset(whole[:1])
    return (whole,), [(head,) for head in sorted(heads) if (head,) != whole]


def _find_named(words: Sequence[SpokenWord], names: NamesByStems) -> Iterator[NamedItem]:
    stems = [lemma_of(word.text) for word in words]
    start = 0
    while start < len(stems):
        ends = range(min(start + _NAME_WORDS, len(stems)), start, -1)
        end = next((end for end in ends if tuple(stems[start:end]) in names), None)
        for item in names[tuple(stems[start:end])] if end is not None else ():
            yield NamedItem(item=item, start=start, end=end or start)
        start = end or start + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedLocation:
    """A named location and the time of the shortest path to it; None: there is no path."""

    location: Nameable
    travel_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonStatement:
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

    location: Nameable
    player: EntityId | None = None
    time_of_day: str | None = None
    people: tuple[Person, ...] = ()
    items: tuple[Stack, ...] = ()
    exits: tuple[KnownExit, ...] = ()
    named_locations: tuple[NamedLocation, ...] = ()
    layers: tuple[CanonStatement, ...] = ()
    lore: tuple[CanonStatement, ...] = ()

    def reject_missing_person(self, person: Person) -> Rejection | None:
        """The reason that keeps somebody from taking part in an event there."""
        location = EntityId(self.location.id)
        return reject_missing(person, location, f"{person.name} is not at the location.")

    @property
    def held_items(self) -> frozenset[str]:
        """The items that the player has."""
        if self.player is None:
            return frozenset()
        return frozenset(item.id for item in self.items if item.holder == self.player)

    @property
    def present_people(self) -> tuple[Person, ...]:
        """Return the living people at the location."""
        return tuple(person for person in self.people if self.reject_missing_person(person) is None)

    @property
    def nameable_items(self) -> tuple[Nameable, ...]:
        """All that can be named."""
        people = (Nameable(id=each.id, kind=each.kind, name=each.name) for each in self.people)
        items = (Nameable(id=each.id, kind="item", name=each.name) for each in self.items)
        return (self.location, *people, *items, *(each.location for each in self.named_locations))


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


def find_violations(narration: str, scene: NarratedScene) -> list[Violation]:
    """Everything that is claimed and cannot be so, in the order of the text."""
    found: dict[tuple[int, NarrationLimit], Violation] = {}
    for sentence in sentences_of(narration, scene.nameable_items):
        for each in (*_lore_violations(sentence, scene), *_claim_violations(sentence, scene)):
            found.setdefault((each.start, each.constraint), each)
    return sorted(found.values(), key=lambda v: (v.start, v.constraint))


def _claim_violations(sentence: Sentence, scene: NarratedScene) -> Iterator[Violation]:
    for claim in sentence.claims:
        if claim.open:
            continue
        if claim.denied:
            if any(f" {each} " in claim.plain_text for each in WORDS["still"]):
                yield from _layer_violations(claim, scene)
            continue
        first = next(_position_violations(claim, sentence, scene), None) or next(
            _direction_violations(claim, scene), None
        )
        if first is not None:
            yield first
        yield from _time_violations(claim, sentence, scene)
        yield from _person_violations(claim, sentence, scene)
        yield from _item_violations(claim, scene)
        yield from _layer_violations(claim, scene)


def _make_violation(
    claim: Claim, constraint: NarrationLimit, against: str, reason: str
) -> Violation:
    start, end = claim.text_span
    return Violation(constraint=constraint, start=start, end=end, against=against, reason=reason)


def _exit_towards(scene: NarratedScene, direction: Direction) -> KnownExit | None:
    return next((k for k in scene.exits if k.direction is direction), None)


def _position_violations(
    claim: Claim, sentence: Sentence, scene: NarratedScene
) -> Iterator[Violation]:
    """Yield positions without an exit to them: flight, heights, or another location."""
    if claim.has_group("lifted"):
        reason = "Nothing in this world moves anybody away."
        yield _make_violation(claim, NarrationLimit.POSITION, scene.location.id, reason)
    if not claim.you:
        return
    high = claim.has_group("tops") and not any(_is_location(each) for each in claim.named)
    arrives = any(claim.has_group(group) for group in ("being", "arriving", "going", "flights"))
    if claim.has_group("flights"):
        reason = "Nobody flies or vanishes from one location to another."
        yield _make_violation(claim, NarrationLimit.POSITION, scene.location.id, reason)
    elif (high and arrives and _exit_towards(scene, Direction.UP) is None) or (
        claim.has_group("upward")
        and " up " in claim.plain_text
        and _exit_towards(scene, Direction.UP) is None
        and not any(
            _is_location(each) and each.item.id != scene.location.id for each in claim.named
        )
    ):
        yield _make_violation(
            claim, NarrationLimit.POSITION, scene.location.id, "No exit leads up."
        )
    else:
        yield from _elsewhere_violations(claim, sentence, scene)


def _elsewhere_violations(
    claim: Claim, sentence: Sentence, scene: NarratedScene
) -> Iterator[Violation]:
    locations = {n.item.id for c in sentence.claims for n in c.named if _is_location(n)}
    onward = len(locations - {scene.location.id}) > 1 or any(map(_takes_time, sentence.claims))
    for each in claim.named:
        if not _is_location(each) or each.item.id == scene.location.id:
            continue
        before = claim.words[each.start - 1].text if each.start else ""
        before = claim.words[each.start - 2].text if before == "the" and each.start > 1 else before
        if before in WORDS["away"]:
            continue
        travel = _travel_time(scene, each)
        is_there = claim.has_group("being") and before in WORDS["inside"]
        if is_there and travel == 0:
            continue
        if is_there and (travel is None or not _takes_time(claim)):
            reason = f"The player is not in {each.item.name}."
            yield _make_violation(claim, NarrationLimit.POSITION, each.item.id, reason)
        elif claim.has_group("arriving") or claim.has_group("going"):
            if travel is None:
                reason = f"No open exit leads to {each.item.name}."
                yield _make_violation(claim, NarrationLimit.POSITION, each.item.id, reason)
            elif (
                claim.has_group("arriving")
                and not onward
                and all(known_exit.to != each.item.id for known_exit in scene.exits)
            ):
                reason = f"No exit leads from there to {each.item.name}."
                yield _make_violation(claim, NarrationLimit.POSITION, each.item.id, reason)


def _takes_time(claim: Claim) -> bool:
    return "later" in claim.plain_text or "after" in claim.plain_text


def _is_location(each: NamedItem) -> bool:
    return each.item.kind == "location"


def _travel_time(scene: NarratedScene, each: NamedItem) -> int | None:
    return next((p.travel_ms for p in scene.named_locations if p.location.id == each.item.id), None)


def _direction_violations(claim: Claim, scene: NarratedScene) -> Iterator[Violation]:
    direction = _direction_in(claim)
    goes = claim.you and claim.has_group("going")
    mentions_exit = claim.has_group("ways") and claim.has_group("leading")
    slips = claim.you and claim.has_group("downward")
    direction = Direction.DOWN if direction is None and slips else direction
    if direction is None or not (goes or mentions_exit or slips):
        return
    known_exit = _exit_towards(scene, direction)
    refused = reject_passage(known_exit, direction, scene.held_items)
    if refused is not None and known_exit is None:
        yield _make_violation(claim, NarrationLimit.DIRECTION, scene.location.id, refused.reason)
    elif refused is not None and known_exit is not None and goes:
        yield _make_violation(claim, NarrationLimit.POSITION, known_exit.id, refused.reason)


def _direction_in(claim: Claim) -> Direction | None:
    """Return the claimed direction; short words such as "up" count only without an object."""
    words = [word.text for word in claim.words]
    for at, word in enumerate(words):
        direction = DIRECTIONS.get(word)
        if direction is None or word in WORDS["no_way"]:
            continue
        if word in {"up", "down"}:
            before = words[at - 1] if at else ""
            if not (
                is_in_group("going", before) or is_in_group("leading", before) or before == "you"
            ):
                continue
        return direction
    return None


def _time_violations(claim: Claim, sentence: Sentence, scene: NarratedScene) -> Iterator[Violation]:
    parts = () if claim.has_group("habit") else _PARTS
    part_of_day = next((part for part in parts if claim.has_group(part)), None)
    if scene.time_of_day and part_of_day and part_of_day not in _ALIKE.get(scene.time_of_day, ()):
        reason = f"The time of day is {scene.time_of_day}."
        yield _make_violation(claim, NarrationLimit.TIME, scene.location.id, reason)
    for each in claim.named:
        travel = _travel_time(scene, each) if _is_location(each) else None
        if not travel or not claim.you:
            continue
        spent = _time_spent(sentence)
        if spent is not None and spent * 2 < travel:
            reason = f"The way to {each.item.name} takes {travel} ms."
            yield _make_violation(claim, NarrationLimit.TIME, each.item.id, reason)


_PARTS: Final = ("night", "dawn", "morning", "noon", "afternoon", "dusk", "day")
_ALIKE: Final = groups_of(_TABLES["alike"])


def _time_spent(sentence: Sentence) -> int | None:
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


_WORDS: Final = word_table("en")


def _person_violations(
    claim: Claim, sentence: Sentence, scene: NarratedScene
) -> Iterator[Violation]:
    alive = any(each.has_group("alive") for each in sentence.claims)
    buried = any(each.has_group("dead") for each in sentence.claims)
    locations = {n.item.id for c in sentence.claims for n in c.named if _is_location(n)}
    missing: dict[str, Rejection | None] = {
        each.id: scene.reject_missing_person(each) for each in scene.people
    }
    for each in claim.named:
        if claim.words[each.end - 1].owns or _is_spoken_of(claim, each):
            continue
        gone = missing.get(each.item.id)
        if gone is None:
            continue
        if gone.rule == "person.dead":
            if not alive and not buried:
                yield _make_violation(claim, NarrationLimit.DEAD, each.item.id, gone.reason)
        elif not locations - {scene.location.id} and not any(
            n.start == each.start and missing.get(n.item.id, gone) is None for n in claim.named
        ):
            yield _make_violation(claim, NarrationLimit.ABSENT, each.item.id, gone.reason)


def _is_spoken_of(claim: Claim, each: NamedItem) -> bool:
    before = [word.text for word in claim.words[max(0, each.start - 2) : each.start]]
    spoken = before[:1] if before[-1:] == ["the"] else before[-1:]
    return any(word in WORDS["about"] for word in spoken)


def _item_violations(claim: Claim, scene: NarratedScene) -> Iterator[Violation]:
    plain = claim.plain_text
    own = " your " in plain and (claim.has_group("body") or claim.has_group("holding"))
    if not own and not (claim.you and claim.has_group("holding")):
        return
    carried: dict[str, Stack] = {each.id: each for each in scene.items}
    for start in dict.fromkeys(each.start for each in claim.named):
        named = [n for n in claim.named if n.start == start and n.item.id in carried]
        items = [carried[each.item.id] for each in named]
        if not items:
            continue
        if not any(_is_at_hand(item, claim, scene) for item in items):
            reason = f"The player does not have {items[0].name}."
            yield _make_violation(claim, NarrationLimit.ITEM, items[0].id, reason)
            continue
        count = count_of(claim.words[start - 1].text) if start else None
        most = sum(item.quantity for item in items if item.id in scene.held_items)
        if count is not None and most and count > most:
            reason = f"The player has {most}."
            yield _make_violation(claim, NarrationLimit.ITEM, items[0].id, reason)


def _is_at_hand(item: Stack, claim: Claim, scene: NarratedScene) -> bool:
    """Items at the location can be picked up, but cannot already be worn.

    Possession is checked only if a player is given.
    """
    if item.id in scene.held_items:
        return True
    worn = " your " in claim.plain_text and claim.has_group("body")
    return not worn and (scene.player is None or item.holder == scene.location.id)


def _layer_violations(claim: Claim, scene: NarratedScene) -> Iterator[Violation]:
    """Yield claims of weather or light that contradict the layers of the location."""
    for layer in scene.layers:
        layer_text = f" {' '.join(_plain_words(layer.text))} "
        for one, other in _OPPOSED:
            holds = any(f" {each} " in layer_text for each in WORDS[f"layer.{one}"])
            if holds and claim.has_group(f"layer.{other}") and not claim.has_group(f"layer.{one}"):
                reason = f"A layer of the location says: {layer.text[:120]}"
                yield _make_violation(claim, NarrationLimit.LAYER, layer.id, reason)
                return


def _plain_words(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in text.casefold()).split()


_PAIRS: Final = tuple(each.split("/") for each in _TABLES["layers"]["opposed"].split())
_OPPOSED: Final = tuple((one, other) for a, b in _PAIRS for one, other in ((a, b), (b, a)))


def _lore_violations(sentence: Sentence, scene: NarratedScene) -> Iterator[Violation]:
    """Yield claims that an item exists, lives or is lit although the lore says otherwise."""
    if sentence.open:
        return
    words = _plain_words(sentence.text)
    plain = f" {' '.join(words)} "
    stems = {lemma_of(word) for word in words}
    denied = any(claim.denied for claim in sentence.claims)
    for statement in scene.lore:
        about = [lemma_of(w) for w in _plain_words(statement.about) if w not in {"the", "a"}]
        if not about or not set(about) <= stems:
            continue
        held = f" {' '.join(_plain_words(f'{statement.text} {statement.status}'))} "
        for gone, there in _TABLES["states"].items():
            was = any(f" {each} " in held for each in WORDS[gone])
            now = any(f" {each} " in plain for each in WORDS[there]) or (
                gone == "ended" and _is_used(sentence, statement.about)
            )
            never = denied and any(f" {each} " in plain for each in WORDS[gone])
            if was and ((now and not denied) or never):
                reason = f"The lore says: {statement.text[:160]}"
                start, end = sentence.start, sentence.end
                yield Violation(
                    constraint=NarrationLimit.LORE, start=start, end=end,
                    against=statement.id, reason=reason,
                )  # fmt: skip
                break


def _is_used(sentence: Sentence, name: str) -> bool:
    about = f" {' '.join(_plain_words(name))} "
    return any(
        each.you and about in each.plain_text
        and (each.has_group("going") or each.has_group("being"))
        and not any(word.text in WORDS["away"] for word in each.words)
        for each in sentence.claims
    )  # fmt: skip
