"""A call without a space reads everywhere, and writes to the space in which it goes on."""

from typing import Any

import pytest

from canonry.canon.session.caller import LastUsed
from canonry.gateway.principal import KEY_META, Principal
from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio
ODO = {"kind": "entity", "name": "Odo Brand", "type": "character"}
HILDE = {"kind": "entity", "name": "Hilde", "type": "person", "fields": {"medication": "warfarin"}}


async def note_driver(last_used: LastUsed | None = None) -> ToolDriver:
    """Somebody who told a note before they opened a space, and has items in both."""
    driver = make_driver(last_used=last_used)
    await driver.call("tell", text="The wifi password is swordfish.", title="Wifi")
    await driver.call("propose", claims=[HILDE], space="account")
    await driver.call("open", name="Saltmere")
    await driver.call("tell", text="Odo keeps the light.", title="Harbour book", space="Saltmere")
    claims = [ODO, {"kind": "fact", "says": "Odo Brand keeps the light"}]
    await driver.call("propose", claims=claims, evidence=["Harbour book"], space="Saltmere")
    return driver


async def space_of(driver: ToolDriver, of: str) -> str:
    """The name of the space in which something lies."""
    space = (await driver.call("get", of=of, full=True))["space"]
    spaces = (await driver.call("spaces"))["spaces"]
    return next(str(row["name"]) for row in spaces if space in {row["id"], row["name"]})


def spaces_in(reply: dict[str, Any], key: str) -> set[str]:
    return {row["space"] for row in reply[key]}


async def test_no_read_asks_for_the_space_after_a_note_and_an_opened_space() -> None:
    driver = await note_driver()

    for text, space in (("swordfish", "account"), ("warfarin", "account"), ("light", "Saltmere")):
        found = (await driver.call("find", text=text))["found"]
        assert found[0]["space"] == space, (text, found)
    assert (await driver.call("get", of="Odo Brand"))["space"] == "Saltmere"
    assert (await driver.call("get", of="Hilde"))["space"] == "account"
    assert (await driver.call("why", of="Odo Brand keeps the light"))["space"] == "Saltmere"
    assert "swordfish" in (await driver.call("context", question="wifi password"))["brief"]
    assert "keeps the light" in (await driver.call("context", of="Odo"))["brief"]
    listed = await driver.call("find", kinds=["entity"])
    assert (spaces_in(listed, "found"), listed["total"]) == ({"account", "Saltmere"}, 3)
    assert spaces_in(await driver.call("changes"), "changes") == {"account", "Saltmere"}
    assert spaces_in(await driver.call("timeline"), "timeline") <= {"account", "Saltmere"}
    assert "duplicates" in await driver.call("review", what="duplicates")
    assert (await driver.call("review", what="pending"))["total"] == 0


async def test_lists_of_several_spaces_are_paged_without_a_loss() -> None:
    driver = await note_driver()
    names: list[str] = []
    cursor: str | None = "0"
    while cursor is not None:
        page = await driver.call("find", kinds=["entity", "document"], limit=1, cursor=cursor)
        names += [row["name"] for row in page["found"]]
        cursor = page.get("next")

    whole = await driver.call("find", kinds=["entity", "document"], limit=50)
    assert names == [row["name"] for row in whole["found"]]
    assert {"Harbour book", "Hilde", "Odo Brand"} < set(names)


async def test_changes_of_all_spaces_continue_from_their_cursor() -> None:
    driver = await note_driver()
    first = await driver.call("changes", since="2020-01-01", limit=2)
    seen = list(first["changes"])
    while first["left"]:
        first = await driver.call("changes", since=first["cursor"], limit=2)
        seen += first["changes"]

    commits = [(row["space"], row["at"]) for row in seen]
    every = [
        (space, row["at"])
        for space in ("account", "Saltmere")
        for row in (await driver.call("changes", space=space, since="0", limit=50))["changes"]
    ]
    assert sorted(commits) == sorted(every)
    assert (await driver.call("changes", since=first["cursor"]))["cursor"] == first["cursor"]
    await driver.call("tell", text="Later.", space="Saltmere")
    new = await driver.call("changes", since=first["cursor"])
    assert spaces_in(new, "changes") == {"Saltmere"}
    assert {row["at"] for row in new["changes"]}.isdisjoint({at for _, at in commits})


async def test_a_write_goes_to_the_last_opened_or_used_space() -> None:
    driver = await note_driver(LastUsed())

    reply = await driver.call("tell", text="Ilsa sails.", title="Log")  # opened last
    assert await space_of(driver, reply["document"]) == "Saltmere"
    await driver.call("propose", claims=[HILDE | {"name": "Ann"}], space="account")
    reply = await driver.call("tell", text="Ann called.", title="Call")
    assert await space_of(driver, reply["document"]) == "account"
    await driver.call("open", name="saltmere")  # which is there already
    await driver.call("propose", claims=[{"kind": "fact", "says": "It rains"}], said="It rains.")
    assert await space_of(driver, "It rains") == "Saltmere"


async def test_evidence_and_ids_determine_their_space() -> None:
    driver = await note_driver(LastUsed())
    note = (await driver.call("get", of="Wifi"))["id"]
    book = await driver.call("get", of="Harbour book")
    lit = {"kind": "fact", "says": "The lamp burns whale oil"}

    for evidence in (book["id"], f"source:{book['id']}", "Harbour book"):
        await driver.call("get", of=note)  # the account was used last
        says = {**lit, "says": f"{lit['says']}, says {evidence}"}
        reply = await driver.call("propose", claims=[says | {"evidence": [evidence]}])
        assert reply["accepted"] == 1
        assert await space_of(driver, reply["verdicts"][0]["id"]) == "Saltmere"
    right = {"kind": "correction", "of": "Hilde", "field": "medication", "value": "apixaban"}
    assert (await driver.call("propose", claims=[right]))["accepted"] == 1
    hilde = await driver.call("get", of="Hilde")
    assert hilde["raw_fields"]["medication"]["value"] == "apixaban"


async def test_a_name_in_two_spaces_means_both_or_the_last_used_one() -> None:
    driver = await note_driver()
    await driver.call("propose", claims=[ODO | {"type": "person"}], space="account")

    error = await driver.refused("get", of="Odo Brand")
    assert error["details"]["reason"] == "name.ambiguous"
    assert all(
        any(each.endswith(f"in {space}") for each in error["details"]["candidates"])
        for space in ("account", "Saltmere")
    )
    guest = make_driver(beside=driver, last_used=LastUsed())
    await guest.call("find", text="light", space="Saltmere")
    got = await guest.call("get", of="Odo Brand")
    assert (got["space"], "account" in got["hint"]) == ("Saltmere", True)
    exact = await driver.call(
        "propose",
        claims=[ODO | {"name": "Odo", "same_as": "nobody"}],
        said="Odo.",
        space="Saltmere",
    )
    assert (await driver.call("get", of="Odo"))["id"] == exact["verdicts"][0]["id"]


async def test_a_retry_uses_the_space_of_the_first_try() -> None:
    driver = await note_driver(LastUsed())

    async def record_note(key: str) -> str:
        who = Principal(
            agent_id="solo", agent_type="Solo", authorities=None, last_used=driver.last_used
        )
        note = {"text": "A door creaks.", "title": "Door"}
        reply = await driver.gateway.call("tell", note, who, {KEY_META: key})
        return str(reply.body["document"])

    first = await record_note("k1")
    await driver.call("find", text="wifi", space="account")
    heads = await driver.heads()

    assert await record_note("k1") == first
    assert await driver.heads() == heads
    await driver.call("find", text="wifi", space="account")
    assert await record_note("k2") != first


async def test_a_scene_opens_in_the_current_space_despite_equal_titles() -> None:
    driver = await note_driver(LastUsed())
    turns = [{"by": "gm", "text": "It begins."}]
    first = await driver.call("tell", scene="Chapter 1", turns=turns)
    await driver.call("open", name="Other")

    second = await driver.call("tell", scene="Chapter 1", turns=turns)

    assert (second["opened"], second["scene"] != first["scene"]) == (True, True)
    assert await space_of(driver, second["scene"]) == "Other"


async def test_without_a_used_space_the_error_shows_the_call_to_send() -> None:
    driver = await note_driver()
    note = {"text": "It is late, and nobody has lit the lamp at Marrow tonight.", "title": "Late"}

    error = await driver.refused("tell", **note)

    assert error["details"]["reason"] == "space.ambiguous"
    call, other = error["details"]["calls"]
    assert call["tool"] == "tell"
    assert call["arguments"].keys() == {"text", "title", "space"}
    assert call["arguments"]["space"] != other["arguments"]["space"]
    await driver.call(call["tool"], **{**note, "space": call["arguments"]["space"]})


async def test_connections_and_principals_remember_separately() -> None:
    one = await note_driver(LastUsed())
    other = make_driver(beside=one, last_used=LastUsed())
    shared = LastUsed()
    ann = make_driver("Keeper", beside=one, user="ann", last_used=shared)
    bob = make_driver("Keeper", beside=one, user="bob", last_used=shared)
    for each in (other, ann, bob):
        await each.call("tell", text="Mine.", space="account")

    await one.call("find", text="light", space="Saltmere")
    await other.call("find", text="wifi", space="account")
    await ann.call("find", text="light", space="Saltmere")

    found = {
        name: await driver.call("tell", text=f"By {name}.", title=f"By {name}")
        for name, driver in (("one", one), ("other", other), ("ann", ann), ("bob", bob))
    }
    assert {name: "passages" in reply for name, reply in found.items()} == {
        "one": True,
        "other": False,
        "ann": True,
        "bob": False,
    }
    assert await space_of(bob, found["bob"]["document"]) == "account"


async def test_a_space_that_became_invisible_is_no_longer_the_default() -> None:
    owner = await note_driver()
    last_used = LastUsed()
    saltmere = next(
        row["id"] for row in (await owner.call("spaces"))["spaces"] if row["name"] == "Saltmere"
    )
    other = (await owner.call("open", name="Other"))["id"]
    both = frozenset({saltmere, other})
    ann = make_driver("Keeper", beside=owner, user="ann", spaces=both, last_used=last_used)
    await ann.call("find", text="light", space="Saltmere")
    less = make_driver(
        "Keeper", beside=owner, user="ann", spaces=frozenset({other}), last_used=last_used
    )

    assert (await less.call("find", text="light"))["found"] == []
    reply = await less.call("tell", text="New.", title="New")
    assert (await less.call("get", of=reply["document"]))["id"] == reply["document"]
    gone = await less.refused("get", of="Odo Brand")
    assert "Saltmere" not in str(gone)
