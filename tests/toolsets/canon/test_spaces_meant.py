"""Where a call goes that names no space: reads look everywhere, writes go on where one is."""

from typing import Any

import pytest

from canonry.canon.session.caller import LastUsed
from canonry.gateway.principal import KEY_META, Principal
from tests.toolsets.canon.kit import Desk, a_desk

pytestmark = pytest.mark.anyio
ODO = {"kind": "entity", "name": "Odo Brand", "type": "character"}
HILDE = {"kind": "entity", "name": "Hilde", "type": "person", "fields": {"medication": "warfarin"}}


async def trapped(last_used: LastUsed | None = None) -> Desk:
    """Somebody who told a note before they opened a space, and has things in both."""
    desk = a_desk(last_used=last_used)
    await desk.call("tell", text="The wifi password is swordfish.", title="Wifi")
    await desk.call("propose", claims=[HILDE], space="account")
    await desk.call("open", name="Saltmere")
    await desk.call("tell", text="Odo keeps the light.", title="Harbour book", space="Saltmere")
    claims = [ODO, {"kind": "fact", "says": "Odo Brand keeps the light"}]
    await desk.call("propose", claims=claims, evidence=["Harbour book"], space="Saltmere")
    return desk


async def where(desk: Desk, of: str) -> str:
    """The name of the space in which something lies."""
    space = (await desk.call("get", of=of, full=True))["space"]
    spaces = (await desk.call("spaces"))["spaces"]
    return next(str(row["name"]) for row in spaces if space in {row["id"], row["name"]})


def spaces_in(reply: dict[str, Any], key: str) -> set[str]:
    return {row["space"] for row in reply[key]}


async def test_n4_after_a_note_and_an_opened_space_no_read_asks_in_which_space() -> None:
    desk = await trapped()

    for text, space in (("swordfish", "account"), ("warfarin", "account"), ("light", "Saltmere")):
        found = (await desk.call("find", text=text))["found"]
        assert found[0]["space"] == space, (text, found)
    assert (await desk.call("get", of="Odo Brand"))["space"] == "Saltmere"
    assert (await desk.call("get", of="Hilde"))["space"] == "account"
    assert (await desk.call("why", of="Odo Brand keeps the light"))["space"] == "Saltmere"
    assert "swordfish" in (await desk.call("context", question="wifi password"))["brief"]
    assert "keeps the light" in (await desk.call("context", of="Odo"))["brief"]
    listed = await desk.call("find", kinds=["entity"])
    assert (spaces_in(listed, "found"), listed["total"]) == ({"account", "Saltmere"}, 3)
    assert spaces_in(await desk.call("changes"), "changes") == {"account", "Saltmere"}
    assert spaces_in(await desk.call("timeline"), "timeline") <= {"account", "Saltmere"}
    assert "duplicates" in await desk.call("review", what="duplicates")
    assert (await desk.call("review", what="pending"))["total"] == 0


async def test_n4_lists_of_several_spaces_are_paged_without_a_loss() -> None:
    desk = await trapped()
    names: list[str] = []
    cursor: str | None = "0"
    while cursor is not None:
        page = await desk.call("find", kinds=["entity", "document"], limit=1, cursor=cursor)
        names += [row["name"] for row in page["found"]]
        cursor = page.get("next")

    whole = await desk.call("find", kinds=["entity", "document"], limit=50)
    assert names == [row["name"] for row in whole["found"]]
    assert {"Harbour book", "Hilde", "Odo Brand"} < set(names)


async def test_n4_changes_of_all_spaces_go_on_from_their_cursor() -> None:
    desk = await trapped()
    first = await desk.call("changes", since="2020-01-01", limit=2)
    seen = list(first["changes"])
    while first["left"]:
        first = await desk.call("changes", since=first["cursor"], limit=2)
        seen += first["changes"]

    commits = [(row["space"], row["at"]) for row in seen]
    every = [
        (space, row["at"])
        for space in ("account", "Saltmere")
        for row in (await desk.call("changes", space=space, since="0", limit=50))["changes"]
    ]
    assert sorted(commits) == sorted(every)
    assert (await desk.call("changes", since=first["cursor"]))["cursor"] == first["cursor"]
    await desk.call("tell", text="Later.", space="Saltmere")
    new = await desk.call("changes", since=first["cursor"])
    assert spaces_in(new, "changes") == {"Saltmere"}
    assert {row["at"] for row in new["changes"]}.isdisjoint({at for _, at in commits})


async def test_n4_a_write_goes_to_the_space_that_the_connection_opened_or_used_last() -> None:
    desk = await trapped(LastUsed())

    told = await desk.call("tell", text="Ilsa sails.", title="Log")  # opened last
    assert await where(desk, told["document"]) == "Saltmere"
    await desk.call("propose", claims=[HILDE | {"name": "Ann"}], space="account")
    told = await desk.call("tell", text="Ann called.", title="Call")
    assert await where(desk, told["document"]) == "account"
    await desk.call("open", name="saltmere")  # which is there already
    await desk.call("propose", claims=[{"kind": "fact", "says": "It rains"}], said="It rains.")
    assert await where(desk, "It rains") == "Saltmere"


async def test_n4_evidence_and_ids_name_their_space_whichever_was_used_last() -> None:
    desk = await trapped(LastUsed())
    note = (await desk.call("get", of="Wifi"))["id"]
    book = await desk.call("get", of="Harbour book")
    lit = {"kind": "fact", "says": "The lamp burns whale oil"}

    for evidence in (book["id"], f"source:{book['id']}", "Harbour book"):
        await desk.call("get", of=note)  # the account was used last
        says = {**lit, "says": f"{lit['says']}, says {evidence}"}
        reply = await desk.call("propose", claims=[says | {"evidence": [evidence]}])
        assert reply["accepted"] == 1
        assert await where(desk, reply["verdicts"][0]["id"]) == "Saltmere"
    right = {"kind": "correction", "of": "Hilde", "field": "medication", "value": "apixaban"}
    assert (await desk.call("propose", claims=[right]))["accepted"] == 1
    hilde = await desk.call("get", of="Hilde")
    assert hilde["raw_fields"]["medication"]["value"] == "apixaban"


async def test_n4_a_name_in_two_spaces_names_both_or_the_one_used_last() -> None:
    desk = await trapped()
    await desk.call("propose", claims=[ODO | {"type": "person"}], space="account")

    error = await desk.refused("get", of="Odo Brand")
    assert error["details"]["reason"] == "name.ambiguous"
    assert all(
        any(each.endswith(f"in {space}") for each in error["details"]["candidates"])
        for space in ("account", "Saltmere")
    )
    guest = a_desk(beside=desk, last_used=LastUsed())
    await guest.call("find", text="light", space="Saltmere")
    got = await guest.call("get", of="Odo Brand")
    assert (got["space"], "account" in got["hint"]) == ("Saltmere", True)
    exact = await desk.call(
        "propose",
        claims=[ODO | {"name": "Odo", "same_as": "nobody"}],
        said="Odo.",
        space="Saltmere",
    )
    assert (await desk.call("get", of="Odo"))["id"] == exact["verdicts"][0]["id"]


async def test_n4_a_retry_means_the_space_of_the_first_try_whatever_came_between() -> None:
    desk = await trapped(LastUsed())

    async def told(key: str) -> str:
        who = Principal(
            agent_id="solo", agent_type="Solo", authorities=None, last_used=desk.last_used
        )
        note = {"text": "A door creaks.", "title": "Door"}
        reply = await desk.gateway.call("tell", note, who, {KEY_META: key})
        return str(reply.body["document"])

    first = await told("k1")
    await desk.call("find", text="wifi", space="account")
    heads = await desk.heads()

    assert await told("k1") == first
    assert await desk.heads() == heads
    await desk.call("find", text="wifi", space="account")
    assert await told("k2") != first


async def test_n4_a_scene_is_opened_where_one_is_and_not_where_its_title_is_known() -> None:
    desk = await trapped(LastUsed())
    turns = [{"by": "gm", "text": "It begins."}]
    first = await desk.call("tell", scene="Chapter 1", turns=turns)
    await desk.call("open", name="Other")

    second = await desk.call("tell", scene="Chapter 1", turns=turns)

    assert (second["opened"], second["scene"] != first["scene"]) == (True, True)
    assert await where(desk, second["scene"]) == "Other"


async def test_n4_without_a_space_used_before_the_error_is_the_call_to_send() -> None:
    desk = await trapped()
    note = {"text": "It is late, and nobody has lit the lamp at Marrow tonight.", "title": "Late"}

    error = await desk.refused("tell", **note)

    assert error["details"]["reason"] == "space.ambiguous"
    call, other = error["details"]["calls"]
    assert call["tool"] == "tell"
    assert call["arguments"].keys() == {"text", "title", "space"}
    assert call["arguments"]["space"] != other["arguments"]["space"]
    await desk.call(call["tool"], **{**note, "space": call["arguments"]["space"]})


async def test_n4_connections_and_principals_remember_for_themselves() -> None:
    one = await trapped(LastUsed())
    other = a_desk(beside=one, last_used=LastUsed())
    shared = LastUsed()
    ann = a_desk("Keeper", beside=one, user="ann", last_used=shared)
    bob = a_desk("Keeper", beside=one, user="bob", last_used=shared)
    for each in (other, ann, bob):
        await each.call("tell", text="Mine.", space="account")

    await one.call("find", text="light", space="Saltmere")
    await other.call("find", text="wifi", space="account")
    await ann.call("find", text="light", space="Saltmere")

    told = {
        name: await desk.call("tell", text=f"By {name}.", title=f"By {name}")
        for name, desk in (("one", one), ("other", other), ("ann", ann), ("bob", bob))
    }
    assert {name: "passages" in reply for name, reply in told.items()} == {
        "one": True,
        "other": False,
        "ann": True,
        "bob": False,
    }
    assert await where(bob, told["bob"]["document"]) == "account"


async def test_n4_a_space_that_one_may_no_longer_see_is_not_meant_any_more() -> None:
    owner = await trapped()
    last_used = LastUsed()
    saltmere = next(
        row["id"] for row in (await owner.call("spaces"))["spaces"] if row["name"] == "Saltmere"
    )
    other = (await owner.call("open", name="Other"))["id"]
    both = frozenset({saltmere, other})
    ann = a_desk("Keeper", beside=owner, user="ann", spaces=both, last_used=last_used)
    await ann.call("find", text="light", space="Saltmere")
    less = a_desk(
        "Keeper", beside=owner, user="ann", spaces=frozenset({other}), last_used=last_used
    )

    assert (await less.call("find", text="light"))["found"] == []
    told = await less.call("tell", text="New.", title="New")
    assert (await less.call("get", of=told["document"]))["id"] == told["document"]
    gone = await less.refused("get", of="Odo Brand")
    assert "Saltmere" not in str(gone)
