"""Update an entity's state tags: each change that takes effect is documented by a fact."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from canonry.domain.errors import InvalidInput
from canonry.domain.ids import FactId, NewId
from canonry.domain.judging.making import Backing, change_state, tag_statement
from canonry.domain.judging.standing_tags import documents, take_over
from canonry.domain.log.entries import Entry, FactSuperseded, Made
from canonry.domain.log.keys import thing_key
from canonry.domain.provenance import Authority, CanonLevel, Evidence
from canonry.domain.things.entities import Entity, EntityClass, family_of
from canonry.domain.things.facts import Fact, FactDraft, FactType
from canonry.domain.vocabularies.state_tags import excluded_by
from canonry.ports.views.pages import PAGE_MAX
from canonry.ports.views.state import FactQuery
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Change, commit_change
from canonry.usecases.kernel.find_newest import find_newest
from canonry.usecases.kernel.involved import require_standing
from canonry.usecases.kernel.lookup import require, require_evidence


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
        InvalidInput: `state.empty-change`, `state.overlap` or `entity.archetype-has-no-state`.
        NotFound: `entity.unknown` or `evidence.unknown`.
        Conflict: `entity.retconned` or `space.foreign`.
    """
    _require_change(add, remove)
    before = await require(canon, caller, Entity, entity_id)

    async def prepare(new_id: NewId) -> Change:
        entity = await require(canon, caller, Entity, entity_id)
        _require_state(entity)
        backing = Backing(
            space=entity.space, authority=authority, confidence=1.0, evidence=evidence
        )
        reads = await require_evidence(canon, caller, entity.space, evidence)
        gone = (*remove, *_displaced(canon, entity, add))
        _, entries = change_state(new_id, backing, entity, add=add, remove=gone)
        ended = await _ended(canon, entity, entries) if entries else ()
        reads |= {thing_key(entity_id), thing_key(entity.id)}
        return Change(entries=(*entries, *ended), reads=reads)

    receipt = await commit_change(canon, caller, before.space, prepare)
    return StateUpdated(
        entity=await require(canon, caller, Entity, entity_id),
        fact_ids=tuple(FactId(fact.id) for fact in receipt.made(FactDraft)),
    )


def _displaced(canon: Canon, entity: Entity, add: tuple[str, ...]) -> list[str]:
    """The tags held that cannot hold together with the new ones."""
    groups = canon.policy.exclusive_tags
    held = set(entity.state_tags) - set(add)
    return [gone for tag in add for gone in excluded_by(tag, groups, held)]


async def _ended(
    canon: Canon, entity: Entity, entries: tuple[Entry, ...]
) -> tuple[FactSuperseded, ...]:
    """The facts that these changes take over from, whichever way they say it."""
    things = (entry.thing for entry in entries if isinstance(entry, Made))
    made = [thing for thing in things if isinstance(thing, FactDraft)]
    known = {fact.id: fact for fact in await _states(canon, entity)}
    for fact in made:
        tag, holds = str(fact.properties["tag"]), bool(fact.properties["holds"])
        words = tag_statement(entity.name, tag, holds=not holds)
        stating = await canon.state.facts_stating(entity.space, words)
        known |= {each.id: each for each in stating if each.level is CanonLevel.CANON}

    def standing(tag: str, holds: bool) -> Iterable[Fact]:  # noqa: FBT001 - both are asked for
        return [fact for fact in known.values() if documents(fact, entity, tag, holds=holds)]

    groups = canon.policy.exclusive_tags
    return tuple(take_over(made, standing, groups))


async def _states(canon: Canon, entity: Entity) -> Sequence[Fact]:
    """The newest facts of state; they also tell of tags under a name that the entity had."""
    return await find_newest(
        lambda offset: canon.state.facts(
            FactQuery(
                spaces=frozenset((entity.space,)),
                entities=family_of(entity),
                level=CanonLevel.CANON,
                fact_type=FactType.STATE,
                limit=PAGE_MAX,
                offset=offset,
            )
        )
    )


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
