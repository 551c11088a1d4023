"""Every page stands at a time of the world and at one of the log, and any two are compared."""

import re
from base64 import b64encode
from typing import Any

import pytest

from canonry.gateway.call import Gateway
from canonry.records.toolset import TRUTH
from canonry.values.moments import SECOND, render_instant
from tests.inspector.kit import Harbour, Reader, a_harbour, a_reader, principal_of
from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio
ROWS = b"Date,Payee,Amount\n03/04/2024,Alder,1.250\n05/04/2024,Birch,2.750\n"


@pytest.fixture
async def harbour() -> Harbour:
    return await a_harbour(world=False)


async def later_moment(harbour: Harbour) -> str:
    """A moment after all that is there, before whatever comes next."""
    harbour.driver.clock.move_by(SECOND)
    known = render_instant(harbour.driver.clock.now())
    harbour.driver.clock.move_by(SECOND)
    return known


async def test_a_scene_is_shown_as_it_was_known(harbour: Harbour) -> None:
    reader, scene = harbour.reader(), harbour.ids["scene"]
    known = await later_moment(harbour)
    await harbour.driver.call(
        "tell", scene=scene, turns=[{"by": "gm", "text": "A bell tolls."}], space=harbour.space
    )

    assert "A bell tolls" in await reader.read_page(f"/thing/{scene}")
    then = await reader.read_page(f"/thing/{scene}?known={known}")
    assert "A bell tolls" not in then
    assert "The rail gives way" in then
    story = await reader.read_page(f"/thing/{harbour.ids['story']}?known={known}")
    assert "Night" in story

    compared = await reader.read_page(f"/difference/{scene}?known1={known}")
    assert compared.count("A bell tolls") == compared.count("<ins><bdi>A bell tolls") > 0
    early = await reader.get(f"/thing/{scene}?known=2000-01-01")
    assert (early.status, "not known at that time" in early.text) == (400, True)


async def test_an_earlier_pending_item_is_shown_without_decisions(harbour: Harbour) -> None:
    reader = harbour.reader()
    known = await later_moment(harbour)
    rows = (await harbour.driver.call("review", space=harbour.space, what="pending"))["waiting"]
    proposal = rows[0]["id"]
    await reader.send_verdict("reject", [proposal], reason="no")
    path = f"/review?space={harbour.space}"

    assert f"p-{proposal}" not in await reader.read_page(path)
    then = await reader.read_page(f"{path}&known={known}")
    assert f"p-{proposal}" in then
    assert 'action="/decide"' not in then
    assert "0 waiting" not in then


async def test_a_document_is_shown_as_it_was_known(harbour: Harbour) -> None:
    reader, known = harbour.reader(), await later_moment(harbour)
    document = harbour.ids["document"]
    passage = (await harbour.driver.call("get", of=document, full=True))["passages"][0]["id"]
    claim = {"kind": "fact", "says": "The Petrel is fast", "about": ["Ilsa Vane"]}
    said = await harbour.driver.call(
        "propose", claims=[claim], evidence=[passage], space=harbour.space
    )
    assert said["accepted"] == 1

    assert "The Petrel is fast" in await reader.read_page(f"/thing/{document}")
    assert "The Petrel is fast" not in await reader.read_page(f"/thing/{document}?known={known}")


async def test_two_moments_of_a_space_are_compared(harbour: Harbour) -> None:
    reader, known = harbour.reader(), await later_moment(harbour)
    path = f"/difference?space={harbour.space}"
    assert "The two moments are equal" in await reader.read_page(path)
    await reader.send_verdict("retcon", [harbour.ids["fact"]], reason="A lie")
    retracted = (await harbour.driver.call("get", of=harbour.ids["fact"]))["says"]

    page = await reader.read_page(f"{path}&known1={known}")
    assert f"<del><bdi>{retracted}" in page
    assert harbour.ids["Ilsa Vane"] not in page, "nothing became of her"
    back = await reader.read_page(f"{path}&known2={known}")
    assert f"<ins><bdi>{retracted}" in back


async def test_two_times_of_a_world_are_compared(harbour: Harbour) -> None:
    reader, relation = harbour.reader(), harbour.ids["relation"]
    await reader.send_verdict("end", [relation], when="1207-11-05")

    path = f"/difference?space={harbour.space}&at1=1207-11-04&at2=1207-11-06"
    page = await reader.read_page(path)

    assert f"/thing/{relation}" in page
    assert harbour.ids["fact"] not in page


@pytest.mark.parametrize(
    "path", ["/difference?space=nobody", "/difference?at1=soon", "/difference?known1=x"]
)
async def test_invalid_moments_are_refused(harbour: Harbour, path: str) -> None:
    given = path if "space" in path else f"{path}&space={harbour.space}"
    assert (await harbour.reader().get(given)).status in {400, 404}


async def a_statement() -> tuple[Reader, ToolDriver, str]:
    driver = make_driver("Solo")
    clerk = Gateway(driver.canon, [TRUTH])
    given = {
        "file_content": b64encode(ROWS).decode(),
        "mime_type": "text/csv",
        "original_filename": "april.csv",
    }
    result = await clerk.call("ingest", given, principal_of(driver))
    assert result.error is None, result.text
    return a_reader(driver), driver, str(result.body["source_id"])


async def test_an_unclear_value_is_shown_and_settled_for_all() -> None:
    reader, driver, source = await a_statement()
    path = "/review?space=account&what=unclear"
    page = await reader.read_page(path)
    assert "1.250" in page
    (spot,) = set(re.findall(r'href="(/thing/[^"]*value=1\.250)#found"', page))
    assert re.search(r"1\.250.*line 2 .*Amount", await reader.read_page(spot), re.DOTALL)

    form: dict[str, Any] = {"field": "amount", "read_as": "comma", "back": path}
    answer = await reader.send_verdict("settle", [source], **form)

    assert answer.status == 303, answer.text
    assert "1.250" not in await reader.read_page(path)
    assert "Saved as your correction" in await reader.read_page(answer.first_header("location"))
    rows = (await driver.call("find", space="account", full=True))["found"]
    found = [await driver.call("get", of=row["id"], space="account") for row in rows]
    assert {1250, 2750} <= {each.get("fields", {}).get("amount") for each in found}


@pytest.mark.parametrize(
    "more", [{"read_as": "loudly", "field": "amount"}, {"read_as": "comma"}, {"field": "amount"}]
)
async def test_an_unreadable_answer_writes_nothing(more: dict[str, str]) -> None:
    reader, driver, source = await a_statement()
    before = await driver.heads()
    answer = await reader.send_verdict("settle", [source], **more)
    assert answer.status in {303, 400}
    assert await driver.heads() == before


async def test_a_caller_without_permission_settles_nothing() -> None:
    _, driver, source = await a_statement()
    reader = a_reader(make_driver("Contributor", driver))
    assert "read_as" not in await reader.read_page("/review?space=account&what=unclear")
    answer = await reader.send_verdict("settle", [source], field="amount", read_as="comma")
    assert answer.status == 403


def undone_by(verdict: str, page: str) -> list[str]:
    form = rf'name="verdict" value="{verdict}">\s*<input type="hidden" name="of" value="([^"]+)'
    return re.findall(form, page)


async def test_keeping_two_look_alikes_separate_can_be_undone(harbour: Harbour) -> None:
    reader, path = harbour.reader(), "/review?space=account&what=duplicates"
    page = await reader.read_page(path)
    two = re.findall(r'name="of" value="([0-9a-f-]+)"', page)

    answer = await reader.send_verdict("separate", two, back=path, space="account")
    page = await reader.read_page(answer.first_header("location"))
    assert "or is the same as" not in page
    (said,) = undone_by("end", page)
    relation = await reader.read_page(f"/thing/{said}")
    assert 'value="end"' in relation, "it can be ended there as well"

    await reader.send_verdict("end", [said], space="account")
    assert "or is the same as" in await reader.read_page(path)


async def test_a_merge_is_undone_on_the_page_where_it_was_made(harbour: Harbour) -> None:
    reader, path = harbour.reader(), "/review?space=account&what=duplicates"
    two = re.findall(r'name="of" value="([0-9a-f-]+)"', await reader.read_page(path))
    answer = await reader.send_verdict("merge", two, back=path, space="account")
    undo = undone_by("separate", await reader.read_page(answer.first_header("location")))
    assert undo == two[1:]

    await reader.send_verdict("separate", undo, space="account")
    assert "or is the same as" in await reader.read_page(path)


async def test_an_ended_item_links_to_the_item_that_ended_it(harbour: Harbour) -> None:
    claim = {"kind": "fact", "about": ["Odo Brand"]}
    ids: list[str] = []
    for town, when in (("Marrow", "1207-01-01"), ("Birch", "1208-01-01")):
        claims = [{**claim, "says": f"Odo Brand lives in {town}", "when": when}]
        reply = await harbour.driver.call("propose", said=town, claims=claims, space="Saltmere")
        ids.append(reply["verdicts"][0]["id"])

    page = await harbour.reader().read_page(f"/thing/{ids[0]}")

    assert re.search(rf'<dt>Ended</dt>.*<a href="/thing/{ids[1]}[^"]*"', page)
