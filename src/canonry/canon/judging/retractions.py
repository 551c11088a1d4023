"""Retract a wrong item: its own retcon, and the states that it began or ended."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any, Final

from canonry.canon.judging.known_items import Backing, id_for_owner
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.standing_statements import tags_begun_by
from canonry.canon.judging.state_tags import (
    TagWriter,
    changes_of,
    is_same_moment,
    resume_tags,
    stated_tag,
    undo_tag,
)
from canonry.log import entries as log
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact, FactDraft, Relation, events_of_changes
from canonry.values.audience import EVERYBODY, Audience
from canonry.values.fields import Reference
from canonry.values.ids import FactId, NewId
from canonry.values.observations import Observation
from canonry.values.provenance import CanonLevel
from canonry.values.state_tags import ended_by, tag_meaning

_RETCONS: Final[Mapping[type, Any]] = {
    Entity: log.EntityRetconned,
    Event: log.EventRetconned,
    Fact: log.FactRetconned,
    Relation: log.RelationRetconned,
}


def retcon_entries(
    item: object, reason: str, audience: Audience = EVERYBODY, *, replaced_by: str | None = None
) -> Iterator[log.Entry]:
    """Yield the retcon of an item, for these readers; an entity is retconned for everybody."""
    if (kind := _RETCONS.get(type(item))) is not None:
        own, *others = kind.__slots__
        some: Any = item
        to = {"audience": audience} if "audience" in others else {}
        yield kind(**{own: some.id}, replaced_by=replaced_by, reason=reason, **to)


def resume_item(item: Any, retracted_id: str | None, audience: Audience) -> log.Entry:
    """Return the entry that restores an item because `retracted_id` is retracted."""
    match item:
        case Fact():
            return log.FactResumed(fact_id=item.id, fallen=retracted_id, audience=audience)
        case Relation():
            return log.RelationResumed(relation_id=item.id, fallen=retracted_id, audience=audience)
        case _:
            canon = {"level": CanonLevel.CANON.value, "replaced_by": None, "retcon_reason": None}
            fields = {name: each for name, each in canon.items() if hasattr(item, name)}
            return log.Restored(thing_id=item.id, fields=fields, audience=audience)


def facts_of_event(item: object, view: SliceView) -> tuple[Fact, ...]:
    """Return the facts that state what an event changed, which fall with it."""
    texts = {item.title, item.description} - {""} if isinstance(item, Event) else ()
    stating = chain.from_iterable(map(view.facts_stating, sorted(texts)))
    own = (each for each in stating if each.position == getattr(item, "position", None))
    return tuple(one for one in own if events_of_changes((one, item)))


def retract_item(
    view: SliceView, new_id: NewId, wrong: Fact | Event | Relation, reason: str
) -> tuple[log.Entry, ...]:
    """Return the entries that retcon a wrong item, its own first."""
    if not isinstance(wrong, Fact):
        told = facts_of_event(wrong, view)
        effects = (retract_item(view, partial(id_for_owner, new_id, e.id), e, reason) for e in told)
        return (*retcon_entries(wrong, reason), *chain.from_iterable(effects))
    states, _ = undo_states(new_id, Backing.from_item(wrong), wrong, reason, view, instead=None)
    return (*retcon_entries(wrong, reason), *states)


def undo_states(
    new_id: NewId,
    backing: Backing,
    fact: Fact,
    reason: str,
    view: SliceView,
    *,
    instead: str | None,
) -> tuple[tuple[log.Entry, ...], FactId | None]:
    """Return the entries that undo the states that began or ended by what a fact says.

    A replacement that states a tag sets it instead; the second value is the fact that states it.
    """
    begun = [
        (held, entity)
        for held in tags_begun_by(fact, view)
        if (entity := view.find_entity(Reference(held.entity_id))) is not None
    ]
    ended = None if begun else fact.properties.get("tag")
    entries: list[log.Entry] = [*_undo_ends(new_id, backing, fact, reason, view, tag=ended)]
    stated: FactId | None = None
    for held, entity in begun:
        stated_now = stated_tag(instead or "", entity, view.policy.exclusive_tags)
        tag = stated_now[0] if stated_now is not None and stated_now[1] else None
        label = f"retcon:{entity.id}:{held.tag}"
        pen = TagWriter(view, new_id, backing, entity)
        changed = undo_tag(pen, held, label=label, reason=reason, instead=tag)
        stated = next((one.id for one in _facts_begun(view, changed, tag)), stated)
        entries += changed
        entries += [
            log.FactRetconned(fact_id=e, replaced_by=None, reason=reason) for e in held.facts
        ]
    own_retcon = log.FactRetconned(fact_id=fact.id, replaced_by=None, reason=reason)
    return tuple(each for each in entries if each != own_retcon), stated


def _undo_ends(
    new_id: NewId, backing: Backing, fact: Fact, reason: str, view: SliceView, *, tag: object
) -> Iterator[log.Entry]:
    """Yield the entries by which the states hold on that ended by what a fact says.

    `tag` is the tag that the fact itself denies, if any.
    """
    attributes = {one.attribute for one in fact.statements}
    for entity in filter(None, (view.find_entity(Reference(one)) for one in fact.involved)):
        seen = ((one, view.find_item(one.observation)) for one in changes_of(entity))
        own = [
            one
            for one, observation in seen
            if isinstance(observation, Observation)
            and (observation.position == fact.position or is_same_moment(one.moment, fact.moment))
        ]
        other = [one.tag for one in own if one.holds]
        ends = [
            one
            for one in own
            if not one.holds
            and (one.tag == tag or (tag_meaning(one.tag) or ("",))[0] in attributes)
            and not any(ended_by(e, view.policy.exclusive_tags, [one.tag]) for e in other)
        ]
        if ends:
            named = partial(id_for_owner, new_id, entity.id)
            yield from resume_tags(TagWriter(view, named, backing, entity), ends, reason=reason)


def _facts_begun(
    view: SliceView, entries: Iterable[log.Entry], tag: str | None
) -> Iterator[FactDraft]:
    """Return the facts stating the tag that the entries create or restore."""
    for entry in entries:
        item: object = entry.thing if isinstance(entry, log.Made) else None
        if isinstance(entry, log.FactResumed):
            item = view.find_item(entry.fact_id)
        if isinstance(item, FactDraft) and item.properties.get("holds") is True:
            yield from (item,) if item.properties["tag"] == tag else ()
