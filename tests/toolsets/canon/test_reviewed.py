"""The review: it forgets what was repeated with evidence or retracted, and groups by entity."""

from typing import Any

import pytest

from canonry.canon.canonization import proposals
from tests.toolsets.canon.kit import Desk, a_desk

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


async def test_the_review_judges_a_limited_number_of_proposals_of_one_entity_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proposals, "REJUDGED_MAX", 20)
    desk = a_desk()
    await desk.saltmere()
    loads = [
        {"kind": "fact", "says": f"Odo Brand carries load {n}", "about": ["Odo Brand"]}
        for n in range(27)
    ]
    assert (await desk.call("propose", claims=loads))["accepted"] == 0
    await desk.call("propose", claims=loads, said="So it is.")

    assert (await desk.call("review"))["total"] == 7


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


WAITING: dict[str, Any] = {"kind": "fact", "says": "Ilsa Vane owns the Ring"}


async def one_waits(desk: Desk) -> tuple[str, str]:
    """The id of a fact, and that of a weaker claim that waits because it would end the fact."""
    await desk.saltmere()
    ring = {"kind": "entity", "name": "Ring", "type": "object"}
    own = {"kind": "fact", "says": "Odo Brand owns the Ring", "when": "1400"}
    await desk.call("propose", said="A ring.", claims=[ring])
    told = await desk.call("propose", said="So.", authority="source", claims=[own])
    claims = [WAITING | {"when": "1402"}]
    later = await desk.call("propose", said="Hm.", authority="player", claims=claims)
    assert later["verdicts"][0]["verdict"] == "needs review"
    return told["verdicts"][0]["id"], later["verdicts"][0]["proposal"]


@pytest.mark.parametrize("by", ["propose", "decide"])
async def test_a_claim_that_waits_is_judged_again_when_its_objection_is_retracted(by: str) -> None:
    desk = a_desk()
    fact, waiting = await one_waits(desk)

    if by == "decide":
        reply = await desk.call("decide", of=[fact], verdict="retcon", reason="a lie")
        (judged,) = reply["verdicts"]
    else:
        claims = [{"kind": "retcon", "of": fact, "says": "a lie"}]
        reply = await desk.call("propose", said="A lie.", claims=claims)
        (judged,) = reply["judged_again"]

    assert (judged["proposal"], judged["verdict"]) == (waiting, "accepted")
    assert (await desk.call("review"))["total"] == 0
    said = [row["says"] for row in (await desk.call("get", of="Ring"))["facts"]]
    assert said == [WAITING["says"]]


async def test_a_claim_that_waits_is_judged_again_when_its_objection_ends_earlier() -> None:
    desk = a_desk()
    _, waiting = await one_waits(desk)
    sold = {"kind": "fact", "says": "Odo Brand no longer owns the Ring", "when": "1401"}

    foreseen = await desk.call("propose", claims=[sold], authority="source", dry_run=True)
    reply = await desk.call("propose", claims=[sold], authority="source", said="Sold.")

    assert "judged_again" not in foreseen
    assert [one["proposal"] for one in reply["judged_again"]] == [waiting]
    assert (await desk.call("review"))["total"] == 0


async def test_a_claim_that_waits_for_something_else_goes_on_waiting() -> None:
    desk = a_desk()
    _, waiting = await one_waits(desk)
    other = await desk.call("propose", said="So.", claims=[{"kind": "fact", "says": "It rains."}])
    wrong = [{"kind": "retcon", "of": other["verdicts"][0]["id"], "says": "It is dry."}]

    reply = await desk.call("propose", said="It is dry.", claims=wrong)

    assert "judged_again" not in reply
    assert [row["id"] for row in (await desk.call("review"))["waiting"]] == [waiting]
