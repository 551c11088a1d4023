"""Tools on stories, scenes and turns."""

from typing import Final

from canonry.canon.canonization.complete_scene import finalize_scene
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import the_made
from canonry.gateway.shapes import (
    BOOLEAN,
    COUNT,
    INSTANT,
    INTEGER,
    TEXT,
    UUID,
    WORD,
    Shape,
    array,
    given,
    itself,
    nullable,
    obj,
    optional,
)
from canonry.gateway.tool import Arguments, Cached, Reply
from canonry.log.folding import proposals_key, thing_key, turns_key
from canonry.log.items.scenes import (
    SceneDraft,
    SceneStatus,
    Speaker,
    StoryDraft,
    StoryType,
    TurnDraft,
)
from canonry.narrative.toolset.arguments import (
    PAGE_DEFAULT,
    QUERY_MAX,
    audience_of,
    filters,
    instant_of,
    limit_of,
    optional_id,
    optional_of,
    optional_text,
    optional_uuid,
    page_of,
    text_of,
    time_words_of,
    uuid_of,
    uuids_of,
)
from canonry.narrative.toolset.contract import (
    contract_tool,
    listing_tool,
    reading_tool,
    writing_tool,
)
from canonry.narrative.toolset.shapes import (
    AUDIENCE,
    NAMED_TURNS,
    PROPOSAL,
    SCENE,
    SCENE_STATUS,
    STORY,
    TURN,
    UUIDS,
    Listing,
    RowShape,
    created,
    gist,
)
from canonry.narrative.usecases.scenes import (
    Notes,
    PlayedAt,
    SceneChange,
    SceneQuery,
    SceneRequest,
    SceneSetting,
    Staging,
    Time,
    WrittenSummary,
    create_scene,
    get_scene,
    query_scenes,
    update_scene,
)
from canonry.narrative.usecases.stories import (
    NewStory,
    TurnRequest,
    append_turn,
    create_story,
    get_turns,
    query_stories,
)
from canonry.values.errors import InvalidInput
from canonry.values.ids import SpaceId, StoryId

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


def _order_of(arguments: Arguments) -> int | None:
    order = arguments.get("order")
    if order is not None and not 0 <= order <= ORDER_MAX:
        message = f"/order must lie between 0 and {ORDER_MAX}; leave it out to come last"
        raise InvalidInput("scene.order-out-of-range", message, path="/order", maximum=ORDER_MAX)
    return None if order is None else int(order)


def _lifetime(_: Arguments, reply: Reply) -> float:
    return ACTIVE_SECONDS if reply.get("status") == SceneStatus.ACTIVE else 0.0


def _dependencies(_: Arguments, reply: Reply) -> frozenset[str]:
    scene_id = str(reply["scene_id"])
    return frozenset((thing_key(scene_id), turns_key(scene_id), proposals_key(scene_id)))


@contract_tool(
    "mongodb_create_scene",
    "Open a scene in a story, with its participants and place; turns follow.",
    gives=_CREATED,
    also={"time_ref": INSTANT, "audience": AUDIENCE},
)
async def _create_scene(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
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


@contract_tool(
    "mongodb_get_scene",
    "Read a scene with its last turns, and with its proposals if asked.",
    gives=_SCENE_IN_FULL,
    read_only=True,
    cached=Cached(seconds=_lifetime, depends_on=_dependencies),
)
async def _get_scene(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    turns = 0
    if arguments.get("include_turns", True):
        turns = limit_of(arguments, "turn_limit", default=_TURNS, maximum=QUERY_MAX)
    found = await get_scene(canon, caller, uuid_of(arguments, "scene_id"), turns=turns)
    wanted = arguments.get("include_proposals", False)
    return _SCENE_IN_FULL(
        found,
        proposals=found.proposals.items if wanted else None,
        truncated=0 < len(found.turns) < found.total_turns,
    )


@contract_tool(
    "mongodb_finalize_scene",
    "Close a scene by hand with outcomes that already are canon. To judge its proposals "
    "use composite_canonize_scene instead.",
    gives=_FINALIZED,
)
async def _finalize_scene(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    scene_id = uuid_of(arguments, "scene_id")
    done = await finalize_scene(
        canon,
        caller,
        scene_id,
        outcomes=uuids_of(arguments, "canonical_outcome_ids"),
        summary=text_of(arguments, "summary", canon.policy.limits.summary),
    )
    return _FINALIZED(done, scene_id=scene_id)


@writing_tool(
    "mongodb_update_scene",
    "Set a scene's place, time, summary and game master notes, which only context assembly "
    "tells (null clears), and let participants come and go. When it was played (said_at) is "
    "told of closed scenes too.",
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
)
async def _update_scene(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
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


@reading_tool(
    "mongodb_query_scenes",
    "List scenes by universe, story or status, in the order of the story, each in a few words.",
    takes=filters(universe_id=UUID, story_id=UUID, status=SCENE_STATUS),
    gives=_SCENES.gives,
)
async def _query_scenes(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    query = SceneQuery(
        story_id=optional_id(arguments, "story_id", StoryId),
        status=optional_of(arguments, "status", SceneStatus),
        **page_of(arguments),
    )
    return await _SCENES.query(canon, caller, arguments, query_scenes, query, "universe_id")


TOOLS: Final = (_create_scene, _get_scene, _finalize_scene, _update_scene, _query_scenes)


_STORIES_CREATED: Final = Shape(story_id=UUID.of("id"), status=WORD, created_at=given(INSTANT))


@contract_tool(
    "neo4j_create_story",
    "Create a story to hold scenes; arcs and episodes lie in campaigns or arcs.",
    gives=_STORIES_CREATED,
)
async def _create_story(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    new = NewStory(
        space=SpaceId(uuid_of(arguments, "universe_id")),
        title=text_of(arguments, "title", limits.name),
        story_type=StoryType(arguments["story_type"]),
        theme=optional_text(arguments, "theme", limits.description),
        premise=optional_text(arguments, "premise", limits.description),
        parent_id=optional_id(arguments, "parent_story_id", StoryId),
        start_time_ref=instant_of(arguments, "start_time_ref"),
    )
    return created(_STORIES_CREATED, await create_story(canon, caller, new), StoryDraft)


_query_stories: Final = listing_tool(
    "neo4j_query_stories",
    "List the stories of a universe, oldest first.",
    query_stories,
    within="universe_id",
    gives=Listing(
        "stories",
        RowShape(
            STORY, "story_id", "title", "story_type", "parent_story_id", "status", "scene_count"
        ),
    ),
)


STORIES_TOOLS: Final = (_create_story, _query_stories)


INDEX_MAX: Final = 2**53
_APPENDED: Final = Shape(turn_id=UUID.of("id"), timestamp=given(INSTANT))
_TURNS_TURNS: Final = Shape(
    turns=NAMED_TURNS.of(itself),
    total_turns=COUNT.of("total"),
    next_after_index=nullable(COUNT).of("following"),
)


def _entity_of(arguments: Arguments, speaker: Speaker) -> str | None:
    entity_id = optional_uuid(arguments, "entity_id")
    if speaker is Speaker.ENTITY and entity_id is None:
        message = "name the entity that speaks in /entity_id"
        raise InvalidInput("turn.entity-missing", message, path="/entity_id")
    if speaker is not Speaker.ENTITY and entity_id is not None:
        message = f"the speaker is '{speaker}'; leave /entity_id out, or let the entity speak"
        raise InvalidInput("turn.entity-unexpected", message, path="/entity_id")
    return entity_id


def _after_of(arguments: Arguments) -> int:
    after = arguments.get("after_index", -1)
    if not -1 <= after <= INDEX_MAX:
        message = "/after_index is the index of a turn, or -1 to begin with the first"
        raise InvalidInput("turn.index-out-of-range", message, path="/after_index")
    return int(after)


@contract_tool(
    "mongodb_append_turn",
    "Append what the user, the game master or an entity says in an active scene.",
    gives=_APPENDED,
    also={"audience": AUDIENCE},
)
async def _append_turn(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    speaker = Speaker(arguments["speaker"])
    request = TurnRequest(
        scene_id=uuid_of(arguments, "scene_id"),
        speaker=speaker,
        entity_id=_entity_of(arguments, speaker),
        text=text_of(arguments, "text", canon.policy.limits.turn),
        resolution_ref=arguments.get("resolution_ref"),
        audience=audience_of(arguments),
    )
    receipt = await append_turn(canon, caller, request)
    return _APPENDED(the_made(receipt, TurnDraft), timestamp=receipt.recorded_at)


@reading_tool(
    "mongodb_get_turns",
    "Read a scene's transcript from the start, page by page.",
    takes=obj(
        {"scene_id": UUID},
        {
            "after_index": INTEGER.but(default=-1, minimum=-1),
            "limit": INTEGER.but(default=PAGE_DEFAULT, minimum=1, maximum=QUERY_MAX),
        },
    ),
    gives=_TURNS_TURNS,
)
async def _get_turns(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    page = await get_turns(
        canon,
        caller,
        uuid_of(arguments, "scene_id"),
        after=_after_of(arguments),
        limit=limit_of(arguments, default=PAGE_DEFAULT, maximum=QUERY_MAX),
    )
    return _TURNS_TURNS(page)


TURNS_TOOLS: Final = (_append_turn, _get_turns)
