"""Create and update entities, change their state, and merge them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from canonry.canon.judging.contents import EntityContent
from canonry.canon.judging.known_items import Backing, id_for_owner, make_entity, make_observation
from canonry.canon.judging.relation_timelines import laws_against_state
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.state_tags import TagsChanged, TagWriter, change_tags, own_spelling
from canonry.canon.session import lookup
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    Receipt,
    apply_rule,
    audience_for,
    commit_change,
    known_to_audience,
    require_standing,
    with_secret_parts,
)
from canonry.canon.session.traversal import separate_entities
from canonry.log.entries import EntitiesMerged, EntitiesUnmerged, Entry
from canonry.log.folding import item_key
from canonry.log.items.entities import Entity, EntityClass, normalised_name
from canonry.log.items.facts import Axiom, FactDraft
from canonry.log.items.secret_parts import as_seen
from canonry.log.observations import limit_audience
from canonry.log.schemas.identity_keys import confusable_key
from canonry.log.schemas.narrative import DESCRIPTION, NAME, PROPERTY_PREFIX
from canonry.readmodels.ports.state import IdentifierQuery
from canonry.values.audience import GAME_MASTERS, Audience, audience_covers, viewer_of
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.fields import Reference
from canonry.values.ids import FactId, NewId
from canonry.values.moments import NOW
from canonry.values.observations import Observation
from canonry.values.provenance import Authority, Evidence, may_end


async def create_entity(
    canon: Canon, caller: Caller, backing: Backing, new: EntityContent
) -> Receipt:
    """Create the entity with its first observation.

    Raises:
        InvalidInput: `entity.archetype-has-no-state`, `entity.archetype-derives` or
            `state.opposed`.
        NotFound: `universe.unknown`, `entity.unknown` (the archetype) or `evidence.unknown`.
        Conflict: `space.foreign`, `entity.archetype-mismatch`, `entity.retconned` or
            `axiom.forbids`.
    """
    _require_instance(new)
    lookup.require_compatible(new.state_tags, canon.policy, path="/state_tags")
    await lookup.require_universe(canon, caller, backing.space)

    async def prepare_change(new_id: NewId) -> Change:
        reads = await lookup.require_evidence(canon, caller, backing.space, backing.evidence)
        derives_from = None
        if new.derives_from is not None:
            archetype = await _require_archetype(canon, caller, backing, new, new.derives_from)
            derives_from = archetype.id
            reads |= {item_key(new.derives_from), item_key(archetype.id)}
        broken, rested_on = await apply_rule(
            canon,
            backing.space,
            lambda view: list(laws_against_state(view, new.entity_type, new.state_tags)),
        )
        lookup.require_lawful(broken)
        reads |= rested_on
        _, entries = make_entity(
            new_id,
            backing,
            entity_class=new.entity_class,
            entity_type=new.entity_type,
            name=new.name,
            description=new.description,
            properties=new.properties,
            state_tags=new.state_tags,
            derives_from=derives_from,
        )
        # They only cause a warning, so the verdict does not read the key of the name.
        name, confusable = normalised_name(new.name), confusable_key(new.entity_type, new.name)
        spaces = frozenset((backing.space,))
        query = IdentifierQuery(spaces=spaces, keys=(name, confusable), entity_type=new.entity_type)
        pages = (await canon.state.entities_identified(query)).values()
        known = {each.id: name in each.known_as for page in pages for each in page.items}
        found = (
            ("Entities of this type and name", [one for one, same in known.items() if same]),
            (
                "Entities with names that look the same",
                [o for o, same in known.items() if not same],
            ),
        )
        warnings = tuple(f"{what} already exist: {', '.join(ids)}." for what, ids in found if ids)
        return Change(entries=entries, reads=reads, warnings=warnings, audience=backing.audience)

    return await commit_change(canon, caller, backing.space, prepare_change)


def _require_instance(new: EntityContent) -> None:
    if new.entity_class is EntityClass.INSTANCE:
        return
    if new.state_tags:
        message = "An archetype has no state. Leave state_tags out, or create an instance."
        raise InvalidInput("entity.archetype-has-no-state", message, path="/state_tags")
    if new.derives_from is not None:
        message = "An archetype cannot derive from another one. Leave derives_from out."
        raise InvalidInput("entity.archetype-derives", message, path="/derives_from")


async def _require_archetype(
    canon: Canon, caller: Caller, backing: Backing, new: EntityContent, archetype_id: Reference
) -> Entity:
    archetype = await lookup.require_item(canon, caller, Entity, archetype_id)
    lookup.require_same_space(backing.space, [archetype], path="/derives_from")
    require_standing(archetype)
    fits = (EntityClass.ARCHETYPE, new.entity_type)
    if (archetype.entity_class, archetype.entity_type) != fits:
        message = f"The entity is of type {new.entity_type}. Name an archetype of that type."
        raise Conflict(
            "entity.archetype-mismatch", message, path="/derives_from", conflicts=[archetype.id]
        )
    return archetype


# Update an entity's name, description and properties with a further observation.
#
# Earlier observations stay in the log with their evidence, and a former name still finds the
# entity.


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityUpdate:
    """The new name, description and properties; None and missing properties stay unchanged."""

    name: str | None = None
    description: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)

    def observed_fields(self) -> dict[str, Any]:
        """Return the fields of the observation."""
        own = {NAME: self.name, DESCRIPTION: self.description}
        given = {name: value for name, value in own.items() if value is not None}
        return given | {PROPERTY_PREFIX + name: value for name, value in self.properties.items()}


async def update_entity(
    canon: Canon,
    caller: Caller,
    entity_id: str,
    update: EntityUpdate,
    *,
    authority: Authority,
    evidence: tuple[Evidence, ...],
) -> Entity:
    """Update the entity; values that already hold are not written again.

    Raises:
        InvalidInput: `entity.empty-update`.
        NotFound: `entity.unknown` or `evidence.unknown`.
        Conflict: `entity.retconned`, `space.foreign`, or `entity.outranked`: a higher authority
            established a field.
    """
    if not update.observed_fields():
        message = "The update is empty. Give name, description or properties."
        raise InvalidInput("entity.empty-update", message, path="")
    space = (await lookup.require_item(canon, caller, Entity, entity_id)).space

    async def prepare_change(new_id: NewId) -> Change:
        entity = await lookup.require_item(canon, caller, Entity, entity_id)
        require_standing(entity)
        reads = await lookup.require_evidence(canon, caller, space, evidence)
        reads |= {item_key(entity_id), item_key(entity.id)}
        properties = {PROPERTY_PREFIX + name: value for name, value in entity.properties.items()}
        now = {NAME: entity.name, DESCRIPTION: entity.description, **properties}
        fields = {
            name: value
            for name, value in update.observed_fields().items()
            if name not in now or now[name] != value
        }
        credited = entity.provenance
        observed = {name: credited[name] for name in fields if name in credited}
        seen = await canon.space_scope(entity.space).items_by_id(observed.values())
        for name, observation_id in observed.items():
            observation = seen.get(observation_id)
            if not isinstance(observation, Observation):
                continue
            if not may_end(authority, observation.authority):
                message = (
                    f"The authority {observation.authority} established {name}. "
                    "A caller with that authority can change it."
                )
                raise Conflict("entity.outranked", message, field=name, conflicts=[observation.id])
        if not fields:
            return Change(entries=(), reads=reads)
        backing = Backing(space=space, authority=authority, confidence=1.0, evidence=evidence)
        return Change(entries=(make_observation(new_id, backing, entity.id, fields),), reads=reads)

    await commit_change(canon, caller, space, prepare_change)
    return await lookup.require_item(canon, caller, Entity, entity_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateUpdated:
    """The entity after the change, and the facts that document it; none: nothing changed."""

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
    """Add and remove tags; a tag that is already in that state changes nothing.

    A new tag ends the tags that it excludes: `dead` ends `alive`.

    Raises:
        InvalidInput: `state.empty-change`, `state.overlap`, `state.opposed` or
            `entity.archetype-has-no-state`.
        NotFound: `entity.unknown` or `evidence.unknown`.
        Conflict: `entity.retconned`, `space.foreign` or `axiom.forbids`.
    """
    if not add and not remove:
        message = "The change is empty. Name at least one tag in add or remove."
        raise InvalidInput("state.empty-change", message, path="/state_tag_changes")
    both = set(add) & set(remove)
    if both:
        message = "add and remove name the same tag. Name each tag in one of them."
        raise InvalidInput("state.overlap", message, path="/state_tag_changes", overlap=len(both))
    lookup.require_compatible(add, canon.policy, path="/state_tag_changes/add")
    before = await lookup.require_item(canon, caller, Entity, entity_id)
    backing = Backing(space=before.space, authority=authority, confidence=1.0, evidence=evidence)

    async def prepare_change(new_id: NewId) -> Change:
        known = await lookup.require_item(canon, caller, Entity, entity_id)
        if known.entity_class is EntityClass.ARCHETYPE:
            message = "An archetype has no state. Update one of its instances."
            raise InvalidInput("entity.archetype-has-no-state", message, path="/entity_id")
        require_standing(known)
        reads = await lookup.require_evidence(canon, caller, known.space, evidence)
        entries: list[Entry] = []
        for number, audience in enumerate(await _audiences_knowing(canon, known, remove, evidence)):
            labelled = partial(id_for_owner, new_id, f"for:{number}")
            changed, rested_on = await _change_for(
                canon, labelled, backing, known, audience, add=add, remove=remove
            )
            entries += limit_audience(changed.entries, audience)
            reads |= rested_on
        return Change(entries=tuple(entries), reads=reads | {item_key(entity_id)})

    receipt = await commit_change(canon, caller, before.space, prepare_change)
    return StateUpdated(
        entity=await lookup.require_item(canon, caller, Entity, entity_id),
        fact_ids=tuple(FactId(fact.id) for fact in receipt.drafts_made(FactDraft)),
    )


async def _change_for(
    canon: Canon,
    new_id: NewId,
    backing: Backing,
    known: Entity,
    audience: Audience,
    *,
    add: tuple[str, ...],
    remove: tuple[str, ...],
) -> tuple[TagsChanged, frozenset[str]]:
    """Return the changes for the audiences that know of it, and the keys read."""
    entity = await known_to_audience(canon, known, audience)

    def change_state(view: SliceView) -> tuple[TagsChanged, list[Axiom]]:
        held = set(entity.state_tags) - set(remove)
        broken = list(laws_against_state(view, entity.entity_type, add, held))
        begun, gone = own_spelling(entity, add), own_spelling(entity, remove)
        pen = TagWriter(view, new_id, backing, entity)
        return change_tags(pen, add=begun, remove=gone, moment=NOW), broken

    (changed, broken), rested_on = await apply_rule(canon, entity.space, change_state, audience)
    lookup.require_lawful(broken)
    return changed, rested_on | {item_key(entity.id)}


async def _audiences_knowing(
    canon: Canon, entity: Entity, remove: tuple[str, ...], evidence: tuple[Evidence, ...]
) -> Sequence[Audience]:
    """Return the audience of the change: those who know the removed tags and the evidence."""
    audience = await audience_for(canon, (entity.id, *(one.ref for one in evidence)), None)
    whole, gone = await with_secret_parts(canon, entity), set(remove) & set(entity.state_tags)

    def loses_tags(for_whom: Audience) -> bool:
        seen = as_seen(whole, viewer_of(for_whom))
        return seen is not None and gone <= set(seen.state_tags)

    if loses_tags(audience):
        return (audience,)
    part_audiences = [part.audience for part in whole.veils]
    return [
        one for one in part_audiences if audience_covers(audience, one) and loses_tags(one)
    ] or [GAME_MASTERS]


async def merge_entities(
    canon: Canon, caller: Caller, *, kept_id: str, merged_id: str, reason: str
) -> Entity:
    """Merge the root of `merged_id`, with its members, into the root of `kept_id`.

    Raises:
        NotFound: `entity.unknown`.
        Conflict: `space.foreign`, `entity.retconned`, `entity.kind-mismatch`,
            `entity.other-audience` or `entity.already-merged`.
    """
    space = (await lookup.require_item(canon, caller, Entity, kept_id)).space

    async def prepare_change(_: NewId) -> Change:
        kept, merged = await lookup.require_all(canon, caller, Entity, (kept_id, merged_id))
        require_mergeable(kept, merged)
        entry = EntitiesMerged(
            kept=kept.id, merged=merged.id, members=merged.members, reason=reason
        )
        ids = (kept_id, merged_id, kept.id, merged.id, *kept.members, *merged.members)
        return Change(entries=(entry,), reads=frozenset(map(item_key, ids)))

    await commit_change(canon, caller, space, prepare_change)
    return await lookup.require_item(canon, caller, Entity, kept_id)


def require_mergeable(kept: Entity, merged: Entity) -> None:
    """Refuse two entities that cannot be merged.

    Raises:
        Conflict: as `merge_entities`.
    """
    lookup.require_same_space(kept.space, [merged], path="/merged_entity_id")
    require_standing(kept, merged)
    ids = [kept.id, merged.id]
    if kept.id == merged.id:
        message = "Both ids name the same entity. Name two entities."
        raise Conflict("entity.already-merged", message, conflicts=[kept.id])
    if (kept.entity_class, kept.entity_type) != (merged.entity_class, merged.entity_type):
        message = "Only entities of the same class and type can be merged."
        raise Conflict("entity.kind-mismatch", message, conflicts=ids)
    if kept.audience != merged.audience:
        message = (
            "The two entities have different audiences. Give both the same audience, then merge "
            "them."
        )
        raise Conflict("entity.other-audience", message, conflicts=ids)


async def unmerge_entities(
    canon: Canon, caller: Caller, separated_id: str, *, reason: str
) -> Entity:
    """Separate `separated_id` from its merge; return the entity that it was merged into.

    Raises:
        NotFound: `entity.unknown`.
        Conflict: `entity.not-merged`.
    """
    root = await lookup.require_item(canon, caller, Entity, separated_id)

    async def prepare_change(_: NewId) -> Change:
        found = await lookup.require_itself(canon, caller, separated_id)
        if found.merged_into is None:
            message = "This entity was not merged into another one. Name one that was."
            raise Conflict("entity.not-merged", message, conflicts=[separated_id])
        kept = await lookup.require_item(canon, caller, Entity, found.merged_into)
        return separate_entities(found, kept, reason)

    receipt = await commit_change(canon, caller, root.space, prepare_change)
    kept = [e.kept for e in receipt.entries if isinstance(e, EntitiesUnmerged)]
    return await lookup.require_item(canon, caller, Entity, (*kept, root.id)[0])
