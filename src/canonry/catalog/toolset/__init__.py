"""The catalog toolset: the PsyMetric contract's four tools, which read and do nothing else.

Only its face is loaded with the package; the tools are imported when somebody asks for them.
"""

from typing import TYPE_CHECKING, Final

from canonry.gateway.face import Face, lazily

if TYPE_CHECKING:
    from canonry.catalog.toolset.toolset import CATALOG

__all__ = ["CATALOG", "FACE"]

FACE: Final = Face(
    name="catalog",
    purpose="A catalog of guides, concepts, projects and news to look into, project by project",
    server_name="psymetric",
    contract_version="1.0.0",
    instructions=(
        "Call list_projects first: every other tool needs the id of a project. Search matches "
        "text literally and ignores case. All tools are read-only."
    ),
)

__getattr__ = lazily(__name__, "CATALOG")
