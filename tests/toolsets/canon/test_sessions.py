"""The sessions of the tutorials: played through a real client over stdio, and as they are told."""

from pathlib import Path

import pytest

from tests.toolsets.canon import game_master
from tests.toolsets.canon.playing import PAGES, played
from tests.toolsets.canon.sessions import REPLY_MAX, SESSIONS


@pytest.mark.anyio
@pytest.mark.parametrize("name", SESSIONS)
async def test_a_session_goes_as_its_page_tells_and_no_reply_is_long(
    name: str, tmp_path: Path
) -> None:
    title, script = SESSIONS[name]

    text, session = await played(tmp_path, title, script)

    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert text == page, "play it with `python -m tests.toolsets.canon.sessions`"
    assert session.longest <= REPLY_MAX


def test_the_game_masters_session_has_forty_turns() -> None:
    assert game_master.TURNS == 40
