"""Update an entity's state tags: each change that takes effect is documented by a fact."""

from dataclasses import dataclass

from canonry.domain.errors import InvalidInput
from canonry.domain.ids import FactId, NewId
from canonry.domain.judging.making import Backing
from canonry.domain.judging.slices import SliceView
from canonry.domain.judging.tag_changes import TagsChanged, change_tags
from canonry.domain.log.keys import thing_key
from canonry.domain.moments import NOW
from canonry.domain.provenance import Authority, Evidence
from canonry.domain.things.entities import Entity, EntityClass
from canonry.domain.things.facts import FactDraft
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Change, commit_change
from canonry.usecases.kernel.extend_slice import judged_by
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

        def change(view: SliceView) -> TagsChanged:
            return change_tags(view, new_id, backing, entity, add=add, remove=remove, moment=NOW)

        changed, rested_on = await judged_by(canon, entity.space, change)
        reads |= {thing_key(entity_id), thing_key(entity.id), *rested_on}
        return Change(entries=changed.entries, reads=reads)

    receipt = await commit_change(canon, caller, before.space, prepare)
    return StateUpdated(
        entity=await require(canon, caller, Entity, entity_id),
        fact_ids=tuple(FactId(fact.id) for fact in receipt.made(FactDraft)),
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
