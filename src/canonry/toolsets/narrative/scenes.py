"""Scene tools: open a scene, read it, note and date it, close it."""

from typing import Final

from canonry.domain.errors import InvalidInput
from canonry.domain.ids import StoryId
from canonry.domain.log.keys import proposals_key, thing_key, turns_key
from canonry.domain.things.scenes import SceneDraft, SceneStatus
from canonry.domain.time import render_instant
from canonry.gateway.tool import ANYONE, Arguments, Cached, Reply, Tool
from canonry.toolsets.narrative.contract import contract_tool
from canonry.toolsets.narrative.replies.present import listing
from canonry.toolsets.narrative.replies.present_documents import (
    PROPOSAL,
    SCENE,
    SCENE_FIELDS,
    SCENE_STATUS,
    TURN,
    present_proposal,
    present_scene,
    present_turn,
)
from canonry.toolsets.narrative.replies.schemas import (
    COUNT,
    INSTANT,
    INTEGER,
    TEXT,
    UUID,
    array,
    nullable,
    obj,
)
from canonry.toolsets.narrative.requests.arguments import (
    instant_of,
    limit_of,
    offset_of,
    optional_text,
    optional_uuid,
    text_of,
    uuid_of,
    uuids_of,
)
from canonry.toolsets.narrative.requests.pages import PAGING, QUERY_MAX
from canonry.usecases.canonization.finalize_scene import finalize_scene
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.receipts import the_made
from canonry.usecases.narrative.create_scene import SceneRequest, create_scene
from canonry.usecases.narrative.get_scene import get_scene
from canonry.usecases.narrative.query_scenes import SceneQuery, query_scenes
from canonry.usecases.narrative.update_scene import Notes, SceneChange, Time, update_scene

ORDER_MAX: Final = 2**31 - 1
ACTIVE_SECONDS: Final = 30.0


async def _create(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    request = SceneRequest(
        universe_id=uuid_of(arguments, "universe_id"),
        story_id=uuid_of(arguments, "story_id"),
        title=text_of(arguments, "title", limits.name),
        purpose=optional_text(arguments, "purpose", limits.description),
        order=_order_of(arguments),
        location_id=optional_uuid(arguments, "location_ref"),
        participant_ids=uuids_of(arguments, "participating_entities"),
    )
    receipt = await create_scene(canon, caller, request)
    scene = the_made(receipt, SceneDraft)
    return {
        "scene_id": scene.id,
        "status": SceneStatus.ACTIVE.value,
        "order": scene.order,
        "created_at": render_instant(receipt.recorded_at),
    }


def _order_of(arguments: Arguments) -> int | None:
    order = arguments.get("order")
    if order is not None and not 0 <= order <= ORDER_MAX:
        message = f"/order must lie between 0 and {ORDER_MAX}; leave it out to come last"
        raise InvalidInput("scene.order-out-of-range", message, path="/order", maximum=ORDER_MAX)
    return None if order is None else int(order)


async def _get(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    found = await get_scene(
        canon,
        caller,
        uuid_of(arguments, "scene_id"),
        turns=_turn_limit_of(arguments) if arguments.get("include_turns", True) else 0,
    )
    reply = {
        **present_scene(found.scene),
        "total_turns": found.total_turns,
        "turns": [present_turn(turn) for turn in found.turns],
        "proposed_changes": [proposal.id for proposal in found.proposals.items],
        "total_proposals": found.proposals.total,
    }
    if arguments.get("include_proposals", False):
        reply["proposals"] = [present_proposal(each) for each in found.proposals.items]
    return reply


def _turn_limit_of(arguments: Arguments) -> int:
    limit = arguments.get("turn_limit", QUERY_MAX)
    if not 1 <= limit <= QUERY_MAX:
        message = f"/turn_limit must lie between 1 and {QUERY_MAX}"
        raise InvalidInput("limit.out-of-range", message, path="/turn_limit", maximum=QUERY_MAX)
    return int(limit)


def _lifetime(_: Arguments, reply: Reply) -> float:
    return ACTIVE_SECONDS if reply.get("status") == SceneStatus.ACTIVE else 0.0


def _dependencies(_: Arguments, reply: Reply) -> frozenset[str]:
    scene_id = str(reply["scene_id"])
    return frozenset((thing_key(scene_id), turns_key(scene_id), proposals_key(scene_id)))


async def _finalize(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    scene_id = uuid_of(arguments, "scene_id")
    done = await finalize_scene(
        canon,
        caller,
        scene_id,
        outcomes=uuids_of(arguments, "canonical_outcome_ids"),
        summary=text_of(arguments, "summary", canon.policy.limits.summary),
    )
    return {
        "scene_id": scene_id,
        "status": SceneStatus.COMPLETED.value,
        "completed_at": render_instant(done.receipt.recorded_at),
        "pending_proposals": done.pending,
    }


async def _update(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    scene_id = uuid_of(arguments, "scene_id")
    changes: list[SceneChange] = []
    if "gm_notes" in arguments:
        changes.append(Notes(optional_text(arguments, "gm_notes", canon.policy.limits.turn)))
    if "time_ref" in arguments:
        changes.append(Time(instant_of(arguments, "time_ref")))
    receipt = await update_scene(canon, caller, scene_id, changes)
    return {"scene_id": scene_id, "updated_at": render_instant(receipt.recorded_at)}


async def _query(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    status = arguments.get("status")
    story_id = optional_uuid(arguments, "story_id")
    query = SceneQuery(
        story_id=None if story_id is None else StoryId(story_id),
        status=None if status is None else SceneStatus(status),
        limit=limit_of(arguments, default=50, maximum=QUERY_MAX),
        offset=offset_of(arguments),
    )
    universe_id = optional_uuid(arguments, "universe_id")
    page = await query_scenes(canon, caller, query, universe_id=universe_id)
    return {"scenes": [present_scene(scene) for scene in page.items], "total": page.total}


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "mongodb_create_scene",
        title="Create scene",
        description="Open a scene in a story, with its participants and place; turns follow.",
        output_schema=obj(
            {"scene_id": UUID, "status": SCENE_STATUS, "order": INTEGER, "created_at": INSTANT}
        ),
        run=_create,
        read_only=False,
    ),
    contract_tool(
        "mongodb_get_scene",
        title="Get scene",
        description="Read a scene with its last turns, and with its proposals if asked.",
        output_schema=obj(
            {
                **SCENE_FIELDS,
                "turns": array(TURN),
                "proposed_changes": array(UUID),
                "total_proposals": COUNT,
            },
            {"proposals": array(PROPOSAL)},
        ),
        run=_get,
        read_only=True,
        idempotent=True,
        cached=Cached(seconds=_lifetime, depends_on=_dependencies),
    ),
    contract_tool(
        "mongodb_finalize_scene",
        title="Finalize scene",
        description=(
            "Close a scene by hand with outcomes that already are canon. To judge its proposals "
            "use composite_canonize_scene instead."
        ),
        output_schema=obj(
            {
                "scene_id": UUID,
                "status": SCENE_STATUS,
                "completed_at": INSTANT,
                "pending_proposals": COUNT,
            }
        ),
        run=_finalize,
        read_only=False,
    ),
    Tool(
        name="mongodb_update_scene",
        title="Update scene",
        description=(
            "Set a scene's game master notes, which only context assembly tells, and its time in "
            "the world, which its undated proposals take; null clears."
        ),
        input_schema=obj(
            {"scene_id": UUID}, {"gm_notes": nullable(TEXT), "time_ref": nullable(INSTANT)}
        ),
        output_schema=obj({"scene_id": UUID, "updated_at": INSTANT}),
        roles=frozenset({"CanonKeeper", "Orchestrator"}),
        run=_update,
        read_only=False,
        destructive=True,
        idempotent=True,
        extension=True,
    ),
    Tool(
        name="mongodb_query_scenes",
        title="Query scenes",
        description="List scenes by universe, story or status, in the order of the story.",
        input_schema=obj(
            {}, {"universe_id": UUID, "story_id": UUID, "status": SCENE_STATUS, **PAGING}
        ),
        output_schema=listing("scenes", SCENE),
        roles=ANYONE,
        run=_query,
        read_only=True,
        idempotent=True,
        extension=True,
    ),
)
