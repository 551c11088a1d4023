"""`canonry import transcript` and `canonry import log`: bringing in what happened elsewhere."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from canonry.app.filing import files_beside
from canonry.app.stores import open_kept_store
from canonry.canon.upkeep.import_log import import_log
from canonry.cli.documents import documents
from canonry.cli.operator import operator
from canonry.cli.options import awaited, settings_from, store_options
from canonry.cli.progress import progress
from canonry.cli.screen import tell_line
from canonry.cli.transcript_files import gm_names_in, read_transcripts
from canonry.log.items.entities import normalised_name
from canonry.narrative.usecases.import_transcript import (
    ImportReport,
    ImportRequest,
    import_transcripts,
)
from canonry.narrative.usecases.transcripts import plain
from canonry.records.usecases.carry_files import import_files, require_whole
from canonry.values.policy import NAME_MAX
from canonry.values.time import parse_instant

FILES = click.Path(path_type=Path, exists=True, dir_okay=False)

TRANSCRIPT_EPILOG = """\
\b
Examples:
  canonry import transcript C1E001.json C1E002.json --universe Exandria
  canonry import transcript session.json --universe Home --gm Anna --cast Ben=Thorin

\b
Shapes that are understood:
  [{"speaker": "GM", "text": "It rains."}, {"speaker": "Ben", "text": "I wait."}]
  {"title": "Session 1", "turns": [...],
   "summaries": [{"start": 0, "end": 1, "text": "Thorin waits in the rain."}]}
  both with "date": "2023-05-08" of the session, or "said_at" of a turn; dates that are added
  later are taken up when the file is imported again
  CRD3: TURNS with NAMES and UTTERANCES, and NAME.aligned-4.json beside it

\b
What becomes of it: each file an episode of the story; scenes end where a summary's span ends;
each summary an event that is proposed with the turns that say the same, and judged. Running it
again adds nothing; after an interruption it goes on.
"""


LOG_EPILOG = """\
\b
Examples:
  canonry import log world.jsonl --data ./copy
  canonry import log world.jsonl        again: skips what is there
  canonry import log world.jsonl --files world-files
  canonry import log world.jsonl --before 2026-03-01T12:00:00Z --data ./sound
"""


@click.group()
def imports() -> None:
    """Bring in transcripts, documents, or a log that was exported."""


imports.add_command(documents)


@imports.command(epilog=TRANSCRIPT_EPILOG)
@click.argument("files", type=FILES, nargs=-1, required=True)
@click.option("--universe", required=True, metavar="NAME", help="Found by its name, or made.")
@click.option("--story", metavar="TITLE", help="The campaign.  [default: the universe's name]")
@click.option(
    "--gm",
    "gms",
    multiple=True,
    metavar="NAME",
    help="Who leads the game.  [default: GM, DM, MATT]",
)
@click.option("--cast", "casts", multiple=True, metavar="SPEAKER=CHARACTER", help="Who plays whom.")
@click.option(
    "--agent-type", default="CanonKeeper", show_default=True, help="Role of the importer."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
@store_options
@awaited
async def transcript(
    *,
    files: tuple[Path, ...],
    universe: str,
    story: str | None,
    gms: tuple[str, ...],
    casts: tuple[str, ...],
    agent_type: str,
    as_json: bool,
    **given: Any,
) -> None:
    """Make a universe, a story, scenes and turns of transcripts, and canonize the scenes."""
    settings = settings_from(given)
    transcripts = read_transcripts(files)
    request = ImportRequest(
        universe=_name(universe, "--universe"),
        story=_name(story or universe, "--story"),
        transcripts=transcripts,
        gm_names=frozenset(map(normalised_name, gms)) or gm_names_in(transcripts),
        casting=_casting(casts),
    )
    caller = operator("canonry import transcript", agent_type=agent_type)
    async with await open_kept_store(settings) as store:
        with progress("importing turns") as told:
            report = await import_transcripts(store.canon, caller, request, told)
    if as_json:
        click.echo(json.dumps(asdict(report), sort_keys=True))
    else:
        _print(report)


def _name(text: str, option: str) -> str:
    if not 0 < len(plain(text)) <= NAME_MAX:
        raise click.UsageError(f"{option} takes a name of 1 to {NAME_MAX} characters")
    return plain(text)


def _casting(casts: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in casts:
        speaker, equals, character = each.partition("=")
        if not equals or not speaker.strip() or not character.strip():
            raise click.UsageError(f"--cast takes SPEAKER=CHARACTER, not {each}")
        found[normalised_name(speaker)] = _name(character, "--cast")
    return found


def _print(report: ImportReport) -> None:
    for each in report.transcripts:
        rate = each.turns / each.writing_seconds if each.writing_seconds else 0.0
        tell_line(f"{each.title}  (story {each.story_id})")
        click.echo(f"  {each.turns:6} turns in {each.scenes} scenes")
        if each.commits:
            click.echo(
                f"         written in {each.commits} commits and {each.writing_seconds:.2f} s, "
                f"{rate:.0f} turns/s"
            )
        if each.commits_known:
            click.echo(f"         {each.commits_known} commits were there already")
        click.echo(
            f"  {each.proposals:6} proposals: {each.accepted} accepted, "
            f"{len(each.rejected)} rejected, judged in {each.judging_seconds:.2f} s"
        )
        for proposal, rule, rationale in each.rejected:
            tell_line(f"         {proposal}  {rule}: {rationale}")
    click.echo(
        f"universe {report.universe_id}, story {report.story_id}, {report.entities} entities"
    )


@imports.command(epilog=LOG_EPILOG)
@click.argument("file", type=FILES)
@click.option(
    "--files",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="FOLDER",
    help="Where `canonry export --files` copied the users' files.",
)
@click.option(
    "--before",
    metavar="INSTANT",
    help="Leave out what was recorded at this instant or later, like 2026-03-01T12:00:00Z.",
)
@store_options
@awaited
async def log(*, file: Path, files: Path | None, before: str | None, **given: Any) -> None:
    """Append the commits of FILE, which `canonry export` wrote, exactly as they were.

    The file is verified first, and those of --files as well: a damaged one is refused, and nothing
    is written. An interrupted import goes on when it is run again. Files that no source of the log
    names, as theirs was erased, are left where they are; exit code 1 when named ones are missing.
    """
    until = None if before is None else parse_instant(before, path="--before")
    beside, carried = None if files is None else files_beside(files), None
    if beside is not None:
        await require_whole(beside)
    async with await open_kept_store(settings_from(given)) as store:
        with progress("importing commits") as told:
            done = await import_log(store.canon.ledger, lambda: _lines(file), told, before=until)
        if beside is not None:
            with progress("importing files") as told:
                carried = await import_files(store.canon, beside, told)
    click.echo(
        f"imported {done.commits - done.known - done.late} commits of {done.spaces} spaces; "
        f"{done.known} were there already"
    )
    if until is not None:
        click.echo(f"left out {done.late} commits that were recorded later")
    if carried is None:
        return
    click.echo(f"imported {carried.files} files; {carried.known} were there already")
    if carried.unnamed:
        click.echo(f"left out {carried.unnamed} files that no source names")
    if carried.missing:
        click.echo(f"{carried.missing} files are missing in {files}", err=True)
        raise click.exceptions.Exit(1)


def _lines(file: Path) -> Iterator[bytes]:
    with file.open("rb") as lines:
        yield from lines
