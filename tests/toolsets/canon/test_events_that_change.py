"""Events that say more than a deed change what holds, in whatever way they are told."""

from typing import Any

import pytest

from tests.toolsets.canon.kit import ToolDriver, make_driver
from tests.toolsets.narrative.kit import a_world

pytestmark = pytest.mark.anyio

PEOPLE = ("Ilsa", "Bram", "Odo")


async def open_space() -> ToolDriver:
    driver = make_driver()
    await driver.call("open", name="Morn")
    people: list[dict[str, Any]] = [
        {"kind": "entity", "name": name, "type": "character", "tags": ["alive"]} for name in PEOPLE
    ]
    rooms = [{"kind": "entity", "name": n, "type": "location"} for n in ("Mill", "Crypt")]
    objects = [{"kind": "entity", "name": n, "type": "object"} for n in ("Lute", "Hatch")]
    stated = ["Bram owns the Lute.", "Odo is in the Mill.", "The Hatch is closed."]
    facts = [{"kind": "fact", "says": says} for says in stated]
    await driver.call("propose", claims=[*people, *rooms, *objects, *facts], said=" ".join(stated))
    return driver


async def happen(driver: ToolDriver, says: str, **more: Any) -> dict[str, Any]:
    who = [name for name in PEOPLE if name in says]
    claim = {"kind": "event", "says": says, "who": who, **more}
    reply = await driver.call("propose", claims=[claim], said=says)
    (verdict,) = reply["verdicts"]
    return {"note": reply["note"], **verdict}


async def tags_of(driver: ToolDriver, name: str) -> list[str]:
    return sorted((await driver.call("get", of=name)).get("tags", ()))


async def says_of(driver: ToolDriver, name: str) -> list[str]:
    return [one["says"] for one in (await driver.call("get", of=name)).get("facts", ())]


@pytest.mark.parametrize(
    ("says", "of", "tags"),
    [
        ("Ilsa is killed by a boar.", "Ilsa", ["dead"]),
        ("Ilsa was stabbed to death.", "Ilsa", ["dead"]),
        ("Ilsa dies.", "Ilsa", ["dead"]),
        ("Bram slays Ilsa.", "Ilsa", ["dead"]),
        ("Ilsa is arrested by the guards.", "Ilsa", ["alive", "imprisoned"]),
        ("Ilsa marries Bram.", "Bram", ["alive", "married"]),
        ("Odo opens the Hatch.", "Hatch", ["open"]),
        ("Odo captures the Lute.", "Lute", []),
        ("Ilsa wird von einem Wolf getötet.", "Ilsa", ["dead"]),
        ("Ilsa est tuée par un loup.", "Ilsa", ["dead"]),
        ("Ilsa muere en la cripta.", "Ilsa", ["dead"]),
        ("Ilsa nearly dies.", "Ilsa", ["alive"]),
        ("Bram dreams that Ilsa is killed.", "Ilsa", ["alive"]),
        ("Bram plans to kill Ilsa.", "Ilsa", ["alive"]),
        ("Bram mourns the death of a friend of Ilsa.", "Ilsa", ["alive"]),
        ("Bram sings of how Ilsa was slain.", "Ilsa", ["alive"]),
    ],
)
async def test_an_event_changes_the_state_that_its_words_change(
    says: str, of: str, tags: list[str]
) -> None:
    driver = await open_space()
    assert (await happen(driver, says))["verdict"] == "accepted"
    assert await tags_of(driver, of) == tags


async def test_a_move_and_a_sale_end_what_stood_and_are_found_once() -> None:
    driver = await open_space()
    moved = await happen(driver, "Odo goes to the Crypt.", where="Crypt")
    assert moved["note"] == "Ended: Odo is in the Mill."
    assert await says_of(driver, "Odo") == ["Odo goes to the Crypt."]
    await happen(driver, "Bram sells the Lute to Ilsa.")
    assert "Bram owns the Lute." not in await says_of(driver, "Lute")
    found = await driver.call("find", text="Odo goes to the Crypt", kinds=["fact", "event"])
    assert [one["says"] for one in found["found"]] == ["Odo goes to the Crypt."]


async def test_a_deed_that_changes_nothing_states_no_fact() -> None:
    driver = await open_space()
    before = await driver.call("find", kinds=["fact"])
    for says in ("Bram and Odo play dice.", "Ilsa tries to leave the Mill.", "A duel at dawn"):
        await happen(driver, says)
    assert await driver.call("find", kinds=["fact"]) == before


@pytest.mark.parametrize("how", ["retcon", "correction"])
async def test_what_an_event_changed_falls_with_it(how: str) -> None:
    driver = await open_space()
    event = (await happen(driver, "Ilsa is killed by a boar."))["id"]
    more = {"value": "Bram is killed by a boar."} if how == "correction" else {}
    claim = {"kind": how, "of": event, "reason": "It was another.", **more}
    await driver.call("propose", claims=[claim], said="No.")
    assert await tags_of(driver, "Ilsa") == ["alive"]
    assert await tags_of(driver, "Bram") == (["dead"] if more else ["alive"])
    assert await says_of(driver, "Ilsa") == []


async def test_the_dead_act_no_more_until_an_event_raises_them() -> None:
    driver = await open_space()
    await happen(driver, "Ilsa is killed by a boar.", when="2030-04-01")
    refused = await happen(driver, "Ilsa wins the race.", when="2030-05-01")
    assert refused["because"] == "Ilsa acts in it but is dead then"
    raised = await happen(driver, "Ilsa comes back to life.", when="2030-06-01")
    assert raised["verdict"] == "accepted"
    assert await tags_of(driver, "Ilsa") == ["alive"]


async def test_only_its_readers_see_what_a_secret_event_changed() -> None:
    driver = await open_space()
    await happen(driver, "Ilsa is killed by Bram.", **{"for": ["owner"]})
    other = make_driver("Reader", driver)
    assert await tags_of(driver, "Ilsa") == ["dead"]
    assert await tags_of(other, "Ilsa") == ["alive"]


async def test_a_forgotten_event_leaves_no_words_behind() -> None:
    driver = await open_space()
    event = (await happen(driver, "Ilsa is killed by a boar."))["id"]
    await driver.call("decide", verdict="forget", of=[event], reason="A slip.")
    found = await driver.call("find", text="killed by a boar")
    assert [one for one in found["found"] if "boar" in str(one.get("says"))] == []
    assert await tags_of(driver, "Ilsa") == ["alive"]


async def test_the_change_of_a_hidden_event_is_hidden_too() -> None:
    driver = await open_space()
    event = (await happen(driver, "Bram and Odo are seen in the Crypt."))["id"]
    other = make_driver("Reader", driver)
    shown = {"text": "seen in the Crypt", "kinds": ["fact", "event"]}
    assert (await other.call("find", **shown))["found"] != []
    keeper = make_driver("CanonKeeper", driver)
    await keeper.call("neo4j_set_audience", id=event, audience=["gm"], reason="Not yet.")
    assert (await other.call("find", **shown))["found"] == []


@pytest.mark.parametrize(
    ("title", "warning"),
    [
        ("A boar kills Ilsa", "ended: Ilsa is alive"),
        ("Ilsa wins the race", "possible: Ilsa is involved in it but is dead then"),
        ("Ilsa becomes angry", "contradiction: Ilsa acts in it but is dead then"),
    ],
)
async def test_a_direct_event_warns_of_what_it_ends_and_of_the_dead(
    title: str, warning: str
) -> None:
    world = await a_world()
    ilsa = await world.entity("Ilsa", state_tags=["alive"])
    if not warning.startswith("ended"):
        await world.event("A boar kills Ilsa", ilsa, time_ref="1400-05-01T00:00:00Z")
    later = world.backed(entities=(ilsa,), title=title, time_ref="1401-05-01T00:00:00Z")
    made = await world.call("neo4j_create_event", description="It is sung of.", **later)
    assert made["warnings"] == [warning]
