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
from tests.toolsets.canon.kit import Desk, a_desk

pytestmark = pytest.mark.anyio


async def a_harbour(agent: str = "Solo") -> tuple[Desk, SpaceId]:
    """A space with two people in it."""
    desk = a_desk()
    space = SpaceId(await desk.saltmere())
    return (desk if agent == "Solo" else a_desk(agent, desk)), space


BOATS = [
    f"{kind} {part}"
    for kind in ("red", "blue", "green", "white")
    for part in ("sail", "mast", "oar")
]


def keeps(number: int) -> dict[str, Any]:
    return {"kind": "fact", "says": f"Odo Brand paints a {BOATS[number]}", "about": ["Odo Brand"]}


async def commits_after(canon: Canon, space: SpaceId, head: int) -> Any:
    return await canon.ledger.read_commits(space, after=head, limit=100)  # type: ignore[arg-type]


async def keyed(desk: Desk, key: str, **arguments: Any) -> Result:
    principal = Principal(agent_id="solo", agent_type="Solo", authorities=None)
    return await desk.gateway.call("propose", arguments, principal, {KEY_META: key})


async def test_the_words_the_proposals_and_the_decisions_are_one_commit() -> None:
    desk, space = await a_harbour()
    head = await desk.canon.ledger.head_position(space)

    reply = await desk.call("propose", space=space, said="So it is.", claims=[keeps(1), keeps(2)])

    assert reply["accepted"] == 2
    (commit,) = await commits_after(desk.canon, space, head)
    made = [type(entry.thing) for entry in commit.entries if isinstance(entry, Made)]
    assert made[:4] == [SourceDraft, SnippetDraft, ProposalDraft, ProposalDraft]
    assert sum(isinstance(entry, ProposalDecided) for entry in commit.entries) == 2


async def test_proposals_that_a_keeper_must_decide_are_one_commit_without_decisions() -> None:
    desk, space = await a_harbour("Contributor")
    head = await desk.canon.ledger.head_position(space)

    reply = await desk.call("propose", space=space, said="So it is.", claims=[keeps(1)])

    assert reply["kept"]
    assert reply["accepted"] == 1
    (commit,) = await commits_after(desk.canon, space, head)
    assert not any(isinstance(entry, ProposalDecided) for entry in commit.entries)


async def test_a_dry_run_says_what_a_call_would_and_writes_nothing() -> None:
    desk, space = await a_harbour()
    heads = await desk.heads()

    dry = await desk.call("propose", space=space, claims=[keeps(1), keeps(2)], dry_run=True)

    assert await desk.heads() == heads
    done = await desk.call("propose", space=space, claims=[keeps(1), keeps(2)])
    assert [row["verdict"] for row in dry["verdicts"]] == [
        row["verdict"] for row in done["verdicts"]
    ]


async def test_a_claim_that_does_not_fit_leaves_neither_words_nor_proposals() -> None:
    desk, space = await a_harbour()
    claims = [keeps(1), {"kind": "fact", "says": "Odo left", "when": "the day of the red moon"}]

    error = await desk.refused("propose", space=space, said="So it is.", claims=claims)

    assert error["details"]["path"] == "/claims/1/when"


async def test_a_retry_finds_the_commit_of_the_first_call() -> None:
    desk, space = await a_harbour()
    call: dict[str, Any] = {"space": space, "said": "So it is.", "claims": [keeps(1)]}
    first = await keyed(desk, "k", **call)
    heads = await desk.heads()

    again = await keyed(desk, "k", **call)

    assert first.error is None
    assert again.body == first.body
    assert await desk.heads() == heads


async def test_a_retry_decides_nothing_that_the_first_call_left_for_review() -> None:
    desk, space = await a_harbour()
    dead = {"kind": "state", "of": "Odo Brand", "tags": ["dead"]}
    await desk.call("propose", space=space, said="He drowned.", claims=[dead])
    opens = {"kind": "event", "says": "Odo Brand opens the gate", "who": ["Odo Brand"]}
    claims = [{"kind": "entity", "name": "Odo Brand", "type": "character"}, opens]
    first = await keyed(desk, "k", space=space, said="So it is.", claims=claims)
    heads = await desk.heads()

    again = await keyed(desk, "k", space=space, said="So it is.", claims=claims)

    assert {row["verdict"] for row in first.body["verdicts"]} == {"needs review"}
    assert again.body == first.body
    assert await desk.heads() == heads


async def test_a_retry_finds_the_secret_claims_of_the_first_call_too() -> None:
    desk, space = await a_harbour()
    secret = {**keeps(2), "for": ["gm"]}
    claims = [keeps(1), secret, keeps(3)]
    call: dict[str, Any] = {"space": space, "evidence": ["Harbour book"], "claims": claims}
    first = await keyed(desk, "k", **call)

    again = await keyed(desk, "k", **call)

    assert first.error is None
    assert len(first.body["verdicts"]) == len(claims)
    assert again.body["verdicts"] == first.body["verdicts"]


async def test_items_of_one_call_are_listed_in_its_order() -> None:
    desk, space = await a_harbour()
    names = ["Zoe", "Adam", "Mia", "Bert", "Xenia", "Carl", "Nora", "Dora"]
    claims = [{"kind": "entity", "name": each, "type": "character"} for each in names]

    reply = await desk.call("propose", space=space, said="They came.", claims=claims)

    made = [row["id"] for row in reply["verdicts"]]
    assert made == sorted(made)


async def test_words_that_are_quoted_again_are_the_same_passage() -> None:
    desk, space = await a_harbour()
    for number in range(3):
        said = "So it is." if number < 2 else "And more."
        await desk.call("propose", space=space, said=said, claims=[keeps(number)])

    sources = (await desk.canon.state.sources(space, limit=9, offset=0)).items
    (words,) = [each for each in sources if each.doc_id == "said"]
    snippets = (await desk.canon.documents.snippets(words.id, limit=9, offset=0)).items
    assert [(each.index, each.text) for each in snippets] == [(0, "So it is."), (1, "And more.")]


async def test_calls_at_once_are_a_commit_each_and_share_the_document_of_words() -> None:
    desk, space = await a_harbour()
    head = await desk.canon.ledger.head_position(space)

    replies = await asyncio.gather(
        *(
            desk.call("propose", space=space, said=f"It is {n}.", claims=[keeps(n)])
            for n in range(12)
        )
    )

    assert all(reply["accepted"] == 1 for reply in replies)
    assert len(await commits_after(desk.canon, space, head)) == len(replies)
    sources = (await desk.canon.state.sources(space, limit=9, offset=0)).items
    (words,) = [each for each in sources if each.doc_id == "said"]
    snippets = (await desk.canon.documents.snippets(words.id, limit=50, offset=0)).items
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


async def test_a_call_is_judged_again_after_another_writer_changed_what_it_rests_on() -> None:
    desk, space = await a_harbour()
    rival = {"kind": "fact", "says": "Odo Brand was born in Marrow", "about": ["Odo Brand"]}
    mine = {"kind": "fact", "says": "Odo Brand was born in Saltmere", "about": ["Odo Brand"]}

    async def other() -> None:
        done = await desk.call("propose", space=space, claims=[rival], said="At home.")
        assert done["accepted"] == 1

    ledger: Any = Interrupted(desk.canon.ledger, other)
    whole = replace(desk.canon, ledger=ledger)
    late = replace(desk, canon=whole, gateway=Gateway(whole, desk.gateway.catalogue.toolsets))

    reply = await late.call("propose", space=space, claims=[mine], said="Over there.")

    (row,) = reply["verdicts"]
    assert row["verdict"] != "accepted"
    assert row["against"][0]["grade"] == "contradiction"


async def test_two_hundred_claims_fit_into_a_call_and_more_are_refused() -> None:
    desk, space = await a_harbour()
    claims = [
        {"kind": "entity", "name": f"Crew {n}", "type": "character", "tags": ["alive"]}
        for n in range(200)
    ]

    error = await desk.refused("propose", space=space, said="All.", claims=[*claims, keeps(1)])
    reply = await desk.call("propose", space=space, said="All.", claims=claims)

    assert error["details"]["path"] == "/claims"
    assert "at most 200 items in one call" in error["message"]
    assert reply["accepted"] == 200
