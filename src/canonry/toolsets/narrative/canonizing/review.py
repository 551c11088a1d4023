"""Review tools: foresee a canonization, list what somebody has to look at, waive what is meant."""

from typing import Any, Final

from canonry.domain.errors import InvalidInput
from canonry.domain.ids import SceneId
from canonry.domain.things.proposals import Ask, ProposalType
from canonry.gateway.shapes import COUNT, INSTANT, TEXT, UUID, Shape, array, enum, obj
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.toolsets.narrative.arguments import (
    PAGING,
    checked_text,
    optional_of,
    optional_uuid,
    page_of,
    uuid_of,
    uuids_of,
)
from canonry.toolsets.narrative.canonizing.canonization import PROPOSALS_MAX, VERDICT
from canonry.toolsets.narrative.contract import reading_tool, writing_tool
from canonry.toolsets.narrative.shapes import (
    CONFLICTS,
    PROPOSAL,
    PROPOSAL_TYPE,
    UUIDS,
    page_shape,
)
from canonry.usecases.canonization.canonize_proposals import preview_proposals
from canonry.usecases.canonization.canonize_scene import preview_scene
from canonry.usecases.canonization.list_proposals import ProposalQuery, list_proposals
from canonry.usecases.canonization.proposal_verdicts import ProposalVerdict
from canonry.usecases.canonization.waive_conflict import waive_conflict
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon

_ASKS: Final = enum(*Ask)
_TO_REVIEW: Final = page_shape(
    "proposals",
    Shape(**PROPOSAL.fields, asks=array(_ASKS), possible_conflicts=CONFLICTS.of("doubts")),
)
_FORESEEN: Final = Shape(verdicts=array(VERDICT).of(tuple), total=COUNT.of(len))
_WAIVED: Final = Shape(proposal_id=UUID, conflict_id=TEXT, waived_at=INSTANT.of("recorded_at"))


async def _preview(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    scene_id = optional_uuid(arguments, "scene_id")
    proposal_ids = uuids_of(arguments, "proposal_ids")
    if (scene_id is None) is not bool(proposal_ids):
        message = "name either a scene in /scene_id or proposals in /proposal_ids"
        raise InvalidInput("preview.of-what", message, path="/scene_id")
    found: tuple[ProposalVerdict, ...]
    if scene_id is not None:
        found = await preview_scene(canon, caller, scene_id)
    else:
        found = await preview_proposals(canon, caller, proposal_ids)
    return _FORESEEN(found)


async def _review(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    scene_id = optional_uuid(arguments, "scene_id")
    query = ProposalQuery(
        scene_id=None if scene_id is None else SceneId(scene_id),
        type=optional_of(arguments, "type", ProposalType),
        asks=frozenset(map(Ask, arguments.get("asks") or Ask)),
        **page_of(arguments),
    )
    universe_id = optional_uuid(arguments, "universe_id")
    return _TO_REVIEW(await list_proposals(canon, caller, query, universe_id=universe_id))


async def _waive(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    proposal_id, conflict_id = uuid_of(arguments, "proposal_id"), uuid_of(arguments, "conflict_id")
    maximum = canon.policy.limits.description
    reason = checked_text(arguments["reason"], maximum, path="/reason")
    receipt = await waive_conflict(canon, caller, proposal_id, conflict_id, reason=reason)
    return _WAIVED(receipt, proposal_id=proposal_id, conflict_id=conflict_id)


_LISTED: Final[dict[str, Any]] = {
    "universe_id": UUID,
    "scene_id": UUID,
    "type": PROPOSAL_TYPE,
    "asks": array(_ASKS),
    **PAGING,
}

TOOLS: Final[tuple[Tool, ...]] = (
    reading_tool(
        "composite_get_verdicts",
        "Preview canonization",
        "Tell the verdict that each pending proposal of a scene, or each of these proposals, "
        "would get now; nothing is written.",
        _preview,
        takes=obj({}, {"scene_id": UUID, "proposal_ids": UUIDS.but(maxItems=PROPOSALS_MAX)}),
        gives=_FORESEEN,
    ),
    reading_tool(
        "mongodb_query_reviews",
        "Review proposals",
        "List what somebody has to look at, with the rule, the reason and each conflict: what "
        "needs review, what is not judged yet, and possible conflicts that nobody has waived.",
        _review,
        takes=obj({}, _LISTED),
        gives=_TO_REVIEW,
    ),
    writing_tool(
        "mongodb_waive_conflict",
        "Waive a possible conflict",
        "Record that what a proposal perhaps conflicts with is meant so; nobody is asked again.",
        _waive,
        takes=obj({"proposal_id": UUID, "conflict_id": UUID, "reason": TEXT}),
        gives=_WAIVED,
        idempotent=True,
    ),
)
