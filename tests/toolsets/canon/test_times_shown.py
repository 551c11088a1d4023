"""Times are shown as precisely as they were said, and a scene keeps the time that it has."""

from typing import Any

import pytest

from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio

ARRIVES = {"kind": "event", "says": "Ana arrives", "who": ["Ana"]}


async def make_town() -> ToolDriver:
    """A space with Ana and two places, and with one scene of a known time."""
    driver = make_driver()
    await driver.call("open", name="Town")
    people = [{"kind": "entity", "name": "Ana", "type": "character"}]
    places = [{"kind": "entity", "name": n, "type": "location"} for n in ("Hall", "Ford")]
    await driver.call("propose", said="Ana, the hall and the ford.", claims=[*people, *places])
    await record_scene(driver, "Base", when="1500-01-31T18:00:00Z")
    return driver


async def record_scene(driver: ToolDriver, title: str, **more: Any) -> dict[str, Any]:
    return await driver.call("tell", scene=title, turns=[{"by": "gm", "text": "Go on."}], **more)


async def accept_claim(driver: ToolDriver, **claim: Any) -> str:
    """The id of an accepted claim."""
    reply = await driver.call("propose", said=f"So it is: {claim}.", claims=[claim])
    (verdict,) = reply["verdicts"]
    return str(verdict["id"])


@pytest.mark.parametrize(
    "when",
    [
        *("January 1880", "spring of 1500", "about 1412", "1880", "the 1640s", "3 Jan 1880"),
        *("early March 1900", "late 1880", "the evening of 3 March 1402", "44 BC"),
        *("Frühling 1500", "vers 1412", "enero de 1880"),
    ],
)
async def test_a_time_is_shown_as_stated(when: str) -> None:
    driver = await make_town()
    await record_scene(driver, "Later", when="1950-01-31T18:00:00Z")
    fact = await accept_claim(driver, kind="fact", says="Ana has a cat", about=["Ana"], when=when)
    event = await accept_claim(driver, kind="event", says="Ana jumps", who=["Ana"], when=when)
    at = {"kind": "relation", "from": "Ana", "type": "LOCATED_IN", "to": "Hall", "when": when}
    relation = await accept_claim(driver, **at)

    assert (await driver.call("get", of=fact))["from"] == when
    assert (await driver.call("get", of=event))["when"] == when
    assert (await driver.call("get", of=relation))["from"] == when
    found = (await driver.call("find", about="Ana", kinds=["fact"]))["found"]
    assert [row["from"] for row in found] == [when]
    times = [row["when"] for row in (await driver.call("timeline", about="Ana"))["timeline"]]
    assert times == [when, when, when]
    assert f"(from {when})" in (await driver.call("context", of="Ana"))["brief"]


async def test_an_exact_time_stays_exact() -> None:
    driver = await make_town()
    for when in ("1880-01-03T10:30:00Z", "3 January 1880 10:30"):
        fact = await accept_claim(driver, kind="fact", says=f"At {when} Ana eats", when=when)
        assert (await driver.call("get", of=fact))["from"] == "1880-01-03T10:30:00Z"


async def test_an_end_is_shown_as_the_time_of_the_successor() -> None:
    driver = await make_town()
    at = {"kind": "relation", "from": "Ana", "type": "LOCATED_IN"}
    first = await accept_claim(driver, **at, to="Hall", when="January 1501")
    await accept_claim(driver, **at, to="Ford", when="spring of 1501")

    shown = await driver.call("get", of=first)

    assert (shown["from"], shown["until"]) == ("January 1501", "spring of 1501")


@pytest.mark.parametrize(
    ("when", "shown"),
    [
        ("the next morning", "morning of 1 February 1500"),
        ("that evening", "evening of 31 January 1500"),
        ("a fortnight later", "14 February 1500"),
        ("the following spring", "spring of 1500"),
        ("an hour later", "1500-01-31T19:00:00Z"),
        ("drei Tage später", "3 February 1500"),
        ("le lendemain matin", "morning of 1 February 1500"),
        ("esa noche", "night of 31 January 1500"),
    ],
)
async def test_a_scene_counts_from_the_previous_one_and_shows_its_time(
    when: str, shown: str
) -> None:
    driver = await make_town()
    await record_scene(driver, "Later", when=when, place="Hall")
    reply = await driver.call("propose", claims=[ARRIVES], evidence=["Later"])

    scene = await driver.call("get", of="Later")
    event = await driver.call("get", of=reply["verdicts"][0]["id"])

    assert (scene["when"], scene["place"]) == (shown, "Hall")
    assert [turn["said"] for turn in scene["turns_said"]] == [shown]
    assert event["when"] == shown


async def test_scenes_recorded_in_sequence_continue_counting() -> None:
    driver = await make_town()
    shown: list[str] = []
    for when in ("the next morning", "same day", "that evening", "at midnight", "the next morning"):
        await record_scene(driver, f"{len(shown)} {when}", when=when)
        shown.append((await driver.call("get", of=f"{len(shown)} {when}"))["when"])

    assert shown == [
        "morning of 1 February 1500",
        "1 February 1500",
        "evening of 1 February 1500",
        "1500-02-02T00:00:00Z",
        "morning of 2 February 1500",
    ]


async def test_a_known_scene_accepts_missing_time_and_place() -> None:
    driver = await make_town()
    await record_scene(driver, "Later")

    await record_scene(driver, "Later", when="the next morning", place="Hall")
    await record_scene(driver, "Later", when="the next morning", place="Hall")
    await record_scene(driver, "Later", when="1 February 1500")
    await record_scene(driver, "Later", when="winter of 1499")

    scene = await driver.call("get", of="Later")
    assert (scene["when"], scene["place"]) == ("morning of 1 February 1500", "Hall")
    assert scene["turns"] == 5


async def test_a_known_scene_accepts_a_more_precise_time() -> None:
    driver = await make_town()
    await record_scene(driver, "Siege", when="spring of 1500")

    await record_scene(driver, "Siege", when="3 April 1500")

    assert (await driver.call("get", of="Siege"))["when"] == "3 April 1500"


async def test_another_time_or_place_of_a_known_scene_is_refused() -> None:
    driver = await make_town()
    await record_scene(driver, "Later", when="the next morning", place="Hall")

    for more, path in (({"when": "1501-01-01T00:00:00Z"}, "/when"), ({"place": "Ford"}, "/place")):
        error = await driver.refused(
            "tell", scene="Later", turns=[{"by": "gm", "text": "x"}], **more
        )
        assert error["details"]["reason"] == "scene.other-setting"
        assert error["details"]["path"] == path
    assert (await driver.call("get", of="Later"))["turns"] == 1


async def test_a_time_relative_to_a_vague_one_is_shown_as_vaguely() -> None:
    driver = await make_town()
    await record_scene(driver, "Siege", when="spring of 1500")
    claim = {**ARRIVES, "when": "that evening"}
    reply = await driver.call("propose", claims=[claim], evidence=["Siege"])
    await record_scene(driver, "After", when="two hours later")
    await record_scene(driver, "Long after", when="the next morning")
    await record_scene(driver, "Sure", when="3 May 1500")

    assert (await driver.call("get", of=reply["verdicts"][0]["id"]))["when"] == "spring of 1500"
    assert (await driver.call("get", of="After"))["when"] == "spring of 1500"
    assert (await driver.call("get", of="Long after"))["when"] == "spring of 1500"
    assert (await driver.call("get", of="Sure"))["when"] == "3 May 1500"


async def test_effects_of_a_scene_have_its_precision() -> None:
    driver = await make_town()
    await record_scene(driver, "Siege", when="spring of 1500")
    at = {"kind": "relation", "from": "Ana", "type": "LOCATED_IN", "to": "Hall"}
    reply = await driver.call("propose", claims=[at, ARRIVES], evidence=["Siege"])
    relation, event = [await driver.call("get", of=each["id"]) for each in reply["verdicts"]]

    assert (relation["from"], event["when"]) == ("spring of 1500", "spring of 1500")
