"""The fold: how a commit changes the items of its space. All views derive from it alone.

`fold_commit` is pure. An adapter loads the items that `ids_needed` and then `ids_needed_next` name,
folds, and stores the changes. Views rebuilt from the log therefore equal views that were kept up to
date.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, get_type_hints

from canonry.log import entries as log
from canonry.log.commits import Commit, stamp_draft
from canonry.log.folding import Folding, merge_entities, unmerge_entities
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.proposals import Decision, Proposal, ProposalDraft
from canonry.log.items.scenes import Memory, Scene, SceneDraft, Story, StoryStatus, TurnDraft
from canonry.log.items.sources import Source
from canonry.log.observations import (
    EXTRA_ROUNDS,
    add_observation,
    apply_to_scene,
    disown_keys,
    ids_needed_next,
    rebuild_entity,
    reveal_item,
)
from canonry.values.fields import field_values, with_changes
from canonry.values.ids import Space
from canonry.values.json_values import UNSET, read_value
from canonry.values.observations import Observation, ObservationDraft
from canonry.values.provenance import CanonLevel

__all__ = ["EXTRA_ROUNDS", "Changes", "fold_commit", "ids_needed", "ids_needed_next", "ids_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The effects of a commit: the changed items and the touched keys."""

    items: Mapping[str, log.StoredItem]
    touched: frozenset[str]


def ids_needed(entries: Iterable[log.Entry]) -> frozenset[str]:
    """Return the ids of all items that folding `entries` reads."""
    return frozenset[str]().union(*map(ids_of, entries))


def ids_of(entry: log.Entry) -> tuple[str, ...]:
    """Return the items that `entry` is about, its own first. Erasing keeps these ids readable."""
    ids: tuple[str, ...]
    match entry:
        case log.Made(thing=item):
            context = getattr(item, _CONTEXT.get(type(item), ""), None)
            ids = (item.id,) if context is None else (item.id, context)
        case log.EntitiesMerged():
            ids = (entry.kept, entry.merged, *entry.members)
        case log.EntitiesUnmerged():
            ids = (entry.kept, entry.separated, *entry.remaining)
        case log.CausesLinked():
            ids = (entry.cause, entry.effect)
        case log.EntityRebuilt():
            ids = (entry.entity_id, *entry.standing, *entry.family)
        case log.Withdrawn() | log.Erased():
            ids = entry.targets
        case log.CallUndone():
            ids = (entry.commit_id, *entry.targets)
        case log.Redacted():
            ids = entry.ids
        case _:
            some: Any = entry
            ids = (getattr(some, some.__slots__[0]),)
    return ids


_CONTEXT: Final[Mapping[type, str]] = {
    ObservationDraft: "entity_id",
    **dict.fromkeys((TurnDraft, ProposalDraft), "scene_id"),
    SceneDraft: "story_id",
}
"""The field of a new item with the id of the item that it belongs to."""


def fold_commit(commit: Commit, loaded: Mapping[str, log.StoredItem]) -> Changes:
    """Return the effects of `commit`, given the existing items that it reads.

    `loaded` holds the items that `ids_needed(commit.entries)` names, and those that
    `ids_needed_next` names next.

    Raises:
        BrokenInvariant: `canon.dangling-entry`, an entry changes an item that does not exist.
    """
    folding = Folding(commit=commit, loaded=loaded)
    for entry in commit.entries:
        _apply_entry(folding, entry)
    return Changes(items=folding.changed, touched=frozenset(folding.touched))


def _apply_entry(folding: Folding, entry: log.Entry) -> None:  # noqa: C901, PLR0912 - one case a kind
    match entry:
        case log.Made(thing=draft):
            _make_item(folding, draft)
        case log.EntityRetconned() | log.RelationRetconned():
            _apply_retcon(folding, entry)
        case log.FactRetconned() | log.EventRetconned():
            _apply_retcon(folding, entry)
        case log.EntitiesMerged():
            merge_entities(folding, entry)
        case log.EntitiesUnmerged():
            unmerge_entities(folding, entry)
        case log.KeysDisowned():
            disown_keys(folding, entry)
        case log.EntityRebuilt():
            rebuild_entity(folding, entry)
        case log.RelationEnded(relation_id=relation_id, until=until, superseded_by=next_one):
            folding.end_item(relation_id, Relation, entry.audience, until=until, by=next_one)
        case log.RelationResumed(relation_id=relation_id):
            folding.resume_item(relation_id, Relation, entry.audience, entry.fallen)
        case log.RelationDetailed():
            _add_details(folding, entry)
        case log.FileAttached(source_id=source_id, file=file):
            folding.develop_item(source_id, Source, lambda s: {"files": (*s.files, file)})
        case log.FactSuperseded(fact_id=fact_id, until=until, superseded_by=successor):
            folding.end_item(fact_id, Fact, entry.audience, until=until, by=successor)
        case log.FactResumed(fact_id=fact_id):
            folding.resume_item(fact_id, Fact, entry.audience, entry.fallen)
        case log.CausesLinked(cause=cause, effect=effect):
            if not folding.learn_secret(cause, entry.audience, causes=(effect,)):
                folding.develop_item(cause, Event, lambda e: {"causes": (*e.causes, effect)})
        case log.EvidenceLinked(thing_id=item_id, evidence=cited):
            again = {} if entry.again is None else {"again": (entry.again,)}
            if not folding.learn_secret(item_id, entry.audience, evidence=(cited,), **again):
                folding.develop_item(
                    item_id,
                    Fact | Event | Entity | Axiom | Relation,  # type: ignore[arg-type]
                    lambda thing: _add_support(thing, entry),
                )
        case log.SceneMoved() | log.SceneStaged() | log.SceneCompleted() | log.SceneExtended():
            apply_to_scene(folding, entry)
        case log.ProposalDecided() | log.ProposalDeferred() | log.ConflictWaived():
            _apply_review(folding, entry)
        case log.AudienceChanged():
            reveal_item(folding, entry)
        case log.Restored() | log.CallUndone():
            _apply_restore(folding, entry)
        case log.Withdrawn(targets=targets) | log.Erased(targets=targets):
            for target in targets:
                _bury_item(folding, target)
        case log.Redacted():
            _apply_redacted(folding, entry)
        case _:
            fields = field_values(entry)  # the first one names the item
            folding.change_item(fields.pop(next(iter(fields))), _SET_ON[type(entry)], **fields)


_SET_ON: Final[Mapping[type, Any]] = {
    log.SpaceRevised: Space,
    log.FactRead: Fact,
    log.StoryMoved: Story,
    log.SceneNoted: Scene,
    log.SceneDated: Scene,
    log.ScenePlaced: Scene,
    log.SceneSummarised: Scene,
    log.SaidAt: Scene | Memory | Source,
}
"""The kind of item in which an entry sets the fields that have the same names in both."""


def _apply_review(
    folding: Folding, entry: log.ProposalDecided | log.ProposalDeferred | log.ConflictWaived
) -> None:
    match entry:
        case log.ProposalDecided(proposal_id=proposal_id, decision=decision):
            dated = Decision(**field_values(decision), decided_at=folding.commit.recorded_at)
            folding.change_item(proposal_id, Proposal, status=dated.status, decision=dated)
        case log.ProposalDeferred(proposal_id=proposal_id, ruling=ruling):
            dated_review = Decision(**field_values(ruling), decided_at=folding.commit.recorded_at)
            folding.change_item(proposal_id, Proposal, review=dated_review)
        case log.ConflictWaived(proposal_id=proposal_id, other=other):
            folding.develop_item(
                proposal_id,
                Proposal,
                lambda p: {"waived": tuple(dict.fromkeys((*p.waived, other)))},
            )


def _make_item(folding: Folding, draft: log.ItemDraft) -> None:
    counted: dict[str, Any] = {}
    match draft:
        case TurnDraft():
            counted["index"] = _count_up(folding, draft.scene_id, "turn_count")
        case SceneDraft():
            counted = _enter_story(folding, draft)
        case ProposalDraft(scene_id=scene_id) if scene_id is not None:
            _count_up(folding, scene_id, "proposal_count")
    item = stamp_draft(draft, folding.commit.position, folding.commit.recorded_at, **counted)
    if isinstance(item, Observation):
        add_observation(folding, item)
    else:
        folding.put_item(item)


def _count_up(folding: Folding, scene_id: str, counter: str) -> int:
    scene = folding.get_item(scene_id)
    if not isinstance(scene, Scene):
        return 0
    before: int = getattr(scene, counter)
    now = folding.commit.recorded_at
    folding.put_item(with_changes(scene, updated_at=now, **{counter: before + 1}), counted=True)
    return before


def _enter_story(folding: Folding, scene: SceneDraft) -> dict[str, Any]:
    """Add the scene to its story; return the scene's values that follow from the story."""
    story = folding.get_item(scene.story_id)
    if not isinstance(story, Story):
        return {"story_place": 0}
    if not scene.audience:  # a number that skips a hidden story would reveal it
        began = story.status is StoryStatus.PLANNED
        times = [one for one in (story.reached, scene.time_ref) if isinstance(one, int)]
        grown = with_changes(
            story,
            scene_count=story.scene_count + 1,
            last_order=max(story.last_order, scene.order),
            reached=max(times, default=UNSET),
            status=StoryStatus.ACTIVE if began else story.status,
            changed_at=folding.commit.position,
        )
        folding.put_item(grown, counted=not began)
    reached = story.reached if scene.time_ref is None else UNSET
    return {"story_place": story.position, "reached": reached}


def _add_support(item: Any, entry: log.EvidenceLinked) -> dict[str, Any]:
    changes: dict[str, Any] = {"evidence": (*item.evidence, entry.evidence)}
    if entry.again is not None:
        changes = {} if entry.evidence in item.evidence else changes
        changes["again"] = (*item.again, entry.again)
    return changes


def _apply_retcon(
    folding: Folding,
    entry: log.EntityRetconned | log.RelationRetconned | log.FactRetconned | log.EventRetconned,
) -> None:
    retcon: dict[str, Any] = {"level": CanonLevel.RETCONNED, "replaced_by": entry.replaced_by}
    (own,) = ids_of(entry)
    if isinstance(entry, log.EntityRetconned):
        folding.change_item(own, Entity, **retcon)
        return
    kind = {log.RelationRetconned: Relation, log.FactRetconned: Fact, log.EventRetconned: Event}[
        type(entry)
    ]
    folding.learn_fields(own, kind, entry.audience, retcon_reason=entry.reason, **retcon)


def _apply_restore(folding: Folding, entry: log.Restored | log.CallUndone) -> None:
    if isinstance(entry, log.CallUndone):
        return  # the other entries of its commit take the call back
    if (kind := type(folding.get_item(entry.thing_id))) is not log.Tombstone:
        hints = get_type_hints(kind)
        fields = {name: read_value(e, hints[name]) for name, e in entry.fields.items()}
        folding.learn_fields(entry.thing_id, kind, entry.audience, **fields)


def _add_details(folding: Folding, entry: log.RelationDetailed) -> None:
    now = folding.commit.recorded_at

    def add_properties(relation: Relation) -> Mapping[str, Any]:
        return {
            "properties": {**relation.properties, **entry.properties},
            "origins": {**relation.origins, **dict.fromkeys(entry.properties, entry.told)},
            "told": relation.told + 1,
            "told_at": now,
        }

    folding.develop_item(entry.relation_id, Relation, add_properties)


def _bury_item(folding: Folding, item_id: str) -> None:
    item = folding.get_item(item_id)
    if item is not None:
        was = item.was if isinstance(item, log.Tombstone) else log.KIND_NAMES[type(item)]
        _put_tombstone(folding, item_id, was)


def _apply_redacted(folding: Folding, entry: log.Redacted) -> None:
    """Apply what the ids alone tell, so that the entries that remain fold as before."""
    ids: Any = entry.ids
    match entry.kind, ids:
        case "event.causes_linked", (cause, effect):
            _apply_entry(folding, log.CausesLinked(cause=cause, effect=effect))
        case "entity.merged", (kept, merged, *members):
            others = tuple(members)
            merge_entities(
                folding, log.EntitiesMerged(kept=kept, merged=merged, members=others, reason="")
            )
        case "entity.unmerged", (kept, separated, *remaining):
            ends = {"kept": kept, "separated": separated, "remaining": tuple(remaining)}
            unmerge_entities(folding, log.EntitiesUnmerged(**ends, reason=""))
        case "space.withdrawn", targets:
            _apply_entry(folding, log.Withdrawn(targets=targets, reason=""))
        case "entity.retold", (item_id, *standing):
            rebuild_entity(folding, log.EntityRebuilt(entity_id=item_id, standing=tuple(standing)))
        case kind, (item_id, *context) if kind.endswith(".made"):
            noun = kind.removesuffix(".made")
            if noun in {"turn", "proposal"} and context:
                _count_up(folding, context[0], f"{noun}_count")
            _put_tombstone(folding, item_id, noun)
        case _:
            pass  # it changed an item that is erased as well


def _put_tombstone(folding: Folding, item_id: str, kind: str) -> None:
    position = folding.commit.position
    folding.put_item(
        log.Tombstone(
            id=item_id, space=folding.commit.space, was=kind, position=position, changed_at=position
        )
    )
