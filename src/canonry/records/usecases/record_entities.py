"""Record entities: turn the records of one source into entities, observations and relations.

The number of reads does not grow with the number of records, and one commit writes everything.
Keys alone decide which entity a record describes. Near matches are only reported.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from canonry.canon.session.canon import Canon
from canonry.canon.session.paging import Pace, run_aside
from canonry.log.entries import Entry, Made, RelationEnded, RelationResumed
from canonry.log.folding import identifier_key, item_key, name_key
from canonry.log.items.entities import (
    Entity,
    EntityClass,
    EntityDraft,
    value_getter,
    without_members,
)
from canonry.log.items.facts import Relation, RelationDraft
from canonry.log.schemas.identity_keys import label_of
from canonry.log.schemas.narrative import PROPERTY_PREFIX, policy_of
from canonry.log.schemas.schemas import TruthRelation
from canonry.log.schemas.typed_records import naming_of
from canonry.readmodels.ports.state import IdentifierQuery
from canonry.records.domain.assertions import (
    Assertion,
    Candidates,
    Doubt,
    Target,
    Warned,
    collect_candidates,
    other_key_owners,
    resolve_assertion,
    target_of,
)
from canonry.records.domain.snapshots import predict_fields
from canonry.records.notation.settlements import (
    INVOICE,
    PAYERS,
    REFERENCE,
    SettlementSide,
    pairs_of,
    relations_between,
)
from canonry.records.usecases.records import (
    RecordReading,
    SimilarEntities,
    changed_among,
    content_of,
    earlier_addressees,
    find_similar,
)
from canonry.records.usecases.relationships import (
    FIELD,
    changed_entities,
    edges_following,
    is_derived,
    is_edge_kept,
    make_edge,
    resume_or_end,
)
from canonry.values.ids import EntityId, NewId, ObservationId, RelationId, SourceId
from canonry.values.merge_policies import join_all
from canonry.values.observations import ObservationDraft
from canonry.values.provenance import Authority, CanonLevel, Evidence, EvidenceKind

DUPLICATES_MAX: Final = 100
"""The most possible duplicates that a recording reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideEvidence:
    """Evidence from one observation of an entity; without fields if none of the newest has it."""

    entity_id: EntityId
    fields: Mapping[str, Any]
    observation_id: ObservationId | None = None
    source_id: SourceId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """Two entities that may be one, with the reason: both have the key `sign`."""

    entity_id: EntityId
    candidate_id: EntityId
    entity_type: str
    reason: str
    sign: str
    evidence: tuple[SideEvidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedEntity:
    """The outcome of one record; `reasons` explain the choice of its type."""

    entity_id: EntityId
    entity_type: str
    name: str
    rule: str
    created: bool
    observation_id: ObservationId | None
    reasons: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Recording:
    """The state of a recording: entries to write, and keys that they depend on.

    `before` maps earlier content of the source to the entity that it described.
    """

    reading: RecordReading
    similar: SimilarEntities
    known: Candidates
    reads: set[str]
    evidence: tuple[Evidence, ...]
    observation_ids: Iterator[str]
    before: Mapping[bytes, EntityId] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    records: list[RecordedEntity] = field(default_factory=list)
    duplicates: dict[tuple[EntityId, EntityId], Duplicate] = field(default_factory=dict)
    warnings: list[Warned] = field(default_factory=list)
    observed: list[ObservationDraft] = field(default_factory=list)
    kept: tuple[ObservationDraft, ...] = ()
    edges: dict[RelationId, RelationDraft] = field(default_factory=dict)
    entities: int = 0
    fragments: int = 0


async def record_entities(
    canon: Canon, reading: RecordReading, new_id: NewId, pace: Pace
) -> Recording:
    """Prepare the entries for all records of a source; write nothing."""
    recording = await _begin_recording(
        canon, reading, reading.assertions, new_id, weight=pace.weight
    )
    if reading.again and recording.similar.contested:
        space, source_id = reading.statement.account.space, reading.statement.source.id
        recording.before = await earlier_addressees(canon, space, source_id)
    await _match_all(recording, pace)
    await _keep_observed(canon, recording)
    await _add_edges(canon, recording)
    await _relate_payments(canon, recording)
    return recording


async def record_named(
    canon: Canon, reading: RecordReading, entity: Entity, seen: ObservationDraft, new_id: NewId
) -> Recording:
    """Prepare the entries for parties named in a correction of an entity, and for its edges."""
    (assertion,) = reading.assertions
    recording = await _begin_recording(canon, reading, (), new_id, weight=0)
    if entity.id not in recording.known.targets:
        recording.known.add_target(target_of(entity))
    target = recording.known.targets[entity.id]
    recording.similar.schema_of[entity.entity_type] = assertion.schema
    for name, party in reading.named_parties.get(0, ()):
        _relate_targets(recording, target, _match_assertion(recording, party), {FIELD: name})
    await _keep_observed(canon, recording)
    recording.kept = (*recording.kept, seen)
    await _add_edges(canon, recording)
    await _relate_payments(canon, recording)
    return recording


async def _begin_recording(
    canon: Canon,
    reading: RecordReading,
    assertions: Sequence[Assertion],
    new_id: NewId,
    *,
    weight: int,
) -> Recording:
    """Look up the entities that the assertions describe or name."""
    statement = reading.statement
    everybody = [*assertions, *(a for p in reading.named_parties.values() for _, a in p)]
    similar = await find_similar(canon, statement.account, everybody)
    count = len({id(each): None for each in everybody})
    return Recording(
        reading=reading,
        similar=similar,
        known=await run_aside(
            weight,
            lambda: collect_candidates(
                similar.entities.values(), similar.others, everybody, similar.source_values
            ),
        ),
        reads=set(similar.reads),
        evidence=(Evidence(kind=EvidenceKind.SOURCE, ref=statement.source.id),),
        # Ascending: of two observations at one instant the greater id wins, so that a later
        # record of a source overrides an earlier one.
        observation_ids=iter(sorted(new_id(f"observation:{n}") for n in range(1, count + 1))),
    )


async def _match_all(work: Recording, pace: Pace) -> None:
    """Find or make the entity of each assertion, observe it, and relate the parties it names."""
    reading = work.reading
    about: list[Target] = []
    named: dict[int, Target | None] = {}  # a party that many records name is one assertion
    async for index, assertion in pace.count_items(
        enumerate(reading.assertions), "records matched"
    ):
        target = _match_assertion(work, assertion)
        about.append(target)
        for name, party in reading.named_parties.get(index, ()):
            if id(party) not in named:
                # A document that is recorded again adds no entity for an ambiguous name.
                again = reading.again and resolve_assertion(work.known, party).is_unclear
                named[id(party)] = None if again else _match_assertion(work, party)
            other = named[id(party)]
            if other is not None:
                _relate_targets(work, target, other, {FIELD: name})
    for target, assertion in zip(about, reading.assertions, strict=True):
        for other_index in assertion.refers_to:
            _relate_targets(work, target, about[other_index], {})


def _match_assertion(work: Recording, assertion: Assertion) -> Target:
    """Find or make the entity of the assertion, and observe it."""
    found = resolve_assertion(work.known, assertion)
    if found.is_unclear:
        content = content_of(assertion.schema.entity_type, assertion.fields)
        before = work.known.targets.get(work.before.get(content, ""))
        found = found if before is None else replace(found, target=before)
    target = found.target or _make_target(work, assertion, found.entity_id)
    _report_duplicates(work, target, assertion, found.doubts)
    if assertion.schema.derived and found.target is not None:
        _warn_of_name(work, target, assertion, found.index)
    observation_id = _observe_record(work, target, assertion, fresh=found.target is None)
    if assertion.sure:
        work.records.append(
            RecordedEntity(
                entity_id=target.root_id,
                entity_type=work.known.targets[target.root_id].entity_type,
                name=assertion.label,
                rule=assertion.identities[found.index].rule,
                created=found.target is None,
                observation_id=observation_id,
            )
        )
        work.fragments += len(assertion.typed.fragments)
    return target


def _make_target(work: Recording, assertion: Assertion, entity_id: EntityId) -> Target:
    account, entity_type = work.reading.statement.account, assertion.schema.entity_type
    entity = EntityDraft(
        id=entity_id,
        space=account.space,
        entity_class=EntityClass.INSTANCE,
        entity_type=entity_type,
        derives_from=None,
        level=CanonLevel.CANON,
        authority=Authority.SOURCE,
        confidence=1.0,
        evidence=work.evidence,
    )
    work.entries.append(Made(thing=entity))
    work.entities += 1
    work.reads |= {item_key(entity_id), name_key(entity_type, assertion.label)}
    target = Target(id=entity_id, root_id=entity_id, entity_type=entity_type, entity=None, own={})
    work.known.add_target(target)
    return target


def _report_duplicates(
    work: Recording, target: Target, assertion: Assertion, doubts: Mapping[EntityId, Doubt]
) -> None:
    """Report possible duplicates: other matches, and entities with a key that the record adds."""
    if len(work.duplicates) >= DUPLICATES_MAX:
        return
    others = {**other_key_owners(work.known, assertion, target.root_id), **doubts}
    for other, doubt in sorted(others.items()):
        work.duplicates.setdefault(
            (target.root_id, other),
            Duplicate(
                entity_id=target.root_id,
                candidate_id=other,
                entity_type=assertion.schema.entity_type,
                reason=doubt.reason,
                sign=doubt.sign,
            ),
        )


def _warn_of_name(work: Recording, target: Target, assertion: Assertion, index: int) -> None:
    """Warn if a record of an unregistered type matched by its name alone, and changes a number."""
    before = {} if target.entity is None else without_members(target.entity).properties
    values = {**before, **target.fields}
    changed = sorted(
        name
        for name, value in assertion.fields.items()
        if isinstance(value, int | float) and values.get(name, value) != value
    )
    named = "+".join(map(label_of, assertion.schema.identity[-1].fields))
    if changed and assertion.identities[index].rule.startswith(named):
        message = (
            f"The record matched an entity by its name and changes {', '.join(changed)}. If it is "
            "another item, give it an `id`."
        )
        work.warnings.append(Warned(code="identity.by-name", message=message, path=assertion.path))


def _observe_record(
    work: Recording, target: Target, assertion: Assertion, *, fresh: bool
) -> ObservationId | None:
    """Add an observation of the record, unless it only names an entity that is known."""
    statement = work.reading.statement
    erased = target.entity is not None and not target.entity.own
    if not assertion.sure and not fresh and not erased:
        return None
    work.known.learn_keys(target, assertion)
    observation = ObservationDraft(
        id=ObservationId(next(work.observation_ids)),
        space=statement.account.space,
        entity_id=target.id,
        fields={PROPERTY_PREFIX + name: value for name, value in assertion.fields.items()},
        authority=Authority.SOURCE,
        confidence=1.0,
        evidence=work.evidence,
        observed_at=assertion.seen_at if assertion.sure else statement.observed_at,
        priority=statement.priority,
        specificity=statement.specificity if assertion.sure else NAMED_ONLY,
        schema_version=assertion.schema.version,
        run_id=work.reading.run_id,
        fragments=assertion.typed.fragments,
        dates=assertion.typed.dates,
    )
    work.observed.append(observation)
    return observation.id


NAMED_ONLY: Final = 0.5


async def _keep_observed(canon: Canon, work: Recording) -> None:
    """Add the observations, except repetitions that nothing has contradicted since.

    The last value of each field counts, because a source can contradict itself.
    """
    fields: dict[EntityId, dict[str, Any]] = {}
    for each in work.observed if work.reading.again and not work.reading.heavier else ():
        fields.setdefault(each.entity_id, {}).update(each.fields)
    known = {i: e for i in fields if (e := work.known.targets[i].entity) is not None}
    roots = {
        i: work.similar.roots.get(entity.merged_into or "", entity) for i, entity in known.items()
    }
    at = work.reading.statement.observed_at
    stale = known.keys() - await changed_among(canon, known, roots, fields, at)
    kept = {each.id: each for each in work.observed if each.entity_id not in stale}
    work.kept = tuple(kept.values())
    work.entries += [Made(thing=each) for each in work.kept]
    names = _current_names(work)
    work.records = [
        replace(
            each,
            name=names[each.entity_id],
            observation_id=each.observation_id if each.observation_id in kept else None,
        )
        if each.entity_id in names
        else each
        for each in work.records
    ]


def _current_names(work: Recording) -> Mapping[EntityId, str]:
    """Return the names of entities that were known before or have several records."""
    observed: dict[EntityId, list[ObservationDraft]] = {}
    for each in work.kept:
        observed.setdefault(each.entity_id, []).append(each)
    found: dict[EntityId, str] = {}
    for root_id in {each.entity_id for each in work.records}:
        root = work.known.targets[root_id]
        family = {each.id: each for each in work.known.families[root_id]}
        new = [each for member in family for each in observed.get(member, ())]
        if root.entity is not None and not new:
            found[root_id] = root.entity.name
        elif root.entity is not None or len(new) > 1:
            naming = None if root.entity is None else root.entity.naming
            schema = work.similar.schema_of.get(root.entity_type)
            if naming is None and schema is not None:
                naming = naming_of(schema)
            own = predict_fields(root.own, observed.get(root_id, ()))
            others = (
                predict_fields(e.own, observed.get(i, ()))
                for i, e in family.items()
                if i != root_id
            )
            sides = map(value_getter, (own, join_all(others, policy_of)))
            found[root_id] = "" if naming is None else naming.make_label(*sides)
    return found


def _relate_targets(
    work: Recording, from_: Target, to: Target, metadata: Mapping[str, Any]
) -> None:
    if from_.id == to.id:
        return
    account, ends = work.reading.statement.account, (from_.id, to.id)
    corrects = from_.entity_type == "credit_note" and to.entity_type == "invoice"
    for rel_type in (TruthRelation.REFERS_TO, *((TruthRelation.CORRECTS,) if corrects else ())):
        made = make_edge(account, rel_type, *ends, metadata=metadata, evidence=work.evidence)
        work.edges.setdefault(made.id, made)


async def _add_edges(canon: Canon, work: Recording) -> None:
    """Add new edges, and update derived edges of entities whose fields changed."""
    account = work.reading.statement.account
    known = await canon.space_scope(account.space).items_by_id(work.edges)
    targets, schemas = work.known.targets, work.similar.schema_of
    changed = {
        each.id: each
        for each in changed_entities(
            work.kept, lambda i: (schemas[targets[i].entity_type], targets[i].own)
        )
    }
    for edge_id, made in work.edges.items():
        if not isinstance(known.get(edge_id), Relation):  # new, or withdrawn before
            referrer, target = changed.get(made.from_id), work.known.targets[made.to_id]
            over = referrer is not None and not is_edge_kept(
                made, target.identifiers, referrer.named_keys
            )
            work.entries.append(Made(thing=replace(made, ended=True) if over else made))
    entries, reads = await edges_following(canon, account, changed.values())
    work.entries += entries
    work.reads |= {*map(item_key, work.edges), *reads}


async def _relate_payments(canon: Canon, work: Recording) -> None:
    """Relate payments to the invoices that they settle, whichever of the two came first.

    A payment makes no invoice, because a number is all that it knows of one.
    """
    account, name = work.reading.statement.account, PROPERTY_PREFIX + REFERENCE
    drafts: dict[EntityId, list[ObservationDraft]] = {}
    for each in work.kept:
        target = work.known.targets[each.entity_id]
        names_invoice = target.entity_type in PAYERS and (name in each.fields or name in target.own)
        if names_invoice or target.entity_type == INVOICE:
            drafts.setdefault(each.entity_id, []).append(each)
    new = {i: _side_after(work.known.targets[i], some) for i, some in drafts.items()}
    sides_by_id, own = dict(new), canon.space_scope(account.space)
    for kind in (INVOICE, *PAYERS):
        others = (each for each in new.values() if {each.entity_type, kind} & {INVOICE})
        texts = {n for each in others if each.entity_type != kind for n in each.reference_numbers}
        work.reads |= {identifier_key(kind, each) for each in texts}
        query = IdentifierQuery(
            spaces=frozenset((account.space,)), keys=tuple(sorted(texts)), entity_type=kind
        )
        pages = (await canon.state.identifier_owners(query)).values() if texts else ()
        # A number of an entity that was merged finds its survivor.
        ids = {i for page in pages for each in page.items for i in (each.id, *each.members)}
        stored = (await own.items_by_id(ids - sides_by_id.keys())).values()
        sides_by_id |= {
            e.id: _side_after(target_of(e), ()) for e in stored if isinstance(e, Entity)
        }
    edges: dict[RelationId, tuple[RelationDraft, SettlementSide, SettlementSide]] = {}
    for payment, invoice in pairs_of(sides_by_id.values()):
        ends = payment.id, invoice.id
        for rel_type in _OF_PAYMENTS if new.keys() & ends else ():
            made = make_edge(account, rel_type, *ends, metadata=_FIELD, evidence=work.evidence)
            edges[made.id] = made, payment, invoice
    known = await own.items_by_id(edges)
    done = {e.relation_id for e in work.entries if isinstance(e, RelationEnded | RelationResumed)}
    for edge_id, (made, payment, invoice) in edges.items():
        there = known.get(edge_id)
        settled = isinstance(there, Relation) and not there.ended
        stands_now = made.rel_type in relations_between(payment, invoice, settled=settled)
        if not isinstance(there, Relation):
            work.entries += [Made(thing=made)] if stands_now else []
        elif is_derived(there) and stands_now is there.ended and edge_id not in done:
            work.entries.append(resume_or_end(there))
    work.reads |= {*map(item_key, edges), *map(item_key, sides_by_id)}


_OF_PAYMENTS: Final = (TruthRelation.REFERS_TO, TruthRelation.SETTLES)
_FIELD: Final = {FIELD: REFERENCE}


def _side_after(target: Target, drafts: Sequence[ObservationDraft]) -> SettlementSide:
    """Return a payment or an invoice after these observations."""
    after = predict_fields(target.own, drafts)
    names = (n.removeprefix(PROPERTY_PREFIX) for n in after if n.startswith(PROPERTY_PREFIX))
    get_value = value_getter(after)
    return SettlementSide(target.id, target.entity_type, {name: get_value(name) for name in names})
