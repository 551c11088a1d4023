"""The documentation as a site: every page has a place in its navigation."""

import tomllib
from typing import Any

from tests.docs.markdown import ROOT

DOCS = ROOT / "docs"


def pages_of(nav: Any) -> list[str]:
    """The pages of a navigation, in order."""
    if isinstance(nav, str):
        return [nav]
    inner = nav.values() if isinstance(nav, dict) else nav
    return [page for each in inner for page in pages_of(each)]


def test_every_page_is_reachable_from_the_navigation() -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    shown = pages_of(site["nav"])
    written = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    decisions = {page for page in written if page.startswith("decisions/0")}

    assert len(shown) == len(set(shown))
    assert set(shown) == written - decisions
