"""Entity tools: create, get, update the state of, query, merge and unmerge."""

from collections.abc import Iterator
from typing import Any, Final

from canonry.domain.errors import InvalidInput
from canonry.domain.ids import EntityId
from canonry.domain.log.keys import facts_key, listing_key, relations_key, thing_key
from canonry.domain.provenance import CanonLevel
from canonry.domain.things.entities import EntityDraft
from canonry.domain.vocabularies.narrative_types import EntityType
from canonry.gateway.tool import Arguments, Cached, Reply, Tool
from canonry.toolsets.narrative.contract import contract_tool
from canonry.toolsets.narrative.replies.present import (
    ENTITY,
    ENTITY_IN_FULL,
    listing,
    present_entity,
    present_fact,
    present_relation,
)
from canonry.toolsets.narrative.replies.schemas import TEXT, UUID, array, obj
from canonry.toolsets.narrative.requests.arguments import (
    authority_of,
    entity_class_of,
    evidence_of,
    limit_of,
    offset_of,
    optional_text,
    optional_uuid,
    text_of,
    texts_of,
    uuid_of,
)
from canonry.toolsets.narrative.requests.backings import KEEPER, backing_of, created, created_schema
from canonry.toolsets.narrative.requests.pages import QUERY_MAX
from canonry.usecases.graph.create_entity import NewEntity, create_entity
from canonry.usecases.graph.merge_entities import merge_entities, unmerge_entities
from canonry.usecases.graph.update_entity_state import update_entity_state
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.queries.get_entity import EntityInFull, get_entity
from canonry.usecases.queries.query_entities import EntityQuery, query_entities

_WILDCARDS_MAX: Final = 10
_CHANGES: Final = "state_tag_changes"
_TAGS: Final = "state_tags"


async def _create(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    derives_from = optional_uuid(arguments, "derives_from")
    new = NewEntity(
        entity_class=entity_class_of(arguments["entity_class"]),
        entity_type=EntityType(arguments["entity_type"]),
        name=text_of(arguments, "name", limits.name),
        description=text_of(arguments, "description", limits.description),
        properties=arguments["properties"],
        state_tags=texts_of(arguments, _TAGS, limits.tag),
        derives_from=None if derives_from is None else EntityId(derives_from),
    )
    receipt = await create_entity(canon, caller, backing_of(arguments), new)
    return created(receipt, EntityDraft, "entity_id")


async def _get(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    asked = uuid_of(arguments, "entity_id")
    found = await get_entity(
        canon,
        caller,
        asked,
        relations=bool(arguments["include_relationships"]),
        history=bool(arguments["include_state_history"]),
    )
    reply = present_entity(found.entity)
    reply["provenance"] = dict(found.entity.provenance)
    if found.entity.id != asked:
        reply["requested_entity_id"] = asked
    if found.relations is not None:
        reply["relationships"] = _relationships(found)
        reply["relationship_total"] = found.relation_total
    if found.history is not None:
        reply["state_history"] = [present_fact(fact) for fact in found.history]
        reply["state_history_truncated"] = found.history_truncated
    return reply


def _relationships(found: EntityInFull) -> list[dict[str, Any]]:
    others = found.others or {}
    return [
        {
            **present_relation(relation),
            "entity_id": others[relation.id].id,
            "name": others[relation.id].name,
        }
        for relation in found.relations or ()
        if relation.id in others
    ]


async def _update_state(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    changes, limit = arguments[_CHANGES], canon.policy.limits.tag
    updated = await update_entity_state(
        canon,
        caller,
        uuid_of(arguments, "entity_id"),
        add=texts_of(changes, "add", limit, within=f"/{_CHANGES}"),
        remove=texts_of(changes, "remove", limit, within=f"/{_CHANGES}"),
        authority=authority_of(arguments),
        evidence=evidence_of(arguments),
    )
    return {
        "entity_id": updated.entity.id,
        "new_state_tags": list(updated.entity.state_tags),
        "fact_ids": list(updated.fact_ids),
    }


async def _query(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    tags = arguments.get(_TAGS) or {}
    kind, entity_class = arguments.get("entity_type"), arguments.get("entity_class")
    level = arguments.get("canon_level")
    query = EntityQuery(
        entity_type=None if kind is None else EntityType(kind),
        entity_class=None if entity_class is None else entity_class_of(entity_class),
        level=None if level is None else CanonLevel(level),
        all_of=frozenset(texts_of(tags, "all_of", limits.tag, within=f"/{_TAGS}")),
        any_of=frozenset(texts_of(tags, "any_of", limits.tag, within=f"/{_TAGS}")),
        none_of=frozenset(texts_of(tags, "none_of", limits.tag, within=f"/{_TAGS}")),
        name_pattern=_pattern(arguments, limits.name),
        limit=limit_of(arguments, default=50, maximum=QUERY_MAX),
        offset=offset_of(arguments),
    )
    universe_id = optional_uuid(arguments, "universe_id")
    page = await query_entities(canon, caller, query, universe_id=universe_id)
    shown: list[Any] = [present_entity(entity) for entity in page.items]
    return {"entities": shown, "total": page.total}


def _pattern(arguments: Arguments, maximum: int) -> str | None:
    pattern = optional_text(arguments, "name_pattern", maximum)
    if pattern is not None and pattern.count("*") + pattern.count("%") > _WILDCARDS_MAX:
        message = f"a pattern holds at most {_WILDCARDS_MAX} wildcards"
        raise InvalidInput("pattern.too-many-wildcards", message, path="/name_pattern")
    return pattern


async def _merge(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    kept = await merge_entities(
        canon,
        caller,
        kept_id=uuid_of(arguments, "kept_entity_id"),
        merged_id=uuid_of(arguments, "merged_entity_id"),
        reason=text_of(arguments, "reason", canon.policy.limits.description),
    )
    return {"entity_id": kept.id, "merged_entity_ids": list(kept.members)}


async def _unmerge(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    separated = uuid_of(arguments, "entity_id")
    kept = await unmerge_entities(
        canon,
        caller,
        separated,
        reason=text_of(arguments, "reason", canon.policy.limits.description),
    )
    return {
        "entity_id": kept.id,
        "merged_entity_ids": list(kept.members),
        "separated_entity_id": separated,
    }


def _rests_on(arguments: Arguments, reply: Reply) -> frozenset[str]:
    family = {
        uuid_of(arguments, "entity_id"),
        reply["entity_id"],
        *reply["merged_entity_ids"],
    }
    return frozenset(_keys(family, reply))


def _keys(family: set[str], reply: Reply) -> Iterator[str]:
    yield from map(thing_key, family)
    if "relationships" in reply:
        yield from map(relations_key, family)
        for relation in reply["relationships"]:
            ends = (relation["entity_id"], relation["from_entity_id"], relation["to_entity_id"])
            yield from map(thing_key, ends)
    if "state_history" in reply:
        yield from map(facts_key, family)


def _listed(arguments: Arguments, reply: Reply) -> frozenset[str]:
    del reply  # the query alone says which universe it covers
    return frozenset((listing_key("entity", uuid_of(arguments, "universe_id")),))


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "neo4j_create_entity",
        title="Create entity",
        description=(
            "Create an archetype or an instance in the canon, with evidence. "
            "Warns of entities of the same type and name."
        ),
        output_schema=created_schema("entity_id"),
        run=_create,
        read_only=False,
    ),
    contract_tool(
        "neo4j_get_entity",
        title="Get entity",
        description="Retrieve an entity by ID, with its relations and state history if asked.",
        output_schema=ENTITY_IN_FULL,
        run=_get,
        read_only=True,
        idempotent=True,
        cached=Cached(seconds=lambda _, __: 300.0, depends_on=_rests_on),
    ),
    contract_tool(
        "neo4j_update_entity_state",
        title="Update entity state",
        description=(
            "Add and remove state tags of an instance. "
            "Each change that takes effect is documented by a fact."
        ),
        output_schema=obj(
            {"entity_id": UUID, "new_state_tags": array(TEXT), "fact_ids": array(UUID)}
        ),
        run=_update_state,
        read_only=False,
        idempotent=True,
    ),
    contract_tool(
        "neo4j_query_entities",
        title="Query entities",
        description=(
            "Find entities by type, class, level, state tags and name; "
            "in a name pattern * stands for any characters."
        ),
        output_schema=listing("entities", ENTITY),
        run=_query,
        read_only=True,
        idempotent=True,
        cached=Cached(
            seconds=lambda arguments, _: 60.0 if "universe_id" in arguments else 0.0,
            depends_on=_listed,
        ),
    ),
    Tool(
        name="neo4j_merge_entities",
        title="Merge entities",
        description="Say that two entities are one: the kept one answers for both.",
        input_schema=obj({"kept_entity_id": UUID, "merged_entity_id": UUID, "reason": TEXT}),
        output_schema=obj({"entity_id": UUID, "merged_entity_ids": array(UUID)}),
        roles=KEEPER,
        run=_merge,
        read_only=False,
        extension=True,
    ),
    Tool(
        name="neo4j_unmerge_entities",
        title="Unmerge entities",
        description="Take back a merge: the entity is its own again, with its own observations.",
        input_schema=obj({"entity_id": UUID, "reason": TEXT}),
        output_schema=obj(
            {"entity_id": UUID, "merged_entity_ids": array(UUID), "separated_entity_id": UUID}
        ),
        roles=KEEPER,
        run=_unmerge,
        read_only=False,
        extension=True,
    ),
)
