"""`canonry export`: the whole log as JSON Lines, to a file or to standard output."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any, BinaryIO

import click

from canonry.bootstrap.settings import Settings
from canonry.bootstrap.stores import open_kept_store
from canonry.cli.options import settings_from, store_options
from canonry.cli.progress import progress
from canonry.usecases.export_log import export_log

EPILOG = """\
\b
Examples:
  canonry export world.jsonl
  canonry export | gzip > world.jsonl.gz
  canonry import log world.jsonl --data ./copy
"""


@click.command(epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@store_options
def export(*, file: Path | None, **given: Any) -> None:
    """Write every commit of every universe to FILE, or to standard output.

    The same log gives the same bytes. The last line is a manifest of all heads; keep it
    elsewhere, and `canonry verify --against` shows a log that was cut off or replaced.
    """
    settings = settings_from(given)
    if file is None:
        asyncio.run(_export(settings, sys.stdout.buffer))
        return
    part = file.with_name(f"{file.name}.part")
    try:
        with part.open("wb") as out:
            asyncio.run(_export(settings, out))
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


async def _export(settings: Settings, out: BinaryIO) -> None:
    store = await open_kept_store(settings, existing=True)
    try:
        with progress("exporting commits") as told:
            async for line in export_log(store.canon.ledger, told):
                out.write(line)
    finally:
        await store.close()
