"""Find the canon facts that conflict with a claim."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache, partial
from itertools import product
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from canonry.canon.judging.comparing import rivalries
from canonry.canon.judging.comparing.findings import Clash, Setting, When, likeness
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.state_tags import still_stands
from canonry.language.clauses.frames import Frame, Standing
from canonry.language.clauses.keys import gists_of, rival_keys, stems_in
from canonry.language.clauses.reading import frames_of
from canonry.language.texts.sentences import plain_statement
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Fact
from canonry.log.items.proposals import Grade
from canonry.values.fields import Reference
from canonry.values.ids import EntityId
from canonry.values.moments import NOW, Instant, Moment, overlaps

# Conflicts: compare a claim with canon by the frames and the values of both.
#
# The words of a contradiction exclude each other. A possible conflict needs knowledge of the world,
# so a person reviews it.


class Stated(NamedTuple):
    """A statement: words, linked entities, values, and the interval in which it holds.

    `time` and `until` use any one unit; `scene` is the position in the story; `called` has the
    stems of the entities' names.
    """

    statement: str
    entities: frozenset[str] = frozenset()
    fact_type: str | None = None
    properties: Mapping[str, Any] = MappingProxyType({})
    time: float | None = None
    until: float | None = None
    scene: int | None = None
    called: Callable[[], frozenset[str]] = frozenset


def grade(standing: Stated, claim: Stated) -> Grade | None:
    """Return the grade of the claim's conflict; None if both can be true."""
    found = conflict(standing, claim)
    return None if found is None else found.grade


def conflict(standing: Stated, claim: Stated, *, when: When | None = None) -> Clash | None:
    """Return the most serious conflict with its reason, or None.

    `when` gives the order of the two if more is known than both statements say.
    """
    setting = Setting(
        when=_when(standing, claim) if when is None else when,
        standing=standing.entities,
        claimed=claim.entities,
    )
    valued = None
    if standing.properties and claim.properties:
        valued = rivalries.compared_properties(standing.properties, claim.properties, setting)
    if valued is not None and valued.grade is Grade.CONTRADICTION:
        return valued
    worded = _worded(standing.statement, claim.statement, setting)
    worst = worded if valued is None or (worded and worded.graver_than(valued)) else valued
    if worst is not None:
        return worst
    if not setting.one_moment:
        return None
    held, said = gists_of(standing.statement, claim.statement)
    return likeness(held, said, setting, standing.called, claim.called)


@lru_cache(maxsize=4096)
def _worded(held: str, said: str, setting: Setting) -> Clash | None:
    """Return the most serious conflict of the words alone."""
    worst: Clash | None = None
    for one, other in product(frames_of(held), frames_of(said)):
        for found in _compared(one, other, setting):
            if worst is None or found.graver_than(worst):
                worst = found
            if worst.grade is Grade.CONTRADICTION:
                return worst
    return worst


def ends(standing: Stated, claim: Stated) -> bool:
    """Tell whether the claim ends the standing statement instead of denying that it ever held."""
    return tells_an_end(claim.statement) and any(
        rivalries.ends(held, said)
        for held, said in product(frames_of(standing.statement), frames_of(claim.statement))
    )


@lru_cache(maxsize=16_384)
def tells_an_end(statement: str) -> bool:
    """Tell whether the words state that something has ended."""
    return any(rivalries.tells_an_end(frame) for frame in frames_of(statement))


_OF_ANY_VERBS: Final = (rivalries.ended,)
_OF_ONE_VERB: Final = (
    *(rivalries.denied, rivalries.ended, rivalries.attribute_differs),
    *rivalries.RULES,
)


def _compared(one: Frame, other: Frame, setting: Setting) -> Iterator[Clash]:
    told = {one.standing, other.standing}
    source = one.condition and one.condition == other.condition
    if told == {Standing.KNOWN} or (Standing.SAID in told and not (source and len(told) == 1)):
        return
    for rule in _OF_ONE_VERB if one.verb == other.verb else _OF_ANY_VERBS:
        found = rule(one, other, setting)
        if found is not None:
            yield found.only_possible() if Standing.KNOWN in told else found


def _when(standing: Stated, claim: Stated) -> When:
    if standing.time is not None and claim.time is not None:
        return _by_time(standing, claim, standing.time, claim.time)
    if standing.scene is not None and claim.scene is not None and standing.scene != claim.scene:
        return When.LATER if claim.scene > standing.scene else When.EARLIER
    return When.ONE


def _by_time(standing: Stated, claim: Stated, held: float, said: float) -> When:
    if held == said:
        return When.ONE
    first, last = (standing, said) if held < said else (claim, held)
    if first.until is not None and last <= first.until:
        return When.ONE
    return When.LATER if said > held else When.EARLIER


def candidates_of(view: SliceView, claim: Stated) -> list[Fact]:
    """Return canon facts that share a frame key with the claim and differ from it.

    If both are linked with entities, they must share one.
    """
    said = plain_statement(claim.statement)
    return [
        fact for fact in view.framed(_keys(view, claim)) if plain_statement(fact.statement) != said
    ]


def unread(view: SliceView, claim: Stated) -> tuple[str, ...]:
    """Warn if more related facts exist than one claim is compared with."""
    if not view.crowded(_keys(view, claim)):
        return ()
    return ("it was compared with the newest facts on its subject only; there are more",)


def _keys(view: SliceView, claim: Stated) -> tuple[str, ...]:
    return rival_keys(claim.statement, _about(view, claim), claim.properties)


def _about(view: SliceView, claim: Stated) -> frozenset[str]:
    entities = (view.entity(Reference(each)) for each in sorted(claim.entities))
    families = (family_of(entity) for entity in entities if entity is not None)
    return claim.entities.union(*families)


def standings_of(view: SliceView, facts: Iterable[Fact]) -> Iterator[tuple[Fact, Stated]]:
    """Yield the statements of facts, with survivors for merged entities."""
    linked: dict[tuple[EntityId, ...], tuple[frozenset[str], Callable[[], frozenset[str]]]] = {}
    for fact in facts:
        if fact.involved not in linked:
            found = [view.entity(Reference(one)) for one in fact.involved]
            entities = [entity for entity in found if entity is not None]
            named = cache(partial(_called, entities))
            linked[fact.involved] = frozenset([entity.id for entity in entities]), named
        ids, called = linked[fact.involved]
        stated = Stated(
            statement=fact.statement,
            entities=ids,
            called=called,
            fact_type=fact.fact_type,
            properties=fact.properties,
        )
        yield fact, stated


def _called(entities: Iterable[Entity]) -> frozenset[str]:
    return stems_in(" ".join([entity.name for entity in entities]))


def when_dated(claimed: Instant | None, held: Instant | None) -> When:
    """Return the order of claim and canon by their times; undated ones share one moment."""
    if claimed is None or held is None or claimed == held:
        return When.ONE
    return When.LATER if claimed > held else When.EARLIER


def rivals_of(
    view: SliceView, claim: Stated, start: Instant | None, end: Instant | None
) -> Iterator[tuple[Fact, Clash]]:
    """Yield the facts that hold at the claim's time and conflict with it, with the conflict."""
    moment = Moment(at=start, place=NOW.place)
    beside = [
        fact
        for fact in candidates_of(view, claim)
        if overlaps(start, end, fact.time_ref, fact.ends_at) and still_stands(view, fact, moment)
    ]
    stated = list(standings_of(view, beside))
    for fact, standing in () if view.wanted else stated:  # asked again with the missing lookups
        found = conflict(standing, claim, when=when_dated(start, fact.time_ref))
        if found is not None:
            yield fact, found
