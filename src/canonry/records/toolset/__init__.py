"""The truth toolset: the actions of the Neotoma contract, with extensions.

Importing the package loads only the face. The tools are imported on demand.
"""

from typing import TYPE_CHECKING, Final

from canonry.gateway.face import Face, lazily

if TYPE_CHECKING:
    from canonry.records.toolset.toolset import EXACT, TRUTH

__all__ = ["EXACT", "FACE", "TRUTH"]

FACE: Final = Face.of(__package__)

__getattr__ = lazily(__name__, "EXACT", "TRUTH")
