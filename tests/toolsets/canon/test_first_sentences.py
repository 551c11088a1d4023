"""What people at a table and at a desk do first: speak unnamed, claim bare, and send odd dates."""

import pytest

from tests.toolsets.canon.kit import a_desk

pytestmark = pytest.mark.anyio


async def test_who_is_no_entity_yet_is_kept_with_the_words_and_a_slip_is_told() -> None:
    desk = a_desk()
    await desk.saltmere()

    told = await desk.call("tell", scene="Quay", turns=[{"by": "Wim Haas", "text": "Ahoy."}])

    (turn,) = (await desk.call("get", of=told["scene"]))["turns_said"]
    assert turn["says"] == "Wim Haas: Ahoy."
    slip = await desk.refused("tell", scene="Quay", turns=[{"by": "Odo Brant", "text": "x"}])
    assert slip["details"]["candidates"] == ["Odo Brand"]
    assert (await desk.call("find", text="Wim", kinds=["entity"]))["found"] == []


async def test_what_lacks_evidence_is_asked_for_it_and_what_stands_against_canon_is_not() -> None:
    desk = a_desk()
    await desk.saltmere()

    weak = await desk.call("propose", claims=[{"kind": "state", "of": "Odo", "tags": ["ill"]}])
    dead = [{"kind": "state", "of": "Odo", "tags": ["dead"]}]
    await desk.call("propose", said="Odo dies.", claims=dead)
    acts = [{"kind": "event", "says": "Odo Brand runs", "who": ["Odo"]}]
    against = await desk.call("propose", said="Odo runs.", claims=acts)

    assert "said or evidence" in weak["hint"]
    assert "overrules" in against["hint"]


async def test_what_can_be_read_in_several_ways_waits_and_one_word_reads_it() -> None:
    desk = a_desk()
    bill = {"type": "invoice", "number": "R-17", "invoice_date": "03/04/2026"}
    told = await desk.call("tell", records=[bill], space="account")

    (waits,) = (await desk.call("review", space="account"))["unclear"]
    listed = await desk.call("review", what="unclear", space="account")
    which = {"verdict": "read", "of": [waits["document"]], "space": "account"}
    no_field = await desk.refused("decide", **which, other="day_first")
    no_way = await desk.refused("decide", **which, field="invoice_date", other="backwards")
    done = await desk.call("decide", **which, field=waits["field"], other="day_first")

    assert (waits["document"], waits["of"]) == (told["document"], "R-17")
    assert (waits["says"], waits["count"]) == ("03/04/2026", 1)
    assert set(waits["read_as"]) == {"day_first", "month_first"}
    assert (listed["unclear"], listed["total"]) == ([waits], 1)
    assert (no_field["details"]["path"], no_way["details"]["path"]) == ("/field", "/other")
    assert (done["settled"], done["left"]) == (1, 0)
    assert "unclear" not in await desk.call("review", space="account")
    found = await desk.call("get", of="R-17", space="account", full=True)
    assert waits["read_as"]["day_first"] in str(found)


async def test_only_values_of_an_account_are_read() -> None:
    desk = a_desk()
    await desk.saltmere()

    refused = await desk.refused("decide", verdict="read", of=["Odo"], field="x", other="y")

    assert refused["details"]["path"] == "/verdict"
    assert (await desk.refused("review", what="unclear"))["code"] == "NOT_HERE"
