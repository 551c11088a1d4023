"""Long sessions of three agents, played through a real client over stdio."""

from pathlib import Path

import pytest

from tests.toolsets.canon import game_master
from tests.toolsets.canon.playing import play_script
from tests.toolsets.canon.sessions import REPLY_MAX, SESSIONS


@pytest.mark.anyio
@pytest.mark.parametrize("name", SESSIONS)
async def test_no_reply_of_a_session_is_an_error_or_long(name: str, tmp_path: Path) -> None:
    session = await play_script(tmp_path, SESSIONS[name])

    assert session.longest <= REPLY_MAX


def test_the_game_masters_session_has_forty_turns() -> None:
    assert game_master.TURNS == 40
