"""The review: it forgets what was repeated with evidence or retracted, and groups by entity."""

from typing import Any

import pytest

from canonry.canon.canonization import proposals
from canonry.canon.session.caller import LastUsed
from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio

CLAIMS: list[dict[str, Any]] = [
    {"kind": "fact", "says": "Odo Brand owns a boat"},
    {"kind": "state", "of": "Ilsa Vane", "tags": ["ill"]},
    {"kind": "relation", "from": "Odo Brand", "type": "KNOWS", "to": "Ilsa Vane"},
    {"kind": "event", "says": "The bell falls", "about": ["Ilsa Vane"]},
    {"kind": "entity", "name": "Barn", "type": "location"},
    {"kind": "fact", "says": "Odo Brand has a dog"},
]


async def test_the_review_drops_claims_repeated_with_evidence() -> None:
    driver = make_driver()
    await driver.saltmere()
    assert (await driver.call("propose", claims=CLAIMS))["accepted"] == 0
    waiting = (await driver.call("review"))["waiting"]
    about = [next((n for n in ("Odo", "Ilsa", "bell") if n in row["says"]), "") for row in waiting]
    assert about == ["Odo"] * 3 + ["Ilsa", "bell", ""]

    await driver.call("propose", claims=CLAIMS[:-1], said="So it is.")

    left = await driver.call("review")
    assert ([row["says"] for row in left["waiting"]], left["total"]) == (
        ["fact: Odo Brand has a dog"],
        1,
    )
    found = await driver.call("find", text="zeppelin")
    assert "Open proposals: 1; see review." in found["hint"]


async def test_the_review_rejudges_a_limited_number_of_proposals_per_entity(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proposals, "REJUDGED_MAX", 20)
    driver = make_driver()
    await driver.saltmere()
    loads = [
        {"kind": "fact", "says": f"Odo Brand carries load {n}", "about": ["Odo Brand"]}
        for n in range(27)
    ]
    assert (await driver.call("propose", claims=loads))["accepted"] == 0
    await driver.call("propose", claims=loads, said="So it is.")

    assert (await driver.call("review"))["total"] == 7


@pytest.mark.parametrize("older", [True, False])
async def test_a_possible_conflict_ends_with_either_side(*, older: bool) -> None:
    driver = make_driver()
    await driver.saltmere()
    said = {"said": "So.", "authority": "gm"}
    rich, poor = ({"kind": "fact", "says": f"Odo Brand is {one}"} for one in ("rich", "poor"))
    (old,) = (await driver.call("propose", claims=[rich], **said))["verdicts"]
    (new,) = (await driver.call("propose", claims=[poor], **said))["verdicts"]
    assert new["against"][0]["id"] == old["id"]
    assert (await driver.call("review", what="conflicts"))["total"] == 1

    await driver.call(
        "decide", verdict="retcon", of=[old["id"] if older else new["id"]], reason="No."
    )

    assert (await driver.call("review", what="conflicts"))["total"] == 0


WAITING: dict[str, Any] = {"kind": "fact", "says": "Ilsa Vane owns the Ring"}


async def one_waits(driver: ToolDriver) -> tuple[str, str]:
    """The id of a fact, and that of a weaker claim that waits because it would end the fact."""
    await driver.saltmere()
    ring = {"kind": "entity", "name": "Ring", "type": "object"}
    own = {"kind": "fact", "says": "Odo Brand owns the Ring", "when": "1400"}
    await driver.call("propose", said="A ring.", claims=[ring])
    reply = await driver.call("propose", said="So.", authority="source", claims=[own])
    claims = [WAITING | {"when": "1402"}]
    later = await driver.call("propose", said="Hm.", authority="player", claims=claims)
    assert later["verdicts"][0]["verdict"] == "needs review"
    return reply["verdicts"][0]["id"], later["verdicts"][0]["proposal"]


@pytest.mark.parametrize("by", ["propose", "decide"])
async def test_a_pending_claim_is_judged_again_when_its_objection_is_retracted(by: str) -> None:
    driver = make_driver()
    fact, waiting = await one_waits(driver)

    if by == "decide":
        reply = await driver.call("decide", of=[fact], verdict="retcon", reason="a lie")
        (judged,) = reply["verdicts"]
    else:
        claims = [{"kind": "retcon", "of": fact, "says": "a lie"}]
        reply = await driver.call("propose", said="A lie.", claims=claims)
        (judged,) = reply["judged_again"]

    assert (judged["proposal"], judged["verdict"]) == (waiting, "accepted")
    assert (await driver.call("review"))["total"] == 0
    said = [row["says"] for row in (await driver.call("get", of="Ring"))["facts"]]
    assert said == [WAITING["says"]]


async def test_a_pending_claim_is_judged_again_when_its_objection_ends_earlier() -> None:
    driver = make_driver()
    _, waiting = await one_waits(driver)
    sold = {"kind": "fact", "says": "Odo Brand no longer owns the Ring", "when": "1401"}

    predicted = await driver.call("propose", claims=[sold], authority="source", dry_run=True)
    reply = await driver.call("propose", claims=[sold], authority="source", said="Sold.")

    assert "judged_again" not in predicted
    assert [one["proposal"] for one in reply["judged_again"]] == [waiting]
    assert (await driver.call("review"))["total"] == 0


async def test_a_claim_pending_for_another_reason_keeps_waiting() -> None:
    driver = make_driver()
    _, waiting = await one_waits(driver)
    other = await driver.call("propose", said="So.", claims=[{"kind": "fact", "says": "It rains."}])
    wrong = [{"kind": "retcon", "of": other["verdicts"][0]["id"], "says": "It is dry."}]

    reply = await driver.call("propose", said="It is dry.", claims=wrong)

    assert "judged_again" not in reply
    assert [row["id"] for row in (await driver.call("review"))["waiting"]] == [waiting]


async def test_a_refused_claim_leaves_the_review_and_enters_the_changes_when_it_is_rejected() -> (
    None
):
    driver = make_driver(last_used=LastUsed())
    for says in ("Biscuit weighs 12 kg.", "Biscuit weighs 15 kg."):
        claim = {"kind": "fact", "says": says}
        (verdict,) = (await driver.call("propose", claims=[claim], said=says, space="account"))[
            "verdicts"
        ]
    (waits,) = (await driver.call("review"))["waiting"]
    for _ in range(2):
        await driver.call("decide", verdict="reject", of=[verdict["proposal"]], reason="A slip.")

    assert (waits["id"], waits["status"]) == (verdict["proposal"], "refused")
    assert (await driver.call("review"))["waiting"] == []
    changes = (await driver.call("changes", space="account"))["changes"]
    ways = [what["how"] for row in changes for what in row["what"] if what["kind"] == "proposal"]
    assert ways == ["refused", "rejected"]
    await driver.call("decide", verdict="undo")
    assert [row["id"] for row in (await driver.call("review"))["waiting"]] == [waits["id"]]
