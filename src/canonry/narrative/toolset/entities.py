"""Tools for universes, entities, facts, events and relations, and tools that explain canon."""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, Final

from canonry.canon.commands.entities import unmerge_entities
from canonry.canon.commands.retcon_items import retcon_item
from canonry.canon.commands.universes import create_universe
from canonry.canon.queries import explain
from canonry.canon.queries.listings import EntityInFull, get_entity
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Receipt
from canonry.canon.session.lookup import require_item
from canonry.gateway.replies import Field, Shape, array, object_schema, optional_field
from canonry.gateway.tool import Arguments, Cached, Noted, Reply
from canonry.log import entries as log
from canonry.log.folding import facts_key, item_key, listing_key, relations_key
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Scene, Turn
from canonry.log.items.sources import Snippet, Source
from canonry.narrative.toolset.contract import make_tool
from canonry.narrative.toolset.search import SOURCE_TEXT, TRANSCRIPT
from canonry.narrative.toolset.shapes import ENTITY, TABLE, Created, RowShape, name_in
from canonry.values.errors import InvalidInput
from canonry.values.ids import SpaceDraft, SpaceKind
from canonry.values.observations import Observation
from canonry.values.provenance import CanonLevel

_RELATED: Final = TABLE.make_shape("related")
"""A relation with the entity at its other end."""


def _related_rows(found: EntityInFull) -> list[dict[str, Any]] | None:
    if found.relations is None:
        return None
    others = found.others or {}
    return [
        _RELATED(relation, entity_id=others[relation.id].id, name=others[relation.id].name)
        for relation in found.relations
        if relation.id in others
    ]


_ENTITY_IN_FULL: Final = TABLE.make_shape(
    "entity_in_full",
    relationships=optional_field(array(_RELATED)).from_function(_related_rows),
    relationship_total=lambda found: None if found.relations is None else found.relation_total,
    state_history_truncated=lambda found: (
        None if found.history is None else found.history_truncated
    ),
)
"""The entity, the source of each field, and the requested extras."""


def _cache_keys(arguments: Arguments, reply: Reply) -> frozenset[str]:
    asked = str(arguments["entity_id"]).lower()
    return frozenset(_keys_read({asked, reply["entity_id"], *reply["merged_entity_ids"]}, reply))


def _keys_read(family: set[str], reply: Reply) -> Iterator[str]:
    yield from map(item_key, family)
    if "relationships" in reply:
        yield from map(relations_key, family)
        for relation in reply["relationships"]:
            ends = (relation["entity_id"], relation["from_entity_id"], relation["to_entity_id"])
            yield from map(item_key, ends)
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


_UNMERGED: Final = TABLE.make_shape("unmerged")


async def _unmerge_entities(
    canon: Canon, caller: Caller, *, separated_id: str, reason: str
) -> Reply:
    kept = await unmerge_entities(canon, caller, separated_id, reason=reason)
    return _UNMERGED(kept, separated_entity_id=separated_id)


_RETCONNED: Final = TABLE.make_shape("fact_retconned", canon_level=lambda _: CanonLevel.RETCONNED)


async def _retcon_fact(canon: Canon, caller: Caller, *, fact_id: str, **how: Any) -> Reply:
    receipt = await retcon_item(canon, caller, Fact, fact_id, **how)
    instead = next(
        entry.replaced_by
        for entry in receipt.entries
        if isinstance(entry, log.FactRetconned) and entry.fact_id == fact_id
    )
    return _RETCONNED(receipt, fact_id=fact_id, replacement_fact_id=instead)


_LINKS: Final = 20  # the most scenes and sources that an explanation links to
_TRACED: Final = TABLE.make_shape("traced")
_FALL: Final = TABLE.make_shape("fall")


def _traced(traced: explain.TracedEvidence) -> dict[str, Any]:
    """Return the reference with its item's text, and the title of the item's scene or source."""
    values: dict[str, Any] = {"text": None}
    match traced.thing:
        case Turn() as turn:
            values = {"text": turn.text, "speaker": turn.speaker, "scene_id": turn.scene_id}
            values["entity_id"] = turn.entity_id
        case Scene() as scene:
            values = {"text": scene.summary, "scene_id": scene.id, "scene_title": scene.title}
        case Snippet() as snippet:
            values = {"text": snippet.text, "source_id": snippet.source_id}
            values |= {"page": snippet.page, "section": snippet.section}
        case Source() as source:
            values |= {"source_id": source.id, "source_title": source.title}
        case Axiom() as axiom:
            values = {"text": axiom.statement}
        case None:
            pass
    match traced.within:
        case Scene() as scene:
            values["scene_title"] = scene.title
        case Source() as source:
            values["source_title"] = source.title
        case None:
            pass
    return _TRACED(traced, **values)


def _fall(fall: explain.ItemEnd) -> dict[str, Any]:
    match fall.entry:
        case log.FactSuperseded() as entry:
            return _FALL(fall, how="superseded", by=entry.superseded_by, until=entry.until)
        case log.RelationEnded() as entry:
            ended = {"by": entry.superseded_by, "until": entry.until, "reason": entry.reason}
            return _FALL(fall, how="superseded", **ended)
        case log.EntitiesMerged() as entry:
            return _FALL(fall, how="merged", by=entry.kept, reason=entry.reason)
        case entry:
            return _FALL(fall, how="retconned", by=entry.replaced_by, reason=entry.reason)


def _statement(found: explain.Explanation) -> str:
    match found.thing:
        case Fact() | Axiom() as item:
            return item.statement
        case Event() as event:
            return event.title
        case Entity() as entity:
            return entity.name
        case Relation() as relation:
            return f"{relation.from_id} {relation.rel_type} {relation.to_id}"
        case Proposal() as proposal:
            return f"a proposal of type {proposal.type}"
        case Observation() as observation:
            return ", ".join(observation.fields)


TABLE.kinds |= {"traced": _TRACED.with_render(_traced), "fall": _FALL.with_render(_fall)}
_EXPLAINED: Final = TABLE.make_shape(
    "explained", kind=lambda found: log.KIND_NAMES[type(found.thing)], says=_statement
)
_LEVEL: Final = TABLE.make_shape("level_shown")
_STANDINGS: Final[Mapping[type, Shape]] = {
    Entity: TABLE.make_shape("entity_standing"),
    Fact: TABLE.make_shape("fact_standing"),
    Relation: TABLE.make_shape("relation_standing"),
    Event: _LEVEL,
    Axiom: _LEVEL,
}
"""The state of an item of canon; proposals and observations have none."""
_STANDING: Final = {name: field for e in _STANDINGS.values() for name, field in e.fields.items()}
_EXPLANATION: Final = object_schema(
    _EXPLAINED.fields,
    {
        name: _STANDING[name]
        for name in ("canon_level", "replaces", "since", "until", "superseded_by", "provenance")
    },
)


async def _explain(canon: Canon, caller: Caller, *, thing_id: str) -> Reply:
    found = await explain.explain_item(canon, caller, thing_id)
    standing = _STANDINGS.get(type(found.thing))
    reply = _EXPLAINED(found) | (standing(found.thing) if standing else {})
    places = {e.container.id: e.container for e in found.evidence if e.container is not None}
    links = (
        (SOURCE_TEXT if isinstance(each, Source) else TRANSCRIPT).link_to(each.id, each.title)
        for each in places.values()
    )
    return Noted(reply=reply, parts=tuple(islice(links, _LINKS)))


_ROWS: Final = {Event: RowShape("event"), Fact: RowShape("fact")}
TABLE.kinds |= {f"{log.KIND_NAMES[kind]}_row": Field(row.schema) for kind, row in _ROWS.items()}
_ITEM: Final = TABLE.make_shape("timeline_item", kind=lambda each: log.KIND_NAMES[type(each)])
TABLE.kinds["timeline_items"] = Field(array(_ITEM).schema)
_TIMELINE: Final = TABLE.make_shape("timeline")


async def _get_timeline(
    canon: Canon, caller: Caller, *, universe_id: str, window: explain.Window, detail: bool
) -> Reply:
    found = await explain.read_timeline(canon, caller, universe_id, window)
    rows = [_ROWS[type(each.item)](each.item, detail=detail) for each in found.items]
    await name_in(canon, caller, rows)
    items = [
        _ITEM(each.item, **{log.KIND_NAMES[type(each.item)]: row})
        for each, row in zip(found.items, rows, strict=True)
    ]
    return _TIMELINE(found, items=items)


async def _get_entity_at(canon: Canon, caller: Caller, *, entity_id: str, **_: Any) -> Entity:
    if canon.now is None:
        message = "Give /at for a story time, or /as_known_at for a time of recording."
        raise InvalidInput("time.missing", message, path="/at")
    return await require_item(canon, caller, Entity, entity_id)


TOOLS: Final = (
    make_tool(
        "neo4j_create_universe",
        partial(_create_space, kind=SpaceKind.UNIVERSE),
        Created(TABLE.make_shape("created_universe"), SpaceDraft),
    ),
    make_tool(
        "neo4j_create_multiverse",
        partial(_create_space, kind=SpaceKind.MULTIVERSE),
        Created(TABLE.make_shape("created_multiverse"), SpaceDraft),
    ),
    make_tool(
        "neo4j_get_entity",
        _get_entity,
        Field(_ENTITY_IN_FULL.schema),
        cached=Cached(seconds=lambda _, __: 300.0, depends_on=_cache_keys),
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
    make_tool("neo4j_retcon_fact", _retcon_fact, Field(_RETCONNED.schema)),
    make_tool("neo4j_explain", _explain, Field(_EXPLANATION)),
    make_tool("neo4j_get_timeline", _get_timeline, Field(_TIMELINE.schema)),
    make_tool("neo4j_get_entity_at", _get_entity_at, ENTITY),
)
