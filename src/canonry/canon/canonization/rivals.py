"""Rivals: what falls and what ends where a proposal is accepted against it."""

from collections.abc import Iterator
from dataclasses import replace

from canonry.canon.canonization.desk import Acceptance, WritingDesk
from canonry.canon.judging.contents import RelationshipContent, StateChangeContent
from canonry.canon.judging.gates.kit import Rival
from canonry.canon.judging.standing_tags import TagHeld, changes_of
from canonry.canon.judging.tag_facts import superseded
from canonry.canon.judging.undone_tags import undone
from canonry.log.entries import Entry, EventRetconned, FactRetconned, RelationRetconned
from canonry.log.items.facts import Event, Fact, Relation
from canonry.values.fields import Reference
from canonry.values.ids import EntityId, FactId, RelationId


def with_rivals(
    desk: WritingDesk, acceptance: Acceptance, *, subject: EntityId | None = None
) -> Acceptance:
    """Let fall and end what the verdict says.

    The tags of `subject` have been changed already, and the facts about them have been ended.
    """
    by = acceptance.canonical_id
    entries: list[Entry] = list(acceptance.entries)
    for rival in desk.verdict.retcons:
        entries.extend(_retcon(desk, rival, by, subject))
    for rival in desk.verdict.supersedes:
        if not isinstance(rival, TagHeld):
            entries.extend(_supersede(desk, rival, by))
    return replace(acceptance, entries=tuple(entries))


def _retcon(desk: WritingDesk, rival: Rival, by: str, subject: EntityId | None) -> Iterator[Entry]:
    reason = desk.verdict.rationale
    if isinstance(rival, TagHeld):
        if rival.entity_id != subject:
            yield from _undone(desk, rival, f"retcon:{rival.entity_id}:{rival.tag}")
        changes_state = isinstance(desk.candidate.content, StateChangeContent)
        replaced_by = FactId(by) if changes_state else None
        for fact_id in rival.facts:
            yield FactRetconned(fact_id=fact_id, replaced_by=replaced_by, reason=reason)
        return
    thing = desk.view.thing(rival)
    match thing:
        case Fact():
            yield FactRetconned(fact_id=thing.id, replaced_by=FactId(by), reason=reason)
            yield from _untold(desk, thing)
        case Relation():
            same_kind = isinstance(desk.candidate.content, RelationshipContent)
            replaced = RelationId(by) if same_kind else None
            yield RelationRetconned(relation_id=thing.id, replaced_by=replaced, reason=reason)
        case Event():
            yield EventRetconned(event_id=thing.id, replaced_by=None, reason=reason)
        case _:
            return


def _untold(desk: WritingDesk, fact: Fact) -> Iterator[Entry]:
    """The state that a retconned fact told holds no longer."""
    tag, entity_id = fact.properties.get("tag"), fact.properties.get("entity_id")
    entity = None if not isinstance(entity_id, str) else desk.view.entity(Reference(entity_id))
    if entity is None or fact.properties.get("holds") is not True:
        return
    change = {one.tag: one for one in changes_of(entity)}.get(str(tag))
    if change is not None and change.holds:
        held = TagHeld(entity_id=entity.id, tag=str(tag), change=change, facts=(fact.id,))
        yield from _undone(desk, held, f"retcon:{fact.id}")


def _undone(desk: WritingDesk, held: TagHeld, label: str) -> Iterator[Entry]:
    """The tag never held; those whose place it had taken hold again."""
    entity, reason = desk.entity(Reference(held.entity_id)), desk.verdict.rationale
    yield from undone(
        desk.view, desk.new_id, desk.backing, entity, held, label=label, reason=reason
    )


def _supersede(desk: WritingDesk, rival: str, by: str) -> Iterator[Entry]:
    """End the fact that held until now; without a time nobody knows when that was."""
    thing = desk.view.thing(rival)
    if isinstance(thing, Fact):
        yield superseded(thing, desk.candidate.at, FactId(by))
