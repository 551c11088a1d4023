"""Rivals: the facts of canon that a statement conflicts with, looked up by their frames."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial

from canonry.canon.judging.comparing.conflicts import Stated, conflict
from canonry.canon.judging.comparing.findings import Clash, When
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.standing_tags import still_stands
from canonry.language.clauses.gists import stems_in
from canonry.language.clauses.keys import rival_keys
from canonry.language.texts.sentences import plain_statement
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Fact
from canonry.values.fields import Reference
from canonry.values.ids import EntityId
from canonry.values.moments import NOW, Instant, Moment, overlaps


def candidates_of(view: SliceView, claim: Stated) -> list[Fact]:
    """The canon facts that share a frame key with the claim, and do not say the same.

    Where both are linked with entities they share one; others are about somebody else.
    """
    said = plain_statement(claim.statement)
    return [
        fact for fact in view.framed(_keys(view, claim)) if plain_statement(fact.statement) != said
    ]


def unread(view: SliceView, claim: Stated) -> tuple[str, ...]:
    """A warning where more facts speak of the same than one claim is compared with."""
    if not view.crowded(_keys(view, claim)):
        return ()
    return ("more facts speak of the same than it was compared with, which are the newest",)


def _keys(view: SliceView, claim: Stated) -> tuple[str, ...]:
    return rival_keys(claim.statement, _about(view, claim), claim.properties)


def _about(view: SliceView, claim: Stated) -> frozenset[str]:
    entities = (view.entity(Reference(each)) for each in sorted(claim.entities))
    families = (family_of(entity) for entity in entities if entity is not None)
    return claim.entities.union(*families)


def standings_of(view: SliceView, facts: Iterable[Fact]) -> Iterator[tuple[Fact, Stated]]:
    """What facts state, each of the entities that stand for those it was linked with."""
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
    """How a claim follows what is held, by the times of both; without them at one moment."""
    if claimed is None or held is None or claimed == held:
        return When.ONE
    return When.LATER if claimed > held else When.EARLIER


def rivals_of(
    view: SliceView, claim: Stated, start: Instant | None, end: Instant | None
) -> Iterator[tuple[Fact, Clash]]:
    """The facts that hold beside the claim and conflict with it, each with how."""
    moment = Moment(at=start, place=NOW.place)
    beside = [
        fact
        for fact in candidates_of(view, claim)
        if overlaps(start, end, fact.time_ref, fact.ends_at) and still_stands(view, fact, moment)
    ]
    stated = list(standings_of(view, beside))
    for fact, standing in () if view.wanted else stated:  # what wants more is asked again
        found = conflict(standing, claim, when=when_dated(start, fact.time_ref))
        if found is not None:
            yield fact, found
