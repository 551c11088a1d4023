"""Record entities: what the records of one source say becomes entities, observations and edges.

Everything is looked up in a few reads, however many records there are, and written by one commit.
Which entity a record is about follows from its keys alone; what nearly fits is only told.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from canonry.domain.ids import EntityId, ObservationId, RelationId, RunId, SourceId
from canonry.domain.judging.making import UNSET
from canonry.domain.log.entries import Entry, Made
from canonry.domain.log.keys import name_key, thing_key
from canonry.domain.observations import Observation
from canonry.domain.provenance import Authority, CanonLevel, Evidence, EvidenceKind
from canonry.domain.things.entities import Entity, EntityClass
from canonry.domain.things.relations import Relation
from canonry.domain.time import Instant
from canonry.domain.truth.accounts import relation_id_of
from canonry.domain.truth.assertions import SEVERAL_FIT, TOLD_TWO_APART, Assertion, told_apart
from canonry.domain.truth.identity_keys import Identity, identities_of
from canonry.domain.vocabularies.narrative_fields import NAME, PROPERTY_PREFIX
from canonry.domain.vocabularies.truth_relations import TruthRelation
from canonry.usecases.kernel.account import Account
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import NewId
from canonry.usecases.truth.said_before import LastSaid, is_news, said_beside_corrections
from canonry.usecases.truth.similar_entities import Similar, find_similar


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """Who tells what: the assertions of a source, and the weight that they have.

    `again`: the source has been told before, so that only what has changed since is news.
    """

    account: Account
    source_id: SourceId
    run_id: RunId
    assertions: Sequence[Assertion]
    companions: Mapping[int, Sequence[tuple[str, Assertion]]]
    priority: int
    specificity: float
    observed_at: Instant | None
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """Two entities that may be one, and why."""

    entity_id: EntityId
    candidate_id: EntityId
    entity_type: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAs:
    """What became of one record."""

    entity_id: EntityId
    entity_type: str
    name: str
    rule: str
    created: bool
    observation_id: ObservationId | None


@dataclass(slots=True, kw_only=True)
class Recorded:
    """What became of all: the entries to be written, and the keys that they rest on."""

    entries: list[Entry] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)
    records: list[RecordedAs] = field(default_factory=list)
    duplicates: list[Duplicate] = field(default_factory=list)
    entities: int = 0
    observations: int = 0
    fragments: int = 0


@dataclass(slots=True)
class _Target:
    """An entity that records are about: known, or made by this telling."""

    id: EntityId
    entity_type: str
    name: str
    entity: Entity | None
    fields: dict[str, Any]
    identities: dict[str, Identity] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class _Telling:
    """A telling on its way; `targets` are found by every id that leads to them."""

    telling: Telling
    evidence: tuple[Evidence, ...]
    observation_ids: Iterator[str]
    similar: Similar
    recorded: Recorded
    targets: dict[str, _Target] = field(default_factory=dict)
    by_key: dict[tuple[str, str], dict[EntityId, _Target]] = field(default_factory=dict)
    observed: list[Observation] = field(default_factory=list)
    edges: dict[RelationId, Relation] = field(default_factory=dict)
    last_said: LastSaid = field(default_factory=dict)


async def record_entities(canon: Canon, telling: Telling, new_id: NewId) -> Recorded:
    """The entries for all that is told; nothing is written."""
    everybody = [*telling.assertions, *(a for p in telling.companions.values() for _, a in p)]
    similar = await find_similar(canon, telling.account, everybody)
    recorded = Recorded(reads={thing_key(each) for each in similar.asked})
    ids = _in_order(new_id, len({id(each): None for each in everybody}))
    work = _Telling(
        telling=telling,
        evidence=(Evidence(kind=EvidenceKind.SOURCE, ref=telling.source_id),),
        observation_ids=ids,
        similar=similar,
        recorded=recorded,
    )
    _know(work)
    if telling.again:
        work.last_said = await said_beside_corrections(canon, similar.by_id.values())
    about: list[_Target] = []
    named: dict[int, _Target] = {}  # a companion whom many records name is one assertion
    for index, assertion in enumerate(telling.assertions):
        target = _tell(work, assertion)
        about.append(target)
        for name, companion in telling.companions.get(index, ()):
            other = named.get(id(companion))
            if other is None:
                other = named[id(companion)] = _tell(work, companion)
            _relate(work, target, other, {"field": name})
    for target, assertion in zip(about, telling.assertions, strict=True):
        for place in assertion.refers_to:
            _relate(work, target, about[place], {})
    _keep_observed(work)
    await _add_edges(canon, work)
    return recorded


def _in_order(new_id: NewId, count: int) -> Iterator[str]:
    """Ids for `count` observations, ascending: of two at one instant the greater id came last.

    So a record stands over an earlier one of the same source, as a reader would take them.
    """
    return iter(sorted(new_id(f"observation:{number}") for number in range(1, count + 1)))


def _know(work: _Telling) -> None:
    """Take in what the store has, by ids and by keys."""
    similar = work.similar
    for given, entity in similar.by_id.items():
        work.targets[given] = _known(work, entity)
        work.recorded.reads.add(thing_key(given))
    for entity in similar.by_identifier:
        _known(work, entity)


def _known(work: _Telling, entity: Entity) -> _Target:
    target = work.targets.get(entity.id)
    if target is None:
        fields = dict(entity.properties)
        target = _Target(entity.id, entity.entity_type, entity.name, entity, fields)
        work.targets[entity.id] = target
        work.recorded.reads.add(thing_key(entity.id))
        _index(work, target, _identities(work, target))
    return target


def _identities(work: _Telling, target: _Target) -> Iterable[Identity]:
    schema = work.similar.schema_of.get(target.entity_type)
    return () if schema is None else identities_of(schema, target.fields)


def _index(work: _Telling, target: _Target, identities: Iterable[Identity]) -> None:
    """Let the keys that are known of a target lead to it."""
    target.identities = {each.rule: each for each in identities}
    for identity in target.identities.values():
        work.by_key.setdefault((target.entity_type, identity.key), {})[target.id] = target


def _tell(work: _Telling, assertion: Assertion) -> _Target:
    """Find or make whom the assertion is about, and keep what it says of it."""
    target, index, fresh = _resolve(work, assertion)
    said = _observe(work, target, assertion, fresh=fresh)
    if assertion.sure:
        work.recorded.records.append(
            RecordedAs(
                entity_id=target.id,
                entity_type=target.entity_type,
                name=target.name,
                rule=assertion.identities[index].rule,
                created=fresh,
                observation_id=said,
            )
        )
        work.recorded.fragments += len(assertion.fragments)
    return target


def _resolve(work: _Telling, assertion: Assertion) -> tuple[_Target, int, bool]:
    """Whom the assertion is about, by which of its identities, and whether that is somebody new."""
    doubts: dict[EntityId, str] = {}
    for index, identity in enumerate(assertion.identities):
        held = work.targets.get(assertion.ids[index])
        by_key = work.by_key.get((assertion.schema.entity_type, identity.key), {})
        if held is None and not by_key:
            continue
        fitting: dict[EntityId, _Target] = {}
        for each in ([held] if held is not None else []) + list(by_key.values()):
            if told_apart(assertion, index, each.identities):
                doubts[each.id] = TOLD_TWO_APART
            else:
                fitting[each.id] = each
        if held is not None and held.id in fitting:
            return held, index, False
        if len(fitting) == 1:
            return next(iter(fitting.values())), index, False
        doubts |= dict.fromkeys(fitting, SEVERAL_FIT)
    if assertion.ids[0] in work.similar.taken:
        apart = work.targets.get(assertion.apart_id or "")
        if apart is not None:
            return apart, 0, False
    return _make(work, assertion, doubts), 0, True


def _make(work: _Telling, assertion: Assertion, doubts: Mapping[EntityId, str]) -> _Target:
    telling, entity_type = work.telling, assertion.schema.entity_type
    entity_id = assertion.ids[0]
    if entity_id in work.targets:  # its key is taken by somebody whose details differ
        entity_id = assertion.apart_id or entity_id
    entity = Entity(
        id=entity_id,
        space=telling.account.space,
        entity_class=EntityClass.INSTANCE,
        entity_type=entity_type,
        derives_from=None,
        level=CanonLevel.CANON,
        authority=Authority.SOURCE,
        confidence=1.0,
        evidence=work.evidence,
        created_at=UNSET,
        updated_at=UNSET,
        position=0,
        changed_at=0,
    )
    work.recorded.entries.append(Made(thing=entity))
    work.recorded.entities += 1
    work.recorded.reads |= {thing_key(entity_id), name_key(entity_type, assertion.label)}
    target = _Target(entity_id, entity_type, assertion.label, None, {})
    work.targets[entity_id] = target
    for other, reason in sorted(doubts.items()):
        work.recorded.duplicates.append(
            Duplicate(
                entity_id=entity_id, candidate_id=other, entity_type=entity_type, reason=reason
            )
        )
    return target


def _observe(
    work: _Telling, target: _Target, assertion: Assertion, *, fresh: bool
) -> ObservationId | None:
    """Keep what is said, unless somebody only named is known."""
    telling = work.telling
    nameless = not target.name  # all that was said of it has been erased
    if not assertion.sure and not fresh and not nameless:
        return None
    target.fields |= assertion.fields
    _index(work, target, assertion.identities if fresh else _identities(work, target))
    fields = {PROPERTY_PREFIX + name: value for name, value in assertion.fields.items()}
    if fresh or nameless or (assertion.sure and telling.priority > 0 and _names(assertion)):
        fields[NAME] = target.name = assertion.label
    observation_id = ObservationId(next(work.observation_ids))
    work.observed.append(
        Observation(
            id=observation_id,
            space=telling.account.space,
            entity_id=target.id,
            fields=fields,
            authority=Authority.SOURCE,
            confidence=1.0,
            evidence=work.evidence,
            observed_at=telling.observed_at,
            recorded_at=UNSET,
            priority=telling.priority,
            specificity=telling.specificity if assertion.sure else _NAMED_ONLY,
            schema_version=assertion.schema.version,
            run_id=telling.run_id,
            fragments=assertion.fragments,
            dates=assertion.dates,
            position=0,
        )
    )
    return observation_id


_NAMED_ONLY: Final = 0.5


def _names(assertion: Assertion) -> bool:
    return any(name in assertion.fields for group in assertion.schema.names for name in group)


def _keep_observed(work: _Telling) -> None:
    """Write what was observed, but for what a source says again and nobody has contradicted since.

    What counts is its last word on each field, as a source may contradict itself on the way.
    """
    said: dict[EntityId, dict[str, Any]] = {}
    for each in work.observed if work.telling.again else ():
        said.setdefault(each.entity_id, {}).update(each.fields)
    stale = {
        entity_id
        for entity_id, fields in said.items()
        if (entity := work.targets[entity_id].entity) is not None
        and not is_news(entity, fields, work.last_said, work.telling.observed_at)
    }
    kept = [each for each in work.observed if each.entity_id not in stale]
    recorded = work.recorded
    recorded.entries += [Made(thing=each) for each in kept]
    recorded.observations = len(kept)
    if stale:
        recorded.records = [
            replace(each, observation_id=None) if each.entity_id in stale else each
            for each in recorded.records
        ]


def _relate(work: _Telling, from_: _Target, to: _Target, metadata: Mapping[str, Any]) -> None:
    if from_.id == to.id:
        return
    account, rel_type = work.telling.account, TruthRelation.REFERS_TO
    wanted = relation_id_of(account.user_id, rel_type, from_.id, to.id)
    if wanted in work.edges:
        return
    work.edges[wanted] = Relation(
        id=wanted,
        space=account.space,
        rel_type=rel_type,
        from_id=from_.id,
        to_id=to.id,
        properties=dict(metadata),
        since=None,
        confidence=1.0,
        authority=Authority.SOURCE,
        evidence=work.evidence,
        level=CanonLevel.CANON,
        created_at=UNSET,
        position=0,
        changed_at=0,
    )


async def _add_edges(canon: Canon, work: _Telling) -> None:
    known = await canon.within(work.telling.account.space).things(work.edges)
    work.recorded.reads |= set(map(thing_key, work.edges))
    work.recorded.entries += [
        Made(thing=edge) for edge_id, edge in work.edges.items() if edge_id not in known
    ]
