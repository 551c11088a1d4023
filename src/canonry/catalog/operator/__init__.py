"""The operator toolset: tools that no contract has, for whoever keeps a store; off by default.

Only its face is loaded with the package; the tools are imported when somebody asks for them.
"""

from typing import TYPE_CHECKING, Final

from canonry.gateway.face import Face, lazily

if TYPE_CHECKING:
    from canonry.catalog.operator.toolset import OPERATOR

__all__ = ["FACE", "OPERATOR"]

FACE: Final = Face.of(__package__)

__getattr__ = lazily(__name__, "OPERATOR")
