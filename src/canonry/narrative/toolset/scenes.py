"""Tools for stories, scenes and turns, and for the context of the next turn."""

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, Final, NamedTuple

from canonry.canon.canonization.canonize_scene import finalize_scene
from canonry.canon.queries.names import AS_KNOWN_AT
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import the_made
from canonry.gateway.replies import (
    BOOLEAN,
    COUNT,
    INSTANT,
    INTEGER,
    NUMBER,
    OBJECT,
    TEXT,
    UUID,
    WORD,
    Shape,
    array,
    enum,
    given,
    itself,
    nullable,
    obj,
    optional,
)
from canonry.gateway.tool import Arguments, Cached, Reply
from canonry.log.entries import (
    SaidAt,
    SceneDated,
    SceneNoted,
    ScenePlaced,
    SceneStaged,
    SceneSummarised,
)
from canonry.log.folding import proposals_key, thing_key, turns_key
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.log.items.scenes import (
    SceneDraft,
    SceneStatus,
    Speaker,
    StoryDraft,
    StoryType,
    TurnDraft,
)
from canonry.narrative.toolset import shapes
from canonry.narrative.toolset.contract import (
    contract_tool,
    listing_tool,
    reading_tool,
    writing_tool,
)
from canonry.narrative.toolset.search import HITS
from canonry.narrative.usecases import scenes as usecases
from canonry.narrative.usecases.context import (
    ContextRequest,
    SceneContext,
    ThreadKind,
    assemble_context,
)
from canonry.readmodels.ports.documents import SceneQuery
from canonry.recall.domain.context import NAMED_MAX, Told
from canonry.values.errors import InvalidInput
from canonry.values.ids import EntityId, SceneId, SpaceId, StoryId

ORDER_MAX: Final = 2**31 - 1
ACTIVE_SECONDS: Final = 30.0
_CREATED: Final = Shape(
    scene_id=UUID.of("id"), status=shapes.SCENE_STATUS, order=INTEGER, created_at=given(INSTANT)
)
_SCENE_IN_FULL: Final = Shape(
    **{**shapes.SCENE.within("scene"), "total_turns": COUNT},
    turns=array(shapes.TURN),
    truncated=given(BOOLEAN),
    proposed_changes=shapes.UUIDS.of(lambda found: (each.id for each in found.proposals.items)),
    total_proposals=COUNT.of("proposals.total"),
    proposals=optional(given(array(shapes.PROPOSAL))),
)
_FINALIZED: Final = Shape(
    scene_id=given(UUID),
    status=shapes.SCENE_STATUS.of(lambda _: SceneStatus.COMPLETED),
    completed_at=INSTANT.of("receipt.recorded_at"),
    pending_proposals=COUNT.of("pending"),
)
_UPDATED: Final = Shape(scene_id=given(UUID), updated_at=INSTANT.of("recorded_at"))
_TURNS: Final = 20
"""The default number of last turns that come with a scene."""

_SCENES: Final = shapes.Listing(
    "scenes",
    shapes.RowShape(
        shapes.SCENE,
        *("scene_id", "story_id", "title", "status", "order", "location_ref", "time_ref"),
        total_participants=COUNT.of(lambda scene: len(scene.participants)),
        total_turns=COUNT.of("turn_count"),
        total_outcomes=COUNT.of(lambda scene: len(scene.outcomes)),
        summary=nullable(TEXT).by(shapes.gist),
    ),
)


def _order_of(arguments: Arguments) -> int | None:
    order = arguments.get("order")
    if order is not None and not 0 <= order <= ORDER_MAX:
        message = f"/order must be between 0 and {ORDER_MAX}. Leave it out to put the scene last."
        raise InvalidInput("scene.order-out-of-range", message, path="/order", maximum=ORDER_MAX)
    return None if order is None else int(order)


def _dependencies(_: Arguments, reply: Reply) -> frozenset[str]:
    scene_id = str(reply["scene_id"])
    return frozenset((thing_key(scene_id), turns_key(scene_id), proposals_key(scene_id)))


@contract_tool(
    "mongodb_create_scene",
    "Open a scene in a story, with its participants and location. Then add turns.",
    gives=_CREATED,
    also={"time_ref": INSTANT, "audience": shapes.AUDIENCE},
)
async def _create_scene(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    request = usecases.SceneRequest(
        universe_id=shapes.uuid_of(arguments, "universe_id"),
        story_id=shapes.uuid_of(arguments, "story_id"),
        title=shapes.text_of(arguments, "title", limits.name),
        purpose=shapes.optional_text(arguments, "purpose", limits.description),
        order=_order_of(arguments),
        location_id=shapes.optional_uuid(arguments, "location_ref"),
        participant_ids=shapes.uuids_of(arguments, "participating_entities"),
        time_ref=shapes.instant_of(arguments, "time_ref"),
        time_words=shapes.time_words_of(arguments, "time_ref"),
        audience=shapes.audience_of(arguments),
    )
    return shapes.created(_CREATED, await usecases.create_scene(canon, caller, request), SceneDraft)


@contract_tool(
    "mongodb_get_scene",
    "Read a scene with its last turns, and with its proposals on request.",
    gives=_SCENE_IN_FULL,
    read_only=True,
    cached=Cached(
        seconds=lambda _, reply: ACTIVE_SECONDS if reply.get("status") == "active" else 0.0,
        depends_on=_dependencies,
    ),
)
async def _get_scene(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    turns = 0
    if arguments.get("include_turns", True):
        turns = shapes.limit_of(arguments, "turn_limit", default=_TURNS, maximum=shapes.QUERY_MAX)
    found = await usecases.get_scene(
        canon, caller, shapes.uuid_of(arguments, "scene_id"), turns=turns
    )
    wanted = arguments.get("include_proposals", False)
    return _SCENE_IN_FULL(
        found,
        proposals=found.proposals.items if wanted else None,
        truncated=0 < len(found.turns) < found.total_turns,
    )


@contract_tool(
    "mongodb_finalize_scene",
    "Close a scene by hand, with outcomes that are already canon. To judge its proposals, use "
    "composite_canonize_scene instead.",
    gives=_FINALIZED,
)
async def _finalize_scene(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    scene_id = shapes.uuid_of(arguments, "scene_id")
    done = await finalize_scene(
        canon,
        caller,
        scene_id,
        outcomes=shapes.uuids_of(arguments, "canonical_outcome_ids"),
        summary=shapes.text_of(arguments, "summary", canon.policy.limits.summary),
    )
    return _FINALIZED(done, scene_id=scene_id)


@writing_tool(
    "mongodb_update_scene",
    "Change a scene's location, time, summary, participants or secret gm_notes (null clears). "
    "said_at can also be set after the scene is closed.",
    takes=obj(
        {"scene_id": UUID},
        {
            "gm_notes": nullable(TEXT),
            "time_ref": nullable(INSTANT),
            "said_at": nullable(INSTANT),
            "summary": nullable(TEXT),
            "location_ref": nullable(UUID),
            "joining_entities": shapes.UUIDS,
            "leaving_entities": shapes.UUIDS,
        },
    ),
    gives=_UPDATED,
    roles=frozenset({"CanonKeeper", "Orchestrator"}),
    idempotent=True,
    destructive=True,
)
async def _update_scene(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    scene_id = SceneId(shapes.uuid_of(arguments, "scene_id"))
    limits, changes = canon.policy.limits, list[usecases.SceneChange]()
    if "gm_notes" in arguments:
        text = shapes.optional_text(arguments, "gm_notes", limits.turn)
        changes.append(SceneNoted(scene_id=scene_id, gm_notes=text))
    if "time_ref" in arguments:
        time, words = (
            shapes.instant_of(arguments, "time_ref"),
            shapes.time_words_of(arguments, "time_ref"),
        )
        changes.append(SceneDated(scene_id=scene_id, time_ref=time, time_words=words))
    if "said_at" in arguments:
        changes.append(SaidAt(thing_id=scene_id, said_at=shapes.instant_of(arguments, "said_at")))
    if "summary" in arguments:
        text = shapes.optional_text(arguments, "summary", limits.summary)
        changes.append(SceneSummarised(scene_id=scene_id, summary=text))
    if "location_ref" in arguments:
        place = shapes.optional_id(arguments, "location_ref", EntityId)
        changes.append(ScenePlaced(scene_id=scene_id, location_ref=place))
    if "joining_entities" in arguments or "leaving_entities" in arguments:
        joined = tuple(map(EntityId, shapes.uuids_of(arguments, "joining_entities")))
        left = tuple(map(EntityId, shapes.uuids_of(arguments, "leaving_entities")))
        changes.append(SceneStaged(scene_id=scene_id, joined=joined, left=left))
    return _UPDATED(
        await usecases.update_scene(canon, caller, scene_id, changes), scene_id=scene_id
    )


@reading_tool(
    "mongodb_query_scenes",
    "List scenes by universe, story or status, in story order, as short rows.",
    takes=shapes.filters(universe_id=UUID, story_id=UUID, status=shapes.SCENE_STATUS),
    gives=_SCENES.gives,
)
async def _query_scenes(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    query = SceneQuery(
        story_id=shapes.optional_id(arguments, "story_id", StoryId),
        status=shapes.optional_of(arguments, "status", SceneStatus),
        **shapes.page_of(arguments),
    )
    return await _SCENES.query(
        canon, caller, arguments, usecases.query_scenes, query, "universe_id"
    )


_STORIES_CREATED: Final = Shape(story_id=UUID.of("id"), status=WORD, created_at=given(INSTANT))


@contract_tool(
    "neo4j_create_story",
    "Create a story to hold scenes. Arcs and episodes belong to campaigns or arcs.",
    gives=_STORIES_CREATED,
)
async def _create_story(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    new = usecases.NewStory(
        space=SpaceId(shapes.uuid_of(arguments, "universe_id")),
        title=shapes.text_of(arguments, "title", limits.name),
        story_type=StoryType(arguments["story_type"]),
        theme=shapes.optional_text(arguments, "theme", limits.description),
        premise=shapes.optional_text(arguments, "premise", limits.description),
        parent_id=shapes.optional_id(arguments, "parent_story_id", StoryId),
        start_time_ref=shapes.instant_of(arguments, "start_time_ref"),
    )
    return shapes.created(
        _STORIES_CREATED, await usecases.create_story(canon, caller, new), StoryDraft
    )


_query_stories: Final = listing_tool(
    "neo4j_query_stories",
    "List the stories of a universe, oldest first.",
    usecases.query_stories,
    within="universe_id",
    gives=shapes.Listing(
        "stories",
        shapes.RowShape(
            shapes.STORY,
            "story_id",
            "title",
            "story_type",
            "parent_story_id",
            "status",
            "scene_count",
        ),
    ),
)


INDEX_MAX: Final = 2**53
_APPENDED: Final = Shape(turn_id=UUID.of("id"), timestamp=given(INSTANT))
_TURNS_TURNS: Final = Shape(
    turns=shapes.NAMED_TURNS.of(itself),
    total_turns=COUNT.of("total"),
    next_after_index=nullable(COUNT).of("following"),
)


def _entity_of(arguments: Arguments, speaker: Speaker) -> str | None:
    entity_id = shapes.optional_uuid(arguments, "entity_id")
    if speaker is Speaker.ENTITY and entity_id is None:
        message = "/entity_id is missing. Give the id of the entity that speaks."
        raise InvalidInput("turn.entity-missing", message, path="/entity_id")
    if speaker is not Speaker.ENTITY and entity_id is not None:
        message = f"The speaker is '{speaker}'. Leave out /entity_id, or set /speaker to entity."
        raise InvalidInput("turn.entity-unexpected", message, path="/entity_id")
    return entity_id


def _after_of(arguments: Arguments) -> int:
    after = arguments.get("after_index", -1)
    if not -1 <= after <= INDEX_MAX:
        message = f"/after_index is {after}. Give a turn's index, or -1 to start with the first."
        raise InvalidInput("turn.index-out-of-range", message, path="/after_index")
    return int(after)


@contract_tool(
    "mongodb_append_turn",
    "Append an utterance of the user, the game master or an entity to an active scene.",
    gives=_APPENDED,
    also={"audience": shapes.AUDIENCE},
)
async def _append_turn(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    speaker = Speaker(arguments["speaker"])
    request = usecases.TurnRequest(
        scene_id=shapes.uuid_of(arguments, "scene_id"),
        speaker=speaker,
        entity_id=_entity_of(arguments, speaker),
        text=shapes.text_of(arguments, "text", canon.policy.limits.turn),
        resolution_ref=arguments.get("resolution_ref"),
        audience=shapes.audience_of(arguments),
    )
    receipt = await usecases.append_turn(canon, caller, request)
    return _APPENDED(the_made(receipt, TurnDraft), timestamp=receipt.recorded_at)


@reading_tool(
    "mongodb_get_turns",
    "Read a scene's transcript from the start, in pages.",
    takes=obj(
        {"scene_id": UUID},
        {
            "after_index": INTEGER.but(default=-1, minimum=-1),
            "limit": INTEGER.but(default=shapes.PAGE_DEFAULT, minimum=1, maximum=shapes.QUERY_MAX),
        },
    ),
    gives=_TURNS_TURNS,
)
async def _get_turns(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    page = await usecases.get_turns(
        canon,
        caller,
        shapes.uuid_of(arguments, "scene_id"),
        after=_after_of(arguments),
        limit=shapes.limit_of(arguments, default=shapes.PAGE_DEFAULT, maximum=shapes.QUERY_MAX),
    )
    return _TURNS_TURNS(page)


_LEFT_OUT: Final = Shape(
    read_with=TEXT,
    description=BOOLEAN,
    properties=array(TEXT),
    total_properties=COUNT,
    state_tags=COUNT,
)
_SHORT: Final = shapes.ENTITY.only("entity_id", "name", "entity_class", "entity_type")
_ENTITY: Final = Shape(
    **{name: each.of(f"entity.{each.source or name}") for name, each in _SHORT.items()},
    role=given(enum("participant", "location", "related")),
    state_tags=array(TEXT).of("head.tags"),
    located_in=nullable(Shape(entity_id=UUID.of("id"), name=TEXT)).of("head.place"),
    description=TEXT.of("sheet.description"),
    properties=OBJECT.of("sheet.properties"),
    trimmed=nullable(given(_LEFT_OUT.by(dict))),
)
_FACT: Final = Shape(
    **shapes.FACT.only(
        "fact_id", "statement", "time_ref", "involved_entity_ids", "confidence", "authority"
    )
)


class _Joined(NamedTuple):
    """A relation with the two entities that it joins."""

    relation: Relation
    start: Entity
    end: Entity


_RELATION: Final = Shape(
    relationship_id=UUID.of("relation.id"),
    rel_type=TEXT.of("relation.rel_type"),
    from_entity_id=UUID.of("start.id"),
    from_name=TEXT.of("start.name"),
    to_entity_id=UUID.of("end.id"),
    to_name=TEXT.of("end.name"),
)
_EVENT: Final = Shape(
    **shapes.EVENT.only("event_id", "title", "description", "time_ref", "severity", "scene_id"),
    **shapes.EVENT.only("involved_entity_ids"),
)
_PREVIOUS: Final = Shape(
    **shapes.SCENE.only("scene_id", "title", "order", "summary", "completed_at")
)
_THREAD: Final = Shape(kind=enum(*ThreadKind), id=UUID, text=TEXT)
_MEMORY: Final = Shape(
    **{**shapes.MEMORY.within("memory"), "entity_id": UUID.of("owner.id")},
    entity_name=TEXT.of("owner.name"),
    score=NUMBER,
    terms=array(TEXT),
)
_SECTIONS: Final = (
    "entities",
    "facts",
    "relations",
    "events",
    "prior_turns",
    "previous_scenes",
    "open_threads",
    "similar_scenes",
    "character_memories",
    "rule_excerpts",
)


def _entities(context: SceneContext) -> list[dict[str, Any]]:
    roles = {entity.id: "participant" for entity in context.cast.participants}
    if context.cast.location is not None:
        roles.setdefault(context.cast.location.id, "location")
    return [
        _ENTITY(told, role=roles.get(told.entity.id, "related"), trimmed=_left_out(told))
        for told in context.canonical.entities
    ]


def _left_out(told: Told) -> dict[str, Any] | None:
    """Return the parts of an entity that were left out, and the tool that returns them."""
    left = told.sheet.left
    if not left and not told.sheet.shortened and not told.head.tags_left:
        return None
    return _LEFT_OUT(
        read_with="neo4j_get_entity",
        description=told.sheet.shortened,
        properties=left[:NAMED_MAX],
        total_properties=len(left),
        state_tags=told.head.tags_left,
    )


def _joined(context: SceneContext) -> Iterator[_Joined]:
    roots = context.canonical.roots
    for edge in context.canonical.relations:
        yield _Joined(edge, roots[edge.from_id], roots[edge.to_id])


_CANONICAL: Final = Shape(
    entities=array(_ENTITY).made(_entities),
    facts=array(_FACT).of("canonical.facts"),
    relations=array(_RELATION).of(_joined),
    events=array(_EVENT).of("canonical.events"),
)
_NARRATIVE: Final = Shape(
    prior_turns=shapes.NAMED_TURNS.of("narrative"),
    scene_summary=nullable(given(TEXT)),
    gm_notes=nullable(given(TEXT)),
    previous_scenes=array(_PREVIOUS).of("narrative.scenes"),
    open_threads=array(_THREAD).of("narrative.threads"),
)
_RECALLED: Final = Shape(
    similar_scenes=HITS.of(lambda recalled: (recalled.scenes, recalled.things)),
    character_memories=array(_MEMORY).of("memories"),
    rule_excerpts=HITS.of(lambda recalled: (recalled.rules, recalled.things)),
)
_METADATA: Final = Shape(
    universe_id=UUID.of("scene.space"),
    story_id=UUID.of("scene.story_id"),
    scene_id=UUID.of("scene.id"),
    timestamp=INSTANT.of("at"),
    scene_title=TEXT.of("scene.title"),
    scene_purpose=nullable(TEXT).of("scene.purpose"),
    scene_status=WORD.of("scene.status"),
    total_turns=COUNT.of("scene.turn_count"),
    recall_query=nullable(TEXT).of("query"),
    degraded=array(TEXT),
    tokens=Shape(budget=COUNT, used=COUNT).of(itself),
    omitted=Shape(**{name: COUNT.of(itemgetter(name)) for name in _SECTIONS}),
)
_CONTEXT: Final = Shape(
    canonical=_CANONICAL.of(itself),
    narrative=given(_NARRATIVE.by(dict)),
    recalled=_RECALLED,
    metadata=_METADATA.of(itself),
)
"""The three sections and their sources; members exist even if they are empty."""


@contract_tool(
    "composite_assemble_scene_context",
    "Gather what a model should know before the next turn: the participants, the canon about "
    "them, the transcript and related passages.",
    gives=_CONTEXT,
    read_only=True,
    times=(AS_KNOWN_AT,),
    also={"tokens": COUNT.but(minimum=200, maximum=16_000)},
)
async def _assemble_scene_context(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    narrative = bool(arguments.get("include_narrative", True))
    request = ContextRequest(
        scene_id=shapes.uuid_of(arguments, "scene_id"),
        canonical=bool(arguments.get("include_canonical", True)),
        narrative=narrative,
        recalled=bool(arguments.get("include_semantic", True)),
        query=shapes.optional_text(arguments, "semantic_query", None),
        tokens=None if (tokens := arguments.get("tokens")) is None else int(tokens),
    )
    context = await assemble_context(canon, caller, request)
    scene = context.scene if narrative else None
    section = _NARRATIVE(
        context, scene_summary=scene and scene.summary, gm_notes=scene and scene.gm_notes
    )
    return _CONTEXT(context, narrative=section)


STORIES_TOOLS: Final = (_create_story, _query_stories)
TOOLS: Final = (
    _create_scene,
    _get_scene,
    _finalize_scene,
    _update_scene,
    _query_scenes,
    _append_turn,
    _get_turns,
)
CONTEXT_TOOLS: Final = (_assemble_scene_context,)
