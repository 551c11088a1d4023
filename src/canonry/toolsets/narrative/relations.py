"""Relation tools: create, query, end; extensions, for no contract tool makes an edge."""

from typing import Any, Final

from canonry.domain.provenance import Authority
from canonry.domain.time import render_instant
from canonry.domain.vocabularies.narrative_relations import relation_type
from canonry.gateway.tool import ANYONE, Arguments, Reply, Tool
from canonry.toolsets.narrative.replies.present import RELATION, listing, present_relation
from canonry.toolsets.narrative.replies.schemas import (
    AUTHORITY,
    BOOLEAN,
    INSTANT,
    OBJECT,
    SHARE,
    TEXT,
    UUID,
    array,
    enum,
    obj,
)
from canonry.toolsets.narrative.requests.arguments import (
    evidence_of,
    instant_of,
    limit_of,
    offset_of,
    optional_uuid,
    text_of,
    uuid_of,
)
from canonry.toolsets.narrative.requests.backings import KEEPER
from canonry.toolsets.narrative.requests.pages import PAGING, QUERY_MAX
from canonry.usecases.graph.create_relation import NewRelation, create_relation
from canonry.usecases.graph.end_relation import end_relation
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.queries.query_relations import RelationQuery, query_relations


async def _create(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    new = NewRelation(
        kind=relation_type(arguments["rel_type"]),
        from_id=uuid_of(arguments, "from_entity_id"),
        to_id=uuid_of(arguments, "to_entity_id"),
        properties=arguments["properties"],
        since=instant_of(arguments, "since"),
        authority=Authority(arguments["authority"]),
        confidence=float(arguments["confidence"]),
        evidence=evidence_of(arguments) if "evidence_refs" in arguments else (),
    )
    made = await create_relation(canon, caller, new)
    return {
        "relationship_id": made.relation_id,
        "rel_type": new.kind.name,
        "created_at": render_instant(made.recorded_at),
        "superseded": list(made.superseded),
        "existing": made.existing,
    }


async def _query(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    rel_type = arguments.get("rel_type")
    query = RelationQuery(
        rel_type=None if rel_type is None else relation_type(rel_type).name,
        direction=arguments["direction"],
        current=bool(arguments["current_only"]),
        limit=limit_of(arguments, default=50, maximum=QUERY_MAX),
        offset=offset_of(arguments),
    )
    page = await query_relations(
        canon,
        caller,
        query,
        universe_id=optional_uuid(arguments, "universe_id"),
        entity_id=optional_uuid(arguments, "entity_id"),
    )
    shown: list[Any] = [present_relation(relation) for relation in page.items]
    return {"relationships": shown, "total": page.total}


async def _end(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    relation = await end_relation(
        canon,
        caller,
        uuid_of(arguments, "relationship_id"),
        until=instant_of(arguments, "until"),
        reason=text_of(arguments, "reason", canon.policy.limits.description),
    )
    return present_relation(relation)


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        name="neo4j_create_relationship",
        title="Create relationship",
        description=(
            "Relate two entities: LOCATED_IN, OWNS, MEMBER_OF, ALLY_OF, ENEMY_OF, KNOWS or others. "
            "A place or an owner supersedes the one before."
        ),
        input_schema=obj(
            {"from_entity_id": UUID, "to_entity_id": UUID, "rel_type": TEXT},
            {
                "properties": {**OBJECT, "default": {}},
                "since": INSTANT,
                "authority": {**AUTHORITY, "default": "system"},
                "confidence": {**SHARE, "default": 1.0},
                "evidence_refs": array(TEXT),
            },
        ),
        output_schema=obj(
            {
                "relationship_id": UUID,
                "rel_type": TEXT,
                "created_at": INSTANT,
                "superseded": array(UUID),
                "existing": BOOLEAN,
            }
        ),
        roles=KEEPER,
        run=_create,
        read_only=False,
        extension=True,
    ),
    Tool(
        name="neo4j_query_relationships",
        title="Query relationships",
        description="Find relations by entity, direction and type; current_only skips the past.",
        input_schema=obj(
            {},
            {
                "universe_id": UUID,
                "entity_id": UUID,
                "rel_type": TEXT,
                "direction": {**enum("out", "in", "any"), "default": "any"},
                "current_only": {**BOOLEAN, "default": False},
                **PAGING,
            },
        ),
        output_schema=listing("relationships", RELATION),
        roles=ANYONE,
        run=_query,
        read_only=True,
        idempotent=True,
        extension=True,
    ),
    Tool(
        name="neo4j_end_relationship",
        title="End relationship",
        description="Say that a relation holds no longer, from an instant on or from now.",
        input_schema=obj({"relationship_id": UUID, "reason": TEXT}, {"until": INSTANT}),
        output_schema=RELATION,
        roles=KEEPER,
        run=_end,
        read_only=False,
        extension=True,
    ),
)
