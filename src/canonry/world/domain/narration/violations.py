"""Violations: what a narration may not claim, by one small rule a constraint."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from canonry.language.clauses.tokens import lemma
from canonry.readmodels.edges import Direction
from canonry.world.domain.admission.kit import Rejection, no_passage
from canonry.world.domain.checks import KnownWay, Stack
from canonry.world.domain.narration.claims import (
    WORDS,
    Claim,
    Named,
    NarratedScene,
    Sentence,
    is_of,
    sentences_of,
)
from canonry.world.domain.utterances.lexicon import DIRECTIONS

POLICY_VERSION: Final = "narration-1.1.0"


class NarrationLimit(StrEnum):
    """What a claim goes against."""

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
    """What is claimed, from where to where, and the id of what it goes against."""

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
            yield from _still(claim, scene)
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
    """Being where no way leads: by flight, on a height without a way up, or in another place."""
    if claim.has("lifted"):
        yield _violation(
            claim, NarrationLimit.POSITION, scene.place.id, "nothing carries anybody off"
        )
    if not claim.you:
        return
    high = claim.has("tops") and not any(_is_place(each) for each in claim.named)
    arrives = any(claim.has(group) for group in ("being", "arriving", "going", "flights"))
    if claim.has("flights"):
        reason = "nobody flies or vanishes from one place to another"
        yield _violation(claim, NarrationLimit.POSITION, scene.place.id, reason)
    elif (high and arrives and _way(scene, Direction.UP) is None) or (
        claim.has("upward")
        and " up " in claim.plain
        and _way(scene, Direction.UP) is None
        and not any(_is_place(each) and each.thing.id != scene.place.id for each in claim.named)
    ):
        yield _violation(claim, NarrationLimit.POSITION, scene.place.id, "no exit leads up")
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
        if before in _AWAY:
            continue
        travel = _travel(scene, each)
        is_there = claim.has("being") and before in _IN
        if is_there and travel == 0:
            continue
        if is_there and (travel is None or not _takes_time(claim)):
            reason = f"the player is not in {each.thing.name}"
            yield _violation(claim, NarrationLimit.POSITION, each.thing.id, reason)
        elif claim.has("arriving") or claim.has("going"):
            if travel is None:
                reason = f"no open way leads to {each.thing.name}"
                yield _violation(claim, NarrationLimit.POSITION, each.thing.id, reason)
            elif claim.has("arriving") and not onward and _is_far(scene, each):
                reason = f"no exit leads from there to {each.thing.name}"
                yield _violation(claim, NarrationLimit.POSITION, each.thing.id, reason)


_AWAY: Final = frozenset({"from", "of", "toward", "towards", "behind", "beyond", "where", "like"})
_IN: Final = frozenset({"in", "at", "on", "inside", "within", "before"})


def _is_far(scene: NarratedScene, each: Named) -> bool:
    """Whether the place is more than one way off."""
    return all(way.to != each.thing.id for way in scene.ways)


def _takes_time(claim: Claim) -> bool:
    return "later" in claim.plain or "after" in claim.plain


def _is_place(each: Named) -> bool:
    return each.thing.kind == "location"


def _travel(scene: NarratedScene, each: Named) -> int | None:
    return next((p.travel_ms for p in scene.places if p.place.id == each.thing.id), None)


def _directions(claim: Claim, scene: NarratedScene) -> Iterator[Violation]:
    """Going where no exit leads, or telling of one that there is not."""
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
    """The way that is claimed; a short word, as in "up", only where it is not about something."""
    words = [word.text for word in claim.words]
    for at, word in enumerate(words):
        way = DIRECTIONS.get(word)
        if way is None or len(word) == 1:
            continue
        if word in {"in", "out", "inside", "outside"}:
            continue
        if word in {"up", "down"}:
            before = words[at - 1] if at else ""
            verb = is_of("going", before) or is_of("leading", before) or before in _CLIMBING
            if not verb:
                continue
        return way
    return None


_CLIMBING: Final = frozenset({"you"})


def _times(claim: Claim, sentence: Sentence, scene: NarratedScene) -> Iterator[Violation]:
    """Another time of day, or a way that takes longer than is told."""
    parts = () if claim.has("habit") else _PARTS
    told = next((part for part in parts if claim.has(part)), None)
    if scene.time_of_day and told and told not in _ALIKE.get(scene.time_of_day, ()):
        reason = f"it is {scene.time_of_day}"
        yield _violation(claim, NarrationLimit.TIME, scene.place.id, reason)
    for each in claim.named:
        travel = _travel(scene, each) if _is_place(each) else None
        if not travel or not claim.you:
            continue
        spent = _spent(sentence)
        if spent is not None and spent * 2 < travel:
            reason = f"the way to {each.thing.name} takes {travel} ms"
            yield _violation(claim, NarrationLimit.TIME, each.thing.id, reason)


_PARTS: Final = ("night", "dawn", "morning", "noon", "afternoon", "dusk", "day")
_ALIKE: Final = {
    "dawn": ("dawn", "morning", "day"),
    "morning": ("morning", "day"),
    "noon": ("noon", "day", "afternoon"),
    "afternoon": ("afternoon", "noon", "day"),
    "dusk": ("dusk",),
    "night": ("night",),
}


def _spent(sentence: Sentence) -> int | None:
    """So many milliseconds pass in a sentence; None where it does not say."""
    words = [word.text for claim in sentence.claims for word in claim.words]
    plain = f" {' '.join(words)} "
    if any(f" {each} " in plain for each in WORDS["instantly"]) and not any(
        word in _NUMBERS or word.isdecimal() for word in words
    ):
        return 1_000
    for at, word in enumerate(words[1:], 1):
        if word in _UNITS and (number := _number(words[at - 1])) is not None:
            return number * _UNITS[word]
    return None


_NUMBERS: Final = {
    word: int(number) for word, _, number in (w.partition("/") for w in WORDS["numbers"])
}
_UNITS: Final = {
    word: int(number) for word, _, number in (w.partition("/") for w in WORDS["units"])
}


def _number(word: str) -> int | None:
    if word.isdecimal() and len(word) < len("1000000000"):
        return int(word)
    return _NUMBERS.get(word) or None


def _persons(claim: Claim, sentence: Sentence, scene: NarratedScene) -> Iterator[Violation]:
    """Somebody who is dead or elsewhere does something here."""
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
    return bool(_ABOUT & set(before[-1:])) or (before[-1:] == ["the"] and bool(_ABOUT & {*before}))


_ABOUT: Final = frozenset({"of", "about", "called", "named", "like", "for"})


def _items(claim: Claim, scene: NarratedScene) -> Iterator[Violation]:
    """Using what somebody does not have, or more of it than there is."""
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
            reason = f"the player does not have {things[0].name}"
            yield _violation(claim, NarrationLimit.ITEM, things[0].id, reason)
            continue
        count = _number(claim.words[start - 1].text) if start else None
        most = sum(thing.quantity for thing in things if thing.id in scene.held)
        if count is not None and most and count > most:
            reason = f"the player has {most}"
            yield _violation(claim, NarrationLimit.ITEM, things[0].id, reason)


def _at_hand(thing: Stack, claim: Claim, scene: NarratedScene) -> bool:
    """What lies there can be taken up; that it is already worn cannot be.

    Whose hands are told of is not known without a player.
    """
    if thing.id in scene.held:
        return True
    worn = " your " in claim.plain and claim.has("body")
    return not worn and (scene.player is None or thing.holder == scene.place.id)


def _layers(claim: Claim, scene: NarratedScene) -> Iterator[Violation]:
    """Weather or light that is not that of the layers which lie upon the place."""
    for layer in scene.layers:
        told = f" {' '.join(_plain(layer.text))} "
        for one, other in _OPPOSED:
            holds = any(f" {each} " in told for each in WORDS[f"layer.{one}"])
            if holds and claim.has(f"layer.{other}") and not claim.has(f"layer.{one}"):
                reason = f"upon the place lies: {layer.text[:120]}"
                yield _violation(claim, NarrationLimit.LAYER, layer.id, reason)
                return


def _still(claim: Claim, scene: NarratedScene) -> Iterator[Violation]:
    """What denies a wind that blows."""
    calm = any(f" {each} " in claim.plain for each in ("breath of wind", "no wind"))
    if calm:
        yield from _layers(claim, scene)


def _plain(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in text.casefold()).split()


_PAIRS: Final = tuple(each.split("/") for each in WORDS["opposed"])
_OPPOSED: Final = tuple((one, other) for a, b in _PAIRS for one, other in ((a, b), (b, a)))


def _told_of_lore(sentence: Sentence, scene: NarratedScene) -> Iterator[Violation]:
    """That something stands or lives which lore says is gone, or lit what it says is dark."""
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
        for gone, there in _STATES:
            was = any(f" {each} " in held for each in WORDS[gone])
            now = any(f" {each} " in plain for each in WORDS[there]) or (
                gone == "ended" and _is_used(sentence, told.about)
            )
            never = denied and any(f" {each} " in plain for each in WORDS[gone])
            if was and ((now and not denied) or never):
                reason = f"lore says: {told.text[:160]}"
                start, end = sentence.start, sentence.end
                yield Violation(
                    constraint=NarrationLimit.LORE, start=start, end=end,
                    against=told.id, reason=reason,
                )  # fmt: skip
                break


def _is_used(sentence: Sentence, name: str) -> bool:
    """Whether somebody goes over, into or onto what is called so."""
    about = f" {' '.join(_plain(name))} "
    return any(
        each.you and (each.has("going") or each.has("being")) and about in each.plain
        and not _AWAY & {word.text for word in each.words}
        for each in sentence.claims
    )  # fmt: skip


_STATES: Final = (
    ("ended", "standing"),
    ("dead", "alive"),
    ("extinguished", "burning"),
)
