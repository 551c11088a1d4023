"""Standing tags: a state tag that holds now, its facts, and since when it holds."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from canonry.domain.fields import Reference
from canonry.domain.ids import EntityId, FactId, SceneId
from canonry.domain.judging.making import tag_statement
from canonry.domain.judging.slices import SliceView
from canonry.domain.log.entries import FactSuperseded
from canonry.domain.observations import Observation
from canonry.domain.provenance import Authority, EvidenceKind
from canonry.domain.things.entities import Entity, family_of, normalised_name
from canonry.domain.things.facts import Fact, FactDraft
from canonry.domain.things.moments import Moment, moment_of
from canonry.domain.time import Instant
from canonry.domain.vocabularies.narrative_fields import STATE_TAGS
from canonry.domain.vocabularies.state_tags import excluded_by


@dataclass(frozen=True, slots=True, kw_only=True)
class TagHeld:
    """A state tag that holds for an entity; `facts` document it."""

    entity_id: EntityId
    tag: str
    facts: tuple[FactId, ...]


def tag_held(view: SliceView, entity: Entity, tag: str) -> TagHeld:
    """The tag with the facts that document it under the present name of the entity."""
    told = told_of(view, entity, tag, holds=True)
    return TagHeld(entity_id=entity.id, tag=tag, facts=tuple(fact.id for fact in told))


def told_of(view: SliceView, entity: Entity, tag: str, *, holds: bool) -> list[Fact]:
    """The facts, oldest first, which state that the tag holds, or that it does not.

    Of a tag that no observation of the entity mentions, no fact denies anything.
    """
    if not holds and tag not in entity.snapshot.get(STATE_TAGS, {}):
        return []
    facts = view.stating(tag_statement(entity.name, tag, holds=holds))
    return [fact for fact in facts if documents(fact, entity, tag, holds=holds)]


def origin_of(view: SliceView, entity: Entity, tag: str) -> tuple[Moment, Authority]:
    """When the tag began to hold, and by whose authority."""
    observation_id = entity.provenance.get(f"{STATE_TAGS}.{tag}")
    seen = None if observation_id is None else view.thing(observation_id)
    if not isinstance(seen, Observation):
        return moment_of(None, None), entity.authority
    scene = view.scene(_scene_of(seen))
    return moment_of(seen.observed_at, scene), seen.authority


def conflicts_of(held: TagHeld) -> tuple[str, ...]:
    """The ids to name in a conflict: the facts that document the tag, or else its entity."""
    return held.facts or (held.entity_id,)


def still_stands(view: SliceView, fact: Fact, at: Instant | None) -> bool:
    """Whether no later change of the state, and no other fact, has ended what a fact states.

    Where the fact was superseded at a known time, its interval says whether it holds `at` a time.
    Without `at` the question is about now, when a superseded fact does not hold.
    """
    if fact.superseded and (fact.until is None or at is None):
        return False
    said = fact.properties
    entity_id, tag, holds = said.get("entity_id"), said.get("tag"), said.get("holds")
    if fact.until is not None or not isinstance(entity_id, str) or not isinstance(holds, bool):
        return True
    entity = view.entity(Reference(entity_id))
    return entity is None or (tag in entity.state_tags) is holds


def _scene_of(seen: Observation) -> SceneId | None:
    scenes = [each.ref for each in seen.evidence if each.kind is EvidenceKind.SCENE]
    return SceneId(scenes[0]) if scenes else None


def documents(fact: Fact, entity: Entity, tag: str, *, holds: bool) -> bool:
    """Whether a fact that was not superseded states this, by its properties or its words alone."""
    said, family = fact.properties, family_of(entity)
    if fact.superseded:
        return False
    if "tag" in said:
        told = (said["tag"], said.get("holds"))
        return said.get("entity_id") in family and told == (tag, holds)
    words = tag_statement(entity.name, tag, holds=holds)
    same = normalised_name(fact.statement) == normalised_name(words)
    return same and bool(fact.involved) and family.issuperset(fact.involved)


def take_over(
    made: Iterable[FactDraft],
    standing: Callable[[str, bool], Iterable[Fact]],
    groups: Iterable[tuple[str, ...]],
) -> Iterator[FactSuperseded]:
    """The entries that end the facts which state the opposite of these tags.

    `standing(tag, holds)` finds those facts. A tag that another one replaced ends as well.
    """
    changes = {str(fact.properties["tag"]): fact for fact in made}
    begun = [tag for tag, fact in changes.items() if fact.properties["holds"]]
    excluding = tuple(groups)
    for tag, fact in changes.items():
        holds = bool(fact.properties["holds"])
        came = () if holds else excluded_by(tag, excluding, begun)
        heir = changes[came[0]] if came else fact
        for old in standing(tag, not holds):
            yield superseded(old, heir.time_ref, FactId(heir.id))


def superseded(fact: Fact, until: Instant | None, by: FactId) -> FactSuperseded:
    """The entry that ends a fact; without a date where the one given is before the fact began."""
    backwards = until is not None and fact.time_ref is not None and until < fact.time_ref
    return FactSuperseded(fact_id=fact.id, until=None if backwards else until, superseded_by=by)
