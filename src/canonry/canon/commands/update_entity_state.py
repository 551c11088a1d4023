"""Update an entity's state tags: each change that takes effect is documented by a fact."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from canonry.canon.judging.laws import laws_against_state
from canonry.canon.judging.making import Backing
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.standing_tags import as_held
from canonry.canon.judging.tag_changes import TagsChanged, change_tags
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    audience_for,
    commit_change,
    known_to,
    stored,
)
from canonry.canon.session.extend_slice import judged_by
from canonry.canon.session.involved import require_standing
from canonry.canon.session.lawful import require_compatible, require_lawful
from canonry.canon.session.lookup import require, require_evidence
from canonry.log.entries import Entry
from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.facts import Axiom, FactDraft
from canonry.log.items.veils import as_seen
from canonry.log.keys import thing_key
from canonry.log.secrecy import under
from canonry.values.audience import GAME_MASTERS, Audience, covers, viewer_of
from canonry.values.errors import InvalidInput
from canonry.values.ids import FactId, NewId
from canonry.values.moments import NOW
from canonry.values.provenance import Authority, Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class _TagsAsked:
    """What is to change, by whose word and on what evidence."""

    add: tuple[str, ...]
    remove: tuple[str, ...]
    authority: Authority
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateUpdated:
    """The entity as it is now, and the facts that document what took effect; none: nothing did."""

    entity: Entity
    fact_ids: tuple[FactId, ...]


async def update_entity_state(
    canon: Canon,
    caller: Caller,
    entity_id: str,
    *,
    add: tuple[str, ...],
    remove: tuple[str, ...],
    authority: Authority,
    evidence: tuple[Evidence, ...],
) -> StateUpdated:
    """Add and remove tags; those that already stand so change nothing.

    A new tag takes the place of those that exclude it: who is dead is no longer alive.

    Raises:
        InvalidInput: `state.empty-change`, `state.overlap`, `state.opposed` or
            `entity.archetype-has-no-state`.
        NotFound: `entity.unknown` or `evidence.unknown`.
        Conflict: `entity.retconned`, `space.foreign` or `axiom.forbids`.
    """
    _require_change(add, remove)
    require_compatible(add, canon.policy, path="/state_tag_changes/add")
    before = await require(canon, caller, Entity, entity_id)
    asked = _TagsAsked(add=add, remove=remove, authority=authority, evidence=evidence)

    async def prepare(new_id: NewId) -> Change:
        known = await require(canon, caller, Entity, entity_id)
        _require_state(known)
        reads = await require_evidence(canon, caller, known.space, evidence)
        entries: list[Entry] = []
        for number, audience in enumerate(await _knowing(canon, known, remove, evidence)):
            told = partial(_labelled, new_id, number)
            changed, rested_on = await _changed(canon, told, asked, known, audience)
            entries += under(changed.entries, audience)
            reads |= rested_on
        return Change(entries=tuple(entries), reads=reads | {thing_key(entity_id)})

    receipt = await commit_change(canon, caller, before.space, prepare)
    return StateUpdated(
        entity=await require(canon, caller, Entity, entity_id),
        fact_ids=tuple(FactId(fact.id) for fact in receipt.made(FactDraft)),
    )


def _labelled(new_id: NewId, number: int, label: str) -> str:
    return new_id(f"{label}:for:{number}" if number else label)


async def _changed(
    canon: Canon, new_id: NewId, asked: _TagsAsked, known: Entity, audience: Audience
) -> tuple[TagsChanged, frozenset[str]]:
    """What it changes for those who may know of it, and what that rests on."""
    entity = await known_to(canon, known, audience)
    backing = Backing(
        space=entity.space, authority=asked.authority, confidence=1.0, evidence=asked.evidence
    )

    def change(view: SliceView) -> tuple[TagsChanged, list[Axiom]]:
        held = set(entity.state_tags) - set(asked.remove)
        broken = list(laws_against_state(view, entity.entity_type, asked.add, held))
        begun, gone = as_held(entity, asked.add), as_held(entity, asked.remove)
        made = change_tags(view, new_id, backing, entity, add=begun, remove=gone, moment=NOW)
        return made, broken

    (changed, broken), rested_on = await judged_by(canon, entity.space, change, audience)
    require_lawful(broken)
    return changed, rested_on | {thing_key(entity.id)}


async def _knowing(
    canon: Canon, entity: Entity, remove: tuple[str, ...], evidence: tuple[Evidence, ...]
) -> Sequence[Audience]:
    """Who may know of the change: whoever knows of the tags that cease, and of the evidence."""
    audience = await audience_for(canon, (entity.id, *(one.ref for one in evidence)), None)
    whole, gone = await stored(canon, entity), set(remove) & set(entity.state_tags)

    def ceases(for_whom: Audience) -> bool:
        seen = as_seen(whole, viewer_of(for_whom))
        return seen is not None and gone <= set(seen.state_tags)

    if ceases(audience):
        return (audience,)
    veils = [veil.audience for veil in whole.veils]
    return [one for one in veils if covers(audience, one) and ceases(one)] or [GAME_MASTERS]


def _require_change(add: tuple[str, ...], remove: tuple[str, ...]) -> None:
    if not add and not remove:
        message = "name at least one tag in add or remove"
        raise InvalidInput("state.empty-change", message, path="/state_tag_changes")
    both = set(add) & set(remove)
    if both:
        message = "a tag cannot be added and removed at once; name it in one of the two"
        raise InvalidInput("state.overlap", message, path="/state_tag_changes", overlap=len(both))


def _require_state(entity: Entity) -> None:
    if entity.entity_class is EntityClass.ARCHETYPE:
        message = "an archetype has no state; update one of its instances"
        raise InvalidInput("entity.archetype-has-no-state", message, path="/entity_id")
    require_standing(entity)
