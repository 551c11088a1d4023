"""Observing: what an observation tells its entity, and whoever answers for that entity today.

An observation stays with the entity that it was addressed to, whatever merges come and go.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from canonry.domain.ids import SchemaId
from canonry.domain.log.entries import Entry, Made, Thing
from canonry.domain.log.folding import Folding
from canonry.domain.log.keys import bearer_key
from canonry.domain.log.sighting import sighting_of
from canonry.domain.merge import accumulate, join
from canonry.domain.observations import Observation, ObservationDraft
from canonry.domain.things.entities import Entity, EntityDraft, alone
from canonry.domain.truth.derived_schemas import schema_id_of
from canonry.domain.truth.identifiers import borne_by
from canonry.domain.truth.identity_keys import KeyReader
from canonry.domain.truth.typed_records import naming_of
from canonry.domain.vocabularies.narrative_fields import policy_of
from canonry.domain.vocabularies.schemas import EntitySchema
from canonry.domain.vocabularies.truth_types import TRUTH_TYPES


def beside(entries: Iterable[Entry], loaded: Mapping[str, Thing]) -> frozenset[str]:
    """What folding observations looks at beside the things that the entries name.

    It is known once those are `loaded`: who answers for a merged entity, and by which registered
    schema an observation was read.
    """
    wanted: set[str] = set()
    made: dict[str, EntityDraft] = {}
    for entry in entries:
        if not isinstance(entry, Made):
            continue
        if isinstance(entry.thing, EntityDraft):
            made[entry.thing.id] = entry.thing
        elif isinstance(entry.thing, ObservationDraft):
            about = entry.thing.entity_id
            entity = made.get(about) or loaded.get(about)
            if isinstance(entity, EntityDraft):
                root = entity.merged_into if isinstance(entity, Entity) else None
                schema_id = _registered(entity, entry.thing)
                wanted |= {each for each in (root, schema_id) if each is not None}
    return frozenset(wanted)


def observe(folding: Folding, observation: Observation) -> None:
    """Let the entity know what was observed of it, and its root if it was merged away."""
    folding.put(observation)
    entity = folding.get(observation.entity_id)
    keys = _read_by(folding, entity, observation) if isinstance(entity, Entity) else None
    fields, seen = accumulate(observation, policy_of), sighting_of(observation)
    now = folding.commit.recorded_at

    def learn(entity: Entity) -> Mapping[str, Any]:
        changes: dict[str, Any] = {
            "own": join(entity.own, fields, policy_of),
            "sightings": entity.sightings + seen,
            "updated_at": now,
        }
        standing = alone(entity).properties if observation.correction else {}
        borne = borne_by(entity.entity_type, observation, keys, standing)
        borne = borne.difference(entity.borne)
        if borne:
            changes["borne"] = tuple(sorted(borne.union(entity.borne)))
            folding.touched |= {bearer_key(entity.entity_type, text) for text in borne}
        if keys is not None and entity.naming is None:
            changes["naming"] = naming_of(keys.schema)
        return changes

    def absorb(root: Entity) -> Mapping[str, Any]:
        return {
            "absorbed": join(root.absorbed, fields, policy_of),
            "absorbed_sightings": root.absorbed_sightings + seen,
            "updated_at": now,
        }

    folding.develop(observation.entity_id, Entity, learn)
    if isinstance(entity, Entity) and entity.merged_into is not None:
        folding.develop(entity.merged_into, Entity, absorb)


def _registered(entity: EntityDraft, observation: ObservationDraft) -> SchemaId | None:
    """The id of the schema that read the observation, unless it came with Canonry."""
    version, built_in = observation.schema_version, TRUTH_TYPES.get(entity.entity_type)
    if version is None or (built_in is not None and built_in.version == version):
        return None
    return schema_id_of(entity.space, entity.entity_type, version)


def _read_by(folding: Folding, entity: Entity, observation: Observation) -> KeyReader | None:
    """The keys by the schema that read the observation; None where no schema did."""
    if observation.schema_version is None:
        return None
    schema_id = _registered(entity, observation)
    name = entity.entity_type if schema_id is None else schema_id
    if name not in folding.readers:
        schema: Thing | EntitySchema | None = TRUTH_TYPES.get(entity.entity_type)
        if schema_id is not None:
            schema = folding.get(schema_id) or schema
        folding.readers[name] = KeyReader(schema) if isinstance(schema, EntitySchema) else None
    return folding.readers[name]
