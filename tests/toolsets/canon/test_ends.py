"""Later statements end earlier ones, which hold again when the later ones are retracted."""

from typing import Any

import pytest

from tests.toolsets.canon.kit import Desk, a_desk

pytestmark = pytest.mark.anyio

PEOPLE = ("Ana", "Bo", "Cy", "Di")
PLACES = ("Hall", "Ford", "Mill")


async def a_table() -> Desk:
    """People, places, a ship, a box and a ring."""
    desk = a_desk()
    await desk.call("open", name="World")
    told = {**dict.fromkeys(PEOPLE, "character"), **dict.fromkeys(PLACES, "location")}
    told |= dict.fromkeys(("Gull", "Ring", "Box"), "object")
    made = [{"kind": "entity", "name": name, "type": kind} for name, kind in told.items()]
    await desk.call("propose", said="They are.", claims=made)
    return desk


async def said(desk: Desk, authority: str = "source", **claim: Any) -> dict[str, Any]:
    """The verdict of one claim; it is accepted."""
    more = {"authority": authority, "said": "So it is."}
    reply = await desk.call("propose", claims=[claim], **more)
    (verdict,) = reply["verdicts"]
    assert verdict["verdict"] == "accepted", verdict
    return dict(verdict)


async def fact(desk: Desk, says: str, *about: str, **more: Any) -> str:
    return str((await said(desk, kind="fact", says=says, about=list(about), **more))["id"])


async def tie(desk: Desk, start: str, kind: str, end: str, **more: Any) -> str:
    told = {"kind": "relation", "from": start, "type": kind, "to": end}
    return str((await said(desk, **told, **more))["id"])


async def retract(desk: Desk, item: str) -> None:
    await desk.call("propose", said="No.", claims=[{"kind": "retcon", "of": item, "says": "no"}])


async def shown(desk: Desk, name: str, at: str | None = None) -> set[str]:
    """Return the facts, relations and tags of an entity in words, as a page shows them."""
    moment = {} if at is None else {"at": at}
    page = await desk.call("get", of=name, full=True, **moment)
    rows = (*page.get("facts", ()), *page.get("relations", ()))
    return {str(row["says"]) for row in rows} | set(page.get("tags", ()))


async def reader(desk: Desk, name: str) -> Desk:
    """The desk of somebody who plays a character."""
    found = (await desk.call("get", of=name))["id"]
    return a_desk("Reader", desk, characters=frozenset((found,)))


async def test_a_reader_of_two_secrets_sees_one_place() -> None:
    desk = await a_table()
    await tie(desk, "Ring", "LOCATED_IN", "Hall", when="1401-01-01", **{"for": ["Ana", "Cy"]})
    await tie(desk, "Ring", "LOCATED_IN", "Mill", when="1402-01-01", **{"for": ["Bo", "Cy"]})

    places = {name: await shown(await reader(desk, name), "Ring") for name in ("Ana", "Bo", "Cy")}

    assert places == {
        "Ana": {"Ring located in Hall"},
        "Bo": {"Ring located in Mill"},
        "Cy": {"Ring located in Mill"},
    }


@pytest.mark.parametrize("later", [[], ["Bo", "Cy"]])
async def test_a_reader_of_two_secrets_sees_one_captain(later: list[str]) -> None:
    desk = await a_table()
    first, second = "Ana is the captain of the Gull", "Bo is the captain of the Gull"
    await fact(desk, first, "Gull", "Ana", when="1401-01-01", **{"for": ["Ana", "Cy"]})
    more: dict[str, Any] = {"for": later} if later else {}
    await fact(desk, second, "Gull", "Bo", when="1402-01-01", **more)

    assert await shown(await reader(desk, "Cy"), "Gull") == {second}
    assert await shown(desk, "Gull") == {second}
    assert await shown(await reader(desk, "Ana"), "Gull") == ({first} if later else {second})


async def test_an_earlier_heir_of_one_audience_counts_for_those_who_know_both() -> None:
    desk = await a_table()
    says = "{} is the captain of the Gull".format
    await fact(desk, says("Ana"), "Gull", "Ana", when="1397-01-01")
    await fact(desk, says("Di"), "Gull", "Di", when="1399-01-01", **{"for": ["Bo", "Cy"]})
    await fact(desk, says("Bo"), "Gull", "Bo", when="1405-01-01", **{"for": ["Ana", "Cy"]})

    then = {name: await shown(await reader(desk, name), "Gull", "1402") for name in ("Ana", "Cy")}

    assert then == {"Ana": {says("Ana")}, "Cy": {says("Di")}}
    assert await shown(desk, "Gull", "1402") == {says("Di")}


@pytest.mark.parametrize("replaces", [True, False])
async def test_what_a_retracted_claim_had_retracted_holds_again(replaces: bool) -> None:
    desk = await a_table()
    says = "{} is the captain of the Gull".format
    await fact(desk, says("Di"), "Gull", "Di", when="1399-01-01")
    old = await fact(desk, says("Ana"), "Gull", "Ana", when="1401-01-01")
    more = {"replaces": old} if replaces else {}
    new = await fact(desk, says("Bo"), "Gull", "Bo", authority="gm", when="1401-01-01", **more)
    assert await shown(desk, "Gull") == {says("Bo")}

    await retract(desk, new)

    assert await shown(desk, "Gull") == {says("Ana")}
    assert await shown(desk, "Gull", "1400") == {says("Di")}
    await retract(desk, old)
    assert await shown(desk, "Gull") == {says("Di")}


async def test_a_relation_that_a_stronger_one_retracted_holds_again() -> None:
    desk = await a_table()
    await tie(desk, "Ana", "LOCATED_IN", "Hall", when="1400-01-01")
    await tie(desk, "Ana", "LOCATED_IN", "Ford", when="1401-01-01")
    new = await tie(desk, "Ana", "LOCATED_IN", "Mill", authority="gm", when="1401-01-01")
    assert await shown(desk, "Ana") == {"Ana located in Mill"}

    await retract(desk, new)

    assert await shown(desk, "Ana") == {"Ana located in Ford"}
    assert await shown(desk, "Ana", "1400-06-01") == {"Ana located in Hall"}


async def test_what_a_retracted_claim_had_retracted_holds_until_a_later_value() -> None:
    desk = await a_table()
    says = "{} is the captain of the Gull".format
    await fact(desk, says("Ana"), "Gull", "Ana", when="1401-01-01")
    new = await fact(desk, says("Bo"), "Gull", "Bo", authority="gm", when="1401-01-01")
    await fact(desk, says("Cy"), "Gull", "Cy", authority="gm", when="1405-01-01")

    await retract(desk, new)

    assert await shown(desk, "Gull") == {says("Cy")}
    assert await shown(desk, "Gull", "1402") == {says("Ana")}


@pytest.mark.parametrize("form", ["state", "words"])
async def test_a_state_that_a_stronger_one_retracted_holds_again(form: str) -> None:
    desk = await a_table()
    if form == "state":
        await said(desk, kind="state", of="Ana", tags=["dead"], when="1401-01-01")
    else:
        await fact(desk, "Zed killed Ana", "Ana", when="1401-01-01")
    assert "dead" in await shown(desk, "Ana")
    alive = {"kind": "state", "of": "Ana", "tags": ["alive"], "when": "1401-01-01"}
    new = (await said(desk, authority="gm", **alive))["id"]
    assert (await shown(desk, "Ana")) & {"alive", "dead"} == {"alive"}

    await retract(desk, new)

    assert (await shown(desk, "Ana")) & {"alive", "dead"} == {"dead"}


async def test_a_marriage_ends_an_earlier_one_of_either_side() -> None:
    desk = await a_table()
    await tie(desk, "Ana", "MARRIED_TO", "Bo", when="1395-01-01")
    await tie(desk, "Bo", "MARRIED_TO", "Cy", when="1403-01-01")

    assert await shown(desk, "Bo") == {"Bo married to Cy"}
    assert await shown(desk, "Ana") == set()
    assert await shown(desk, "Bo", "1400") == {"Ana married to Bo"}


async def test_a_fact_told_again_for_an_earlier_time_held_since_then() -> None:
    desk = await a_table()
    says = "Di is the captain of the Gull"
    await fact(desk, says, "Gull", "Di", when="1403-01-01")
    await fact(desk, says, "Gull", "Di", when="1400-01-01")

    assert await shown(desk, "Gull", "1401") == {says}
    assert await shown(desk, "Gull", "1399") == set()


async def test_what_is_told_again_for_a_later_time_begins_anew_after_what_lies_between() -> None:
    desk = await a_table()
    for year in ("1395", "1410"):
        await said(desk, kind="state", of="Box", tags=["open"], when=f"{year}-01-01")
        await tie(desk, "Ring", "LOCATED_IN", "Hall", when=f"{year}-01-01")

    await said(desk, kind="state", of="Box", tags=["closed"], when="1405-01-01")
    await tie(desk, "Ring", "LOCATED_IN", "Mill", when="1405-01-01")

    boxes = {year: await shown(desk, "Box", year) & {"open", "closed"} for year in ("1400", "1407")}
    assert boxes == {"1400": {"open"}, "1407": {"closed"}}
    assert "open" in await shown(desk, "Box")
    places = {year: await shown(desk, "Ring", year) for year in ("1400", "1407", "1411")}
    hall, mill = {"Ring located in Hall"}, {"Ring located in Mill"}
    assert places == {"1400": hall, "1407": mill, "1411": hall}


async def test_an_end_without_a_successor_applies_again_when_the_successor_is_retracted() -> None:
    desk = await a_table()
    first = await tie(desk, "Ring", "LOCATED_IN", "Hall", when="1395-01-01")
    ended = {"relationship_id": first, "until": "1405-01-01T00:00:00Z", "reason": "it was moved"}
    await a_desk("CanonKeeper", desk).call("neo4j_end_relationship", **ended)
    between = await fact(desk, "The Ring is in the Ford", "Ring", "Ford", when="1400-01-01")
    assert await shown(desk, "Ring", "1402") == {"The Ring is in the Ford"}

    await retract(desk, between)

    assert await shown(desk, "Ring", "1402") == {"Ring located in Hall"}
    assert await shown(desk, "Ring", "1407") == set()


async def test_a_place_that_is_given_back_ends_where_a_fact_tells_the_next() -> None:
    desk = await a_table()
    await tie(desk, "Ana", "LOCATED_IN", "Hall", when="1399")
    wrong = await tie(desk, "Ana", "LOCATED_IN", "Ford", when="1400")
    await fact(desk, "Ana is in Mill", "Ana", "Mill", when="1410")

    await retract(desk, wrong)

    assert await shown(desk, "Ana") == {"Ana is in Mill"}
    assert await shown(desk, "Ana", "1405") == {"Ana located in Hall"}


async def test_a_scene_without_a_time_follows_the_scenes_before_it() -> None:
    desk = await a_table()
    await desk.call("tell", scene="One", turns=[{"by": "gm", "text": "On."}], when="1401-07-01")
    told = await desk.call("tell", scene="Two", turns=[{"by": "gm", "text": "On."}])
    claim = {"kind": "relation", "from": "Ana", "type": "LOCATED_IN", "to": "Hall"}
    await desk.call("propose", evidence=[told["turns"][0]["id"]], claims=[claim])

    assert await shown(desk, "Ana", "1400-01-01") == set()
    assert await shown(desk, "Ana", "1402-01-01") == await shown(desk, "Ana") != set()
    assert await shown(desk, "Hall", "1400-01-01") == set()


async def test_a_statement_without_a_time_follows_what_was_told_of_the_same() -> None:
    desk = await a_table()
    await fact(desk, "Ana is in the Hall", "Ana", "Hall", when="1400-01-01")
    await tie(desk, "Ana", "LOCATED_IN", "Ford")

    assert await shown(desk, "Ana", "1390-01-01") == set()
    assert await shown(desk, "Ford", "1390-01-01") == set()
    assert await shown(desk, "Ana") == await shown(desk, "Ford") != set()
    assert await shown(desk, "Hall") == set()


async def test_lore_without_a_time_holds_at_any_date() -> None:
    desk = await a_table()
    await fact(desk, "Bo is in the Mill", "Bo", "Mill", when="1400-01-01")
    await fact(desk, "The Mill has a bell", "Mill")

    assert await shown(desk, "Mill", "1300-01-01") == {"The Mill has a bell"}


WEDDINGS: list[dict[str, Any]] = [
    {"kind": "relation", "from": "Bo", "type": "MARRIED_TO", "to": "Ana"},
    {"kind": "fact", "says": "Bo married Ana", "about": ["Ana", "Bo"]},
]


@pytest.mark.parametrize("wedding", WEDDINGS)
@pytest.mark.parametrize("death", ["Ana is dead", "Cy killed Ana"])
async def test_a_death_ends_the_marriage_whoever_tells_it(
    wedding: dict[str, Any], death: str
) -> None:
    desk = await a_table()
    wed = {"Bo married to Ana", "Bo married Ana", "Bo is married", "married"}
    await said(desk, **wedding, when="1406-04-01")
    before = await shown(desk, "Bo")
    claim = {"kind": "fact", "says": death, "about": ["Ana", "Cy"][: 1 + ("Cy" in death)]}

    told = await said(desk, "player", **claim, when="1410-04-01")

    assert before & wed
    assert not (await shown(desk, "Bo")) & wed
    assert await shown(desk, "Bo", "1407-01-01") == before
    await retract(desk, told["id"])
    assert await shown(desk, "Bo") == before


async def test_a_marriage_that_is_told_after_the_death_ended_with_it() -> None:
    desk = await a_table()
    await fact(desk, "Ana is dead", "Ana", when="1410-04-01")

    await said(desk, **WEDDINGS[0], when="1406-04-01")

    assert await shown(desk, "Bo", "1407-01-01") == {"Bo married to Ana"}
    assert await shown(desk, "Bo") == set()


async def test_a_death_without_a_time_comes_after_the_wedding() -> None:
    desk = await a_table()
    await said(desk, **WEDDINGS[0], when="1406-04-01")

    await fact(desk, "Ana is dead", "Ana")

    assert "Ana is dead" not in await shown(desk, "Ana", "1405-01-01")
    assert await shown(desk, "Bo") == set()


async def test_the_present_of_a_story_is_the_latest_time_of_its_scenes() -> None:
    desk = await a_table()
    await desk.call("tell", scene="Ford", turns=[{"by": "gm", "text": "On."}], when="1405-07-01")
    await fact(desk, "Bo is the captain of the Gull", "Bo", "Gull", when="1404-01-01")

    await fact(desk, "Ana is the captain of the Gull", "Ana", "Gull", when="1406-01-01")

    rows = (await desk.call("get", of="Gull", full=True))["facts"]
    assert {row["says"]: row.get("later") for row in rows} == {
        "Bo is the captain of the Gull": None,
        "Ana is the captain of the Gull": True,
    }
    await desk.call("tell", scene="Mill", turns=[{"by": "gm", "text": "On."}], when="1407-07-01")
    assert await shown(desk, "Gull") == {"Ana is the captain of the Gull"}


async def test_an_end_by_a_plan_gives_way_to_an_earlier_successor() -> None:
    desk = await a_table()
    await desk.call("tell", scene="Ford", turns=[{"by": "gm", "text": "On."}], when="1410-07-01")
    await tie(desk, "Di", "OWNS", "Ring", when="1395-04-01")
    await fact(desk, "The Ring belongs to Cy", "Cy", "Ring", when="1412-04-01")
    between = await tie(desk, "Ana", "OWNS", "Ring", when="1409-04-01")

    assert await shown(desk, "Ring") == {"Ana owns Ring", "The Ring belongs to Cy"}
    await retract(desk, between)
    assert await shown(desk, "Ring") == {"Di owns Ring", "The Ring belongs to Cy"}
