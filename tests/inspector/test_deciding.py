"""Deciding in the browser: each form does what its tool does, for those who may, and says so."""

import json
import re
from html import unescape
from typing import Any

import pytest

from canonry.domain.provenance import Authority, Evidence, EvidenceKind
from canonry.domain.things.proposals import Proposal, ProposalDraft, ProposalStatus, ProposalType
from canonry.gateway.call import Gateway
from canonry.gateway.catalogue import narrowed
from canonry.testing.worlds import a_caller
from canonry.toolsets.canon import CANON
from canonry.usecases.canonization.create_proposal import (
    Suggestion,
    create_loose_proposal,
    create_proposal,
)
from tests.inspector.kit import Harbour, Reader, a_harbour, a_reader
from tests.toolsets.canon.kit import Desk, a_desk

pytestmark = pytest.mark.anyio
ROLES = ("Reader", "Contributor", "Keeper", "Solo")
MAY_DECIDE = {"Keeper", "Solo"}


@pytest.fixture
async def harbour() -> Harbour:
    return await a_harbour(world=False)


async def waiting(harbour: Harbour, words: str) -> str:
    rows = (await harbour.desk.call("review", space=harbour.space, limit=50))["waiting"]
    return next(str(row["id"]) for row in rows if words in row["says"])


async def status(harbour: Harbour, thing: str) -> str:
    told = await harbour.desk.call("get", of=thing)
    return str(told.get("status") or told.get("level") or "")


async def test_accepting_says_what_became_canon(harbour: Harbour) -> None:
    lantern = await waiting(harbour, "lantern")
    reader = harbour.reader()
    back = f"/review?space={harbour.space}&done=reject&ids=x"

    answer = await reader.decide("accept", [lantern], reason="I heard it", back=back)

    where = answer.header("location")
    assert answer.status == 303
    made = re.fullmatch(rf"/review\?space={harbour.space}&done=accept&ids=([0-9a-f-]+)", where)
    assert made is not None
    page = await reader.page(where)
    assert "Accepted." in page
    assert f"p-{lantern}" not in page
    assert "carries the silver lantern" in await reader.page(f"/thing/{made[1]}")
    assert await status(harbour, lantern) == "accepted"


async def test_several_are_decided_at_once_and_one_can_be_accepted_after_all(
    harbour: Harbour,
) -> None:
    ghost, quay = await waiting(harbour, "ghost"), await waiting(harbour, "Quay")
    reader = harbour.reader()

    await reader.decide("reject", [ghost, quay], reason="Nobody saw it")
    assert [await status(harbour, each) for each in (ghost, quay)] == ["rejected", "rejected"]
    page = await reader.page(f"/thing/{ghost}")
    assert 'value="accept"' in page
    assert 'value="reject"' not in page

    await reader.decide("accept", [ghost], reason="They did")
    assert await status(harbour, ghost) == "accepted"


async def test_a_conflict_is_shown_with_both_sides_and_waived(harbour: Harbour) -> None:
    reader = harbour.reader()
    page = await reader.page(f"/review?space={harbour.space}&what=conflicts")
    part = page.split("<bdi>Odo falls</bdi>")[1]
    other = re.search(r'name="other" value="([0-9a-f-]+)"', part)
    assert other is not None
    assert "Perhaps against it" in part
    assert "Odo Brand is dead" in part
    assert "The rail gives way" in part

    falls = await waiting(harbour, "Odo falls")
    answer = await reader.decide("waive", [falls], other=other[1], reason="It killed him")

    assert answer.status == 303
    page = await reader.page(f"/review?space={harbour.space}&what=conflicts")
    assert "Odo falls" not in page


async def test_two_that_are_one_are_compared_and_merged(harbour: Harbour) -> None:
    reader = harbour.reader()
    page = await reader.page("/review?space=account&what=duplicates")
    assert "or the same as" in page
    assert re.search(r'class="changed"><th scope="row"><bdi>email', page)
    assert not re.search(r'class="changed"><th scope="row"><bdi>type', page)
    kept, merged = re.findall(r'name="of" value="([0-9a-f-]+)"', page)
    assert (await reader.decide("merge", [kept, merged], reason="A slip")).status == 303

    moved = await reader.get(f"/thing/{merged}")
    assert (moved.status, moved.header("location")) == (303, f"/thing/{kept}")


async def form_of(reader: Reader, harbour: Harbour, proposal: str) -> dict[str, str]:
    """The form by which a proposal is said better, as a browser would send it back."""
    page = await reader.page(f"/review?space={harbour.space}")
    part = page.split(f'id="p-{proposal}"')[1].split("</li>")[0].split('class="edit"')[1]
    fields = re.findall(r'<input[^>]* name="([\w.]+)" value="([^"]*)"', part)
    fields += re.findall(r'<textarea[^>]* name="([\w.]+)"[^>]*>\n(.*?)</textarea>', part, re.DOTALL)
    for name, options in re.findall(
        r'<select[^>]* name="([\w.]+)">(.*?)</select>', part, re.DOTALL
    ):
        fields += [(name, each) for each in re.findall(r'value="(\w+)" selected', options)]
    return {name: unescape(value).replace("\n", "\r\n") for name, value in fields}


async def proposal(harbour: Harbour, proposal_id: str) -> Proposal:
    found = (await harbour.desk.canon.state.things((proposal_id,)))[proposal_id]
    assert isinstance(found, Proposal)
    return found


async def staged(
    harbour: Harbour, kind: ProposalType, content: dict[str, Any], *, told: bool = True
) -> Proposal:
    """A proposal that waits, in the scene at its first turn or as no scene brought it up."""
    ids = harbour.ids
    suggestion = Suggestion(
        type=kind,
        content=content,
        evidence=(Evidence(kind=EvidenceKind.TURN, ref=ids["turn"]),),
        confidence=0.7,
        authority=Authority.PLAYER,
    )
    canon, caller = harbour.desk.canon, a_caller("Contributor")
    receipt = await (
        create_proposal(canon, caller, ids["scene"], ids["turn"], suggestion)
        if told
        else create_loose_proposal(canon, caller, harbour.space, suggestion)
    )
    (draft,) = receipt.made(ProposalDraft)
    return await proposal(harbour, draft.id)


async def restated(harbour: Harbour, former: Proposal, **said: str) -> Proposal:
    """What was accepted once a proposal was said better, in fields that its form has."""
    reader = harbour.reader()
    form = await form_of(reader, harbour, former.id)
    more = {f"said.{name}": text for name, text in said.items()}
    assert more.keys() <= form.keys()
    answer = await reader.post("/decide", form | more | {"reason": "It was so"})
    assert answer.status == 303, answer.text
    assert "Said better and accepted." in await reader.page(answer.header("location"))
    decision = (await proposal(harbour, former.id)).decision
    assert decision is not None
    again = re.search(r"restated as proposal:([0-9a-f-]+): It was so", decision.rationale)
    assert again is not None
    after = await proposal(harbour, again[1])
    assert after.status is ProposalStatus.ACCEPTED
    assert after.decision is not None
    assert f"ids={after.decision.canonical_id}" in answer.header("location")
    return after


def same_but(before: Proposal, after: Proposal, **changed: Any) -> None:
    """It says the same but for these members, and came from where the former came."""
    assert after.content == {**before.content, **changed}
    for name in ("type", "scene_id", "turn_id", "turn_index", "evidence", "audience"):
        assert getattr(after, name) == getattr(before, name), name
    assert (after.authority, after.confidence) == (before.authority, before.confidence)


async def test_a_fact_is_said_better_and_keeps_all_else_that_was_said_of_it(
    harbour: Harbour,
) -> None:
    ilsa, odo = harbour.ids["Ilsa Vane"], harbour.ids["Odo Brand"]
    said = {
        "statement": "Ilsa owns <b>a</b> bell \u202ewith\r\ntwo lines",
        "involved_entity_ids": [ilsa],
        "actor_ids": [ilsa],
        "fact_type": "state",
        "properties": {"metal": ["brass"], "weight": 4},
        "time_ref": "on 4 November 1207",
        "duration": 60,
        "audience": "gm",
    }
    former = await staged(harbour, ProposalType.FACT, said)
    assert former.audience == ("gm",)

    after = await restated(harbour, former, actor_ids="", involved_entity_ids="Odo Brand\r\n")
    same_but(former, after, actor_ids=[], involved_entity_ids=[odo])
    assert after.original["time_ref"] == "on 4 November 1207"
    assert (await proposal(harbour, former.id)).status is ProposalStatus.REJECTED


async def test_an_event_keeps_its_place_its_causes_and_what_is_told_of_it(harbour: Harbour) -> None:
    ids = harbour.ids
    said = {
        "title": "The lamp goes out",
        "description": "Nobody\nsaw why.",
        "actor_ids": [ids["Odo Brand"]],
        "involved_entity_ids": [ids["Ilsa Vane"]],
        "severity": 3,
        "location_id": ids["Marrow Lighthouse"],
        "caused_by_event_ids": [ids["event"]],
        "time_ref": "1207-11-01T00:00:00Z",
    }
    former = await staged(harbour, ProposalType.EVENT, said, told=False)
    form = await form_of(harbour.reader(), harbour, former.id)
    assert form["said.location_id"] == f"Marrow Lighthouse {ids['Marrow Lighthouse']}"

    title, when = "The lamp is put out", "1207-11-01T06:00:00Z"
    after = await restated(harbour, former, title=title, severity="7", time_ref=when)
    same_but(former, after, title=title, severity=7, time_ref=when)


async def test_a_state_is_said_better_tag_by_tag(harbour: Harbour) -> None:
    ilsa = harbour.ids["Ilsa Vane"]
    said = {"entity_id": ilsa, "add": ["wounded", "hidden"], "remove": []}
    former = await staged(harbour, ProposalType.STATE_CHANGE, said)

    after = await restated(harbour, former, add="wounded\r\n tired ", remove="")
    changes = {"add": ["tired", "wounded"], "remove": []}
    same_but(former, after, state_tag_changes=changes)


async def test_a_relation_is_said_better_at_either_end(harbour: Harbour) -> None:
    ids = harbour.ids
    said = {"from": ids["Ilsa Vane"], "to": ids["Odo Brand"], "rel_type": "ALLY_OF"}
    former = await staged(harbour, ProposalType.RELATIONSHIP, said)

    after = await restated(harbour, former, rel_type="KNOWS", to_entity_id="Marrow Lighthouse")
    same_but(former, after, rel_type="KNOWS", to_entity_id=ids["Marrow Lighthouse"])


async def test_what_others_name_is_what_became_of_the_entity_that_was_said_better(
    harbour: Harbour,
) -> None:
    said = {"name": "Bram", "entity_type": "character", "ref": "$bram", "properties": {"age": 40}}
    former = await staged(harbour, ProposalType.ENTITY, said)
    owns = {"statement": "Bram owns the boat", "involved_entity_ids": ["$bram"]}
    naming = await staged(harbour, ProposalType.FACT, owns)

    after = await restated(harbour, former, name="Bram Cole", state_tags="tired")
    same_but(former, after, name="Bram Cole", state_tags=["tired"])
    await harbour.reader().decide("accept", [naming.id], reason="He does")

    assert (await proposal(harbour, former.id)).status is ProposalStatus.ACCEPTED
    facts = (await harbour.desk.call("find", kinds=["fact"], space=harbour.space))["found"]
    (boat,) = (row for row in facts if "boat" in row["says"])
    assert boat["about"] == ["Bram Cole"]


@pytest.mark.parametrize(
    ("said", "because"),
    [
        ({"statement": " "}, "statement"),
        ({"properties": "{brass"}, "properties"),
        ({"time_ref": "no time at all"}, "time_ref"),
        ({"duration": "long"}, "duration"),
        ({"involved_entity_ids": "Nobody of this name"}, "involved_entity_ids"),
    ],
)
async def test_what_cannot_be_read_is_refused_in_its_own_words_and_nothing_is_written(
    harbour: Harbour, said: dict[str, str], because: str
) -> None:
    content = {"statement": "It rains", "duration": 60, "properties": {"much": True}}
    former = await staged(harbour, ProposalType.FACT, content)
    reader = harbour.reader()
    form = await form_of(reader, harbour, former.id) | {"reason": "r"}
    before = await harbour.desk.heads()

    changed = {f"said.{name}": text for name, text in said.items()}
    answer = await reader.post("/decide", form | changed)
    assert answer.status >= 400
    assert because in answer.text
    other = harbour.reader("Contributor")
    own = {**form, "key": await other.form_key()}
    assert (await other.post("/decide", own)).status == 403
    assert await harbour.desk.heads() == before

    await reader.decide("reject", [former.id], reason="It does not")
    answer = await reader.post("/decide", form)
    assert answer.status == 409
    assert "already rejected" in answer.text


async def test_what_cannot_be_written_leaves_nothing_that_waits_beside_the_former(
    harbour: Harbour,
) -> None:
    former = await staged(harbour, ProposalType.FACT, {"statement": "It snows"})
    reader = harbour.reader()
    form = await form_of(reader, harbour, former.id) | {"reason": "r"}
    waits = (await harbour.desk.call("review", space=harbour.space, limit=50))["total"]

    form |= {"said.involved_entity_ids": f"proposal:{harbour.ids['proposal']}"}
    answer = await reader.post("/decide", form)
    assert answer.status == 409
    assert (await harbour.desk.call("review", space=harbour.space, limit=50))["total"] == waits
    assert (await proposal(harbour, former.id)).status is ProposalStatus.PENDING


async def test_what_asks_for_an_act_is_no_matter_of_words(harbour: Harbour) -> None:
    claim = {"kind": "merge", "from": "Odo Brandt", "to": "Odo Brand", "says": "A slip"}
    made = await a_desk("Contributor", harbour.desk).call(
        "propose", claims=[claim], space=harbour.space
    )
    (row,) = made["verdicts"]
    page = await harbour.reader().page(f"/review?space={harbour.space}")
    part = page.split(f'id="p-{row["proposal"]}"')[1].split("</li>")[0]
    assert 'class="edit"' not in part

    answer = await harbour.reader().decide("edit", [row["proposal"]], reason="r")
    assert answer.status == 409


async def test_what_never_was_and_what_holds_no_longer(harbour: Harbour) -> None:
    reader = harbour.reader()
    fact, relation = harbour.ids["fact"], harbour.ids["relation"]

    assert (await reader.decide("end", [relation], when="1207-11-05")).status == 303
    assert (await reader.decide("retcon", [fact], reason="A lie", along="yes")).status == 303

    assert "never was so" in await reader.page(f"/thing/{fact}")
    assert "A lie" in await reader.page(f"/thing/{fact}")
    assert "1207-11-05" in await reader.page(f"/thing/{relation}")


async def test_the_rules_decide_where_they_are_asked(harbour: Harbour) -> None:
    quay = await waiting(harbour, "Quay")

    await harbour.reader().decide("judge", [quay])

    assert await status(harbour, quay) in {"accepted", "rejected", "pending"}
    assert "gate:" in await harbour.reader().page(f"/thing/{quay}")


@pytest.mark.parametrize(
    ("verdict", "more"),
    [
        ("accept", {}),
        ("accept", {"reason": "x" * 3_000}),
        ("waive", {"reason": "r"}),
        ("merge", {}),
        ("nonsense", {}),
        ("", {}),
        ("edit", {}),
        ("edit", {"said.statement": "", "reason": "r"}),
    ],
)
async def test_what_the_tool_refuses_is_told_and_nothing_is_written(
    harbour: Harbour, verdict: str, more: dict[str, str]
) -> None:
    lantern = await waiting(harbour, "lantern")
    before = await harbour.desk.heads()

    answer = await harbour.reader().decide(verdict, [lantern], space=harbour.space, **more)

    assert answer.status == 400
    assert 'class="warning"' in answer.text
    assert await harbour.desk.heads() == before


@pytest.mark.parametrize("agent", ROLES)
async def test_each_role_sees_the_actions_that_it_may_take_and_no_other(
    harbour: Harbour, agent: str
) -> None:
    reader = harbour.reader(agent)
    for path in harbour.pages():
        page = await reader.page(path)
        if agent not in MAY_DECIDE:
            assert 'action="/decide"' not in page, path
    actions: dict[str, tuple[list[str], dict[str, str]]] = {
        "accept": ([await waiting(harbour, "lantern")], {"reason": "r"}),
        "reject": ([await waiting(harbour, "ghost")], {"reason": "r"}),
        "judge": ([await waiting(harbour, "Quay")], {}),
        "end": ([harbour.ids["relation"]], {}),
        "merge": ([harbour.ids["Odo Brand"], harbour.ids["Odo Brandt"]], {}),
        "retcon": ([harbour.ids["fact"]], {"reason": "r"}),
    }
    for verdict, (of, more) in actions.items():
        before = await harbour.desk.heads()
        answer = await reader.decide(verdict, of, space=harbour.space, **more)
        if agent in MAY_DECIDE:
            assert answer.status == 303, (verdict, answer.text)
        else:
            assert answer.status == 403
            assert await harbour.desk.heads() == before


async def test_where_nothing_is_written_nobody_decides(harbour: Harbour) -> None:
    desk = harbour.desk
    gateway = Gateway(desk.canon, narrowed([CANON], read_only=True))
    reader = a_reader(Desk(desk.canon, gateway, desk.clock))

    for path in harbour.pages():
        assert 'action="/decide"' not in await reader.page(path)
    answer = await reader.decide("accept", [harbour.ids["proposal"]], reason="r")
    assert answer.status >= 400


async def test_a_page_that_waits_learns_that_others_have_decided(harbour: Harbour) -> None:
    reader = harbour.reader("Reader")
    path = f"/review/head?space={harbour.space}"
    page = await reader.page(f"/review?space={harbour.space}")
    head = json.loads((await reader.get(path)).text)["head"]

    assert f'data-head="{head}"' in page
    await harbour.reader().decide("reject", [await waiting(harbour, "ghost")], reason="no")
    assert json.loads((await reader.get(path)).text)["head"] == head + 1
