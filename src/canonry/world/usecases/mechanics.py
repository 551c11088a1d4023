"""Ask the rules of play."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.schemas.world_types import WorldType
from canonry.readmodels.edges import Tick
from canonry.values.errors import NotSupported
from canonry.world.domain.checks import person_of
from canonry.world.domain.mechanics import Caster, RuleEntry, RuleKind, objections
from canonry.world.models.services import WorldServices
from canonry.world.ports.moderator import Rulebook
from canonry.world.usecases.worlds import WorldAt


def rulebook_of(canon: Canon) -> Rulebook:
    """The rulebook.

    Raises:
        NotSupported: `rules.missing`.
    """
    rulebook = canon.service(WorldServices).rulebook
    if rulebook is None:
        raise NotSupported("rules.missing", "this server has no rulebook")
    return rulebook


async def lookup_rule(canon: Canon, kind: RuleKind, name: str) -> RuleEntry | None:
    """The entry of this name; None where there is none. It is read off the loop."""
    return await asyncio.to_thread(rulebook_of(canon).lookup, kind, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Castable:
    """Both halves, and what comes of them; `rules` None: there is no such spell."""

    tick: Tick
    rules: RuleEntry | None
    place: Entity | None
    caster: Caster
    reasons: Sequence[str]


async def can_cast_here(then: WorldAt, player: str, spell: str) -> Castable:
    """What the rules say of the spell, what holds of the player, and whether both agree.

    Raises:
        NotFound: `player.unknown`.
        NotSupported: `rules.missing`.
    """
    found = await then.require(player, WorldType.PLAYER)
    rules = await lookup_rule(then.canon, RuleKind.SPELL, spell)
    place = await then.location_of(found)
    realms = [] if place is None else await then.realms_of(place.id)
    held, _more = await then.inventory_of(found.id)
    around = [] if place is None else [place, *realms]
    marks = frozenset(
        str(tag).casefold()
        for thing in around
        for name in ("tags", "narrative_tags")
        for tag in thing.properties.get(name) or ()
    )
    caster = _caster(found, [item.name for item in held], marks)
    reasons = [] if place else ["nobody knows where the caster is"]
    reasons += ["there is no such spell"] if rules is None else objections(rules, caster)
    return Castable(tick=then.tick, rules=rules, place=place, caster=caster, reasons=reasons)


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
        slots={str(level): n for level, n in slots.items() if isinstance(n, int)}
        if isinstance(slots, Mapping)
        else None,
    )


def _texts(value: Any) -> tuple[str, ...]:
    told = value.split(",") if isinstance(value, str) else value
    if not isinstance(told, list | tuple):
        return ()
    return tuple(each.strip() for each in told if isinstance(each, str))
