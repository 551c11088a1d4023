"""Turn tools: append what is said, and read the transcript page by page."""

from typing import Final

from canonry.domain.errors import InvalidInput
from canonry.domain.things.scenes import Speaker, TurnDraft
from canonry.domain.time import render_instant
from canonry.gateway.tool import ANYONE, Arguments, Reply, Tool
from canonry.toolsets.narrative.contract import contract_tool
from canonry.toolsets.narrative.replies.present_documents import NAMED_TURN, present_named_turn
from canonry.toolsets.narrative.replies.schemas import COUNT, INSTANT, UUID, array, nullable, obj
from canonry.toolsets.narrative.requests.arguments import limit_of, optional_uuid, text_of, uuid_of
from canonry.toolsets.narrative.requests.pages import QUERY_MAX
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.receipts import the_made
from canonry.usecases.narrative.append_turn import TurnRequest, append_turn
from canonry.usecases.narrative.get_turns import get_turns

INDEX_MAX: Final = 2**53
PAGE: Final = 100


async def _append(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    speaker = Speaker(arguments["speaker"])
    request = TurnRequest(
        scene_id=uuid_of(arguments, "scene_id"),
        speaker=speaker,
        entity_id=_entity_of(arguments, speaker),
        text=text_of(arguments, "text", canon.policy.limits.turn),
        resolution_ref=arguments.get("resolution_ref"),
    )
    receipt = await append_turn(canon, caller, request)
    return {
        "turn_id": the_made(receipt, TurnDraft).id,
        "timestamp": render_instant(receipt.recorded_at),
    }


def _entity_of(arguments: Arguments, speaker: Speaker) -> str | None:
    entity_id = optional_uuid(arguments, "entity_id")
    if speaker is Speaker.ENTITY and entity_id is None:
        message = "name the entity that speaks in /entity_id"
        raise InvalidInput("turn.entity-missing", message, path="/entity_id")
    if speaker is not Speaker.ENTITY and entity_id is not None:
        message = f"the speaker is '{speaker}'; leave /entity_id out, or let the entity speak"
        raise InvalidInput("turn.entity-unexpected", message, path="/entity_id")
    return entity_id


async def _get(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    page = await get_turns(
        canon,
        caller,
        uuid_of(arguments, "scene_id"),
        after=_after_of(arguments),
        limit=limit_of(arguments, default=PAGE, maximum=QUERY_MAX),
    )
    return {
        "turns": [present_named_turn(turn, page.names) for turn in page.turns],
        "total_turns": page.total,
        "next_after_index": page.following,
    }


def _after_of(arguments: Arguments) -> int:
    after = arguments.get("after_index", -1)
    if not -1 <= after <= INDEX_MAX:
        message = "/after_index is the index of a turn, or -1 to begin with the first"
        raise InvalidInput("turn.index-out-of-range", message, path="/after_index")
    return int(after)


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "mongodb_append_turn",
        title="Append turn",
        description="Append what the user, the game master or an entity says in an active scene.",
        output_schema=obj({"turn_id": UUID, "timestamp": INSTANT}),
        run=_append,
        read_only=False,
    ),
    Tool(
        name="mongodb_get_turns",
        title="Get turns",
        description="Read a scene's transcript from the start, page by page.",
        input_schema=obj(
            {"scene_id": UUID},
            {
                "after_index": {"type": "integer", "default": -1, "minimum": -1},
                "limit": {"type": "integer", "default": PAGE, "minimum": 1, "maximum": QUERY_MAX},
            },
        ),
        output_schema=obj(
            {
                "turns": array(NAMED_TURN),
                "total_turns": COUNT,
                "next_after_index": nullable(COUNT),
            }
        ),
        roles=ANYONE,
        run=_get,
        read_only=True,
        idempotent=True,
        extension=True,
    ),
)
