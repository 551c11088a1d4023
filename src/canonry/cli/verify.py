"""`canonry verify`: proves that the chains hold and that the views are what the records say."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from canonry.app.stores import open_store_to_look
from canonry.canon.upkeep.export_log import Heads
from canonry.canon.upkeep.verify_store import heads_from, verify_store
from canonry.cli.options import awaited, settings_from, store_options
from canonry.cli.progress import progress
from canonry.cli.screen import tell_line
from canonry.cli.whole_files import whole_file
from canonry.readmodels.ports.upkeep import Verification
from canonry.records.usecases.check_files import check_files
from canonry.values.errors import InvalidInput

EPILOG = """\
\b
Examples:
  canonry verify
  canonry verify --record heads.json          keep this file elsewhere
  canonry verify --against heads.json         later: was anything cut off or replaced?
  canonry verify --against backup/manifest.json

\b
What it shows: any stored byte that was altered, any gap, any view that differs from its records;
with --against also a tail that was cut off or a past that was replaced since the heads were kept.
"""


@click.command(epilog=EPILOG)
@click.option(
    "--against",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Heads recorded elsewhere: a backup's manifest, an exported log, or --record.",
)
@click.option(
    "--record",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the heads there, if all is well.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
@store_options
@awaited
async def verify(*, against: Path | None, record: Path | None, as_json: bool, **given: Any) -> None:
    """Check every chain, every view against a fresh fold of the records, and every kept file.

    Exit code 1 when anything is wrong; the first differences are named.
    """
    settings = settings_from(given)
    heads = None if against is None else read_heads(against)
    async with await open_store_to_look(settings) as store:
        with progress("verifying") as told:
            found = await verify_store(store.canon.ledger, store.upkeep, told, against=heads)
        with progress("verifying files") as told:
            files = await check_files(store.canon, told, whole=True)
    verification = replace(found, findings=(*found.findings, *files.findings))
    if as_json:
        click.echo(json.dumps(_data(verification), sort_keys=True))
    else:
        _print(verification)
    if verification.findings:
        raise click.exceptions.Exit(1)
    if record is not None:
        _record(record, verification)


def read_heads(path: Path) -> Heads:
    """The heads that a manifest holds, or the last line of an exported log.

    Raises:
        InvalidInput: `manifest.unreadable`.
    """
    try:
        with path.open("rb") as file:
            text = file.readline()
            if text.startswith(b'{"format"'):
                for text in file:  # noqa: B007 - the last line is wanted
                    pass
            else:
                text += file.read()
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise InvalidInput("manifest.unreadable", message, path=str(path)) from error
    return heads_from(text, str(path))


def _print(verification: Verification) -> None:
    for finding in verification.findings:
        tell_line(f"WRONG  {finding.where}: {finding.what}")
    if verification.findings:
        click.echo(
            "\nIf only views differ, `canonry rebuild` makes them anew. If records differ, restore "
            "a backup: `canonry restore`."
        )
        return
    click.echo(
        f"all is well: {verification.commits} commits in {len(verification.heads)} spaces, "
        f"{verification.things} things"
    )


def _record(file: Path, verification: Verification) -> None:
    text = json.dumps({"heads": _data(verification)["heads"]}, sort_keys=True)
    with whole_file(file) as out:
        out.write(text + "\n")


def _data(verification: Verification) -> dict[str, Any]:
    return {
        "ok": not verification.findings,
        "commits": verification.commits,
        "things": verification.things,
        "heads": {space: list(head) for space, head in sorted(verification.heads.items())},
        "findings": [asdict(each) for each in verification.findings],
    }
