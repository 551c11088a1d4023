"""Undo a call: retract what its commits did, or do again what an undo retracted, in one commit.

A call is the commits of one caller with one request. Ends and resumptions that follow from a
retraction are computed as for any other one.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, cast

from canonry.canon.judging.retractions import resume_item, retcon_entries
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Attempt, Change, Receipt, Withdraw, commit_change
from canonry.canon.session.paging import every_item
from canonry.canon.session.traversal import separate_entities
from canonry.canon.session.viewpoint import UNDO_REACH
from canonry.log import entries as log
from canonry.log.commits import ORIGIN, Commit, Position
from canonry.log.fold_commit import ids_of
from canonry.log.folding import ANY
from canonry.log.items.proposals import DecisionDraft, ProposalDraft, ProposalStatus
from canonry.log.items.scenes import SceneStatus, Turn
from canonry.log.items.sources import SnippetDraft, SourceDraft, holds_quotes
from canonry.log.observations import entry_audience, list_named_ids
from canonry.values.errors import Conflict, NotFound
from canonry.values.fields import narrow_to
from canonry.values.ids import CommitId, EntityId, NewId, SpaceId
from canonry.values.json_values import decode_json, encode_json
from canonry.values.observations import ObservationDraft
from canonry.values.provenance import CanonLevel

TOOLS: Final = frozenset({"propose", "tell", "decide"})
"""The tools whose calls can be undone."""
_AGAIN: Final = {2, 4, 6, 8}
_NOT_MADE: Final = (log.Made, log.FactRead, log.EvidenceLinked, log.CausesLinked, log.SceneExtended)


async def undo_call(
    canon: Canon,
    caller: Caller,
    space: SpaceId,
    *,
    reason: str,
    undo_id: str | None = None,
    withdraw: Withdraw | None = None,
) -> Receipt[Mapping[str, log.ItemDraft]]:
    """Take back the caller's last call in the space that did something, or the undo `undo_id`.

    `withdraw` is given for an account, where items rest on sources.

    The receipt has found the drafts that the call made, by their ids.

    Raises:
        NotFound: `undo.nothing`, the caller has no such call.
        Conflict: `undo.rests-on`, with the ids of later items that rest on what it did; or
            `undo.changed-nothing`, with the items of the last call and of the one before it.
    """

    async def prepare_change(attempt: Attempt) -> Change[Mapping[str, log.ItemDraft]]:
        idle: list[str] | None = None
        after = Position(max(ORIGIN, attempt.position - UNDO_REACH))
        log_end = await canon.ledger.read_commits(space, after=after, limit=UNDO_REACH)
        for call in _undoable_calls(log_end, caller, undo_id):
            undoing = _UndoRun(canon=canon, caller=caller, reason=reason, **call)
            entries = await undoing.undo_entries(attempt, withdraw)
            if entries and idle and undo_id is None:
                ids = list(dict.fromkeys(ids_of(each)[0] for each in entries[1:]))
                ids = [one for one in ids if one in undoing.made] or ids
                message = "Your last call changed nothing. Name the call to undo in /of."
                own = {"last": idle, "undo": call["first"], "conflicts": ids}
                raise Conflict("undo.changed-nothing", message, **own)
            if entries:
                reads = frozenset((ANY,))
                return Change(entries=entries, reads=reads, settles=True, found=undoing.made)
            kept = ProposalDraft | SnippetDraft
            left = [i for i, each in undoing.made.items() if isinstance(each, kept)]
            idle = left if idle is None else idle
        message = "You have no call here that can be undone. Retcon the wrong item instead."
        raise NotFound("undo.nothing", message, kind="call")

    return await commit_change(canon, caller, space, prepare_change)


def _undone_by(commit: Commit) -> str | None:
    """Return the first commit of the call that a commit undoes."""
    match commit.entries[0]:
        case log.CallUndone(commit_id=first) | log.Redacted(kind="call.undone", ids=(first, *_)):
            return first
        case _:
            return None


def _undoable_calls(
    log_end: Sequence[Commit], caller: Caller, undo_id: str | None
) -> Iterator[dict[str, Any]]:
    """Yield the caller's calls that can be undone, newest first; or the undo with this id.

    Each has the id by which it is undone, its commits, and those of later calls.
    """
    groups: dict[tuple[str | None, ...], list[Commit]] = {}
    undos: dict[str, tuple[str, int]] = {}  # the call that an undo is about, and its depth
    last: dict[str, str] = {}
    for one in log_end:
        by, first = one.actor, _undone_by(one)
        groups.setdefault((by.agent_id, by.user, one.tool, one.request or one.id), []).append(one)
        if first is not None:
            root, depth = undos.get(first, (first, 0))
            undos[one.id], last[root] = (root, depth + 1), one.id
    calls = {commits[0].id: commits for commits in groups.values()}
    if log_end and log_end[0].position > 1:  # the first call may have begun further back
        calls.pop(log_end[0].id)
    gone = {root for root, undo in last.items() if undos[undo][1] % 2}
    for (agent, user, tool, _), group in reversed(groups.items()):
        begun = group[0]
        root, depth = undos.get(begun.id, (begun.id, 0))
        mine = (agent, user) == (caller.actor.agent_id, caller.actor.user) and tool in TOOLS
        seen = caller.viewer.may_see(entry_audience(begun.entries[0]))
        named = {None, *(one.id for one in group)}
        meant = last.get(root) == undo_id if depth else undo_id in named and root not in gone
        if mine and seen and meant and root in calls:
            again = [one for one in log_end if undos.get(one.id) in {(root, n) for n in _AGAIN}]
            past, undone = {*gone, *undos, root}, [*calls[CommitId(root)], *again]
            others = (one for i, call in calls.items() if i not in past for one in call)
            start, redoes = undone[0].position, depth % 2 == 1
            later = [one for one in others if one.position > start and not redoes]
            before = [one for one in log_end if one.position == start - 1]
            undone = [*(one for one in before if _made_document(one, undone)), *undone]
            yield {"first": begun.id, "commits": undone, "later": later, "redoes": redoes}


def _made_document(commit: Commit, later_commits: Iterable[Commit]) -> bool:
    """Return whether a commit made the document of a call; equal documents share its id."""
    made = commit.entries[0]
    named = list_named_ids(entry for one in later_commits for entry in one.entries)
    return not commit.request and isinstance(made, log.Made) and made.thing.id in set(named)


@dataclass(slots=True, kw_only=True)
class _UndoRun:
    """The undo of one call, with the items that it made and changed, as they are and were."""

    canon: Canon
    caller: Caller
    reason: str
    first: CommitId
    commits: Sequence[Commit]
    later: Sequence[Commit]
    redoes: bool
    now: Mapping[str, Any] = field(default_factory=dict)
    before: Mapping[str, Any] = field(default_factory=dict)
    made: Mapping[str, log.ItemDraft] = field(default_factory=dict)

    async def undo_entries(self, new_id: NewId, withdraw: Withdraw | None) -> tuple[log.Entry, ...]:
        """Return the entries that undo the call; none if all its effects are gone already."""
        written = [entry for commit in self.commits for entry in commit.entries]
        own_entries = [entry for entry in written if not isinstance(entry, log.CallUndone)]
        self.made = {e.thing.id: e.thing for e in own_entries if isinstance(e, log.Made)}
        ids, state = (
            {one for entry in own_entries for one in ids_of(entry)},
            self.canon.store_of_all.state,
        )
        self.now = await state.items_by_id(ids)
        start = Position(self.commits[0].position - 1)
        self.before = await state.items_as_known_at(ids - self.made.keys(), start)
        drafts = [one for one in self.made.values() if self._is_there(one.id)]
        sources = [one.id for one in drafts if _is_document(one)]
        if self.redoes:
            entries = [again for entry in own_entries for again in self._redo_entry(entry)]
        else:
            entries = []
            judged = own_entries
            if withdraw is not None and sources:  # what a document tells goes with the document
                entries += await withdraw(self.reason, sources, new_id)
                gone = {one for entry in entries for one in ids_of(entry)}
                rest = [
                    e
                    for commit in self.commits
                    if not _records_document(commit)
                    for e in commit.entries
                ]
                judged = [e for e in own_entries if e in rest and gone.isdisjoint(ids_of(e))]
                made = {e.thing.id for e in judged if isinstance(e, log.Made)}
                drafts = [one for one in drafts if one.id in made]
            entries += [e for entry in reversed(judged) for e in self._retract_entry(entry)]
            entries += [each async for each in self._withdraw_texts(drafts, quoted=bool(entries))]
        if not entries:
            return ()
        self._require_no_dependents(own_entries)
        undone = log.CallUndone(
            commit_id=self.first,
            targets=tuple(sorted({one for entry in entries for one in ids_of(entry)})),
            reason=self.reason,
            audience=entry_audience(own_entries[0]),
        )
        return (undone, *entries)

    @property
    def withdrawn(self) -> set[str]:
        """The items that the call withdrew."""
        every = (entry for commit in self.commits for entry in commit.entries)
        return {one for e in every if isinstance(e, log.Withdrawn) for one in e.targets}

    def _is_there(self, item_id: str) -> bool:
        item = self.now.get(item_id)
        gone = getattr(item, "level", None) is CanonLevel.RETCONNED
        return item is not None and not gone and not isinstance(item, log.Tombstone)

    def _require_no_dependents(self, own_entries: Iterable[log.Entry]) -> None:
        """Refuse to undo a call on which later items rest that the caller may see."""
        changed = {one for e in own_entries if not isinstance(e, _NOT_MADE) for one in ids_of(e)}
        resting: list[str] = []
        made = {i for i, one in self.made.items() if not holds_quotes(one)}
        for entry in (entry for commit in self.later for entry in commit.entries):
            draft = entry.thing if isinstance(entry, log.Made) else None
            if isinstance(draft, ProposalDraft):
                continue  # what it became rests on the call, if it was accepted
            named = {*ids_of(entry), *list_named_ids((entry,))} & made
            is_touched = named or (draft is None and not changed.isdisjoint(ids_of(entry)))
            if is_touched and self.caller.viewer.may_see(entry_audience(entry)):
                resting.append(ids_of(entry)[0])
        if resting:
            message = "Later items rest on what this call did. Retcon them first."
            raise Conflict("undo.rests-on", message, conflicts=list(dict.fromkeys(resting)))

    def _retract_entry(self, entry: log.Entry) -> Iterator[log.Entry]:  # noqa: C901, PLR0912 - a case each
        """Yield the entries that retract one entry of the call."""
        own, to, reason = ids_of(entry)[0], entry_audience(entry), self.reason
        item: Any = self.now.get(own)
        was: Any = self.before.get(own)
        if isinstance(item, log.Tombstone) and own in self.made:
            yield from self._restore_forgotten(entry)
            return
        if not self._is_there(own) and not hasattr(entry, "replaced_by"):
            return
        restored = partial(log.Restored, thing_id=own, audience=to)
        match entry:
            case log.Made():  # an item that the call also withdrew was there before it
                yield from () if own in self.withdrawn else retcon_entries(item, reason, to)
            case _ if own in self.made:
                return
            case (
                log.FactRetconned(replaced_by=by)
                | log.RelationRetconned(replaced_by=by)
                | log.EventRetconned(replaced_by=by)
                | log.EntityRetconned(replaced_by=by)
            ):
                yield resume_item(item, by, to)
            case log.FactSuperseded(superseded_by=by) | log.RelationEnded(superseded_by=by):
                if by is None or "tag" in item.properties:
                    yield resume_item(item, by, to)
            case log.FactResumed() | log.RelationResumed() if was.level is CanonLevel.RETCONNED:
                yield from retcon_entries(item, was.retcon_reason, to, replaced_by=was.replaced_by)
            case log.FactResumed(fallen=by) if "tag" in item.properties or by in self.made:
                end = {"until": was.until, "superseded_by": was.superseded_by}
                yield log.FactSuperseded(fact_id=item.id, **end, audience=to)
            case log.RelationResumed(fallen=by) if by in self.made:
                end = {"until": was.until, "superseded_by": was.superseded_by, "reason": reason}
                yield log.RelationEnded(relation_id=item.id, **end, audience=to)
            case log.EntitiesMerged(merged=gone):
                yield from separate_entities(self.now[gone], item, reason).entries
            case log.EntitiesUnmerged(separated=one):
                members = self.now[one].members
                yield log.EntitiesMerged(kept=item.id, merged=one, members=members, reason=reason)
            case log.AudienceChanged() if was is not None:
                yield log.AudienceChanged(thing_id=own, audience=was.audience, reason=reason)
            case log.ProposalDecided() if getattr(was, "decision", None):
                draft = narrow_to(DecisionDraft, was.decision)  # before one by hand
                yield log.ProposalDecided(proposal_id=item.id, decision=draft)
            case log.ProposalDecided() if item.decision is not None:
                yield restored(fields={"status": ProposalStatus.PENDING.value, "decision": None})
            case log.ConflictWaived(other=other):
                yield restored(fields=_fields_without(item, waived=other))
            case log.EvidenceLinked(evidence=cited, again=again) if not to:
                more = {} if again is None else {"again": again}
                yield restored(fields=_fields_without(item, evidence=cited, **more))
            case log.SceneCompleted():
                fields = {"status": SceneStatus.ACTIVE.value, "outcomes": (), "summary": None}
                yield restored(fields={**fields, "completed_at": None})
            case log.ScenePlaced():
                yield log.ScenePlaced(scene_id=item.id, location_ref=None)
            case _:
                return

    def _restore_forgotten(self, entry: log.Entry) -> Iterator[log.Entry]:
        """Yield the entries that make a forgotten item again, which its commit keeps."""
        if isinstance(entry, log.FactSuperseded | log.RelationEnded):
            yield entry
        elif isinstance(entry, log.Withdrawn):
            buried = {e for e in entry.targets if isinstance(self.now.get(e), log.Tombstone)}
            yield from (log.Made(thing=one) for i, one in self.made.items() if i in buried)

    def _redo_entry(self, entry: log.Entry) -> Iterator[log.Entry]:
        """Yield the entries that do again what an undo took back."""
        item = self.now.get(ids_of(entry)[0])
        if not isinstance(entry, log.Made) or isinstance(item, log.Tombstone):
            yield entry
        elif item is not None and not self._is_there(item.id):
            yield resume_item(item, None, entry_audience(entry))

    async def _withdraw_texts(
        self, drafts: Iterable[log.ItemDraft], *, quoted: bool
    ) -> AsyncIterator[log.Entry]:
        """Yield the entries that withdraw `quoted` or other texts, and observations of entities."""
        is_document = self.commits[0].tool == "tell"
        gone: list[str] = []
        observations: list[ObservationDraft] = []
        for each in drafts:
            if isinstance(each, ObservationDraft):
                observations += [each] if each.entity_id not in self.made else []
                continue
            waits = getattr(self.now[each.id], "status", "") is ProposalStatus.PENDING
            if is_document or waits or (quoted and isinstance(each, SnippetDraft)):
                gone.append(each.id)
        turns = [self.now[one] for one in gone if isinstance(self.now[one], Turn)]
        gone += [each.id for each in observations]
        if gone:
            yield log.Withdrawn(targets=tuple(gone), reason=self.reason)
        scene = self.now[turns[0].scene_id] if turns else None
        if (
            scene is not None
            and scene.id not in gone
            and scene.turn_count == turns[0].index + len(turns)
        ):
            yield log.Restored(thing_id=scene.id, fields={"turn_count": turns[0].index})
        newest = self.canon.store_of_all.state.observations_newest
        for about in dict.fromkeys(one.entity_id for one in observations):
            every = [e async for e in every_item(partial(newest, (EntityId(about),)))]
            standing = tuple(e.id for e in reversed(every) if e.id not in gone)
            widest = min((e.audience for e in observations if e.entity_id == about), key=len)
            yield log.EntityRebuilt(entity_id=about, standing=standing, audience=widest)


def _is_document(draft: log.ItemDraft) -> bool:
    """Return whether a draft is a document, and not one of quoted texts."""
    return isinstance(draft, SourceDraft) and not holds_quotes(draft)


def _records_document(commit: Commit) -> bool:
    """Return whether a commit records a document or what one says."""
    made = [entry.thing for entry in commit.entries if isinstance(entry, log.Made)]
    return any(isinstance(one, ObservationDraft) or _is_document(one) for one in made)


def _fields_without(item: Any, **gone: Any) -> Mapping[str, Any]:
    """Return fields without one value each, in their stored form."""
    left = {name: [e for e in getattr(item, name) if e != one] for name, one in gone.items()}
    return cast("Mapping[str, Any]", decode_json(encode_json(left)))
