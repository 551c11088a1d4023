"""Search tools, and resources with their completions."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from canonry.canon.queries import listings
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require_item, require_universe
from canonry.gateway.replies import Field, Shape, array
from canonry.gateway.tool import (
    SEARCHED_FIRST,
    Completion,
    CompletionPage,
    FindCompletions,
    Reply,
    Resource,
)
from canonry.log.entries import StoredItem
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.scenes import Scene, Speaker, Turn
from canonry.log.items.sources import Snippet, Source
from canonry.narrative.toolset.contract import make_tool
from canonry.narrative.toolset.shapes import ENTITY, TABLE, name_in
from canonry.narrative.usecases.scenes import TurnPage, get_turns, query_scenes, recall_memories
from canonry.readmodels.passages import Collection, Passage
from canonry.readmodels.ports.documents import SceneQuery
from canonry.readmodels.ports.state import EventQuery
from canonry.readmodels.ranking import Why
from canonry.recall.usecases.find_passages import (
    MEANING_MISSING,
    WORDS_MISSING,
    FoundPassage,
    FoundPassages,
    passage_times,
)
from canonry.recall.usecases.search import CanonKind, SearchRequest, search_canon, search_passages
from canonry.values.errors import NotFound
from canonry.values.ids import is_uuid
from canonry.values.moments import Instant, render_instant
from canonry.values.provenance import CanonLevel, Evidence, EvidenceKind

_WITH_TIMES: Final = frozenset({Collection.SCENES, Collection.MEMORIES, Collection.SNIPPETS})
_CITED: Final = {
    "turn": EvidenceKind.TURN,
    "scene_summary": EvidenceKind.SCENE,
    "snippet": EvidenceKind.SNIPPET,
    "axiom": EvidenceKind.RULE,
}


def _evidence_of(hit: FoundPassage) -> str | None:
    """Return the evidence that the passage supplies; memories and canon supply none.

    A law of the world is cited as a rule.
    """
    kind = _CITED.get(hit.passage.kind)
    return None if kind is None else str(Evidence(kind=kind, ref=hit.passage.id))


def _found_by(why: Why) -> str:
    if why.meaning > 0:
        return "both" if why.terms else "meaning"
    return "keywords" if why.terms else "nearby"


TABLE.make_shape("reason", by=_found_by, terms=lambda why: [term for term, _ in why.terms])
_HIT: Final = TABLE.make_shape("hit", evidence_ref=_evidence_of)
_SHORT: Final = TABLE.make_shape("short_hit")

_CANONICAL: Final[Mapping[type, Shape]] = {
    Entity: TABLE.make_shape("found_entity"),
    Fact: TABLE.make_shape("found_fact"),
    Event: TABLE.make_shape("found_event"),
    Axiom: TABLE.make_shape("found_axiom"),
    Relation: TABLE.make_shape("found_relation"),
}
"""The members that show whether canon holds and how far it can be trusted."""


def hit_of(hit: FoundPassage, items: Mapping[str, StoredItem], *, detail: bool) -> dict[str, Any]:
    """Return a found passage; `detail` adds the reasons."""
    return (_HIT if detail else _SHORT)(hit, payload=_hit_payload(hit.passage, items))


def _rendered_time(instant: Instant | None) -> str | None:
    return None if instant is None else render_instant(instant)


def _speaker_name(item: StoredItem | None, items: Mapping[str, StoredItem]) -> str | None:
    """Return the speaker of a turn, by name for an entity."""
    if not isinstance(item, Turn):
        return None
    entity = items.get(item.entity_id or "")
    return entity.name if isinstance(entity, Entity) else item.speaker.display_name


HITS: Final[Field] = array(_HIT).with_render(
    lambda found: [hit_of(hit, found[1], detail=True) for hit in found[0]]
)
"""Found passages, from a pair: the passages and their items."""


def _hit_payload(passage: Passage, items: Mapping[str, StoredItem]) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "type": passage.kind,
        "universe_id": passage.space,
        "timestamp": render_instant(passage.at),
    }
    if passage.collection in _WITH_TIMES and passage.id in items:
        times = passage_times(items[passage.id], items)
        payload |= {
            "said_at": _rendered_time(times.said_at),
            "in_world": _rendered_time(times.in_world),
        }
    scene = items.get(passage.scene_id or "")
    source = items.get(passage.source_id or "")
    match passage.collection:
        case Collection.SCENES:
            payload |= {"scene_id": passage.scene_id, "entity_ids": list(passage.entities)}
            payload["turn_index"] = passage.turn_index
            payload["speaker"] = _speaker_name(items.get(passage.id), items)
            payload["story_id"] = scene.story_id if isinstance(scene, Scene) else None
            payload["scene_title"] = scene.title if isinstance(scene, Scene) else None
        case Collection.MEMORIES:
            payload |= {"memory_id": passage.id, "scene_id": passage.scene_id}
            payload |= {"entity_id": next(iter(passage.entities), None)}
            payload["importance"] = passage.importance
        case Collection.SNIPPETS:
            snippet = items.get(passage.id)
            payload |= {"snippet_id": passage.id, "source_id": passage.source_id}
            payload["doc_id"] = source.doc_id if isinstance(source, Source) else None
            payload["source_title"] = source.title if isinstance(source, Source) else None
            payload["page"] = snippet.page if isinstance(snippet, Snippet) else None
            payload["section"] = snippet.section if isinstance(snippet, Snippet) else None
        case Collection.ENTITIES | Collection.FACTS | Collection.LORE:
            item = items.get(passage.id)
            shape = _CANONICAL.get(type(item))
            payload |= shape(item) if shape else {}
    return payload


# Search tools. Their results are hints and never evidence.

TABLE.kinds["hit_rows"] = Field(HITS.schema)
_FOUND: Final = TABLE.make_shape("found")


async def _show_hits(canon: Canon, caller: Caller, found: FoundPassages, *, detail: bool) -> Reply:
    rows = [hit_of(hit, found.items, detail=detail) for hit in found.hits]
    await name_in(canon, caller, [row["payload"] for row in rows])
    return _FOUND(found, results=rows)


async def _semantic_search(
    canon: Canon, caller: Caller, *, request: SearchRequest, detail: bool
) -> Reply:
    found = await search_passages(canon, caller, request)
    return await _show_hits(canon, caller, found, detail=detail)


async def _search_canon(
    canon: Canon,
    caller: Caller,
    *,
    text: str,
    kinds: frozenset[CanonKind],
    universe_id: str | None,
    limit: int,
    detail: bool,
) -> Reply:
    found = await search_canon(canon, caller, universe_id, text, kinds, limit=limit)
    return await _show_hits(canon, caller, found, detail=detail)


BY_WORDS, BY_MEANING, BY_BOTH = "keywords", "meaning", "both"
_SCORED: Final = TABLE.make_shape("scored_memory")
_METADATA: Final = TABLE.make_shape("recall_metadata", dict)
_RECALLED: Final = TABLE.make_shape(
    "recalled_memories",
    memories=array(_SCORED).from_function(
        lambda found: [_SCORED(memory, score=score) for memory, score in found.memories]
    ),
)


def _searched_by(degraded: Sequence[str]) -> str | None:
    """Return how the memories were compared with the query; None: not at all."""
    if MEANING_MISSING not in degraded:
        return BY_MEANING if WORDS_MISSING in degraded else BY_BOTH
    return None if WORDS_MISSING in degraded else BY_WORDS


async def _recall_memories(
    canon: Canon, caller: Caller, *, entity_id: str, query: str | None, **how: Any
) -> Reply:
    found = await recall_memories(canon, caller, entity_id, query=query, **how)
    meaning = None if query is None else _searched_by(found.degraded)
    return _RECALLED(found, metadata=_METADATA(found, meaning=meaning))


TURNS_SHOWN: Final = 500  # bounds a reply
EVENTS_SHOWN: Final = 500  # bounds a reply
SNIPPETS_SHOWN: Final = 500  # bounds a reply
CHARACTERS_SHOWN: Final = 200_000


async def _show_entity(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    entity_id = _id_of(variables, "entity_id", "entity")
    found = await listings.get_entity(canon, caller, entity_id, relations=False, history=False)
    return json.dumps(ENTITY(found.entity), ensure_ascii=False, indent=2)


async def _show_transcript(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    scene_id = _id_of(variables, "scene_id", "scene")
    page = await get_turns(canon, caller, scene_id, after=-1, limit=TURNS_SHOWN)
    return "\n\n".join(_transcript_parts(page)) + "\n"


def _transcript_parts(page: TurnPage) -> Iterator[str]:
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
    return turn.speaker.display_name.capitalize()


async def _show_source(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    source_id = _id_of(variables, "source_id", "source")
    page = await listings.query_snippets(canon, caller, source_id, limit=SNIPPETS_SHOWN, offset=0)
    source = await require_item(canon, caller, Source, source_id)
    parts = [f"# {source.title}", *_texts_within(snippet.text for snippet in page.items)]
    left = page.total - (len(parts) - 1)
    if left:
        parts.append(f"({left} more parts; mongodb_query_snippets returns them.)")
    return "\n\n".join(parts) + "\n"


def _texts_within(texts: Iterable[str]) -> Iterator[str]:
    """Yield as many of the texts as fit into a resource."""
    size = 0
    for text in texts:
        size += len(text)
        if size > CHARACTERS_SHOWN:
            return
        yield text


async def _show_timeline(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    universe_id = _id_of(variables, "universe_id", "universe")
    universe = await require_universe(canon, caller, universe_id)
    offset = 0
    for _ in range(2):
        query = EventQuery(level=CanonLevel.CANON, limit=EVENTS_SHOWN, offset=offset)
        page = await listings.query_asserted(canon, caller, query, universe_id=universe.id)
        if page.total - offset <= EVENTS_SHOWN:
            break
        offset = page.total - EVENTS_SHOWN
    parts = [f"# Timeline of {universe.name}"]
    if offset:
        parts.append(f"({offset} earlier events are left out; neo4j_query_events returns them.)")
    parts.extend(_event_line(event) for event in page.items)
    return "\n\n".join(parts) + "\n"


def _event_line(event: Event) -> str:
    at = event.time_ref
    when = event.time_words or ("undated" if at is None else render_instant(at))
    return f"- **{when}**: {event.title} ({event.id})\n  {event.description}".rstrip()


def _id_of(variables: Mapping[str, str], name: str, kind: str) -> str:
    """Return the id in the URI; a text that is no id raises NotFound."""
    given = variables[name]
    if not is_uuid(given):
        raise NotFound(f"{kind}.unknown", f"The URI must have the UUID of a {kind}.", kind=kind)
    return given.lower()


TRANSCRIPT: Final = TABLE.make_resource("scene-transcript", _show_transcript)
SOURCE_TEXT: Final = TABLE.make_resource("source", _show_source)
RESOURCES: Final[tuple[Resource, ...]] = (
    TABLE.make_resource("entity", _show_entity),
    TRANSCRIPT,
    SOURCE_TEXT,
    TABLE.make_resource("universe-timeline", _show_timeline),
)


async def _complete_universes(canon: Canon, caller: Caller, asked: Completion) -> CompletionPage:
    found = await listings.query_universes(canon, caller, parent=None, **asked.page_read)
    return asked.page_among([(each.id, each.name) for each in found.items], found.total)


async def _complete_scenes(canon: Canon, caller: Caller, asked: Completion) -> CompletionPage:
    query = SceneQuery(**asked.page_read)
    found = await query_scenes(canon, caller, query, universe_id=None)
    named = [(each.id, each.title or f"Scene {each.order}") for each in found.items]
    return asked.page_among(named, found.total)


async def _complete_entities(canon: Canon, caller: Caller, asked: Completion) -> CompletionPage:
    page = await listings.query_entities(canon, caller, asked.entity_query(), universe_id=None)
    return [(each.id, f"{each.name} ({each.entity_type})") for each in page.items], page.total


async def _complete_sources(canon: Canon, caller: Caller, asked: Completion) -> CompletionPage:
    """Return the sources of the universes that the caller may see, universe by universe."""
    universes = await listings.query_universes(
        canon, caller, parent=None, limit=SEARCHED_FIRST, offset=0
    )
    named: list[tuple[str, str]] = []
    for each in universes.items:
        page = await listings.query_sources(canon, caller, each.id, limit=SEARCHED_FIRST, offset=0)
        named += [(source.id, source.title) for source in page.items]
    return asked.page_of(named)


COMPLETIONS: Final[Mapping[str, FindCompletions]] = {
    "universe_id": _complete_universes,
    "scene_id": _complete_scenes,
    "entity_id": _complete_entities,
    "source_id": _complete_sources,
}


TOOLS: Final = (
    make_tool("mongodb_retrieve_character_memories", _recall_memories, Field(_RECALLED.schema)),
    make_tool("qdrant_semantic_search", _semantic_search, Field(_FOUND.schema)),
    make_tool("qdrant_search_canon", _search_canon, Field(_FOUND.schema)),
)
