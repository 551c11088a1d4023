"""Many who move and build at once, over a bad line, break no law of the world.

Nobody is in two places, no item has two holders, and two realms share one border at most.
"""

import asyncio
from dataclasses import replace

import pytest

from canonry.app.compose import compose_memory
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.log.schemas.world_types import (
    EXIT,
    HELD_BY,
    KIND,
    LOCATED_IN,
    ON_ROUTE,
    OPPOSED,
    TIED_TO,
    Tie,
    WorldType,
)
from canonry.readmodels.edges import OPPOSITE, Direction, holds_at, kind_of
from canonry.readmodels.ports.state import EntityQuery, RelationQuery
from canonry.testing.clocks import CountingIdentities, HandClock, a_caller
from canonry.values.errors import Conflict, Unavailable
from canonry.values.ids import EntityId
from canonry.values.moments import Instant
from canonry.world.domain.atlas import Exit, Route
from canonry.world.usecases.building import (
    create_exit,
    create_route,
    create_tie,
    remove_exit,
    remove_tie,
)
from canonry.world.usecases.clock import advance_clock
from canonry.world.usecases.exchange import import_world
from canonry.world.usecases.movement import Move, Transfer, move_mover, transfer_item
from canonry.world.usecases.worlds import BoundWorld, find_world
from tests.domain.world.generated import TICK, an_atlas
from tests.simulation.loops import Faults, FaultyLedger, Simulation, run_simulated

SEEDS = range(25)
PLAYERS, ITEMS, PLACES = 3, 2, 9
BAD_LINE = Faults(refused=0.05, lost=0.1, twice=0.1, stale=0.1)
RETRIES_MAX = 40


async def until_answered(
    canon: Canon, world: BoundWorld, name: str, step: str, drawn: float
) -> None:
    """Send the same request again until there is an answer; a conflict is one."""
    caller = replace(a_caller("WorldBuilder"), idempotency_key=name)
    for _ in range(RETRIES_MAX):
        try:
            await take_step(canon, caller, world, step, drawn)
        except Unavailable:
            await asyncio.sleep(1)
        except Conflict:
            return
        else:
            return
    raise AssertionError(f"no answer in {RETRIES_MAX} tries")


async def take_step(
    canon: Canon, caller: Caller, world: BoundWorld, step: str, drawn: float
) -> None:
    """One step of an agent, with everything else about it drawn from one number."""
    place = f"place-{int(drawn * PLACES)}"
    direction = list(Direction)[int(drawn * 4)]
    player = f"player-{int(drawn * 100) % PLAYERS}"
    match step:
        case "go":
            await move_mover(canon, caller, world, Move(mover=player, direction=direction))
        case "jump":
            await move_mover(canon, caller, world, Move(mover=player, teleport_to=place))
        case "give":
            await transfer_item(canon, caller, world, Transfer(item="item-0", holder=player))
        case "seize":
            seize = Transfer(item="item-1", holder=player, anywhere=True)
            await transfer_item(canon, caller, world, seize)
        case "build":
            way = Exit(direction=direction, to=place)
            await create_exit(canon, caller, world, "place-4", way)
        case "raze":
            await remove_exit(canon, caller, world, place, direction)
        case "tie":
            await create_tie(canon, caller, world, *draw_tie(drawn))
        case "untie":
            await remove_tie(canon, caller, world, *draw_tie(drawn))
        case "pave":
            await create_route(canon, caller, world, Route(name="Road", stops=(place, "place-4")))
        case _:
            await advance_clock(canon, caller, world, duration=1 + int(drawn * 1_000))


def draw_tie(drawn: float) -> tuple[str, Tie, str]:
    """A border, an alliance or a war of two realms, as either of them sees it."""
    kinds = (Tie.BORDERS, Tie.BORDERS, Tie.ALLIED_WITH, Tie.AT_WAR_WITH)
    start, realm = ("realm-0", "realm-all")[:: 1 if drawn < 0.5 else -1]
    return start, kinds[int(drawn * 8) % 4], realm


async def race_agents(simulation: Simulation) -> None:
    truth = compose_memory(clock=HandClock(), identities=CountingIdentities())
    atlas = an_atlas(1, locations=PLACES, players=PLAYERS, items=ITEMS)
    done = await import_world(
        truth, a_caller("Operator"), atlas, origin="t", progress=lambda *_: None
    )
    world = await find_world(truth, done.world_id)
    assert world is not None
    line = FaultyLedger(truth.ledger, simulation.lots, BAD_LINE)
    canon = replace(truth, ledger=line)
    moves = ("go", "go", "jump", "give", "seize")
    steps = (*moves, "build", "raze", "tie", "tie", "untie", "pave", "wait")
    plan = [
        [(simulation.lots.choice(steps), simulation.lots.random()) for _ in range(4)]
        for _ in range(5)
    ]

    async def agent(number: int) -> None:
        for turn, (step, drawn) in enumerate(plan[number]):
            await until_answered(canon, world, f"{number}/{turn}", step, drawn)

    await asyncio.gather(*(agent(number) for number in range(len(plan))))
    await line.await_settled()
    await assert_sound(truth, world)


async def assert_sound(canon: Canon, world: BoundWorld) -> None:
    """At every tick at which anything changed each mover is at one place, each item with one."""
    spaces = frozenset((world.space,))
    page = await canon.state.relations(RelationQuery(spaces=spaces, limit=500))
    assert page.total <= 500
    moments = {Instant(t) for r in page.items for t in (r.since, r.until) if t is not None}
    after = await find_world(canon, world.space)
    assert after is not None
    assert after.now >= TICK
    for kind, rel_type in ((WorldType.PLAYER, LOCATED_IN), (WorldType.ITEM, HELD_BY)):
        items = await canon.state.entities(EntityQuery(spaces=spaces, entity_type=kind))
        assert items.total == {WorldType.PLAYER: PLAYERS, WorldType.ITEM: ITEMS}[kind]
        for moment in moments:
            for item in items.items:
                assert len(relations_from(page.items, item, rel_type, moment)) == 1, (
                    item.name,
                    moment,
                )
    _assert_ways(page.items, after.instant)
    for moment in (*moments, after.instant):
        _assert_ties(page.items, moment)


def relations_from(relations: object, item: Entity, rel_type: str, at: Instant) -> list[Relation]:
    assert isinstance(relations, list | tuple)
    return [
        r for r in relations if r.rel_type == rel_type and r.from_id == item.id and holds_at(r, at)
    ]


def _assert_ways(relations: object, at: Instant) -> None:
    """One exit in each direction, and a way back wherever one is promised."""
    assert isinstance(relations, list | tuple)
    exits = [r for r in relations if r.rel_type == EXIT and holds_at(r, at)]
    spots = {(r.from_id, r.properties[KIND]): r for r in exits}
    assert len(spots) == len(exits)
    for way in exits:
        if not way.properties.get("one_way"):
            back = OPPOSITE[Direction(way.properties[KIND])]
            there = spots.get((EntityId(way.to_id), back))
            assert there is not None
            assert there.to_id == way.from_id


def _assert_ties(relations: object, at: Instant) -> None:
    """One border between two realms, no war between allies, and each leg of a route once."""
    assert isinstance(relations, list | tuple)
    ties = [r for r in relations if r.rel_type == TIED_TO and holds_at(r, at)]
    borders = [frozenset((r.from_id, r.to_id)) for r in ties if kind_of(r) == Tie.BORDERS]
    assert len(set(borders)) == len(borders)
    politics = [(r.from_id, r.to_id) for r in ties if kind_of(r) in OPPOSED]
    assert len(set(politics)) == len(politics)
    roads = [r for r in relations if r.rel_type == ON_ROUTE and holds_at(r, at)]
    assert len({(r.from_id, r.to_id, kind_of(r)) for r in roads}) == len(roads)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_schedule_breaks_a_law_of_the_world(seed: int) -> None:
    run_simulated(race_agents, seed=seed)
