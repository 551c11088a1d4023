"""Tools for universes, axioms and entities."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from canonry.canon.commands.entities import (
    create_entity,
    merge_entities,
    unmerge_entities,
    update_entity_state,
)
from canonry.canon.commands.facts import create_axiom, link_evidence
from canonry.canon.commands.universes import create_universe, declare_calendar
from canonry.canon.judging.contents import EntityContent
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
from canonry.canon.session.spoken_times import CALENDAR
from canonry.gateway.replies import (
    BOOLEAN,
    COUNT,
    INSTANT,
    OBJECT,
    SHARE,
    TEXT,
    UUID,
    Shape,
    array,
    enum,
    given,
    nullable,
    obj,
    optional,
)
from canonry.gateway.tool import Arguments, Cached, Reply
from canonry.log.folding import facts_key, listing_key, relations_key, thing_key
from canonry.log.items.entities import EntityDraft
from canonry.log.items.facts import AxiomDomain, AxiomDraft, Constraint
from canonry.log.schemas.narrative import EntityType, relation_type
from canonry.narrative.toolset import shapes
from canonry.narrative.toolset.contract import (
    contract_tool,
    listing_tool,
    reading_tool,
    writing_tool,
)
from canonry.readmodels.ports.state import EntityQuery
from canonry.values.errors import InvalidInput
from canonry.values.fields import Reference
from canonry.values.ids import SpaceDraft, SpaceKind
from canonry.values.provenance import Authority, CanonLevel, parse_evidence

_WILDCARDS_MAX: Final = 10
_CHANGES: Final = "state_tag_changes"
_TAGS: Final = "state_tags"
_RELATED: Final = Shape(**shapes.RELATION.fields, entity_id=given(UUID), name=given(TEXT))
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
    **shapes.ENTITY.within("entity"),
    provenance=shapes.TEXTS_BY_NAME.of("entity.provenance"),
    requested_entity_id=optional(given(UUID)),
    relationships=optional(array(_RELATED)).made(_related),
    relationship_total=optional(COUNT).of(
        lambda found: None if found.relations is None else found.relation_total
    ),
    state_history=optional(array(shapes.FACT)).of("history"),
    state_history_truncated=optional(BOOLEAN).of(
        lambda found: None if found.history is None else found.history_truncated
    ),
)
"""The entity, the source of each field, and the requested extras."""
_ENTITIES: Final = shapes.Listing(
    "entities",
    shapes.RowShape(
        shapes.ENTITY,
        *("entity_id", "entity_class", "entity_type", "name", "description", "state_tags"),
        "canon_level",
        description=TEXT.by(shapes.gist),
    ),
)
_CREATED: Final = shapes.canon_created("entity_id")
_UPDATED: Final = Shape(
    entity_id=UUID.of("entity.id"),
    new_state_tags=array(TEXT).of("entity.state_tags"),
    fact_ids=shapes.UUIDS,
)
_MERGED: Final = Shape(entity_id=UUID.of("id"), merged_entity_ids=shapes.UUIDS.of("members"))
_UNMERGED: Final = Shape(**_MERGED.fields, separated_entity_id=given(UUID))


def _pattern(arguments: Arguments, maximum: int) -> str | None:
    pattern = shapes.optional_text(arguments, "name_pattern", maximum)
    if pattern is not None and pattern.count("*") + pattern.count("%") > _WILDCARDS_MAX:
        message = f"/name_pattern has more than {_WILDCARDS_MAX} wildcards. Use fewer."
        raise InvalidInput("pattern.too-many-wildcards", message, path="/name_pattern")
    return pattern


def _rests_on(arguments: Arguments, reply: Reply) -> frozenset[str]:
    family = {
        shapes.uuid_of(arguments, "entity_id"),
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


@contract_tool(
    "neo4j_create_entity",
    "Create an archetype or an instance in the canon, with evidence. Warns of entities with "
    "the same type and name.",
    gives=_CREATED,
    also={"audience": shapes.AUDIENCE},
)
async def _create_entity(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    new = EntityContent(
        entity_class=shapes.entity_class_of(arguments["entity_class"]),
        entity_type=EntityType(arguments["entity_type"]),
        name=shapes.text_of(arguments, "name", limits.name),
        description=shapes.text_of(arguments, "description", limits.description),
        properties=arguments["properties"],
        state_tags=shapes.tags_of(arguments, _TAGS, limits.tag),
        derives_from=shapes.optional_id(arguments, "derives_from", Reference),
    )
    receipt = await create_entity(canon, caller, shapes.backing_of(arguments), new)
    return shapes.created(_CREATED, receipt, EntityDraft)


@contract_tool(
    "neo4j_get_entity",
    "Get an entity by its id, with its relations and state history on request.",
    gives=_ENTITY_IN_FULL,
    read_only=True,
    cached=Cached(seconds=lambda _, __: 300.0, depends_on=_rests_on),
)
async def _get_entity(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    asked = shapes.uuid_of(arguments, "entity_id")
    found = await get_entity(
        canon,
        caller,
        asked,
        relations=bool(arguments["include_relationships"]),
        history=bool(arguments["include_state_history"]),
    )
    requested = None if found.entity.id == asked else asked
    return _ENTITY_IN_FULL(found, requested_entity_id=requested)


@contract_tool(
    "neo4j_update_entity_state",
    "Add and remove state tags of an instance. A fact records each change that takes effect.",
    gives=_UPDATED,
    idempotent=True,
)
async def _update_entity_state(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    changes, limit = arguments[_CHANGES], canon.policy.limits.tag
    updated = await update_entity_state(
        canon,
        caller,
        shapes.uuid_of(arguments, "entity_id"),
        add=shapes.tags_of(changes, "add", limit, within=f"/{_CHANGES}"),
        remove=shapes.tags_of(changes, "remove", limit, within=f"/{_CHANGES}"),
        authority=Authority(arguments["authority"]),
        evidence=shapes.evidence_of(arguments),
    )
    return _UPDATED(updated)


@contract_tool(
    "neo4j_query_entities",
    "Find entities by type, class, level, state tags and name; "
    "in a name pattern * stands for any characters.",
    gives=_ENTITIES.gives,
    read_only=True,
    also=shapes.DETAIL,
    cached=Cached(
        seconds=lambda arguments, _: 60.0 if "universe_id" in arguments else 0.0,
        depends_on=lambda arguments, _: frozenset(
            (listing_key("entity", shapes.uuid_of(arguments, "universe_id")),)
        ),
    ),
)
async def _query_entities(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    tags = arguments.get(_TAGS) or {}
    query = EntityQuery(
        entity_type=shapes.optional_of(arguments, "entity_type", EntityType),
        entity_class=shapes.optional_of(arguments, "entity_class", shapes.entity_class_of),
        level=shapes.optional_of(arguments, "canon_level", CanonLevel),
        all_of=frozenset(shapes.tags_of(tags, "all_of", limits.tag, within=f"/{_TAGS}")),
        any_of=frozenset(shapes.tags_of(tags, "any_of", limits.tag, within=f"/{_TAGS}")),
        none_of=frozenset(shapes.tags_of(tags, "none_of", limits.tag, within=f"/{_TAGS}")),
        name_pattern=_pattern(arguments, limits.name),
        **shapes.page_of(arguments),
    )
    return await _ENTITIES.query(canon, caller, arguments, query_entities, query, "universe_id")


@writing_tool(
    "neo4j_merge_entities",
    "Merge a duplicate entity into another. Both ids then return the kept entity; "
    "neo4j_unmerge_entities undoes it.",
    takes=obj({"kept_entity_id": UUID, "merged_entity_id": UUID, "reason": TEXT}),
    gives=_MERGED,
)
async def _merge_entities(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    kept = await merge_entities(
        canon,
        caller,
        kept_id=shapes.uuid_of(arguments, "kept_entity_id"),
        merged_id=shapes.uuid_of(arguments, "merged_entity_id"),
        reason=shapes.text_of(arguments, "reason", canon.policy.limits.description),
    )
    return _MERGED(kept)


@writing_tool(
    "neo4j_unmerge_entities",
    "Undo a merge. The entity gets its own canon items back.",
    takes=obj({"entity_id": UUID, "reason": TEXT}),
    gives=_UNMERGED,
)
async def _unmerge_entities(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    separated = shapes.uuid_of(arguments, "entity_id")
    kept = await unmerge_entities(
        canon,
        caller,
        separated,
        reason=shapes.text_of(arguments, "reason", canon.policy.limits.description),
    )
    return _UNMERGED(kept, separated_entity_id=separated)


# Axiom tools are extensions: the contract mentions rules and evidence but creates neither.

_PATH: Final = "/constraint"
_FORBIDDEN_RELATION: Final = "forbidden_relation"
_CONSTRAINT: Final = Shape(
    kind=enum("forbidden_tag", "exclusive_tags", _FORBIDDEN_RELATION),
    values=array(TEXT).but(minItems=1),
    entity_type=optional(
        enum("character", "faction", "location", "object", "concept", "organization")
    ),
)
_AXIOMS_CREATED: Final = shapes.canon_created("axiom_id")
_LINKED: Final = Shape(canonical_id=UUID.of("id"), evidence_refs=shapes.WORDS.of("evidence"))


def _constraint(given: Mapping[str, Any], limit: int) -> Constraint:
    values = shapes.texts_of(given, "values", limit, within=_PATH)
    if given["kind"] == _FORBIDDEN_RELATION:
        values = tuple(
            relation_type(value, path=f"{_PATH}/values/{index}").name
            for index, value in enumerate(values)
        )
    return Constraint(kind=given["kind"], values=values, entity_type=given.get("entity_type"))


@writing_tool(
    "neo4j_create_axiom",
    "Create a law of the world. If it has a constraint, canonization refuses every proposal "
    "that breaks it.",
    takes=obj(
        {
            "universe_id": UUID,
            "statement": TEXT,
            "domain": enum(*AxiomDomain),
            "authority": enum("source", "gm", "system"),
            "evidence_refs": array(TEXT),
        },
        {"constraint": _CONSTRAINT, "confidence": SHARE.but(default=1.0)},
    ),
    gives=_AXIOMS_CREATED,
)
async def _create_axiom(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    given = arguments.get("constraint")
    receipt = await create_axiom(
        canon,
        caller,
        shapes.backing_of(arguments),
        shapes.text_of(arguments, "statement", limits.statement),
        domain=AxiomDomain(arguments["domain"]),
        constraint=None if given is None else _constraint(given, limits.tag),
    )
    return shapes.created(_AXIOMS_CREATED, receipt, AxiomDraft)


_query_axioms: Final = listing_tool(
    "neo4j_query_axioms",
    "List the laws of a universe, oldest first.",
    query_axioms,
    within="universe_id",
    gives=shapes.Listing(
        "axioms",
        shapes.RowShape(shapes.AXIOM, "axiom_id", "statement", "domain", "constraint", "authority"),
    ),
)


@writing_tool(
    "neo4j_link_evidence",
    "Add one evidence reference, like source:<id>, to an existing entity, relation, fact, "
    "event or axiom.",
    takes=obj({"canonical_id": UUID, "evidence_ref": TEXT}),
    gives=_LINKED,
    idempotent=True,
)
async def _link_evidence(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    evidence = parse_evidence(arguments["evidence_ref"], path="/evidence_ref")
    return _LINKED(
        await link_evidence(canon, caller, shapes.uuid_of(arguments, "canonical_id"), evidence)
    )


_CREATED_UNIVERSE: Final = Shape(universe_id=UUID.of("id"), name=TEXT, created_at=given(INSTANT))
_CREATED_MULTIVERSE: Final = Shape(
    multiverse_id=UUID.of("id"), name=TEXT, created_at=given(INSTANT)
)
_DECLARED: Final = Shape(universe_id=given(UUID), declared_at=INSTANT.of("recorded_at"))
_UNIVERSES: Final = Shape(universes=array(shapes.SPACE).of("items"), total=COUNT)


async def _universes_create(
    canon: Canon, caller: Caller, arguments: Arguments, kind: SpaceKind, words: tuple[str, ...]
) -> Receipt[Any]:
    limits = canon.policy.limits
    texts = {word: shapes.optional_text(arguments, word, limits.name) for word in words}
    declared = {CALENDAR: arguments[CALENDAR]} if arguments.get(CALENDAR) else {}
    return await create_universe(
        canon,
        caller,
        kind=kind,
        name=shapes.text_of(arguments, "name", limits.name),
        description=shapes.optional_text(arguments, "description", limits.description) or "",
        properties={word: text for word, text in texts.items() if text is not None} | declared,
        parent=shapes.optional_uuid(arguments, "multiverse_id"),
    )


@writing_tool(
    "neo4j_create_universe",
    "Create a universe, which holds all stories, entities and canon. Do this first.",
    takes=obj(
        {"name": TEXT},
        {
            "description": TEXT,
            "genre": TEXT,
            "tone": TEXT,
            "tech_level": TEXT,
            "multiverse_id": UUID,
            "calendar": OBJECT,
        },
    ),
    gives=_CREATED_UNIVERSE,
)
async def _create_universe(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    words = ("genre", "tone", "tech_level")
    receipt = await _universes_create(canon, caller, arguments, SpaceKind.UNIVERSE, words)
    return shapes.created(_CREATED_UNIVERSE, receipt, SpaceDraft)


@writing_tool(
    "neo4j_declare_calendar",
    "Set a universe's calendar; null is Gregorian. Give months [{name, days, intercalary}], "
    "week, eras [{name, first_year, backwards}], leap {every, except, but, month}, or counters"
    " [{name, seconds}].",
    takes=obj({"universe_id": UUID, "calendar": nullable(OBJECT)}),
    gives=_DECLARED,
    idempotent=True,
)
async def _declare_calendar(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    universe_id = shapes.uuid_of(arguments, "universe_id")
    receipt = await declare_calendar(canon, caller, universe_id, arguments[CALENDAR])
    return _DECLARED(receipt, universe_id=universe_id)


@writing_tool(
    "neo4j_create_multiverse",
    "Create a multiverse, a group of universes, for example all those of one game system.",
    takes=obj({"name": TEXT}, {"description": TEXT, "system_name": TEXT}),
    gives=_CREATED_MULTIVERSE,
)
async def _create_multiverse(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    receipt = await _universes_create(
        canon, caller, arguments, SpaceKind.MULTIVERSE, ("system_name",)
    )
    return shapes.created(_CREATED_MULTIVERSE, receipt, SpaceDraft)


@reading_tool(
    "neo4j_get_universe",
    "Get a universe by id.",
    takes=obj({"universe_id": UUID}),
    times=(),
    gives=shapes.SPACE,
)
async def _get_universe(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    return shapes.SPACE(
        await require_universe(canon, caller, shapes.uuid_of(arguments, "universe_id"))
    )


@reading_tool(
    "neo4j_query_universes",
    "List the universes that you may see, oldest first.",
    takes=obj({}, {"multiverse_id": UUID, **shapes.PAGING}),
    times=(),
    gives=_UNIVERSES,
)
async def _query_universes(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    parent = shapes.optional_uuid(arguments, "multiverse_id")
    return _UNIVERSES(
        await query_universes(canon, caller, parent=parent, **shapes.page_of(arguments))
    )


TOOLS: Final = (
    _create_universe,
    _declare_calendar,
    _create_multiverse,
    _get_universe,
    _query_universes,
    _create_entity,
    _get_entity,
    _update_entity_state,
    _query_entities,
    _merge_entities,
    _unmerge_entities,
)
AXIOMS_TOOLS: Final = (_create_axiom, _query_axioms, _link_evidence)
