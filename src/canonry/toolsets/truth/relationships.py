"""Relationship tools: edges between entities, what they lead to, and what lies around."""

from collections.abc import Iterable
from typing import Final

from canonry.domain.errors import InvalidInput
from canonry.domain.things.entities import Entity
from canonry.domain.things.relations import Relation
from canonry.domain.vocabularies.truth_relations import TruthRelation
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.toolsets.truth.arguments import (
    entity_of,
    optional_text,
    source_of,
    text_of,
    whole_of,
)
from canonry.toolsets.truth.contract import truth_tool
from canonry.toolsets.truth.entities import with_snapshot
from canonry.toolsets.truth.present import (
    Json,
    moment,
    present_edge,
    present_entity,
    present_event,
    present_observation,
    present_relation,
    present_source,
)
from canonry.toolsets.truth.snapshots import fields_of
from canonry.usecases.kernel.account import require_readable
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.traverse_related import traverse_related
from canonry.usecases.truth.list_records import survivors_of
from canonry.usecases.truth.read_neighbourhood import (
    Neighbourhood,
    neighbourhood_of_entity,
    neighbourhood_of_source,
)
from canonry.usecases.truth.read_relationships import (
    RelationshipQuery,
    list_relationships,
    read_relationship,
)
from canonry.usecases.truth.relate_entities import NewRelationship, relate_entities


async def _create(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    new = NewRelationship(
        rel_type=text_of(arguments, "relationship_type"),
        from_id=entity_of(arguments, "source_entity_id"),
        to_id=entity_of(arguments, "target_entity_id"),
        metadata=arguments.get("metadata") or {},
    )
    stands = await relate_entities(canon, caller, new)
    return {**present_relation(stands.relation), "existing": stands.existing}


async def _list(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limit, offset = whole_of(arguments, "limit"), whole_of(arguments, "offset")
    query = RelationshipQuery(
        entity_id=entity_of(arguments),
        direction=arguments["direction"],
        rel_type=optional_text(arguments, "relationship_type"),
        limit=limit,
        offset=offset,
    )
    edges, total = await list_relationships(canon, caller, query)
    return {
        "relationships": [present_relation(each) for each in edges],
        "total": total,
        "limit": limit,
        "offset": offset,
    }


async def _get(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    edge = await read_relationship(
        canon,
        caller,
        text_of(arguments, "relationship_type"),
        entity_of(arguments, "source_entity_id"),
        entity_of(arguments, "target_entity_id"),
    )
    return {
        **{name: each for name, each in present_edge(edge).items() if name != "metadata"},
        "snapshot": dict(edge.properties),
        "provenance": {name: edge.origins.get(name, edge.id) for name in edge.properties},
        "observation_count": edge.told,
        "last_observation_at": moment(edge.told_at or edge.created_at),
    }


def _types(arguments: Arguments) -> tuple[str, ...]:
    wanted = tuple(arguments.get("relationship_types") or ())
    unknown = [each for each in wanted if len(each) > _TYPE_MAX or not each]
    if unknown:
        message = f"relationship types are such as {', '.join(TruthRelation)}"
        raise InvalidInput("relationship.type-unknown", message, path="/relationship_types")
    return wanted


_TYPE_MAX: Final = 100


async def _related(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    (start,) = await require_readable(canon, caller, Entity, (entity_of(arguments),))
    related = await traverse_related(
        canon,
        caller,
        start,
        types=_types(arguments),
        direction=arguments["direction"],
        max_hops=whole_of(arguments, "max_hops"),
    )
    if arguments["include_entities"]:
        fields = await fields_of(canon, caller, related.entities)
        entities = [with_snapshot(each, fields) for each in related.entities]
    else:
        entities = []
    return {
        "entities": entities,
        "relationships": _edges(related.relations),
        "total_entities": len(related.entities),
        "total_relationships": len(related.relations),
        "hops_traversed": related.hops,
        "truncated": related.truncated,
    }


def _edges(relations: Iterable[Relation]) -> list[Json]:
    return [present_relation(each) for each in relations]


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
        "entity": present_entity(entity),
        "entity_snapshot": fields[entity.id],
    }
    if arguments["include_observations"]:
        reply["observations"] = [present_observation(o, entity) for o in around.observations]
    if arguments["include_sources"]:
        reply["related_sources"] = [present_source(each) for each in around.sources]
    return reply | await _shared(canon, caller, around, arguments, fields)


async def _of_source(canon: Canon, caller: Caller, arguments: Arguments) -> Json:
    wanted = source_of(arguments, "node_id")
    source, around = await neighbourhood_of_source(canon, caller, wanted)
    fields = await fields_of(canon, caller, around.entities)
    reply: Json = {
        "node_id": source.id,
        "node_type": "source",
        "source_material": present_source(source),
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
    fields: dict[str, Json],
) -> Json:
    reply: Json = {"truncated": around.truncated}
    if arguments["include_relationships"]:
        reply["relationships"] = _edges(around.relations)
        reply["related_entities"] = [with_snapshot(each, fields) for each in around.entities]
    if arguments["include_events"]:
        entities = await survivors_of(canon, caller, around.events)
        reply["timeline_events"] = [present_event(each, entities) for each in around.events]
    return reply


TOOLS: Final[tuple[Tool, ...]] = (
    truth_tool("get_related_entities", _related),
    truth_tool("get_graph_neighborhood", _around),
    truth_tool("create_relationship", _create),
    truth_tool("list_relationships", _list),
    truth_tool("get_relationship_snapshot", _get),
)
