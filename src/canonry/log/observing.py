"""Fold observations and scene entries, for the readers who may know of them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from canonry.log import entries as log
from canonry.log.folding import Folding, bearer_key, keep_members
from canonry.log.items.entities import NEVER_SEEN, Entity, EntityDraft, EntityVeil, Sightings, alone
from canonry.log.items.proposals import ProposalDraft
from canonry.log.items.scenes import Scene, SceneStatus, TurnDraft
from canonry.log.items.sources import SnippetDraft
from canonry.log.items.veils import tells_of, veiled
from canonry.log.schemas.identity_keys import KeyReader, borne_by
from canonry.log.schemas.narrative import policy_of
from canonry.log.schemas.schemas import EntitySchema
from canonry.log.schemas.truth_types import TRUTH_TYPES
from canonry.log.schemas.typed_records import naming_of, schema_id_of
from canonry.values.audience import EVERYBODY, Audience, narrowest
from canonry.values.fields import PROPOSAL_PREFIX, revised
from canonry.values.ids import SchemaId, is_uuid
from canonry.values.merge import PROPERTY, accumulate, join
from canonry.values.observations import Accumulator, Observation, ObservationDraft


def seen_also(entity: Entity, observations: Iterable[Observation]) -> Entity:
    """Return the entity with these observations of its own added."""
    seen = tuple(observations)
    own, sightings = entity.own, entity.sightings
    for each in _telling(seen):
        own = join(own, accumulate(each, policy_of), policy_of)
    for each in seen:
        sightings = sightings + sighting_of(each)
    return replace(entity, own=own, sightings=sightings)


def sighting_of(observation: Observation) -> Sightings:
    """Return the count and dates of one observation."""
    when = observation.seen_at
    return Sightings(count=1, first=when, last=when)


def _telling(observations: Iterable[Observation]) -> Iterator[Observation]:
    """Return the observations with only those fields in which they can win.

    Under every time-based policy the latest of equally weighted ones wins, so that few fields have
    to be joined.
    """
    told: set[tuple[str, int, int, float]] = set()
    for each in sorted(observations, key=lambda o: (o.seen_at, o.position, o.id), reverse=True):
        weight = (int(each.correction), each.priority, each.specificity)
        fields: dict[str, Any] = {}
        for name, value in each.fields.items():
            whole = not name.startswith(PROPERTY) or isinstance(value, list | tuple)
            if whole or (name, *weight) not in told:
                fields[name] = value
            if not whole:
                told.add((name, *weight))
        if fields or each.fragments:
            yield each if len(fields) == len(each.fields) else replace(each, fields=fields)


# Observing: how an observation changes its entity and the survivor of that entity.
#
# An observation stays with the entity that it was addressed to, through merges and unmerges.

BESIDE_ROUNDS: Final = 2
"""The most rounds in which `beside` can name further items to load."""


def beside(entries: Iterable[log.Entry], loaded: Mapping[str, log.Thing]) -> frozenset[str]:
    """Return the ids that folding observations reads besides those that the entries name.

    They depend on `loaded` items: the survivor of a merged entity, and the registered schema of an
    observation. Some become known only in a second round.
    """
    wanted: set[str] = set()
    made: dict[str, EntityDraft] = {}
    for entry in entries:
        if isinstance(entry, log.AudienceChanged):
            wanted |= _told_of(loaded.get(entry.thing_id), loaded)
        if isinstance(entry, log.EntityRetold):
            wanted |= _read_under(loaded.get(entry.entity_id), map(loaded.get, entry.standing))
        if not isinstance(entry, log.Made):
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


def _told_of(seen: log.Thing | None, loaded: Mapping[str, log.Thing]) -> set[str]:
    """Return the observed entity and its survivor."""
    if not isinstance(seen, Observation):
        return set()
    entity = loaded.get(seen.entity_id)
    root = entity.merged_into if isinstance(entity, Entity) else None
    return {seen.entity_id} if root is None else {seen.entity_id, root}


def _read_under(entity: log.Thing | None, said: Iterable[log.Thing | None]) -> set[str]:
    """Return the registered schemas that read an entity's observations."""
    if not isinstance(entity, Entity):
        return set()
    found = (_registered(entity, each) for each in said if isinstance(each, Observation))
    return {each for each in found if each is not None}


def observe(folding: Folding, observation: Observation) -> None:
    """Add an observation to its entity, and to the survivor if the entity was merged."""
    folding.put(observation)
    tell(folding, observation)


def tell(folding: Folding, observation: Observation) -> None:
    """Add an observation that is already in the log to its entity."""
    fields, seen = accumulate(observation, policy_of), sighting_of(observation)
    if _known_to_some(folding, observation, fields, seen):
        return
    entity = folding.get(observation.entity_id)

    def absorb(root: Entity) -> Mapping[str, Any]:
        return {
            "absorbed": join(root.absorbed, fields, policy_of),
            "absorbed_sightings": root.absorbed_sightings + seen,
            "updated_at": folding.commit.recorded_at,
        }

    def learn(entity: Entity) -> Mapping[str, Any]:
        return _learnt(folding, entity, observation, fields)

    folding.develop(observation.entity_id, Entity, learn)
    if isinstance(entity, Entity) and entity.merged_into is not None:
        folding.develop(entity.merged_into, Entity, absorb)


def _learnt(
    folding: Folding, entity: Entity, observation: Observation, fields: Accumulator
) -> dict[str, Any]:
    """Return the changes that an observation with these `fields` makes to its entity."""
    keys = _read_by(folding, entity, observation)
    changes: dict[str, Any] = {
        "own": join(entity.own, fields, policy_of),
        "sightings": entity.sightings + sighting_of(observation),
        "updated_at": folding.commit.recorded_at,
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


def retell(folding: Folding, entry: log.EntityRetold) -> None:
    """Rebuild the entity and its survivor from the standing observations, for all their readers.

    A disowned key stays disowned even if a standing observation has it.
    """
    entity = folding.get(entry.entity_id)
    if not isinstance(entity, Entity):
        return
    said = [each for each in map(folding.get, entry.standing) if isinstance(each, Observation)]
    told = revised(entity, own={}, sightings=NEVER_SEEN, borne=())
    for each in (one for one in said if tells_of(one, entity)):
        told = revised(told, **_learnt(folding, told, each, accumulate(each, policy_of)))
    borne = tuple(text for text in told.borne if text in entity.borne)
    folding.touched |= {bearer_key(entity.entity_type, text) for text in entity.borne}
    if not entity.veils or (told.own, told.sightings) != (entity.own, entity.sightings):
        now = folding.commit.recorded_at
        changes = {"own": told.own, "sightings": told.sightings, "borne": borne}
        folding.change(entity.id, Entity, **changes, updated_at=now)
    if entity.veils:
        folding.develop(entity.id, Entity, lambda now: {"veils": _forgotten(folding, now)})
    for each in (one for one in said if not tells_of(one, entity)):
        fields, seen = accumulate(each, policy_of), sighting_of(each)
        folding.learn_more(entity.id, each.audience, own=fields, sightings=seen)
    root = folding.get(entity.merged_into or "")
    if isinstance(root, Entity):
        keep_members(folding, root.id, root.members)


def _forgotten(folding: Folding, entity: Entity) -> tuple[EntityVeil, ...]:
    """Return the secret parts of an entity without its observations; only their readers notice."""
    blank = {"own": dict[str, Any](), "sightings": NEVER_SEEN}
    told = revised(entity, veils=tuple(revised(veil, **blank) for veil in entity.veils))
    for veil in entity.veils:
        told = revised(told, veils=veiled(told, veil.audience, folding.commit.position))
    return told.veils


def disown(folding: Folding, entry: log.KeysDisowned) -> None:
    """Remove keys from the entity, until a later observation gives them again."""

    def forget(entity: Entity) -> Mapping[str, Any]:
        gone = set(entry.keys).intersection(entity.borne)
        folding.touched |= {bearer_key(entity.entity_type, text) for text in gone}
        return {"borne": tuple(text for text in entity.borne if text not in gone)}

    folding.develop(entry.entity_id, Entity, forget)


def _known_to_some(
    folding: Folding, observation: Observation, fields: Accumulator, seen: Sightings
) -> bool:
    """Add an observation to its audience's secret part; False: all readers may know it."""
    audience, entity = observation.audience, folding.get(observation.entity_id)
    if not folding.learn_more(observation.entity_id, audience, own=fields, sightings=seen):
        return False
    if isinstance(entity, Entity) and entity.merged_into is not None:
        absorbed = {"absorbed": fields, "absorbed_sightings": seen}
        folding.learn_more(entity.merged_into, audience, **absorbed)
    return True


def _registered(entity: EntityDraft, observation: ObservationDraft) -> SchemaId | None:
    """Return the id of the registered schema that read the observation; None: built in or none."""
    version, built_in = observation.schema_version, TRUTH_TYPES.get(entity.entity_type)
    if version is None or (built_in is not None and built_in.version == version):
        return None
    return schema_id_of(entity.space, entity.entity_type, version)


def _read_by(folding: Folding, entity: Entity, observation: Observation) -> KeyReader | None:
    """Return the key reader of the schema that read the observation; None: no schema did."""
    if observation.schema_version is None:
        return None
    schema_id = _registered(entity, observation)
    name = entity.entity_type if schema_id is None else schema_id
    if name not in folding.readers:
        schema: log.Thing | EntitySchema | None = TRUTH_TYPES.get(entity.entity_type)
        if schema_id is not None:
            schema = folding.get(schema_id) or schema
        folding.readers[name] = KeyReader(schema) if isinstance(schema, EntitySchema) else None
    return folding.readers[name]


def play(
    folding: Folding,
    entry: log.SceneMoved | log.SceneStaged | log.SceneCompleted | log.SceneExtended,
) -> None:
    """Apply an entry to its scene."""
    now = folding.commit.recorded_at
    match entry:
        case log.SceneMoved(scene_id=scene_id, status=status):
            folding.change(scene_id, Scene, status=status, updated_at=now)
        case log.SceneStaged():
            folding.develop(entry.scene_id, Scene, partial(_cast, entry))
        case log.SceneCompleted(scene_id=scene_id, outcomes=outcomes, summary=summary):
            told = {"status": SceneStatus.COMPLETED, "outcomes": outcomes, "summary": summary}
            folding.change(scene_id, Scene, **told, updated_at=now, completed_at=now)
        case log.SceneExtended(scene_id=scene_id, outcomes=more):
            folding.develop(
                scene_id,
                Scene,
                lambda scene: {"outcomes": tuple(dict.fromkeys((*scene.outcomes, *more)))},
            )


def _cast(entry: log.SceneStaged, scene: Scene) -> Mapping[str, Any]:
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
_EVIDENCE: Final = "evidence"
_AUDIENCE: Final = "audience"
_PLAYED: Final = ("scene_id", "turn_id")


def under(
    entries: Iterable[log.Entry], audience: Audience, known: Mapping[str, Audience] | None = None
) -> tuple[log.Entry, ...]:
    """Restrict the audiences of entries to `audience` and to the readers of the named items.

    `known` maps the named items to their audiences.
    """
    seen = known or {}
    if not audience and not any(seen.values()):
        return tuple(entries)
    return tuple(_under(each, audience, seen) for each in entries)


def names_in(entries: Iterable[log.Entry], *, evidence: bool = True) -> Iterator[str]:
    """Return the ids of items that entries name, besides those that they are about."""
    for entry in entries:
        yield from _names(entry.thing if isinstance(entry, log.Made) else entry, evidence=evidence)


def entry_audience(entry: log.Entry) -> Audience:
    """Return the audience of an entry, or of the item that it creates."""
    said: Any = entry.thing if isinstance(entry, log.Made) else entry
    found: Audience = getattr(said, "audience", EVERYBODY)
    return found


def _under(entry: log.Entry, audience: Audience, known: Mapping[str, Audience]) -> log.Entry:
    said: Any = entry.thing if isinstance(entry, log.Made) else entry
    if not hasattr(said, "audience"):
        return entry
    about = (known.get(one, EVERYBODY) for one in _names(said, evidence=True))
    narrow = narrowest((said.audience, audience, *about))
    if narrow == said.audience:
        return entry
    kept: Any = replace(said, audience=narrow)
    return log.Made(thing=kept) if isinstance(entry, log.Made) else kept


def _names(said: Any, *, evidence: bool) -> Iterator[str]:
    for name in _NAMING:
        value = getattr(said, name, None)
        if isinstance(value, str):
            yield value
        elif value is not None:
            yield from value
    if isinstance(said, ProposalDraft) and _AUDIENCE in said.original:
        evidence = False  # the proposer has set the audience, which need not read the evidence
    if evidence or isinstance(said, TurnDraft):
        places = (getattr(said, name, None) for name in _PLAYED)
        yield from (one for one in places if one is not None)
    cited: Any = getattr(said, _EVIDENCE, ()) if evidence else ()
    yield from (one.ref for one in (cited if isinstance(cited, tuple) else (cited,)))
    if isinstance(said, SnippetDraft):
        yield said.source_id
    if isinstance(said, ProposalDraft):
        yield from ids_in(said.content)


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


def reveal(folding: Folding, entry: log.AudienceChanged) -> None:
    """Give the item its new audience."""
    veiled, thing = _behind_a_veil(folding, entry.thing_id), folding.get(entry.thing_id)
    if hasattr(thing, "audience"):
        folding.change(entry.thing_id, type(thing), audience=entry.audience)
    if veiled is not None:
        _lift(folding, veiled)


def _behind_a_veil(folding: Folding, thing_id: str) -> Observation | None:
    told = folding.get(thing_id)
    entity = folding.get(told.entity_id) if isinstance(told, Observation) else None
    if isinstance(told, Observation) and isinstance(entity, Entity):
        return None if tells_of(told, entity) else told
    return None


def _lift(folding: Folding, before: Observation) -> None:
    """Add an observation to the entity that only its former audience knew."""
    now = folding.get(before.id)
    seen = sighting_of(before)

    def forgotten(entity: Entity) -> Mapping[str, Any]:
        return {"veils": tuple(_less(entity.veils, before.audience, seen))}

    folding.develop(before.entity_id, Entity, forgotten)
    if isinstance(now, Observation):
        tell(folding, now)


def _less(veils: tuple[EntityVeil, ...], audience: Audience, seen: Sightings) -> list[EntityVeil]:
    """Return the secret parts without one that has nothing left to hide; counts stay correct."""
    kept: list[EntityVeil] = []
    for veil in veils:
        if veil.audience != audience:
            kept.append(veil)
        elif veil.sightings.count > seen.count or veil.absorbed_sightings.count or veil.evidence:
            fewer = revised(veil.sightings, count=max(0, veil.sightings.count - seen.count))
            kept.append(revised(veil, sightings=fewer))
    return kept
