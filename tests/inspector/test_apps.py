"""A client shows a view beside a reply, in the reference host of the extension's package."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Frame, Page, expect

from canonry.assistant import CANON
from canonry.gateway.call import Gateway
from canonry.inspector.rendering import APPS, MIME, app_page, with_apps
from canonry.server.binding import tool_entry
from canonry.world.toolset import WORLD
from tests.inspector.browser import SEEN, a_browser, find_barriers
from tests.inspector.kit import Harbour, a_harbour, principal_of, run_apart
from tests.meta.tree import ROOT
from tests.toolsets.canon.kit import make_driver

WEB = ROOT / "web"
HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script>\u202e"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as found:
        yield found


@cache
def the_host(folder: Path) -> str:
    """The reference host as one script."""
    bundler = WEB / "node_modules" / ".bin" / "esbuild"
    out = folder / "host.js"
    given = (bundler, WEB / "host.js", "--bundle", "--format=iife", f"--outfile={out}")
    subprocess.run(given, check=True, capture_output=True, cwd=WEB)
    return out.read_text(encoding="utf-8")


def make_result(reply: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps(reply)}]}


class Hosted:
    """An app in its host."""

    def __init__(self, browser: Browser, folder: Path, call: Callable[..., Any]) -> None:
        self.page: Page = browser.new_page(viewport={"width": 600, "height": 700})
        self.faults: list[str] = []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("dialog", lambda dialog: self.faults.append(dialog.message))
        self.page.on("request", lambda asked: self.faults.append(asked.url))
        self.page.expose_function("callTool", call)
        self.page.evaluate(the_host(folder))

    def show_reply(self, name: str, asked: Any, reply_body: Any, **context: Any) -> Frame:
        self.page.evaluate("given => host(...given)", [app_page(name), asked, reply_body, context])
        return self.page.frames[1]


@pytest.fixture
def harbour() -> Harbour:
    found: Harbour = run_apart(a_harbour())
    return found


def calls_of(harbour: Harbour) -> Callable[..., Any]:
    def call(name: str, given: dict[str, Any]) -> Any:
        outcome = run_apart(harbour.driver.outcome(name, given))
        if outcome.error is not None:
            return {"isError": True, "content": [{"type": "text", "text": outcome.text}]}
        return make_result(outcome.body)

    return call


def test_pending_proposals_are_decided_within_the_reference_host(
    browser: Browser, tmp_path: Path, harbour: Harbour
) -> None:
    ann = make_driver("Contributor", harbour.driver)
    claim = {"kind": "fact", "says": HOSTILE, "about": [harbour.ids["Ilsa Vane"]]}
    run_apart(ann.call("propose", claims=[claim], space="Saltmere"))
    asked = {"what": "pending", "space": "Saltmere"}
    reply = run_apart(harbour.driver.call("review", **asked))
    hosted = Hosted(browser, tmp_path, calls_of(harbour))
    frame = hosted.show_reply("review", asked, make_result(reply), theme="dark")

    expect(frame.locator(".waiting")).to_have_count(reply["total"])
    assert frame.locator("img").count() == 0
    assert frame.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 27)"
    lantern = frame.locator(".waiting", has_text="silver lantern")
    lantern.locator("input").fill("I was there")
    lantern.get_by_role("button", name="Accept").click()
    expect(frame.locator(".waiting")).to_have_count(reply["total"] - 1)
    facts = run_apart(harbour.driver.call("find", kinds=["fact"], space="Saltmere"))["found"]
    assert any("lantern" in row["says"] for row in facts)
    assert hosted.page.evaluate("sizes.length") >= 2
    assert hosted.faults == []


def test_a_refused_decision_is_reported_and_changes_nothing(
    browser: Browser, tmp_path: Path, harbour: Harbour
) -> None:
    asked = {"what": "pending", "space": "Saltmere"}
    reply = run_apart(harbour.driver.call("review", **asked))
    hosted = Hosted(browser, tmp_path, calls_of(harbour))
    frame = hosted.show_reply("review", asked, make_result(reply), locale="de-CH")
    first = frame.locator(".waiting").first
    first.locator("input").fill("")
    first.get_by_role("button", name="Annehmen").click()
    expect(frame.locator(".warning")).to_be_visible()
    expect(frame.locator(".waiting")).to_have_count(reply["total"])


def test_events_are_listed_in_order(browser: Browser, tmp_path: Path, harbour: Harbour) -> None:
    reply = run_apart(harbour.driver.call("timeline", space="Saltmere", limit=1))
    hosted = Hosted(browser, tmp_path, calls_of(harbour))
    frame = hosted.show_reply("timeline", {"space": "Saltmere", "limit": 1}, make_result(reply))
    expect(frame.locator(".ribbon li")).to_contain_text("3 November 1207 Odo falls")
    frame.get_by_role("button").click()
    expect(frame.locator(".ribbon li")).to_contain_text("4 November 1207 Ilsa flees")
    assert barriers_in(frame) == []


def test_the_surrounding_locations_are_drawn(
    browser: Browser, tmp_path: Path, harbour: Harbour
) -> None:
    places = [
        {"id": "a", "name": "Road", "depth": 1, "path": ["west"]},
        {"id": "b", "name": HOSTILE, "depth": 2, "path": ["west", "sideways"]},
    ]
    hosted = Hosted(browser, tmp_path, calls_of(harbour))
    arguments = {"structuredContent": {"neighbors": places}, "content": []}
    frame = hosted.show_reply("map", {"locationId": "x"}, arguments)
    expect(frame.locator("svg circle")).to_have_count(3)
    expect(frame.locator("svg line")).to_have_count(2)
    expect(frame.locator("ul.rows")).to_contain_text("Road west")
    assert hosted.faults == []


def barriers_in(frame: Frame) -> list[str]:
    return find_barriers(frame, rules=SEEN)  # type: ignore[arg-type] # a frame evaluates as a page does


def test_tools_name_their_apps_and_stay_otherwise_unchanged() -> None:
    for plain, shown in zip((CANON, WORLD), with_apps((CANON, WORLD)), strict=True):
        for before, after in zip(plain.tools, shown.tools, strict=True):
            was, entry = tool_entry(before, plain), tool_entry(after, shown)
            named = APPS.get(before.name)
            ui = entry.get("_meta", {}).pop("ui", None)
            assert ui == (named and {"resourceUri": f"ui://canonry/{named}"})
            assert {**entry, "_meta": entry.get("_meta") or was.get("_meta")} == {
                **was,
                "_meta": was.get("_meta"),
            }


def test_a_client_reads_each_app_without_external_addresses() -> None:
    driver = make_driver("Solo")
    gateway = Gateway(driver.canon, with_apps([CANON]))
    for name in ("review", "timeline"):
        reading = gateway.read_resource(f"ui://canonry/{name}", principal_of(driver))
        found, reported = run_apart(reading)
        assert found is not None
        assert (found.mime_type, reported.error) == (MIME, None)
        assert reported.text == app_page(name)
        bare = reported.text.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|\bsrc=|@import|url\(", bare)
