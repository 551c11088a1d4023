"""Story tools: create, query."""

from typing import Any, Final

from canonry.domain.ids import SpaceId, StoryId
from canonry.domain.things.scenes import StoryDraft, StoryType
from canonry.domain.time import render_instant
from canonry.gateway.tool import ANYONE, Arguments, Reply, Tool
from canonry.toolsets.narrative.contract import contract_tool
from canonry.toolsets.narrative.replies.present import STORY, listing, present_story
from canonry.toolsets.narrative.replies.schemas import INSTANT, TEXT, UUID, obj
from canonry.toolsets.narrative.requests.arguments import (
    instant_of,
    limit_of,
    offset_of,
    optional_text,
    optional_uuid,
    text_of,
    uuid_of,
)
from canonry.toolsets.narrative.requests.pages import PAGING, QUERY_MAX
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.receipts import the_made
from canonry.usecases.narrative.create_story import NewStory, create_story
from canonry.usecases.narrative.query_stories import query_stories


async def _create(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    parent = optional_uuid(arguments, "parent_story_id")
    new = NewStory(
        space=SpaceId(uuid_of(arguments, "universe_id")),
        title=text_of(arguments, "title", limits.name),
        story_type=StoryType(arguments["story_type"]),
        theme=optional_text(arguments, "theme", limits.description),
        premise=optional_text(arguments, "premise", limits.description),
        parent_id=None if parent is None else StoryId(parent),
        start_time_ref=instant_of(arguments, "start_time_ref"),
    )
    receipt = await create_story(canon, caller, new)
    story = the_made(receipt, StoryDraft)
    return {
        "story_id": story.id,
        "status": story.status.value,
        "created_at": render_instant(receipt.recorded_at),
    }


async def _query(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    page = await query_stories(
        canon,
        caller,
        uuid_of(arguments, "universe_id"),
        limit=limit_of(arguments, default=50, maximum=QUERY_MAX),
        offset=offset_of(arguments),
    )
    shown: list[Any] = [present_story(story) for story in page.items]
    return {"stories": shown, "total": page.total}


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "neo4j_create_story",
        title="Create story",
        description="Create a story to hold scenes; arcs and episodes lie in campaigns or arcs.",
        output_schema=obj({"story_id": UUID, "status": TEXT, "created_at": INSTANT}),
        run=_create,
        read_only=False,
    ),
    Tool(
        name="neo4j_query_stories",
        title="Query stories",
        description="List the stories of a universe, oldest first.",
        input_schema=obj({"universe_id": UUID}, PAGING),
        output_schema=listing("stories", STORY),
        roles=ANYONE,
        run=_query,
        read_only=True,
        idempotent=True,
        extension=True,
    ),
)
