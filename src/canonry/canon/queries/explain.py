"""Explain an item, read a timeline of story time, and list recent changes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from canonry.canon.session.caller import Caller, unknown_item
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import MaySecret, with_secret_parts
from canonry.canon.session.lookup import commit_at, require_all, require_judged, require_same_space
from canonry.canon.session.paging import first_items, page_reader
from canonry.canon.session.viewpoint import narrow_canon
from canonry.canon.session.what_holds import is_current
from canonry.log import entries as log
from canonry.log.commits import ORIGIN, Commit, Position
from canonry.log.fold_commit import ids_of
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Axiom, Event, Fact, Relation, events_of_changes
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Scene, Turn
from canonry.log.items.secret_parts import audience_of, audiences_in
from canonry.log.items.sources import Snippet, Source
from canonry.readmodels.ports.state import EventQuery, FactQuery, RelationQuery
from canonry.values.attributes.table import find_attribute
from canonry.values.audience import EVERYBODY, Audience, wide_first
from canonry.values.errors import InvalidInput
from canonry.values.ids import SpaceId
from canonry.values.moments import Instant, Moment, moment_of, sort_by_story, split_at
from canonry.values.observations import Observation
from canonry.values.provenance import CanonLevel, Evidence

TRACED_MAX: Final = 200  # each piece of evidence is read: bounds the time of a call
_CONTAINERS: Final = Scene | Source


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedEvidence:
    """A reference, its item and the scene or source that contains it; None: erased or unknown."""

    evidence: Evidence
    thing: Turn | Scene | Source | Snippet | Axiom | None
    within: Scene | Source | None = None

    @property
    def container(self) -> Scene | Source | None:
        """Return the scene or source in which the evidence can be read."""
        return self.thing if isinstance(self.thing, Scene | Source) else self.within


async def trace_evidence(
    canon: Canon, caller: Caller, evidence: Iterable[Evidence]
) -> Sequence[TracedEvidence]:
    """Resolve the first 200 references, each once, in the given order."""
    wanted = tuple(dict.fromkeys(evidence))[:TRACED_MAX]
    seen = canon.caller_scope(caller)
    items = await seen.items_by_id({each.ref for each in wanted})
    found = {i: e for i, e in items.items() if isinstance(e, _CONTAINERS | Turn | Snippet | Axiom)}
    turns = {i: each.scene_id for i, each in found.items() if isinstance(each, Turn)}
    held = {i: each.source_id for i, each in found.items() if isinstance(each, Snippet)} | turns
    outer = await seen.items_by_id(set(held.values()))
    within = {i: e for i, e in outer.items() if isinstance(e, _CONTAINERS)}
    return [
        TracedEvidence(evidence=e, thing=found.get(e.ref), within=within.get(held.get(e.ref, "")))
        for e in wanted
    ]


Explained: TypeAlias = Entity | Relation | Fact | Event | Axiom | Proposal | Observation
EndingEntry: TypeAlias = (
    log.EntityRetconned
    | log.EntitiesMerged
    | log.RelationEnded
    | log.RelationRetconned
    | log.FactSuperseded
    | log.FactRetconned
    | log.EventRetconned
)
OBSERVATIONS_MAX: Final = 100  # bounds a reply; the newest observations come first


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemEnd:
    """The entry that ended or undid an item, and its commit."""

    entry: EndingEntry
    commit: Commit


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The provenance of an item.

    `commit` created the item. `proposal` is the proposal that was accepted, with its decision;
    None: a direct write. `observations` support the fields of an entity. `audience` may see the
    item; `more_known_to` are the audiences of its secret parts, reported to game masters only.
    """

    thing: Explained
    commit: Commit | None
    proposal: Proposal | None
    evidence: tuple[TracedEvidence, ...]
    observations: tuple[Observation, ...] = ()
    fall: ItemEnd | None = None
    audience: Audience = EVERYBODY
    more_known_to: tuple[Audience, ...] = ()


async def explain_item(canon: Canon, caller: Caller, item_id: str) -> Explanation:
    """Return the provenance of the item with this id.

    Raises:
        NotFound: `thing.unknown`, also for kinds without provenance, such as turns and scenes.
    """
    item = await canon.caller_scope(caller).find_item(item_id)
    if not isinstance(item, Explained):
        raise unknown_item("thing", item_id)
    commit = await commit_at(canon, item.space, item.position)
    seen: list[Observation] = []
    for one in (item.id, *item.members) if isinstance(item, Entity) else ():
        if (left := OBSERVATIONS_MAX - len(seen)) > 0:
            seen += await canon.state.observations(one, after=ORIGIN, limit=left)
    seen.sort(key=lambda each: (each.position, each.id))
    proposal = await _find_proposal(canon, item, commit)
    audience, more = await _known_to(canon, caller, item)
    return Explanation(
        thing=item,
        commit=commit,
        proposal=proposal,
        evidence=tuple(
            await trace_evidence(
                canon,
                caller,
                [*item.evidence, *(evidence for each in seen for evidence in each.evidence)],
            )
        ),
        observations=tuple(seen),
        fall=await _find_end(canon, item),
        audience=audience,
        more_known_to=more,
    )


async def _known_to(
    canon: Canon, caller: Caller, item: Explained
) -> tuple[Audience, tuple[Audience, ...]]:
    """Return the item's audience and, for game masters only, the audiences of its secret parts."""
    if not caller.viewer.masters:
        return EVERYBODY, ()
    audience = audience_of(item)
    kept = await with_secret_parts(canon, item) if isinstance(item, MaySecret) else item
    return audience, tuple(sorted(audiences_in(kept) - {audience}, key=wide_first))


async def _find_proposal(canon: Canon, item: Explained, commit: Commit | None) -> Proposal | None:
    if isinstance(item, Proposal):
        return item
    wanted = getattr(item, "proposal_id", None)
    if wanted is None:
        entries: Iterable[log.Entry] = () if commit is None else commit.entries
        decided = [e.proposal_id for e in entries if isinstance(e, log.ProposalDecided)]
        wanted = decided[0] if decided else None
    found = None if wanted is None else await canon.space_scope(item.space).find_item(wanted)
    return found if isinstance(found, Proposal) else None


async def _find_end(canon: Canon, item: Explained) -> ItemEnd | None:
    """Find the entry that ended or undid the item, by its last change or its successor."""
    if isinstance(item, Observation) or item.changed_at == item.position:
        return None
    if isinstance(item, Fact | Relation | Event) and is_current(item):
        return None  # where it is read, its end is unknown or later
    positions = [item.changed_at]
    if isinstance(item, Fact | Relation) and item.superseded_by is not None:
        successor = await canon.space_scope(item.space).find_item(item.superseded_by)
        positions += [] if successor is None else [successor.position]
    for position in positions:
        commit = await commit_at(canon, item.space, position)
        for entry in () if commit is None else filter(canon.may_see_entry, commit.entries):
            if commit is None or not isinstance(entry, EndingEntry):
                continue
            about = entry.merged if isinstance(entry, log.EntitiesMerged) else ids_of(entry)[0]
            if about == item.id:
                return ItemEnd(entry=entry, commit=commit)
    return None


# List the changes of a space since a log position or an instant, or the newest ones.
#
# Each commit shows only the entries that the caller may see.


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeQuery:
    """The start of the list: a log position, or an instant; None: the newest changes."""

    space: SpaceId
    after: Position | None = None
    since: Instant | None = None
    limit: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A commit with those of its entries that the caller may see, and what it made forgotten."""

    commit: Commit
    entries: tuple[log.Entry, ...]
    forgotten: tuple[log.Tombstone, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSince:
    """Commits, oldest first, and the current state of the items that they changed.

    `cursor` is the start of the next page; `left` is the number of commits after it.
    """

    written: Sequence[Written]
    items: Mapping[str, log.StoredItem]
    cursor: Position
    left: int


async def list_changes(canon: Canon, caller: Caller, query: ChangeQuery) -> WrittenSince:
    """Return the changes up to the head that the log has at the time of the call."""
    head = await canon.ledger.head_position(query.space)
    if query.after is not None:
        after = min(query.after, head)
    elif query.since is not None:
        after = await canon.ledger.position_at(query.space, query.since)
    else:
        after = Position(max(ORIGIN, head - query.limit))
    commits = await canon.ledger.read_commits(query.space, after=after, limit=query.limit)
    ids = {one for commit in commits for entry in commit.entries for one in ids_of(entry)}
    found = await canon.caller_scope(caller).items_by_id(ids)
    items = {i: each for i, each in found.items() if not isinstance(each, log.Tombstone)}
    written: list[Written] = []
    for commit in commits:  # the secret parts of other items are reported with those items
        made = {entry.thing.id for entry in commit.entries if isinstance(entry, log.Made)}
        known = (entry for entry in commit.entries if ids_of(entry)[0] in items)
        mine = (e for e in known if not (isinstance(e, log.FactRead) and e.fact_id in made))
        # Nobody knows who could read a forgotten item, so that only those learn who may read all.
        reads_all = canon.audience_view is None or caller.viewer.masters
        withdrawn = commit.entries if reads_all else ()
        targets = [i for e in withdrawn if isinstance(e, log.Withdrawn) for i in e.targets]
        gone = tuple(each for i in targets if isinstance(each := found.get(i), log.Tombstone))
        entries = tuple(filter(canon.may_see_entry, mine))
        written.append(Written(commit=commit, entries=entries, forgotten=gone))
    cursor = commits[-1].position if commits else max(after, ORIGIN)
    return WrittenSince(written=written, items=items, cursor=cursor, left=max(0, head - cursor))


PAGES_MAX: Final = 4
"""A timeline reads at most 2,000 events and 2,000 facts; a narrower window reaches the others."""


Stated: TypeAlias = Event | Fact | Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineItem:
    """An event, or the beginning of a statement; or, if it `ends`, its end."""

    item: Stated
    moment: Moment
    ends: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A page of a timeline; `truncated`: more items exist than were read."""

    items: tuple[TimelineItem, ...]
    total: int
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The part of a timeline to return; a missing bound is open, no entities select all.

    `changes` adds relations, facts in words about what relations state, and all ends.
    """

    entity_ids: tuple[str, ...] = ()
    changes: bool = False
    start: Instant | None = None
    end: Instant | None = None
    limit: int = 50
    offset: int = 0


async def read_timeline(canon: Canon, caller: Caller, universe_id: str, window: Window) -> Timeline:
    """Return canon events and dated facts in order, and the other changes if asked.

    Undated events, and statements of undated scenes, keep their story position. At a moment it
    returns what happened until then.

    Raises:
        InvalidInput: `range.inverted`.
        NotFound: `universe.unknown` or `entity.unknown`.
        Conflict: `space.foreign`.
    """
    if window.start is not None and window.end is not None and window.start > window.end:
        message = "The range ends before it starts. Swap start and end."
        raise InvalidInput("range.inverted", message, path="/start")
    universe = await require_judged(canon, caller, universe_id)
    entities = await require_all(canon, caller, Entity, window.entity_ids)
    require_same_space(universe.id, entities, path="/entity_ids")
    view = canon.viewpoint
    if canon.now is not None:  # what ended before the moment happened until then, too
        canon = narrow_canon(canon.now, replace(view, at=None, scene=None))
    family = frozenset(one for entity in entities for one in family_of(entity))
    here, level = frozenset((universe.id,)), CanonLevel.CANON
    dated = FactQuery(spaces=here, entities=family, level=level)
    queries: list[tuple[Any, Any]] = [
        (canon.state.events, EventQuery(spaces=here, entities=family, level=level)),
        (canon.state.facts, replace(dated, start=window.start, end=window.end)),
    ]
    if window.changes:
        queries.append((canon.state.relations, RelationQuery(spaces=here, entities=family)))
        if window.start is not None:  # what begins before the window may end in it
            queries.append((canon.state.facts, replace(dated, end=window.start)))
    statements: dict[str, Stated] = {}
    truncated = False
    for ask, query in queries:
        found, more = await first_items(page_reader(ask, query), PAGES_MAX)
        statements |= {each.id: each for each in found if each.level is level}
        truncated |= more
    told = events_of_changes(statements.values())
    items = [
        TimelineItem(item=e, moment=e.moment)
        for e in statements.values()
        if _has_beginning(e, window) and e.id not in told
    ]
    if window.changes:
        successors = {i for e in statements.values() if (i := getattr(e, "superseded_by", None))}
        others = await canon.space_scope(universe.id).items_by_id(
            successors - {each.item.id for each in items}
        )
        lasting = [each for each in statements.values() if each.id not in told]
        items += _list_ends(lasting, items, others)
    items = [each for each in items if _is_inside(each.moment.at, window)]
    ordered = sort_by_story(sorted(items, key=lambda e: (e.item.id, e.ends)), lambda e: e.moment)
    if view.at is not None:
        ordered = split_at(view.at, ordered, lambda each: each.moment)[0]
    shown = ordered[window.offset : window.offset + window.limit]
    return Timeline(items=tuple(shown), total=len(ordered), truncated=truncated)


def _has_beginning(one: Stated, window: Window) -> bool:
    """Return whether the beginning of an item is part of the timeline."""
    if isinstance(one, Event) or (isinstance(one, Fact) and one.time_ref is not None):
        return True
    if not window.changes or (one.moment.at is None and not one.moment.position.scene):
        return False
    explicit = () if isinstance(one, Relation) else (s for s in one.statements if not s.implied)
    ties = (find_attribute(each.attribute) for each in explicit)
    return isinstance(one, Relation) or any(e.relations or e.inverse_relations for e in ties)


def _list_ends(
    statements: Iterable[Stated],
    listed: Iterable[TimelineItem],
    others: Mapping[str, log.StoredItem],
) -> Iterator[TimelineItem]:
    """Yield the ends of statements, except where both they and what ended them are listed."""
    known = {each.item.id for each in listed}
    for each in statements:
        if isinstance(each, Event) or {each.superseded_by, each.id} <= known:
            continue
        until = each.until if isinstance(each, Relation) else each.ends_at
        successor: Any = others.get(each.superseded_by or "")
        if until is not None:
            yield TimelineItem(item=each, moment=moment_of(until, None, each.changed_at), ends=True)
        elif getattr(successor, "level", None) is CanonLevel.CANON:
            yield TimelineItem(item=each, moment=successor.moment, ends=True)


def _is_inside(at: Instant | None, window: Window) -> bool:
    if at is None:
        return window.start is None and window.end is None
    early = window.start is not None and at < window.start
    late = window.end is not None and at > window.end
    return not early and not late
