"""The picture of a session on the front page, drawn from a session that was really played."""

import json
from collections.abc import Iterator
from html import escape
from textwrap import wrap
from typing import Any

from tests.docs.markdown import ROOT
from tests.docs.tutorials import CALL

SESSION = ROOT / "docs" / "tutorials" / "game-master.md"
WIDTH, LINE, TOP, LEFT = 860, 20, 44, 22
COLUMNS = 84
STYLE = (
    "text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#24292f;white-space:pre}"
    ".frame{fill:#fff;stroke:#d0d7de}.call{fill:#0550ae}.yes{fill:#116329}.no{fill:#a40e26}"
    ".dim{fill:#57606a}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.frame{fill:#0d1117;stroke:#30363d}"
    ".call{fill:#79c0ff}.yes{fill:#56d364}.no{fill:#ff7b72}.dim{fill:#8b949e}}"
)


def draw_picture() -> str:
    """The whole SVG."""
    lines = list(draw_lines())
    height = TOP + LINE * len(lines) + 14
    drawn = "".join(
        f'<text class="{kind}" x="{LEFT}" y="{TOP + LINE * n}">{escape(text)}</text>\n'
        for n, (kind, text) in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" role="img" '
        f'viewBox="0 0 {WIDTH} {height}" aria-label="A session with Canonry">\n'
        f"<style>{STYLE}</style>\n"
        f'<rect class="frame" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>\n'
        f"{drawn}</svg>\n"
    )


def draw_lines() -> Iterator[tuple[str, str]]:
    played = [
        (found["tool"], json.loads(found["given"]), json.loads(found["reply"]))
        for found in CALL.finditer(SESSION.read_text(encoding="utf-8"))
    ]
    refused = next(each for each in played if each[2].get("accepted") == 0)
    stands = refused[2]["verdicts"][0]["against"][0]["id"]
    died = next(each for each in played if stands in json.dumps(each[2]))
    why = next(each for each in played if each[0] == "why" and each[1]["of"] == stands)
    yield from draw_call("tell", {"gm": why[2]["because"][0]["says"]})
    yield from draw_call("propose", {"says": why[2]["says"]})
    yield from draw_verdict(next(v for v in died[2]["verdicts"] if v.get("id") == stands))
    yield "", ""
    yield from draw_call("propose", {"says": refused[1]["claims"][0]["says"]})
    yield from draw_verdict(refused[2]["verdicts"][0])
    yield "", ""
    yield from draw_call("why", {"of": why[2]["says"]})
    yield from _draw_text(
        "because", f"{why[2]['because'][0]['by']}: {why[2]['because'][0]['says']}"
    )
    yield from _draw_text("judged by", f"{why[2]['judged']['rule']}: {why[2]['judged']['because']}")


def draw_call(tool: str, given: dict[str, Any]) -> Iterator[tuple[str, str]]:
    said = ", ".join(f'{name} "{value}"' for name, value in given.items())
    for n, part in enumerate(wrap(f"{tool}  {said}", COLUMNS)):
        yield "call", f"$ {part}" if n == 0 else f"    {part}"


def draw_verdict(verdict: dict[str, Any]) -> Iterator[tuple[str, str]]:
    accepted = verdict["verdict"] == "accepted"
    why = "" if accepted else f"  {verdict['rule']}: {verdict['because']}"
    yield "yes" if accepted else "no", f"  {verdict['verdict']}{why}"


def _draw_text(name: str, text: str) -> Iterator[tuple[str, str]]:
    for n, part in enumerate(wrap(text, COLUMNS - 14)):
        yield "dim", f"  {name if n == 0 else '':<11}{part}"
