"""Scene tools: open a scene, read it, note and date it, close it."""

from typing import Final

from canonry.canon.canonization.finalize_scene import finalize_scene
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import (
    BOOLEAN,
    COUNT,
    INSTANT,
    INTEGER,
    TEXT,
    UUID,
    Shape,
    array,
    given,
    nullable,
    obj,
    optional,
)
from canonry.gateway.tool import Arguments, Cached, Reply, Tool
from canonry.log.items.scenes import SceneDraft, SceneStatus
from canonry.log.keys import proposals_key, thing_key, turns_key
from canonry.narrative.toolset.arguments import (
    DETAIL,
    PAGING,
    QUERY_MAX,
    audience_of,
    instant_of,
    optional_of,
    optional_text,
    optional_uuid,
    page_of,
    text_of,
    time_words_of,
    uuid_of,
    uuids_of,
)
from canonry.narrative.toolset.contract import contract_tool, reading_tool, writing_tool
from canonry.narrative.toolset.rows import Listing, RowShape, gist
from canonry.narrative.toolset.shapes import (
    AUDIENCE,
    PROPOSAL,
    SCENE,
    SCENE_STATUS,
    TURN,
    UUIDS,
    created,
)
from canonry.narrative.usecases.create_scene import SceneRequest, create_scene
from canonry.narrative.usecases.get_scene import get_scene
from canonry.narrative.usecases.query_scenes import SceneQuery, query_scenes
from canonry.narrative.usecases.update_scene import (
    Notes,
    PlayedAt,
    SceneChange,
    SceneSetting,
    Staging,
    Time,
    WrittenSummary,
    update_scene,
)
from canonry.values.errors import InvalidInput
from canonry.values.ids import StoryId

ORDER_MAX: Final = 2**31 - 1
ACTIVE_SECONDS: Final = 30.0
_CREATED: Final = Shape(
    scene_id=UUID.of("id"), status=SCENE_STATUS, order=INTEGER, created_at=given(INSTANT)
)
_SCENE_IN_FULL: Final = Shape(
    **{**SCENE.within("scene"), "total_turns": COUNT},
    turns=array(TURN),
    truncated=given(BOOLEAN),
    proposed_changes=UUIDS.of(lambda found: (each.id for each in found.proposals.items)),
    total_proposals=COUNT.of("proposals.total"),
    proposals=optional(given(array(PROPOSAL))),
)
_FINALIZED: Final = Shape(
    scene_id=given(UUID),
    status=SCENE_STATUS.of(lambda _: SceneStatus.COMPLETED),
    completed_at=INSTANT.of("receipt.recorded_at"),
    pending_proposals=COUNT.of("pending"),
)
_UPDATED: Final = Shape(scene_id=given(UUID), updated_at=INSTANT.of("recorded_at"))
_TURNS: Final = 20
"""So many turns, the last, come with a scene where nobody says how many."""

_SCENES: Final = Listing(
    "scenes",
    RowShape(
        SCENE,
        *("scene_id", "story_id", "title", "status", "order", "location_ref", "time_ref"),
        total_participants=COUNT.of(lambda scene: len(scene.participants)),
        total_turns=COUNT.of("turn_count"),
        total_outcomes=COUNT.of(lambda scene: len(scene.outcomes)),
        summary=nullable(TEXT).by(gist),
    ),
)


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
        time_ref=instant_of(arguments, "time_ref"),
        time_words=time_words_of(arguments, "time_ref"),
        audience=audience_of(arguments),
    )
    return created(_CREATED, await create_scene(canon, caller, request), SceneDraft)


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
    wanted = arguments.get("include_proposals", False)
    return _SCENE_IN_FULL(
        found,
        proposals=found.proposals.items if wanted else None,
        truncated=0 < len(found.turns) < found.total_turns,
    )


def _turn_limit_of(arguments: Arguments) -> int:
    limit = arguments.get("turn_limit", _TURNS)
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
    return _FINALIZED(done, scene_id=scene_id)


async def _update(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    scene_id = uuid_of(arguments, "scene_id")
    changes: list[SceneChange] = []
    if "gm_notes" in arguments:
        changes.append(Notes(optional_text(arguments, "gm_notes", canon.policy.limits.turn)))
    if "time_ref" in arguments:
        words = time_words_of(arguments, "time_ref")
        changes.append(Time(instant_of(arguments, "time_ref"), words))
    if "said_at" in arguments:
        changes.append(PlayedAt(instant_of(arguments, "said_at")))
    if "summary" in arguments:
        text = optional_text(arguments, "summary", canon.policy.limits.summary)
        changes.append(WrittenSummary(text))
    if "location_ref" in arguments:
        changes.append(SceneSetting(optional_uuid(arguments, "location_ref")))
    if "joining_entities" in arguments or "leaving_entities" in arguments:
        joining = uuids_of(arguments, "joining_entities")
        changes.append(Staging(joining, uuids_of(arguments, "leaving_entities")))
    return _UPDATED(await update_scene(canon, caller, scene_id, changes), scene_id=scene_id)


async def _query(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    story_id = optional_uuid(arguments, "story_id")
    query = SceneQuery(
        story_id=None if story_id is None else StoryId(story_id),
        status=optional_of(arguments, "status", SceneStatus),
        **page_of(arguments),
    )
    universe_id = optional_uuid(arguments, "universe_id")
    page = await query_scenes(canon, caller, query, universe_id=universe_id)
    return await _SCENES(canon, caller, page, arguments)


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "mongodb_create_scene",
        "Create scene",
        "Open a scene in a story, with its participants and place; turns follow.",
        _create,
        gives=_CREATED,
        also={"time_ref": INSTANT, "audience": AUDIENCE},
    ),
    contract_tool(
        "mongodb_get_scene",
        "Get scene",
        "Read a scene with its last turns, and with its proposals if asked.",
        _get,
        gives=_SCENE_IN_FULL,
        reads=True,
        cached=Cached(seconds=_lifetime, depends_on=_dependencies),
    ),
    contract_tool(
        "mongodb_finalize_scene",
        "Finalize scene",
        "Close a scene by hand with outcomes that already are canon. To judge its proposals "
        "use composite_canonize_scene instead.",
        _finalize,
        gives=_FINALIZED,
    ),
    writing_tool(
        "mongodb_update_scene",
        "Update scene",
        "Set a scene's place, time, summary and game master notes, which only context assembly "
        "tells (null clears), and let participants come and go. When it was played (said_at) is "
        "told of closed scenes too.",
        _update,
        takes=obj(
            {"scene_id": UUID},
            {
                "gm_notes": nullable(TEXT),
                "time_ref": nullable(INSTANT),
                "said_at": nullable(INSTANT),
                "summary": nullable(TEXT),
                "location_ref": nullable(UUID),
                "joining_entities": UUIDS,
                "leaving_entities": UUIDS,
            },
        ),
        gives=_UPDATED,
        roles=frozenset({"CanonKeeper", "Orchestrator"}),
        idempotent=True,
        destructive=True,
    ),
    reading_tool(
        "mongodb_query_scenes",
        "Query scenes",
        "List scenes by universe, story or status, in the order of the story, each in a few words.",
        _query,
        takes=obj(
            {},
            {
                "universe_id": UUID,
                "story_id": UUID,
                "status": SCENE_STATUS,
                **PAGING,
                **DETAIL,
            },
        ),
        gives=_SCENES.gives,
    ),
)
