"""Create an entity directly: the keeper's word, with evidence; namesakes are allowed and told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from canonry.canon.judging.laws import laws_against_state
from canonry.canon.judging.making import Backing, make_entity
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change
from canonry.canon.session.extend_slice import judged_by
from canonry.canon.session.involved import require_standing
from canonry.canon.session.lawful import require_compatible, require_lawful
from canonry.canon.session.lookup import (
    require,
    require_evidence,
    require_same_space,
    require_universe,
)
from canonry.log.items.entities import Entity, EntityClass, normalised_name
from canonry.log.keys import thing_key
from canonry.log.schemas.identifiers import look_mark
from canonry.readmodels.ports.state import IdentifierQuery
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.ids import EntityId, NewId


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntity:
    """What is known of an entity when it is declared."""

    entity_class: EntityClass
    entity_type: str
    name: str
    description: str
    properties: Mapping[str, Any]
    state_tags: tuple[str, ...] = ()
    derives_from: EntityId | None = None


async def create_entity(canon: Canon, caller: Caller, backing: Backing, new: NewEntity) -> Receipt:
    """Declare the entity, with its first observation.

    Raises:
        InvalidInput: `entity.archetype-has-no-state`, `entity.archetype-derives` or
            `state.opposed`.
        NotFound: `universe.unknown`, `entity.unknown` (the archetype) or `evidence.unknown`.
        Conflict: `space.foreign`, `entity.archetype-mismatch`, `entity.retconned` or
            `axiom.forbids`.
    """
    _require_instance(new)
    require_compatible(new.state_tags, canon.policy, path="/state_tags")
    await require_universe(canon, caller, backing.space)

    async def prepare(new_id: NewId) -> Change:
        reads = await require_evidence(canon, caller, backing.space, backing.evidence)
        derives_from = None
        if new.derives_from is not None:
            archetype = await _require_archetype(canon, caller, backing, new, new.derives_from)
            derives_from = archetype.id
            reads |= {thing_key(new.derives_from), thing_key(archetype.id)}
        broken, rested_on = await judged_by(
            canon,
            backing.space,
            lambda view: list(laws_against_state(view, new.entity_type, new.state_tags)),
        )
        require_lawful(broken)
        reads |= rested_on
        # A namesake only earns a warning, so the verdict does not rest on its name's key.
        namesakes = await canon.state.entities_named(backing.space, new.entity_type, new.name)
        twins = await _look_alikes(canon, backing, new)
        _, entries = make_entity(
            new_id,
            backing,
            entity_class=new.entity_class,
            entity_type=new.entity_type,
            name=new.name,
            description=new.description,
            properties=new.properties,
            state_tags=new.state_tags,
            derives_from=derives_from,
        )
        told = _told(namesakes, twins)
        return Change(entries=entries, reads=reads, warnings=told, audience=backing.audience)

    return await commit_change(canon, caller, backing.space, prepare)


def _require_instance(new: NewEntity) -> None:
    if new.entity_class is EntityClass.INSTANCE:
        return
    if new.state_tags:
        message = "an archetype has no state; leave state_tags out, or create an instance"
        raise InvalidInput("entity.archetype-has-no-state", message, path="/state_tags")
    if new.derives_from is not None:
        message = "an archetype derives from nothing; leave derives_from out"
        raise InvalidInput("entity.archetype-derives", message, path="/derives_from")


async def _require_archetype(
    canon: Canon, caller: Caller, backing: Backing, new: NewEntity, archetype_id: EntityId
) -> Entity:
    archetype = await require(canon, caller, Entity, archetype_id)
    require_same_space(backing.space, [archetype], path="/derives_from")
    require_standing(archetype)
    fits = (EntityClass.ARCHETYPE, new.entity_type)
    if (archetype.entity_class, archetype.entity_type) != fits:
        message = f"an instance derives from an archetype of its own type, {new.entity_type}"
        raise Conflict(
            "entity.archetype-mismatch", message, path="/derives_from", conflicts=[archetype.id]
        )
    return archetype


async def _look_alikes(canon: Canon, backing: Backing, new: NewEntity) -> Sequence[Entity]:
    """Those whose name is another one that the eye takes for this, or that lacks its accents."""
    look = look_mark(new.entity_type, new.name)
    query = IdentifierQuery(
        spaces=frozenset((backing.space,)), keys=(look,), entity_type=new.entity_type
    )
    found = (await canon.state.entities_identified(query)).get(look)
    name = normalised_name(new.name)
    return [] if found is None else [e for e in found.items if normalised_name(e.name) != name]


def _told(namesakes: Sequence[Entity], twins: Sequence[Entity]) -> tuple[str, ...]:
    told = []
    if namesakes:
        ids = ", ".join(entity.id for entity in namesakes)
        told.append(f"entities of this type and name exist already: {ids}")
    if twins:
        ids = ", ".join(entity.id for entity in twins)
        told.append(f"names that look the same but for letters or accents exist already: {ids}")
    return tuple(told)
