"""Checks: every fault and every oddity of a world is reported, and a sound world has none."""

from dataclasses import replace
from typing import Any

import pytest

from canonry.log.schemas.world_types import LayerType, LoreType, RealmScope, RealmType
from canonry.readmodels.edges import OPPOSITE, Direction
from canonry.world.domain.atlas import (
    Atlas,
    Exit,
    Happening,
    Item,
    Layer,
    Location,
    Lore,
    LoreVersion,
    Mover,
    Realm,
    Route,
    complete_atlas,
)
from canonry.world.domain.checks import TIES_MAX, find_problems, unreachable_locations
from tests.domain.world.generated import an_atlas

NORTH, SOUTH, EAST = Direction.NORTH, Direction.SOUTH, Direction.EAST


def a_place(key: str, *exits: Exit, **more: Any) -> Location:
    return Location(key=key, name=key.strip() or "x", description="", exits=exits, **more)


def two_places(**changes: Any) -> Atlas:
    places = (a_place("a", Exit(direction=NORTH, to="b")), a_place("b"))
    return replace(complete_atlas(Atlas(name="T", starter="a", locations=places)), **changes)


def check_codes(atlas: Atlas, *, fatal: bool = True) -> set[str]:
    return {each.code for each in find_problems(atlas) if each.fatal == fatal}


def a_realm(key: str, *within: str, **ties: Any) -> Realm:
    kind: dict[str, Any] = {"realm_type": RealmType.CITY, "scope": RealmScope.LOCAL}
    return Realm(key=key, name=key.strip() or "x", within=within, **kind, **ties)


def a_route(*stops: str, name: str = "road") -> Route:
    return Route(name=name, stops=stops, one_way=True)


def a_layer(key: str, start: int, end: int | None, scope: str = "a") -> Layer:
    return Layer(
        key=key,
        scope=scope,
        layer_type=LayerType.WEATHER,
        value="",
        from_tick=start,
        to_tick=end,
    )


def make_lore(*ticks: int | None) -> Lore:
    versions = tuple(LoreVersion(fields={"name": "x"}, tick=tick) for tick in ticks)
    return Lore(key="f", lore_type=LoreType.FACTION, versions=versions)


def an_event(**changes: Any) -> Happening:
    return Happening(**{"key": "e", "event_type": "x", "description": "", "tick": 0, **changes})


@pytest.mark.parametrize("seed", range(10))
def test_generated_worlds_are_sound(seed: int) -> None:
    assert check_codes(an_atlas(seed, locations=60, items=9, lore=5, events=5)) == set()


def test_opposites_are_mutual() -> None:
    assert all(OPPOSITE[OPPOSITE[each]] is each for each in Direction)
    assert OPPOSITE.keys() == set(Direction)


def test_the_way_back_of_an_exit_is_added() -> None:
    (_, b) = two_places().locations
    assert [(way.direction, way.to) for way in b.exits] == [(SOUTH, "a")]
    assert check_codes(two_places()) == set()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"starter": "z"}, "starter.unknown"),
        ({"realms": (a_realm("a"),)}, "key.repeated"),
        ({"realms": (a_realm(" "),)}, "key.malformed"),
        ({"realms": (a_realm("#world"),)}, "key.malformed"),
        ({"realms": (a_realm("r", "s"),)}, "reference.unknown"),
        ({"realms": (a_realm("r", "s"), a_realm("s", "r"))}, "realm.cycle"),
        ({"realms": (a_realm("r", vassal_of=("s",)),)}, "reference.unknown"),
        ({"realms": (a_realm("r", borders=("r",)),)}, "tie.to-itself"),
        (
            {"realms": (a_realm("r", allied_with=("s",), at_war_with=("s",)), a_realm("s"))},
            "tie.opposed",
        ),
        (
            {"realms": (a_realm("r", allied_with=("s",) * (TIES_MAX + 1)), a_realm("s"))},
            "tie.too-many",
        ),
        ({"routes": (a_route("a", "z"),)}, "reference.unknown"),
        ({"routes": (a_route("a"),)}, "route.too-short"),
        ({"routes": (a_route("a", "a"),)}, "route.to-itself"),
        ({"routes": (a_route("a", "b", name=" "),)}, "route.unnamed"),
        (
            {"routes": tuple(a_route("a", "b", name=f"{n}") for n in range(TIES_MAX + 1))},
            "route.too-many",
        ),
        ({"players": (Mover(key="p", name="p", location="z"),)}, "reference.unknown"),
        ({"items": (Item(key="i", name="i", holder="z", item_type="x"),)}, "reference.unknown"),
        ({"layers": (a_layer("l", 0, 1, "z"),)}, "reference.unknown"),
        ({"layers": (a_layer("l", 2, 1),)}, "layer.ends-before-start"),
        ({"lore": (make_lore(),)}, "lore.no-version"),
        ({"lore": (make_lore(2, 1),), "tick": 9}, "lore.out-of-order"),
        ({"lore": (make_lore(2),)}, "lore.future"),
        ({"events": (an_event(location="z"),)}, "reference.unknown"),
        ({"events": (an_event(participants=("z",)),)}, "reference.unknown"),
        ({"events": (an_event(tick=1),)}, "event.future"),
    ],
)
def test_an_impossible_world_has_a_fault(changes: dict[str, Any], code: str) -> None:
    assert check_codes(two_places(**changes)) == {code}


@pytest.mark.parametrize(
    ("exits", "code"),
    [
        ((Exit(direction=NORTH, to="b"), Exit(direction=NORTH, to="c")), "exit.repeated"),
        ((Exit(direction=NORTH, to="a", one_way=True),), "exit.to-itself"),
        ((Exit(direction=NORTH, to="z", one_way=True),), "reference.unknown"),
        ((Exit(direction=NORTH, to="b", one_way=True, requires="z"),), "reference.unknown"),
        ((Exit(direction=EAST, to="c"),), "exit.no-way-back"),
    ],
)
def test_impossible_exits_are_faults(exits: tuple[Exit, ...], code: str) -> None:
    back = Exit(direction=Direction.WEST, to="b", one_way=True)
    atlas = Atlas(
        name="T", starter="a", locations=(a_place("a", *exits), a_place("b"), a_place("c", back))
    )
    assert code in check_codes(atlas)


def test_strange_parts_are_reported_and_no_fault() -> None:
    atlas = two_places(layers=(a_layer("l", 0, None), a_layer("m", 5, 6)))
    lost = replace(atlas, locations=(*atlas.locations, a_place("c")))
    assert check_codes(lost) == set()
    assert check_codes(lost, fatal=False) == {
        "layer.overlaps",
        "location.unreachable",
        "location.dead-end",
    }
    assert unreachable_locations(lost) == {"c"}


def test_a_vassal_of_its_own_vassal_is_strange() -> None:
    realms = (a_realm("r", vassal_of=("s",)), a_realm("s", vassal_of=("r",)))
    assert check_codes(two_places(realms=realms)) == set()
    assert check_codes(two_places(realms=realms), fatal=False) == {"realm.own-vassal"}


def test_a_border_is_stated_from_both_sides() -> None:
    realms = (a_realm("r", borders=("s", "t")), a_realm("s", borders=("r",)), a_realm("t"))
    reported = complete_atlas(two_places(realms=realms)).realms
    assert [each.borders for each in reported] == [("s", "t"), ("r",), ("r",)]


def test_a_blocked_exit_leads_nowhere() -> None:
    walled = Exit(direction=NORTH, to="b", blocked="A wall.")
    atlas = complete_atlas(
        Atlas(name="T", starter="a", locations=(a_place("a", walled), a_place("b")))
    )
    assert unreachable_locations(atlas) == {"b"}


def test_nameless_parts_and_negative_numbers_are_refused() -> None:
    nameless = replace(two_places(), name=" ")
    assert check_codes(nameless) == {"name.empty"}
    poor = Mover(key="m", name="", location="a", resources={"gold": -1})
    assert check_codes(two_places(players=(poor,))) == {"name.empty", "resource.negative"}
