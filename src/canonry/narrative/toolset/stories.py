"""Story tools: create, query."""

from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import INSTANT, UUID, WORD, Shape, given
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.log.items.scenes import StoryDraft, StoryType
from canonry.narrative.toolset.arguments import (
    instant_of,
    optional_text,
    optional_uuid,
    text_of,
    uuid_of,
)
from canonry.narrative.toolset.contract import contract_tool, listing_tool
from canonry.narrative.toolset.rows import Listing, RowShape
from canonry.narrative.toolset.shapes import STORY, created
from canonry.narrative.usecases.create_story import NewStory, create_story
from canonry.narrative.usecases.query_stories import query_stories
from canonry.values.ids import SpaceId, StoryId

_CREATED: Final = Shape(story_id=UUID.of("id"), status=WORD, created_at=given(INSTANT))


async def _create(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    parent_id = optional_uuid(arguments, "parent_story_id")
    new = NewStory(
        space=SpaceId(uuid_of(arguments, "universe_id")),
        title=text_of(arguments, "title", limits.name),
        story_type=StoryType(arguments["story_type"]),
        theme=optional_text(arguments, "theme", limits.description),
        premise=optional_text(arguments, "premise", limits.description),
        parent_id=None if parent_id is None else StoryId(parent_id),
        start_time_ref=instant_of(arguments, "start_time_ref"),
    )
    return created(_CREATED, await create_story(canon, caller, new), StoryDraft)


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "neo4j_create_story",
        "Create story",
        "Create a story to hold scenes; arcs and episodes lie in campaigns or arcs.",
        _create,
        gives=_CREATED,
    ),
    listing_tool(
        "neo4j_query_stories",
        "Query stories",
        "List the stories of a universe, oldest first.",
        query_stories,
        within="universe_id",
        gives=Listing(
            "stories",
            RowShape(
                STORY, "story_id", "title", "story_type", "parent_story_id", "status", "scene_count"
            ),
        ),
    ),
)
