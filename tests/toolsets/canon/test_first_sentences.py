"""People begin with unnamed speech, bare claims and odd dates, at a table and at a desk."""

import pytest

from tests.toolsets.canon.kit import make_driver

pytestmark = pytest.mark.anyio


async def test_an_unknown_subject_is_kept_with_the_words_and_a_slip_is_reported() -> None:
    driver = make_driver()
    await driver.saltmere()

    reply = await driver.call("tell", scene="Quay", turns=[{"by": "Wim Haas", "text": "Ahoy."}])

    said = {"by": "user", "text": "Fie: a gale."}
    await driver.call("tell", scene="Quay", turns=[said])
    turns = (await driver.call("get", of=reply["scene"]))["turns_said"]
    spoken = [("Wim Haas", "Ahoy."), ("user", "Fie: a gale.")]
    assert [(turn["by"], turn["says"]) for turn in turns] == spoken
    slip = await driver.refused("tell", scene="Quay", turns=[{"by": "Odo Brant", "text": "x"}])
    assert slip["details"]["candidates"] == ["Odo Brand"]
    assert (await driver.call("find", text="Wim", kinds=["entity"]))["found"] == []


async def test_missing_evidence_is_requested_and_a_contradiction_is_not() -> None:
    driver = make_driver()
    await driver.saltmere()

    weak = await driver.call("propose", claims=[{"kind": "state", "of": "Odo", "tags": ["ill"]}])
    dead = [{"kind": "state", "of": "Odo", "tags": ["dead"]}]
    await driver.call("propose", said="Odo dies.", claims=dead)
    acts = [{"kind": "event", "says": "Odo Brand runs", "who": ["Odo"]}]
    against = await driver.call("propose", said="Odo runs.", claims=acts)

    assert "said or evidence" in weak["hint"]
    assert "To overrule what stands, decide accept, of=" in against["hint"]


async def test_an_ambiguous_value_waits_and_one_answer_settles_it() -> None:
    driver = make_driver()
    bill = {"type": "invoice", "number": "R-17", "invoice_date": "03/04/2026"}
    reply = await driver.call("tell", records=[bill], space="account")

    (waits,) = (await driver.call("review", space="account"))["unclear"]
    listed = await driver.call("review", what="unclear", space="account")
    which = {"verdict": "read", "of": [waits["document"]], "space": "account"}
    no_field = await driver.refused("decide", **which, other="day_first")
    no_way = await driver.refused("decide", **which, field="invoice_date", other="backwards")
    done = await driver.call("decide", **which, field=waits["field"], other="day_first")

    assert (waits["document"], waits["of"]) == (reply["document"], "R-17")
    assert (waits["says"], waits["count"]) == ("03/04/2026", 1)
    assert set(waits["read_as"]) == {"day_first", "month_first"}
    assert (listed["unclear"], listed["total"]) == ([waits], 1)
    assert (no_field["details"]["path"], no_way["details"]["path"]) == ("/field", "/other")
    assert (done["settled"], done["left"]) == (1, 0)
    assert "unclear" not in await driver.call("review", space="account")
    found = await driver.call("get", of="R-17", space="account", full=True)
    assert waits["read_as"]["day_first"] in str(found)


async def test_only_account_values_are_converted() -> None:
    driver = make_driver()
    await driver.saltmere()

    refused = await driver.refused("decide", verdict="read", of=["Odo"], field="x", other="y")

    assert refused["details"]["path"] == "/verdict"
    assert (await driver.refused("review", what="unclear"))["code"] == "NOT_HERE"
