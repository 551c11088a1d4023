"""Movement tools: extensions that let players go, items pass and time go by, one rule for each."""

from typing import Final

from canonry.domain.world.directions import Direction
from canonry.gateway.tool import Reply, Tool
from canonry.toolsets.world.extensions import (
    CHECKED_TICK,
    COUNT,
    FLAG,
    INTEGER,
    KEY,
    PROSE,
    TEXT,
    TICK,
    Answer,
    Request,
    builders_tool,
    obj,
    word,
)
from canonry.usecases.world.advance_clock import advance_clock
from canonry.usecases.world.move_mover import Move, Moved, move_mover
from canonry.usecases.world.transfer_item import Transfer, transfer_item


def _present_move(moved: Moved) -> Reply:
    return {
        "moverId": moved.mover,
        "fromLocationId": moved.from_id,
        "toLocationId": moved.to_id,
        "tick": moved.tick,
        "travelDurationMs": moved.duration,
        **({} if moved.clock is None else {"clockTick": moved.clock}),
    }


TOOLS: Final[tuple[Tool, ...]] = (
    builders_tool(
        "move",
        "Let a player or character go through an exit; with teleportTo past all exits, for "
        "what no exit explains.",
        Request(
            Move,
            {"moverId": KEY.into("mover")},
            {
                "direction": word(Direction),
                "teleportTo": KEY.into("teleport_to"),
                "reason": PROSE,
                "tick": CHECKED_TICK,
            },
        ),
        move_mover,
        Answer(
            obj(
                {
                    "moverId": TEXT,
                    "fromLocationId": TEXT,
                    "toLocationId": TEXT,
                    "tick": INTEGER,
                    "travelDurationMs": COUNT,
                },
                {"clockTick": INTEGER},
            ),
            _present_move,
        ),
    ),
    builders_tool(
        "transfer-item",
        "Hand an item on to somebody at the same place, or leave it there.",
        Request(
            Transfer,
            {"itemId": KEY.into("item"), "toHolderId": KEY.into("holder")},
            {"fromHolderId": KEY.into("expected"), "anywhere": FLAG, "tick": CHECKED_TICK},
        ),
        transfer_item,
        Answer(
            obj({"itemId": TEXT, "fromHolderId": TEXT, "toHolderId": TEXT}),
            lambda done: {
                "itemId": done.item,
                "fromHolderId": done.from_id,
                "toHolderId": done.to_id,
            },
        ),
    ),
    builders_tool(
        "advance-clock",
        "Let time pass for the world, or with playerId for one player alone.",
        Request(
            dict,
            {"durationMs": TICK.into("duration")},
            {"playerId": KEY.into("player"), "reason": PROSE},
        ),
        lambda canon, caller, world, given: advance_clock(canon, caller, world, **given),
        Answer(obj({"tick": INTEGER}), lambda tick: {"tick": tick}),
    ),
)
