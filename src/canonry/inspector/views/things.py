"""Things: one thing with whatever its tool does not tell: its links, its history, its audience."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from canonry.assistant.desk import Desk, desk_of
from canonry.assistant.rows import kind_of, rows_of
from canonry.canon.judging.content_shapes import CONTENT_SHAPES, Holding
from canonry.canon.queries.explain import explain
from canonry.canon.queries.find_named import title_of
from canonry.canon.queries.query_facts import FactQuery, query_facts
from canonry.canon.queries.query_relations import RelationQuery, query_relations
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.tool import Arguments
from canonry.inspector.views.places import SpaceSeen, place_of
from canonry.log.entries import Thing, Tombstone
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact
from canonry.log.items.proposals import Proposal
from canonry.log.items.relations import Relation
from canonry.log.items.scenes import Scene, Story
from canonry.log.items.sources import Snippet
from canonry.log.items.veils import audience_of
from canonry.log.schemas.narrative_fields import PROPERTY_PREFIX
from canonry.recall.usecases.find_things import about
from canonry.records.usecases.identity.keep_apart import DIFFERENT_FROM
from canonry.values.audience import Audience
from canonry.values.ids import ObservationId
from canonry.values.observations import Observation
from canonry.values.time import Instant

MARKS_MAX: Final = 60
_NEAR: Final = 100
NAMING: Final = frozenset({Holding.REFERENCE, Holding.REFERENCES})
"""The kinds of members by which a proposal names something."""
_ENDS: Final = ("entity_id", "from_entity_id", "to_entity_id")
"""So those name entities that ask for an act."""
_EXPLAINED: Final = (Entity, Relation, Fact, Event, Axiom, Proposal)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkTo:
    """A thing by what it is called."""

    id: str
    name: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RibbonMark:
    """A moment at which the canon came to know something of a thing."""

    when: Instant
    how: str
    says: str
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TieSeen:
    """A relation of an entity, from where it stands: by which relation, to whom."""

    id: str
    rel_type: str
    other: LinkTo
    outward: bool
    since: Instant | None
    until: Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSaid:
    """A field with the observation that its value is from: by whose word, when, on what."""

    name: str
    value: Any
    authority: str
    when: Instant
    evidence: Sequence[LinkTo]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThingSeen:
    """A thing on its page; `explained`: the tool `why` has something to say of it.

    `apart`: it says of two that they are two, which is taken back in an account as well.
    """

    space: SpaceSeen
    id: str
    kind: str
    name: str
    within: LinkTo | None
    about: Sequence[LinkTo]
    audience: Audience
    explained: bool
    apart: bool
    citation: str
    marks: Sequence[RibbonMark]
    ties: Sequence[TieSeen]
    fields: Sequence[FieldSaid]


async def seen_thing(canon: Canon, caller: Caller, arguments: Arguments) -> ThingSeen:
    """The thing that `of` names."""
    desk = await desk_of(canon, caller, arguments, "of")
    thing = await desk.thing(arguments["of"], path="/of")
    marks: list[RibbonMark] = [_mark(thing, "new")]
    ties: Sequence[TieSeen] = ()
    fields: Sequence[FieldSaid] = ()
    if isinstance(thing, _EXPLAINED):
        found = await explain(canon, caller, thing.id)
        seen = {each.id: each for each in found.observations}
        marks += [_said(each) for each in found.observations if each.position != thing.position]
        if isinstance(thing, Entity):
            fields = await _fields(desk, thing, seen)
            known, ties = await _around(desk, thing)
            marks += known
        if found.fall is not None:
            at, entry = found.fall.commit.recorded_at, found.fall.entry
            why = getattr(entry, "reason", "")
            marks.append(RibbonMark(when=at, how="ended", says=why, id=thing.id))
    return ThingSeen(
        space=await place_of(desk),
        id=thing.id,
        kind=kind_of(thing),
        name=called(thing),
        within=await _within(desk, thing),
        about=await links(desk, _named(thing)),
        audience=audience_of(thing),
        explained=isinstance(thing, _EXPLAINED),
        apart=isinstance(thing, Relation) and thing.rel_type == DIFFERENT_FROM,
        citation=f"{kind_of(thing)}:{thing.id}",
        marks=sorted(marks, key=lambda each: each.when)[-MARKS_MAX:],
        ties=ties,
        fields=fields,
    )


def called(thing: Thing) -> str:
    """What a thing is called, or how it begins."""
    if isinstance(thing, Tombstone):
        return ""
    said = (getattr(thing, name, "") for name in ("statement", "text", "title", "name"))
    return title_of(thing) or next((text for text in said if text), "")


async def links(desk: Desk, ids: Iterable[str]) -> Sequence[LinkTo]:
    """Those of the ids that the visitor may know, in their order, by name."""
    wanted = tuple(dict.fromkeys(ids))
    found = await desk.canon.seen_by(desk.caller).things(wanted)
    rows = await rows_of(desk, (found[i] for i in wanted if i in found))
    return [
        LinkTo(id=row["id"], name=row.get("name") or row.get("says", ""), kind=row["kind"])
        for row in rows
    ]


def link_of(entity: Entity) -> LinkTo:
    """An entity by what it is called."""
    return LinkTo(id=entity.id, name=entity.name, kind="entity")


def references_in(proposal: Proposal) -> tuple[str, ...]:
    """What a proposal names, each once; other proposals as it names them."""
    shape, content = CONTENT_SHAPES.get(proposal.type), proposal.content
    members = () if shape is None else shape.members
    names = [one.name for one in members if one.kind in NAMING] or _ENDS
    found = [content.get(name) or () for name in names]
    listed = [(each,) if isinstance(each, str) else each for each in found]
    return tuple(dict.fromkeys(one for each in listed for one in each))


def _named(thing: Thing) -> tuple[str, ...]:
    match thing:
        case Proposal():
            return references_in(thing)
        case Scene():
            place = () if thing.location_ref is None else (thing.location_ref,)
            return (*thing.participants, *place)
        case Entity(derives_from=kind):
            return () if kind is None else (kind,)
        case _:
            return about(thing)


async def _within(desk: Desk, thing: Thing) -> LinkTo | None:
    """What a thing lies in: a turn in its scene, a scene in its story, a passage in its file."""
    match thing:
        case Snippet(source_id=outer) | Scene(story_id=outer):
            holder: str | None = outer
        case Story(parent_id=parent):
            holder = parent
        case _:
            holder = getattr(thing, "scene_id", None)
    found = [] if holder is None else await links(desk, (holder,))
    return next(iter(found), None)


async def _fields(
    desk: Desk, entity: Entity, seen: Mapping[ObservationId, Observation]
) -> Sequence[FieldSaid]:
    found: list[FieldSaid] = []
    properties = entity.properties
    for name, behind in entity.provenance.items():
        said = seen.get(behind)
        bare = name.removeprefix(PROPERTY_PREFIX)
        if said is None or bare == name or bare not in properties:
            continue
        found.append(
            FieldSaid(
                name=bare,
                value=properties[bare],
                authority=said.authority.value,
                when=said.recorded_at,
                evidence=await links(desk, (each.ref for each in said.evidence[:3])),
            )
        )
    return found


async def _around(desk: Desk, entity: Entity) -> tuple[Sequence[RibbonMark], Sequence[TieSeen]]:
    canon, caller = desk.canon, desk.caller
    if desk.space.opened is None:
        return (), ()
    ids: dict[str, Any] = {"universe_id": entity.space, "entity_id": entity.id}
    facts = await query_facts(canon, caller, FactQuery(limit=_NEAR), **ids)
    asked = RelationQuery(limit=_NEAR, newest_first=True)
    relations = await query_relations(canon, caller, asked, **ids)
    own = {entity.id, *entity.members}
    ends = {one for each in relations.items for one in (each.from_id, each.to_id)} - own
    others = {each.id: each for each in await links(desk, ends)}
    ties = [
        TieSeen(
            id=each.id,
            rel_type=each.rel_type,
            other=others[far],
            outward=each.from_id in own,
            since=each.since,
            until=each.until,
        )
        for each in relations.items
        if (far := each.to_id if each.from_id in own else each.from_id) in others and each.current
    ]
    marks = [_mark(each, "fact") for each in facts.items]
    tied = await links(desk, (each.id for each in relations.items))
    said = {each.id: each.name for each in tied}
    return marks + [
        RibbonMark(when=each.created_at, how="relation", says=said.get(each.id, ""), id=each.id)
        for each in relations.items
    ], ties


def _mark(thing: Thing, how: str) -> RibbonMark:
    when = getattr(thing, "created_at", None) or getattr(thing, "timestamp", None)
    return RibbonMark(when=Instant(when or 0), how=how, says=called(thing), id=thing.id)


def _said(seen: Observation) -> RibbonMark:
    names = ", ".join(name.removeprefix(PROPERTY_PREFIX) for name in seen.fields)
    return RibbonMark(when=seen.recorded_at, how="said", says=names, id=seen.id)
