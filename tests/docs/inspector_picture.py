"""The picture of the inspector on the front page: `python -m tests.docs.inspector_picture`.

It shows a page of the store that the tutorial of the game master leaves, in Chromium. Take it again
when the pages of the inspector change; no test compares it.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Final

from playwright.sync_api import ViewportSize, sync_playwright

from canonry.canon.session.caller import LastUsed
from tests.docs.markdown import ROOT
from tests.docs.tutorials import CALL, real_ids
from tests.inspector.browser import host_pages
from tests.inspector.kit import a_reader, run_apart
from tests.toolsets.canon.kit import ToolDriver, make_driver
from tests.toolsets.canon.playing import ID

PICTURE: Final = ROOT / "docs" / "pictures" / "inspector.png"
TUTORIAL: Final = ROOT / "docs" / "tutorials" / "game-master.md"
SHOWN: Final = "Odo Brand is dead"
SIZE: Final[ViewportSize] = {"width": 1000, "height": 720}


async def a_played_store() -> tuple[ToolDriver, str]:
    """Return a store after the calls of the tutorial, and the id of the fact that is shown."""
    driver = make_driver(last_used=LastUsed())
    short: dict[str, str] = {}
    shown = ""
    for found in CALL.finditer(TUTORIAL.read_text(encoding="utf-8")):
        given = json.loads(real_ids(found["given"], short))
        reply = await driver.call(found["tool"], **given)
        for id_ in ID.findall(json.dumps(reply)):
            short.setdefault(id_, f"#{len(short) + 1}")
        shown = reply["id"] if reply.get("says") == SHOWN else shown
    return driver, shown


def take_picture(picture: Path) -> None:
    """Save the page as a PNG."""
    driver, shown = run_apart(a_played_store())
    browser_path = shutil.which("chromium")
    with host_pages(a_reader(driver)) as address, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(color_scheme="light", viewport=SIZE)
        page.goto(f"{address}/thing/{shown}", wait_until="networkidle")
        page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    take_picture(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE)
