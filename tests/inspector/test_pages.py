"""Every page tells what the tools tell, to whom they tell it, in the language of who reads it."""

import re
from html import unescape
from typing import Any

import pytest

from canonry.assistant import CANON
from canonry.gateway.call import Gateway
from canonry.gateway.offers import select_toolsets
from canonry.inspector.views.spaces import seen_graph
from canonry.narrative.toolset import NARRATIVE
from canonry.testing.clocks import a_caller
from tests.inspector.kit import Harbour, a_harbour, a_reader
from tests.toolsets.canon.kit import ToolDriver, make_driver
from tests.toolsets.world.kit import an_isle

pytestmark = pytest.mark.anyio
NOBODY = "11111111-1111-4111-8111-111111111111"
SECRET = "The lamp was put out by the mayor"


@pytest.fixture
async def harbour() -> Harbour:
    return await a_harbour()


async def read_log(harbour: Harbour) -> list[dict[str, Any]]:
    """All that the log of Saltmere tells."""
    found: list[dict[str, Any]] = []
    cursor, left = "0", 1
    while left:
        reply = await harbour.driver.call("changes", space=harbour.space, since=cursor, limit=50)
        found += reply["changes"]
        cursor, left = reply["cursor"], reply["left"]
    return found


def page_words(page: str) -> str:
    """The words of a page."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page)))


async def test_every_page_exists_in_both_languages(harbour: Harbour) -> None:
    for language, word in (("en", "Health"), ("de-AT,de;q=0.9", "Zustand")):
        reader = harbour.reader()
        reader.language = language
        for path in harbour.page_addresses():
            page = await reader.read_page(path)
            assert f'<html lang="{language[:2]}">' in page
            assert word in page, path
            assert page.count("<h1>") == 1, path


async def test_an_empty_store_explains_itself() -> None:
    words = page_words(await a_reader(make_driver()).read_page("/"))

    for each in ("canonry demo", "canonry import", "canonry connect"):
        assert each in words


async def test_an_item_page_agrees_with_get_and_why(harbour: Harbour) -> None:
    odo = harbour.ids["Odo Brand"]
    reply = await harbour.driver.call("get", of=odo, full=True)
    why = await harbour.driver.call("why", of=odo, full=True)

    page = await harbour.reader().read_page(f"/thing/{odo}")

    words = page_words(page)
    for each in (*reply["tags"], *(row["says"] for row in (*reply["facts"], *reply["relations"]))):
        assert each in words
    for row in (*reply["facts"], *reply["relations"], *why["rests_on_it"]):
        assert f'href="/thing/{row["id"]}"' in page
    for row in why["because"]:
        assert (row.get("says") or row["name"]) in words
    assert f"entity:{odo}" in words


async def test_a_field_shows_its_authority_and_evidence(harbour: Harbour) -> None:
    page = await harbour.reader().read_page(f"/thing/{harbour.ids['Odo Brandt']}")

    row = re.search(r"<bdi>age</bdi>.*?</tr>", page, re.DOTALL)
    assert row is not None
    assert "40" in row[0]
    assert "the game master" in row[0]
    assert f'href="/thing/{harbour.ids["turn"]}"' in row[0]


async def test_the_past_is_shown_as_the_tools_report_it(harbour: Harbour) -> None:
    odo = harbour.ids["Odo Brand"]
    changes = await read_log(harbour)
    reader = harbour.reader()

    seen = set()
    for each in changes:
        outcome = await harbour.driver.outcome("get", {"of": odo, "as_known_at": each["when"]})
        answer = await reader.get(f"/thing/{odo}?known={each['when']}")
        if outcome.error is not None:
            assert answer.status == 404
            assert outcome.error.message in unescape(answer.text)
            continue
        tags = re.findall(r'<span class="tag"><bdi>(\w+)</bdi>', answer.text.split("<h1>")[0])
        assert tags == outcome.body.get("tags", [])
        seen.add(tuple(tags))
    assert seen == {("alive",), ("dead",)}


async def test_two_moments_differ_as_the_tools_report(harbour: Harbour) -> None:
    odo = harbour.ids["Odo Brand"]
    changes = await read_log(harbour)
    born = next(e["when"] for e in changes if any(w.get("id") == odo for w in e["what"]))

    page = await harbour.reader().read_page(f"/difference/{odo}?known1={born}")

    row = re.search(r'<tr class="changed"><th scope="row"><bdi>tags</bdi>.*?</tr>', page, re.DOTALL)
    assert row is not None
    assert re.search(r"<del>.*alive.*</del>.*<ins>.*dead.*</ins>", row[0], re.DOTALL)
    assert not re.search(r'class="changed"><th scope="row"><bdi>name', page)


async def test_a_moment_before_an_item_was_known_says_so(harbour: Harbour) -> None:
    odo = harbour.ids["Odo Brand"]
    page = await harbour.reader().read_page(f"/difference/{odo}?known1=1999-01-01")

    assert 'class="warning"' in page


async def test_a_search_shows_which_words_matched(harbour: Harbour) -> None:
    reader = harbour.reader()
    page = await reader.read_page(f"/find?space={harbour.space}&q=keeps+lamp+Marrow")

    assert re.search(r"keeps the light.*?<mark>keeps</mark>", page, re.DOTALL)
    assert "<mark>lamp</mark>" not in page
    narrowed = await reader.read_page(f"/find?space={harbour.space}&q=Marrow&kind=entity")
    assert 'class="kind kind-fact"' not in narrowed
    none = await reader.read_page(f"/find?space={harbour.space}&q=zeppelin")
    assert "Nothing matches" in none


async def test_a_scene_shows_what_each_turn_made_canon_and_what_waits(harbour: Harbour) -> None:
    page = await harbour.reader().read_page(f"/thing/{harbour.ids['scene']}")

    first, second = page.split('class="turn speaker-')[1:3]
    assert "The rail gives way" in first
    assert "Odo falls" not in first.split("outcome")[0]
    assert "I take the silver lantern" in second
    assert "Ilsa carries the silver lantern" in page
    assert 'class="status status-accepted"' in page
    assert 'class="status status-pending"' in page


async def test_a_document_marks_the_passages_that_items_cite(harbour: Harbour) -> None:
    page = await harbour.reader().read_page(f"/thing/{harbour.ids['document']}")

    assert "Depends on it:" in page
    assert "Odo Brand keeps the light at Marrow" in page_words(page)


async def test_the_map_shows_locations_of_people_at_a_tick(harbour: Harbour) -> None:
    reader = harbour.reader()
    page = await reader.read_page(f"/map?space={harbour.world}")
    early = await reader.read_page(f"/map?space={harbour.world}&tick=0")

    assert page.count("<circle") == len(an_isle().locations)
    assert "Inn" in page_words(page)
    assert 'max="50000000" value="0"' in early


async def test_the_log_shows_that_its_commits_are_chained(harbour: Harbour) -> None:
    page = await harbour.reader().read_page(f"/log?space={harbour.space}&until=5")

    assert page.count(">matches the commit before<") == 5
    assert "does not match" not in page
    assert "Newer" in page


async def test_a_secret_is_on_no_page_of_uninformed_readers(harbour: Harbour) -> None:
    keeper = ToolDriver(
        harbour.driver.canon, harbour.driver.gateway, harbour.driver.clock, "CanonKeeper"
    )
    made = await keeper.call(
        "neo4j_create_fact",
        universe_id=harbour.space,
        statement=SECRET,
        involved_entity_ids=[harbour.ids["Odo Brand"]],
        confidence=1.0,
        authority="gm",
        evidence_refs=[f"turn:{harbour.ids['turn']}"],
        audience=["gm"],
    )
    pages = [*harbour.page_addresses(), f"/find?space={harbour.space}&q=mayor+lamp"]
    reader, master = harbour.reader("Reader"), harbour.reader("Keeper")

    for path in pages:
        text = await reader.read_page(path)
        assert SECRET not in text.replace("mayor+lamp", ""), path
        assert made["fact_id"] not in text, path
    hidden = await reader.get(f"/thing/{made['fact_id']}")
    absent = await reader.get(f"/thing/{NOBODY}")
    assert hidden.status == absent.status >= 400
    assert hidden.text.replace(made["fact_id"], NOBODY) == absent.text
    assert SECRET in await master.read_page(f"/thing/{made['fact_id']}")
    assert "only the game masters" in await master.read_page(f"/thing/{made['fact_id']}")


async def test_a_forbidden_space_looks_missing(harbour: Harbour) -> None:
    reader = harbour.reader("Reader", spaces=frozenset({harbour.world}))

    assert "Saltmere" not in await reader.read_page("/")
    for path in harbour.page_addresses():
        if harbour.space in path or any(each in path for each in harbour.ids.values()):
            answer = await reader.get(path)
            assert answer.status in {400, 404}, path
            assert "Odo" not in answer.text.replace("Odo+", ""), path


async def test_a_server_without_the_toolset_says_that_it_has_no_pages() -> None:
    driver = make_driver()
    other = ToolDriver(driver.canon, Gateway(driver.canon, [NARRATIVE]), driver.clock)
    answer = await a_reader(other).get("/")

    assert answer.status == 404
    assert "toolset canon" in answer.text


async def test_an_unserved_tool_removes_its_pages(harbour: Harbour) -> None:
    few = ToolDriver(
        harbour.driver.canon,
        Gateway(harbour.driver.canon, select_toolsets([CANON], only=("spaces", "find"))),
        harbour.driver.clock,
    )
    reader = a_reader(few)

    assert (await reader.get(f"/find?space={harbour.space}")).status == 200
    for path in (f"/thing/{harbour.ids['fact']}", f"/review?space={harbour.space}", "/health"):
        answer = await reader.get(path)
        assert answer.status == 404
        assert "<h1>" in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "/thing/nobody",
        "/thing/%00",
        "/find?space=Nowhere",
        "/map?space=account",
        "/timeline?space=account&since=yesterdaze",
        "/graph?about=Nobody",
        "/difference/00000000-0000-0000-0000-000000000000",
        "/nowhere",
    ],
)
async def test_an_undisplayable_item_gives_an_error_page(harbour: Harbour, path: str) -> None:
    answer = await harbour.reader().get(path)

    assert 400 <= answer.status < 500, answer.text
    assert "<h1>" in answer.text


@pytest.mark.parametrize(
    "query",
    [
        "from=-1", "from=9999999999", "from=x", "until=-3", "until=99999999999999999999",
        "tick=1e9", "hops=99", "kind=nonsense", "at=1207-11-03", "what=nonsense",
        "known=2999-01-01",
    ],
)  # fmt: skip
async def test_invalid_parameters_break_no_page(harbour: Harbour, query: str) -> None:
    reader = harbour.reader()
    for path in harbour.page_addresses():
        if path.startswith("/thing") and query.startswith(("at", "known")):
            continue
        answer = await reader.get(f"{path}{'&' if '?' in path else '?'}{query}")
        assert answer.status < 500, (path, query, answer.text[-600:])


async def test_a_small_graph_shows_the_most_connected_nodes_and_a_note(
    harbour: Harbour,
) -> None:
    claim = {"kind": "relation", "from": "Ilsa Vane", "type": "OWNS", "to": "Marrow Lighthouse"}
    await harbour.driver.call(
        "propose", claims=[claim], evidence=[harbour.ids["turn"]], space=harbour.space
    )
    caller = a_caller("Solo")

    small = await seen_graph(harbour.driver.canon, caller, {"space": harbour.space, "most": 2})
    whole = await seen_graph(harbour.driver.canon, caller, {"space": harbour.space})

    assert {one for _, *ends, _ in small["edges"] for one in ends} == {
        each[0] for each in small["nodes"]
    }
    assert (len(small["nodes"]), len(whole["nodes"])) == (2, 3)
    assert (small["more"], whole["more"]) == (True, False)


async def test_a_map_draws_every_place_and_as_many_names_as_fit(
    harbour: Harbour, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = harbour.reader()
    whole = await reader.read_page(f"/map?space={harbour.world}")
    places = whole.count('<li class="card">')
    assert "List all locations" not in whole
    monkeypatch.setattr("canonry.inspector.views.atlas.LISTED_MAX", 1)

    page = await reader.read_page(f"/map?space={harbour.world}")

    assert page.count('<li class="card">') == 1
    assert page.count("<circle") == places > 1
    assert f"{places - 1} more" in page
    link = re.search(r'href="(/find[^"]+)">List all locations', page)
    assert link is not None
    assert page_words(await reader.read_page(unescape(link[1]))).count("location") >= places


async def test_the_graph_is_drawn_by_the_bundled_library(harbour: Harbour) -> None:
    reader = harbour.reader()

    page = await reader.read_page(f"/graph?space={harbour.space}")
    script = re.findall(r'src="([^"]*cytoscape[^"]*)"', page)

    assert len(script) == 1
    assert "needs a part that was not built in" not in page
    assert (await reader.get(script[0])).status == 200
