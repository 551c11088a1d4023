"""The operator toolset: tools that no contract has, for whoever keeps a store; off by default.

Only its face is loaded with the package; the tools are imported when somebody asks for them.
"""

from typing import TYPE_CHECKING, Final

from canonry.gateway.face import Face, lazily

if TYPE_CHECKING:
    from canonry.catalog.operator.toolset import OPERATOR

__all__ = ["FACE", "OPERATOR"]

FACE: Final = Face(
    name="operator",
    purpose="Keeping a store: what a catalog holds is written here and nowhere else",
    server_name="canonry-operator",
    contract_version="1.0.0",
    instructions=(
        "To create an item, give all arguments but id that cannot be null. To change one, give its "
        "id and the new values. catalog_move_entity publishes drafts. The catalog toolset reads."
    ),
)

__getattr__ = lazily(__name__, "OPERATOR")
