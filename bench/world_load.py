"""A served world under load: 16 clients ask for contexts while 4 others move players.

Every call goes over HTTP to a server of its own, so a read's time is what its client waits.
"""

import asyncio
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.http_calls import requester
from bench.loads import Connection, closed_loop
from bench.processes import Server, free_port, stay_off_the_servers_processor
from bench.report import Row, median, percentile
from canonry.gateway.tool import Arguments
from canonry.values.ids import SpaceId

READERS, WRITERS = 16, 4
READS = 3_000
WARMING = 300


def under_load(
    section: str, data: Path, world: SpaceId, places: Sequence[str], players: Sequence[str]
) -> list[Row]:
    """Serve the closed store in `data`; reads without writers first, then with them."""
    port = free_port()
    command = (sys.executable, "-m", "canonry.cli", "serve", "--toolsets", "world")
    bound = ("--data", str(data), "--world", world, "--trust-meta", "--http", f"127.0.0.1:{port}")
    with Server((*command, *bound), port, {"CANONRY_RECALL_EMBEDDER": "none"}):
        stay_off_the_servers_processor()
        return asyncio.run(_measure(section, port, places, players))


async def _measure(
    section: str, port: int, places: Sequence[str], players: Sequence[str]
) -> list[Row]:
    lots = random.Random(5)  # noqa: S311 - the same questions each time

    def look(number: int) -> Arguments:
        del number
        return {"locationId": lots.choice(places)}

    read = requester(port, "/mcp", "get-location-context", look, "Narrative")
    await closed_loop(port, read, calls=WARMING)
    quiet = await closed_loop(port, read, calls=READS // 3, clients=READERS)
    moves, done = 0, asyncio.Event()

    async def mover(number: int) -> None:
        nonlocal moves
        where = random.Random(number)  # noqa: S311 - as above
        move = _mover(port, where, places, players)
        connection = Connection(port)
        while not done.is_set():
            await connection.ask(move(moves))
            moves += 1
        connection.close()

    writers = [asyncio.create_task(mover(number)) for number in range(WRITERS)]
    busy = await closed_loop(port, read, calls=READS, clients=READERS)
    done.set()
    await asyncio.gather(*writers)
    seconds = sum(busy) / READERS
    note = f"median {median(busy) * 1e3:.1f} ms, {READS / seconds:.0f} reads/s, "
    return [
        Row(
            section=section,
            what=f"{READERS} reading alone: p99 of reads against their median",
            value=percentile(quiet, 0.99) / median(quiet),
            unit="x",
            note=f"median {median(quiet) * 1e3:.1f} ms, HTTP",
        ),
        Row(
            section=section,
            what=f"{READERS} reading, {WRITERS} writing: p99 against median",
            value=percentile(busy, 0.99) / median(busy),
            unit="x",
            budget=5.0,
            note=f"{note}{moves / seconds:.0f} moves/s, HTTP",
        ),
    ]


def _mover(
    port: int, lots: random.Random, places: Sequence[str], players: Sequence[str]
) -> Callable[[int], bytes]:
    def jump(number: int) -> Arguments:
        del number
        return {"moverId": lots.choice(players), "teleportTo": lots.choice(places)}

    return requester(port, "/mcp", "move", jump, "WorldBuilder")
