"""Scenes, proposals and withdrawn words as they were known at an earlier time."""

import json
from typing import Any

import pytest

from canonry.values.ids import SpaceId
from tests.toolsets.canon.kit import Desk, a_desk

pytestmark = pytest.mark.anyio


async def a_harbour() -> tuple[Desk, SpaceId]:
    desk = a_desk()
    space = SpaceId(await desk.saltmere())
    await told(desk, "Night", "The lamp burns.")
    return desk, space


async def told(desk: Desk, scene: str, *texts: str, **more: Any) -> None:
    turns = [{"by": "gm", "text": text} for text in texts]
    await desk.call("tell", scene=scene, turns=turns, **more)


async def undo(desk: Desk, *of: str) -> str:
    more = {"of": [*of]} if of else {}
    return str((await desk.call("decide", verdict="undo", **more))["id"])


async def now(desk: Desk, space: SpaceId) -> str:
    return str(await desk.canon.ledger.head_position(space))


async def every_read(desk: Desk, names: tuple[str, ...], **then: Any) -> str:
    """Return what the reads show of words, and of their scenes and documents."""
    found = [await desk.call("find", text="amber trade", limit=20, **then)]
    found += [await desk.call("find", kinds=[kind], **then) for kind in ("document", "passage")]
    found += [(await desk.outcome("get", {"of": name, **then})).body for name in names]
    return json.dumps(found, sort_keys=True)


async def test_withdrawn_turns_of_a_scene_are_listed_as_they_were_known() -> None:
    desk, space = await a_harbour()
    await told(desk, "Night", "The amber trade begins.", "It ends.")
    head = await now(desk, space)
    then = await desk.call("get", of="Night")

    await undo(desk)
    await told(desk, "Night", "A bell rings.")

    assert (await desk.call("get", of="Night"))["total"] == 2
    again = await desk.call("get", of="Night", as_known_at=head)
    assert again == then
    assert [one["says"] for one in again["turns_said"]] == [
        "The lamp burns.",
        "The amber trade begins.",
        "It ends.",
    ]


@pytest.mark.parametrize("redone", [False, True])
async def test_a_withdrawn_scene_and_document_are_found_as_they_were_known(redone: bool) -> None:
    desk, space = await a_harbour()
    names = ("Market", "Ledger", "Night")
    before = await every_read(desk, names)
    first = await now(desk, space)
    await told(desk, "Market", "The amber trade begins.", place="Marrow Lighthouse")
    await desk.call("tell", title="Ledger", text="The amber trade pays.")
    head, known = await now(desk, space), await every_read(desk, names)
    ids = [await undo(desk), await undo(desk)]
    undone = await now(desk, space)
    assert await every_read(desk, names) == before

    for one in reversed(ids) if redone else ():
        await undo(desk, one)

    assert sorted(await every_read(desk, names, as_known_at=head)) == sorted(known)
    for one in (first, undone):
        assert "amber" not in await every_read(desk, names, as_known_at=one)


async def test_withdrawn_words_of_a_secret_stay_secret() -> None:
    desk, space = await a_harbour()
    await told(desk, "Night", "The amber trade is a lie.", **{"for": ["gm"]})
    head = await now(desk, space)
    await undo(desk)
    reader = a_desk("Reader", desk, characters=frozenset({"somebody"}))

    assert "a lie" in await every_read(desk, ("Night",), as_known_at=head)
    assert "a lie" not in await every_read(reader, ("Night",), as_known_at=head)
    assert (await reader.call("get", of="Night", as_known_at=head))["total"] == 1


async def test_a_scene_has_its_time_place_and_summary_of_then() -> None:
    desk, space = await a_harbour()
    states: list[tuple[str, dict[str, Any]]] = []
    for more in (
        {"when": "March 1410"},
        {"place": "Marrow Lighthouse"},
        {"when": "3 March 1410"},
    ):
        await told(desk, "Night", "It goes on.", **more)
        states.append((await now(desk, space), await desk.call("get", of="Night")))
    await desk.call("tell", scene="Night", end_scene="They sleep.")
    states.append((await now(desk, space), await desk.call("get", of="Night")))
    await desk.call("decide", verdict="undo")
    states.append((await now(desk, space), await desk.call("get", of="Night")))
    await desk.call("tell", scene="Night", end_scene="They wake.")

    for head, state in states:
        assert await desk.call("get", of="Night", as_known_at=head) == state
    assert [state.get("says") for _, state in states] == [None, None, None, "They sleep.", None]
    when = [state["when"] for _, state in states[:3]]
    assert when == ["March 1410", "March 1410", "3 March 1410"]


async def test_the_review_is_as_it_waited_then_and_refuses_a_story_time() -> None:
    desk, space = await a_harbour()
    ask = a_desk("Contributor", desk)
    claim = {"kind": "fact", "says": "Odo Brand sails the Petrel"}
    await ask.call("propose", claims=[claim], said="It is told.")
    head, then = await now(desk, space), await desk.call("review")
    (row,) = then["waiting"]

    await desk.call("decide", verdict="accept", of=[row["id"]], reason="True.")

    assert (await desk.call("review"))["waiting"] == []
    assert (await desk.call("review", as_known_at=head))["waiting"] == [row]
    error = await desk.refused("review", at="1410-01-01")
    assert error["details"]["reason"] == "viewpoint.unsupported"


async def test_a_waived_conflict_waits_in_the_review_of_before() -> None:
    desk, space = await a_harbour()
    dead = {"kind": "state", "of": "Odo Brand", "tags": ["dead"]}
    mourned = {"kind": "event", "says": "They mourn Odo", "about": ["Odo Brand"]}
    for claim in (dead, mourned):
        await desk.call("propose", claims=[claim], said="So it is told.")
    head, then = await now(desk, space), await desk.call("review")
    (row,) = then["waiting"]
    (against,) = row["perhaps_against"]

    await desk.call("decide", verdict="waive", of=[row["id"]], other=against["id"], reason="Both.")

    assert (await desk.call("review"))["waiting"] == []
    assert (await desk.call("review", as_known_at=head))["waiting"] == [row]
