"""Three long sessions, played through a real client over stdio."""

from tests.toolsets.canon import assistant, game_master, researcher
from tests.toolsets.canon.playing import Script

SESSIONS: dict[str, Script] = {
    "game-master": game_master.play_night,
    "personal-assistant": assistant.play_day,
    "researcher": researcher.play_study,
}

REPLY_MAX = 4_000
"""The longest reply of a session in bytes, where no call asks for all details."""
