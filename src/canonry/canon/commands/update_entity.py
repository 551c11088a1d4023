"""Update an entity: its name, description and properties, as one more observation of it.

What was said before is kept: each observation stands in the log with its evidence, and a former
name still finds the entity.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from canonry.canon.judging.making import Backing, make_observation
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.canon.session.involved import require_standing
from canonry.canon.session.lookup import require, require_evidence
from canonry.log.items.entities import Entity
from canonry.log.keys import thing_key
from canonry.log.schemas.narrative_fields import DESCRIPTION, NAME, PROPERTY_PREFIX
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.ids import NewId
from canonry.values.observations import Observation
from canonry.values.provenance import Authority, Evidence, may_end


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityUpdate:
    """What an entity is called and like from now on; None and what is not named stay."""

    name: str | None = None
    description: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)

    def fields(self) -> dict[str, Any]:
        """The fields that an observation of this says."""
        own = {NAME: self.name, DESCRIPTION: self.description}
        said = {name: value for name, value in own.items() if value is not None}
        return said | {PROPERTY_PREFIX + name: value for name, value in self.properties.items()}


async def update_entity(
    canon: Canon,
    caller: Caller,
    entity_id: str,
    update: EntityUpdate,
    *,
    authority: Authority,
    evidence: tuple[Evidence, ...],
) -> Entity:
    """Say how it is from now on; what stands so already is not written again.

    Raises:
        InvalidInput: `entity.empty-update`.
        NotFound: `entity.unknown` or `evidence.unknown`.
        Conflict: `entity.retconned`, `space.foreign`, or `entity.outranked`: a word of higher
            authority has established a field.
    """
    if not update.fields():
        message = "name what changes: name, description or properties"
        raise InvalidInput("entity.empty-update", message, path="")
    space = (await require(canon, caller, Entity, entity_id)).space

    async def prepare(new_id: NewId) -> Change:
        entity = await require(canon, caller, Entity, entity_id)
        require_standing(entity)
        reads = await require_evidence(canon, caller, space, evidence)
        reads |= {thing_key(entity_id), thing_key(entity.id)}
        fields = _changing(entity, update.fields())
        await _require_rank(canon, entity, fields, authority)
        if not fields:
            return Change(entries=(), reads=reads)
        backing = Backing(space=space, authority=authority, confidence=1.0, evidence=evidence)
        return Change(entries=(make_observation(new_id, backing, entity.id, fields),), reads=reads)

    await commit_change(canon, caller, space, prepare)
    return await require(canon, caller, Entity, entity_id)


def _changing(entity: Entity, fields: Mapping[str, Any]) -> dict[str, Any]:
    properties = {PROPERTY_PREFIX + name: value for name, value in entity.properties.items()}
    now = {NAME: entity.name, DESCRIPTION: entity.description, **properties}
    return {name: value for name, value in fields.items() if name not in now or now[name] != value}


async def _require_rank(
    canon: Canon, entity: Entity, fields: Mapping[str, Any], authority: Authority
) -> None:
    """Refuse to replace what a word of higher authority said."""
    credited = entity.provenance
    told = {name: credited[name] for name in fields if name in credited}
    seen = await canon.within(entity.space).things(told.values())
    for name, observation_id in told.items():
        said = seen.get(observation_id)
        if not isinstance(said, Observation):
            continue
        if not may_end(authority, said.authority):
            message = (
                f"{name} was established by the authority {said.authority}; "
                "let somebody of that authority change it"
            )
            raise Conflict("entity.outranked", message, field=name, conflicts=[said.id])
