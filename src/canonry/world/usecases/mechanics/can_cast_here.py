"""Whether a spell can be cast here and now: what the rules say beside what the world is like."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.schemas.world_types import WorldType
from canonry.readmodels.ticks import Tick
from canonry.world.domain.mechanics.rules import Caster, RuleEntry, RuleKind, objections
from canonry.world.domain.standing import person_of
from canonry.world.usecases.bound_world import BoundWorld
from canonry.world.usecases.mechanics.ask_rules import lookup_rule
from canonry.world.usecases.speech.surroundings import held_by, location_of
from canonry.world.usecases.world_at import not_in_world, world_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Castable:
    """Both halves, and what comes of them; `rules` None: there is no such spell."""

    tick: Tick
    rules: RuleEntry | None
    place: Entity | None
    caster: Caster
    reasons: Sequence[str]

    @property
    def verdict(self) -> str:
        """Whether it can be cast."""
        return "no" if self.reasons else "yes"


async def can_cast_here(
    canon: Canon, world: BoundWorld, player: str, spell: str, tick: Tick | None
) -> Castable:
    """What the rules say of the spell, what holds of the player, and whether both agree.

    Raises:
        NotFound: `player.unknown`.
        NotSupported: `rules.missing`.
    """
    then = world_at(canon, world, tick)
    found = await then.find(then.id_of(player), WorldType.PLAYER)
    if found is None:
        raise not_in_world(then.id_of(player), WorldType.PLAYER)
    rules = await lookup_rule(canon, RuleKind.SPELL, spell)
    place = await location_of(then, found.id)
    realms = [] if place is None else await then.realms_of(place.id)
    held = await held_by(then, found.id)
    around = [] if place is None else [place, *realms]
    caster = _caster(found, [item.name for item in held], _marks(around))
    reasons = [] if place else ["nobody knows where the caster is"]
    reasons += ["there is no such spell"] if rules is None else objections(rules, caster)
    return Castable(tick=then.tick, rules=rules, place=place, caster=caster, reasons=reasons)


def _marks(things: Iterable[Entity]) -> frozenset[str]:
    return frozenset(
        str(tag).casefold()
        for thing in things
        for name in ("tags", "narrative_tags")
        for tag in thing.properties.get(name) or ()
    )


def _caster(player: Entity, held: Sequence[str], marks: frozenset[str]) -> Caster:
    own = player.properties
    attributes: Mapping[str, Any] = own.get("attributes") or {}
    conditions = (*_texts(own.get("conditions")), *_texts(attributes.get("conditions")))
    spells, slots = attributes.get("spells"), attributes.get("spellSlots")
    return Caster(
        alive=person_of(player).alive,
        conditions=frozenset(each.casefold() for each in conditions),
        marks=marks,
        held=tuple(held),
        spells=frozenset(map(str.casefold, _texts(spells))) if isinstance(spells, list) else None,
        slots=_counts(slots) if isinstance(slots, Mapping) else None,
    )


def _counts(slots: Mapping[str, Any]) -> Mapping[str, int]:
    return {str(level): n for level, n in slots.items() if isinstance(n, int)}


def _texts(value: Any) -> tuple[str, ...]:
    told = value.split(",") if isinstance(value, str) else value
    if not isinstance(told, list | tuple):
        return ()
    return tuple(each.strip() for each in told if isinstance(each, str))
