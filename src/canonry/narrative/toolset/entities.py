"""Tools for universes and entities."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from canonry.canon.commands.entities import unmerge_entities
from canonry.canon.commands.universes import create_universe
from canonry.canon.queries.listings import EntityInFull, get_entity
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Receipt
from canonry.gateway.replies import Field, array, optional
from canonry.gateway.tool import Arguments, Cached, Reply
from canonry.log.folding import facts_key, listing_key, relations_key, thing_key
from canonry.narrative.toolset.contract import make_tool
from canonry.narrative.toolset.shapes import TABLE, Created
from canonry.values.ids import SpaceDraft, SpaceKind

_RELATED: Final = TABLE.shape("related")
"""A relation with the entity at its other end."""


def _related(found: EntityInFull) -> list[dict[str, Any]] | None:
    if found.relations is None:
        return None
    others = found.others or {}
    return [
        _RELATED(relation, entity_id=others[relation.id].id, name=others[relation.id].name)
        for relation in found.relations
        if relation.id in others
    ]


_ENTITY_IN_FULL: Final = TABLE.shape(
    "entity_in_full",
    relationships=optional(array(_RELATED)).made(_related),
    relationship_total=lambda found: None if found.relations is None else found.relation_total,
    state_history_truncated=lambda found: (
        None if found.history is None else found.history_truncated
    ),
)
"""The entity, the source of each field, and the requested extras."""


def _rests_on(arguments: Arguments, reply: Reply) -> frozenset[str]:
    asked = str(arguments["entity_id"]).lower()
    return frozenset(_keys({asked, reply["entity_id"], *reply["merged_entity_ids"]}, reply))


def _keys(family: set[str], reply: Reply) -> Iterator[str]:
    yield from map(thing_key, family)
    if "relationships" in reply:
        yield from map(relations_key, family)
        for relation in reply["relationships"]:
            ends = (relation["entity_id"], relation["from_entity_id"], relation["to_entity_id"])
            yield from map(thing_key, ends)
    if "state_history" in reply:
        yield from map(facts_key, family)


async def _get_entity(canon: Canon, caller: Caller, *, entity_id: str, **parts: bool) -> Reply:
    found = await get_entity(canon, caller, entity_id, **parts)
    requested = None if found.entity.id == entity_id else entity_id
    return _ENTITY_IN_FULL(found, requested_entity_id=requested)


async def _create_space(
    canon: Canon,
    caller: Caller,
    *,
    kind: SpaceKind,
    name: str,
    description: str | None,
    parent: str | None = None,
    **properties: Any,
) -> Receipt[Any]:
    return await create_universe(
        canon,
        caller,
        kind=kind,
        name=name,
        description=description or "",
        properties={each: value for each, value in properties.items() if value},
        parent=parent,
    )


_UNMERGED: Final = TABLE.shape("unmerged")


async def _unmerge_entities(
    canon: Canon, caller: Caller, *, separated_id: str, reason: str
) -> Reply:
    kept = await unmerge_entities(canon, caller, separated_id, reason=reason)
    return _UNMERGED(kept, separated_entity_id=separated_id)


TOOLS: Final = (
    make_tool(
        "neo4j_create_universe",
        partial(_create_space, kind=SpaceKind.UNIVERSE),
        Created(TABLE.shape("created_universe"), SpaceDraft),
    ),
    make_tool(
        "neo4j_create_multiverse",
        partial(_create_space, kind=SpaceKind.MULTIVERSE),
        Created(TABLE.shape("created_multiverse"), SpaceDraft),
    ),
    make_tool(
        "neo4j_get_entity",
        _get_entity,
        Field(_ENTITY_IN_FULL.schema),
        cached=Cached(seconds=lambda _, __: 300.0, depends_on=_rests_on),
    ),
    make_tool(
        "neo4j_query_entities",
        cached=Cached(
            seconds=lambda arguments, _: 60.0 if "universe_id" in arguments else 0.0,
            depends_on=lambda arguments, _: frozenset(
                (listing_key("entity", str(arguments["universe_id"]).lower()),)
            ),
        ),
    ),
    make_tool("neo4j_unmerge_entities", _unmerge_entities, Field(_UNMERGED.schema)),
)
