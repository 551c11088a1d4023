"""Screenshots of each page in three widths and two themes: `python -m tests.docs.screenshots DIR`.

They are looked at by people, and none lies in the repository.
"""

import sys
from pathlib import Path
from typing import Any, Final

from tests.inspector.browser import a_browser, host_pages, watch_tab
from tests.inspector.kit import Harbour, a_harbour, run_apart

WIDTHS: Final = {"phone": 390, "table": 900, "wide": 1600}
THEMES: Final = ("light", "dark")


def named_pages(harbour: Harbour) -> dict[str, str]:
    """Each page once, by what its picture is called."""
    ids, space = harbour.ids, harbour.space
    items = ("scene", "story", "document", "fact", "relation", "event", "proposal", "record")
    return {
        "spaces": "/",
        "space": f"/space?space={space}",
        "find": f"/find?space={space}&q=keeps+the+light",
        "list": f"/find?space={space}",
        "timeline": f"/timeline?space={space}",
        "graph": f"/graph?about={ids['Odo Brand']}&hops=2",
        "map": f"/map?space={harbour.world}",
        "review": f"/review?space={space}",
        "duplicates": "/review?space=account&what=duplicates",
        "unclear": "/review?space=account&what=unclear",
        "pages": f"/thing/{ids['file']}",
        "spot": f"/thing/{ids['statement']}?value=1.250",
        "changed": f"/difference?space={space}&at1=1207-11-02",
        "log": f"/log?space={space}",
        "health": "/health",
        "entity": f"/thing/{ids['Odo Brand']}",
        "difference": f"/difference/{ids['Odo Brand']}?known1=2025-01-01",
        "refused": "/thing/nobody",
        **{name: f"/thing/{ids[name]}" for name in items},
    }


def main(folder: Path) -> None:
    """Take them all."""
    folder.mkdir(parents=True, exist_ok=True)
    harbour = run_apart(a_harbour())
    with host_pages(harbour.reader()) as address, a_browser() as browser:
        for theme in THEMES:
            for width, pixels in WIDTHS.items():
                scheme: Any = theme
                size: Any = {"width": pixels, "height": 900}
                with browser.new_context(color_scheme=scheme, viewport=size) as context:
                    tab = watch_tab(context, address)
                    for name, path in named_pages(harbour).items():
                        page = tab.open_page(path)
                        page.wait_for_timeout(300 if name == "graph" else 0)
                        page.wait_for_load_state("networkidle")  # pictures of pages too
                        target = folder / f"{name}-{width}-{theme}.png"
                        page.screenshot(path=target, full_page=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
