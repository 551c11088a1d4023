"""The canon toolset, which is served by default: twelve tools for every kind of space.

Importing the package loads only the face. The tools are imported on demand.
"""

from typing import TYPE_CHECKING, Final

from canonry.gateway.face import Face, lazily

if TYPE_CHECKING:
    from canonry.assistant.toolset import CANON

__all__ = ["CANON", "FACE"]

FACE: Final = Face.of(__package__)

__getattr__ = lazily(__name__, "CANON")
