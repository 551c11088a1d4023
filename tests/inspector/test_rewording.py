"""Saying it better: any proposal is edited by all that its content has, and then accepted."""

import re
from html import unescape
from typing import Any

import pytest

from canonry.canon.canonization.proposals import Suggestion, create_proposal
from canonry.log.items.proposals import Proposal, ProposalDraft, ProposalStatus, ProposalType
from canonry.testing.clocks import a_caller
from canonry.values.provenance import Authority, Evidence, EvidenceKind
from tests.inspector.kit import Harbour, Reader, a_harbour
from tests.toolsets.canon.kit import make_driver

pytestmark = pytest.mark.anyio


@pytest.fixture
async def harbour() -> Harbour:
    return await a_harbour(world=False)


async def form_of(reader: Reader, harbour: Harbour, proposal: str) -> dict[str, str]:
    """The form by which a proposal is said better, as a browser would send it back."""
    page = await reader.read_page(f"/review?space={harbour.space}")
    part = page.split(f'id="p-{proposal}"')[1].split("</li>")[0].split('class="edit"')[1]
    fields = re.findall(r'<input[^>]* name="([\w.]+)" value="([^"]*)"', part)
    fields += re.findall(r'<textarea[^>]* name="([\w.]+)"[^>]*>\n(.*?)</textarea>', part, re.DOTALL)
    for name, options in re.findall(
        r'<select[^>]* name="([\w.]+)">(.*?)</select>', part, re.DOTALL
    ):
        fields += [(name, each) for each in re.findall(r'value="(\w+)" selected', options)]
    return {name: unescape(value).replace("\n", "\r\n") for name, value in fields}


async def read_proposal(harbour: Harbour, proposal_id: str) -> Proposal:
    found = (await harbour.driver.canon.state.items_by_id((proposal_id,)))[proposal_id]
    assert isinstance(found, Proposal)
    return found


async def stage_proposal(
    harbour: Harbour, kind: ProposalType, content: dict[str, Any], *, stated: bool = True
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
    canon, caller = harbour.driver.canon, a_caller("Contributor")
    receipt = await (
        create_proposal(canon, caller, suggestion, scene_id=ids["scene"], turn_id=ids["turn"])
        if stated
        else create_proposal(canon, caller, suggestion, universe_id=harbour.space)
    )
    (draft,) = receipt.drafts_made(ProposalDraft)
    return await read_proposal(harbour, draft.id)


async def restate_proposal(harbour: Harbour, former: Proposal, **said: str) -> Proposal:
    """Accept a proposal after a better wording, with fields that its form has."""
    reader = harbour.reader()
    form = await form_of(reader, harbour, former.id)
    more = {f"said.{name}": text for name, text in said.items()}
    assert more.keys() <= form.keys()
    answer = await reader.post("/decide", form | more | {"reason": "It was so"})
    assert answer.status == 303, answer.text
    assert "Edited and accepted." in await reader.read_page(answer.first_header("location"))
    decision = (await read_proposal(harbour, former.id)).decision
    assert decision is not None
    again = re.search(r"restated as proposal:([0-9a-f-]+): It was so", decision.rationale)
    assert again is not None
    after = await read_proposal(harbour, again[1])
    assert after.status is ProposalStatus.ACCEPTED
    assert after.decision is not None
    assert f"ids={after.decision.canonical_id}" in answer.first_header("location")
    return after


def same_but(before: Proposal, after: Proposal, **changed: Any) -> None:
    """It says the same but for these members, and came from where the former came."""
    assert after.content == {**before.content, **changed}
    for name in ("type", "scene_id", "turn_id", "turn_index", "evidence", "audience"):
        assert getattr(after, name) == getattr(before, name), name
    assert (after.authority, after.confidence) == (before.authority, before.confidence)


async def test_a_reworded_fact_keeps_its_other_members(
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
    former = await stage_proposal(harbour, ProposalType.FACT, said)
    assert former.audience == ("gm",)

    after = await restate_proposal(
        harbour, former, actor_ids="", involved_entity_ids="Odo Brand\r\n"
    )
    same_but(former, after, actor_ids=[], involved_entity_ids=[odo])
    assert after.original["time_ref"] == "on 4 November 1207"
    assert (await read_proposal(harbour, former.id)).status is ProposalStatus.REJECTED


async def test_a_reworded_event_keeps_its_place_causes_and_dependents(harbour: Harbour) -> None:
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
    former = await stage_proposal(harbour, ProposalType.EVENT, said, stated=False)
    form = await form_of(harbour.reader(), harbour, former.id)
    assert form["said.location_id"] == f"Marrow Lighthouse {ids['Marrow Lighthouse']}"

    title, when = "The lamp is put out", "1207-11-01T06:00:00Z"
    after = await restate_proposal(harbour, former, title=title, severity="7", time_ref=when)
    same_but(former, after, title=title, severity=7, time_ref=when)


async def test_a_state_is_reworded_tag_by_tag(harbour: Harbour) -> None:
    ilsa = harbour.ids["Ilsa Vane"]
    said = {"entity_id": ilsa, "add": ["wounded", "hidden"], "remove": []}
    former = await stage_proposal(harbour, ProposalType.STATE_CHANGE, said)

    after = await restate_proposal(harbour, former, add="wounded\r\n tired ", remove="")
    changes = {"add": ["tired", "wounded"], "remove": []}
    same_but(former, after, state_tag_changes=changes)


async def test_a_relation_is_reworded_at_either_end(harbour: Harbour) -> None:
    ids = harbour.ids
    said = {"from": ids["Ilsa Vane"], "to": ids["Odo Brand"], "rel_type": "ALLY_OF"}
    former = await stage_proposal(harbour, ProposalType.RELATIONSHIP, said)

    after = await restate_proposal(
        harbour, former, rel_type="KNOWS", to_entity_id="Marrow Lighthouse"
    )
    same_but(former, after, rel_type="KNOWS", to_entity_id=ids["Marrow Lighthouse"])


async def test_references_follow_a_reworded_entity(
    harbour: Harbour,
) -> None:
    said = {"name": "Bram", "entity_type": "character", "ref": "$bram", "properties": {"age": 40}}
    former = await stage_proposal(harbour, ProposalType.ENTITY, said)
    owns = {"statement": "Bram owns the boat", "involved_entity_ids": ["$bram"]}
    naming = await stage_proposal(harbour, ProposalType.FACT, owns)

    after = await restate_proposal(harbour, former, name="Bram Cole", state_tags="tired")
    same_but(former, after, name="Bram Cole", state_tags=["tired"])
    await harbour.reader().send_verdict("accept", [naming.id], reason="He does")

    assert (await read_proposal(harbour, former.id)).status is ProposalStatus.ACCEPTED
    facts = (await harbour.driver.call("find", kinds=["fact"], space=harbour.space))["found"]
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
async def test_unreadable_rewording_is_refused_and_nothing_is_written(
    harbour: Harbour, said: dict[str, str], because: str
) -> None:
    content = {"statement": "It rains", "duration": 60, "properties": {"much": True}}
    former = await stage_proposal(harbour, ProposalType.FACT, content)
    reader = harbour.reader()
    form = await form_of(reader, harbour, former.id) | {"reason": "r"}
    before = await harbour.driver.heads()

    changed = {f"said.{name}": text for name, text in said.items()}
    answer = await reader.post("/decide", form | changed)
    assert answer.status >= 400
    assert because in answer.text
    other = harbour.reader("Contributor")
    own = {**form, "key": await other.form_key()}
    assert (await other.post("/decide", own)).status == 403
    assert await harbour.driver.heads() == before

    await reader.send_verdict("reject", [former.id], reason="It does not")
    answer = await reader.post("/decide", form)
    assert answer.status == 409
    assert "already rejected" in answer.text


async def test_a_failed_rewording_leaves_no_second_pending_item(
    harbour: Harbour,
) -> None:
    former = await stage_proposal(harbour, ProposalType.FACT, {"statement": "It snows"})
    reader = harbour.reader()
    form = await form_of(reader, harbour, former.id) | {"reason": "r"}
    waits = (await harbour.driver.call("review", space=harbour.space, limit=50))["total"]

    form |= {"said.involved_entity_ids": f"proposal:{harbour.ids['proposal']}"}
    answer = await reader.post("/decide", form)
    assert answer.status == 409
    assert (await harbour.driver.call("review", space=harbour.space, limit=50))["total"] == waits
    assert (await read_proposal(harbour, former.id)).status is ProposalStatus.PENDING


async def test_changes_that_need_an_action_are_no_rewording(harbour: Harbour) -> None:
    claim = {"kind": "merge", "from": "Odo Brandt", "to": "Odo Brand", "says": "A slip"}
    made = await make_driver("Contributor", harbour.driver).call(
        "propose", claims=[claim], space=harbour.space
    )
    (row,) = made["verdicts"]
    page = await harbour.reader().read_page(f"/review?space={harbour.space}")
    part = page.split(f'id="p-{row["proposal"]}"')[1].split("</li>")[0]
    assert 'class="edit"' not in part

    answer = await harbour.reader().send_verdict("edit", [row["proposal"]], reason="r")
    assert answer.status == 409
