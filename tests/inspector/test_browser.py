"""The pages in a real browser: by keyboard alone, by two at once, without scripts, and attacked."""

import http.server
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.inspector.browser import (
    SEEN,
    Watched,
    a_browser,
    find_barriers,
    host_pages,
    pages_of,
    watch_tab,
)
from tests.inspector.kit import Harbour, a_harbour, run_apart
from tests.inspector.test_hostile import a_hostile_harbour
from tests.toolsets.canon.kit import make_driver

MANY = 30


@dataclass
class Site:
    """A served harbour."""

    harbour: Harbour
    address: str

    def call_tool(self, tool_: str, **arguments: Any) -> Any:
        return run_apart(self.harbour.driver.call(tool_, **arguments))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as found:
        yield found


@pytest.fixture
def site() -> Iterator[Site]:
    harbour = run_apart(a_harbour())
    with host_pages(harbour.reader()) as address:
        yield Site(harbour, address)


@pytest.fixture
def tab(browser: Browser, site: Site) -> Iterator[Watched]:
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        seen = watch_tab(context, site.address)
        yield seen
        assert seen.faults == []


def on_foreign_page(content: str) -> tuple[http.server.ThreadingHTTPServer, str]:
    """A page of somebody else, on this machine under another name."""

    class Foreign(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it is called
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Foreign)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://localhost:{server.server_port}/"


def page_width(page: Page) -> int:
    found: int = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return found


def test_every_page_is_accessible_error_free_and_self_contained(tab: Watched, site: Site) -> None:
    for path in pages_of(site.harbour):
        tab.page.set_viewport_size({"width": 1280, "height": 900})
        tab.page.emulate_media(color_scheme="light", reduced_motion="reduce")
        page = tab.open_page(path)
        assert find_barriers(page) == [], path
        assert page_width(page) <= 0, path
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size({"width": 390, "height": 800})
        assert find_barriers(page, rules=SEEN) == [], path
        assert page_width(page) <= 0, path
        assert tab.faults == [], path


def test_thirty_proposals_are_decided_by_keyboard_alone(tab: Watched, site: Site) -> None:
    ann = make_driver("Contributor", site.harbour.driver)
    ilsa = site.harbour.ids["Ilsa Vane"]
    turn = site.harbour.ids["turn"]
    claims = [{"kind": "fact", "says": f"Ilsa owns coin {n}", "about": [ilsa]} for n in range(MANY)]
    for some in (claims[:15], claims[15:]):
        run_apart(ann.call("propose", claims=some, evidence=[turn], space="Saltmere"))
    page = tab.open_page(f"/review?space={site.harbour.space}&what=pending")
    left = site.call_tool("review", what="pending", space="Saltmere")["total"]

    for number in range(MANY):
        while "coin" not in (page.locator(".waiting.current h2").text_content() or ""):
            page.keyboard.press("j")
        page.keyboard.press("r" if number % 3 == 0 else "a")
        page.keyboard.press("Enter")
        left -= 1
        expect(page.locator("#queue")).to_contain_text(f"{left} pending.")

    reported = site.call_tool("find", kinds=["fact"], text="coin", space="Saltmere", limit=50)[
        "found"
    ]
    assert len([row for row in reported if "owns coin" in row["says"]]) == MANY - MANY // 3


def test_a_page_follows_decisions_of_another_reviewer(
    browser: Browser, tab: Watched, site: Site
) -> None:
    path = f"/review?space={site.harbour.space}&what=pending"
    page = tab.open_page(path)
    count = page.locator(".waiting").count()
    assert count >= 2
    with browser.new_context() as other:
        second = watch_tab(other, site.address)
        theirs = second.open_page(path)
        theirs.locator(".waiting form.verdict input[name=reason]").first.fill("no")
        theirs.locator(".waiting form.verdict button[value=reject]").first.click()
        expect(theirs.locator(".waiting")).to_have_count(count - 1)
        assert second.faults == []

    expect(page.locator(".waiting")).to_have_count(count - 1, timeout=10_000)
    expect(page.locator("#live")).to_contain_text("Somebody else has decided")


def test_a_writer_is_not_disturbed_and_a_second_decision_is_reported(
    browser: Browser, tab: Watched, site: Site
) -> None:
    page = tab.open_page(f"/review?space={site.harbour.space}&what=pending")
    first = page.locator(".waiting").first
    proposal = first.get_attribute("data-id")
    page.keyboard.press("a")
    page.keyboard.type("my own reason")
    site.call_tool("decide", verdict="reject", of=[proposal], reason="too late", space="Saltmere")
    page.wait_for_timeout(2_500)
    expect(first.locator("input[data-key=reason]")).to_have_value("my own reason")

    page.keyboard.press("Enter")

    expect(page.locator("#live")).not_to_be_empty()
    reply = site.call_tool("get", of=proposal)
    assert reply["status"] in {"accepted", "rejected"}


def test_the_slider_shows_the_page_as_the_tools_reported_it_then(tab: Watched, site: Site) -> None:
    odo = site.harbour.ids["Odo Brand"]
    page = tab.open_page(f"/timeline?space={site.harbour.space}")
    slider = page.get_by_label("At, as a slider")
    slider.focus()
    with page.expect_navigation():
        slider.press("Home")
    at = page.locator("#time-at").input_value()
    assert at == "1207-11-03T00:00:00Z"

    reply = site.call_tool("timeline", space="Saltmere", to=at)
    shown = page.locator(".line .head a").all_text_contents()
    assert shown == [row["says"] for row in reply["timeline"]]
    page = tab.open_page(f"/thing/{odo}?at={at}")
    then = site.call_tool("get", of=odo, at=at, full=True)
    assert page.locator(".over .tag").all_text_contents() == then.get("tags", [])


def test_the_graph_is_drawn_and_listed(tab: Watched, site: Site) -> None:
    page = tab.open_page(f"/graph?space={site.harbour.space}")

    expect(page.locator("#graph canvas").first).to_be_visible()
    assert page.locator("#graph-list li").count() >= 1


def test_two_thousand_nodes_fill_the_canvas_without_overlap(tab: Watched, site: Site) -> None:
    nodes = [[str(n), f"Node {n}", "character"] for n in range(2_000)]
    edges = [[f"e{n}", str(n // 7), str(n), "KNOWS"] for n in range(1, 2_000)]
    drawn = json.dumps({"nodes": nodes, "edges": edges, "centre": "0"})

    def crowded(route: Route) -> None:
        answer = route.fetch()
        held = r'(id="graph-data">).*?(</script>)'
        body = re.sub(held, lambda part: part[1] + drawn + part[2], answer.text(), flags=re.DOTALL)
        route.fulfill(response=answer, body=body)

    tab.page.route("**/graph?**", crowded)
    page = tab.open_page(f"/graph?space={site.harbour.space}")
    page.wait_for_function("document.getElementById('graph')._cyreg?.cy.nodes().length === 2000")

    result = page.evaluate(
        """() => {
          const held = document.getElementById("graph"), cy = held._cyreg.cy;
          const boxes = cy.nodes().map((one) => one.renderedBoundingBox({ includeLabels: false }));
          boxes.sort((one, other) => one.x1 - other.x1);
          let covered = 0;
          boxes.forEach((one, at) => {
            for (let n = at + 1; n < boxes.length && boxes[n].x1 < one.x2; n += 1)
              if (boxes[n].y1 < one.y2 && one.y1 < boxes[n].y2) covered += 1;
          });
          const all = cy.elements().renderedBoundingBox();
          return { covered, wide: all.w / held.clientWidth, high: all.h / held.clientHeight };
        }"""
    )
    assert result["covered"] == 0
    assert result["wide"] > 0.6
    assert result["high"] > 0.6


def test_the_map_plays_over_time(tab: Watched, site: Site) -> None:
    page = tab.open_page(f"/map?space={site.harbour.world}&tick=0")
    page.get_by_role("button", name="Play").click()

    expect(page.locator("#tick")).not_to_have_value("0")
    page.get_by_role("button", name="Stop").click()


def test_the_first_keyboard_stop_skips_the_menu(tab: Watched, site: Site) -> None:
    page = tab.open_page("/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#quick")).to_be_focused()


def test_pages_work_without_scripts(browser: Browser, site: Site) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        seen = watch_tab(context, site.address)
        for path in pages_of(site.harbour):
            expect(seen.open_page(path).locator("h1")).to_be_visible()
        page = seen.open_page(f"/review?space={site.harbour.space}&what=pending")
        page.locator("form.verdict input[name=reason]").first.fill("I was there")
        page.locator("form.verdict button[value=accept]").first.click()
        expect(page.locator("p.good")).to_contain_text("Accepted.")
        assert seen.faults == []


def test_hostile_texts_run_nowhere(browser: Browser) -> None:
    harbour = run_apart(a_hostile_harbour())
    with host_pages(harbour.reader()) as address, browser.new_context() as context:
        seen = watch_tab(context, address)
        for path in pages_of(harbour):
            page = seen.open_page(path)
            assert page.locator("img[src=x]").count() == 0, path
            assert page_width(page) <= 0, path
            assert seen.faults == [], path


def test_no_foreign_page_frames_the_inspector(browser: Browser, site: Site) -> None:
    server, foreign = on_foreign_page(f'<iframe src="{site.address}/"></iframe>')
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(foreign)
        assert "Saltmere" not in page.frames[1].content()
    server.shutdown()
    server.server_close()


def test_no_foreign_page_decides_for_a_visiting_user(browser: Browser, site: Site) -> None:
    proposal = site.harbour.ids["proposal"]
    fields = {"verdict": "reject", "of": proposal, "reason": "haha", "space": site.harbour.space}
    inputs = "".join(f'<input name="{k}" value="{v}">' for k, v in fields.items())
    form = f'<form method="post" action="{site.address}/decide">{inputs}</form>'
    script = f"""<script>
        fetch({site.address + "/decide"!r}, {{method: "POST", credentials: "include",
            headers: {{"content-type": "application/x-www-form-urlencoded"}},
            body: {urlencode(fields)!r}}}).catch(() => {{}});
        setTimeout(() => document.forms[0].submit(), 300);</script>"""
    before = run_apart(site.harbour.driver.heads())
    server, foreign = on_foreign_page(form + script)
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{site.address}/")
        page.goto(foreign)
        page.wait_for_url(f"{site.address}/decide")
        assert run_apart(site.harbour.driver.heads()) == before
    server.shutdown()
    server.server_close()
