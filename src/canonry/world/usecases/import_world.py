"""Import a world: an atlas, checked as a whole, then written part by part; again, it adds nothing.

A world that is being founded has always been as its atlas says: its things are dated at tick 0.
What comes later is dated at the world's tick of that moment, so that the past stays as it was.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Final, TypeAlias

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.log.entries import Made, Tombstone
from canonry.log.items.sources import SourceDraft, SourceType
from canonry.log.schemas.world_types import WorldType
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.readmodels.ports.upkeep import UpkeepProgress
from canonry.readmodels.ticks import Tick, checked_tick, instant_of
from canonry.values.errors import Conflict, InvalidInput, NotAllowed
from canonry.values.ids import EntityId, NewId, SourceId, SpaceId
from canonry.values.provenance import CanonLevel, Evidence, EvidenceKind
from canonry.values.spaces import Space, SpaceDraft, SpaceKind
from canonry.world.domain.atlas import Atlas, Place, Realm, completed
from canonry.world.domain.checks import Problem, problems
from canonry.world.domain.identity import WORLD_KEY, event_id_of, thing_id_of, world_id_of
from canonry.world.domain.omitting import omitted
from canonry.world.domain.routes import Leg, legs_of
from canonry.world.usecases.record_lore import declare_version
from canonry.world.usecases.world_draft import WorldDraft
from canonry.world.usecases.world_parts import declare_part, join_realms, join_way
from canonry.world.usecases.world_ties import join_legs, tie_up

PARTS_A_COMMIT: Final = 100
_SHOWN: Final = 20

ImportStep: TypeAlias = tuple[str, Callable[[WorldDraft], Awaitable[bool]]]
"""What a step is about, and the step, which tells whether it changed anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedWorld:
    """What an import did, or would have done: for each noun how many of how many changed."""

    world_id: SpaceId
    founded: bool
    changed: Mapping[str, int]
    seen: Mapping[str, int]
    strange: Sequence[Problem]


@dataclass(slots=True, kw_only=True)
class _Import:
    canon: Canon
    caller: Caller
    space: SpaceId
    atlas: Atlas
    origin: str
    changed: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)


async def import_world(
    canon: Canon,
    caller: Caller,
    atlas: Atlas,
    *,
    origin: str,
    told: UpkeepProgress,
    dry_run: bool = False,
) -> ImportedWorld:
    """Bring the world to what the atlas says; what it does not speak of stays.

    Movers and items that are known stay where they are, and what was erased stays away. `origin`
    names the file, as evidence.

    Raises:
        InvalidInput: `world.malformed`, with the first problems; nothing was written.
        NotAllowed: `space.bound`, the caller may not see the world.
        Conflict: `world.id-taken`, or what a part stands against.
    """
    space = SpaceId(atlas.id.lower()) if atlas.id else world_id_of(atlas.name)
    if not await canon.seen_by(caller).sees(space):
        raise NotAllowed("space.bound", "this caller is bound to other spaces")
    founded = await _is_new(canon, space)
    gone = frozenset[str]() if founded else await _erased(canon, space, atlas)
    whole = completed(omitted(atlas, gone))
    strange = _require_sound(whole)
    work = _Import(canon=canon, caller=caller, space=space, atlas=whole, origin=origin)
    rounds = list(_rounds(whole, space))
    if dry_run:
        await _try(work, rounds)
    else:
        await _write(work, rounds, told)
    return ImportedWorld(
        world_id=space,
        founded=founded,
        changed=dict(work.changed),
        seen=dict(work.seen),
        strange=strange,
    )


def _require_sound(atlas: Atlas) -> Sequence[Problem]:
    found = list(problems(atlas))
    fatal = [each for each in found if each.fatal]
    if fatal:
        first = fatal[0]
        message = f"the world has {len(fatal)} faults; the first: {first.where}: {first.message}"
        listed = [f"{p.where}: {p.message} ({p.code})" for p in fatal[:_SHOWN]]
        raise InvalidInput("world.malformed", message, path=f"/{first.where}", problems=listed)
    return found


async def _is_new(canon: Canon, space: SpaceId) -> bool:
    known = (await canon.state.things((space,))).get(space)
    if known is not None and not (isinstance(known, Space) and known.kind is SpaceKind.WORLD):
        message = "this id belongs to something else already; give the world another one"
        raise Conflict("world.id-taken", message, conflicts=[space])
    return known is None


async def _erased(canon: Canon, space: SpaceId, atlas: Atlas) -> frozenset[str]:
    """The keys of what was erased: nothing is said of it again."""
    groups = (atlas.realms, atlas.locations, atlas.characters, atlas.players, atlas.items)
    keys = {thing_id_of(space, part.key): part.key for group in groups for part in group}
    ids, found = list(keys), set[str]()
    for start in range(0, len(ids), PAGE_MAX):
        things = await canon.within(space).things(ids[start : start + PAGE_MAX])
        found |= {keys[EntityId(name)] for name, t in things.items() if isinstance(t, Tombstone)}
    return frozenset(found)


def _rounds(atlas: Atlas, space: SpaceId) -> Iterator[Sequence[ImportStep]]:
    """What others rest on comes first; the steps of a round do not follow on each other."""
    yield list(_parts(atlas, "realms"))
    yield list(_parts(atlas, "locations"))
    movers = (*_parts(atlas, "characters"), *_parts(atlas, "players", player=True))
    yield [*_joins(atlas.realms, space), *movers]
    for noun in ("items", "layers", "events"):
        yield list(_parts(atlas, noun))
    for number in range(1, max((len(fact.versions) for fact in atlas.lore), default=0) + 1):
        known = (fact for fact in atlas.lore if number <= len(fact.versions))
        yield [("lore", partial(declare_version, lore=f, number=number)) for f in known]
    yield list(_joins(atlas.locations, space))
    yield list(_routes(atlas, space))


def _parts(atlas: Atlas, noun: str, *, player: bool = False) -> Iterator[ImportStep]:
    for part in getattr(atlas, noun):
        yield noun, partial(declare_part, part=part, player=player)


def _joins(parts: Sequence[Realm | Place], space: SpaceId) -> Iterator[ImportStep]:
    for part in parts:
        start = thing_id_of(space, part.key)
        around = part.realms if isinstance(part, Place) else part.within
        yield "nestings", partial(join_realms, start=start, keys=around)
        yield "ties", partial(tie_up, start=start, wanted=part.ties)
        for way in part.exits if isinstance(part, Place) else ():
            yield "exits", partial(join_way, start=start, way=way, creating=False)


def _routes(atlas: Atlas, space: SpaceId) -> Iterator[ImportStep]:
    """The routes of the file, at every place: one that is no stop any longer has no leg of them."""
    names = tuple(dict.fromkeys(route.name for route in atlas.routes))
    onward: dict[str, list[Leg]] = {place.key: [] for place in atlas.locations if names}
    for leg in legs_of(atlas.routes):
        onward[leg.start].append(leg)
    for key, legs in onward.items():
        start = thing_id_of(space, key)
        yield "stops", partial(join_legs, start=start, legs=legs, names=names)


async def _try(work: _Import, rounds: Sequence[Sequence[ImportStep]]) -> None:
    """Draft everything at once and throw it away."""
    numbers = count()
    draft = WorldDraft(
        canon=work.canon,
        space=work.space,
        at=instant_of(Tick(0)),
        new_id=lambda _: event_id_of(work.space, f"trial/{next(numbers)}"),
    )
    await _found(work, draft)
    for steps in rounds:
        await _draft(work, draft, steps)


async def _write(
    work: _Import, rounds: Sequence[Sequence[ImportStep]], told: UpkeepProgress
) -> None:
    await _commit(work, [("world", partial(_found, work))])
    total, done = sum(map(len, rounds)), 0
    for steps in rounds:
        for start in range(0, len(steps), PARTS_A_COMMIT):
            some = steps[start : start + PARTS_A_COMMIT]
            await _commit(work, some)
            done += len(some)
            told(done, total)
    await _commit(work, [("world", partial(_finish, work))])
    del work.seen["world"], work.changed["world"]


async def _commit(work: _Import, steps: Sequence[ImportStep]) -> None:
    before = (work.changed.copy(), work.seen.copy())

    async def prepare(new_id: NewId) -> Change:
        work.changed, work.seen = before[0].copy(), before[1].copy()
        draft = await _drafted(work, new_id)
        await _draft(work, draft, steps)
        return draft.change()

    await commit_change(work.canon, work.caller, work.space, prepare)


async def _drafted(work: _Import, new_id: NewId) -> WorldDraft:
    heart_id = thing_id_of(work.space, WORLD_KEY)
    heart = await work.canon.within(work.space).thing(heart_id)
    told = getattr(heart, "properties", {})
    founding = told.get("founding", True)
    at = Tick(0) if founding else Tick(int(told.get("tick") or 0))
    source = SourceId(event_id_of(work.space, f"source/{work.origin}"))
    evidence = (Evidence(kind=EvidenceKind.SOURCE, ref=source),)
    return WorldDraft(
        canon=work.canon, space=work.space, at=instant_of(at), new_id=new_id, evidence=evidence
    )


async def _draft(work: _Import, draft: WorldDraft, steps: Sequence[ImportStep]) -> None:
    for noun, step in steps:
        changed = await step(draft)
        work.seen[noun] += 1
        work.changed[noun] += changed


async def _found(work: _Import, draft: WorldDraft) -> bool:
    """Open the space, register the file, and make the world's clock."""
    atlas, space = work.atlas, work.space
    source = event_id_of(space, f"source/{work.origin}")
    known = await work.canon.within(space).things((space, source))
    if space not in known:
        opened = SpaceDraft(
            id=space,
            kind=SpaceKind.WORLD,
            name=atlas.name,
            description=atlas.description,
            parent=None,
        )
        draft.add(Made(thing=opened))
    if source not in known:
        draft.add(Made(thing=_source(work, source)))
    heart_id = thing_id_of(space, WORLD_KEY)
    heart = await draft.find(heart_id)
    told = {} if heart is None else heart.properties
    ticks = [int(each) for each in (told.get("tick"), atlas.tick) if each is not None]
    return await draft.declare(
        heart_id,
        WorldType.WORLD,
        name=atlas.name,
        description=atlas.description,
        properties={
            "starter": atlas.starter,
            "tick": checked_tick(max(ticks), path="/tick") if ticks else None,
            "depth": atlas.depth,
            "event_limit": atlas.event_limit,
            "founding": told.get("founding", heart is None),
        },
    )


def _source(work: _Import, source: str) -> SourceDraft:
    return SourceDraft(
        id=SourceId(source),
        space=work.space,
        doc_id=work.origin,
        title=work.atlas.name,
        edition=None,
        origin=work.origin,
        source_type=SourceType.LORE,
        level=CanonLevel.AUTHORITATIVE,
    )


async def _finish(work: _Import, draft: WorldDraft) -> bool:
    heart_id = thing_id_of(work.space, WORLD_KEY)
    heart = await draft.find(heart_id)
    if heart is None or not heart.properties.get("founding"):
        return False
    draft.observe(heart_id, {"properties.founding": False})
    return True
