"""Movement tools: extensions that let players go, items pass and time go by, one rule for each."""

from typing import Final

from canonry.domain.world.directions import Direction
from canonry.domain.world.ticks import checked_tick
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.toolsets.world.contract import BUILDER
from canonry.toolsets.world.schemas import FLAG, KEY, PROSE, TEXT, TICK, WHOLE, enum, obj
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.world.advance_clock import advance_clock
from canonry.usecases.world.bound_world import bound_world
from canonry.usecases.world.move_mover import Move, move_mover
from canonry.usecases.world.transfer_item import Transfer, transfer_item


async def _move(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    direction, tick = arguments.get("direction"), arguments.get("tick")
    move = Move(
        mover=arguments["moverId"],
        direction=None if direction is None else Direction(direction),
        teleport_to=arguments.get("teleportTo"),
        reason=arguments.get("reason", ""),
        tick=None if tick is None else checked_tick(tick, path="/tick"),
    )
    moved = await move_mover(canon, caller, await bound_world(canon, caller), move)
    return {
        "moverId": moved.mover,
        "fromLocationId": moved.from_id,
        "toLocationId": moved.to_id,
        "tick": moved.tick,
        "travelDurationMs": moved.duration,
        **({} if moved.clock is None else {"clockTick": moved.clock}),
    }


async def _transfer(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    tick = arguments.get("tick")
    transfer = Transfer(
        item=arguments["itemId"],
        holder=arguments["toHolderId"],
        expected=arguments.get("fromHolderId"),
        anywhere=arguments.get("anywhere", False),
        tick=None if tick is None else checked_tick(tick, path="/tick"),
    )
    done = await transfer_item(canon, caller, await bound_world(canon, caller), transfer)
    return {"itemId": done.item, "fromHolderId": done.from_id, "toHolderId": done.to_id}


async def _advance(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    tick = await advance_clock(
        canon,
        caller,
        await bound_world(canon, caller),
        duration=arguments["durationMs"],
        reason=arguments.get("reason", ""),
        player=arguments.get("playerId", ""),
    )
    return {"tick": tick}


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        name="move",
        title="Move",
        description=(
            "Let a player or character go through an exit; with teleportTo past all exits, for "
            "what no exit explains."
        ),
        input_schema=obj(
            {"moverId": KEY},
            {"direction": enum(*Direction), "teleportTo": KEY, "reason": PROSE, "tick": TICK},
        ),
        output_schema=obj(
            {
                "moverId": TEXT,
                "fromLocationId": TEXT,
                "toLocationId": TEXT,
                "tick": TICK,
                "travelDurationMs": WHOLE,
            },
            {"clockTick": TICK},
        ),
        roles=BUILDER,
        run=_move,
        read_only=False,
        extension=True,
    ),
    Tool(
        name="transfer-item",
        title="Transfer item",
        description="Hand an item on to somebody at the same place, or leave it there.",
        input_schema=obj(
            {"itemId": KEY, "toHolderId": KEY},
            {"fromHolderId": KEY, "anywhere": FLAG, "tick": TICK},
        ),
        output_schema=obj({"itemId": TEXT, "fromHolderId": TEXT, "toHolderId": TEXT}),
        roles=BUILDER,
        run=_transfer,
        read_only=False,
        extension=True,
    ),
    Tool(
        name="advance-clock",
        title="Advance clock",
        description="Let time pass for the world, or with playerId for one player alone.",
        input_schema=obj({"durationMs": TICK}, {"playerId": KEY, "reason": PROSE}),
        output_schema=obj({"tick": TICK}),
        roles=BUILDER,
        run=_advance,
        read_only=False,
        extension=True,
    ),
)
