"""Retcon items and scenes, with all that depends on them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any, Final, TypeAlias

from canonry.canon.judging.known_items import Backing, make_fact
from canonry.canon.judging.relation_timelines import has_quantity
from canonry.canon.judging.retractions import resume_item, retcon_entries, retract_item, undo_states
from canonry.canon.judging.standing_statements import reading_of
from canonry.canon.session.caller import Caller, derive_step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    Receipt,
    apply_rule,
    commit_change,
    find_earlier_commit,
    known_to_audience,
    require_standing,
)
from canonry.canon.session.lookup import commit_at, require_any, require_evidence, require_item
from canonry.canon.session.paging import every_match
from canonry.log import entries as log
from canonry.log.fold_commit import ids_of
from canonry.log.folding import item_key
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Event, Fact, FactType, Relation, events_of_changes
from canonry.log.items.proposals import Proposal, ProposalStatus
from canonry.log.items.scenes import Scene
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.readmodels.ports.state import EventQuery, FactQuery, RelationQuery
from canonry.values.audience import EVERYBODY, Audience
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.ids import EntityId, FactId, NewId
from canonry.values.moments import AFTER_ALL, Instant
from canonry.values.provenance import Authority, CanonLevel, Evidence, EvidenceKind

Asserted: TypeAlias = Fact | Event | Relation
"""Statements about entities."""

Retconnable: TypeAlias = Entity | Asserted
"""Items that can be retconned."""

DEPENDENTS_MAX: Final = 200  # bounds a commit that retcons all of them
NEAR_MAX: Final = 500
"""The most facts, events and relations of the same entities that are read, of each kind."""

_IN_SCENES: Final = frozenset({EvidenceKind.SCENE, EvidenceKind.SNIPPET})


class Grounds(StrEnum):
    """The reason why an item depends on another; the last two are only possible."""

    NAMES = "names_it"
    CAUSED = "caused_by_it"
    ACCEPTED_WITH = "accepted_with_it"
    SAME_TURN = "told_with_it"
    SAME_SCENE = "told_in_its_scene"
    SAME_TIME = "at_its_time"


POSSIBLE: Final = frozenset({Grounds.SAME_SCENE, Grounds.SAME_TIME})
"""Dependents with these grounds are retconned only if you name them."""

_FOLLOWED: Final = frozenset({Grounds.NAMES, Grounds.CAUSED, Grounds.ACCEPTED_WITH})
"""Dependents with these grounds pass the dependency on to their own dependents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependent:
    """An item that depends on another one, and the grounds."""

    thing: Retconnable
    tie: Grounds
    rests_on: str

    @property
    def certain(self) -> bool:
        """Return whether the dependency is certain."""
        return self.tie not in POSSIBLE


async def find_dependents(
    canon: Canon, caller: Caller, item: Retconnable
) -> tuple[tuple[Dependent, ...], bool]:
    """Return the items that depend on `item`, directly or indirectly, nearest first.

    The second value tells whether the list is incomplete. Items that an earlier try of this request
    retconned count as standing.
    """
    found: dict[str, Dependent] = {}
    waiting: list[Retconnable] = [item]
    more = False
    while waiting:
        current = waiting.pop(0)
        near, cut = await _items_near(canon, current)
        more = more or cut
        made = await _accepted_with(canon, current)
        for other in (*near, *(one for one in made if one not in near)):
            tie = _find_tie(current, other, made)
            known = other.id == item.id or other.id in found
            if tie is None or known or (current is not item and tie not in _FOLLOWED):
                continue
            if not (is_standing(other) or await was_retconned_before(canon, caller, other)):
                continue
            if len(found) == DEPENDENTS_MAX:
                return tuple(found.values()), True
            found[other.id] = Dependent(thing=other, tie=tie, rests_on=current.id)
            if tie in _FOLLOWED and not isinstance(other, Entity):
                waiting.append(other)
    told = events_of_changes((item, *(each.thing for each in found.values())))  # fall with those
    left = (each for each in found.values() if each.thing.id not in told)
    return tuple(sorted(left, key=lambda each: not each.certain)), more


def is_standing(item: Retconnable) -> bool:
    """Return whether the item is not retconned."""
    return item.level is not CanonLevel.RETCONNED


async def was_retconned_before(canon: Canon, caller: Caller, item: Retconnable) -> bool:
    """Return whether an earlier try of this request retconned the item.

    Each dependent is retconned in a step of the call that its id names.
    """
    return await find_earlier_commit(canon, derive_step(caller, item.id), item.space) is not None


async def _items_near(canon: Canon, item: Retconnable) -> tuple[Sequence[Asserted], bool]:
    """Return statements about the same entities, an event's effects, and whether more exist."""
    space = item.space
    if isinstance(item, Entity):
        about = family_of(item)
    else:
        roots = await canon.space_scope(space).root_entities(entities_of(item))
        about = frozenset(one for root in roots.values() for one in family_of(root))
    found: dict[str, Asserted] = {}
    more = False
    if about:
        here = frozenset((space,))
        facts = await canon.state.facts(FactQuery(spaces=here, entities=about, limit=NEAR_MAX))
        events = await canon.state.events(EventQuery(spaces=here, entities=about, limit=NEAR_MAX))
        relations = await canon.state.relations(
            RelationQuery(spaces=here, entities=about, limit=NEAR_MAX)
        )
        for page in (facts, events, relations):
            found |= {each.id: each for each in page.items}
            more = more or page.total > len(page.items)
    if isinstance(item, Event) and item.causes:
        effects = await canon.space_scope(space).items_by_id(item.causes)
        found |= {each.id: each for each in effects.values() if isinstance(each, Event)}
    found.pop(item.id, None)
    return tuple(found.values()), more


def entities_of(item: Asserted) -> tuple[EntityId, ...]:
    """Return the entities that a statement is about."""
    return (item.from_id, item.to_id) if isinstance(item, Relation) else item.involved


async def _accepted_with(canon: Canon, item: Retconnable) -> tuple[Retconnable, ...]:
    """Return the items that the same proposal created."""
    proposal_id = None if isinstance(item, Entity) else item.proposal_id
    if proposal_id is None:
        return ()
    here = canon.space_scope(item.space)
    proposal = await here.find_item(proposal_id)
    if not isinstance(proposal, Proposal) or proposal.decision is None:
        return ()
    made = await here.items_by_id(proposal.decision.made)
    return tuple(one for one in made.values() if isinstance(one, Retconnable))


def _find_tie(item: Retconnable, other: Retconnable, made: Iterable[Retconnable]) -> Grounds | None:
    """Return the grounds on which `other` depends on `item`; None: it does not."""
    together = any(one.id == other.id for one in made)
    if isinstance(item, Entity):
        return Grounds.NAMES
    if isinstance(other, Entity):
        return Grounds.ACCEPTED_WITH if together else None
    ties = {
        Grounds.CAUSED: isinstance(item, Event) and other.id in item.causes,
        Grounds.NAMES: _names_id(other.properties, item.id),
        Grounds.ACCEPTED_WITH: together or _is_one_change(item, other),
        Grounds.SAME_TURN: _is_same_turn(item, other),
        Grounds.SAME_SCENE: _is_same_scene(item, other),
        Grounds.SAME_TIME: _time_of(item) is not None and _time_of(item) == _time_of(other),
    }
    return next((tie for tie, holds in ties.items() if holds), None)


def _names_id(value: Any, item_id: str) -> bool:
    match value:
        case str():
            return value.lower() == item_id
        case Mapping():
            return any(_names_id(each, item_id) for each in value.values())
        case list() | tuple():
            return any(_names_id(each, item_id) for each in value)
        case _:
            return False


def _is_one_change(item: Asserted, other: Asserted) -> bool:
    """Return whether one change made both: of an entity's tags, or of an owner's amount."""
    if isinstance(item, Relation) and isinstance(other, Relation):
        parts = has_quantity(item.properties) and has_quantity(other.properties)
        ends = ((one.position, one.rel_type, one.to_id) for one in (item, other))
        return parts and len(set(ends)) == 1
    return (
        isinstance(item, Fact)
        and isinstance(other, Fact)
        and item.position == other.position
        and item.fact_type is other.fact_type is FactType.STATE
        and item.properties.get("entity_id") == other.properties.get("entity_id")
    )


def _is_same_turn(item: Asserted, other: Asserted) -> bool:
    turns = [{e for e in one.evidence if e.kind is EvidenceKind.TURN} for one in (item, other)]
    if turns[0] & turns[1]:
        return True
    mine, theirs = item.place, other.place
    if mine is None or theirs is None or not mine.scene or mine.turn == AFTER_ALL:
        return False
    return (mine.scene, mine.turn) == (theirs.scene, theirs.turn)


def _is_same_scene(item: Asserted, other: Asserted) -> bool:
    if item.scene_id is not None and item.scene_id == other.scene_id:
        return True
    cited = [{e for e in one.evidence if e.kind in _IN_SCENES} for one in (item, other)]
    return bool(cited[0] & cited[1])


def _time_of(item: Asserted) -> Instant | None:
    return item.since if isinstance(item, Relation) else item.time_ref


# Retcon a fact, event, relation or entity and, on request, its dependents.
#
# Each is retconned in its own commit, dependents first. Each is then judged on the canon that the
# previous commit left, and an interrupted call continues when you repeat it.


@dataclass(frozen=True, slots=True, kw_only=True)
class Retcon:
    """The reason and authority of a retcon, and the dependents to include.

    `along`: all certain dependents; `along_ids`: these dependents.
    """

    reason: str
    along: bool = False
    along_ids: tuple[str, ...] = ()
    authority: Authority = Authority.SYSTEM
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retconned:
    """The dependents and, if something was written, the retconned and restored items."""

    thing: Retconnable
    dependents: tuple[Dependent, ...]
    more: bool
    fallen: tuple[str, ...] = ()
    resumed: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Return the kind of the item."""
        return log.KIND_NAMES[type(self.thing)]


async def list_dependents(canon: Canon, caller: Caller, item_id: str) -> Retconned:
    """List the dependents of the item with this id; write nothing.

    Raises:
        NotFound: `thing.unknown`.
    """
    item: Retconnable = await require_any(canon, caller, Retconnable, item_id)
    found, more = await find_dependents(canon, caller, item)
    return Retconned(thing=item, dependents=found, more=more)


async def retcon_with_dependents(
    canon: Canon, caller: Caller, item_id: str, retcon: Retcon, *, is_part: bool = False
) -> Retconned:
    """Retcon the item and the chosen dependents.

    `is_part`: the request retcons further items, so this one is retconned in a step of it.

    Raises:
        InvalidInput: `retcon.not-dependent`.
        NotFound: `thing.unknown` or `evidence.unknown`.
        Conflict: `<kind>.retconned`, `retcon.too-many`, or `space.foreign`.
    """
    item: Retconnable = await require_any(canon, caller, Retconnable, item_id)
    own = derive_step(caller, item.id) if is_part else caller
    if await find_earlier_commit(canon, own, item.space) is None:
        require_standing(item)
    found, more = await find_dependents(canon, caller, item)
    chosen = _chosen_dependents(found, retcon, more=more)
    retconned: list[str] = []
    entries: list[log.Entry] = []
    for each in (*reversed(chosen), item):
        by = own if each is item else derive_step(caller, each.id)
        receipt = await _retcon_one(canon, by, each, retcon)
        retconned.append(each.id)
        entries += () if receipt is None else receipt.entries
    return Retconned(
        thing=item,
        dependents=found,
        more=more,
        fallen=tuple(retconned),
        resumed=await _still_resumed(canon, item, entries),
    )


def _chosen_dependents(
    found: Iterable[Dependent], retcon: Retcon, *, more: bool
) -> Sequence[Retconnable]:
    """Return the dependents to retcon, nearest first."""
    listed = {each.thing.id for each in found}
    strange = sorted(set(retcon.along_ids) - listed)
    if strange:
        message = "/along_ids names items that do not depend on this one. List its dependents."
        raise InvalidInput("retcon.not-dependent", message, path="/along_ids", ids=strange)
    if retcon.along and more:
        message = f"More than {DEPENDENTS_MAX} items may depend on this. Name ids in /along_ids."
        raise Conflict("retcon.too-many", message, path="/along")
    return [
        each.thing
        for each in found
        if each.thing.id in retcon.along_ids or (retcon.along and each.certain)
    ]


async def _retcon_one(
    canon: Canon, caller: Caller, item: Retconnable, retcon: Retcon
) -> Receipt | None:
    """Retcon one item; None if it was already retconned with another one."""
    now = await canon.space_scope(item.space).find_item(item.id)
    done = not isinstance(now, Retconnable) or now.level is CanonLevel.RETCONNED
    if done and await find_earlier_commit(canon, caller, item.space) is None:
        return None
    authority, cited = retcon.authority, retcon.evidence
    return await retcon_item(
        canon,
        caller,
        type(item),
        item.id,
        reason=retcon.reason,
        authority=authority,
        evidence=cited,
    )


async def retcon_item(
    canon: Canon,
    caller: Caller,
    kind: type[Retconnable],
    item_id: str,
    *,
    reason: str,
    replacement: str | None = None,
    authority: Authority,
    evidence: tuple[Evidence, ...],
) -> Receipt:
    """Retcon an item, and the state that a fact established.

    A tag that still rests on the fact is removed and the tags that it ended hold again; a
    replacement that states a tag sets it instead. Items that it ended hold again until their
    successor begins. A replacement has the same entities and the same interval; without evidence it
    takes that of the replaced fact.

    Raises:
        NotFound: `<kind>.unknown` or `evidence.unknown`.
        Conflict: `<kind>.retconned` or `space.foreign`.
    """
    space = (await require_item(canon, caller, kind, item_id)).space

    async def prepare_change(new_id: NewId) -> Change:
        seen = await require_item(canon, caller, kind, item_id)
        item = await known_to_audience(canon, seen, seen.audience)
        require_standing(item)
        entries: tuple[log.Entry, ...] = tuple(retcon_entries(item, reason))
        reads = frozenset((item_key(item.id),))
        audience: Audience | None = item.audience
        if isinstance(item, Event):
            fall = partial(retract_item, new_id=new_id, wrong=item, reason=reason)
            entries, keys = await apply_rule(canon, space, fall, item.audience)
            reads |= keys
        if isinstance(item, Fact):
            reads |= await require_evidence(canon, caller, space, evidence)
            backing = Backing(
                space=space,
                authority=authority,
                confidence=1.0,
                evidence=evidence or item.evidence,
                scene_id=item.scene_id,
            )
            undo = partial(undo_states, new_id, backing, item, reason, instead=replacement)
            (states, by), keys = await apply_rule(canon, space, undo, item.audience)
            reads |= keys
            if by is None and replacement is not None:
                made, keys = await _replace_fact(canon, new_id, backing, item, replacement)
                by, states, reads = FactId(made[0].thing.id), (*states, *made), reads | keys
            audience = None if evidence and not item.audience else item.audience
            entries = (*states, *retcon_entries(item, reason, replaced_by=by))
        again = () if isinstance(item, Entity) else await _retracted_for(canon, item)
        return Change(entries=(*entries, *again), reads=reads, audience=audience, settles=True)

    return await commit_change(canon, caller, space, prepare_change)


async def _retracted_for(canon: Canon, item: Fact | Relation | Event) -> tuple[log.Entry, ...]:
    """Return entries by which the items are canon again that a claim had retconned.

    A retcon by somebody who said so stays, even if its replacement falls.
    """
    if item.proposal_id is None:
        return ()
    commit = await commit_at(canon, item.space, item.position)
    entries = () if commit is None else commit.entries
    ids = [ids_of(e)[0] for e in entries if getattr(e, "replaced_by", None) == item.id]
    found = (await canon.store_of_all.state.items_by_id(ids)).values()
    return tuple(resume_item(one, item.id, EVERYBODY) for one in found)


async def _replace_fact(
    canon: Canon, new_id: NewId, backing: Backing, fact: Fact, statement: str
) -> tuple[tuple[log.Made, log.FactRead], frozenset[str]]:
    """Return a fact in place of another with what it says, and the keys that were read."""
    made = make_fact(
        new_id,
        backing,
        statement=statement,
        involved=fact.involved,
        time_ref=fact.time_ref,
        duration=fact.duration,
        replaces=fact.id,
    )
    read = partial(reading_of, made.thing.id, statement, {}, fact.involved)
    reading, keys = await apply_rule(canon, backing.space, read, fact.audience)
    return (made, reading), keys


async def _still_resumed(
    canon: Canon, item: Retconnable, entries: Iterable[log.Entry]
) -> tuple[str, ...]:
    """Return the restored items that still hold at the end."""
    ids = [
        entry.relation_id if isinstance(entry, log.RelationResumed) else entry.fact_id
        for entry in entries
        if isinstance(entry, log.RelationResumed | log.FactResumed)
    ]
    now = await canon.space_scope(item.space).items_by_id(ids)
    standing = [
        one.id
        for one in now.values()
        if (isinstance(one, Relation) and one.current)
        or (isinstance(one, Fact) and one.level is CanonLevel.CANON and not one.superseded)
    ]
    return tuple(sorted(standing))


# Retcon a scene: all canon that it created, and the dependents of that canon.
#
# Canon that the scene only confirmed is not retconned.


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneRetcon:
    """The scene's standing canon, its dependents and, if written, the retconned items.

    `more`: the list of dependents is incomplete.
    """

    scene: Scene
    made: tuple[Retconnable, ...]
    dependents: tuple[Dependent, ...]
    more: bool
    fallen: tuple[str, ...] = ()
    resumed: tuple[str, ...] = ()


async def list_resting_on_scene(canon: Canon, caller: Caller, scene_id: str) -> SceneRetcon:
    """List the items that retconning the scene would retcon; write nothing.

    Raises:
        NotFound: `scene.unknown`.
    """
    scene = await require_item(canon, caller, Scene, scene_id)
    made = await _made_by(canon, caller, scene)
    own = {each.id for each in made}
    found: dict[str, Dependent] = {}
    more = False
    for each in made:
        near, cut = await find_dependents(canon, caller, each)
        more = more or cut
        for one in near:
            known = found.get(one.thing.id)
            if one.thing.id not in own and (known is None or one.certain > known.certain):
                found[one.thing.id] = one
    items = sorted(found.values(), key=lambda each: not each.certain)
    return SceneRetcon(scene=scene, made=tuple(made), dependents=tuple(items), more=more)


async def retcon_scene(canon: Canon, caller: Caller, scene_id: str, *, reason: str) -> SceneRetcon:
    """Retcon all that the scene created, newest first, with the certain dependents.

    Each item is retconned in its own commit, so a repeated call continues after an interruption;
    after completion it changes nothing. The scene's summary then says that the scene was retconned.

    Raises:
        NotFound: `scene.unknown`.
        Conflict: `retcon.too-many`, more items depend on it than can be listed.
    """
    listed = await list_resting_on_scene(canon, caller, scene_id)
    if listed.more:
        message = f"More than {DEPENDENTS_MAX} items may depend on this. Retcon some of them first."
        raise Conflict("retcon.too-many", message, path="/scene_id")
    retconned: list[str] = []
    resumed: list[str] = []
    for each in listed.made:
        now = await canon.space_scope(each.space).find_item(each.id)
        if not isinstance(now, Retconnable):
            continue
        if is_standing(now) or await was_retconned_before(canon, caller, now):
            retcon = Retcon(reason=reason, along=True)
            done = await retcon_with_dependents(canon, caller, each.id, retcon, is_part=True)
            retconned += done.fallen
            resumed += done.resumed
        else:  # another item's retcon included it
            retconned.append(each.id)
    retconned = list(dict.fromkeys(retconned))
    if retconned:
        await _summarise_anew(canon, derive_step(caller, "summary"), listed.scene, reason)
    again = tuple(one for one in dict.fromkeys(resumed) if one not in retconned)
    return replace(listed, fallen=tuple(retconned), resumed=again)


async def _summarise_anew(canon: Canon, caller: Caller, scene: Scene, reason: str) -> None:
    """Replace the summary of a closed scene, which contexts and searches show."""
    text = f"This scene was retconned: {reason}"

    async def prepare_change(_: NewId) -> Change:
        now = await require_item(canon, caller, Scene, scene.id)
        is_done = not now.summary or now.summary == text
        entries = () if is_done else (log.SceneSummarised(scene_id=scene.id, summary=text),)
        return Change(entries=entries, reads=frozenset((item_key(scene.id),)))

    await commit_change(canon, caller, scene.space, prepare_change)


async def _made_by(canon: Canon, caller: Caller, scene: Scene) -> Sequence[Retconnable]:
    """Return the standing items that the scene created, newest first."""
    query = ProposalQuery(
        spaces=frozenset((scene.space,)), scene_id=scene.id, status=ProposalStatus.ACCEPTED
    )
    ids = [
        one
        async for proposal in every_match(canon.documents.proposals, query)
        for one in (() if proposal.decision is None else proposal.decision.made)
    ]
    found = await canon.space_scope(scene.space).items_by_id((*ids, *scene.outcomes))
    standing = [
        each
        for each in found.values()
        if isinstance(each, Retconnable)
        and (each.id in ids or getattr(each, "scene_id", None) == scene.id)
        and (is_standing(each) or await was_retconned_before(canon, caller, each))
    ]
    return sorted(standing, key=lambda each: (each.position, each.id), reverse=True)
