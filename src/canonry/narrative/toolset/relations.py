"""Relation tools: create, query, end; extensions, for no contract tool makes an edge."""

from typing import Final

from canonry.canon.commands.relations import NewRelation, create_relation, end_relation
from canonry.canon.queries.listings import RelationQuery, query_relations
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import (
    BOOLEAN,
    INSTANT,
    OBJECT,
    SHARE,
    TEXT,
    UUID,
    Shape,
    array,
    enum,
    given,
    obj,
)
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.log.schemas.narrative import relation_type
from canonry.narrative.toolset.arguments import (
    DETAIL,
    PAGING,
    evidence_of,
    instant_of,
    optional_of,
    optional_uuid,
    page_of,
    text_of,
    uuid_of,
)
from canonry.narrative.toolset.contract import reading_tool, writing_tool
from canonry.narrative.toolset.rows import Listing, RowShape
from canonry.narrative.toolset.shapes import AUTHORITY, RELATION, UUIDS
from canonry.values.audience import audience_in
from canonry.values.provenance import Authority

_CREATED: Final = Shape(
    relationship_id=UUID.of("relation_id"),
    rel_type=given(TEXT),
    created_at=INSTANT.of("recorded_at"),
    superseded=UUIDS,
    existing=BOOLEAN,
    warnings=array(TEXT),
)
_RELATIONS: Final = Listing(
    "relationships",
    RowShape(
        RELATION,
        *("relationship_id", "rel_type", "from_entity_id", "to_entity_id", "properties"),
        *("since", "until", "current", "canon_level"),
    ),
)


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
        audience=optional_of(arguments, "audience", audience_in),
    )
    made = await create_relation(canon, caller, new)
    return _CREATED(made, rel_type=new.kind.name)


async def _query(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    query = RelationQuery(
        rel_type=optional_of(arguments, "rel_type", lambda name: relation_type(name).name),
        direction=arguments["direction"],
        current=bool(arguments["current_only"]),
        **page_of(arguments),
    )
    page = await query_relations(
        canon,
        caller,
        query,
        universe_id=optional_uuid(arguments, "universe_id"),
        entity_id=optional_uuid(arguments, "entity_id"),
    )
    return await _RELATIONS(canon, caller, page, arguments)


async def _end(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    relation = await end_relation(
        canon,
        caller,
        uuid_of(arguments, "relationship_id"),
        until=instant_of(arguments, "until"),
        reason=text_of(arguments, "reason", canon.policy.limits.description),
    )
    return RELATION(relation)


TOOLS: Final[tuple[Tool, ...]] = (
    writing_tool(
        "neo4j_create_relationship",
        "Create relationship",
        "Relate two entities: LOCATED_IN, OWNS, MEMBER_OF, ALLY_OF, ENEMY_OF, KNOWS or others. "
        "A place or an owner supersedes the one before.",
        _create,
        takes=obj(
            {"from_entity_id": UUID, "to_entity_id": UUID, "rel_type": TEXT},
            {
                "properties": OBJECT.but(default={}),
                "since": INSTANT,
                "authority": AUTHORITY.but(default="system"),
                "confidence": SHARE.but(default=1.0),
                "evidence_refs": array(TEXT),
                "audience": array(TEXT),
            },
        ),
        gives=_CREATED,
    ),
    reading_tool(
        "neo4j_query_relationships",
        "Query relationships",
        "Find relations by entity, direction and type; current_only skips the past.",
        _query,
        takes=obj(
            {},
            {
                "universe_id": UUID,
                "entity_id": UUID,
                "rel_type": TEXT,
                "direction": enum("out", "in", "any").but(default="any"),
                "current_only": BOOLEAN.but(default=False),
                **PAGING,
                **DETAIL,
            },
        ),
        gives=_RELATIONS.gives,
    ),
    writing_tool(
        "neo4j_end_relationship",
        "End relationship",
        "Say that a relation holds no longer, from an instant on or from now.",
        _end,
        takes=obj({"relationship_id": UUID, "reason": TEXT}, {"until": INSTANT}),
        gives=RELATION,
    ),
)
