"""Deciding in the browser: each form does what its tool does, for those who may, and says so."""

import json
import re
from html import unescape

import pytest

from canonry.assistant import CANON
from canonry.gateway.call import Gateway
from canonry.gateway.offers import select_toolsets
from tests.inspector.kit import Harbour, a_harbour, a_reader
from tests.toolsets.canon.kit import ToolDriver

pytestmark = pytest.mark.anyio
ROLES = ("Reader", "Contributor", "Keeper", "Solo")
MAY_DECIDE = {"Keeper", "Solo"}


@pytest.fixture
async def harbour() -> Harbour:
    return await a_harbour(world=False)


async def stage_waiting(harbour: Harbour, words: str) -> str:
    rows = (await harbour.driver.call("review", space=harbour.space, limit=50))["waiting"]
    return next(str(row["id"]) for row in rows if words in row["says"])


async def status_of(harbour: Harbour, item: str) -> str:
    reply = await harbour.driver.call("get", of=item)
    return str(reply.get("status") or reply.get("level") or "")


async def test_accepting_shows_what_became_canon(harbour: Harbour) -> None:
    lantern = await stage_waiting(harbour, "lantern")
    reader = harbour.reader()
    back = f"/review?space={harbour.space}&done=reject&ids=x"

    answer = await reader.send_verdict("accept", [lantern], reason="I heard it", back=back)

    where = answer.first_header("location")
    assert answer.status == 303
    made = re.fullmatch(rf"/review\?space={harbour.space}&done=accept&ids=([0-9a-f-]+)", where)
    assert made is not None
    page = await reader.read_page(where)
    assert "Accepted." in page
    assert f"p-{lantern}" not in page
    assert "carries the silver lantern" in await reader.read_page(f"/thing/{made[1]}")
    assert await status_of(harbour, lantern) == "accepted"


async def test_several_are_decided_at_once_and_one_is_accepted_afterwards(
    harbour: Harbour,
) -> None:
    ghost, quay = await stage_waiting(harbour, "ghost"), await stage_waiting(harbour, "Quay")
    reader = harbour.reader()

    await reader.send_verdict("reject", [ghost, quay], reason="Nobody saw it")
    assert [await status_of(harbour, each) for each in (ghost, quay)] == ["rejected", "rejected"]
    page = await reader.read_page(f"/thing/{ghost}")
    assert 'value="accept"' in page
    assert 'value="reject"' not in page

    await reader.send_verdict("accept", [ghost], reason="They did")
    assert await status_of(harbour, ghost) == "accepted"


async def test_a_conflict_is_shown_with_both_sides_and_waived(harbour: Harbour) -> None:
    reader = harbour.reader()
    page = await reader.read_page(f"/review?space={harbour.space}&what=conflicts")
    part = page.split("<bdi>Odo falls</bdi>")[1]
    other = re.search(r'name="other" value="([0-9a-f-]+)"', part)
    assert other is not None
    assert "May contradict" in part
    assert "Odo Brand is dead" in part
    assert "The rail gives way" in part

    falls = await stage_waiting(harbour, "Odo falls")
    answer = await reader.send_verdict("waive", [falls], other=other[1], reason="It killed him")

    assert answer.status == 303
    page = await reader.read_page(f"/review?space={harbour.space}&what=conflicts")
    assert "Odo falls" not in page


async def test_two_duplicates_are_compared_and_merged(harbour: Harbour) -> None:
    reader = harbour.reader()
    page = await reader.read_page("/review?space=account&what=duplicates")
    assert "or is the same as" in page
    assert re.search(r'class="changed"><th scope="row"><bdi>email', page)
    assert not re.search(r'class="changed"><th scope="row"><bdi>type', page)
    assert "Only part of the entities was compared" not in page
    kept, merged = re.findall(r'name="of" value="([0-9a-f-]+)"', page)
    assert (await reader.send_verdict("merge", [kept, merged], reason="A slip")).status == 303

    assert "or is the same as" not in await reader.read_page(
        "/review?space=account&what=duplicates"
    )
    moved = await reader.get(f"/thing/{merged}")
    assert (moved.status, moved.first_header("location")) == (303, f"/thing/{kept}")


async def test_an_entity_page_links_to_possible_duplicates(
    harbour: Harbour, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("canonry.inspector.views.review.COMPARED_MAX", 1)
    reader = harbour.reader()
    everything = await reader.read_page("/review?space=account&what=duplicates")
    assert "Only part of the entities was compared" in everything
    assert "or is the same as" not in everything

    page = await reader.read_page(f"/thing/{harbour.ids['record']}")
    link = re.search(r'href="(/review[^"]+what=duplicates&amp;about=[^"]+)"', page)
    assert link is not None
    assert "or is the same as" in await reader.read_page(unescape(link[1]))


async def test_retraction_and_ending_are_different_actions(harbour: Harbour) -> None:
    reader = harbour.reader()
    fact, relation = harbour.ids["fact"], harbour.ids["relation"]

    assert (await reader.send_verdict("end", [relation], when="1207-11-05")).status == 303
    assert (await reader.send_verdict("retcon", [fact], reason="A lie", along="yes")).status == 303

    assert "retracted" in await reader.read_page(f"/thing/{fact}")
    assert "A lie" in await reader.read_page(f"/thing/{fact}")
    assert "5 November 1207" in await reader.read_page(f"/thing/{relation}")


async def test_rules_decide_when_asked(harbour: Harbour) -> None:
    quay = await stage_waiting(harbour, "Quay")

    await harbour.reader().send_verdict("judge", [quay])

    assert await status_of(harbour, quay) in {"accepted", "rejected", "pending"}
    assert "gate:" in await harbour.reader().read_page(f"/thing/{quay}")


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
async def test_a_refused_action_is_reported_and_nothing_is_written(
    harbour: Harbour, verdict: str, more: dict[str, str]
) -> None:
    lantern = await stage_waiting(harbour, "lantern")
    before = await harbour.driver.heads()

    answer = await harbour.reader().send_verdict(verdict, [lantern], space=harbour.space, **more)

    assert answer.status == 400
    assert 'class="warning"' in answer.text
    assert await harbour.driver.heads() == before


@pytest.mark.parametrize("agent", ROLES)
async def test_each_role_sees_only_its_permitted_actions(harbour: Harbour, agent: str) -> None:
    reader = harbour.reader(agent)
    for path in harbour.page_addresses():
        page = await reader.read_page(path)
        if agent not in MAY_DECIDE:
            assert 'action="/decide"' not in page, path
    actions: dict[str, tuple[list[str], dict[str, str]]] = {
        "accept": ([await stage_waiting(harbour, "lantern")], {"reason": "r"}),
        "reject": ([await stage_waiting(harbour, "ghost")], {"reason": "r"}),
        "judge": ([await stage_waiting(harbour, "Quay")], {}),
        "end": ([harbour.ids["relation"]], {}),
        "merge": ([harbour.ids["Odo Brand"], harbour.ids["Odo Brandt"]], {}),
        "retcon": ([harbour.ids["fact"]], {"reason": "r"}),
    }
    for verdict, (of, more) in actions.items():
        before = await harbour.driver.heads()
        answer = await reader.send_verdict(verdict, of, space=harbour.space, **more)
        if agent in MAY_DECIDE:
            assert answer.status == 303, (verdict, answer.text)
        else:
            assert answer.status == 403
            assert await harbour.driver.heads() == before


async def test_a_read_only_server_offers_no_decisions(harbour: Harbour) -> None:
    driver = harbour.driver
    gateway = Gateway(driver.canon, select_toolsets([CANON], read_only=True))
    reader = a_reader(ToolDriver(driver.canon, gateway, driver.clock))

    for path in harbour.page_addresses():
        assert 'action="/decide"' not in await reader.read_page(path)
    answer = await reader.send_verdict("accept", [harbour.ids["proposal"]], reason="r")
    assert answer.status >= 400


async def test_a_waiting_page_learns_of_decisions_by_others(harbour: Harbour) -> None:
    reader = harbour.reader("Reader")
    path = f"/review/head?space={harbour.space}"
    page = await reader.read_page(f"/review?space={harbour.space}")
    head = json.loads((await reader.get(path)).text)["head"]

    assert f'data-head="{head}"' in page
    await harbour.reader().send_verdict(
        "reject", [await stage_waiting(harbour, "ghost")], reason="no"
    )
    assert json.loads((await reader.get(path)).text)["head"] == head + 1


async def test_a_document_about_another_entity_is_split_off(harbour: Harbour) -> None:
    card = "BEGIN:VCARD\nVERSION:3.0\nFN:Jo Berg\nEMAIL:jo@berg.example\nORG:{}\nEND:VCARD\n"
    for name in ("Acme", "Alder"):
        text = card.format(name)
        await harbour.driver.call("tell", text=text, title=f"{name}.vcf", space="account")
    (jo,) = (await harbour.driver.call("find", space="account", type="contact"))["found"]
    reader = harbour.reader()
    page = await reader.read_page(f"/thing/{jo['id']}?space=account")
    of, back = [jo["id"], "Alder.vcf"], "/review?space=account"
    answer = await reader.send_verdict("split", of, back=back, space="account")
    found = (await harbour.driver.call("find", space="account", type="contact"))["found"]

    assert 'id="split"' in page
    assert answer.status == 303
    assert len({each["id"] for each in found}) == 2
    assert "Split off." in await reader.read_page(answer.first_header("location"))
