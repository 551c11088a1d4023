"""The catalog toolset: the PsyMetric contract's four tools, which read and do nothing else.

Only its face is loaded with the package; the tools are imported when somebody asks for them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from canonry.gateway.face import Face

if TYPE_CHECKING:
    from canonry.toolsets.catalog.toolset import CATALOG

__all__ = ["CATALOG", "FACE"]

FACE: Final = Face(
    name="catalog",
    purpose="A catalog of guides, concepts, projects and news to look into, project by project",
    server_name="psymetric",
    contract_version="1.0.0",
    instructions=(
        "Begin with list_projects: every other tool needs the id of a project. Texts are matched "
        "literally and without regard to case. Nothing can be changed here."
    ),
)


def __getattr__(name: str) -> object:
    """The tools, which take longer to import than a client should wait for a greeting.

    Raises:
        AttributeError: there is no such name.
    """
    if name == "CATALOG":
        return import_module(f"{__name__}.toolset").CATALOG
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
