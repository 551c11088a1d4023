"""Ties and routes: how realms stand to each other and which roads join places, then and now."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from canonry.world.domain.atlas import Route
from tests.toolsets.world.kit import TICK, Isle, a_world, brought_in, tied_isle

pytestmark = pytest.mark.anyio
Tie = tuple[str, str, str]


def named_ties(isle: Isle, ties: list[dict[str, str]]) -> list[Tie]:
    names = {isle.id(key): key for key in ("town", "isle", "crown", "guild", "mist")}
    return [(each["tie"], each["direction"], names[each["realmId"]]) for each in ties]


async def ties_of(isle: Isle, realm: str, **when: int) -> list[Tie]:
    reply = await isle.call("get-realm-context", "Planner", realmId=realm, **when)
    return named_ties(isle, reply["ties"])


async def routes_of(isle: Isle, place: str, **when: int) -> list[tuple[str, str]]:
    reply = await isle.call("get-location-context", "Narrative", locationId=place, **when)
    return [(each["routeName"], each["name"]) for each in reply["routes"]]


async def test_a_location_context_lists_ties_of_realms_and_roads() -> None:
    isle = await a_world(tied_isle())

    reply = await isle.call("get-location-context", "Narrative")

    (town,), (isle_realm,) = reply["realms"]["political"], reply["realms"]["geographic"]
    assert named_ties(isle, town["ties"]) == [
        ("member_of", "out", "guild"),
        ("vassal_of", "out", "crown"),
    ]
    assert named_ties(isle, isle_realm["ties"]) == [("borders", "both", "crown")]
    assert reply["memberships"] == [
        {"tie": "member_of", "direction": "out", "realmId": isle.id("guild"), "name": "Guild"}
    ]
    assert reply["routes"] == [
        {"routeName": "The King's Road", "toLocationId": isle.id("yard"), "name": "Yard"}
    ]
    assert "guild" not in [realm["name"] for realm in reply["realms"]["functional"]]
    assert await routes_of(isle, "cellar") == [("The Drain", "Road")]
    assert await routes_of(isle, "road") == [("The King's Road", "Yard")]


async def test_a_realm_context_lists_both_ends_of_a_tie() -> None:
    isle = await a_world(tied_isle())

    crown = await isle.call("get-realm-context", "Encounter", realmId="crown")
    guild = await isle.call("get-realm-context", "World", realmId=isle.id("guild"))
    town = await isle.call("get-realm-context", realmId="town")

    assert named_ties(isle, crown["ties"]) == [
        ("borders", "both", "isle"),
        ("vassal_of", "in", "town"),
        ("at_war_with", "out", "guild"),
    ]
    assert named_ties(isle, guild["ties"]) == [("at_war_with", "in", "crown")]
    assert [(each["name"], each["kind"]) for each in guild["members"]] == [
        ("Inn", "location"),
        ("Town", "realm"),
    ]
    assert [each["name"] for each in town["around"]] == ["The Isle"]
    assert {each["name"] for each in town["inside"]} == {"Inn", "Yard"}
    assert (town["tick"], town["complete"]) == (TICK, True)
    assert town["realm"]["id"] == isle.id("town")


async def test_an_unknown_realm_has_no_context() -> None:
    isle = await a_world(tied_isle())
    for name in ("atlantis", "inn", isle.id("ann")):
        assert await isle.call("get-realm-context", realmId=name) is None
    await isle.refused("get-realm-context", "INVALID_ARGUMENT", "input.missing")


async def test_a_cut_tie_held_until_then() -> None:
    isle = await a_world(tied_isle())
    before = await ties_of(isle, "crown")
    await isle.call("advance-clock", durationMs=10)
    for start, tie, end in (("town", "vassal_of", "crown"), ("crown", "borders", "isle")):
        await isle.call("remove-tie", fromId=start, tie=tie, toRealmId=end)
    await isle.call("create-tie", fromId="town", tie="at_war_with", toRealmId="crown")

    assert await ties_of(isle, "crown") == [
        ("at_war_with", "out", "guild"),
        ("at_war_with", "in", "town"),
    ]
    assert await ties_of(isle, "isle") == []
    assert await ties_of(isle, "crown", tick=TICK) == before


async def test_a_border_is_the_same_from_both_sides() -> None:
    isle = await a_world(tied_isle())
    border = {"fromId": "crown", "tie": "borders", "toRealmId": "isle"}
    await isle.refused("create-tie", "CONFLICT", "tie.stands", **border)
    turned = {**border, "fromId": "isle", "toRealmId": "crown"}
    await isle.refused("create-tie", "CONFLICT", "tie.stands", **turned)
    await isle.call("remove-tie", **border)
    await isle.refused("remove-tie", "CONFLICT", "tie.unknown", **turned)
    await isle.call("create-tie", **turned)
    assert ("borders", "both", "isle") in await ties_of(isle, "crown")


async def test_senseless_ties_are_refused() -> None:
    isle = await a_world(tied_isle())
    war: dict[str, Any] = {"fromId": "crown", "tie": "allied_with", "toRealmId": "guild"}
    await isle.refused("create-tie", "CONFLICT", "tie.opposed", **war)
    await isle.call("create-tie", **{**war, "fromId": "guild", "toRealmId": "crown"})
    itself = {"fromId": "town", "tie": "borders", "toRealmId": "town"}
    await isle.refused("create-tie", "CONFLICT", "tie.to-itself", **itself)
    place = {"fromId": "inn", "tie": "borders", "toRealmId": "town"}
    await isle.refused("create-tie", "NOT_FOUND", "realm.unknown", **place)
    nowhere = {"fromId": "nowhere", "tie": "member_of", "toRealmId": "guild"}
    await isle.refused("create-tie", "NOT_FOUND", "realm.unknown", **nowhere)
    await isle.refused(
        "create-tie", "INVALID_ARGUMENT", "input.invalid", **{**war, "tie": "within"}
    )


async def test_one_of_two_builders_draws_the_border() -> None:
    """Both at once, from either side: it is never drawn twice."""
    isle = await a_world(tied_isle())

    async def draw(start: str, end: str) -> bool:
        border = {"fromId": start, "tie": "borders", "toRealmId": end}
        return (await isle.outcome("create-tie", border, "WorldBuilder")).error is None

    drawn = await asyncio.gather(draw("town", "crown"), draw("crown", "town"))
    assert sorted(drawn) == [False, True]
    assert (await ties_of(isle, "town")).count(("borders", "both", "crown")) == 1


async def test_realms_and_places_are_made_with_their_ties() -> None:
    isle = await a_world(tied_isle())
    await isle.call(
        "create-realm",
        key="march",
        name="The March",
        realmType="KINGDOM",
        scope="MACRO",
        memberOfIds=["guild"],
        bordersIds=["crown", "isle"],
        vassalOfIds=["crown"],
        alliedWithIds=["guild"],
        atWarWithIds=["mist"],
    )
    await isle.call("create-location", name="Mill", description="", memberOfIds=["guild"])

    assert await ties_of(isle, "march") == [
        ("member_of", "out", "guild"),
        ("borders", "both", "crown"),
        ("borders", "both", "isle"),
        ("vassal_of", "out", "crown"),
        ("allied_with", "out", "guild"),
        ("at_war_with", "out", "mist"),
    ]
    guild = await isle.call("get-realm-context", realmId="guild")
    assert {each["name"] for each in guild["members"]} == {"Town", "Inn", "Mill", "The March"}
    both = {"realmType": "CITY", "scope": "LOCAL", "name": "X"}
    torn = {"alliedWithIds": ["town"], "atWarWithIds": ["town"]}
    await isle.refused("create-realm", "CONFLICT", "tie.opposed", **both, **torn)


async def test_a_route_leads_from_stop_to_stop_until_it_ends() -> None:
    isle = await a_world(tied_isle())
    await isle.call("advance-clock", durationMs=10)
    road = {"routeName": "The King's Road", "stopIds": ["yard", "road", "tower"]}
    await isle.call("create-route", **road)
    assert await routes_of(isle, "tower") == [("The King's Road", "Road")]
    await isle.refused("create-route", "CONFLICT", "route.stands", **road)
    await isle.call("remove-route", routeName="The King's Road", stopIds=["road", "tower"])
    gone = {"routeName": "The King's Road", "stopIds": ["inn", "yard", "tower"]}
    details = await isle.refused("remove-route", "CONFLICT", "route.unknown", **gone)
    assert details["path"] == "/stopIds"
    assert await routes_of(isle, "tower") == []
    assert await routes_of(isle, "road", tick=TICK) == [("The King's Road", "Yard")]
    twice = {"routeName": "R", "stopIds": ["inn", "inn"]}
    await isle.refused("create-route", "CONFLICT", "route.to-itself", **twice)
    lost = {"routeName": "R", "stopIds": ["inn", "town"]}
    await isle.refused("create-route", "NOT_FOUND", "location.unknown", **lost)


async def test_two_roads_may_join_the_same_places() -> None:
    isle = await a_world(tied_isle())
    for name in ("The Old / New Road", "Ünder"):
        await isle.call("create-route", routeName=name, stopIds=["inn", "tower"], oneWay=True)
    assert await routes_of(isle, "inn") == [
        ("The King's Road", "Yard"),
        ("The Old / New Road", "Tower"),
        ("Ünder", "Tower"),
    ]
    assert await routes_of(isle, "tower") == []


async def test_a_file_defines_all_ties_and_routes_that_it_names() -> None:
    isle = await a_world(tied_isle())
    await isle.call("create-route", routeName="The Ferry", stopIds=["inn", "tower"])
    atlas = tied_isle()
    peace = tuple(replace(r, at_war_with=(), borders=()) for r in atlas.realms)
    shorter = (Route(name="The King's Road", stops=("inn", "yard")),)

    done = await brought_in(isle.canon, replace(atlas, realms=peace, routes=shorter))

    assert (done.changed["ties"], done.changed["stops"]) == (2, 2)
    assert await ties_of(isle, "crown") == [("vassal_of", "in", "town")]
    assert await routes_of(isle, "road") == []
    assert await routes_of(isle, "inn") == [("The Ferry", "Tower"), ("The King's Road", "Yard")]
    assert await routes_of(isle, "cellar") == [("The Drain", "Road")]
