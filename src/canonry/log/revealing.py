"""Revealing: a thing comes to be for another audience."""

from collections.abc import Mapping
from typing import Any

from canonry.log.entries import AudienceChanged
from canonry.log.folding import Folding
from canonry.log.items.entities import Entity, EntityVeil, Sightings
from canonry.log.items.veils import tells_of
from canonry.log.observing import tell
from canonry.log.sighting import sighting_of
from canonry.values.audience import Audience
from canonry.values.observations import Observation
from canonry.values.revising import revised


def reveal(folding: Folding, entry: AudienceChanged) -> None:
    """Let the thing be for its new audience."""
    veiled, thing = _behind_a_veil(folding, entry.thing_id), folding.get(entry.thing_id)
    if hasattr(thing, "audience"):
        folding.change(entry.thing_id, type(thing), audience=entry.audience)
    if veiled is not None:
        _lift(folding, veiled)


def _behind_a_veil(folding: Folding, thing_id: str) -> Observation | None:
    told = folding.get(thing_id)
    entity = folding.get(told.entity_id) if isinstance(told, Observation) else None
    if isinstance(told, Observation) and isinstance(entity, Entity):
        return None if tells_of(told, entity) else told
    return None


def _lift(folding: Folding, before: Observation) -> None:
    """Tell the entity anew what only the former audience knew."""
    now = folding.get(before.id)
    seen = sighting_of(before)

    def forgotten(entity: Entity) -> Mapping[str, Any]:
        return {"veils": tuple(_less(entity.veils, before.audience, seen))}

    folding.develop(before.entity_id, Entity, forgotten)
    if isinstance(now, Observation):
        tell(folding, now)


def _less(veils: tuple[EntityVeil, ...], audience: Audience, seen: Sightings) -> list[EntityVeil]:
    """The veils without one that has nothing left to hide; what it says beside stays right."""
    kept: list[EntityVeil] = []
    for veil in veils:
        if veil.audience != audience:
            kept.append(veil)
        elif veil.sightings.count > seen.count or veil.absorbed_sightings.count or veil.evidence:
            fewer = revised(veil.sightings, count=max(0, veil.sightings.count - seen.count))
            kept.append(revised(veil, sightings=fewer))
    return kept
