"""Three long sessions, played through a real client over stdio."""

from tests.toolsets.canon import assistant, game_master, researcher
from tests.toolsets.canon.playing import Script

SESSIONS: dict[str, Script] = {
    "game-master": game_master.play,
    "personal-assistant": assistant.play,
    "researcher": researcher.play,
}

REPLY_MAX = 4_000
"""The longest reply of a session in bytes, where no call asks for all details."""
