"""Movement tools: extensions that let players go, items pass and time go by, one rule for each."""

from typing import Final

from canonry.gateway.shapes import BOOLEAN, COUNT, INTEGER, TEXT, Shape, optional
from canonry.gateway.tool import Tool
from canonry.readmodels.directions import Direction
from canonry.world.toolset.extensions import (
    CHECKED_TICK,
    KEY,
    PROSE,
    Request,
    builders_tool,
    word,
)
from canonry.world.usecases.advance_clock import advance_clock
from canonry.world.usecases.move_mover import Move, move_mover
from canonry.world.usecases.transfer_item import Transfer, transfer_item

TOOLS: Final[tuple[Tool, ...]] = (
    builders_tool(
        "move",
        "Let a player or character go through an exit; with teleportTo past all exits, for "
        "what no exit explains.",
        Request(
            Move,
            {"moverId": KEY.of("mover")},
            {
                "direction": word(Direction),
                "teleportTo": KEY.of("teleport_to"),
                "reason": PROSE,
                "tick": CHECKED_TICK,
            },
        ),
        move_mover,
        Shape(
            moverId=TEXT.of("mover"),
            fromLocationId=TEXT.of("from_id"),
            toLocationId=TEXT.of("to_id"),
            tick=INTEGER,
            travelDurationMs=COUNT.of("duration"),
            clockTick=optional(INTEGER.of("clock")),
        ),
    ),
    builders_tool(
        "transfer-item",
        "Hand an item on to somebody at the same place, or leave it there.",
        Request(
            Transfer,
            {"itemId": KEY.of("item"), "toHolderId": KEY.of("holder")},
            {"fromHolderId": KEY.of("expected"), "anywhere": BOOLEAN, "tick": CHECKED_TICK},
        ),
        transfer_item,
        Shape(
            itemId=TEXT.of("item"),
            fromHolderId=TEXT.of("from_id"),
            toHolderId=TEXT.of("to_id"),
        ),
    ),
    builders_tool(
        "advance-clock",
        "Let time pass for the world, or with playerId for one player alone.",
        Request(
            dict,
            {"durationMs": INTEGER.of("duration")},
            {"playerId": KEY.of("player"), "reason": PROSE},
        ),
        lambda canon, caller, world, given: advance_clock(canon, caller, world, **given),
        Shape(tick=INTEGER.of(int)),
    ),
)
