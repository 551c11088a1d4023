"""Lore and rules: record and search lore, and ask the rules of play."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import first_made
from canonry.log.commits import ORIGIN, Position
from canonry.log.items.entities import Entity
from canonry.log.schemas.narrative import PROPERTY_PREFIX
from canonry.log.schemas.world_types import LoreType, WorldType
from canonry.readmodels.edges import Tick, check_tick, instant_of
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import TextQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.recall.usecases.find_passages import FoundPassage, find_passages
from canonry.values.errors import Conflict, InvalidInput, NotSupported
from canonry.values.observations import Observation, ObservationDraft
from canonry.values.provenance import CanonLevel
from canonry.world.domain.atlas import Lore, LoreVersion, check_key, lore_id_of
from canonry.world.domain.checks import VERSIONS_MAX, person_of
from canonry.world.domain.mechanics import Caster, RuleEntry, RuleKind, casting_objections
from canonry.world.models.services import WorldServices
from canonry.world.ports.moderator import Rulebook
from canonry.world.usecases.worlds import BoundWorld, WorldAt, WorldDraft, change_world


async def record_lore(
    canon: Canon,
    caller: Caller,
    world: BoundWorld,
    key: str,
    *,
    lore_type: LoreType,
    fields: Mapping[str, Any],
    expected: int | None = None,
    archived: bool = False,
) -> int:
    """Write the next version; its number. `expected` is the version before it (0: a new fact).

    Raises:
        InvalidInput: `key.malformed`, `lore.empty` or `lore.too-many-versions`.
        Conflict: `lore.version-conflict`, another version than the expected one is the latest, or
            `lore.type-fixed`.
    """
    check_key(key, path="/factId")
    version = LoreVersion(fields=fields)
    lore = Lore(key=key, lore_type=lore_type, versions=(version,), archived=archived)

    async def write_version(draft: WorldDraft) -> None:
        old = await draft.find_item(lore_id_of(world.space, key))
        latest = 0 if old is None else int(old.properties.get("version", 0))
        if expected not in {None, latest}:
            message = f"The latest version is {latest}. Read it and send it as expectedVersion."
            raise Conflict("lore.version-conflict", message, path="/expectedVersion", latest=latest)
        await _write_version(draft, lore, latest + 1, version)

    observation = first_made(
        await change_world(canon, caller, world, write_version), ObservationDraft
    )
    return int(observation.fields[f"{PROPERTY_PREFIX}version"])


async def declare_version(draft: WorldDraft, lore: Lore, number: int) -> bool:
    """Write the version `number` of a fact, if the store does not have it yet.

    Two versions never come in one commit: nothing else orders them.

    Raises:
        Conflict: `lore.version-differs`, the version that it has says something else.
    """
    if await draft.is_erased(lore_id_of(draft.space, lore.key)):
        return False
    version = lore.versions[number - 1]
    old = await draft.find_item(lore_id_of(draft.space, lore.key))
    known = () if old is None else await versions_of(draft.canon, old)
    if number <= len(known):
        if known[number - 1].fields.get(f"{PROPERTY_PREFIX}fields") != dict(version.fields):
            message = f"Version {number} already has other fields. Add a later version."
            raise Conflict("lore.version-differs", message, key=lore.key, version=number)
        return False
    latest = replace(lore, archived=lore.archived and number == len(lore.versions))
    await _write_version(draft, latest, number, version)
    return True


async def _write_version(draft: WorldDraft, lore: Lore, number: int, version: LoreVersion) -> None:
    if not version.fields:
        message = "Give at least one field."
        raise InvalidInput("lore.empty", message, path="/fields")
    if number > VERSIONS_MAX:
        message = f"A fact has at most {VERSIONS_MAX} versions. Create another fact."
        raise InvalidInput("lore.too-many-versions", message, path="/factId")
    lore_id, fields = lore_id_of(draft.space, lore.key), dict(version.fields)
    name = str(fields.get("name") or lore.key)
    values: dict[str, Any] = {"version": number, "fields": fields, "archived": lore.archived}
    former = draft.at
    if version.tick is not None:
        draft.at = instant_of(check_tick(version.tick, path="/tick"))
    if number == 1:
        first = {"key": lore.key, "lore_type": str(lore.lore_type), **values}
        await draft.declare_item(
            lore_id, WorldType.LORE_FACT, name=name, description="", properties=first
        )
    else:
        old = await draft.find_item(lore_id)
        if old is not None and old.properties.get("lore_type") != lore.lore_type:
            message = "The type of a lore fact cannot change. Create another fact."
            raise Conflict("lore.type-fixed", message, path="/type", conflicts=[lore_id])
        seen = {f"{PROPERTY_PREFIX}{field}": value for field, value in values.items()}
        draft.observe_item(lore_id, {"name": name, **seen}, label=f"/{number}")
    draft.at = former


_SPARES: Final = (20, 200, 2_000)
"""Further facts of lore to read, because laws and archived facts are among them."""


async def search_lore(
    canon: Canon, world: BoundWorld, query: str, limit: int
) -> Sequence[tuple[Entity, FoundPassage]]:
    """The best `limit` facts, best first, each with the passage by which it was found."""
    facts: list[tuple[Entity, FoundPassage]] = []
    for most in (limit + spare for spare in _SPARES if query.strip()):
        asked = TextQuery(
            collection=Collection.LORE, text=query, spaces=frozenset((world.space,)), limit=most
        )
        passages = await find_passages(canon, asked)
        facts = [
            (item, hit)
            for hit in passages.hits
            if isinstance(item := passages.items.get(hit.passage.id), Entity)
            and item.entity_type == WorldType.LORE_FACT
            and not item.properties.get("archived")
        ]
        if len(passages.hits) < most or len(facts) >= limit:
            break
    return facts[:limit]


_ARCHIVED: Final = "properties.archived"
_VERSION: Final = "properties.version"


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalFact:
    """A fact of lore in one version; `first` is the observation that brought it into being."""

    entity: Entity
    version: int
    observation: Observation
    first: Observation

    @property
    def fields(self) -> Any:
        """Fields of this version."""
        return self.observation.fields.get("properties.fields", {})


async def get_canonical_fact(
    canon: Canon, world: BoundWorld, key: str, version: int | None = None
) -> CanonicalFact | None:
    """Return the fact with this key in a version, by default the newest that is not archived."""
    entity = await canon.space_scope(world.space).find_item(lore_id_of(world.space, key))
    if not isinstance(entity, Entity) or entity.level is not CanonLevel.CANON:
        return None
    if entity.entity_type != WorldType.LORE_FACT:
        return None
    versions = await versions_of(canon, entity)
    standing = (n for n, each in enumerate(versions, 1) if not each.fields.get(_ARCHIVED))
    number = max(standing, default=0) if version is None else version
    if not 1 <= number <= len(versions):
        return None
    observation = versions[number - 1]
    return CanonicalFact(entity=entity, version=number, observation=observation, first=versions[0])


async def versions_of(canon: Canon, entity: Entity) -> Sequence[Observation]:
    """The observations that each brought a version, the first one first; at most 500."""
    seen = await canon.state.observations(entity.id, after=Position(ORIGIN), limit=PAGE_MAX)
    versions = [each for each in seen if _VERSION in each.fields]
    return sorted(versions, key=lambda each: int(each.fields[_VERSION]))


def rulebook_of(canon: Canon) -> Rulebook:
    """The rulebook.

    Raises:
        NotSupported: `rules.missing`.
    """
    rulebook = canon.find_service(WorldServices).rulebook
    if rulebook is None:
        raise NotSupported("rules.missing", "This server has no rulebook.")
    return rulebook


async def lookup_rule(canon: Canon, kind: RuleKind, name: str) -> RuleEntry | None:
    """The entry of this name; None where there is none. It is read off the loop."""
    return await asyncio.to_thread(rulebook_of(canon).find_entry, kind, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Castable:
    """The rules of a spell, its caster, and reasons against; an unknown spell has no rules."""

    tick: Tick
    rules: RuleEntry | None
    place: Entity | None
    caster: Caster
    reasons: Sequence[str]


async def can_cast_here(then: WorldAt, player: str, spell: str) -> Castable:
    """Check a spell by the rules and the player's state.

    Raises:
        NotFound: `player.unknown`.
        NotSupported: `rules.missing`.
    """
    found = await then.require_item(player, WorldType.PLAYER)
    rules = await lookup_rule(then.canon, RuleKind.SPELL, spell)
    location = await then.location_of(found)
    realms = [] if location is None else await then.realms_of(location.id)
    held, _more = await then.inventory_of(found.id)
    around = [] if location is None else [location, *realms]
    marks = frozenset(
        str(tag).casefold()
        for source in around
        for name in ("tags", "narrative_tags")
        for tag in source.properties.get(name) or ()
    )
    own = found.properties
    attributes: Mapping[str, Any] = own.get("attributes") or {}
    conditions = (*_split_texts(own.get("conditions")), *_split_texts(attributes.get("conditions")))
    spells, slots = attributes.get("spells"), attributes.get("spellSlots")
    caster = Caster(
        alive=person_of(found).alive,
        conditions=frozenset(each.casefold() for each in conditions),
        marks=marks,
        held=tuple([item.name for item in held]),
        spells=frozenset(map(str.casefold, _split_texts(spells)))
        if isinstance(spells, list)
        else None,
        slots={str(level): n for level, n in slots.items() if isinstance(n, int)}
        if isinstance(slots, Mapping)
        else None,
    )
    reasons = [] if location else ["the caster's location is not known"]
    reasons += (
        ["the rulebook has no such spell"] if rules is None else casting_objections(rules, caster)
    )
    return Castable(tick=then.tick, rules=rules, place=location, caster=caster, reasons=reasons)


def _split_texts(value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        return ()
    return tuple(each.strip() for each in parts if isinstance(each, str))
