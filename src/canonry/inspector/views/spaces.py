"""Views of spaces: their items, search, log, state, differences and graph."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from canonry.assistant.call_context import CallContext, context_of
from canonry.assistant.differences import differences_between
from canonry.assistant.explaining import effect_of, short_text
from canonry.assistant.rows import Row, ids_named, kind_of, rows_of
from canonry.canon.queries.explain import ChangeQuery, Written, list_changes
from canonry.canon.queries.listings import ChosenSpace, list_spaces, query_asserted, query_entities
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.paging import first_items, page_reader
from canonry.canon.session.traversal import traverse_related
from canonry.gateway.tool import Arguments
from canonry.inspector.rendering import difference_row
from canonry.language.texts.stems import stems_of
from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import StoredItem
from canonry.log.fold_commit import ids_of
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Relation
from canonry.log.items.scenes import Scene, Story
from canonry.narrative.usecases.scenes import query_scenes, query_stories
from canonry.readmodels.ports.documents import SceneQuery
from canonry.readmodels.ports.state import EntityQuery, EventQuery, RelationQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.recall.usecases.find_items import FoundKind, ItemSearch, find_items
from canonry.recall.usecases.search_by_meaning import RecallServices
from canonry.values.ids import SpaceId
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel

ROWS_EACH: Final = 12
"""The most items of each kind on the page of a space."""

Seen = dict[str, Any]
"""The values of a page by their names in the template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceSeen(ChosenSpace):
    """The space of a page; `until` is now, by the clock of the server.

    `begun` and `ended` are the first and the last valid time of an event.
    """

    until: Instant
    begun: Instant | None
    ended: Instant | None


async def space_of_call(context: CallContext) -> SpaceSeen:
    """Return the space of a call."""
    space = context.space
    begun = ended = None
    if space.opened is not None and space.may_have_stories:
        begun, ended = await _event_times(context)
    return SpaceSeen(
        id=space.id,
        kind=space.kind,
        name=space.name,
        opened=space.opened,
        until=context.canon.clock.now(),
        begun=begun,
        ended=ended,
    )


async def _event_times(context: CallContext) -> tuple[Instant | None, Instant | None]:
    ids = {"universe_id": context.space.id, "entity_id": None}
    first = await query_asserted(context.canon, context.caller, EventQuery(limit=1), **ids)
    if not first.items:
        return None, None
    last = EventQuery(limit=1, offset=max(0, first.total - 1))
    found = await query_asserted(context.canon, context.caller, last, **ids)
    times = [e.time_ref for page in (first, found) for e in page.items if e.time_ref is not None]
    return (min(times), max(times)) if times else (None, None)


async def all_spaces(canon: Canon, caller: Caller, arguments: Arguments) -> Sequence[ChosenSpace]:
    """Return every space that the caller may see."""
    del arguments
    return await list_spaces(canon, caller)


async def one_space(canon: Canon, caller: Caller, arguments: Arguments) -> SpaceSeen:
    """Return the named space, or the only one, or that of the item `of`."""
    return await space_of_call(await context_of(canon, caller, arguments, "of", "about"))


async def space_overview(canon: Canon, caller: Caller, arguments: Arguments) -> Seen:
    """Return the contents of a space."""
    context = await context_of(canon, caller, arguments)
    space = await space_of_call(context)
    if context.space.opened is None:
        return {"space": space, "types": (), "entities": (), "total": 0, "stories": ()}
    types = await entity_types(context)
    query = EntityQuery(limit=ROWS_EACH)
    newest = await query_entities(canon, caller, query, universe_id=context.space.id)
    stories: list[tuple[Story, Sequence[Scene]]] = []
    if context.space.may_have_stories:
        page = await query_stories(canon, caller, context.space.id, limit=ROWS_EACH, offset=0)
        for story in page.items:
            asked = SceneQuery(story_id=story.id, limit=ROWS_EACH * 4)
            scenes = await query_scenes(canon, caller, asked, universe_id=context.space.id)
            stories.append((story, scenes.items))
    return {
        "space": space,
        "types": sorted(types.items(), key=lambda each: (-each[1], each[0])),
        "entities": await rows_of(context, newest.items),
        "total": newest.total,
        "stories": stories,
    }


async def entity_types(context: CallContext) -> Mapping[str, int]:
    """Return the number of entities of each type in the space of a call."""
    return await context.canon.state.entity_types(frozenset((context.space.id,)))


FOUND_MAX: Final = 50  # bounds the time of a page: bench inspector


async def search_space(canon: Canon, caller: Caller, arguments: Arguments) -> Seen:
    """Return the results of a search with the filters of the page."""
    context = await context_of(canon, caller, arguments, "about")
    named = arguments.get("about")
    entity = None if named is None else await context.find_entity(named, path="/about")
    text = arguments["text"]
    asked = frozenset(FoundKind(each) for each in arguments.get("kinds", ()) if each in _KINDS)
    found = await find_items(
        context.canon,
        ItemSearch(
            space=context.space.id,
            text=text,
            kinds=asked or frozenset(FoundKind),
            about=frozenset() if entity is None else family_of(entity),
            entity_type=arguments.get("type"),
            limit=FOUND_MAX,
        ),
    )
    rows = await rows_of(context, (item for item, _ in found.found))
    words = {stem: word for word in text.split() for stem in stems_of(word)}
    return {
        "space": await space_of_call(context),
        "hits": [
            {"row": row, "strength": round(strength * 100), "words": _shared_words(words, row)}
            for row, (_, strength) in zip(rows, found.found, strict=True)
        ],
        "kinds": Counter(row["kind"] for row in rows).most_common(),
        "types": Counter(row["type"] for row in rows if row["kind"] == "entity").most_common(),
        "known_types": sorted(await entity_types(context)),
        "searched": found.degraded,
        "truncated": found.truncated,
    }


_KINDS: Final = frozenset(FoundKind)


def _shared_words(words: dict[str, str], row: Row) -> tuple[str, ...]:
    """Return the words of the question that occur in a row in any form."""
    row_text = " ".join(
        str(row.get(name, "")) for name in ("name", "says", "type", "about", "tags")
    )
    there = set(stems_of(row_text))
    return tuple(dict.fromkeys(word for stem, word in words.items() if stem in there))


PAGE: Final = 50  # bounds the time of a page: bench inspector
_STEP: Final = 2
_ENTRIES: Final = 500  # the most entries of commits on one page
_ABOUT: Final = 6
_SPACES: Final = 100  # bounds the time of a page: bench inspector


async def seen_log(canon: Canon, caller: Caller, arguments: Arguments) -> Seen:
    """Return the commits of a space up to `until`, newest first, within the user's read scope.

    `follows` means that the hash of a commit includes the commit before.
    """
    context = await context_of(canon, caller, arguments)
    space = context.space.id
    head = await canon.ledger.head_position(space)
    until = min(int(arguments.get("until") or head), head)
    found, items = await _newest(canon, caller, space, until)
    after = Position(found[0].commit.position - 1) if found else ORIGIN
    shown_ids = {ids_of(entry)[0] for each in found for entry in each.entries[:_ABOUT]}
    names = await canon.caller_scope(caller).root_entities(
        one for each in shown_ids for one in ids_named(items[each])
    )
    commits: list[Seen] = []
    before = await _hash_at(canon, space, after)
    for written in found:
        about = ((effect_of(e), items[ids_of(e)[0]]) for e in written.entries[:_ABOUT])
        done = [
            {"how": how, "kind": kind_of(e), "id": e.id, "says": short_text(e, names)}
            for how, e in about
        ]
        follows = before is None or written.commit.previous == before
        before = written.commit.hash
        if not done:  # the user may read nothing of it
            continue
        left = len(written.entries) - len(done)
        commits.append({"commit": written.commit, "done": done, "left": left, "follows": follows})
    return {
        "space": await space_of_call(context),
        "commits": commits[::-1],
        "head": head,
        "older": after if after > ORIGIN else None,
        "newer": min(until + PAGE, head) if until < head else None,
    }


async def _newest(
    canon: Canon, caller: Caller, space: SpaceId, until: int
) -> tuple[Sequence[Written], Mapping[str, StoredItem]]:
    """Return the last commits up to `until`, oldest first; fewer if they are large."""
    found: list[Written] = []
    items: dict[str, StoredItem] = {}
    while until > ORIGIN and len(found) < PAGE and len(items) < _ENTRIES:
        after = Position(max(ORIGIN, until - _STEP))
        query = ChangeQuery(space=space, after=after, limit=until - after)
        some = await list_changes(canon, caller, query)
        found = [*some.written, *found]
        items |= some.items
        until = after
    return found, items


async def _hash_at(canon: Canon, space: SpaceId, position: Position) -> str | None:
    if position == ORIGIN:
        return None
    found = await canon.ledger.read_sealed(space, after=Position(position - 1), limit=1)
    return found[0].hash if found else None


async def seen_health(canon: Canon, caller: Caller, arguments: Arguments) -> Seen:
    """Return the lag of the views of each space."""
    del arguments
    spaces = [each for each in await list_spaces(canon, caller) if each.opened is not None]
    reported: list[Seen] = []
    for each in spaces[:_SPACES]:
        head = await canon.ledger.head_position(each.id)
        cursor = await canon.store_of_all.state.cursor(each.id)
        reported.append(
            {"space": each.id, "name": each.name, "head": head, "lag": max(0, head - cursor)}
        )
    return {
        "spaces": reported,
        "recall": canon.find_service(RecallServices).recall is not None,
        "more": len(spaces) > _SPACES,
    }


async def seen_differences(
    canon: Canon, caller: Caller, arguments: Arguments
) -> tuple[Sequence[Seen], bool]:
    """Return the differences of a space, or of the scene `of`, between two moments.

    `sides` are the two moments, each with the tools' names of times. The second result says
    whether the search stopped at a limit.
    """
    context = await context_of(canon, caller, arguments, "of")
    one, other = [await context.at_viewpoint(side) for side in arguments["sides"]]
    scene = arguments.get("of")
    within = None if scene is None else (await context.find_item(scene, Scene, path="/of")).id
    rows, more = await differences_between(one, other, within=within)
    reported = (difference_row(e["kind"], e["id"], e.get("before"), e.get("after")) for e in rows)
    return list(reported), more


NODES: Final = 200  # more nodes are hard to read
NODES_MAX: Final = 2_000  # browsers draw larger graphs too slowly
_HOPS_MAX: Final = 4  # more steps reach nearly everything


async def seen_graph(canon: Canon, caller: Caller, arguments: Arguments) -> Seen:
    """Return the graph around `about`, or of the newest relations of the space.

    `nodes` are by (id, name, type), and `edges` by (id, start, end, type).
    """
    context = await context_of(canon, caller, arguments, "about")
    hops = min(max(int(arguments.get("hops", 1)), 1), _HOPS_MAX)
    most = min(int(arguments.get("most", NODES)), NODES_MAX)
    centre: Entity | None = None
    relations: Sequence[Relation] = ()
    more = False
    if arguments.get("about"):
        centre = await context.find_entity(arguments["about"], path="/about")
        found = await traverse_related(context.canon, caller, centre, max_hops=hops)
        relations, more = found.relations, found.truncated
    elif context.space.opened is not None:
        asked = RelationQuery(spaces=frozenset((context.space.id,)), newest_first=True)
        relations, more = await first_items(
            page_reader(context.canon.state.relations, asked), 1 + most // PAGE_MAX
        )
    relations = [e for e in await context.items_holding(relations) if e.level is CanonLevel.CANON]
    ends = [centre.id] if centre else []
    ends += [one for each in relations for one in (each.from_id, each.to_id)]
    entities = await context.canon.caller_scope(caller).root_entities(dict.fromkeys(ends))
    wanted = arguments.get("type")
    named = arguments.get("rel_type")
    edges = [
        (each.id, entities[each.from_id].id, entities[each.to_id].id, each.rel_type)
        for each in relations
        if each.from_id in entities and each.to_id in entities
    ]
    rel_types = sorted({each for *_, each in edges})
    kept = {each.id: each for i in ends if (each := entities.get(i))}
    if wanted:
        kept = {i: e for i, e in kept.items() if e.entity_type == wanted or e is centre}
    kept = dict(list(kept.items())[:most])
    edges = [
        (one, start, end, rel_type)
        for one, start, end, rel_type in edges
        if start in kept and end in kept and (not named or rel_type == named)
    ]
    return {
        "space": await space_of_call(context),
        "centre": None if centre is None else centre.id,
        "centre_name": "" if centre is None else centre.name,
        "nodes": [(each.id, each.name, each.entity_type) for each in kept.values()],
        "edges": edges,
        "known_types": sorted(await entity_types(context)),
        "rel_types": rel_types,
        "hops": hops,
        "most": most,
        "more": more or len(entities) > most,
    }
