"""The sessions that are pages of the documentation; `python -m tests.toolsets.canon.sessions`."""

import asyncio
import tempfile
from pathlib import Path

from tests.toolsets.canon import assistant, game_master, researcher
from tests.toolsets.canon.playing import PAGES, Script, played

SESSIONS: dict[str, tuple[str, Script]] = {
    "game-master": (game_master.TITLE, game_master.play),
    "personal-assistant": (assistant.TITLE, assistant.play),
    "researcher": (researcher.TITLE, researcher.play),
}


REPLY_MAX = 4_000
"""So many bytes is the longest reply of a session, where nobody asks for all details."""


async def write() -> None:
    """Play every session and write its page anew."""
    PAGES.mkdir(exist_ok=True)
    for name, (title, script) in SESSIONS.items():
        with tempfile.TemporaryDirectory() as folder:
            text, session = await played(Path(folder), title, script)
        (PAGES / f"{name}.md").write_text(text, encoding="utf-8")
        assert session.longest <= REPLY_MAX, (name, session.longest)


if __name__ == "__main__":
    asyncio.run(write())
