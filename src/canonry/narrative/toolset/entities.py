"""Tools for universes, axioms and entities."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from canonry.canon.commands.entities import (
    create_entity,
    merge_entities,
    unmerge_entities,
    update_entity_state,
)
from canonry.canon.commands.facts import create_axiom, link_evidence
from canonry.canon.commands.universes import create_universe, declare_calendar
from canonry.canon.queries.listings import (
    EntityInFull,
    get_entity,
    query_axioms,
    query_entities,
    query_universes,
)
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Receipt
from canonry.canon.session.lookup import require_universe
from canonry.gateway.replies import Field, array, optional
from canonry.gateway.tool import Arguments, Cached, Reply
from canonry.log.folding import facts_key, listing_key, relations_key, thing_key
from canonry.log.items.entities import EntityDraft
from canonry.log.items.facts import AxiomDraft
from canonry.narrative.toolset.contract import make_tool
from canonry.narrative.toolset.shapes import (
    AXIOM,
    ENTITY,
    SPACE,
    TABLE,
    Created,
    Listing,
    RowShape,
    canon_created,
)
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
_ENTITY_ROW: Final = RowShape(
    ENTITY,
    *("entity_id", "entity_class", "entity_type", "name", "description", "state_tags"),
    "canon_level",
    description=TABLE.kinds["gist"],
)
_AXIOM_ROW: Final = RowShape(AXIOM, "axiom_id", "statement", "domain", "constraint", "authority")


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
        Created("created_universe", SpaceDraft),
    ),
    make_tool("neo4j_declare_calendar", declare_calendar, "declared"),
    make_tool(
        "neo4j_create_multiverse",
        partial(_create_space, kind=SpaceKind.MULTIVERSE),
        Created("created_multiverse", SpaceDraft),
    ),
    make_tool("neo4j_get_universe", require_universe, SPACE),
    make_tool("neo4j_query_universes", query_universes, "universes"),
    make_tool("neo4j_create_entity", create_entity, canon_created("entity_id", EntityDraft)),
    make_tool(
        "neo4j_get_entity",
        _get_entity,
        Field(_ENTITY_IN_FULL.schema),
        cached=Cached(seconds=lambda _, __: 300.0, depends_on=_rests_on),
    ),
    make_tool("neo4j_update_entity_state", update_entity_state, "entity_state"),
    make_tool(
        "neo4j_query_entities",
        query_entities,
        Listing("entities", _ENTITY_ROW),
        cached=Cached(
            seconds=lambda arguments, _: 60.0 if "universe_id" in arguments else 0.0,
            depends_on=lambda arguments, _: frozenset(
                (listing_key("entity", str(arguments["universe_id"]).lower()),)
            ),
        ),
    ),
    make_tool("neo4j_merge_entities", merge_entities, "merged"),
    make_tool("neo4j_unmerge_entities", _unmerge_entities, Field(_UNMERGED.schema)),
    make_tool("neo4j_create_axiom", create_axiom, canon_created("axiom_id", AxiomDraft)),
    make_tool("neo4j_query_axioms", query_axioms, Listing("axioms", _AXIOM_ROW)),
    make_tool("neo4j_link_evidence", link_evidence, "linked"),
)
