"""Relationships between records: relate, read and derive them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from canonry.canon.session import lookup
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.canon.session.paging import every_match
from canonry.canon.session.traversal import DIRECTIONS, traverse_related
from canonry.log import entries as log
from canonry.log.folding import item_key, relations_key
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Relation, RelationDraft, Repetition
from canonry.log.items.sources import Source, relation_id_of
from canonry.log.schemas.identity_keys import KeyReader, key_mark
from canonry.log.schemas.narrative import PROPERTY_PREFIX
from canonry.log.schemas.schemas import ACYCLIC, EntitySchema, TruthRelation
from canonry.log.schemas.truth_types import TRUTH_TYPES
from canonry.readmodels import timeline
from canonry.readmodels.ports.state import RelationQuery, TimelineQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.records.domain.snapshots import predict_fields
from canonry.records.notation.labels import COMPANIONS, NAMED_BY, companions_of
from canonry.values.errors import Conflict, InvalidInput, NotFound, Unavailable
from canonry.values.fields import with_changes
from canonry.values.ids import EntityId, NewId, RelationId, SourceId, content_id
from canonry.values.json_values import encode_json, reference_number
from canonry.values.moments import StoryPosition
from canonry.values.observations import Accumulator, Observation, ObservationDraft
from canonry.values.provenance import Authority, CanonLevel, Evidence

# Derived edges: an entity refers to the parties in its fields as long as the fields name them.
#
# The edge ends when no field of the entity names its target, and resumes when one does again. An
# edge that a user has requested does not depend on fields.

FIELD: Final = "field"
"""The property of a derived edge that holds the name of its field."""

_KEYS: Final = {kind: KeyReader(TRUTH_TYPES[kind]) for kind in NAMED_BY}
_REASON: Final = "the field that made it names somebody else"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedEntity:
    """The fields of an entity before and after new observations."""

    id: EntityId
    schema: EntitySchema
    before: Accumulator
    after: Accumulator

    @property
    def named_keys(self) -> frozenset[str]:
        """The keys of all parties that the fields name now."""
        return self._keys_in(self.after)

    @property
    def has_renamed(self) -> bool:
        """Return whether the fields name other parties than before."""
        return self._keys_in(self.before) != self.named_keys

    def _keys_in(self, own: Accumulator) -> frozenset[str]:
        kind, fields = self.schema.entity_type, {}
        for name in COMPANIONS.get(kind, ()):
            if elements := own.get(PROPERTY_PREFIX + name):
                fields[name] = self.schema.policy_of(name).show(elements)
        return frozenset(key for key, _ in named_party_keys(kind, fields))


def named_party_keys(entity_type: str, fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (key, name) of all parties that the fields of a record name."""
    for _, whom, name in companions_of(entity_type, fields):
        if whom == "invoice":  # banks name invoices by payment references too
            form = reference_number(name)
            yield from ((text, name) for text in (form, key_mark(f"{NAMED_BY[whom]}:{form}")))
        yield from ((key_mark(key), name) for key in _KEYS[whom].read_keys({NAMED_BY[whom]: name}))


def changed_entities(
    drafts: Iterable[ObservationDraft],
    about: Callable[[EntityId], tuple[EntitySchema, Accumulator]],
) -> Iterator[ChangedEntity]:
    """Yield the entities of drafts with earlier or several observations; `about` looks them up."""
    by_entity: dict[EntityId, list[ObservationDraft]] = {}
    for each in drafts:
        by_entity.setdefault(each.entity_id, []).append(each)
    for entity_id, new_drafts in by_entity.items():
        schema, own = about(entity_id)
        if schema.entity_type in COMPANIONS and (own or len(new_drafts) > 1):
            yield ChangedEntity(
                id=entity_id, schema=schema, before=own, after=predict_fields(own, new_drafts)
            )


def is_edge_kept(edge: RelationDraft, target: Collection[str], named: Collection[str]) -> bool:
    """Return whether an edge stays: it is not derived, or its target has one of the named keys."""
    return FIELD not in edge.properties or not set(named).isdisjoint(target)


async def edges_following(
    canon: Canon, account: lookup.Account, changed: Iterable[ChangedEntity]
) -> tuple[list[log.Entry], frozenset[str]]:
    """Return entries that end or resume derived edges, and the keys that they depend on."""
    named = {each.id: each.named_keys for each in changed if each.has_renamed}
    edges: list[Relation] = []
    if named:
        spaces = frozenset((account.space,))
        query = RelationQuery(spaces=spaces, entities=frozenset(named), direction="out")
        every = every_match(canon.state.relations, query)
        edges = [e async for e in every if is_derived(e) and e.level is CanonLevel.CANON]
    found = await canon.space_scope(account.space).items_by_id({each.to_id for each in edges})
    entries: list[log.Entry] = []
    for edge in edges:
        target = found.get(edge.to_id)
        identifiers = target.borne if isinstance(target, Entity) else ()
        stand = is_edge_kept(edge, identifiers, named[edge.from_id])
        if edge.ended is stand:
            entries.append(resume_or_end(edge))
    keys = {item_key(i) for edge in edges for i in (edge.id, edge.to_id)}
    return entries, frozenset((*map(relations_key, named), *keys))


def resume_or_end(edge: Relation) -> log.Entry:
    """Return the entry that ends a current derived edge, or resumes an ended one."""
    if edge.ended:
        return log.RelationResumed(relation_id=edge.id)
    return log.RelationEnded(relation_id=edge.id, until=None, superseded_by=None, reason=_REASON)


def is_derived(edge: Relation) -> bool:
    """Return whether an edge is derived from fields alone."""
    authorities = (edge.authority, *(each.authority for each in edge.again))
    return FIELD in edge.properties and all(one is Authority.SOURCE for one in authorities)


# Relate entities: the id of an edge follows from its type and ends, which makes it unique.
#
# Relating the same entities again adds new metadata and changes nothing else.

_WALKED_MAX: Final = 20_000  # the most entities that the search for a cycle visits


async def relate_entities(
    canon: Canon, caller: Caller, rel_type: str, ends: Sequence[str], metadata: Mapping[str, Any]
) -> tuple[Relation, bool]:
    """Relate two entities of the caller's account; return the edge, and whether it existed.

    The `ends` may be ids of merged entities.

    Raises:
        InvalidInput: `relationship.type-unknown` or `relationship.to-itself`.
        NotFound: `entity.unknown`.
        Conflict: `relationship.cycle`.
        Unavailable: `relationship.too-far`, the search for a cycle grew too long.
    """
    _require_type(rel_type)
    account, inner = lookup.account_of(caller), lookup.within_account(caller)
    await lookup.require_all(canon, inner, Entity, ends)
    from_id, to_id = map(EntityId, ends)
    # The edge connects the named entities, which keep it if their merge is undone.
    player = Authority.PLAYER
    asked = make_edge(account, rel_type, from_id, to_id, metadata=metadata, authority=player)

    async def prepare_change(_: NewId) -> Change[bool]:
        from_, to = await lookup.require_all(canon, inner, Entity, ends)
        if from_.id == to.id:
            message = "Source and target are one entity. Name two different entities."
            raise InvalidInput("relationship.to-itself", message, path="/target_entity_id")
        reads = {item_key(each) for each in (*ends, from_.id, to.id, asked.id)}
        found = await canon.space_scope(account.space).find_item(asked.id)
        if isinstance(found, Relation):
            entries = (*_detach_from_fields(found), *_new_details(found, metadata))
            return Change(entries=entries, reads=frozenset(reads), found=found.current)
        if rel_type in ACYCLIC:
            leads, seen = await leads_to(canon, rel_type, to, from_)
            if leads:
                message = f"This would be a cycle: {rel_type} leads from the target to the source."
                raise Conflict("relationship.cycle", message, conflicts=[from_.id, to.id])
            reads |= set(map(relations_key, seen))
        return Change(entries=(log.Made(thing=asked),), reads=frozenset(reads), found=False)

    receipt = await commit_change(canon, inner, account.space, prepare_change)
    relation = await lookup.require_item(canon, inner, Relation, asked.id)
    from_, to = await lookup.require_all(canon, inner, Entity, ends)
    return with_changes(relation, from_id=from_.id, to_id=to.id), bool(receipt.found)


def _require_type(rel_type: str) -> None:
    if rel_type not in list(TruthRelation):
        message = f"`relationship_type` must be one of {', '.join(TruthRelation)}."
        raise InvalidInput("relationship.type-unknown", message, path="/relationship_type")


def make_edge(
    account: lookup.Account,
    rel_type: str,
    from_id: EntityId,
    to_id: EntityId,
    *,
    metadata: Mapping[str, Any],
    authority: Authority = Authority.SOURCE,
    evidence: tuple[Evidence, ...] = (),
) -> RelationDraft:
    """Make the draft of an edge between two entities of an account."""
    return RelationDraft(
        id=RelationId(relation_id_of(account.user_id, rel_type, from_id, to_id)),
        space=account.space,
        rel_type=rel_type,
        from_id=from_id,
        to_id=to_id,
        properties=dict(metadata),
        since=None,
        confidence=1.0,
        authority=authority,
        evidence=evidence,
        level=CanonLevel.CANON,
    )


def _detach_from_fields(found: Relation) -> Iterator[log.Entry]:
    """Yield entries that make an edge independent of fields at a user's request."""
    if found.ended:
        yield log.RelationResumed(relation_id=found.id)
    if is_derived(found):
        again = Repetition(
            at=None,
            place=StoryPosition(told=0),
            authority=Authority.PLAYER,
            confidence=1.0,
            evidence=(),
        )
        yield log.EvidenceLinked(thing_id=found.id, evidence=found.evidence[0], again=again)


def _new_details(found: Relation, metadata: Mapping[str, Any]) -> tuple[log.Entry, ...]:
    new = {key: value for key, value in metadata.items() if found.properties.get(key) != value}
    if not new:
        return ()
    state = content_id(found.id, str(found.told), encode_json(new).decode())
    return (log.RelationDetailed(relation_id=found.id, properties=new, told=state),)


async def leads_to(
    canon: Canon, rel_type: str, start: Entity, goal: Entity
) -> tuple[bool, frozenset[str]]:
    """Return whether edges of a type lead from one entity to another; also return those visited.

    Raises:
        Unavailable: `relationship.too-far`.
    """
    seen: set[str] = set()
    frontier: dict[str, Entity] = {start.id: start}
    while frontier:
        family = frozenset[EntityId]().union(*map(family_of, frontier.values())) - seen
        seen |= family
        query = RelationQuery(
            spaces=frozenset((start.space,)),
            entities=family,
            rel_type=rel_type,
            direction="out",
            current=True,
        )
        ends = {each.to_id async for each in every_match(canon.state.relations, query)}
        if not ends.isdisjoint(family_of(goal)):
            return True, frozenset(seen)
        if len(seen) > _WALKED_MAX:
            message = f"The search for a cycle stopped after {_WALKED_MAX} entities."
            raise Unavailable("relationship.too-far", message, limit=_WALKED_MAX)
        frontier = {
            e.id: e
            for e in (await canon.space_scope(start.space).root_entities(ends - seen)).values()
        }
    return False, frozenset(seen)


WHOLE_MAX: Final = 5_000
"""The most relations of one entity that are combined after merges."""

SEARCHED_MAX: Final = 50_000
"""The most relations of merged entities that are read."""


async def list_relationships(
    canon: Canon,
    caller: Caller,
    entity_id: str,
    *,
    direction: str,
    rel_type: str | None,
    limit: int,
    offset: int,
) -> tuple[Sequence[Relation], int]:
    """Return a page of an entity's relationships between survivors, and their total.

    Raises:
        NotFound: `entity.unknown`.
        Unavailable: `relationship.too-far`, there are too many to read.
    """
    (entity,) = await lookup.require_readable(canon, caller, Entity, (entity_id,))
    family = family_of(entity)
    wanted = RelationQuery(
        spaces=frozenset((entity.space,)),
        entities=family,
        rel_type=rel_type,
        direction=DIRECTIONS[direction],
        current=True,
        newest_first=True,
        limit=limit,
        offset=offset,
    )
    first = await canon.state.relations(with_changes(wanted, limit=PAGE_MAX, offset=0))
    if len(family) == 1 and first.total > WHOLE_MAX:  # too many to combine
        page = await canon.state.relations(wanted)
        return await _join_survivors(canon, caller, page.items), page.total
    edges = list(first.items) if first.total <= PAGE_MAX else []
    if first.total > PAGE_MAX:
        async for each in every_match(canon.state.relations, wanted):
            edges.append(each)
            if len(edges) > SEARCHED_MAX:
                message = "The entity has too many relationships. Ask for one `relationship_type`."
                raise Unavailable("relationship.too-far", message, limit=SEARCHED_MAX)
    shown = await _join_survivors(canon, caller, edges)
    return shown[offset : offset + limit], len(shown)


async def read_relationship(
    canon: Canon, caller: Caller, rel_type: str, from_id: str, to_id: str
) -> Relation:
    """Return the relationship of a type between two entities, or entities merged into them.

    Raises:
        InvalidInput: `relationship.type-unknown`.
        NotFound: `entity.unknown` or `relationship.unknown`.
    """
    _require_type(rel_type)
    from_, to = await lookup.require_readable(canon, caller, Entity, (from_id, to_id))
    account = lookup.account_of(caller)
    ids = [
        relation_id_of(account.user_id, rel_type, one, other)
        for one in (from_.id, *from_.members)
        for other in (to.id, *to.members)
    ]
    found = await canon.space_scope(account.space).items_by_id(ids)
    standing = [r for i in ids if isinstance(r := found.get(i), Relation) and r.current]
    if not standing:
        message = f"No {rel_type} relationship leads from the source to the target."
        raise NotFound("relationship.unknown", message, kind="relationship")
    family: dict[str, EntityId] = {each: e.id for e in (from_, to) for each in e.members}
    return next(iter(timeline.join_edges(standing, family)))


async def _join_survivors(
    canon: Canon, caller: Caller, edges: Sequence[Relation]
) -> Sequence[Relation]:
    """Return the relations with survivors at their ends, each once."""
    ends = {end for edge in edges for end in (edge.from_id, edge.to_id)}
    found = await lookup.readable_scope(canon, caller).items_by_id(ends)
    moved = {i: e.merged_into for i, e in found.items() if isinstance(e, Entity) and e.merged_into}
    return tuple(timeline.join_edges(edges, moved))


AROUND_MAX: Final = 100
"""The most items of each kind in a neighbourhood."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """The items around a node; `truncated` if some kind has more."""

    entities: Sequence[Entity] = ()
    relations: Sequence[Relation] = ()
    sources: Sequence[Source] = ()
    events: Sequence[timeline.TimelineEvent] = ()
    observations: Sequence[Observation] = ()
    truncated: bool = False


async def neighbourhood_of_entity(
    canon: Canon, caller: Caller, entity_id: str
) -> tuple[Entity, Neighbourhood]:
    """Return an entity with its relations and their ends, sources, events and observations.

    Raises:
        NotFound: `entity.unknown`.
    """
    (entity,) = await lookup.require_readable(canon, caller, Entity, (entity_id,))
    related = await traverse_related(canon, caller, entity)
    page = await canon.state.observations_newest(
        sorted(family_of(entity)), limit=AROUND_MAX, offset=0
    )
    wanted = dict.fromkeys(each.source_id for each in page.items if each.source_id is not None)
    found = await lookup.readable_scope(canon, caller).items_by_id(wanted)
    cut = related.truncated or page.total > AROUND_MAX or len(related.relations) > AROUND_MAX
    by_event: dict[str, list[timeline.TimelineEntry]] = {}
    for entry in timeline.entries_current(entity):
        by_event.setdefault(entry.event_id, []).append(entry)
    events = (timeline.event_of(tuple(each)) for each in by_event.values())
    around = Neighbourhood(
        entities=related.entities[:AROUND_MAX],
        relations=related.relations[:AROUND_MAX],
        sources=tuple(s for i in wanted if isinstance(s := found.get(i), Source)),
        events=tuple(sorted(events, key=lambda event: (-event.instant, event.id)))[:AROUND_MAX],
        observations=page.items,
        truncated=cut,
    )
    return entity, around


async def neighbourhood_of_source(
    canon: Canon, caller: Caller, source_id: str
) -> tuple[Source, Neighbourhood]:
    """Return a source with its observations, entities, their relations and events.

    Raises:
        NotFound: `source.unknown`.
    """
    (source,) = await lookup.require_readable(canon, caller, Source, (source_id,))
    page = await canon.state.observations_from(source.id, limit=AROUND_MAX, offset=0)
    ids = tuple(dict.fromkeys(each.entity_id for each in page.items))
    seen = await lookup.readable_scope(canon, caller).items_by_id(ids)
    roots = {t.merged_into or t.id for t in seen.values() if isinstance(t, Entity)}
    entities = await lookup.require_readable(canon, caller, Entity, sorted(roots))
    relations: dict[str, Relation] = {}
    truncated = page.total > AROUND_MAX
    for entity in entities[:AROUND_MAX]:
        related = await traverse_related(canon, caller, entity)
        relations |= {e.id: e for e in related.relations if {e.from_id, e.to_id} <= roots}
        truncated = truncated or related.truncated
    query = TimelineQuery(
        spaces=frozenset((lookup.account_of(caller).space,)),
        source_id=SourceId(source.id),
        limit=AROUND_MAX,
    )
    around = Neighbourhood(
        entities=entities,
        relations=tuple(relations.values())[:AROUND_MAX],
        events=(await canon.state.timeline(query)).items,
        observations=page.items,
        truncated=truncated or len(relations) > AROUND_MAX,
    )
    return source, around
