"""Find items of every kind in one space: entities, statements, events, turns and texts.

Current items are searched by words and meaning; `at` keeps those that held at a story time. Items
as known at an instant are scanned as they were then, by words only.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from canonry.canon.session.canon import Canon
from canonry.canon.session.snippets import CitedBy
from canonry.canon.session.viewpoint import items_at_viewpoint, withdrawn_items
from canonry.canon.session.what_holds import Viewpoint
from canonry.log.entries import StoredItem
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.scenes import Scene, Turn
from canonry.log.items.sources import Snippet, Source
from canonry.readmodels.passages import STANDING, Collection, passages_of
from canonry.readmodels.ports.state import EntityQuery, EventQuery, FactQuery, RelationQuery
from canonry.readmodels.ports.text import TextQuery
from canonry.readmodels.ports.view import PAGE_MAX, Page
from canonry.recall.domain.questions import TimesAsked, asks_for_past, read_times
from canonry.recall.usecases.find_passages import (
    containers_of,
    find_passages,
    passage_times,
    retracted_in,
    shorten_query,
    times_meant,
)
from canonry.recall.usecases.search import degraded_of, rank_relations, ranked_by_words
from canonry.values.calendars.reckoning import GREGORIAN
from canonry.values.ids import EntityId, SpaceId

SEARCHED_MAX: Final = 2_000
"""The most items of each kind that are searched as they were known at an instant."""

_WIDER: Final = 4
_ENDS: Final = 5  # the number of found entities whose relations are searched


class FoundKind(StrEnum):
    """The kinds of items that can be found."""

    ENTITY = "entity"
    FACT = "fact"
    EVENT = "event"
    RELATION = "relation"
    PASSAGE = "passage"
    DOCUMENT = "document"
    LORE = "lore"


_PASSAGES: Final[Mapping[FoundKind, tuple[Collection, ...]]] = {
    FoundKind.ENTITY: (Collection.ENTITIES,),
    FoundKind.FACT: (Collection.FACTS,),
    FoundKind.EVENT: (Collection.FACTS,),
    FoundKind.PASSAGE: (Collection.SCENES, Collection.SNIPPETS),
    FoundKind.LORE: (Collection.LORE,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSearch:
    """The search text and its filters; `about` are all ids of one entity."""

    space: SpaceId
    text: str
    kinds: frozenset[FoundKind] = frozenset(FoundKind)
    about: frozenset[EntityId] = frozenset()
    entity_type: str | None = None
    limit: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundItems:
    """The items with their strength in [0, 1), best first.

    `truncated`: not all items were searched. `behind` counts commits without vectors. `ended`
    counts those that were left out because they ended.
    """

    found: Sequence[tuple[StoredItem, float]]
    ended: int = 0
    degraded: tuple[str, ...] = ()
    behind: int = 0
    truncated: bool = False


async def find_items(canon: Canon, search: ItemSearch) -> FoundItems:
    """Return the best items of all kinds, within a space that the caller may read.

    Retracted items are never returned, and ended ones only if the text asks for the past: those
    that held at a time that it names, or all of them if it names none, after all current ones. A
    narrowed canon returns only items that hold at its viewpoint.
    """
    asked = TextQuery(
        collection=Collection.FACTS, text=search.text, spaces=frozenset((search.space,))
    )
    search = replace(search, text=(await shorten_query(canon, asked)).text)
    past = canon.now is not None
    cited: CitedBy = {}
    if search.kinds & {FoundKind.PASSAGE, FoundKind.DOCUMENT}:
        cited = await retracted_in(canon, asked.spaces, search.text)
    passages = asyncio.ensure_future(_search_passages(canon, search, cited))
    found = await asyncio.gather(
        passages,
        _search_past(canon, search)
        if canon.viewpoint.is_past
        else _search_relations(canon, search, passages),
        _search_documents(canon, search, cited),
    )
    best = _best_items(search, found)
    if past:
        there = {
            each.id: each for each in await items_at_viewpoint(canon, (e for e, _ in best.values()))
        }
        best = {i: (there[i], strength) for i, (_, strength) in best.items() if i in there}
    when = TimesAsked() if past else read_times(search.text, GREGORIAN, None)
    apart = {i: _is_past(each, when, canon.viewpoint) for i, (each, _) in best.items()}
    kept = when.anchors or when.sessions or (not when and asks_for_past(search.text))
    ended = frozenset(
        i
        for i, gone in apart.items()
        if gone and not (kept or canon.viewpoint.may_show(best[i][0]))
    )
    ordered = sorted(
        (each for i, each in best.items() if i not in ended),
        key=lambda e: (apart[e[0].id], canon.viewpoint.plans(e[0]), -e[1], e[0].position, e[0].id),
    )
    return FoundItems(
        found=ordered[: search.limit],
        ended=len(ended),
        degraded=degraded_of(*(part.degraded for part in found)),
        behind=max(part.behind for part in found),
        truncated=any(part.truncated for part in found),
    )


def _best_items(
    search: ItemSearch, parts: Sequence[FoundItems]
) -> dict[str, tuple[StoredItem, float]]:
    """Return each wanted item once, with its highest score."""
    best: dict[str, tuple[StoredItem, float]] = {}
    for part in parts:
        for item, strength in part.found:
            if _is_wanted(item, search) and strength > best.get(item.id, (item, 0.0))[1]:
                best[item.id] = item, strength
    return best


def _is_past(item: StoredItem, asked: TimesAsked, view: Viewpoint) -> bool:
    """Return whether a statement holds at none of the given times, or, without any, has ended."""
    if not asked:
        return not view.may_show(item)
    match item:
        case Fact(time_ref=begun, ends_at=ended) | Relation(since=begun, until=ended):
            return bool(asked.intervals) and not any(
                (begun is None or each.end is None or begun < each.end)
                and (ended is None or each.start is None or each.start < ended)
                for each in asked.intervals
            )
        case _:
            return False


def _is_wanted(item: StoredItem, search: ItemSearch) -> bool:
    kind = _FOUND_AS.get(type(item))
    if kind is not None and kind not in search.kinds:
        return False
    if isinstance(item, Scene) and search.kinds < frozenset(FoundKind):
        return False  # no kind that can be asked for means scenes
    if isinstance(item, Entity) and search.entity_type not in {None, item.entity_type}:
        return False
    return not isinstance(item, Entity | Fact | Event | Relation) or item.level in STANDING


_FOUND_AS: Final[Mapping[type[StoredItem], FoundKind]] = {
    Fact: FoundKind.FACT,
    Event: FoundKind.EVENT,
    Relation: FoundKind.RELATION,
}
"""The kind of found items that do not get it from their search."""


async def _search_passages(canon: Canon, search: ItemSearch, cited: CitedBy) -> FoundItems:
    """Search the indexes of words and meanings; for the past, only items that never change."""
    kinds = search.kinds & {FoundKind.PASSAGE} if canon.viewpoint.is_past else search.kinds
    wanted = dict.fromkeys(c for kind in sorted(kinds) for c in _PASSAGES.get(kind, ()))
    query = TextQuery(
        collection=Collection.FACTS,
        text=search.text,
        spaces=frozenset((search.space,)),
        entities=frozenset(search.about),
        limit=search.limit * _WIDER,
    )
    times = [await times_meant(canon, query)]
    found = await asyncio.gather(
        *(find_passages(canon, replace(query, collection=one), cited, times) for one in wanted)
    )
    hits: Sequence[tuple[StoredItem, float]] = [
        (each.items[hit.passage.id], hit.strength) for each in found for hit in each.hits
    ]
    at = None if canon.viewpoint.at is None else canon.viewpoint.at.at
    if at is not None:
        # The items that had been stated by a time, in story time if it is known.
        outer = {i for item, _ in hits for i in containers_of(item)}
        around = await canon.space_scope(search.space).items_by_id(outer) if outer else {}
        dated = ((item, strength, passage_times(item, around)) for item, strength in hits)
        hits = [
            (item, strength)
            for item, strength, when in dated
            if isinstance(item, Fact | Event) or when.best_time is None or when.best_time <= at
        ]
    merged = [t.id for t, _ in hits if isinstance(t, Entity) and t.merged_into is not None]
    roots = await canon.space_scope(search.space).root_entities(merged) if merged else {}
    return FoundItems(
        found=[(roots.get(item.id, item), strength) for item, strength in hits],
        degraded=degraded_of(*(each.degraded for each in found)),
        behind=max((each.behind for each in found), default=0),
    )


async def _search_relations(
    canon: Canon, search: ItemSearch, passages: Awaitable[FoundItems]
) -> FoundItems:
    """Return relations of given entities or of those in `passages`, others if these are too few."""
    if FoundKind.RELATION not in search.kinds:
        return FoundItems(found=())
    ends = search.about
    if not ends:
        if FoundKind.ENTITY not in search.kinds or search.limit * _WIDER < _ENDS:
            entities = replace(search, kinds=frozenset({FoundKind.ENTITY}), limit=_ENDS)
            passages = _search_passages(canon, entities, {})
        hits = [item for item, _ in (await passages).found if isinstance(item, Entity)]
        ends = frozenset(EntityId(item.id) for item in hits[:_ENDS])
    query = RelationQuery(
        spaces=frozenset((search.space,)), entities=ends, newest_first=True, limit=PAGE_MAX
    )
    page = await canon.state.relations(query)
    found = {each.id: each for each in page.items}
    if page.total > PAGE_MAX:  # current relations come first
        holding = await canon.state.relations(replace(query, current=True))
        found |= {each.id: each for each in holding.items}
    if len(found) < search.limit and not search.about:
        page = await canon.state.relations(replace(query, entities=frozenset()))
        found |= {each.id: each for each in page.items}
    return FoundItems(
        found=await _rank_by_words(canon, search, found.values()), truncated=page.total > PAGE_MAX
    )


async def _search_documents(canon: Canon, search: ItemSearch, cited: CitedBy) -> FoundItems:
    """Return documents by their titles and, unless passages are asked for, by their contents."""
    if FoundKind.DOCUMENT not in search.kinds or search.about:
        return FoundItems(found=())
    page = await canon.state.sources(search.space, limit=PAGE_MAX, offset=0)
    named = (each for each in page.items if each.title)
    found = [*await _rank_by_words(canon, search, named)]
    if FoundKind.PASSAGE not in search.kinds:
        passages = replace(search, kinds=frozenset({FoundKind.PASSAGE}))
        inside = (await _search_passages(canon, passages, cited)).found
        reported = [(t.source_id, strength) for t, strength in inside if isinstance(t, Snippet)]
        sources = await canon.space_scope(search.space).items_by_id(i for i, _ in reported)
        found += [(sources[i], strength) for i, strength in reported if i in sources]
    return FoundItems(found=found, truncated=page.total > PAGE_MAX)


async def _search_past(canon: Canon, search: ItemSearch) -> FoundItems:
    """Return the canon of the past, which no index has, by words alone."""
    kinds, spaces = search.kinds, frozenset((search.space,))
    most: Any = {"limit": SEARCHED_MAX}
    ours: Any = {**most, "entities": search.about}
    pages: list[Page[Any]] = []
    if kinds & {FoundKind.ENTITY, FoundKind.LORE}:
        pages.append(await canon.state.entities(EntityQuery(spaces=spaces, **most)))
    if FoundKind.FACT in kinds:
        pages.append(await canon.state.facts(FactQuery(spaces=spaces, **ours)))
    if FoundKind.EVENT in kinds:
        pages.append(await canon.state.events(EventQuery(spaces=spaces, **ours)))
    if FoundKind.RELATION in kinds:
        ties = RelationQuery(spaces=spaces, current=True, **ours)
        pages.append(await canon.state.relations(ties))
    if FoundKind.LORE in kinds:
        pages.append(await canon.state.axioms(search.space, offset=0, **most))
    then = [e for page in pages for e in page.items if getattr(e, "level", None) in STANDING]
    then = [e for e in then if not search.about or search.about & frozenset(involved_entities(e))]
    if FoundKind.PASSAGE in kinds:  # those that an undo has withdrawn since
        gone = await withdrawn_items(canon, search.space)
        then += [e for e in gone if isinstance(e, Turn | Snippet)]
    return FoundItems(
        found=await _rank_by_words(canon, search, then),
        degraded=("vectors",),
        truncated=any(len(page.items) < page.total for page in pages),
    )


def involved_entities(item: StoredItem) -> tuple[str, ...]:
    """Return the entities that an item is about."""
    match item:
        case Entity(id=one):
            return (one,)
        case Fact(involved=ids) | Event(involved=ids):
            return ids
        case Relation(from_id=one, to_id=other):
            return (one, other)
        case _:
            return ()


async def _rank_by_words(
    canon: Canon, search: ItemSearch, items: Iterable[StoredItem]
) -> Sequence[tuple[StoredItem, float]]:
    """Return the items that share words with the search text, ranked like passages."""
    known = {each.id: each for each in items}
    relations = [each for each in known.values() if isinstance(each, Relation)]
    here = frozenset((search.space,))
    edges = await rank_relations(canon, here, search.text, relations) if relations else ()
    texts = {i: _item_text(e) for i, e in known.items() if not isinstance(e, Relation)}
    ranked = ranked_by_words(search.text, texts, canon.policy.ranking)
    return [
        *((known[each.id], each.score) for each, _ in ranked),
        *((each.relation, each.ranked.score) for each in edges),
    ]


def _item_text(item: StoredItem) -> str:
    match item:
        case Source():
            return f"{item.title} {item.doc_id} {item.file_name or ''}"
        case Fact():
            return item.statement
        case _:
            return "\n".join(passage.text for passage in passages_of(item))
