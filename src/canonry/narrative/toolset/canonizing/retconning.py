"""Retconning tools: take the canonization of a scene back as a whole."""

from typing import Final

from canonry.canon.commands.retcon_scene import list_resting_on_scene, retcon_scene
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import BOOLEAN, TEXT, UUID, Shape, array, given, obj
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.narrative.toolset.arguments import text_of, uuid_of
from canonry.narrative.toolset.contract import writing_tool
from canonry.narrative.toolset.shapes import UUIDS
from canonry.narrative.toolset.upkeep import DEPENDENT

_RETCONNED: Final = Shape(
    scene_id=UUID.of("scene.id"),
    dry_run=given(BOOLEAN),
    made=UUIDS.of(lambda found: [each.id for each in found.made]),
    dependents=array(DEPENDENT),
    dependents_truncated=BOOLEAN.of("more"),
    retconned=UUIDS.of("fallen"),
    resumed=UUIDS,
)


async def _retcon(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    scene_id, dry_run = uuid_of(arguments, "scene_id"), bool(arguments.get("dry_run", False))
    reason = text_of(arguments, "reason", canon.policy.limits.description)
    if dry_run:
        found = await list_resting_on_scene(canon, caller, scene_id)
    else:
        found = await retcon_scene(canon, caller, scene_id, reason=reason)
    return _RETCONNED(found, dry_run=dry_run)


TOOLS: Final[tuple[Tool, ...]] = (
    writing_tool(
        "composite_retcon_scene",
        "Retcon scene",
        "Take back all that a scene made canon, and what rests on that for sure; what it had "
        "ended holds again. dry_run only lists.",
        _retcon,
        takes=obj({"scene_id": UUID, "reason": TEXT}, {"dry_run": BOOLEAN.but(default=False)}),
        gives=_RETCONNED,
        idempotent=True,
        destructive=True,
    ),
)
