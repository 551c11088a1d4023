"""A file that was changed and is brought in again: the world becomes as it says, and no more."""

from dataclasses import replace
from typing import Any

import pytest

from canonry.app.compose import compose_memory
from canonry.canon.commands.universes import create_universe
from canonry.canon.judging.known_items import Backing, make_observation
from canonry.canon.session.canon import Canon
from canonry.log.schemas.world_types import RealmScope, RealmType, Tie
from canonry.readmodels.edges import Direction
from canonry.testing.clocks import CountingIdentities, HandClock, Scribe, a_caller
from canonry.testing.example_items import a_space, uuid_of
from canonry.values.errors import CanonryError, Conflict, InvalidInput
from canonry.values.ids import SpaceKind
from canonry.values.provenance import Authority
from canonry.world.domain.atlas import (
    Atlas,
    Exit,
    Happening,
    Location,
    LoreVersion,
    Realm,
    Route,
    event_id_of,
    item_id_of,
    world_id_of,
)
from canonry.world.domain.checks import TIES_MAX, VERSIONS_MAX
from canonry.world.usecases.building import create_route, create_tie
from canonry.world.usecases.exchange import export_world
from canonry.world.usecases.worlds import find_world, query_worlds, world_named
from tests.toolsets.world.kit import an_isle, brought_in

pytestmark = pytest.mark.anyio
NORTH, SOUTH = Direction.NORTH, Direction.SOUTH
SO_MANY = tuple(LoreVersion(fields={"name": f"Name {n}"}) for n in range(VERSIONS_MAX + 1))


def a_canon() -> Canon:
    return compose_memory(clock=HandClock(), identities=CountingIdentities())


def a_crossing(**exits: tuple[Exit, ...]) -> Atlas:
    """Three places and the exits of each."""
    places = (
        Location(key=key, name=key.title(), description="A place.", exits=exits.get(key, ()))
        for key in ("mill", "ford", "barn")
    )
    return Atlas(name="The Crossing", starter="mill", locations=tuple(places), tick=10)


async def exits_of(canon: Canon, atlas: Atlas) -> dict[str, set[tuple[Direction, str]]]:
    world = await find_world(canon, world_id_of(atlas.name))
    assert world is not None
    out = await export_world(canon, world)
    return {place.key: {(e.direction, e.to) for e in place.exits} for place in out.locations}


def change_part(atlas: Atlas, name: str, key: str, **changed: object) -> Atlas:
    """The atlas with one part changed."""
    parts: tuple[Any, ...] = getattr(atlas, name)
    assert key in {part.key for part in parts}
    new: Any = tuple(replace(part, **changed) if part.key == key else part for part in parts)
    return replace(atlas, **{name: new})


async def import_error(canon: Canon, atlas: Atlas) -> CanonryError:
    with pytest.raises(CanonryError) as refused:
        await brought_in(canon, atlas)
    return refused.value


async def test_a_place_leaves_realms_no_longer_named_by_the_file() -> None:
    canon = a_canon()
    first = await brought_in(canon, an_isle())
    moved = change_part(an_isle(), "locations", "yard", realms=("isle",))

    again = await brought_in(canon, moved)

    assert again.changed["nestings"] == 1
    world = await find_world(canon, first.world_id)
    assert world is not None
    out = await export_world(canon, world)
    assert {p.key: p.realms for p in out.locations}["yard"] == ("isle",)


async def test_a_changed_exit_keeps_its_way_back() -> None:
    canon = a_canon()
    atlas = a_crossing(mill=(Exit(direction=NORTH, to="ford"),))
    await brought_in(canon, atlas)
    slower = a_crossing(mill=(Exit(direction=NORTH, to="ford", travel_ms=9_000),))

    await brought_in(canon, slower)

    assert await exits_of(canon, atlas) == {
        "mill": {(NORTH, "ford")},
        "ford": {(SOUTH, "mill")},
        "barn": set(),
    }


async def test_a_one_way_exit_removes_no_way_back() -> None:
    canon = a_canon()
    back = Exit(direction=SOUTH, to="mill", one_way=True)
    there = Exit(direction=NORTH, to="ford", one_way=True)
    await brought_in(canon, a_crossing(mill=(there,), ford=(back,)))
    elsewhere = a_crossing(mill=(replace(there, to="barn"),))

    await brought_in(canon, elsewhere)

    assert await exits_of(canon, elsewhere) == {
        "mill": {(NORTH, "barn")},
        "ford": {(SOUTH, "mill")},
        "barn": set(),
    }


@pytest.mark.parametrize("turned", [False, True])
async def test_one_way_exits_are_imported_once_in_any_order(turned: bool) -> None:
    """The ford leads south to the mill, and the mill, once turned, north to the barn."""
    canon = a_canon()
    first = a_crossing(
        mill=(Exit(direction=NORTH, to="ford"),), ford=(Exit(direction=SOUTH, to="mill"),)
    )
    await brought_in(canon, first)
    second = a_crossing(
        mill=(Exit(direction=NORTH, to="barn", one_way=True),),
        ford=(Exit(direction=SOUTH, to="mill", one_way=True),),
    )
    if turned:
        second = replace(second, locations=second.locations[::-1])

    await brought_in(canon, second)
    in_file = await exits_of(canon, second)
    again = await brought_in(canon, second)

    assert in_file == {"mill": {(NORTH, "barn")}, "ford": {(SOUTH, "mill")}, "barn": set()}
    assert not any(again.changed.values())


async def test_a_layer_keeps_its_place_and_time() -> None:
    canon = a_canon()
    await brought_in(canon, an_isle())

    refused = await import_error(canon, change_part(an_isle(), "layers", "rain", scope="town"))
    answer = await brought_in(canon, change_part(an_isle(), "layers", "rain", value="a drizzle"))

    assert (refused.code, isinstance(refused, Conflict)) == ("layer.fixed", True)
    assert answer.changed["layers"] == 1


@pytest.mark.parametrize(
    ("atlas", "code"),
    [
        (a_crossing(mill=(Exit(direction=NORTH, to="ford", travel_ms=-1),)), "exit.negative"),
        (change_part(an_isle(), "items", "cup", quantity=0), "item.quantity"),
        (
            change_part(an_isle(), "lore", "ferry", versions=(LoreVersion(fields={}),)),
            "lore.no-version",
        ),
        (change_part(an_isle(), "lore", "ferry", versions=SO_MANY), "lore.too-many-versions"),
        (change_part(an_isle(), "layers", "fog", to_tick=2**60), "tick.out-of-range"),
        (change_part(an_isle(), "events", "bell", tick=-(2**60)), "tick.out-of-range"),
        (replace(an_isle(), tick=2**60), "tick.out-of-range"),
    ],
)
async def test_impossible_parts_are_refused_before_anything_is_written(
    atlas: Atlas, code: str
) -> None:
    canon = a_canon()

    refused = await import_error(canon, atlas)

    assert isinstance(refused, InvalidInput)
    assert (refused.code, code in str(refused.details)) == ("world.malformed", True), refused
    assert await canon.ledger.list_heads(limit=9) == []


async def test_an_event_may_have_no_location() -> None:
    canon = a_canon()
    thunder = Happening(
        key="thunder", event_type="Sky", description="It thundered.", tick=1, participants=("ann",)
    )
    atlas = replace(an_isle(), events=(thunder,))

    done = await brought_in(canon, atlas)

    world = await find_world(canon, done.world_id)
    assert world is not None
    out = await export_world(canon, world)
    assert out.events == (thunder,)


async def test_an_event_does_not_take_the_id_of_another_item() -> None:
    canon = a_canon()
    done = await brought_in(canon, an_isle())
    source = event_id_of(done.world_id, "source/test")
    strange = replace(an_isle(), events=(replace(an_isle().events[0], key=source),))

    refused = await import_error(canon, strange)

    assert (refused.code, refused.details["conflicts"]) == ("world.id-taken", [source])


async def test_a_world_does_not_take_the_id_of_a_universe() -> None:
    canon = a_canon()
    await create_universe(
        canon,
        a_caller(),
        kind=SpaceKind.UNIVERSE,
        name="Home",
        description="",
        properties={},
    )

    (universe,) = await canon.ledger.list_heads(limit=2)

    refused = await import_error(canon, replace(an_isle(), id=universe.space))

    assert refused.code == "world.id-taken"


async def test_an_id_distinguishes_two_worlds_of_one_name() -> None:
    canon = a_canon()
    first = await brought_in(canon, an_isle())
    twin = "0e6f4a52-8f64-8d59-8f19-0d8b1f6d1a11"
    await brought_in(canon, replace(an_isle(), id=twin.upper()))

    with pytest.raises(Conflict) as refused:
        await world_named(canon, "the  ISLE")

    assert refused.value.code == "world.namesakes"
    assert set(refused.value.details["conflicts"]) == {first.world_id, twin}
    assert (await world_named(canon, twin.upper())).space == twin


async def test_an_id_that_is_no_world_names_none() -> None:
    canon = a_canon()
    await brought_in(canon, an_isle())

    with pytest.raises(CanonryError) as refused:
        await world_named(canon, "0e6f4a52-8f64-8d59-8f19-0d8b1f6d1a11")

    assert refused.value.code == "world.unknown"


def many_powers(count: int) -> tuple[Realm, ...]:
    return tuple(
        Realm(
            key=f"power {n}",
            name=f"Power {n}",
            realm_type=RealmType.KINGDOM,
            scope=RealmScope.MACRO,
        )
        for n in range(count)
    )


@pytest.mark.parametrize("tie", ["allied_with", "borders"])
async def test_a_realm_has_a_limited_number_of_ties_of_a_kind(tie: str) -> None:
    """Also where a file names few enough, and the world knows the others already."""
    canon = a_canon()
    isle = an_isle()
    hub, one, *others = many_powers(TIES_MAX + 2)
    arguments: dict[str, Any] = {tie: tuple(each.key for each in others)}
    full = replace(hub, **arguments)
    await brought_in(canon, replace(isle, realms=(*isle.realms, full, one, *others)))
    world = await find_world(canon, world_id_of(isle.name))
    assert world is not None
    kind = Tie.ALLIED_WITH if tie == "allied_with" else Tie.BORDERS

    with pytest.raises(InvalidInput) as refused:
        await create_tie(canon, a_caller(), world, hub.key, kind, one.key)

    assert (refused.value.code, refused.value.details["path"]) == ("tie.too-many", "/tie")


async def test_a_stop_has_a_limited_number_of_outgoing_legs() -> None:
    canon = a_canon()
    stops = [f"stop {n}" for n in range(TIES_MAX + 2)]
    places = tuple(Location(key=key, name=key, description="") for key in stops)
    start, one, *others = stops
    routes = tuple(Route(name=f"To {end}", stops=(start, end), one_way=True) for end in others)
    atlas = Atlas(name="The Star", starter=start, locations=places, routes=routes)
    await brought_in(canon, atlas)
    world = await find_world(canon, world_id_of(atlas.name))
    assert world is not None
    more = Route(name="To the last", stops=(start, one), one_way=True)

    with pytest.raises(InvalidInput) as refused:
        await create_route(canon, a_caller(), world, more)

    assert refused.value.code == "route.too-many"


async def test_a_world_is_found_by_name_among_any_number_of_worlds() -> None:
    canon = a_canon()
    for number in range(505):
        space = a_space(f"isle {number:03}", kind=SpaceKind.WORLD)
        await Scribe(canon, space.name, space.id).make_items(space)
    last = await brought_in(canon, an_isle())

    assert len(await query_worlds(canon)) == 506
    assert (await world_named(canon, "the isle")).space == last.world_id


async def test_parts_that_no_file_may_hold_are_not_written() -> None:
    canon = a_canon()
    done = await brought_in(canon, an_isle())
    item = item_id_of(done.world_id, "cup")
    seen = make_observation(
        uuid_of,
        Backing(space=done.world_id, authority=Authority.GM, confidence=1.0, evidence=()),
        item,
        {"properties.quantity": "many"},
    )
    await Scribe(canon, "elsewhere", done.world_id).write_entries(seen)

    with pytest.raises(InvalidInput) as refused:
        await export_world(canon, await world_named(canon, "the isle"))

    assert refused.value.code == "value.malformed"
    assert "quantity" in refused.value.message
