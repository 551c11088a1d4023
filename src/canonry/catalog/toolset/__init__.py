"""The catalog toolset: the PsyMetric contract's four tools, which read and do nothing else.

Only its face is loaded with the package; the tools are imported when somebody asks for them.
"""

from typing import TYPE_CHECKING, Final

from canonry.gateway.face import Face, lazily

if TYPE_CHECKING:
    from canonry.catalog.toolset.toolset import CATALOG

__all__ = ["CATALOG", "FACE"]

FACE: Final = Face.of(__package__)

__getattr__ = lazily(__name__, "CATALOG")
