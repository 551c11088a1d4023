"""The verdict `undo`: the last call is taken back as if it had not been made, and can be redone."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from mcp import Client

from canonry.app.embedded import Embedded, open_embedded
from canonry.assistant import CANON
from canonry.canon.maintenance.erase import erase_items, plan_erasure
from canonry.canon.maintenance.log_transfer import verify_store
from canonry.gateway.call import Gateway
from canonry.gateway.principal import KEY_META, Principal
from canonry.gateway.replies import Result
from canonry.log.commits import ORIGIN
from canonry.narrative.toolset import NARRATIVE
from canonry.testing.clocks import HandClock, a_caller
from canonry.values.ids import SpaceId
from tests.said import said
from tests.toolsets.canon.kit import Desk, a_desk
from tests.toolsets.canon.playing import at_the_desk

pytestmark = pytest.mark.anyio

MORE: list[dict[str, Any]] = [
    {"kind": "entity", "name": "Zed Kay", "type": "character", "tags": ["alive"]},
    {"kind": "entity", "name": "Inn", "type": "location"},
    {"kind": "entity", "name": "The Inn of Marrow", "type": "location"},
    {"kind": "fact", "says": "Odo Brand is a member of the Guild", "about": ["Odo Brand"]},
    {"kind": "event", "says": "The bell rang", "who": ["Zed Kay"], "when": "1410-01-01"},
    {"kind": "fact", "says": "Ilsa Vane is a spy", "about": ["Ilsa Vane"], "for": ["gm"]},
]


async def a_town(desk: Desk | None = None) -> tuple[Desk, SpaceId]:
    """A desk with people, places, an event and a secret."""
    desk = desk or a_desk()
    space = SpaceId(await desk.saltmere())
    for claim in MORE:
        await desk.call(
            "propose", claims=[claim], said=f"It is told of {claim.get('name', 'all')}."
        )
    turn = {"by": "gm", "text": "The lamp burns."}
    await desk.call("tell", scene="At night", place="Inn", turns=[turn])
    return desk, space


async def all_of(desk: Desk, **then: Any) -> dict[str, Any]:
    """The replies of every read about everything."""
    names = [one["name"] for one in MORE if "name" in one]
    found: dict[str, Any] = {}
    for name in ("Odo Brand", "Ilsa Vane", "Marrow Lighthouse", *names, "At night"):
        found[name] = (await desk.outcome("get", {"of": name, "full": True, **then})).text
    found["events"] = await desk.call("timeline", limit=50, **then)
    hits = (await desk.call("find", text="Odo Brand Guild bell", limit=50, **then))["found"]
    return found | {one["id"]: one for one in hits if one.get("level") != "retconned"}


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[Any]:
    """The replies that differ in two sets of reads."""
    return [(n, one[n], other.get(n)) for n in one if one[n] != other.get(n)]


async def id_of(desk: Desk, says: str) -> str:
    found = await desk.call("find", text=says, limit=20)
    return next(str(one["id"]) for one in found["found"] if one.get("says", "").startswith(says))


def claim(**members: Any) -> tuple[str, dict[str, Any]]:
    return "propose", {"claims": [members], "said": "So it is told."}


CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "a fact that ends another": claim(
        kind="fact", says="Odo Brand is no longer a member of the Guild"
    ),
    "a relation that ends another": claim(
        kind="relation", **{"from": "Odo Brand"}, type="LOCATED_IN", to="Inn"
    ),
    "a death in words": claim(kind="fact", says="Zed Kay killed Odo Brand"),
    "a state": claim(kind="state", of="Ilsa Vane", tags=["dead"]),
    "a secret state": claim(kind="state", of="Ilsa Vane", tags=["dead"], **{"for": ["gm"]}),
    "a secret move": claim(
        kind="relation", **{"from": "Odo Brand", "for": ["gm"]}, type="LOCATED_IN", to="Inn"
    ),
    "an event": claim(kind="event", says="The bell broke", who=["Zed Kay"], when="1411-01-01"),
    "an entity": claim(kind="entity", name="Tib", type="character"),
    "evidence for what is known": claim(kind="fact", says="Odo Brand is a member of the Guild"),
    "a corrected field": claim(
        kind="correction", of="Odo Brand", field="description", value="Old", says="He is old."
    ),
    "a corrected name": claim(
        kind="correction", of="Odo Brand", field="name", value="Odo Brant", says="A slip."
    ),
    "a corrected fact": claim(
        kind="correction",
        of="fact:Odo Brand is a",
        value="Odo Brand is a member of the Watch",
        says="No.",
    ),
    "a retcon": ("decide", {"verdict": "retcon", "of": ["fact:Odo Brand is a"], "reason": "No."}),
    "a retconned event": (
        "decide",
        {"verdict": "retcon", "of": ["fact:The bell"], "reason": "No."},
    ),
    "a retconned entity": ("decide", {"verdict": "retcon", "of": ["Zed Kay"], "reason": "No."}),
    "a merge": ("decide", {"verdict": "merge", "of": ["Inn", "The Inn of Marrow"]}),
    "two that are apart": ("decide", {"verdict": "separate", "of": ["Inn", "The Inn of Marrow"]}),
    "an end": ("decide", {"verdict": "end", "of": ["fact:Odo Brand located"]}),
    "a secret told": (
        "decide",
        {"verdict": "reveal", "of": ["fact:Ilsa Vane is a"], "reason": "Out."},
    ),
    "turns": ("tell", {"scene": "At night", "turns": [{"by": "gm", "text": "It is dark."}]}),
    "a new scene": (
        "tell",
        {"scene": "By day", "turns": [{"by": "gm", "text": "It is light."}] * 2},
    ),
    "a claimed merge": claim(
        kind="merge", **{"from": "The Inn of Marrow"}, to="Inn", says="They are one."
    ),
    "a claimed retcon": claim(kind="retcon", of="fact:Odo Brand is a", says="It is wrong."),
    "an entity with its dependents": (
        "decide",
        {"verdict": "retcon", "of": ["Zed Kay"], "reason": "No.", "along": True},
    ),
    "claims of which one is secret": (
        "propose",
        {
            "claims": [
                {"kind": "fact", "says": "Odo Brand owns a cat"},
                {"kind": "state", "of": "Odo Brand", "tags": ["dead"], "for": ["gm"]},
            ],
            "said": "He owns a cat.",
        },
    ),
    "an earlier relation": claim(
        kind="relation", **{"from": "Odo Brand"}, type="LOCATED_IN", to="Inn", when="1400-01-01"
    ),
    "a closed scene": ("tell", {"scene": "At night", "end_scene": "They sleep."}),
    "a document": ("tell", {"title": "Letter", "text": "The lighthouse is mine."}),
}


RETCONNED = {"a retconned entity", "an entity with its dependents"}


async def called(desk: Desk, call: str) -> dict[str, Any]:
    tool, arguments = CALLS[call]

    async def named(value: Any) -> Any:
        if isinstance(value, str) and value.startswith("fact:"):
            return await id_of(desk, value.removeprefix("fact:"))
        if isinstance(value, list):
            return [await named(one) for one in value]
        return {n: await named(e) for n, e in value.items()} if isinstance(value, dict) else value

    return await desk.call(tool, **await named(arguments))


@pytest.mark.parametrize("call", CALLS)
async def test_an_undone_call_leaves_no_trace_in_any_read_and_can_be_done_again(call: str) -> None:
    desk, space = await a_town()
    before = await all_of(desk)
    await called(desk, call)
    after, head = await all_of(desk), str(await desk.canon.ledger.head_position(space))
    known = await all_of(desk, as_known_at=head)

    undone = await desk.call("decide", verdict="undo", reason="I misheard it.")
    assert not differences(await all_of(desk), before)
    if call not in RETCONNED:  # a name finds those again
        assert not differences(await all_of(desk, as_known_at=head), known)
    redone = await desk.call("decide", verdict="undo", of=[undone["id"]])
    if CALLS[call][0] == "tell":  # the words are recorded again, at a later time
        assert redone["note"].startswith("Done again: ")
        return
    assert not differences(await all_of(desk), after)
    assert redone["note"].startswith(("Took back: ", "Done again: ", "Holds again: "))
    await desk.call("decide", verdict="undo")
    assert not differences(await all_of(desk), before)
    if call not in RETCONNED:
        assert not differences(await all_of(desk, as_known_at=head), known)


async def undo(desk: Desk, **more: Any) -> dict[str, Any]:
    return await desk.call("decide", verdict="undo", **more)


async def test_a_second_undo_takes_the_call_before_and_an_undone_undo_counts_as_a_call() -> None:
    desk, _ = await a_town()
    first = await all_of(desk)
    await called(desk, "a state")
    second = await all_of(desk)
    await called(desk, "an event")

    last = await undo(desk)
    assert not differences(await all_of(desk), second)
    await undo(desk)
    assert not differences(await all_of(desk), first)
    await undo(desk, of=[last["id"]])
    assert "The bell broke" in (await undo(desk))["note"]
    assert not differences(await all_of(desk), first)


async def test_the_reply_says_first_what_was_taken_back_and_what_holds_again() -> None:
    desk, _ = await a_town()
    await called(desk, "a relation that ends another")

    reply = await undo(desk)

    back = (
        "Took back: Odo Brand located in Inn; 1 passage. "
        "Holds again: Odo Brand located in Marrow Lighthouse."
    )
    assert next(iter(reply)) == "note"
    assert reply["note"] == back


@pytest.mark.parametrize(
    "later",
    [
        {"kind": "fact", "says": "Tib mends nets", "about": ["Tib"]},
        {"kind": "relation", "from": "Tib", "type": "LOCATED_IN", "to": "Inn"},
        {"kind": "state", "of": "Tib", "tags": ["wounded"]},
    ],
)
async def test_what_rests_on_a_call_is_named_and_the_call_stays(later: dict[str, Any]) -> None:
    desk, _ = await a_town()
    await called(desk, "an entity")
    other = a_desk("Keeper", desk)
    await other.call("propose", claims=[later], said="And so on.", space="Saltmere")

    error = await desk.refused("decide", verdict="undo")

    assert error["details"]["reason"] == "undo.rests-on"
    assert "Tib" in error["message"]
    await other.call("decide", verdict="undo", space="Saltmere")
    assert "Tib" in (await undo(desk))["note"]


async def test_only_the_callers_own_call_in_that_space_is_undone() -> None:
    desk, _ = await a_town()
    await called(desk, "a state")
    await desk.call("open", name="Elsewhere", about="Another space")
    stranger = a_desk("Keeper", desk)

    error = await stranger.refused("decide", verdict="undo", space="Saltmere")
    assert error["details"]["reason"] == "undo.nothing"
    error = await desk.refused("decide", verdict="undo", space="Elsewhere")
    assert error["details"]["reason"] == "undo.nothing"
    role = await a_desk("Contributor", desk).refused("decide", verdict="undo", space="Saltmere")
    assert role["code"] == "NOT_ALLOWED"
    assert "Ilsa Vane is dead" in (await undo(desk, space="Saltmere"))["note"]


async def test_a_retry_of_an_undo_returns_the_same_reply_and_undoes_nothing_more() -> None:
    desk, _ = await a_town()
    await called(desk, "a state")
    await called(desk, "an event")
    principal = Principal(agent_id="solo", agent_type="Solo", authorities=None)

    async def again() -> Result:
        arguments = {"verdict": "undo", "space": "Saltmere"}
        return await desk.gateway.call("decide", arguments, principal, {KEY_META: "k1"})

    first = await again()
    assert (await again()).body == first.body
    assert "The bell broke" in first.text
    assert (await desk.call("get", of="Ilsa Vane"))["tags"] == ["dead"]


async def test_a_decided_proposal_waits_again_and_can_be_decided_once_more() -> None:
    desk, _ = await a_town()
    asked = a_desk("Contributor", desk)
    claims = [{"kind": "state", "of": "Ilsa Vane", "tags": ["dead"]}]
    (row,) = (await asked.call("propose", claims=claims, said="So.", space="Saltmere"))["verdicts"]
    before = await all_of(desk)
    for _ in range(2):
        listed = (await desk.call("review", what="pending"))["waiting"]
        assert row["proposal"] in [one["id"] for one in listed]
        done = await desk.call("decide", verdict="accept", of=[row["proposal"]], reason="It is.")
        assert done["verdicts"][0]["verdict"] == "accepted"
        assert (await desk.call("get", of="Ilsa Vane"))["tags"] == ["dead"]
        await undo(desk)
        assert not differences(await all_of(desk), before)


async def test_a_document_told_again_after_an_undo_is_there_again() -> None:
    desk, _ = await a_town()
    for _ in range(3):
        told = await desk.call("tell", title="Letter", text="The lighthouse is mine.")
        assert len(told["passages"]) == 1
        assert "1 passage" in (await undo(desk))["note"]
        found = await desk.call("find", text="lighthouse is mine", limit=20)
        assert not any("is mine" in str(one) for one in found["found"])


async def test_records_of_an_account_are_withdrawn_and_told_again() -> None:
    desk = a_desk()
    await desk.call("tell", space="account", records=[{"type": "person", "name": "Ann Lee"}])
    before = await desk.call("get", of="Ann Lee", space="account")
    record = {"type": "company", "name": "Lee Boats", "city": "Marrow"}
    await desk.call("tell", space="account", records=[record])
    after = await desk.call("get", of="Lee Boats", space="account")
    undone = await undo(desk, space="account")
    assert (await desk.outcome("get", {"of": "Lee Boats", "space": "account"})).error is not None
    await undo(desk, space="account", of=[undone["id"]])
    assert (await desk.call("get", of="Lee Boats", space="account"))["name"] == after["name"]
    claims = [{"kind": "correction", "of": "Ann Lee", "field": "city", "value": "Marrow"}]
    await desk.call("propose", space="account", claims=claims)
    await undo(desk, space="account")
    assert await desk.call("get", of="Ann Lee", space="account") == before


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Embedded]:
    opened = await open_embedded(tmp_path)
    yield opened
    await opened.close()


async def test_a_store_with_undone_calls_verifies_and_erasing_reaches_what_they_recorded(
    store: Embedded, tmp_path: Path
) -> None:
    clock, gateway = HandClock(), Gateway(store.canon, [CANON, NARRATIVE])
    desk, space = await a_town(Desk(store.canon, gateway, clock))
    for call in CALLS:
        await called(desk, call)
        undone = await undo(desk)
        await undo(desk, of=[undone["id"]])
        await undo(desk)
    await desk.call(
        "tell", scene="At night", turns=[{"by": "Ilsa Vane", "text": "I fear the sea."}]
    )
    await undo(desk)
    verification = await verify_store(store.canon.ledger, store.maintenance, lambda *_: None)
    assert not verification.findings

    ilsa = (await desk.call("get", of="Ilsa Vane"))["id"]
    plan = await plan_erasure(store.canon, "entity", ilsa, with_mentions=True)
    await erase_items(store.canon, store.maintenance, a_caller(), plan, reason="asked for")

    commits = await store.canon.ledger.read_commits(space, after=ORIGIN, limit=500)
    told = [str(each) for commit in commits for each in commit.entries]
    assert not [each for each in told if "I fear" in each or "Ilsa" in each]
    for commit in commits[::5]:  # nor is it in an earlier state
        then = await all_of(desk, as_known_at=str(commit.position))
        assert "I fear" not in str(then)
    assert not (await verify_store(store.canon.ledger, store.maintenance, lambda *_: None)).findings


async def test_over_stdio_another_process_undoes_after_a_kill_and_two_undo_two_calls(
    tmp_path: Path,
) -> None:
    people = [{"kind": "entity", "name": name, "type": "character"} for name in ("Ann", "Bea")]
    async with at_the_desk(tmp_path) as client, at_the_desk(tmp_path) as other:
        await client.call_tool("open", {"name": "Home"})
        for one in people:
            await client.call_tool("propose", {"claims": [one], "said": "She is here."})
        told: list[str] = []

        async def undone(by: Client) -> None:
            reply = await by.call_tool("decide", {"verdict": "undo", "space": "Home"})
            told.append(said(cast("Any", reply))["note"])

        async with anyio.create_task_group() as group:
            group.start_soon(undone, client)
            group.start_soon(undone, other)
    assert sorted(told) == ["Took back: Ann; 1 passage.", "Took back: Bea."]
    async with at_the_desk(tmp_path) as client:
        refused: Any = await client.call_tool("decide", {"verdict": "undo", "space": "Home"})
    assert "You have no call here" in refused.content[0].text


async def test_readers_of_less_notice_neither_a_secret_call_nor_its_undo() -> None:
    desk, _ = await a_town()
    player = a_desk("Contributor", desk, user="u1")

    async def read() -> dict[str, Any]:
        changes = await player.call("changes", space="Saltmere", limit=50)
        return {**await all_of(player), "changes": changes["changes"]}

    before = await read()
    for call in ("a secret state", "a secret move"):
        await called(desk, call)
        undone = await undo(desk)
        assert not differences(await read(), before)
        await undo(desk, of=[undone["id"]])
        assert not differences(await read(), before)


async def test_merges_and_separations_of_an_account_are_undone_and_done_again() -> None:
    desk = a_desk()
    people = [{"type": "person", "name": name} for name in ("Ann Lee", "Anna Lee")]
    await desk.call("tell", space="account", records=people)

    async def read() -> list[str]:
        asked = {"space": "account", "full": True}
        return [(await desk.outcome("get", {"of": one["name"], **asked})).text for one in people]

    before = await read()
    for verdict in ("merge", "separate"):
        of = [one["name"] for one in people]
        await desk.call("decide", verdict=verdict, of=of, space="account")
        after = await read()
        undone = await undo(desk, space="account")
        assert await read() == before
        await undo(desk, of=[undone["id"]], space="account")
        assert await read() == after
        await undo(desk, space="account")
        assert await read() == before
