"""Scenes, proposals and withdrawn words as they were known at an earlier time."""

import json
from typing import Any

import pytest

from canonry.values.ids import SpaceId
from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio


async def a_harbour() -> tuple[ToolDriver, SpaceId]:
    driver = make_driver()
    space = SpaceId(await driver.saltmere())
    await record_turns(driver, "Night", "The lamp burns.")
    return driver, space


async def record_turns(driver: ToolDriver, scene: str, *texts: str, **more: Any) -> None:
    turns = [{"by": "gm", "text": text} for text in texts]
    await driver.call("tell", scene=scene, turns=turns, **more)


async def undo_last(driver: ToolDriver, *of: str) -> str:
    more = {"of": [*of]} if of else {}
    return str((await driver.call("decide", verdict="undo", **more))["id"])


async def read_now(driver: ToolDriver, space: SpaceId) -> str:
    return str(await driver.canon.ledger.head_position(space))


async def every_read(driver: ToolDriver, names: tuple[str, ...], **then: Any) -> str:
    """Return what the reads show of words, and of their scenes and documents."""
    found = [await driver.call("find", text="amber trade", limit=20, **then)]
    found += [await driver.call("find", kinds=[kind], **then) for kind in ("document", "passage")]
    found += [(await driver.outcome("get", {"of": name, **then})).body for name in names]
    return json.dumps(found, sort_keys=True)


async def test_withdrawn_turns_are_listed_as_they_were_known() -> None:
    driver, space = await a_harbour()
    await record_turns(driver, "Night", "The amber trade begins.", "It ends.")
    head = await read_now(driver, space)
    then = await driver.call("get", of="Night")

    await undo_last(driver)
    await record_turns(driver, "Night", "A bell rings.")

    assert (await driver.call("get", of="Night"))["total"] == 2
    again = await driver.call("get", of="Night", as_known_at=head)
    assert again == then
    assert [one["says"] for one in again["turns_said"]] == [
        "The lamp burns.",
        "The amber trade begins.",
        "It ends.",
    ]


@pytest.mark.parametrize("redone", [False, True])
async def test_a_withdrawn_scene_and_document_are_found_as_known_then(redone: bool) -> None:
    driver, space = await a_harbour()
    names = ("Market", "Ledger", "Night")
    before = await every_read(driver, names)
    first = await read_now(driver, space)
    await record_turns(driver, "Market", "The amber trade begins.", place="Marrow Lighthouse")
    await driver.call("tell", title="Ledger", text="The amber trade pays.")
    head, known = await read_now(driver, space), await every_read(driver, names)
    ids = [await undo_last(driver), await undo_last(driver)]
    undone = await read_now(driver, space)
    assert await every_read(driver, names) == before

    for one in reversed(ids) if redone else ():
        await undo_last(driver, one)

    assert sorted(await every_read(driver, names, as_known_at=head)) == sorted(known)
    for one in (first, undone):
        assert "amber" not in await every_read(driver, names, as_known_at=one)


async def test_withdrawn_words_of_a_secret_stay_secret() -> None:
    driver, space = await a_harbour()
    await record_turns(driver, "Night", "The amber trade is a lie.", **{"for": ["gm"]})
    head = await read_now(driver, space)
    await undo_last(driver)
    reader = make_driver("Reader", driver, characters=frozenset({"somebody"}))

    assert "a lie" in await every_read(driver, ("Night",), as_known_at=head)
    assert "a lie" not in await every_read(reader, ("Night",), as_known_at=head)
    assert (await reader.call("get", of="Night", as_known_at=head))["total"] == 1


async def test_a_scene_has_its_time_place_and_summary_of_then() -> None:
    driver, space = await a_harbour()
    states: list[tuple[str, dict[str, Any]]] = []
    for more in (
        {"when": "March 1410"},
        {"place": "Marrow Lighthouse"},
        {"when": "3 March 1410"},
    ):
        await record_turns(driver, "Night", "It goes on.", **more)
        states.append((await read_now(driver, space), await driver.call("get", of="Night")))
    await driver.call("tell", scene="Night", end_scene="They sleep.")
    states.append((await read_now(driver, space), await driver.call("get", of="Night")))
    await driver.call("decide", verdict="undo")
    states.append((await read_now(driver, space), await driver.call("get", of="Night")))
    await driver.call("tell", scene="Night", end_scene="They wake.")

    for head, state in states:
        assert await driver.call("get", of="Night", as_known_at=head) == state
    assert [state.get("says") for _, state in states] == [None, None, None, "They sleep.", None]
    when = [state["when"] for _, state in states[:3]]
    assert when == ["March 1410", "March 1410", "3 March 1410"]


async def test_an_earlier_review_is_read_and_refuses_a_story_time() -> None:
    driver, space = await a_harbour()
    ask = make_driver("Contributor", driver)
    claim = {"kind": "fact", "says": "Odo Brand sails the Petrel"}
    await ask.call("propose", claims=[claim], said="It is told.")
    head, then = await read_now(driver, space), await driver.call("review")
    (row,) = then["waiting"]

    await driver.call("decide", verdict="accept", of=[row["id"]], reason="True.")

    assert (await driver.call("review"))["waiting"] == []
    assert (await driver.call("review", as_known_at=head))["waiting"] == [row]
    error = await driver.refused("review", at="1410-01-01")
    assert error["details"]["reason"] == "viewpoint.unsupported"


async def test_a_waived_conflict_waits_in_the_earlier_review() -> None:
    driver, space = await a_harbour()
    dead = {"kind": "state", "of": "Odo Brand", "tags": ["dead"]}
    mourned = {"kind": "event", "says": "They mourn Odo", "about": ["Odo Brand"]}
    for claim in (dead, mourned):
        await driver.call("propose", claims=[claim], said="So it is told.")
    head, then = await read_now(driver, space), await driver.call("review")
    (row,) = then["waiting"]
    (against,) = row["perhaps_against"]

    await driver.call(
        "decide", verdict="waive", of=[row["id"]], other=against["id"], reason="Both."
    )

    assert (await driver.call("review"))["waiting"] == []
    assert (await driver.call("review", as_known_at=head))["waiting"] == [row]
