"""A call of propose is one commit: its words, its proposals and their decisions."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from canonry.canon.session.canon import Canon
from canonry.gateway.call import Gateway
from canonry.gateway.principal import KEY_META, Principal
from canonry.gateway.replies import Result
from canonry.log.commits import Append
from canonry.log.entries import Made, ProposalDecided
from canonry.log.items.proposals import ProposalDraft
from canonry.log.items.sources import SnippetDraft, SourceDraft
from canonry.values.ids import SpaceId
from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio


async def a_harbour(agent: str = "Solo") -> tuple[ToolDriver, SpaceId]:
    """A space with two people in it."""
    driver = make_driver()
    space = SpaceId(await driver.saltmere())
    return (driver if agent == "Solo" else make_driver(agent, driver)), space


BOATS = [
    f"{kind} {part}"
    for kind in ("red", "blue", "green", "white")
    for part in ("sail", "mast", "oar")
]


def keep_number(number: int) -> dict[str, Any]:
    return {"kind": "fact", "says": f"Odo Brand paints a {BOATS[number]}", "about": ["Odo Brand"]}


async def commits_after(canon: Canon, space: SpaceId, head: int) -> Any:
    return await canon.ledger.read_commits(space, after=head, limit=100)  # type: ignore[arg-type]


async def call_with_key(driver: ToolDriver, key: str, **arguments: Any) -> Result:
    principal = Principal(agent_id="solo", agent_type="Solo", authorities=None)
    return await driver.gateway.call("propose", arguments, principal, {KEY_META: key})


async def test_words_proposals_and_decisions_are_one_commit() -> None:
    driver, space = await a_harbour()
    head = await driver.canon.ledger.head_position(space)

    reply = await driver.call(
        "propose", space=space, said="So it is.", claims=[keep_number(1), keep_number(2)]
    )

    assert reply["accepted"] == 2
    (commit,) = await commits_after(driver.canon, space, head)
    made = [type(entry.thing) for entry in commit.entries if isinstance(entry, Made)]
    assert made[:4] == [SourceDraft, SnippetDraft, ProposalDraft, ProposalDraft]
    assert sum(isinstance(entry, ProposalDecided) for entry in commit.entries) == 2


async def test_proposals_for_a_keeper_are_one_commit_without_decisions() -> None:
    driver, space = await a_harbour("Contributor")
    head = await driver.canon.ledger.head_position(space)

    reply = await driver.call("propose", space=space, said="So it is.", claims=[keep_number(1)])

    assert reply["kept"]
    assert reply["accepted"] == 1
    (commit,) = await commits_after(driver.canon, space, head)
    assert not any(isinstance(entry, ProposalDecided) for entry in commit.entries)


async def test_a_dry_run_predicts_a_call_and_writes_nothing() -> None:
    driver, space = await a_harbour()
    heads = await driver.heads()

    dry = await driver.call(
        "propose", space=space, claims=[keep_number(1), keep_number(2)], dry_run=True
    )

    assert await driver.heads() == heads
    done = await driver.call("propose", space=space, claims=[keep_number(1), keep_number(2)])
    assert [row["verdict"] for row in dry["verdicts"]] == [
        row["verdict"] for row in done["verdicts"]
    ]


async def test_an_invalid_claim_leaves_neither_words_nor_proposals() -> None:
    driver, space = await a_harbour()
    claims = [
        keep_number(1),
        {"kind": "fact", "says": "Odo left", "when": "the day of the red moon"},
    ]

    error = await driver.refused("propose", space=space, said="So it is.", claims=claims)

    assert error["details"]["path"] == "/claims/1/when"


async def test_a_retry_finds_the_commit_of_the_first_call() -> None:
    driver, space = await a_harbour()
    call: dict[str, Any] = {"space": space, "said": "So it is.", "claims": [keep_number(1)]}
    first = await call_with_key(driver, "k", **call)
    heads = await driver.heads()

    again = await call_with_key(driver, "k", **call)

    assert first.error is None
    assert again.body == first.body
    assert await driver.heads() == heads


async def test_a_retry_decides_nothing_left_for_review_by_the_first_call() -> None:
    driver, space = await a_harbour()
    dead = {"kind": "state", "of": "Odo Brand", "tags": ["dead"]}
    await driver.call("propose", space=space, said="He drowned.", claims=[dead])
    opens = {"kind": "event", "says": "Odo Brand opens the gate", "who": ["Odo Brand"]}
    claims = [{"kind": "entity", "name": "Odo Brand", "type": "character"}, opens]
    first = await call_with_key(driver, "k", space=space, said="So it is.", claims=claims)
    heads = await driver.heads()

    again = await call_with_key(driver, "k", space=space, said="So it is.", claims=claims)

    assert {row["verdict"] for row in first.body["verdicts"]} == {"needs review"}
    assert again.body == first.body
    assert await driver.heads() == heads


async def test_a_retry_finds_the_secret_claims_of_the_first_call_too() -> None:
    driver, space = await a_harbour()
    secret = {**keep_number(2), "for": ["gm"]}
    claims = [keep_number(1), secret, keep_number(3)]
    call: dict[str, Any] = {"space": space, "evidence": ["Harbour book"], "claims": claims}
    first = await call_with_key(driver, "k", **call)

    again = await call_with_key(driver, "k", **call)

    assert first.error is None
    assert len(first.body["verdicts"]) == len(claims)
    assert again.body["verdicts"] == first.body["verdicts"]


async def test_items_of_one_call_are_listed_in_its_order() -> None:
    driver, space = await a_harbour()
    names = ["Zoe", "Adam", "Mia", "Bert", "Xenia", "Carl", "Nora", "Dora"]
    claims = [{"kind": "entity", "name": each, "type": "character"} for each in names]

    reply = await driver.call("propose", space=space, said="They came.", claims=claims)

    made = [row["id"] for row in reply["verdicts"]]
    assert made == sorted(made)


async def test_words_quoted_again_are_the_same_passage() -> None:
    driver, space = await a_harbour()
    for number in range(3):
        said = "So it is." if number < 2 else "And more."
        await driver.call("propose", space=space, said=said, claims=[keep_number(number)])

    sources = (await driver.canon.state.sources(space, limit=9, offset=0)).items
    (words,) = [each for each in sources if each.doc_id == "said"]
    snippets = (await driver.canon.documents.snippets(words.id, limit=9, offset=0)).items
    assert [(each.index, each.text) for each in snippets] == [(0, "So it is."), (1, "And more.")]


async def test_concurrent_calls_are_separate_commits_and_share_a_document() -> None:
    driver, space = await a_harbour()
    head = await driver.canon.ledger.head_position(space)

    replies = await asyncio.gather(
        *(
            driver.call("propose", space=space, said=f"It is {n}.", claims=[keep_number(n)])
            for n in range(12)
        )
    )

    assert all(reply["accepted"] == 1 for reply in replies)
    assert len(await commits_after(driver.canon, space, head)) == len(replies)
    sources = (await driver.canon.state.sources(space, limit=9, offset=0)).items
    (words,) = [each for each in sources if each.doc_id == "said"]
    snippets = (await driver.canon.documents.snippets(words.id, limit=50, offset=0)).items
    assert [each.index for each in snippets] == list(range(len(replies)))


class Interrupted:
    """A ledger before whose first append another writer comes in."""

    def __init__(self, ledger: Any, other: Any) -> None:
        self._ledger, self._other = ledger, other

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    async def append_drafts(self, appends: list[Append]) -> Any:
        other, self._other = self._other, None
        if other is not None:
            await other()
        return await self._ledger.append_drafts(appends)


async def test_a_call_is_judged_again_after_a_concurrent_change() -> None:
    driver, space = await a_harbour()
    conflicting = {"kind": "fact", "says": "Odo Brand was born in Marrow", "about": ["Odo Brand"]}
    mine = {"kind": "fact", "says": "Odo Brand was born in Saltmere", "about": ["Odo Brand"]}

    async def other() -> None:
        done = await driver.call("propose", space=space, claims=[conflicting], said="At home.")
        assert done["accepted"] == 1

    ledger: Any = Interrupted(driver.canon.ledger, other)
    whole = replace(driver.canon, ledger=ledger)
    late = replace(driver, canon=whole, gateway=Gateway(whole, driver.gateway.catalogue.toolsets))

    reply = await late.call("propose", space=space, claims=[mine], said="Over there.")

    (row,) = reply["verdicts"]
    assert row["verdict"] != "accepted"
    assert row["against"][0]["grade"] == "contradiction"


async def test_two_hundred_claims_fit_into_a_call_and_more_are_refused() -> None:
    driver, space = await a_harbour()
    claims = [
        {"kind": "entity", "name": f"Crew {n}", "type": "character", "tags": ["alive"]}
        for n in range(200)
    ]

    error = await driver.refused(
        "propose", space=space, said="All.", claims=[*claims, keep_number(1)]
    )
    reply = await driver.call("propose", space=space, said="All.", claims=claims)

    assert error["details"]["path"] == "/claims"
    assert "at most 200 items in one call" in error["message"]
    assert reply["accepted"] == 200
