"""The tutorials, played: `python -m tests.docs.tutorials` writes the reply to each call anew.

A page shows each call and its reply as two blocks of JSON. The calls are made in order through a
real client over stdio; a page writes ids as `#1`, `#2` and instants of recording as `NOW`.
"""

import asyncio
import json
import re
import sys
import tempfile
from pathlib import Path

from tests.docs.markdown import ROOT
from tests.toolsets.canon.playing import Session, connect_over_stdio

PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
CALL = re.compile(
    r"^(?P<asked>[^\n]*`(?P<tool>\w+)`:\n\n```json\n(?P<given>.*?)\n```\n\n[^\n]*:\n\n```json\n)"
    r"(?P<reply>.*?)(?=\n```$)",
    re.MULTILINE | re.DOTALL,
)
SHORT = re.compile(r'"(#\d+)"')


async def play_page(page: Path, folder: Path) -> str:
    """Return the text of `page` with the replies that a server on a new store gives."""
    text = page.read_text(encoding="utf-8")
    parts, end = [], 0
    async with connect_over_stdio(folder) as client:
        session = Session(client)
        for found in CALL.finditer(text):
            given = json.loads(real_ids(found["given"], session.ids))
            await session.call(found["tool"], **given)
            parts += [text[end : found.start()], found["asked"], session.shown]
            end = found.end()
    return "".join([*parts, text[end:]])


def real_ids(given: str, short: dict[str, str]) -> str:
    """Return the arguments of a call with ids in place of `#1`; `short` says what each becomes."""
    real = {each: id_ for id_, each in short.items()}
    return SHORT.sub(lambda one: f'"{real[one[1]]}"', given)


async def write_pages(pages: list[Path]) -> None:
    """Write the replies of `pages` anew."""
    for page in pages:
        with tempfile.TemporaryDirectory() as folder:
            text = await play_page(page, Path(folder))
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(write_pages([Path(each).resolve() for each in sys.argv[1:]] or PAGES))
