"""Entity tools: create, get, update the state of, query, merge and unmerge."""

from collections.abc import Iterator
from typing import Any, Final

from canonry.canon.commands.create_entity import NewEntity, create_entity
from canonry.canon.commands.merge_entities import merge_entities, unmerge_entities
from canonry.canon.commands.update_entity_state import update_entity_state
from canonry.canon.queries.get_entity import EntityInFull, get_entity
from canonry.canon.queries.query_entities import EntityQuery, query_entities
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import BOOLEAN, COUNT, TEXT, UUID, Shape, array, given, obj, optional
from canonry.gateway.tool import Arguments, Cached, Reply, Tool
from canonry.log.items.entities import EntityDraft
from canonry.log.keys import facts_key, listing_key, relations_key, thing_key
from canonry.log.schemas.narrative_types import EntityType
from canonry.narrative.toolset.arguments import (
    DETAIL,
    backing_of,
    entity_class_of,
    evidence_of,
    optional_of,
    optional_text,
    optional_uuid,
    page_of,
    tags_of,
    text_of,
    uuid_of,
)
from canonry.narrative.toolset.contract import contract_tool, writing_tool
from canonry.narrative.toolset.rows import Listing, RowShape, gist
from canonry.narrative.toolset.shapes import (
    AUDIENCE,
    ENTITY,
    FACT,
    RELATION,
    TEXTS_BY_NAME,
    UUIDS,
    canon_created,
    created,
)
from canonry.values.errors import InvalidInput
from canonry.values.ids import EntityId
from canonry.values.provenance import Authority, CanonLevel

_WILDCARDS_MAX: Final = 10
_CHANGES: Final = "state_tag_changes"
_TAGS: Final = "state_tags"
_RELATED: Final = Shape(**RELATION.fields, entity_id=given(UUID), name=given(TEXT))
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


_ENTITY_IN_FULL: Final = Shape(
    **ENTITY.within("entity"),
    provenance=TEXTS_BY_NAME.of("entity.provenance"),
    requested_entity_id=optional(given(UUID)),
    relationships=optional(array(_RELATED)).made(_related),
    relationship_total=optional(COUNT).of(
        lambda found: None if found.relations is None else found.relation_total
    ),
    state_history=optional(array(FACT)).of("history"),
    state_history_truncated=optional(BOOLEAN).of(
        lambda found: None if found.history is None else found.history_truncated
    ),
)
"""The entity, where each field comes from, and what was asked beside it."""
_ENTITIES: Final = Listing(
    "entities",
    RowShape(
        ENTITY,
        *("entity_id", "entity_class", "entity_type", "name", "description", "state_tags"),
        "canon_level",
        description=TEXT.by(gist),
    ),
)
_CREATED: Final = canon_created("entity_id")
_UPDATED: Final = Shape(
    entity_id=UUID.of("entity.id"),
    new_state_tags=array(TEXT).of("entity.state_tags"),
    fact_ids=UUIDS,
)
_MERGED: Final = Shape(entity_id=UUID.of("id"), merged_entity_ids=UUIDS.of("members"))
_UNMERGED: Final = Shape(**_MERGED.fields, separated_entity_id=given(UUID))


async def _create(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    derives_from = optional_uuid(arguments, "derives_from")
    new = NewEntity(
        entity_class=entity_class_of(arguments["entity_class"]),
        entity_type=EntityType(arguments["entity_type"]),
        name=text_of(arguments, "name", limits.name),
        description=text_of(arguments, "description", limits.description),
        properties=arguments["properties"],
        state_tags=tags_of(arguments, _TAGS, limits.tag),
        derives_from=None if derives_from is None else EntityId(derives_from),
    )
    receipt = await create_entity(canon, caller, backing_of(arguments), new)
    return created(_CREATED, receipt, EntityDraft)


async def _get(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    asked = uuid_of(arguments, "entity_id")
    found = await get_entity(
        canon,
        caller,
        asked,
        relations=bool(arguments["include_relationships"]),
        history=bool(arguments["include_state_history"]),
    )
    requested = None if found.entity.id == asked else asked
    return _ENTITY_IN_FULL(found, requested_entity_id=requested)


async def _update_state(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    changes, limit = arguments[_CHANGES], canon.policy.limits.tag
    updated = await update_entity_state(
        canon,
        caller,
        uuid_of(arguments, "entity_id"),
        add=tags_of(changes, "add", limit, within=f"/{_CHANGES}"),
        remove=tags_of(changes, "remove", limit, within=f"/{_CHANGES}"),
        authority=Authority(arguments["authority"]),
        evidence=evidence_of(arguments),
    )
    return _UPDATED(updated)


async def _query(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    tags = arguments.get(_TAGS) or {}
    query = EntityQuery(
        entity_type=optional_of(arguments, "entity_type", EntityType),
        entity_class=optional_of(arguments, "entity_class", entity_class_of),
        level=optional_of(arguments, "canon_level", CanonLevel),
        all_of=frozenset(tags_of(tags, "all_of", limits.tag, within=f"/{_TAGS}")),
        any_of=frozenset(tags_of(tags, "any_of", limits.tag, within=f"/{_TAGS}")),
        none_of=frozenset(tags_of(tags, "none_of", limits.tag, within=f"/{_TAGS}")),
        name_pattern=_pattern(arguments, limits.name),
        **page_of(arguments),
    )
    universe_id = optional_uuid(arguments, "universe_id")
    page = await query_entities(canon, caller, query, universe_id=universe_id)
    return await _ENTITIES(canon, caller, page, arguments)


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
    return _MERGED(kept)


async def _unmerge(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    separated = uuid_of(arguments, "entity_id")
    kept = await unmerge_entities(
        canon,
        caller,
        separated,
        reason=text_of(arguments, "reason", canon.policy.limits.description),
    )
    return _UNMERGED(kept, separated_entity_id=separated)


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
        "Create entity",
        "Create an archetype or an instance in the canon, with evidence. "
        "Warns of entities of the same type and name.",
        _create,
        gives=_CREATED,
        also={"audience": AUDIENCE},
    ),
    contract_tool(
        "neo4j_get_entity",
        "Get entity",
        "Retrieve an entity by ID, with its relations and state history if asked.",
        _get,
        gives=_ENTITY_IN_FULL,
        reads=True,
        cached=Cached(seconds=lambda _, __: 300.0, depends_on=_rests_on),
    ),
    contract_tool(
        "neo4j_update_entity_state",
        "Update entity state",
        "Add and remove state tags of an instance. "
        "Each change that takes effect is documented by a fact.",
        _update_state,
        gives=_UPDATED,
        idempotent=True,
    ),
    contract_tool(
        "neo4j_query_entities",
        "Query entities",
        "Find entities by type, class, level, state tags and name; "
        "in a name pattern * stands for any characters.",
        _query,
        gives=_ENTITIES.gives,
        reads=True,
        also=DETAIL,
        cached=Cached(
            seconds=lambda arguments, _: 60.0 if "universe_id" in arguments else 0.0,
            depends_on=_listed,
        ),
    ),
    writing_tool(
        "neo4j_merge_entities",
        "Merge entities",
        "Say that two entities are one: the kept one answers for both.",
        _merge,
        takes=obj({"kept_entity_id": UUID, "merged_entity_id": UUID, "reason": TEXT}),
        gives=_MERGED,
    ),
    writing_tool(
        "neo4j_unmerge_entities",
        "Unmerge entities",
        "Take back a merge: the entity is its own again, with its own observations.",
        _unmerge,
        takes=obj({"entity_id": UUID, "reason": TEXT}),
        gives=_UNMERGED,
    ),
)
