"""Search canon, passages and relations."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from operator import attrgetter
from typing import Final, NamedTuple

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import covered_spaces, require_item
from canonry.language.texts.stems import stems_of
from canonry.log.entries import StoredItem
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Fact, Relation
from canonry.log.items.sources import Source
from canonry.readmodels import ranking
from canonry.readmodels.passages import STANDING, Collection, Passage, names_of, passages_of
from canonry.readmodels.ports.state import RelationQuery, Spaces
from canonry.readmodels.ports.text import TextQuery
from canonry.recall.domain.context import without_repeats
from canonry.recall.domain.questions import read_times
from canonry.recall.usecases.find_passages import (
    MEANING_BEHIND,
    MEANING_MISSING,
    RERANKING_MISSING,
    WORDS_MISSING,
    FoundPassage,
    FoundPassages,
    find_passages,
    shorten_query,
)
from canonry.values.calendars.reckoning import GREGORIAN
from canonry.values.errors import InvalidInput, NotAllowed
from canonry.values.ids import EntityId
from canonry.values.policy import RankingWeights

RELATIONS_MAX: Final = 100
"""The most relations of found entities that are searched, the newest."""


class RankedRelation(NamedTuple):
    """A relation with its rank and its text."""

    relation: Relation
    ranked: ranking.Ranked
    text: str
    by_words: float


async def find_relations(
    canon: Canon, spaces: Spaces, text: str, ends: frozenset[EntityId]
) -> tuple[Sequence[FoundPassage], Mapping[str, Relation]]:
    """Return current relations of `ends` that share words with `text`, as passages, best first.

    They are not indexed, because their text consists of the names of their ends, which change.
    """
    if not ends:
        return (), {}
    query = RelationQuery(
        spaces=spaces, entities=ends, current=True, newest_first=True, limit=RELATIONS_MAX
    )
    page = await canon.state.relations(query)
    standing = [each for each in page.items if each.level in STANDING]
    found = await rank_relations(canon, spaces, text, standing)
    return [_relation_passage(e) for e in found], {e.relation.id: e.relation for e in found}


async def rank_relations(
    canon: Canon, spaces: Spaces, text: str, relations: Iterable[Relation]
) -> Sequence[RankedRelation]:
    """Return the relations that share words with `text`, best first, ranked like passages."""
    known: dict[str, Relation] = {each.id: each for each in relations}
    ends = {i for each in known.values() for i in (each.from_id, each.to_id)}
    names = await canon.query_scope(spaces).root_entities(ends) if ends else {}
    texts = {i: _relation_names(each, names) for i, each in known.items()}
    return [
        RankedRelation(
            relation=known[each.id],
            ranked=each,
            text=relation_text(known[each.id], names),
            by_words=raw / (raw + 1),
        )
        for each, raw in ranked_by_words(text, texts, canon.policy.ranking)
    ]


def ranked_by_words(
    text: str, texts: Mapping[str, str], weights: RankingWeights
) -> Sequence[tuple[ranking.Ranked, float]]:
    """Return those of `texts` that share words with `text`, each with its measure."""
    stems = {i: stems_of(each) for i, each in texts.items()}
    measure = ranking.measure_of(ranking.parse_query(text), list(stems.values()))
    shares = {i: found for i, each in stems.items() if (found := measure.term_shares(each))}
    sums = {i: sum(each.values()) for i, each in shares.items()}
    best = shares[max(sums, key=sums.__getitem__)] if sums else {}
    candidates = [ranking.PassageCandidate(i, None, 0, each, None) for i, each in shares.items()]
    return [
        (e, sums[e.id])
        for e in ranking.rank_passages(measure.analyse_query(best), candidates, weights)
    ]


def relation_text(relation: Relation, names: Mapping[str, Entity]) -> str:
    """Return the text of a relation, with the names of its ends."""
    ends = [names[i].name if i in names else i for i in (relation.from_id, relation.to_id)]
    return f"{ends[0]} {_relation_verb(relation)} {ends[1]}"


def _relation_names(relation: Relation, names: Mapping[str, Entity]) -> str:
    """Return the text of a relation with all names of its ends."""
    ends = (names[i] for i in (relation.from_id, relation.to_id) if i in names)
    called = " ".join(name for end in ends for name in names_of(end))
    return f"{_relation_verb(relation)} {called}"


def _relation_verb(relation: Relation) -> str:
    return relation.rel_type.replace("_", " ").lower()


def _relation_passage(found: RankedRelation) -> FoundPassage:
    relation, ranked = found.relation, found.ranked
    passage = Passage(
        id=relation.id,
        collection=Collection.FACTS,
        kind="relation",
        space=relation.space,
        text=found.text,
        entities=(relation.from_id, relation.to_id),
        at=relation.created_at,
    )
    return FoundPassage(
        passage=passage,
        score=ranked.shown,
        strength=ranked.score,
        by_words=found.by_words,
        why=ranked.why,
    )


MEMORY_READERS: Final = frozenset({"ContextAssembly", "MemoryManager"})
"""The agent types that may search memories unless the policy opens them."""

_SERVED: Final[Mapping[Collection, frozenset[str]]] = {
    Collection.SCENES: frozenset({"universe_id", "entity_id"}),
    Collection.MEMORIES: frozenset({"universe_id", "entity_id"}),
    Collection.SNIPPETS: frozenset({"universe_id", "source_id"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """The search text and its filters; hits below `min_score` are left out."""

    collection: Collection
    text: str
    universe_id: str | None = None
    entity_id: str | None = None
    source_id: str | None = None
    min_score: float = 0.0
    limit: int = 10


async def search_passages(canon: Canon, caller: Caller, request: SearchRequest) -> FoundPassages:
    """Return the best passages that the caller may read, with their scenes and sources.

    Raises:
        NotAllowed: `memories.closed`, the caller's agent type may not search memories.
        InvalidInput: `search.filter-not-served`, the collection has no such filter.
        NotFound: `universe.unknown`, `entity.unknown` or `source.unknown`.
    """
    _require_readable(canon, caller, request.collection)
    served = _SERVED[request.collection]
    for name in ("universe_id", "entity_id", "source_id"):
        if getattr(request, name) is not None and name not in served:
            advice = ", ".join(sorted(served))
            message = f"{request.collection} has no filter {name}. Its filters are {advice}."
            path = f"/filters/{name}"
            raise InvalidInput("search.filter-not-served", message, path=path)
    spaces = await covered_spaces(canon, caller, request.universe_id)
    entities: frozenset[str] = frozenset()
    if request.entity_id is not None:
        entities = frozenset(
            family_of(await require_item(canon, caller, Entity, request.entity_id))
        )
    source_id = request.source_id
    if source_id is not None:
        source_id = (await require_item(canon, caller, Source, source_id)).id
    query = TextQuery(
        collection=request.collection,
        text=request.text,
        spaces=spaces,
        entities=entities,
        source_id=source_id,
        limit=request.limit,
    )
    found = await find_passages(canon, query)
    hits = [hit for hit in found.hits if hit.score >= request.min_score]
    passages = [hit.passage for hit in hits]
    around = {i for p in passages for i in (p.scene_id, p.source_id) if i is not None}
    around |= {entity for p in passages if p.kind == "turn" for entity in p.entities}
    seen = canon.query_scope(query.spaces)
    items = {**found.items, **await seen.items_by_id(around - found.items.keys())}
    return FoundPassages(hits=hits, items=items, degraded=found.degraded, behind=found.behind)


def _require_readable(canon: Canon, caller: Caller, collection: Collection) -> None:
    agent_type = caller.actor.agent_type
    if collection is not Collection.MEMORIES or canon.policy.memories_open:
        return
    if agent_type not in MEMORY_READERS:
        message = f"Agent type '{agent_type}' is not authorized to search memory_chunks"
        raise NotAllowed(
            "memories.closed",
            message,
            tool=caller.tool,
            agent_type=agent_type,
            allowed_types=sorted(MEMORY_READERS),
        )


class CanonKind(StrEnum):
    """The kinds of canon: entities, facts, lore, relations, events and laws."""

    ENTITY = "entity"
    FACT = "fact"
    LORE = "lore"
    RELATION = "relation"


COLLECTIONS: Final[Mapping[CanonKind, Collection]] = {
    CanonKind.ENTITY: Collection.ENTITIES,
    CanonKind.FACT: Collection.FACTS,
    CanonKind.LORE: Collection.LORE,
}

_DEGRADED: Final = (MEANING_MISSING, MEANING_BEHIND, WORDS_MISSING, RERANKING_MISSING)
_FACTS: Final = 100
_ENDS: Final = 5  # the number of found entities whose relations are searched


async def search_canon(
    canon: Canon,
    caller: Caller,
    universe_id: str | None,
    text: str,
    kinds: frozenset[CanonKind],
    *,
    limit: int,
) -> FoundPassages:
    """Return the best hits of all kinds; a merged entity is replaced by its survivor.

    A smaller limit gives a prefix of the results. Superseded items come after all current ones,
    unless the text names a time.

    Raises:
        NotFound: `universe.unknown`.
    """
    spaces = await covered_spaces(canon, caller, universe_id)
    text = (await shorten_query(canon, _canon_query(CanonKind.ENTITY, text, spaces))).text
    searched = kinds | {CanonKind.ENTITY} if CanonKind.RELATION in kinds else kinds
    kept = sorted(searched & COLLECTIONS.keys())
    parts = (_best_hits(canon, _canon_query(kind, text, spaces), limit) for kind in kept)
    found = dict(zip(kept, await asyncio.gather(*parts), strict=True))
    items = {i: item for each in found.values() for i, item in each.items.items()}
    hits = [hit for kind, each in found.items() if kind in kinds for hit in each.hits]
    if CanonKind.RELATION in kinds:
        first = found[CanonKind.ENTITY].hits[:_ENDS]
        relations, of = await find_relations(
            canon, spaces, text, frozenset(EntityId(hit.passage.id) for hit in first)
        )
        hits, items = [*hits, *relations], {**items, **of}
    hits.sort(key=lambda hit: (-hit.strength, hit.passage.id))
    if not read_times(text, GREGORIAN, None):
        hits = _current_first(hits, items)
    return FoundPassages(
        hits=hits[:limit],
        items=items,
        degraded=degraded_of(*(each.degraded for each in found.values())),
        behind=max((each.behind for each in found.values()), default=0),
    )


def _canon_query(kind: CanonKind, text: str, spaces: Spaces) -> TextQuery:
    return TextQuery(collection=COLLECTIONS[kind], text=text, spaces=spaces)


def _current_first(
    hits: Sequence[FoundPassage], items: Mapping[str, StoredItem]
) -> list[FoundPassage]:
    """Move current items before ended ones; scores are capped so that they stay in order."""

    def is_superseded(hit: FoundPassage) -> bool:
        thing = items.get(hit.passage.id)
        return isinstance(thing, Fact) and thing.superseded

    current = [hit for hit in hits if not is_superseded(hit)]
    least = min((hit.score for hit in current), default=1.0)
    return [*current, *(replace(h, score=min(h.score, least)) for h in hits if is_superseded(h))]


async def _best_hits(canon: Canon, query: TextQuery, limit: int) -> FoundPassages:
    """Return the best `limit` of one collection, after merged entities fall together."""
    hits: Sequence[FoundPassage] = ()
    least = _FACTS if query.collection is Collection.FACTS else 0
    limit = max(limit, least)  # superseded items come last among so many
    for wide in (limit * times for times in (1, 4, 16)):  # while too few hits remain
        found = await find_passages(canon, replace(query, limit=wide))
        merged = (t for t in found.items.values() if isinstance(t, Entity))
        roots = {e.merged_into for e in merged if e.merged_into} - found.items.keys()
        items = {**found.items, **await canon.query_scope(query.spaces).items_by_id(roots)}
        shown = (each for hit in found.hits for each in _surviving_hits(hit, items))
        hits = without_repeats(shown, attrgetter("passage.id"))[:limit]
        if len(hits) == limit or len(found.hits) < wide:
            break
    return FoundPassages(hits=hits, items=items, degraded=found.degraded, behind=found.behind)


def _surviving_hits(hit: FoundPassage, items: Mapping[str, StoredItem]) -> Iterator[FoundPassage]:
    """Yield the hit, with its entity replaced by the survivor, if that is canon."""
    item = items.get(hit.passage.id)
    if not isinstance(item, Entity) or item.merged_into is None:
        yield hit
    elif (root := items.get(item.merged_into)) is not None:
        yield from (replace(hit, passage=passage) for passage in passages_of(root))


def degraded_of(*parts: Sequence[str]) -> tuple[str, ...]:
    """Return what any of several searches could not use, each once."""
    missing = {name for part in parts for name in part}
    return tuple(name for name in _DEGRADED if name in missing)
