"""The official Inspector connects from a real browser, straight to the server, across origins."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect
from playwright.sync_api import sync_playwright as playing

from tests.clients.test_clients import HERE, serve_command
from tests.server.http_process import printed_address

PAGE: Final = HERE / "node_modules" / "inspector-client-1" / "dist"
CHROMIUM: Final = shutil.which("chromium") or shutil.which("google-chrome")
PATIENCE: Final = 20_000


class _Files(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Nothing is logged."""


@pytest.fixture
def site() -> Iterator[str]:
    """The address of the Inspector's own page, which is another origin than the server's."""
    if CHROMIUM is None or not PAGE.is_dir():
        assert not os.environ.get("CANONRY_REQUIRE_CLIENTS"), f"{PAGE} is missing: make clients"
        pytest.skip("the Inspector is installed by `make clients`, and needs a Chromium")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, directory=str(PAGE)))
    with server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def open_inspector(site: str, data: Path, *more: str) -> Iterator[Page]:
    """The page of the Inspector, which is told to connect to a server by itself."""
    command = [*serve_command(data), "--http", "127.0.0.1:0", *more]
    quiet = subprocess.DEVNULL
    with (
        subprocess.Popen(
            command, stdin=quiet, stdout=quiet, stderr=subprocess.PIPE, text=True
        ) as server,
        playing() as play,
    ):
        chosen = {
            "lastTransportType": "streamable-http",
            "lastConnectionType": "direct",
            "lastSseUrl": f"{printed_address(server)}/mcp",
        }
        try:
            browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = browser.new_page()
            page.set_default_timeout(PATIENCE)
            page.add_init_script(f"Object.assign(localStorage, {json.dumps(chosen)})")
            page.goto(site)
            page.get_by_role("button", name="Connect", exact=True).click()
            yield page
        finally:
            server.terminate()


def test_the_inspector_connects_from_a_browser_and_lists_tools(site: str, tmp_path: Path) -> None:
    with open_inspector(site, tmp_path, "--http-allowed-origins", site) as page:
        expect(page.get_by_text("Connected", exact=True)).to_be_visible(timeout=PATIENCE)
        page.get_by_role("tab", name="Tools").click()
        page.get_by_role("button", name="List Tools").click()
        expect(page.get_by_text("Create universe", exact=True)).to_be_visible(timeout=PATIENCE)


def test_a_browser_blocks_the_inspector_from_a_disallowed_origin(site: str, tmp_path: Path) -> None:
    with open_inspector(site, tmp_path, "--http-allowed-origins", "https://canon.example") as page:
        expect(page.get_by_text("Connection error", exact=True)).to_be_visible(timeout=PATIENCE)
