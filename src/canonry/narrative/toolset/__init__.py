"""The toolset `narrative`: the 21 tools of the MONITOR contract, and its extensions.

The package loads only the description. The tools are imported on first use.
"""

from typing import TYPE_CHECKING, Final

from canonry.gateway.face import Face, lazily

if TYPE_CHECKING:
    from canonry.narrative.toolset.toolset import EXACT, NARRATIVE

__all__ = ["EXACT", "FACE", "NARRATIVE"]

FACE: Final = Face.of(__package__)

__getattr__ = lazily(__name__, "EXACT", "NARRATIVE")
