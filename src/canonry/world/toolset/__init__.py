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
        "Ask for the context before you tell of it: a place with its exits, layers and people, a "
        "player with what they carry, the lore that bears on it. What a context does not say is "
        "open; what it says must not be contradicted. Ticks are milliseconds of the world's time."
    ),
)

__getattr__ = lazily(__name__, "EXACT", "WORLD")
