"""`canonry demo`: plays the example world, step by step, and says what to do next."""

import asyncio
import json
import tempfile
import time
from pathlib import Path

import click

from canonry.cli.demo.play import play
from canonry.cli.demo.troupe import troupe

ROLES = ("Orchestrator", "Narrator", "CanonKeeper", "ContextAssembly", "MemoryManager")

EPILOG = """\
\b
Examples:
  canonry demo
  canonry demo --keep ./saltmere && canonry verify --data ./saltmere
"""


@click.command(epilog=EPILOG)
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep the store in this new folder; else it is thrown away.",
)
def demo(*, keep: Path | None) -> None:
    """Play a small world through real MCP clients, and see what becomes canon and what does not.

    It starts one server process for each agent, all on the same folder, as desktop clients do.
    """
    if keep is not None and keep.exists() and any(keep.iterdir()):
        raise click.UsageError(f"{keep} is not empty; name a new folder")
    started = time.monotonic()
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="canonry-demo-") as folder:
            asyncio.run(_run(Path(folder)))
    else:
        asyncio.run(_run(keep))
    _next_steps(time.monotonic() - started, keep)


async def _run(data: Path) -> None:
    async with troupe(data, ROLES) as agents:
        await play(agents)


def _next_steps(seconds: float, keep: Path | None) -> None:
    arguments = ["serve", "--agent-type", "CanonKeeper"]
    if keep is not None:
        arguments += ["--data", str(keep.absolute())]
    client = {"mcpServers": {"canonry": {"command": "canonry", "args": arguments}}}
    click.echo(
        f"\nThat took {seconds:.1f} s. To use it from your own MCP client, give it these lines:\n"
    )
    for line in json.dumps(client, indent=2).splitlines():
        click.echo(f"  {line}")
    click.echo("\nThen see `canonry tools`, `canonry serve --help`, and `canonry doctor`.")
