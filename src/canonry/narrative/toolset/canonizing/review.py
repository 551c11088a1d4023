"""Review tools: foresee a canonization, list what somebody has to look at, waive what is meant."""

from typing import Any, Final

from canonry.canon.canonization.canonize_proposals import preview_proposals
from canonry.canon.canonization.canonize_scene import preview_scene
from canonry.canon.canonization.list_proposals import ProposalQuery, list_proposals
from canonry.canon.canonization.proposal_verdicts import ProposalVerdict
from canonry.canon.canonization.waive_conflict import waive_conflict
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import COUNT, INSTANT, TEXT, UUID, Shape, array, enum, obj
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.log.items.proposals import Ask
from canonry.narrative.toolset.arguments import (
    DETAIL,
    PAGING,
    checked_text,
    optional_uuid,
    page_of,
    proposal_types,
    uuid_of,
    uuids_of,
)
from canonry.narrative.toolset.canonizing.canonization import PROPOSALS_MAX, VERDICT
from canonry.narrative.toolset.canonizing.proposals import PROPOSAL_ROW
from canonry.narrative.toolset.contract import reading_tool, writing_tool
from canonry.narrative.toolset.rows import Listing, RowShape
from canonry.narrative.toolset.shapes import CONFLICTS, PROPOSAL, PROPOSAL_TYPE, UUIDS
from canonry.values.errors import InvalidInput
from canonry.values.ids import SceneId

_ASKS: Final = enum(*Ask)
_ASKED: Final = Shape(
    **PROPOSAL.fields, asks=array(_ASKS), possible_conflicts=CONFLICTS.of("doubts")
)
_TO_REVIEW: Final = Listing(
    "proposals", RowShape(_ASKED, *PROPOSAL_ROW, "review", "asks", "possible_conflicts")
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
        types=proposal_types(arguments),
        asks=frozenset(map(Ask, arguments.get("asks") or Ask)),
        **page_of(arguments),
    )
    universe_id = optional_uuid(arguments, "universe_id")
    page = await list_proposals(canon, caller, query, universe_id=universe_id)
    return await _TO_REVIEW(canon, caller, page, arguments)


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
    **DETAIL,
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
        gives=_TO_REVIEW.gives,
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
