"""The world toolset: the Shifting Atlas contract's tools, and the builders' extensions.

Only its face is loaded with the package; the tools are imported when somebody asks for them.
"""

from typing import TYPE_CHECKING, Final

from canonry.gateway.face import Face, lazily

if TYPE_CHECKING:
    from canonry.world.toolset.toolset import EXACT, WORLD

__all__ = ["EXACT", "FACE", "WORLD"]

FACE: Final = Face.of(__package__)

__getattr__ = lazily(__name__, "EXACT", "WORLD")
