"""Turn tools: append what is said, and read the transcript page by page."""

from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.receipts import the_made
from canonry.gateway.shapes import (
    COUNT,
    INSTANT,
    INTEGER,
    UUID,
    Shape,
    given,
    itself,
    nullable,
    obj,
)
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.log.items.scenes import Speaker, TurnDraft
from canonry.narrative.toolset.arguments import (
    PAGE_DEFAULT,
    QUERY_MAX,
    audience_of,
    limit_of,
    optional_uuid,
    text_of,
    uuid_of,
)
from canonry.narrative.toolset.contract import contract_tool, reading_tool
from canonry.narrative.toolset.shapes import AUDIENCE, NAMED_TURNS
from canonry.narrative.usecases.append_turn import TurnRequest, append_turn
from canonry.narrative.usecases.get_turns import get_turns
from canonry.values.errors import InvalidInput

INDEX_MAX: Final = 2**53
_APPENDED: Final = Shape(turn_id=UUID.of("id"), timestamp=given(INSTANT))
_TURNS: Final = Shape(
    turns=NAMED_TURNS.of(itself),
    total_turns=COUNT.of("total"),
    next_after_index=nullable(COUNT).of("following"),
)


async def _append(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
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
        limit=limit_of(arguments, default=PAGE_DEFAULT, maximum=QUERY_MAX),
    )
    return _TURNS(page)


def _after_of(arguments: Arguments) -> int:
    after = arguments.get("after_index", -1)
    if not -1 <= after <= INDEX_MAX:
        message = "/after_index is the index of a turn, or -1 to begin with the first"
        raise InvalidInput("turn.index-out-of-range", message, path="/after_index")
    return int(after)


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "mongodb_append_turn",
        "Append turn",
        "Append what the user, the game master or an entity says in an active scene.",
        _append,
        gives=_APPENDED,
        also={"audience": AUDIENCE},
    ),
    reading_tool(
        "mongodb_get_turns",
        "Get turns",
        "Read a scene's transcript from the start, page by page.",
        _get,
        takes=obj(
            {"scene_id": UUID},
            {
                "after_index": INTEGER.but(default=-1, minimum=-1),
                "limit": INTEGER.but(default=PAGE_DEFAULT, minimum=1, maximum=QUERY_MAX),
            },
        ),
        gives=_TURNS,
    ),
)
