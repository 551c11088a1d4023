"""The world toolset: the Shifting Atlas contract's tools, and the builders' extensions.

Only its face is loaded with the package; the tools are imported when somebody asks for them.
"""

from typing import TYPE_CHECKING, Final

from canonry.gateway.face import Face, lazily

if TYPE_CHECKING:
    from canonry.world.toolset.toolset import EXACT, WORLD

__all__ = ["EXACT", "FACE", "WORLD"]

FACE: Final = Face(
    name="world",
    purpose="Truth for online worlds: where somebody is, what is there, and what is so",
    server_name="shifting-atlas",
    contract_version="2026-01-13",
    instructions=(
        "Read the context before you narrate: get-location-context for a location, "
        "get-player-context for a player, search-lore for lore. Do not contradict the context; "
        "you may invent what it leaves open. Ticks are milliseconds of the world's time."
    ),
)

__getattr__ = lazily(__name__, "EXACT", "WORLD")
