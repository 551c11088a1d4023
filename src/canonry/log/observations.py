"""Fold observations and scene entries, for the readers who may know of them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from canonry.log import entries as log
from canonry.log.folding import Folding, identifier_key, set_members
from canonry.log.items.entities import (
    NEVER_SEEN,
    Entity,
    EntityDraft,
    SecretEntityPart,
    Sightings,
    without_members,
)
from canonry.log.items.proposals import ProposalDraft
from canonry.log.items.scenes import Scene, SceneStatus, TurnDraft
from canonry.log.items.secret_parts import add_secret_part, may_all_know
from canonry.log.items.sources import SnippetDraft
from canonry.log.schemas.identity_keys import KeyReader, identifiers_from
from canonry.log.schemas.narrative import policy_of
from canonry.log.schemas.schemas import EntitySchema
from canonry.log.schemas.truth_types import TRUTH_TYPES
from canonry.log.schemas.typed_records import naming_of, schema_id_of
from canonry.values.audience import EVERYBODY, Audience, narrowest
from canonry.values.fields import PROPOSAL_PREFIX, with_changes
from canonry.values.ids import SchemaId, is_uuid
from canonry.values.merge_policies import PROPERTY, accumulator_of, join_accumulators
from canonry.values.observations import Accumulator, Observation, ObservationDraft


def with_observations(entity: Entity, observations: Iterable[Observation]) -> Entity:
    """Return the entity with these observations of its own added."""
    seen = tuple(observations)
    own, sightings = entity.own, entity.sightings
    for each in _winning_fields(seen):
        own = join_accumulators(own, accumulator_of(each, policy_of), policy_of)
    for each in seen:
        sightings = sightings + sighting_of(each)
    return replace(entity, own=own, sightings=sightings)


def sighting_of(observation: Observation) -> Sightings:
    """Return the count and dates of one observation."""
    when = observation.seen_at
    return Sightings(count=1, first=when, last=when)


def _winning_fields(observations: Iterable[Observation]) -> Iterator[Observation]:
    """Return the observations with only those fields in which they can win.

    Under every time-based policy the latest of equally weighted ones wins, so that few fields have
    to be joined.
    """
    won: set[tuple[str, int, int, float]] = set()
    for each in sorted(observations, key=lambda o: (o.seen_at, o.position, o.id), reverse=True):
        weight = (int(each.correction), each.priority, each.specificity)
        fields: dict[str, Any] = {}
        for name, value in each.fields.items():
            whole = not name.startswith(PROPERTY) or isinstance(value, list | tuple)
            if whole or (name, *weight) not in won:
                fields[name] = value
            if not whole:
                won.add((name, *weight))
        if fields or each.fragments:
            yield each if len(fields) == len(each.fields) else replace(each, fields=fields)


# Observing: how an observation changes its entity and the survivor of that entity.
#
# An observation stays with the entity that it was addressed to, through merges and unmerges.

EXTRA_ROUNDS: Final = 2
"""The most rounds in which `beside` can name further items to load."""


def ids_needed_next(
    entries: Iterable[log.Entry], loaded: Mapping[str, log.StoredItem]
) -> frozenset[str]:
    """Return the ids that folding observations reads besides those that the entries name.

    They depend on `loaded` items: the survivor of a merged entity, and the registered schema of an
    observation. Some become known only in a second round.
    """
    wanted: set[str] = set()
    made: dict[str, EntityDraft] = {}
    for entry in entries:
        if isinstance(entry, log.AudienceChanged):
            wanted |= _observed_ids(loaded.get(entry.thing_id), loaded)
        if isinstance(entry, log.EntityRebuilt):
            wanted |= _schemas_read(loaded.get(entry.entity_id), map(loaded.get, entry.standing))
        if not isinstance(entry, log.Made):
            continue
        if isinstance(entry.thing, EntityDraft):
            made[entry.thing.id] = entry.thing
        elif isinstance(entry.thing, ObservationDraft):
            about = entry.thing.entity_id
            entity = made.get(about) or loaded.get(about)
            if isinstance(entity, EntityDraft):
                root = entity.merged_into if isinstance(entity, Entity) else None
                schema_id = _registered_schema(entity, entry.thing)
                wanted |= {each for each in (root, schema_id) if each is not None}
    return frozenset(wanted)


def _observed_ids(seen: log.StoredItem | None, loaded: Mapping[str, log.StoredItem]) -> set[str]:
    """Return the observed entity and its survivor."""
    if not isinstance(seen, Observation):
        return set()
    entity = loaded.get(seen.entity_id)
    root = entity.merged_into if isinstance(entity, Entity) else None
    return {seen.entity_id} if root is None else {seen.entity_id, root}


def _schemas_read(
    entity: log.StoredItem | None, observations: Iterable[log.StoredItem | None]
) -> set[str]:
    """Return the registered schemas that read an entity's observations."""
    if not isinstance(entity, Entity):
        return set()
    found = (_registered_schema(entity, e) for e in observations if isinstance(e, Observation))
    return {each for each in found if each is not None}


def add_observation(folding: Folding, observation: Observation) -> None:
    """Add an observation to its entity, and to the survivor if the entity was merged."""
    folding.put_item(observation)
    apply_observation(folding, observation)


def apply_observation(folding: Folding, observation: Observation) -> None:
    """Add an observation that is already in the log to its entity."""
    fields, seen = accumulator_of(observation, policy_of), sighting_of(observation)
    if _add_to_secret(folding, observation, fields, seen):
        return
    entity = folding.get_item(observation.entity_id)

    def absorb_fields(root: Entity) -> Mapping[str, Any]:
        return {
            "absorbed": join_accumulators(root.absorbed, fields, policy_of),
            "absorbed_sightings": root.absorbed_sightings + seen,
            "updated_at": folding.commit.recorded_at,
        }

    def learn_fields(entity: Entity) -> Mapping[str, Any]:
        return _entity_changes(folding, entity, observation, fields)

    folding.develop_item(observation.entity_id, Entity, learn_fields)
    if isinstance(entity, Entity) and entity.merged_into is not None:
        folding.develop_item(entity.merged_into, Entity, absorb_fields)


def _entity_changes(
    folding: Folding, entity: Entity, observation: Observation, fields: Accumulator
) -> dict[str, Any]:
    """Return the changes that an observation with these `fields` makes to its entity."""
    keys = _key_reader_of(folding, entity, observation)
    changes: dict[str, Any] = {
        "own": join_accumulators(entity.own, fields, policy_of),
        "sightings": entity.sightings + sighting_of(observation),
        "updated_at": folding.commit.recorded_at,
    }
    standing = without_members(entity).properties if observation.correction else {}
    identifiers = identifiers_from(entity.entity_type, observation, keys, standing)
    identifiers = identifiers.difference(entity.borne)
    if identifiers:
        changes["borne"] = tuple(sorted(identifiers.union(entity.borne)))
        folding.touched |= {identifier_key(entity.entity_type, text) for text in identifiers}
    if keys is not None and entity.naming is None:
        changes["naming"] = naming_of(keys.schema)
    return changes


def rebuild_entity(folding: Folding, entry: log.EntityRebuilt) -> None:
    """Rebuild the entity and its survivor from the standing observations, for all their readers.

    A disowned key stays disowned even if a standing observation has it.
    """
    entity = folding.get_item(entry.entity_id)
    if not isinstance(entity, Entity):
        return
    observations = [e for e in map(folding.get_item, entry.standing) if isinstance(e, Observation)]
    rebuilt = with_changes(entity, own={}, sightings=NEVER_SEEN, borne=())
    for each in (one for one in observations if may_all_know(one, entity)):
        rebuilt = with_changes(
            rebuilt, **_entity_changes(folding, rebuilt, each, accumulator_of(each, policy_of))
        )
    identifiers = tuple(text for text in rebuilt.borne if text in entity.borne)
    folding.touched |= {identifier_key(entity.entity_type, text) for text in entity.borne}
    if not entity.veils or (rebuilt.own, rebuilt.sightings) != (entity.own, entity.sightings):
        now = folding.commit.recorded_at
        changes = {"own": rebuilt.own, "sightings": rebuilt.sightings, "borne": identifiers}
        folding.change_item(entity.id, Entity, **changes, updated_at=now)
    if entity.veils:
        folding.develop_item(
            entity.id, Entity, lambda now: {"veils": _forget_secrets(folding, now)}
        )
    for each in (one for one in observations if not may_all_know(one, entity)):
        fields, seen = accumulator_of(each, policy_of), sighting_of(each)
        folding.learn_secret(entity.id, each.audience, own=fields, sightings=seen)
    root = folding.get_item(entity.merged_into or "")
    if isinstance(root, Entity):
        set_members(folding, root.id, root.members)


def _forget_secrets(folding: Folding, entity: Entity) -> tuple[SecretEntityPart, ...]:
    """Return the secret parts of an entity without its observations; only their readers notice."""
    blank = {"own": dict[str, Any](), "sightings": NEVER_SEEN}
    emptied = with_changes(
        entity, veils=tuple(with_changes(part, **blank) for part in entity.veils)
    )
    for part in entity.veils:
        emptied = with_changes(
            emptied, veils=add_secret_part(emptied, part.audience, folding.commit.position)
        )
    return emptied.veils


def disown_keys(folding: Folding, entry: log.KeysDisowned) -> None:
    """Remove keys from the entity, until a later observation gives them again."""

    def forget_keys(entity: Entity) -> Mapping[str, Any]:
        gone = set(entry.keys).intersection(entity.borne)
        folding.touched |= {identifier_key(entity.entity_type, text) for text in gone}
        return {"borne": tuple(text for text in entity.borne if text not in gone)}

    folding.develop_item(entry.entity_id, Entity, forget_keys)


def _add_to_secret(
    folding: Folding, observation: Observation, fields: Accumulator, seen: Sightings
) -> bool:
    """Add an observation to its audience's secret part; False: all readers may know it."""
    audience, entity = observation.audience, folding.get_item(observation.entity_id)
    if not folding.learn_secret(observation.entity_id, audience, own=fields, sightings=seen):
        return False
    if isinstance(entity, Entity) and entity.merged_into is not None:
        absorbed = {"absorbed": fields, "absorbed_sightings": seen}
        folding.learn_secret(entity.merged_into, audience, **absorbed)
    return True


def _registered_schema(entity: EntityDraft, observation: ObservationDraft) -> SchemaId | None:
    """Return the id of the registered schema that read the observation; None: built in or none."""
    version, built_in = observation.schema_version, TRUTH_TYPES.get(entity.entity_type)
    if version is None or (built_in is not None and built_in.version == version):
        return None
    return schema_id_of(entity.space, entity.entity_type, version)


def _key_reader_of(folding: Folding, entity: Entity, observation: Observation) -> KeyReader | None:
    """Return the key reader of the schema that read the observation; None: no schema did."""
    if observation.schema_version is None:
        return None
    schema_id = _registered_schema(entity, observation)
    name = entity.entity_type if schema_id is None else schema_id
    if name not in folding.readers:
        schema: log.StoredItem | EntitySchema | None = TRUTH_TYPES.get(entity.entity_type)
        if schema_id is not None:
            schema = folding.get_item(schema_id) or schema
        folding.readers[name] = KeyReader(schema) if isinstance(schema, EntitySchema) else None
    return folding.readers[name]


def apply_to_scene(
    folding: Folding,
    entry: log.SceneMoved | log.SceneStaged | log.SceneCompleted | log.SceneExtended,
) -> None:
    """Apply an entry to its scene."""
    now = folding.commit.recorded_at
    match entry:
        case log.SceneMoved(scene_id=scene_id, status=status):
            folding.change_item(scene_id, Scene, status=status, updated_at=now)
        case log.SceneStaged():
            folding.develop_item(entry.scene_id, Scene, partial(_change_cast, entry))
        case log.SceneCompleted(scene_id=scene_id, outcomes=outcomes, summary=summary):
            ending = {"status": SceneStatus.COMPLETED, "outcomes": outcomes, "summary": summary}
            folding.change_item(scene_id, Scene, **ending, updated_at=now, completed_at=now)
        case log.SceneExtended(scene_id=scene_id, outcomes=more):
            folding.develop_item(
                scene_id,
                Scene,
                lambda scene: {"outcomes": tuple(dict.fromkeys((*scene.outcomes, *more)))},
            )


def _change_cast(entry: log.SceneStaged, scene: Scene) -> Mapping[str, Any]:
    """Return the present participants and those who left."""
    present = dict.fromkeys((*scene.participants, *entry.joined))
    departed = dict.fromkeys((*scene.departed, *(i for i in entry.left if i in present)))
    return {
        "participants": tuple(i for i in present if i not in entry.left),
        "departed": tuple(i for i in departed if i in entry.left or i not in present),
    }


_NAMING: Final = (
    *("entity_id", "from_id", "to_id", "involved", "derives_from", "causes"),
    *("superseded_by", "replaced_by", "effect"),
)


def limit_audience(
    entries: Iterable[log.Entry], audience: Audience, known: Mapping[str, Audience] | None = None
) -> tuple[log.Entry, ...]:
    """Restrict the audiences of entries to `audience` and to the readers of the named items.

    `known` maps the named items to their audiences.
    """
    seen = known or {}
    if not audience and not any(seen.values()):
        return tuple(entries)
    return tuple(_limit_entry(each, audience, seen) for each in entries)


def list_named_ids(entries: Iterable[log.Entry], *, evidence: bool = True) -> Iterator[str]:
    """Return the ids of items that entries name, besides those that they are about."""
    for entry in entries:
        yield from _named_ids(
            entry.thing if isinstance(entry, log.Made) else entry, evidence=evidence
        )


def entry_audience(entry: log.Entry) -> Audience:
    """Return the audience of an entry, or of the item that it creates."""
    subject: Any = entry.thing if isinstance(entry, log.Made) else entry
    found: Audience = getattr(subject, "audience", EVERYBODY)
    return found


def _limit_entry(entry: log.Entry, audience: Audience, known: Mapping[str, Audience]) -> log.Entry:
    subject: Any = entry.thing if isinstance(entry, log.Made) else entry
    if not hasattr(subject, "audience"):
        return entry
    about = (known.get(one, EVERYBODY) for one in _named_ids(subject, evidence=True))
    narrow = narrowest((subject.audience, audience, *about))
    if narrow == subject.audience:
        return entry
    kept: Any = replace(subject, audience=narrow)
    return log.Made(thing=kept) if isinstance(entry, log.Made) else kept


def _named_ids(content: Any, *, evidence: bool) -> Iterator[str]:
    for name in _NAMING:
        value = getattr(content, name, None)
        if isinstance(value, str):
            yield value
        elif value is not None:
            yield from value
    if isinstance(content, ProposalDraft) and "audience" in content.original:
        evidence = False  # the proposer has set the audience, which need not read the evidence
    if evidence or isinstance(content, TurnDraft):
        scenes = (getattr(content, name, None) for name in ("scene_id", "turn_id"))
        yield from (one for one in scenes if one is not None)
    cited: Any = getattr(content, "evidence", ()) if evidence else ()
    yield from (one.ref for one in (cited if isinstance(cited, tuple) else (cited,)))
    if isinstance(content, SnippetDraft):
        yield content.source_id
    if isinstance(content, ProposalDraft):
        yield from ids_in(content.content)


def ids_in(content: Any) -> Iterator[str]:
    """Return the ids of items and proposals in a content."""
    match content:
        case str():
            named = content.removeprefix(PROPOSAL_PREFIX)
            yield from (named,) if is_uuid(named) else ()
        case Mapping():
            for each in content.values():
                yield from ids_in(each)
        case list() | tuple():
            for each in content:
                yield from ids_in(each)
        case _:
            return


def reveal_item(folding: Folding, entry: log.AudienceChanged) -> None:
    """Give the item its new audience."""
    secret, item = _secret_observation(folding, entry.thing_id), folding.get_item(entry.thing_id)
    if hasattr(item, "audience"):
        folding.change_item(entry.thing_id, type(item), audience=entry.audience)
    if secret is not None:
        _lift_secret(folding, secret)


def _secret_observation(folding: Folding, item_id: str) -> Observation | None:
    observation = folding.get_item(item_id)
    entity = (
        folding.get_item(observation.entity_id) if isinstance(observation, Observation) else None
    )
    if isinstance(observation, Observation) and isinstance(entity, Entity):
        return None if may_all_know(observation, entity) else observation
    return None


def _lift_secret(folding: Folding, before: Observation) -> None:
    """Add an observation to the entity that only its former audience knew."""
    now = folding.get_item(before.id)
    seen = sighting_of(before)

    def forget_observation(entity: Entity) -> Mapping[str, Any]:
        kept: list[SecretEntityPart] = []
        for part in entity.veils:
            if part.audience != before.audience:
                kept.append(part)
            elif (
                part.sightings.count > seen.count or part.absorbed_sightings.count or part.evidence
            ):
                fewer = with_changes(
                    part.sightings, count=max(0, part.sightings.count - seen.count)
                )
                kept.append(with_changes(part, sightings=fewer))
        return {"veils": tuple(kept)}

    folding.develop_item(before.entity_id, Entity, forget_observation)
    if isinstance(now, Observation):
        apply_observation(folding, now)
