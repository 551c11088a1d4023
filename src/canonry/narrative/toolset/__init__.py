"""The toolset `narrative`: the 21 tools of the MONITOR contract, and its extensions.

The package loads only the description. The tools are imported on first use.
"""

from typing import TYPE_CHECKING, Final

from canonry.gateway.face import Face, lazily

if TYPE_CHECKING:
    from canonry.narrative.toolset.toolset import EXACT, NARRATIVE

__all__ = ["EXACT", "FACE", "NARRATIVE"]

_USE: Final = (
    "To make something canon, propose it in a scene with mongodb_create_proposed_change. The "
    "CanonKeeper then judges the proposals with composite_canonize_scene. Only the "
    "CanonKeeper writes canon directly. Cite evidence as kind:uuid, where kind is source, "
    "turn, scene, snippet or rule."
)

FACE: Final = Face(
    name="narrative",
    purpose="Canon for game masters' agents: universes, scenes, proposals and canonized facts",
    server_name="monitor-data-layer",
    contract_version="1.0.0",
    instructions=(
        f"{_USE} Most reads also take at (a story time or a scene_id) and as_known_at (a date-time "
        "or a log position)."
    ),
    contract_instructions=_USE,
)

__getattr__ = lazily(__name__, "EXACT", "NARRATIVE")
