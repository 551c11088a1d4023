"""Laws of the world: whatever is tried in whatever order, the world says what plain lists say.

So nobody is in two places, no item is lost or doubled, no clock goes back, and a context at any
tick is what the changes until then amount to: on either store.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from canonry.app.embedded import open_embedded
from canonry.gateway.call import Gateway
from canonry.readmodels.edges import Direction
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.world.domain.atlas import Atlas, Exit, Item, Location, Mover
from canonry.world.toolset import WORLD
from tests.toolsets.world.kit import Isle, a_world, brought_in
from tests.toolsets.world.ledger_of_moves import Passage, PlainWorld

TICK: Final = 1_000
PLACES: Final = ("a", "b", "c", "d")
WAYS: Final = (Direction.NORTH, Direction.SOUTH, Direction.IN)
PLAYERS: Final = ("ann", "bob")
MOVERS: Final = (*PLAYERS, "cook")
ITEMS: Final = ("cup", "key")
BEGUN: Final = (
    Passage("a", Direction.NORTH, "b", False, 0),
    Passage("b", Direction.SOUTH, "a", False, 0),
    Passage("b", Direction.NORTH, "c", False, 0),
    Passage("c", Direction.SOUTH, "b", False, 0),
    Passage("c", Direction.IN, "a", True, 0),
)

Step = tuple[str, dict[str, Any]]
AGO = st.sampled_from((None, 0, 1, 5, -1))
"""The age of a date in ticks; None: no tick is given, -1: a tick in the future."""


def draw_steps() -> st.SearchStrategy[list[Step]]:
    """Draw steps in any order."""
    place, way, item = (st.sampled_from(each) for each in (PLACES, WAYS, ITEMS))
    mover = st.sampled_from(MOVERS)
    holder = st.sampled_from((*MOVERS, *PLACES))
    anywhere, spent = st.booleans(), st.integers(0, 6)
    exits = {"start": place, "direction": way, "end": place, "one_way": st.booleans()}
    kinds: dict[str, dict[str, st.SearchStrategy[Any]]] = {
        "go": {"mover": mover, "direction": way, "ago": AGO},
        "jump": {"mover": mover, "target": place, "ago": AGO},
        "give": {"item": item, "target": holder, "anywhere": anywhere, "ago": AGO},
        "build": exits,
        "raze": {"start": place, "direction": way},
        "wait": {"duration": spent, "player": st.sampled_from((None, None, *PLAYERS))},
    }
    each = [st.tuples(st.just(k), st.fixed_dictionaries(reported)) for k, reported in kinds.items()]
    return st.lists(st.one_of(each), min_size=1, max_size=25)


def an_atlas() -> Atlas:
    """Three places in a row with a short cut back, and one that nothing leads to."""
    ways = {
        place: tuple(
            Exit(direction=p.direction, to=p.end, one_way=p.one_way)
            for p in BEGUN
            if p.start == place
        )
        for place in PLACES
    }
    return Atlas(
        name="Lists",
        starter="a",
        tick=TICK,
        locations=tuple(
            Location(key=place, name=place, description="", exits=ways[place]) for place in PLACES
        ),
        players=tuple(Mover(key=each, name=each, location="a") for each in PLAYERS),
        characters=(Mover(key="cook", name="cook", location="b"),),
        items=(
            Item(key="cup", name="cup", holder="ann", item_type="x"),
            Item(key="key", name="key", holder="c", item_type="x"),
        ),
    )


def a_plain_world() -> PlainWorld:
    """The same world in lists."""
    return PlainWorld(
        now=TICK,
        places=frozenset(PLACES),
        positions={"ann": [(0, "a")], "bob": [(0, "a")], "cook": [(0, "b")]},
        holders={"cup": [(0, "ann")], "key": [(0, "c")]},
        passages=[Passage(p.start, p.direction, p.end, p.one_way, 0) for p in BEGUN],
        clocks={player: [] for player in PLAYERS},
    )


async def try_step(isle: Isle, plain: PlainWorld, kind: str, stated: dict[str, Any]) -> None:
    """Try a step on both; one allows it exactly if the other does."""
    ago = stated.get("ago")
    tick = plain.now if ago is None else plain.now - ago
    dated = {} if ago is None else {"tick": tick}
    match kind:
        case "go":
            call = ("move", {"moverId": stated["mover"], "direction": stated["direction"], **dated})
            allowed = plain.go_through(stated["mover"], stated["direction"], tick)
        case "jump":
            call = ("move", {"moverId": stated["mover"], "teleportTo": stated["target"], **dated})
            allowed = plain.jump_to(stated["mover"], stated["target"], tick)
        case "give":
            item, target, anywhere = stated["item"], stated["target"], stated["anywhere"]
            handed = {"itemId": item, "toHolderId": target, "anywhere": anywhere}
            call = ("transfer-item", {**handed, **dated})
            allowed = plain.give_item(item, target, tick, anywhere=anywhere)
        case "build":
            start, way, end, one_way = (stated[n] for n in ("start", "direction", "end", "one_way"))
            made = {"fromLocationId": start, "direction": way, "toLocationId": end}
            call = ("create-exit", {**made, "oneWay": one_way})
            allowed = plain.build_exit(start, way, end, one_way=one_way)
        case "raze":
            ended = {"fromLocationId": stated["start"], "direction": stated["direction"]}
            call = ("remove-exit", ended)
            allowed = plain.raze_exit(stated["start"], stated["direction"])
        case _:
            player = stated["player"]
            whose = {} if player is None else {"playerId": player}
            call = ("advance-clock", {"durationMs": stated["duration"], **whose})
            allowed = plain.wait_time(stated["duration"], player)
    outcome = await isle.outcome(*call, "WorldBuilder")
    assert (outcome.error is None) == allowed, (call, outcome.text)
    if outcome.error is not None:
        assert outcome.body["error"]["code"] in {"CONFLICT", "INVALID_ARGUMENT"}, outcome.text


async def require_agreement(isle: Isle, plain: PlainWorld, tick: int) -> None:
    """Check that contexts and lists agree about a tick."""
    for player in PLAYERS:
        context = await isle.call("get-player-context", playerId=player, tick=tick)
        assert context["location"]["name"] == plain.place_at(player, tick), (player, tick)
        names = [item["name"] for item in context["inventory"]]
        assert names == sorted(plain.held_at(player, tick)), (player, tick)
        assert context["player"].get("clockTick") == plain.clock_at(player, tick), (player, tick)
    for place in PLACES:
        context = await isle.call("get-location-context", locationId=place, tick=tick)
        led = {each["direction"]: each["toLocationId"] for each in context["exits"]}
        assert len(led) == len(context["exits"])
        assert led == {w: isle.id(end) for w, end in plain.passages_at(place, tick).items()}
        there = {isle.id(each) for each in MOVERS if plain.place_at(each, tick) == place}
        seen = [each["id"] for each in (*context["nearbyPlayers"], *context["nearbyCharacters"])]
        assert sorted(seen) == sorted(there), (place, tick)


async def live_plan(isle: Isle, plan: list[Step]) -> None:
    """Try all steps, then look at every tick at which anything may have changed."""
    plain = a_plain_world()
    for kind, reported in plan:
        await try_step(isle, plain, kind, reported)
    await require_agreement(isle, plain, plain.now)
    changes = {p.until for p in plain.passages} | {p.since for p in plain.passages}
    for named in (*plain.positions.values(), *plain.holders.values()):
        changes |= {since for since, _ in named}
    for clock in plain.clocks.values():
        changes |= {since for since, _ in clock}
    for tick in sorted({each + near for each in changes for near in (-1, 0)}):
        if 0 <= tick <= plain.now:
            await require_agreement(isle, plain, tick)


@settings(max_examples=60)
@given(draw_steps())
def test_a_world_in_memory_equals_its_history(plan: list[Step]) -> None:
    async def live() -> None:
        await live_plan(await a_world(an_atlas()), plan)

    asyncio.run(live())


@settings(max_examples=15)
@given(draw_steps())
def test_a_world_on_disk_equals_its_history(plan: list[Step]) -> None:
    async def live() -> None:
        with TemporaryDirectory() as folder:
            async with open_embedded_isle(Path(folder)) as isle:
                await live_plan(isle, plan)

    asyncio.run(live())


@asynccontextmanager
async def open_embedded_isle(folder: Path) -> AsyncIterator[Isle]:
    """The same world in a store on disk."""
    store = await open_embedded(folder, clock=HandClock(), identities=CountingIdentities())
    try:
        done = await brought_in(store.canon, an_atlas())
        yield Isle(canon=store.canon, gateway=Gateway(store.canon, (WORLD,)), world=done.world_id)
    finally:
        await store.close()
