"""A real browser on the pages: Debian's Chromium, driven by Playwright, on a server in a thread."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request
from playwright.sync_api import sync_playwright as playing

from canonry.server.middleware import HostGuard
from canonry.server.options import HttpLimits
from tests.inspector.kit import Harbour, Reader
from tests.meta.tree import ROOT
from tests.server.http_thread import serve_app

REQUIRED: Final = bool(os.environ.get("CANONRY_REQUIRE_BROWSER"))
AXE: Final = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
STATIC: Final = ROOT / "src" / "canonry" / "inspector" / "static"
NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
RULES: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")

SEEN: Final = ("color-contrast", "target-size", "link-in-text-block")
"""Those of them that depend on how wide a page is, and in which colours."""


def find_browser() -> Path:
    """The browser of this machine; without one the test is skipped, or fails where it must run."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    built = AXE.is_file() and (STATIC / "vendor" / "cytoscape.min.js").is_file()
    if found is None or not built:
        missing = "there is no Chromium on this machine" if built else "run `make scripts` first"
        (pytest.fail if REQUIRED else pytest.skip)(missing)
    return Path(str(found))


@contextlib.contextmanager
def a_browser() -> Iterator[Browser]:
    """A browser without a window."""
    path = find_browser()
    with playing() as play:
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def host_pages(reader: Reader) -> Iterator[str]:
    """The address under which the pages of a reader are served."""
    guard = HostGuard(["127.0.0.1:*"], ["http://127.0.0.1:*"])
    with serve_app(guard.wrap_pages(reader.app), HttpLimits()) as port:
        yield f"http://127.0.0.1:{port}"


@dataclass
class Watched:
    """A tab, and whatever it should not have done."""

    page: Page
    address: str
    faults: list[str] = field(default_factory=list)

    def open_page(self, path: str) -> Page:
        """Open a page of ours."""
        self.page.goto(self.address + path, wait_until="load")
        return self.page


def watch_tab(context: BrowserContext, address: str) -> Watched:
    """A tab of which every error and every request that leaves this machine is noted."""
    tab = Watched(context.new_page(), address)

    def say(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            tab.faults.append(f"console: {message.text}")

    def ask(request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme != "data" and parts.hostname != "127.0.0.1":
            tab.faults.append(f"left: {request.url}")
        if request.headers.get("referer"):
            tab.faults.append(f"referrer: {request.headers['referer']}")

    tab.page.on("console", say)
    tab.page.on("request", ask)
    tab.page.on("pageerror", lambda error: tab.faults.append(f"error: {error}"))
    tab.page.on("dialog", lambda dialog: tab.faults.append(f"dialog: {dialog.message}"))
    return tab


def find_barriers(page: Page, *, rules: Sequence[str] = RULES) -> list[str]:
    """Return the barriers that axe-core finds for people who see, hear or move otherwise."""
    # The page's policy lets no foreign script in; what the driver evaluates is none of the page's.
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found: Any = page.evaluate(
        "async rules => (await axe.run(document, {runOnly: rules})).violations", list(rules)
    )
    return [f"{each['id']}: {node['html'][:200]}" for each in found for node in each["nodes"]]


def pages_of(harbour: Harbour) -> list[str]:
    """Each page once."""
    return list(dict.fromkeys(harbour.page_addresses()))
