"""Search tools, and resources with their completions."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from canonry.canon.queries.listings import (
    get_entity,
    query_asserted,
    query_entities,
    query_snippets,
    query_sources,
    query_universes,
)
from canonry.canon.queries.names import AT
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require, require_universe
from canonry.gateway.catalogue import LOOKED_THROUGH, beginning, through
from canonry.gateway.replies import (
    BOOLEAN,
    COUNT,
    INSTANT,
    INTEGER,
    NUMBER,
    OBJECT,
    SHARE,
    TEXT,
    UUID,
    Field,
    Shape,
    array,
    enum,
    given,
    itself,
    nullable,
    obj,
    optional,
)
from canonry.gateway.tool import ANYONE, Arguments, Reply, Resource, Shelf, Shelved
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.scenes import MemoryDraft, Scene, Speaker, Turn
from canonry.log.items.sources import Snippet, Source
from canonry.narrative.toolset import shapes
from canonry.narrative.toolset.contract import contract_tool, reading_tool
from canonry.narrative.usecases.scenes import (
    Recollection,
    TurnPage,
    get_turns,
    keep_memory,
    query_scenes,
    recall_memories,
)
from canonry.readmodels.passages import Collection, Passage
from canonry.readmodels.ports.documents import SceneQuery
from canonry.readmodels.ports.state import EntityQuery, EventQuery
from canonry.readmodels.ranking import Why
from canonry.recall.usecases.find_passages import (
    MEANING_MISSING,
    WORDS_MISSING,
    FoundPassage,
    FoundPassages,
    when_said,
)
from canonry.recall.usecases.search import CanonKind, SearchRequest, search_canon, search_passages
from canonry.values.errors import NotFound
from canonry.values.ids import Space, is_uuid
from canonry.values.moments import Instant, render_instant
from canonry.values.provenance import CanonLevel, Evidence, EvidenceKind

_DIGITS: Final = 4
_SAID: Final = frozenset({Collection.SCENES, Collection.MEMORIES, Collection.SNIPPETS})
_CITED: Final = {
    "turn": EvidenceKind.TURN,
    "scene_summary": EvidenceKind.SCENE,
    "snippet": EvidenceKind.SNIPPET,
    "axiom": EvidenceKind.RULE,
}


def _cited(hit: FoundPassage) -> str | None:
    """Return the evidence that the passage supplies; memories and canon supply none.

    A law of the world is cited as a rule.
    """
    kind = _CITED.get(hit.passage.kind)
    return None if kind is None else str(Evidence(kind=kind, ref=hit.passage.id))


def _found_by(why: Why) -> str:
    if why.meaning > 0:
        return "both" if why.terms else "meaning"
    return "keywords" if why.terms else "nearby"


_ROUNDED: Final = NUMBER.by(lambda number: round(number, _DIGITS))
_PARTS: Final = Shape(
    keywords=_ROUNDED, meaning=_ROUNDED, nearby=_ROUNDED, named=_ROUNDED, dated=_ROUNDED
)
_WHY: Final = Shape(
    by=enum("keywords", "meaning", "both", "nearby").of(_found_by),
    terms=array(TEXT).of(lambda why: [term for term, _ in why.terms]),
    similarity=_ROUNDED,
    parts=_PARTS.of(itself),
)
"""The words and similarity by which a passage was found, and the parts of its strength.

The sum of the parts decides the order. The score measures how well the passage matches.
"""
_HIT: Final = Shape(
    id=UUID.of("passage.id"),
    score=SHARE.by(lambda number: round(number, _DIGITS)),
    payload=given(OBJECT),
    text=TEXT.of("passage.text"),
    evidence_ref=nullable(TEXT).of(_cited),
    why=optional(_WHY),
)
_SHORT: Final = Shape(**{name: each for name, each in _HIT.fields.items() if name != "why"})

_TRUST: Final = shapes.ENTITY.only("authority", "confidence", "canon_level")
_CANONICAL: Final[Mapping[type, Shape]] = {
    Entity: Shape(
        **shapes.ENTITY.only("entity_id", "name", "entity_class", "entity_type", "state_tags"),
        **_TRUST,
    ),
    Fact: Shape(
        **shapes.FACT.only("fact_id", "involved_entity_ids", "time_ref"),
        until=nullable(INSTANT).of("ends_at"),
        superseded=BOOLEAN,
        **_TRUST,
    ),
    Event: Shape(
        **shapes.EVENT.only("event_id", "title", "involved_entity_ids", "time_ref", "severity"),
        **_TRUST,
    ),
    Axiom: Shape(**shapes.AXIOM.only("axiom_id", "domain"), **_TRUST),
    Relation: Shape(
        **shapes.RELATION.only("relationship_id", "rel_type", "from_entity_id", "to_entity_id"),
        **shapes.RELATION.only("since", "until", "current"),
        **_TRUST,
    ),
}
"""The members that show whether canon holds and how far it can be trusted."""


def hit_of(hit: FoundPassage, things: Mapping[str, Thing], *, detail: bool) -> dict[str, Any]:
    """Return a found passage; `detail` adds the reasons."""
    return (_HIT if detail else _SHORT)(hit, payload=_payload(hit.passage, things))


def _time(instant: Instant | None) -> str | None:
    return None if instant is None else render_instant(instant)


def _speaker(thing: Thing | None, things: Mapping[str, Thing]) -> str | None:
    """Return the speaker of a turn, by name for an entity."""
    if not isinstance(thing, Turn):
        return None
    entity = things.get(thing.entity_id or "")
    return entity.name if isinstance(entity, Entity) else thing.speaker.called


HITS: Final[Field] = array(_HIT).by(
    lambda found: [hit_of(hit, found[1], detail=True) for hit in found[0]]
)
"""Found passages, from a pair: the passages and their items."""


def _payload(passage: Passage, things: Mapping[str, Thing]) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "type": passage.kind,
        "universe_id": passage.space,
        "timestamp": render_instant(passage.at),
    }
    if passage.collection in _SAID and passage.id in things:
        said = when_said(things[passage.id], things)
        payload |= {"said_at": _time(said.said_at), "in_world": _time(said.in_world)}
    scene = things.get(passage.scene_id or "")
    source = things.get(passage.source_id or "")
    match passage.collection:
        case Collection.SCENES:
            payload |= {"scene_id": passage.scene_id, "entity_ids": list(passage.entities)}
            payload["turn_index"] = passage.place
            payload["speaker"] = _speaker(things.get(passage.id), things)
            payload["story_id"] = scene.story_id if isinstance(scene, Scene) else None
            payload["scene_title"] = scene.title if isinstance(scene, Scene) else None
        case Collection.MEMORIES:
            payload |= {"memory_id": passage.id, "scene_id": passage.scene_id}
            payload |= {"entity_id": next(iter(passage.entities), None)}
            payload["importance"] = passage.importance
        case Collection.SNIPPETS:
            snippet = things.get(passage.id)
            payload |= {"snippet_id": passage.id, "source_id": passage.source_id}
            payload["doc_id"] = source.doc_id if isinstance(source, Source) else None
            payload["source_title"] = source.title if isinstance(source, Source) else None
            payload["page"] = snippet.page if isinstance(snippet, Snippet) else None
            payload["section"] = snippet.section if isinstance(snippet, Snippet) else None
        case Collection.ENTITIES | Collection.FACTS | Collection.LORE:
            thing = things.get(passage.id)
            shape = _CANONICAL.get(type(thing))
            payload |= shape(thing) if shape else {}
    return payload


# Search tools. Their results are hints and never evidence.

SEARCH_MAX: Final = 100
_FOUND: Final = Shape(results=given(Field(HITS.schema)), degraded=array(TEXT), behind=COUNT)


async def _search_hits(
    canon: Canon, caller: Caller, found: FoundPassages, arguments: Arguments
) -> list[dict[str, Any]]:
    detail = bool(arguments.get("detail"))
    rows = [hit_of(hit, found.things, detail=detail) for hit in found.hits]
    await shapes.name_in(canon, caller, [row["payload"] for row in rows])
    return rows


@contract_tool(
    "qdrant_semantic_search",
    "Search passages of scenes, sources or (memory roles) memories by meaning; they are hints,"
    ' not evidence. A "phrase" in quotes counts more, and begun* matches every word that '
    "begins so.",
    title="Search passages",
    gives=_FOUND,
    read_only=True,
    also=shapes.DETAIL,
)
async def _semantic_search(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    filters: Mapping[str, Any] = arguments.get("filters") or {}
    request = SearchRequest(
        collection=Collection(arguments["collection"]),
        text=shapes.text_of(arguments, "query_text", None),
        universe_id=shapes.optional_uuid(filters, "universe_id"),
        entity_id=shapes.optional_uuid(filters, "entity_id"),
        source_id=shapes.optional_uuid(filters, "source_id"),
        min_score=float(arguments.get("min_score", 0.0)),
        limit=shapes.limit_of(arguments, default=10, maximum=SEARCH_MAX),
    )
    found = await search_passages(canon, caller, request)
    return _FOUND(found, results=await _search_hits(canon, caller, found, arguments))


@reading_tool(
    "qdrant_search_canon",
    "Search canon for text with a similar meaning: entities, facts, events, relations, axioms "
    "and lore.",
    takes=obj(
        {"query_text": TEXT},
        {
            "kinds": array(enum(*CanonKind)),
            "universe_id": UUID,
            "limit": INTEGER.but(default=10, maximum=SEARCH_MAX),
            **shapes.DETAIL,
        },
    ),
    gives=_FOUND,
    times=(AT,),
)
async def _search_canon(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    text = shapes.text_of(arguments, "query_text", None)
    kinds = frozenset(map(CanonKind, arguments.get("kinds") or CanonKind))
    universe_id = shapes.optional_uuid(arguments, "universe_id")
    limit = shapes.limit_of(arguments, default=10, maximum=SEARCH_MAX)
    found = await search_canon(canon, caller, universe_id, text, kinds, limit=limit)
    return _FOUND(found, results=await _search_hits(canon, caller, found, arguments))


BY_WORDS, BY_MEANING, BY_BOTH = "keywords", "meaning", "both"
_CREATED: Final = Shape(memory_id=UUID.of("id"), created_at=given(INSTANT))
_SCORED: Final = Shape(**shapes.MEMORY.fields, score=nullable(given(NUMBER)))
_METADATA: Final = Shape(
    considered=COUNT,
    meaning=nullable(given(enum(BY_WORDS, BY_MEANING, BY_BOTH))),
    degraded=array(TEXT),
)
_RECALLED: Final = Shape(
    memories=array(_SCORED).made(
        lambda found: [_SCORED(memory, score=score) for memory, score in found.memories]
    ),
    total=COUNT,
    metadata=given(_METADATA.by(dict)),
)


def _searched_by(degraded: Sequence[str]) -> str | None:
    """Return how the memories were compared with the query; None: not at all."""
    if MEANING_MISSING not in degraded:
        return BY_MEANING if WORDS_MISSING in degraded else BY_BOTH
    return None if WORDS_MISSING in degraded else BY_WORDS


@contract_tool(
    "mongodb_create_character_memory",
    "Record what a character believes from now on. It may be wrong.",
    gives=_CREATED,
)
async def _create_character_memory(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    asked = Recollection(
        entity_id=shapes.uuid_of(arguments, "entity_id"),
        text=shapes.text_of(arguments, "text", canon.policy.limits.memory),
        linked_fact_id=shapes.optional_uuid(arguments, "linked_fact_id"),
        scene_id=shapes.optional_uuid(arguments, "scene_id"),
        emotional_valence=float(arguments["emotional_valence"]),
        importance=float(arguments["importance"]),
        certainty=float(arguments["certainty"]),
    )
    return shapes.created(_CREATED, await keep_memory(canon, caller, asked), MemoryDraft)


@contract_tool(
    "mongodb_retrieve_character_memories",
    "Recall a character's memories: the most important first, or by meaning, importance "
    "and recency for a query.",
    gives=_RECALLED,
    read_only=True,
)
async def _retrieve_character_memories(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    query = shapes.optional_text(arguments, "semantic_query", None)
    found = await recall_memories(
        canon,
        caller,
        shapes.uuid_of(arguments, "entity_id"),
        limit=shapes.limit_of(arguments, default=20, maximum=shapes.QUERY_MAX),
        min_importance=float(arguments.get("min_importance", 0.0)),
        query=query,
    )
    meaning = None if query is None else _searched_by(found.degraded)
    return _RECALLED(found, metadata=_METADATA(found, meaning=meaning))


TURNS_SHOWN: Final = 500
EVENTS_SHOWN: Final = 500
SNIPPETS_SHOWN: Final = 500
CHARACTERS_SHOWN: Final = 200_000


async def _entity(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    entity_id = _id_of(variables, "entity_id", "entity")
    found = await get_entity(canon, caller, entity_id, relations=False, history=False)
    return json.dumps(shapes.ENTITY(found.entity), ensure_ascii=False, indent=2)


async def _transcript(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    scene_id = _id_of(variables, "scene_id", "scene")
    page = await get_turns(canon, caller, scene_id, after=-1, limit=TURNS_SHOWN)
    return "\n\n".join(_told(page)) + "\n"


def _told(page: TurnPage) -> Iterator[str]:
    """Yield the parts of a transcript up to the bound, and where to continue."""
    yield f"# {page.scene.title}"
    yield f"{page.scene.status.value}, {page.total} turns"
    size, following = 0, page.following
    for turn in page.turns:
        size += len(turn.text)
        if size > CHARACTERS_SHOWN:
            following = turn.index - 1
            break
        yield f"**{_named_speaker(turn, page.names)}:** {turn.text}"
    if following is not None:
        yield f"(Go on with mongodb_get_turns, after_index {following}.)"
    elif page.scene.summary:
        yield f"Summary: {page.scene.summary}"


def _named_speaker(turn: Turn, names: Mapping[str, str]) -> str:
    if turn.speaker is Speaker.ENTITY:
        return names.get(turn.entity_id or "") or "Somebody"
    return turn.speaker.called.capitalize()


async def _source(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    source_id = _id_of(variables, "source_id", "source")
    page = await query_snippets(canon, caller, source_id, limit=SNIPPETS_SHOWN, offset=0)
    source = await require(canon, caller, Source, source_id)
    parts = [f"# {source.title}", *_within(snippet.text for snippet in page.items)]
    left = page.total - (len(parts) - 1)
    if left:
        parts.append(f"({left} more parts; mongodb_query_snippets returns them.)")
    return "\n\n".join(parts) + "\n"


def _within(texts: Iterable[str]) -> Iterator[str]:
    """Yield as many of the texts as fit into a resource."""
    size = 0
    for text in texts:
        size += len(text)
        if size > CHARACTERS_SHOWN:
            return
        yield text


async def _timeline(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    universe_id = _id_of(variables, "universe_id", "universe")
    universe = await require_universe(canon, caller, universe_id)
    events, left = await _last_events(canon, caller, universe)
    parts = [f"# Timeline of {universe.name}"]
    if left:
        parts.append(f"({left} earlier events are left out; neo4j_query_events returns them.)")
    parts.extend(_happening(event) for event in events)
    return "\n\n".join(parts) + "\n"


async def _last_events(canon: Canon, caller: Caller, universe: Space) -> tuple[list[Event], int]:
    offset = 0
    for _ in range(2):
        query = EventQuery(level=CanonLevel.CANON, limit=EVENTS_SHOWN, offset=offset)
        page = await query_asserted(canon, caller, query, universe_id=universe.id)
        if page.total - offset <= EVENTS_SHOWN:
            break
        offset = page.total - EVENTS_SHOWN
    return list(page.items), offset


def _happening(event: Event) -> str:
    at = event.time_ref
    when = event.time_words or ("undated" if at is None else render_instant(at))
    return f"- **{when}**: {event.title} ({event.id})\n  {event.description}".rstrip()


def _id_of(variables: Mapping[str, str], name: str, kind: str) -> str:
    """Return the id in the URI; a text that is no id raises NotFound."""
    given = variables[name]
    if not is_uuid(given):
        raise NotFound(f"{kind}.unknown", f"The URI must have the UUID of a {kind}.", kind=kind)
    return given.lower()


TRANSCRIPT: Final = Resource(
    uri_template="canonry://scene/{scene_id}/transcript",
    name="scene-transcript",
    title="Scene transcript",
    description="The transcript of a scene, from the start.",
    mime_type="text/markdown",
    roles=ANYONE,
    read=_transcript,
)
SOURCE_TEXT: Final = Resource(
    uri_template="canonry://source/{source_id}",
    name="source",
    title="Source",
    description="A source of canon, with the text that is stored.",
    mime_type="text/markdown",
    roles=ANYONE,
    read=_source,
)
RESOURCES: Final[tuple[Resource, ...]] = (
    Resource(
        uri_template="canonry://entity/{entity_id}",
        name="entity",
        title="Entity",
        description="The current state of an entity.",
        mime_type="application/json",
        roles=ANYONE,
        read=_entity,
    ),
    TRANSCRIPT,
    SOURCE_TEXT,
    Resource(
        uri_template="canonry://universe/{universe_id}/timeline",
        name="universe-timeline",
        title="Universe timeline",
        description="The canon events of a universe, in order of story time.",
        mime_type="text/markdown",
        roles=ANYONE,
        read=_timeline,
    ),
)


async def _universes(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    async def page(limit: int, offset: int) -> Shelved:
        found = await query_universes(canon, caller, parent=None, limit=limit, offset=offset)
        return [(each.id, each.name) for each in found.items], found.total

    return await through(page, word, offset, limit)


async def _scenes(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    async def page(limit: int, offset: int) -> Shelved:
        query = SceneQuery(limit=limit, offset=offset)
        found = await query_scenes(canon, caller, query, universe_id=None)
        return [
            (each.id, (each.title or f"Scene {each.order}")) for each in found.items
        ], found.total

    return await through(page, word, offset, limit)


async def _entities(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    pattern = f"{word}*" if word else None
    query = EntityQuery(name_pattern=pattern, limit=limit, offset=offset)
    page = await query_entities(canon, caller, query, universe_id=None)
    return [(each.id, f"{each.name} ({each.entity_type})") for each in page.items], page.total


async def _sources(canon: Canon, caller: Caller, word: str, offset: int, limit: int) -> Shelved:
    """Return the sources of the universes that the caller may see, universe by universe."""
    universes = await query_universes(canon, caller, parent=None, limit=LOOKED_THROUGH, offset=0)
    named: list[tuple[str, str]] = []
    for each in universes.items:
        page = await query_sources(canon, caller, each.id, limit=LOOKED_THROUGH, offset=0)
        named += [(source.id, source.title) for source in page.items]
    return beginning(named, word, offset, limit)


SHELVES: Final[Mapping[str, Shelf]] = {
    "universe_id": Shelf(find=_universes),
    "scene_id": Shelf(find=_scenes),
    "entity_id": Shelf(find=_entities),
    "source_id": Shelf(find=_sources),
}


TOOLS: Final = (
    _create_character_memory,
    _retrieve_character_memories,
    _semantic_search,
    _search_canon,
)
