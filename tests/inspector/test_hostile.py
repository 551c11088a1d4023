"""Hostile texts in every field of every page: nothing of them is markup, script or direction."""

import re
from typing import Any

import pytest

from tests.inspector.kit import Harbour, a_harbour
from tests.toolsets.canon.kit import make_driver

pytestmark = pytest.mark.anyio
EVIL = '<script>alert(1)</script><img src=x onerror="alert(2)">\'"}}{{7*7}}{% x %}&lt;'
BIDI = "abc\u202egnirts\u2066\u200b\u0007"
LONG = "long" * 25_000


async def a_hostile_harbour() -> Harbour:
    harbour = await a_harbour()
    driver = make_driver("Solo", harbour.driver)
    about: dict[str, Any] = {"space": harbour.space}
    for number, text in enumerate((EVIL, BIDI)):
        await driver.call("tell", title=f"{text} book", text=f"{text} stands here.", **about)
        reply = await driver.call(
            "tell", scene=f"{text} scene", turns=[{"by": "gm", "text": text}], **about
        )
        turn = reply["turns"][0]["id"]
        claims: list[dict[str, Any]] = [
            {
                "kind": "entity", "name": f"{text} {number}", "type": "character", "says": text,
                "tags": ["alive"], "fields": {f"field {number}": text, "many": [text, {"a": text}]},
            },
            {"kind": "fact", "says": f"{text} is so {number}", "about": [harbour.ids["Ilsa Vane"]]},
            {
                "kind": "event", "says": f"{text} happens", "more": text,
                "about": [harbour.ids["Ilsa Vane"]], "when": f"1207-11-1{number}",
            },
        ]  # fmt: skip
        await driver.call("propose", claims=claims, evidence=[turn], **about)
        ann = make_driver("Contributor", harbour.driver)
        waits = [{"kind": "fact", "says": f"{text} waits", "about": [harbour.ids["Ilsa Vane"]]}]
        await ann.call("propose", claims=waits, evidence=[turn], **about)
        harbour.ids[f"hostile scene {number}"] = reply["scene"]
    rows: list[dict[str, Any]] = []
    for kind in ("entity", "fact", "event", "document", "passage"):
        rows += (await driver.call("find", kinds=[kind], limit=50, **about))["found"]
    harbour.ids.update({f"{n}": row["id"] for n, row in enumerate(rows)})
    waiting = (await driver.call("review", limit=50, **about))["waiting"]
    harbour.ids.update({f"w{n}": row["id"] for n, row in enumerate(waiting)})
    return harbour


async def test_no_stored_text_becomes_markup() -> None:
    harbour = await a_hostile_harbour()
    reader = harbour.reader()
    said = f"&q={EVIL.replace('%', '%25').replace('&', '%26').replace('#', '%23')}"
    pages = [*harbour.page_addresses(), f"/find?space={harbour.space}{said}"]
    seen = 0
    for path in pages:
        answer = await reader.get(path)
        assert answer.status == 200, (path, answer.text[-800:])
        text = answer.text
        assert "<script>alert" not in text, path
        assert "<img src=x" not in text, path
        assert not re.search(r"<[^>]*\bonerror\s*=", re.sub(r'"[^"]*"', '""', text)), path
        assert "\u202e" not in text, path
        assert "\u200b" not in text, path
        assert "\u0007" not in text, path
        seen += "&lt;script&gt;alert(1)" in text
    assert seen > 15


async def test_a_name_of_a_hundred_thousand_characters_breaks_no_page() -> None:
    harbour = await a_harbour(world=False)
    reply = await harbour.driver.call("tell", title="Long", text=LONG, space=harbour.space)
    reader = harbour.reader()

    assert (await reader.get(f"/thing/{reply['document']}")).status == 200
    long = LONG[:9_000]
    for path in (f"/find?space={long}", f"/find?q=x&about={long}", f"/thing/{long}"):
        answer = await reader.get(path)
        assert 400 <= answer.status < 500
        assert len(answer.text) < 40_000


async def test_malformed_addresses_give_error_pages() -> None:
    harbour = await a_harbour(world=False)
    reader = harbour.reader()
    for query in ("q=%ED%A0%80", "q=%00", "q=%FF%FE", "q=\ud800", "about=%00", "type=%ED%A0%80"):
        answer = await reader.get(f"/find?space={harbour.space}&{query}")
        assert answer.status < 500, (query, answer.text)
