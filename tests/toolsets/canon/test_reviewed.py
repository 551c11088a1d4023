"""The review: it forgets what was repeated with evidence or retracted, and groups by entity."""

from typing import Any

import pytest

from canonry.canon.canonization.proposals import REJUDGED_MAX
from tests.toolsets.canon.kit import a_desk

pytestmark = pytest.mark.anyio

CLAIMS: list[dict[str, Any]] = [
    {"kind": "fact", "says": "Odo Brand owns a boat"},
    {"kind": "state", "of": "Ilsa Vane", "tags": ["ill"]},
    {"kind": "relation", "from": "Odo Brand", "type": "KNOWS", "to": "Ilsa Vane"},
    {"kind": "event", "says": "The bell falls", "about": ["Ilsa Vane"]},
    {"kind": "entity", "name": "Barn", "type": "location"},
    {"kind": "fact", "says": "Odo Brand has a dog"},
]


async def test_the_review_forgets_what_was_repeated_with_evidence() -> None:
    desk = a_desk()
    await desk.saltmere()
    assert (await desk.call("propose", claims=CLAIMS))["accepted"] == 0
    waiting = (await desk.call("review"))["waiting"]
    about = [next((n for n in ("Odo", "Ilsa", "bell") if n in row["says"]), "") for row in waiting]
    assert about == ["Odo"] * 3 + ["Ilsa", "bell", ""]

    await desk.call("propose", claims=CLAIMS[:-1], said="So it is.")

    left = await desk.call("review")
    assert ([row["says"] for row in left["waiting"]], left["total"]) == (
        ["fact: Odo Brand has a dog"],
        1,
    )
    found = await desk.call("find", text="zeppelin")
    assert "Open proposals: 1; see review." in found["hint"]


async def test_the_review_judges_a_limited_number_of_proposals_of_one_entity_again() -> None:
    desk = a_desk()
    await desk.saltmere()
    loads = [
        {"kind": "fact", "says": f"Odo Brand carries load {n}", "about": ["Odo Brand"]}
        for n in range(REJUDGED_MAX + 7)
    ]
    for some in (loads[:100], loads[100:]):
        assert (await desk.call("propose", claims=some))["accepted"] == 0
        await desk.call("propose", claims=some, said="So it is.")

    assert (await desk.call("review"))["total"] == len(loads) - REJUDGED_MAX


@pytest.mark.parametrize("older", [True, False])
async def test_a_possible_conflict_goes_with_either_side(*, older: bool) -> None:
    desk = a_desk()
    await desk.saltmere()
    said = {"said": "So.", "authority": "gm"}
    rich, poor = ({"kind": "fact", "says": f"Odo Brand is {one}"} for one in ("rich", "poor"))
    (old,) = (await desk.call("propose", claims=[rich], **said))["verdicts"]
    (new,) = (await desk.call("propose", claims=[poor], **said))["verdicts"]
    assert new["against"][0]["id"] == old["id"]
    assert (await desk.call("review", what="conflicts"))["total"] == 1

    await desk.call(
        "decide", verdict="retcon", of=[old["id"] if older else new["id"]], reason="No."
    )

    assert (await desk.call("review", what="conflicts"))["total"] == 0
