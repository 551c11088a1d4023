"""Merges, retcons and corrections: asked for by a Contributor, and carried out by a Keeper."""

import pytest

from canonry.gateway.principal import KEY_META, Principal
from tests.toolsets.canon.kit import WHO, make_driver
from tests.toolsets.canon.test_writing import CORRECTION, propose_claim

pytestmark = pytest.mark.anyio

MERGE = {"kind": "merge", "from": "The Keeper", "to": "Odo", "says": "One man."}


async def test_keeper_operations_are_proposed_and_done_when_accepted() -> None:
    solo = make_driver()
    await solo.saltmere()
    await propose_claim(solo, kind="entity", name="The Keeper", type="character")
    (light,) = (await solo.call("find", text="keeps the light", kinds=["fact"]))["found"]
    ann, bob = make_driver("Contributor", beside=solo), make_driver("Keeper", beside=solo)
    claims = [CORRECTION, MERGE, {"kind": "retcon", "of": light["id"], "says": "A tale."}]
    arguments = {"said": "The harbour master says so.", "claims": claims}
    before = await solo.heads()
    foretold = await ann.call("propose", claims=claims, dry_run=True)
    assert (foretold["written"], await solo.heads()) == (False, before)

    asked = await ann.call("propose", **arguments)

    assert (asked["accepted"], asked["kept"], asked["written"]) == (0, True, False)
    ids = [row["proposal"] for row in asked["verdicts"]]
    waiting = (await bob.call("review", what="pending"))["waiting"]
    assert [(row["id"], row["says"]) for row in waiting] == [
        (ids[0], "correction: age of Odo Brand is 61"),
        (ids[1], "merge: The Keeper is Odo Brand"),
        (ids[2], f"retcon: {light['id']} was never true"),
    ]
    for verdict in ("judge", "accept"):
        refused = await bob.refused("decide", verdict=verdict, of=ids[:1], reason=" ")
        assert refused["details"]["reason"] in {"proposal.not-judged", "decide.reason"}
    done = await bob.call("decide", verdict="accept", of=ids, reason="True.")

    odo = await bob.call("get", of="The Keeper")
    assert done["verdicts"][1]["id"] == odo["id"]
    assert (odo["name"], odo["fields"]["age"]) == ("Odo Brand", 61)
    assert (await bob.call("find", text="keeps the light", kinds=["fact"]))["found"] == []
    assert (await bob.call("get", of=light["id"]))["level"] == "retconned"
    assert (await bob.call("review", what="pending"))["waiting"] == []
    why = await bob.call("why", of="Odo", field="age")
    assert "harbour master" in str(why)
    again = await bob.refused("decide", verdict="accept", of=ids[:1], reason="True.")
    assert again["details"]["reason"] == "proposal.decided"
    error = await ann.refused("propose", claims=[MERGE])
    assert error["details"]["reason"] == "entity.already-merged"
    error = await ann.refused("propose", claims=[CORRECTION, WHO[4]])
    assert error["details"]["reason"] == "claim.mixed"


async def test_operations_rejected_by_a_keeper_are_not_done() -> None:
    solo = make_driver()
    await solo.saltmere()
    ann, bob = make_driver("Contributor", beside=solo), make_driver("Keeper", beside=solo)
    (row,) = (await ann.call("propose", claims=[CORRECTION], said="So."))["verdicts"]

    await bob.call("decide", verdict="reject", of=[row["proposal"]], reason="No.")

    assert "age" not in str(await bob.call("get", of="Odo", full=True))
    again = await bob.refused("decide", verdict="accept", of=[row["proposal"]], reason="Yes.")
    assert again["details"]["reason"] == "proposal.decided"


async def test_an_interrupted_acceptance_is_resumed() -> None:
    solo = make_driver()
    await solo.saltmere()
    await propose_claim(solo, kind="entity", name="The Keeper", type="character")
    (light,) = (await solo.call("find", text="keeps the light", kinds=["fact"]))["found"]
    ann = make_driver("Contributor", beside=solo)
    retcon = {"kind": "retcon", "of": light["id"], "says": "A tale."}
    asked = await ann.call("propose", said="So.", claims=[MERGE, retcon])
    await solo.call("decide", verdict="merge", of=["Odo", "The Keeper"], reason="One man.")
    await solo.call("decide", verdict="retcon", of=[light["id"]], reason="A tale.")

    ids = [row["proposal"] for row in asked["verdicts"]]
    done = await solo.call("decide", verdict="accept", of=ids, reason="So it is.")

    assert [row["verdict"] for row in done["verdicts"]] == ["accepted", "accepted"]


async def test_an_acceptance_repeated_with_its_key_is_the_same() -> None:
    solo = make_driver()
    await solo.saltmere()
    ann = make_driver("Contributor", beside=solo)
    (row,) = (await ann.call("propose", claims=[CORRECTION], said="So."))["verdicts"]
    keeper = Principal(agent_id="bob", agent_type="Keeper", authorities=None)
    yes = {"space": "Saltmere", "verdict": "accept", "of": [row["proposal"]], "reason": "True."}

    first = await solo.gateway.call("decide", yes, keeper, {KEY_META: "once"})
    heads = await solo.heads()
    again = await solo.gateway.call("decide", yes, keeper, {KEY_META: "once"})

    assert first.error is None, first.text
    assert (again.text, await solo.heads()) == (first.text, heads)


async def test_why_explains_a_retracted_event() -> None:
    driver = make_driver()
    await driver.saltmere()
    made = await propose_claim(driver, kind="event", says="The bell falls", about=["Odo"])
    await driver.call("decide", verdict="retcon", of=[made["id"]], reason="It hangs.")

    why = await driver.call("why", of=made["id"])

    assert "It hangs." in str(why)
