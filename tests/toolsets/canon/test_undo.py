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
from tests.replies import parse_result
from tests.toolsets.canon.kit import ToolDriver, make_driver
from tests.toolsets.canon.playing import connect_over_stdio

pytestmark = pytest.mark.anyio

MORE: list[dict[str, Any]] = [
    {"kind": "entity", "name": "Zed Kay", "type": "character", "tags": ["alive"]},
    {"kind": "entity", "name": "Inn", "type": "location"},
    {"kind": "entity", "name": "The Inn of Marrow", "type": "location"},
    {"kind": "fact", "says": "Odo Brand is a member of the Guild", "about": ["Odo Brand"]},
    {"kind": "event", "says": "The bell rang", "who": ["Zed Kay"], "when": "1410-01-01"},
    {"kind": "fact", "says": "Ilsa Vane is a spy", "about": ["Ilsa Vane"], "for": ["gm"]},
]


async def a_town(driver: ToolDriver | None = None) -> tuple[ToolDriver, SpaceId]:
    """A driver with people, places, an event and a secret."""
    driver = driver or make_driver()
    space = SpaceId(await driver.saltmere())
    for claim in MORE:
        await driver.call(
            "propose", claims=[claim], said=f"It is told of {claim.get('name', 'all')}."
        )
    turn = {"by": "gm", "text": "The lamp burns."}
    await driver.call("tell", scene="At night", place="Inn", turns=[turn])
    return driver, space


async def all_of(driver: ToolDriver, **then: Any) -> dict[str, Any]:
    """The replies of every read about everything."""
    names = [one["name"] for one in MORE if "name" in one]
    found: dict[str, Any] = {}
    for name in ("Odo Brand", "Ilsa Vane", "Marrow Lighthouse", *names, "At night"):
        found[name] = (await driver.outcome("get", {"of": name, "full": True, **then})).text
    found["events"] = await driver.call("timeline", limit=50, **then)
    hits = (await driver.call("find", text="Odo Brand Guild bell", limit=50, **then))["found"]
    return found | {one["id"]: one for one in hits if one.get("level") != "retconned"}


def differing_replies(one: dict[str, Any], other: dict[str, Any]) -> list[Any]:
    """The replies that differ in two sets of reads."""
    return [(n, one[n], other.get(n)) for n in one if one[n] != other.get(n)]


async def id_of(driver: ToolDriver, says: str) -> str:
    found = await driver.call("find", text=says, limit=20)
    return next(str(one["id"]) for one in found["found"] if one.get("says", "").startswith(says))


def claim_call(**members: Any) -> tuple[str, dict[str, Any]]:
    return "propose", {"claims": [members], "said": "So it is told."}


CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "a fact that ends another": claim_call(
        kind="fact", says="Odo Brand is no longer a member of the Guild"
    ),
    "a relation that ends another": claim_call(
        kind="relation", **{"from": "Odo Brand"}, type="LOCATED_IN", to="Inn"
    ),
    "a death in words": claim_call(kind="fact", says="Zed Kay killed Odo Brand"),
    "a state": claim_call(kind="state", of="Ilsa Vane", tags=["dead"]),
    "a secret state": claim_call(kind="state", of="Ilsa Vane", tags=["dead"], **{"for": ["gm"]}),
    "a secret move": claim_call(
        kind="relation", **{"from": "Odo Brand", "for": ["gm"]}, type="LOCATED_IN", to="Inn"
    ),
    "an event": claim_call(kind="event", says="The bell broke", who=["Zed Kay"], when="1411-01-01"),
    "an entity": claim_call(kind="entity", name="Tib", type="character"),
    "evidence for what is known": claim_call(
        kind="fact", says="Odo Brand is a member of the Guild"
    ),
    "a corrected field": claim_call(
        kind="correction", of="Odo Brand", field="description", value="Old", says="He is old."
    ),
    "a corrected name": claim_call(
        kind="correction", of="Odo Brand", field="name", value="Odo Brant", says="A slip."
    ),
    "a corrected fact": claim_call(
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
    "a claimed merge": claim_call(
        kind="merge", **{"from": "The Inn of Marrow"}, to="Inn", says="They are one."
    ),
    "a claimed retcon": claim_call(kind="retcon", of="fact:Odo Brand is a", says="It is wrong."),
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
    "an earlier relation": claim_call(
        kind="relation", **{"from": "Odo Brand"}, type="LOCATED_IN", to="Inn", when="1400-01-01"
    ),
    "a closed scene": ("tell", {"scene": "At night", "end_scene": "They sleep."}),
    "a document": ("tell", {"title": "Letter", "text": "The lighthouse is mine."}),
}


RETCONNED = {"a retconned entity", "an entity with its dependents"}


async def call_verb(driver: ToolDriver, call: str) -> dict[str, Any]:
    tool, arguments = CALLS[call]

    async def named(value: Any) -> Any:
        if isinstance(value, str) and value.startswith("fact:"):
            return await id_of(driver, value.removeprefix("fact:"))
        if isinstance(value, list):
            return [await named(one) for one in value]
        return {n: await named(e) for n, e in value.items()} if isinstance(value, dict) else value

    return await driver.call(tool, **await named(arguments))


@pytest.mark.parametrize("call", CALLS)
async def test_an_undone_call_leaves_no_trace_in_reads_and_can_be_repeated(call: str) -> None:
    driver, space = await a_town()
    before = await all_of(driver)
    await call_verb(driver, call)
    after, head = await all_of(driver), str(await driver.canon.ledger.head_position(space))
    known = await all_of(driver, as_known_at=head)

    undone = await driver.call("decide", verdict="undo", reason="I misheard it.")
    assert not differing_replies(await all_of(driver), before)
    if call not in RETCONNED:  # a name finds those again
        assert not differing_replies(await all_of(driver, as_known_at=head), known)
    redone = await driver.call("decide", verdict="undo", of=[undone["id"]])
    if CALLS[call][0] == "tell":  # the words are recorded again, at a later time
        assert redone["note"].startswith("Done again: ")
        return
    assert not differing_replies(await all_of(driver), after)
    assert redone["note"].startswith(("Took back: ", "Done again: ", "Holds again: "))
    await driver.call("decide", verdict="undo")
    assert not differing_replies(await all_of(driver), before)
    if call not in RETCONNED:
        assert not differing_replies(await all_of(driver, as_known_at=head), known)


async def undo_last(driver: ToolDriver, **more: Any) -> dict[str, Any]:
    return await driver.call("decide", verdict="undo", **more)


async def test_a_second_undo_removes_the_previous_call() -> None:
    driver, _ = await a_town()
    first = await all_of(driver)
    await call_verb(driver, "a state")
    second = await all_of(driver)
    await call_verb(driver, "an event")

    last = await undo_last(driver)
    assert not differing_replies(await all_of(driver), second)
    await undo_last(driver)
    assert not differing_replies(await all_of(driver), first)
    await undo_last(driver, of=[last["id"]])
    assert "The bell broke" in (await undo_last(driver))["note"]
    assert not differing_replies(await all_of(driver), first)


async def test_the_reply_first_names_retracted_and_restored_items() -> None:
    driver, _ = await a_town()
    await call_verb(driver, "a relation that ends another")

    reply = await undo_last(driver)

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
async def test_dependents_of_a_call_are_named_and_the_call_stays(later: dict[str, Any]) -> None:
    driver, _ = await a_town()
    await call_verb(driver, "an entity")
    other = make_driver("Keeper", driver)
    await other.call("propose", claims=[later], said="And so on.", space="Saltmere")

    error = await driver.refused("decide", verdict="undo")

    assert error["details"]["reason"] == "undo.rests-on"
    assert "Tib" in error["message"]
    await other.call("decide", verdict="undo", space="Saltmere")
    assert "Tib" in (await undo_last(driver))["note"]


async def test_only_the_callers_own_call_in_that_space_is_undone() -> None:
    driver, _ = await a_town()
    await call_verb(driver, "a state")
    await driver.call("open", name="Elsewhere", about="Another space")
    stranger = make_driver("Keeper", driver)

    error = await stranger.refused("decide", verdict="undo", space="Saltmere")
    assert error["details"]["reason"] == "undo.nothing"
    error = await driver.refused("decide", verdict="undo", space="Elsewhere")
    assert error["details"]["reason"] == "undo.nothing"
    role = await make_driver("Contributor", driver).refused(
        "decide", verdict="undo", space="Saltmere"
    )
    assert role["code"] == "NOT_ALLOWED"
    assert "Ilsa Vane is dead" in (await undo_last(driver, space="Saltmere"))["note"]


async def test_a_retried_undo_returns_the_same_reply_and_undoes_nothing_more() -> None:
    driver, _ = await a_town()
    await call_verb(driver, "a state")
    await call_verb(driver, "an event")
    principal = Principal(agent_id="solo", agent_type="Solo", authorities=None)

    async def again() -> Result:
        arguments = {"verdict": "undo", "space": "Saltmere"}
        return await driver.gateway.call("decide", arguments, principal, {KEY_META: "k1"})

    first = await again()
    assert (await again()).body == first.body
    assert "The bell broke" in first.text
    assert (await driver.call("get", of="Ilsa Vane"))["tags"] == ["dead"]


async def test_a_decided_proposal_waits_again_and_can_be_decided_again() -> None:
    driver, _ = await a_town()
    asked = make_driver("Contributor", driver)
    claims = [{"kind": "state", "of": "Ilsa Vane", "tags": ["dead"]}]
    (row,) = (await asked.call("propose", claims=claims, said="So.", space="Saltmere"))["verdicts"]
    before = await all_of(driver)
    for _ in range(2):
        listed = (await driver.call("review", what="pending"))["waiting"]
        assert row["proposal"] in [one["id"] for one in listed]
        done = await driver.call("decide", verdict="accept", of=[row["proposal"]], reason="It is.")
        assert done["verdicts"][0]["verdict"] == "accepted"
        assert (await driver.call("get", of="Ilsa Vane"))["tags"] == ["dead"]
        await undo_last(driver)
        assert not differing_replies(await all_of(driver), before)


async def test_a_document_recorded_again_after_an_undo_exists_again() -> None:
    driver, _ = await a_town()
    for _ in range(3):
        reply = await driver.call("tell", title="Letter", text="The lighthouse is mine.")
        assert len(reply["passages"]) == 1
        assert "1 passage" in (await undo_last(driver))["note"]
        found = await driver.call("find", text="lighthouse is mine", limit=20)
        assert not any("is mine" in str(one) for one in found["found"])


async def test_account_records_are_withdrawn_and_recorded_again() -> None:
    driver = make_driver()
    await driver.call("tell", space="account", records=[{"type": "person", "name": "Ann Lee"}])
    before = await driver.call("get", of="Ann Lee", space="account")
    record = {"type": "company", "name": "Lee Boats", "city": "Marrow"}
    await driver.call("tell", space="account", records=[record])
    after = await driver.call("get", of="Lee Boats", space="account")
    undone = await undo_last(driver, space="account")
    assert (await driver.outcome("get", {"of": "Lee Boats", "space": "account"})).error is not None
    await undo_last(driver, space="account", of=[undone["id"]])
    assert (await driver.call("get", of="Lee Boats", space="account"))["name"] == after["name"]
    claims = [{"kind": "correction", "of": "Ann Lee", "field": "city", "value": "Marrow"}]
    await driver.call("propose", space="account", claims=claims)
    await undo_last(driver, space="account")
    assert await driver.call("get", of="Ann Lee", space="account") == before


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Embedded]:
    opened = await open_embedded(tmp_path)
    yield opened
    await opened.close()


async def test_a_store_with_undone_calls_verifies_and_erases_their_records(
    store: Embedded, tmp_path: Path
) -> None:
    clock, gateway = HandClock(), Gateway(store.canon, [CANON, NARRATIVE])
    driver, space = await a_town(ToolDriver(store.canon, gateway, clock))
    for call in CALLS:
        await call_verb(driver, call)
        undone = await undo_last(driver)
        await undo_last(driver, of=[undone["id"]])
        await undo_last(driver)
    await driver.call(
        "tell", scene="At night", turns=[{"by": "Ilsa Vane", "text": "I fear the sea."}]
    )
    await undo_last(driver)
    verification = await verify_store(store.canon.ledger, store.maintenance, lambda *_: None)
    assert not verification.findings

    ilsa = (await driver.call("get", of="Ilsa Vane"))["id"]
    plan = await plan_erasure(store.canon, "entity", ilsa, with_mentions=True)
    await erase_items(store.canon, store.maintenance, a_caller(), plan, reason="asked for")

    commits = await store.canon.ledger.read_commits(space, after=ORIGIN, limit=500)
    found = [str(each) for commit in commits for each in commit.entries]
    assert not [each for each in found if "I fear" in each or "Ilsa" in each]
    for commit in commits[::5]:  # nor is it in an earlier state
        then = await all_of(driver, as_known_at=str(commit.position))
        assert "I fear" not in str(then)
    assert not (await verify_store(store.canon.ledger, store.maintenance, lambda *_: None)).findings


async def test_over_stdio_another_process_undoes_after_a_kill(
    tmp_path: Path,
) -> None:
    people = [{"kind": "entity", "name": name, "type": "character"} for name in ("Ann", "Bea")]
    async with connect_over_stdio(tmp_path) as client, connect_over_stdio(tmp_path) as other:
        await client.call_tool("open", {"name": "Home"})
        for one in people:
            await client.call_tool("propose", {"claims": [one], "said": "She is here."})
        found: list[str] = []

        async def undone(by: Client) -> None:
            reply = await by.call_tool("decide", {"verdict": "undo", "space": "Home"})
            found.append(parse_result(cast("Any", reply))["note"])

        async with anyio.create_task_group() as group:
            group.start_soon(undone, client)
            group.start_soon(undone, other)
    assert sorted(found) == ["Took back: Ann; 1 passage.", "Took back: Bea."]
    async with connect_over_stdio(tmp_path) as client:
        refused: Any = await client.call_tool("decide", {"verdict": "undo", "space": "Home"})
    assert "You have no call here" in refused.content[0].text


async def test_uninformed_readers_notice_neither_a_secret_call_nor_its_undo() -> None:
    driver, _ = await a_town()
    player = make_driver("Contributor", driver, user="u1")

    async def read() -> dict[str, Any]:
        changes = await player.call("changes", space="Saltmere", limit=50)
        return {**await all_of(player), "changes": changes["changes"]}

    before = await read()
    for call in ("a secret state", "a secret move"):
        await call_verb(driver, call)
        undone = await undo_last(driver)
        assert not differing_replies(await read(), before)
        await undo_last(driver, of=[undone["id"]])
        assert not differing_replies(await read(), before)


async def test_account_merges_and_separations_are_undone_and_repeated() -> None:
    driver = make_driver()
    people = [{"type": "person", "name": name} for name in ("Ann Lee", "Anna Lee")]
    await driver.call("tell", space="account", records=people)

    async def read() -> list[str]:
        asked = {"space": "account", "full": True}
        return [(await driver.outcome("get", {"of": one["name"], **asked})).text for one in people]

    before = await read()
    for verdict in ("merge", "separate"):
        of = [one["name"] for one in people]
        await driver.call("decide", verdict=verdict, of=of, space="account")
        after = await read()
        undone = await undo_last(driver, space="account")
        assert await read() == before
        await undo_last(driver, of=[undone["id"]], space="account")
        assert await read() == after
        await undo_last(driver, space="account")
        assert await read() == before
