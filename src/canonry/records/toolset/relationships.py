"""Relationship tools: edges between entities, what they lead to, and what lies around."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.canon.session.account import require_readable
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.traversal import traverse_related
from canonry.gateway.shapes import COUNT, INSTANT, OBJECT, Shape
from canonry.gateway.tool import Arguments, Reply, Run
from canonry.log.items.entities import Entity
from canonry.log.schemas.schemas import TruthRelation
from canonry.records.toolset.entities import fields_of, with_snapshots
from canonry.records.toolset.shapes import (
    EDGE,
    ENTITY,
    RELATION,
    SOURCE,
    Json,
    entity_of,
    optional_text,
    page_of,
    present_event,
    present_observation,
    source_of,
    text_of,
)
from canonry.records.usecases.records import survivors_of
from canonry.records.usecases.relationships import (
    Neighbourhood,
    NewRelationship,
    RelationshipQuery,
    list_relationships,
    neighbourhood_of_entity,
    neighbourhood_of_source,
    read_relationship,
    relate_entities,
)
from canonry.values.errors import InvalidInput

_TYPE_MAX: Final = 100
_SNAPSHOT: Final = Shape(
    **EDGE.fields,
    snapshot=OBJECT.of("properties"),
    provenance=OBJECT.of(
        lambda edge: {name: edge.origins.get(name, edge.id) for name in edge.properties}
    ),
    observation_count=COUNT.of("told"),
    last_observation_at=INSTANT.of(lambda edge: edge.told_at or edge.created_at),
)


async def _create(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    new = NewRelationship(
        rel_type=text_of(arguments, "relationship_type"),
        from_id=entity_of(arguments, "source_entity_id"),
        to_id=entity_of(arguments, "target_entity_id"),
        metadata=arguments.get("metadata") or {},
    )
    stands = await relate_entities(canon, caller, new)
    return RELATION(stands.relation, existing=stands.existing)


async def _list(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    page = page_of(arguments)
    query = RelationshipQuery(
        entity_id=entity_of(arguments),
        direction=arguments["direction"],
        rel_type=optional_text(arguments, "relationship_type"),
        **page,
    )
    edges, total = await list_relationships(canon, caller, query)
    return {"relationships": [RELATION(each) for each in edges], "total": total, **page}


async def _get(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    edge = await read_relationship(
        canon,
        caller,
        text_of(arguments, "relationship_type"),
        entity_of(arguments, "source_entity_id"),
        entity_of(arguments, "target_entity_id"),
    )
    return _SNAPSHOT(edge)


def _types(arguments: Arguments) -> tuple[str, ...]:
    wanted = tuple(arguments.get("relationship_types") or ())
    unknown = [each for each in wanted if len(each) > _TYPE_MAX or not each]
    if unknown:
        message = f"relationship types are such as {', '.join(TruthRelation)}"
        raise InvalidInput("relationship.type-unknown", message, path="/relationship_types")
    return wanted


async def _related(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    (start,) = await require_readable(canon, caller, Entity, (entity_of(arguments),))
    related = await traverse_related(
        canon,
        caller,
        start,
        types=_types(arguments),
        direction=arguments["direction"],
        max_hops=int(arguments["max_hops"]),
    )
    wanted = related.entities if arguments["include_entities"] else ()
    return {
        "entities": await with_snapshots(canon, caller, wanted),
        "relationships": [RELATION(each) for each in related.relations],
        "total_entities": len(related.entities),
        "total_relationships": len(related.relations),
        "hops_traversed": related.hops,
        "truncated": related.truncated,
    }


async def _around(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    if arguments["node_type"] == "source":
        return await _of_source(canon, caller, arguments)
    return await _of_entity(canon, caller, arguments)


async def _of_entity(canon: Canon, caller: Caller, arguments: Arguments) -> Json:
    wanted = entity_of(arguments, "node_id")
    entity, around = await neighbourhood_of_entity(canon, caller, wanted)
    fields = await fields_of(canon, caller, (entity, *around.entities))
    reply: Json = {
        "node_id": entity.id,
        "node_type": "entity",
        "entity": ENTITY(entity),
        "entity_snapshot": dict(fields[entity.id]),
    }
    if arguments["include_observations"]:
        reply["observations"] = [present_observation(o, entity) for o in around.observations]
    if arguments["include_sources"]:
        reply["related_sources"] = [SOURCE(each) for each in around.sources]
    return reply | await _shared(canon, caller, around, arguments, fields)


async def _of_source(canon: Canon, caller: Caller, arguments: Arguments) -> Json:
    wanted = source_of(arguments, "node_id")
    source, around = await neighbourhood_of_source(canon, caller, wanted)
    fields = await fields_of(canon, caller, around.entities)
    reply: Json = {
        "node_id": source.id,
        "node_type": "source",
        "source_material": SOURCE(source),
    }
    if arguments["include_sources"]:
        reply["related_sources"] = []
    if arguments["include_observations"]:
        owner = {each: e for e in around.entities for each in (e.id, *e.members)}
        seen = (o for o in around.observations if o.entity_id in owner)
        reply["observations"] = [present_observation(o, owner[o.entity_id]) for o in seen]
    return reply | await _shared(canon, caller, around, arguments, fields)


async def _shared(
    canon: Canon,
    caller: Caller,
    around: Neighbourhood,
    arguments: Arguments,
    fields: Mapping[str, Mapping[str, Any]],
) -> Json:
    reply: Json = {"truncated": around.truncated}
    if arguments["include_relationships"]:
        reply["relationships"] = [RELATION(each) for each in around.relations]
        reply["related_entities"] = [
            ENTITY(each, snapshot=fields[each.id]) for each in around.entities
        ]
    if arguments["include_events"]:
        entities = await survivors_of(canon, caller, around.events)
        reply["timeline_events"] = [present_event(each, entities) for each in around.events]
    return reply


RUNS: Final[dict[str, Run]] = {
    "get_related_entities": _related,
    "get_graph_neighborhood": _around,
    "create_relationship": _create,
    "list_relationships": _list,
    "get_relationship_snapshot": _get,
}
