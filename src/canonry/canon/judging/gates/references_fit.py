"""gate:references-fit - whatever a proposal names is of the kind that its place asks for."""

from collections.abc import Iterator
from typing import Final

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import (
    EntityContent,
    EventContent,
    FactContent,
    RelationshipContent,
    StateChangeContent,
)
from canonry.canon.judging.gates.kit import Gate, Objection, Weight
from canonry.canon.judging.relation_lines import misplacing
from canonry.canon.judging.slices import SliceView
from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.facts import Event, Fact
from canonry.log.schemas.narrative import EntityType, relation_type
from canonry.values.fields import Reference


def _examine(candidate: Candidate, view: SliceView) -> Iterator[Objection]:
    match candidate.content:
        case EntityContent(derives_from=archetype) as content if archetype is not None:
            yield from _archetype(content, archetype, view)
        case RelationshipContent() as content:
            ends = (content.from_entity, content.to_entity)
            yield from _all_are(ends, Entity, "an entity", view)
            yield from _two_ends(candidate, content, view)
        case StateChangeContent(entity=reference):
            yield from _all_are((reference,), Entity, "an entity", view)
            yield from _instance(reference, view)
        case EventContent() as content:
            yield from _all_are(content.involved, Entity, "an entity", view)
            yield from _all_are((*content.causes, *content.caused_by), Event, "an event", view)
            yield from _place(content.location, view)
        case FactContent() as content:
            yield from _all_are(content.involved, Entity, "an entity", view)
            replaced = () if content.replaces is None else (content.replaces,)
            yield from _all_are(replaced, Fact, "a fact", view)
        case _:
            return


def _all_are(
    references: tuple[Reference, ...], kind: type, what: str, view: SliceView
) -> Iterator[Objection]:
    for reference in references:
        thing = view.referred(reference)
        if thing is not None and not isinstance(thing, kind):
            yield _misfit(f"{reference} must be {what}", thing.id)


def _archetype(
    content: EntityContent, archetype: Reference, view: SliceView
) -> Iterator[Objection]:
    thing = view.entity(archetype)
    if thing is None or thing.entity_class is not EntityClass.ARCHETYPE:
        yield _misfit(f"{archetype} must be an archetype to derive from")
    elif thing.entity_type != content.entity_type:
        rationale = f"a {content.entity_type} cannot derive from a {thing.entity_type}"
        yield _misfit(rationale, thing.id)


def _two_ends(
    candidate: Candidate, content: RelationshipContent, view: SliceView
) -> Iterator[Objection]:
    start, end = view.entity(content.from_entity), view.entity(content.to_entity)
    if start is None or end is None:
        return
    if start.id == end.id:
        yield _misfit("both ends of the relation are the same entity", start.id)
        return
    wrong = misplacing(view, relation_type(content.rel_type), start, end, candidate.moment)
    if wrong is not None:
        yield _misfit(wrong[0], *wrong[1])


def _instance(reference: Reference, view: SliceView) -> Iterator[Objection]:
    entity = view.entity(reference)
    if entity is not None and entity.entity_class is EntityClass.ARCHETYPE:
        yield _misfit(f"{reference} is an archetype, which has no state", entity.id)


def _place(reference: Reference | None, view: SliceView) -> Iterator[Objection]:
    entity = None if reference is None else view.entity(reference)
    if entity is not None and entity.entity_type != EntityType.LOCATION:
        yield _misfit(f"{reference} must be a location to happen at", entity.id)


def _misfit(rationale: str, *conflicts: str) -> Objection:
    return Objection(weight=Weight.REFUSES, rationale=rationale, conflicts=conflicts)


GATE: Final = Gate(id="gate:references-fit", examine=_examine)
