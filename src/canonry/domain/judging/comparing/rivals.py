"""Rivals: the facts of canon that a statement conflicts with, looked up by their frames."""

from collections.abc import Iterator

from canonry.domain.fields import Reference
from canonry.domain.frames.keys import frame_keys
from canonry.domain.judging.comparing.conflicts import Stated, conflict
from canonry.domain.judging.comparing.findings import Clash, When
from canonry.domain.judging.slices import SliceView
from canonry.domain.judging.standing_tags import still_stands
from canonry.domain.moments import NOW, Moment, overlaps
from canonry.domain.texts.statements import plain_statement
from canonry.domain.things.entities import family_of
from canonry.domain.things.facts import Fact
from canonry.domain.time import Instant


def candidates_of(view: SliceView, claim: Stated) -> list[Fact]:
    """The canon facts that share a frame key with the claim, and do not say the same.

    Where both are linked with entities they share one; others are about somebody else.
    """
    said = plain_statement(claim.statement)
    entities = (view.entity(Reference(each)) for each in sorted(claim.entities))
    about = {one for entity in entities if entity is not None for one in family_of(entity)}
    return [
        fact
        for fact in view.framed(frame_keys(claim.statement, claim.entities))
        if not (about and fact.involved and about.isdisjoint(fact.involved))
        and plain_statement(fact.statement) != said
    ]


def standing_of_fact(view: SliceView, fact: Fact) -> Stated:
    """What a fact states, of the entities that stand for those it was linked with."""
    return Stated(
        statement=fact.statement,
        entities=view.roots(fact.involved),
        fact_type=fact.fact_type,
        properties=fact.properties,
    )


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
    for fact in candidates_of(view, claim):
        beside = overlaps(start, end, fact.time_ref, fact.ends_at)
        if not beside or not still_stands(view, fact, moment):
            continue
        when = when_dated(start, fact.time_ref)
        found = conflict(standing_of_fact(view, fact), claim, when=when)
        if found is not None:
            yield fact, found
