"""Snapshots: read them, explain them and trace a field."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import account_of, require_readable
from canonry.canon.session.paging import first_items
from canonry.log.entries import StoredItem
from canonry.log.items.entities import NEVER_SEEN, Entity
from canonry.log.items.sources import Source
from canonry.log.observations import with_observations
from canonry.log.schemas.narrative import PROPERTY_PREFIX, policy_of
from canonry.log.schemas.schemas import EntitySchema
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.records.domain.snapshots import ShownFields, shown_by
from canonry.records.usecases.schemas import schema_of, schemas_for
from canonry.values.errors import NotFound, Unavailable
from canonry.values.fields import with_changes
from canonry.values.merge_policies import (
    HIGHEST_PRIORITY,
    LAST_WRITE,
    MERGE_ARRAY,
    MOST_SPECIFIC,
    join_all,
)
from canonry.values.moments import Instant
from canonry.values.observations import Accumulator, Observation

# Read a snapshot: an entity now, at an instant, or as it was known at an instant.
#
# `at` (valid time) counts what was observed until then. `known_at` (transaction time) counts what
# was recorded until then. A merge counts from the time of its record.

_PAGES_MAX: Final = 40  # bounds the time of a list of snapshots


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRead:
    """An entity folded from the observations that count, shown by the schema of that time."""

    entity: Entity
    schema: EntitySchema | None
    shown: ShownFields
    first_seen: Instant | None
    computed_at: Instant


async def read_snapshot(
    canon: Canon,
    caller: Caller,
    entity_id: str,
    *,
    at: Instant | None = None,
    known_at: Instant | None = None,
) -> SnapshotRead:
    """Read the snapshot of an entity; it is empty before the first observation.

    Raises:
        NotFound: `entity.unknown`.
        Unavailable: `entity.too-long`, both times are given and there are too many observations.
    """
    (root,) = await require_readable(canon, caller, Entity, (entity_id,))
    then = root
    if at is not None or known_at is not None:
        then = await _read_past(canon, entity_id, root, at=at, known_at=known_at)
    account, asked = account_of(caller), at if at is not None else known_at
    schema = schema_of(await schemas_for(canon, account, (then,), at=asked), account, then)
    return SnapshotRead(
        entity=then,
        schema=schema,
        shown=shown_by(then, schema),
        first_seen=(root if known_at is None else then).observed.first,
        computed_at=then.observed.last or asked or then.created_at,
    )


async def _read_past(
    canon: Canon, entity_id: str, root: Entity, *, at: Instant | None, known_at: Instant | None
) -> Entity:
    until = min(each for each in (at, known_at) if each is not None)
    position = await canon.ledger.position_at(root.space, until)
    scope = canon.space_scope(root.space)
    past = dict(await scope.items_as_known_at((entity_id, root.id), position))
    given = past.get(entity_id)
    moved = given.merged_into if isinstance(given, Entity) else None
    if moved is None:
        owner, before = await find_addressed(canon, root, entity_id), given
    else:
        past |= await scope.items_as_known_at((moved,), position)
        owner, before = root, past.get(moved)
    members = before.members if isinstance(before, Entity) else ()
    if at is None:
        return before if isinstance(before, Entity) else _without_observations(owner)
    if known_at is None:
        found = await canon.state.entities_seen_until((owner.id, *members), at)
        own = found.get(owner.id, _without_observations(owner))
        others = [found[each] for each in members if each in found]
        return with_changes(
            _without_observations(owner),
            own=own.own,
            sightings=own.sightings,
            members=members,
            absorbed=join_all((each.own for each in others), policy_of),
            absorbed_sightings=sum((each.sightings for each in others), NEVER_SEEN),
        )
    limit = await canon.ledger.position_at(root.space, known_at)
    newest = partial(canon.state.observations_newest, (owner.id, *members))
    seen, more = await first_items(newest, _PAGES_MAX)
    if more:
        message = "The entity has too many observations. Give only one of `at` and `as_known_at`."
        raise Unavailable("entity.too-long", message, id=owner.id)
    counted = [each for each in seen if each.position <= limit and each.seen_at <= at]
    return with_observations(_without_observations(owner), counted)


async def find_addressed(canon: Canon, root: Entity, entity_id: str) -> Entity:
    """Return the entity with this id, even if it was merged, because it keeps what it was told."""
    found = await canon.space_scope(root.space).find_item(entity_id)
    return found if isinstance(found, Entity) else root


def _without_observations(entity: Entity) -> Entity:
    """Return the entity without observations."""
    nothing: Accumulator = {}
    return with_changes(
        entity,
        own=nothing,
        absorbed=nothing,
        sightings=NEVER_SEEN,
        absorbed_sightings=NEVER_SEEN,
        members=(),
        merged_into=None,
    )


_NAMED: Final = 20  # the most field names that an error lists


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The origin of a value: a source, another cited item, or the observation itself."""

    id: str
    created_at: Instant
    source: Source | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedField:
    """A field's value with its observations, newest first, and the origin of each."""

    entity: Entity
    field: str
    value: Any
    observations: tuple[Observation, ...]
    origins: tuple[Origin, ...]


async def trace_field(canon: Canon, caller: Caller, entity_id: str, field: str) -> TracedField:
    """Return the observations and origins of a field's current value.

    Raises:
        NotFound: `entity.unknown` or `field.unknown`.
    """
    read = await read_snapshot(canon, caller, entity_id)
    name = field_named(read, field)
    credited = read.shown.sources.get(name, ())
    found = await canon.space_scope(read.entity.space).items_by_id(credited)
    seen = tuple(each for i in credited if isinstance(each := found.get(i), Observation))
    if name not in read.shown.fields or not seen:
        raise missing_field(read.shown.fields)
    refs = {e.ref for each in seen for e in each.evidence[:1]}
    cited = await canon.space_scope(*{each.space for each in seen}).items_by_id(refs)
    return TracedField(
        entity=read.entity,
        field=name,
        value=read.shown.fields[name],
        observations=seen,
        origins=tuple(_origin_of(each, cited) for each in seen),
    )


def field_named(read: SnapshotRead, field: str) -> str:
    """Resolve a name or alias to the name of the field."""
    known = None if read.schema is None else read.schema.canonical_field(field)
    return known or field


def missing_field(known: Iterable[str]) -> NotFound:
    """Return the error for a field that the snapshot lacks, with the fields that it has."""
    names = ", ".join(sorted(known)[:_NAMED]) or "none"
    message = f"The snapshot has no such field. Its fields: {names}."
    return NotFound("field.unknown", message, kind="field", path="/field")


def _origin_of(observation: Observation, found: Mapping[str, StoredItem]) -> Origin:
    cited = observation.source_id or next((e.ref for e in observation.evidence), None)
    item = None if cited is None else found.get(cited)
    at = getattr(item, "created_at", None) or getattr(item, "timestamp", None)
    return Origin(
        id=observation.id if cited is None else cited,
        created_at=at if at is not None else observation.recorded_at,
        source=item if isinstance(item, Source) else None,
    )


CORRECTED: Final = "A correction outranks all other values."
_REASONS: Final = {
    LAST_WRITE.name: "The value that was observed last counts.",
    HIGHEST_PRIORITY.name: "The value with the highest priority counts; of several, the latest.",
    MOST_SPECIFIC.name: "The most specific value counts; of several, that of highest priority.",
    MERGE_ARRAY.name: "All items of the highest priority count, each once.",
    "latest": "The value that was recorded last counts.",
    "names": "The name that was recorded last counts.",
    "tag_set": "For each tag, the latest record counts.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedValue:
    """The value of one observation for a field, and whether it is the current one."""

    observation: Observation
    value: Any
    wins: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldExplained:
    """A field with every observed value, newest first."""

    field: str
    value: Any
    policy: str
    reason: str
    observed: tuple[ObservedValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotExplained:
    """The explained fields; `truncated` if older observations are left out."""

    read: SnapshotRead
    fields: tuple[FieldExplained, ...]
    truncated: bool


async def explain_snapshot(
    canon: Canon, caller: Caller, entity_id: str, field: str | None = None, *, unread: bool = False
) -> SnapshotExplained:
    """Explain the current fields of an entity; with `unread`, also its raw fragments.

    Raises:
        NotFound: `entity.unknown` or `field.unknown`.
    """
    read = await read_snapshot(canon, caller, entity_id)
    values = {n: each.value for n, each in read.shown.fragments.items()} if unread else {}
    values |= read.shown.fields
    names = sorted(values) if field is None else [field_named(read, field)]
    if field in values:
        names = [field]
    if field is not None and names[0] not in values:
        raise missing_field(values)
    ids = (read.entity.id, *read.entity.members)
    page = await canon.state.observations_newest(ids, limit=PAGE_MAX, offset=0)
    return SnapshotExplained(
        read=read,
        fields=tuple(_explain_field(read, name, values[name], page.items) for name in names),
        truncated=page.total > len(page.items),
    )


def _explain_field(read: SnapshotRead, name: str, shown: Any, seen: Any) -> FieldExplained:
    current_ids = frozenset(read.shown.sources.get(name, ()))
    if name not in read.shown.fields:
        current_ids = frozenset({read.shown.fragments[name].observation})
    key = name if read.schema is None and name in read.entity.snapshot else PROPERTY_PREFIX + name
    policy = policy_of(key) if read.schema is None else read.schema.policy_of(name)
    aliases = {name}
    if read.schema is not None and (spec := read.schema.find_field(name)) is not None:
        aliases |= set(spec.aliases)
    observed = []
    for each in seen:
        if key in each.fields:
            value = each.fields[key]
        else:
            kept = [f.value for alias, f in each.fragments.items() if alias in aliases]
            if not kept:
                continue
            value = kept[0]
        observed.append(ObservedValue(observation=each, value=value, wins=each.id in current_ids))
    corrected = any(one.wins and one.observation.correction for one in observed)
    return FieldExplained(
        field=name,
        value=shown,
        policy=policy.name,
        reason=CORRECTED if corrected else _REASONS[policy.name],
        observed=tuple(observed),
    )
