"""`canonry demo`: plays the example world, step by step, and says what to do next."""

import asyncio
import shlex
import sys
import tempfile
import time
from pathlib import Path

import click

from canonry.app.packages import is_installed, require_package
from canonry.cli.connecting.clients import launch
from canonry.cli.demo.play import play, troupe
from canonry.cli.inspecting import inspect_folder

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
@click.option(
    "--inspect/--no-inspect",
    "inspects",
    default=None,
    help="End with a link to the pages of what was played; else where a person looks on.",
)
def demo(*, keep: Path | None, inspects: bool | None) -> None:
    """Play a small world through real MCP clients, and see what becomes canon and what does not.

    It starts one server process for each agent, all on the same folder, as desktop clients do.
    """
    if inspects is None:
        inspects = sys.stdout.isatty() and is_installed("inspector")
    if inspects:
        require_package("inspector", "--inspect")
    if keep is not None and keep.exists() and any(keep.iterdir()):
        raise click.UsageError(f"{keep} is not empty; name a new folder")
    started = time.monotonic()
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="canonry-demo-") as folder:
            asyncio.run(_run(Path(folder)))
            _next_steps(time.monotonic() - started, keep)
            if inspects:
                inspect_folder(Path(folder))
    else:
        asyncio.run(_run(keep))
        _next_steps(time.monotonic() - started, keep)
        if inspects:
            inspect_folder(keep)


async def _run(data: Path) -> None:
    async with troupe(data, ROLES) as agents:
        await play(agents)


def _next_steps(seconds: float, keep: Path | None) -> None:
    command = shlex.join(launch(sys.argv[0], sys.executable, sys.prefix))
    kept = "" if keep is None else f" --data {shlex.quote(str(keep.absolute()))}"
    click.echo(f"\nThat took {seconds:.1f} s. To see which MCP clients it can connect, run:\n")
    click.echo(f"  {command} connect")
    click.echo("\nand to give one of them this server, with its own empty store or one you name:\n")
    click.echo(f"  {command} connect claude-desktop{kept}")
    if keep is not None and is_installed("inspector"):
        click.echo("\nTo look at what was played in a browser, and to decide there:\n")
        click.echo(f"  {command} inspect{kept}")
