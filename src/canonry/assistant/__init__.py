"""The canon toolset, which is served by default: twelve tools for every kind of space.

Importing the package loads only the face. The tools are imported on demand.
"""

from typing import TYPE_CHECKING, Final

from canonry.gateway.toolset_introduction import Face, lazy_loader

if TYPE_CHECKING:
    from canonry.assistant.toolset import CANON

__all__ = ["CANON", "FACE"]

FACE: Final = Face.read_face(__package__)

__getattr__ = lazy_loader(__name__, "CANON")
