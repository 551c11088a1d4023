"""List unclear: what sources said that can be read in several ways, by source and field."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from canonry.canon.session.account import Account, account_of
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.every_item import every_match
from canonry.log.items.entities import Entity
from canonry.log.schemas.truth_types import type_named
from canonry.readmodels.ports.state import EntityQuery
from canonry.records.domain.shown import shown_by
from canonry.records.notation.reviewing import Unclear, unclear_in
from canonry.records.usecases.schemas_in_force import schema_of, schemas_for
from canonry.values.ids import SourceId
from canonry.values.observations import Observation

LOOKED_AT_MAX: Final = 10_000
"""So many entities are looked through for what is unclear."""

EXAMPLES_MAX: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """A value of an entity that is open, and the observation that has it."""

    entity: Entity
    unclear: Unclear
    observation: Observation
    schema_version: str


@dataclass(slots=True, kw_only=True)
class OpenField:
    """The open values of one field that one source gave, with the first of them."""

    source_id: SourceId | None
    entity_type: str
    name: str
    reason: str
    count: int = 0
    examples: list[Open] = field(default_factory=list)


async def list_unclear(
    canon: Canon, caller: Caller, entity_type: str | None = None
) -> tuple[Sequence[OpenField], bool]:
    """What waits for a word, by source and field; and whether there were more entities."""
    account = account_of(caller)
    named = None if entity_type is None else type_named(entity_type)
    query = EntityQuery(spaces=frozenset((account.space,)), entity_type=named)
    entities: list[Entity] = []
    async for each in every_match(canon.state.entities, query):
        if len(entities) == LOOKED_AT_MAX:
            return _grouped(await open_in(canon, account, entities)), True
        entities.append(each)
    return _grouped(await open_in(canon, account, entities)), False


def _grouped(found: Sequence[Open]) -> Sequence[OpenField]:
    groups: dict[tuple[str, str, str], OpenField] = {}
    for each in found:
        source, kind = each.observation.source_id, each.entity.entity_type
        name = each.unclear.spec.name
        group = groups.setdefault(
            (str(source), kind, name),
            OpenField(
                source_id=source,
                entity_type=kind,
                name=name,
                reason=each.unclear.fragment.reason,
            ),
        )
        group.count += 1
        if len(group.examples) < EXAMPLES_MAX:
            group.examples.append(each)
    return [groups[key] for key in sorted(groups)]


async def open_in(canon: Canon, account: Account, entities: Sequence[Entity]) -> list[Open]:
    """The open values of entities, each with the observation that has it."""
    schemas = await schemas_for(canon, account, entities)
    waiting: list[tuple[Entity, Unclear, str]] = []
    for entity in entities:
        schema = schema_of(schemas, account, entity)
        if schema is not None:
            shown = shown_by(entity, schema)
            if shown.fragments:
                unclear = unclear_in(shown, schema)
                waiting += [(entity, each, schema.version) for each in unclear]
    ids = {each.fragment.observation for _, each, _ in waiting}
    seen = await canon.within(account.space).things(ids) if ids else {}
    return [
        Open(entity=entity, unclear=each, observation=observation, schema_version=version)
        for entity, each, version in waiting
        if isinstance(observation := seen.get(each.fragment.observation), Observation)
    ]
