"""Commands that maintain, upgrade or move a store, such as `backup`, `verify` and `export`."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from typing_extensions import override

from canonry.app.examination import Diagnosis, examine, move_store, restore_backup
from canonry.app.file_modes import close_to_others, open_to_others
from canonry.app.filing import files_beside
from canonry.app.recalling import (
    INSTALL_MEANING,
    WORDS_ONLY,
    lacks_meaning,
    mend_index,
    rebuild_index,
    recall_folder,
)
from canonry.app.setting_table import DEFAULT, Settings
from canonry.app.stores import KeptStore, open_kept_store, open_store_to_look
from canonry.canon.session.caller import Caller
from canonry.canon.session.lookup import account_of
from canonry.canon.upkeep.logs import Heads, export_log, heads_from, verify_store
from canonry.cli.note_folder import read_space
from canonry.cli.options import SettingsCommand, all_options, command, progress, settings_from
from canonry.cli.screen import EXAMPLES, data_output, tell_line, whole_file
from canonry.readmodels.ports.view import Verification
from canonry.recall.usecases.recall import RecallServices
from canonry.records.usecases.asking import export_account
from canonry.records.usecases.files import check_files, collect_files, export_files
from canonry.values.errors import BrokenInvariant, InvalidInput, NotFound, NotSupported
from canonry.values.ids import SpaceId, is_uuid
from canonry.values.json_values import folded
from canonry.values.provenance import Actor

if TYPE_CHECKING:
    from canonry.app.backends.postgres import PlacedSpace


from canonry.canon.upkeep.reread import Reread, reread_facts
from canonry.cli.options import operator
from canonry.narrative.toolset.scenes import says


@command("rebuild")
async def rebuild(*, only: str | None, **given: Any) -> None:
    """Rebuild all views from the records, and drop a damaged vector index.

    Records do not change. Files older than a day that no record references are deleted. You can
    run it while servers run, and interrupt it. A server adds missing vectors later;
    `--only vectors` rebuilds all of them now.
    """
    settings = settings_from(given)
    if only == "vectors":
        vectors = await _rebuild_vectors(settings)
        click.echo(f"rebuilt {vectors} vectors")
        return
    async with await open_kept_store(settings, existing=True) as store:
        with progress("rebuilding views") as told:
            commits = await store.upkeep.rebuild(told)
        recall = store.canon.service(RecallServices).recall
        shared = store.vectors is not None
        known = only is None and (shared or recall_folder(settings).is_dir())
        dropped = known and recall is not None and await mend_index(recall)
        orphans = await store.upkeep.collect_orphans() + await collect_files(store.canon)
    click.echo(f"rebuilt all views from {commits} commits")
    if orphans:
        click.echo(f"deleted {orphans} unreferenced files")
    if dropped:
        click.echo("dropped the damaged vector index; a server rebuilds it")


async def _rebuild_vectors(settings: Settings) -> int:
    async with await open_kept_store(settings, existing=True) as store:
        recall = store.canon.service(RecallServices).recall
        if lacks_meaning(settings, shared=store.vectors is not None):
            raise NotSupported("package.missing", f"{WORDS_ONLY} {INSTALL_MEANING}")
        if recall is None:
            message = "Search by meaning is off. Set recall.embedder, for example to onnx."
            raise InvalidInput("settings.incomplete", message, path="recall.embedder")
        with progress("making vectors") as told:
            return await rebuild_index(recall, recall_folder(settings), told)


@command("backup")
async def backup(*, target: Path, **given: Any) -> None:
    """Copy the store into the new folder TARGET; servers may keep running.

    The copy has a manifest of all heads; `canonry verify --against` compares with it.
    Exit code 1: the copy is complete, but a quick count found views with missing rows.
    Run `canonry verify` for a full check.
    """
    async with await open_store_to_look(settings_from(given)) as store:
        with progress("backing up") as told:
            heads = await store.upkeep.backup(target, told)
        findings = await store.upkeep.glance()
    commits = sum(position for position, _ in heads.values())
    click.echo(f"backed up {commits} commits of {len(heads)} spaces into {target}")
    if findings:
        for finding in findings:
            click.echo(f"WRONG  {finding.where}: {finding.what}")
        click.echo(
            "\nAll records were copied, but these views are incomplete. Run `canonry rebuild`, "
            "then back up again."
        )
        raise click.exceptions.Exit(1)


@command("restore")
async def restore(*, source: Path, **given: Any) -> None:
    """Restore the backup in SOURCE into an empty data folder.

    The backup is verified against its manifest first. A damaged one is refused.
    """
    settings = settings_from(given)
    with progress("restoring") as told:
        verification = await restore_backup(settings, source, told)
    click.echo(
        f"restored {verification.commits} commits of {len(verification.heads)} spaces into "
        f"{settings.data}"
    )


@command("verify")
async def verify(*, against: Path | None, record: Path | None, as_json: bool, **given: Any) -> None:
    """Check all hash chains, views and files against the records.

    Exit code 1 if a problem is found; the first differences are listed.
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
        text = json.dumps({"heads": _data(verification)["heads"]}, sort_keys=True)
        with whole_file(record) as out:
            out.write(text + "\n")


def read_heads(path: Path) -> Heads:
    """Return the heads in a manifest, or in the last line of an exported log.

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
        message = f"{path} cannot be read: {error.strerror}."
        raise InvalidInput("manifest.unreadable", message, path=str(path)) from error
    return heads_from(text, str(path))


def _print(verification: Verification) -> None:
    for finding in verification.findings:
        tell_line(f"WRONG  {finding.where}: {finding.what}")
    if verification.findings:
        click.echo(
            "\nIf only views differ, run `canonry rebuild`. If records differ, restore a backup "
            "with `canonry restore`."
        )
        return
    click.echo(
        f"all is well: {verification.commits} commits in {len(verification.heads)} spaces, "
        f"{verification.things} items"
    )


def _data(verification: Verification) -> dict[str, Any]:
    return {
        "ok": not verification.findings,
        "commits": verification.commits,
        "things": verification.things,
        "heads": {space: list(head) for space, head in sorted(verification.heads.items())},
        "findings": [asdict(each) for each in verification.findings],
    }


@command("doctor", settings=all_options, cls=SettingsCommand)
def doctor(*, as_json: bool, mend: bool, whole: bool, **given: Any) -> None:
    """Diagnose problems of settings and store, and suggest fixes.

    Without --mend nothing is changed. Exit code 1 if a problem is found; hints are not
    problems.
    """
    settings = settings_from(given)
    if mend:
        found = open_to_others(settings.data)
        close_to_others(found)
        click.echo(f"made {len(found)} files and folders private", err=True)
    diagnosis = asyncio.run(examine(settings))
    if as_json:
        click.echo(json.dumps(asdict(diagnosis), sort_keys=True))
    else:
        _print_diagnosis(diagnosis, whole=whole)
    if diagnosis.wrong:
        raise click.exceptions.Exit(1)


def _print_diagnosis(diagnosis: Diagnosis, *, whole: bool) -> None:
    click.echo("findings")
    if not diagnosis.wrong and not diagnosis.hints:
        click.echo("  none")
    for advice in diagnosis.wrong:
        click.echo(f"  WRONG  {advice.what}\n         {advice.help}")
    for advice in diagnosis.hints:
        click.echo(f"  hint   {advice.what}\n         {advice.help}")
    click.echo("\nstore")
    if not diagnosis.store:
        click.echo("  none yet")
    width = max(map(len, diagnosis.store), default=0)
    for key, value in diagnosis.store.items():
        tell_line(f"  {key:{width}}  {value}")
    click.echo("\nsettings")
    shown = [each for each in diagnosis.settings if whole or each.source != DEFAULT]
    width = max((len(each.key) for each in shown), default=0)
    for each in shown:
        tell_line(f"  {each.key:{width}}  {each.value}  ({each.source})")
    if left := len(diagnosis.settings) - len(shown):
        click.echo(f"  {left} others have their defaults; --all lists them")


class _ExportGroup(click.Group):
    """A group that runs its default command if no other one is named."""

    default = "log"

    @override
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = args and args[0] in {*self.commands, *ctx.help_option_names}
        return super().parse_args(ctx, args if named else [self.default, *args])


@click.group(cls=_ExportGroup, epilog=EXAMPLES["export"])
def export() -> None:
    """Write the whole log as JSON Lines, or a space as Markdown notes.

    `canonry export FILE` is short for `canonry export log FILE`.
    """


@command("markdown", export)
async def markdown(*, folder: Path, space: str | None, reader: str, **given: Any) -> None:
    """Write a space into the new or empty FOLDER, one Markdown note for each entity."""
    settings = settings_from(given)
    async with await open_store_to_look(settings) as store:
        notes, _ = await read_space(store.canon, space, reader)
    _begin(folder)
    for stem, text in notes.texts:
        (folder / f"{stem}.md").write_text(text, encoding="utf-8", newline="\n")
    tell_line(f"wrote {len(notes.notes)} notes to {folder}, as of position {notes.position}")


@command("export-log", export)
async def export_as_log(
    *, file: Path | None, files: Path | None, account: str | None, **given: Any
) -> None:
    """Write all commits of all spaces to FILE, or to standard output if it is - or missing.

    The same log gives the same bytes. The last line is a manifest of all heads. Keep it on another
    disk: `canonry verify --against` then finds commits that were cut off or replaced. The log does
    not contain files; --files copies those that are not erased.
    With --account, only one user's sources, records, observations and relationships are written.
    """
    settings = settings_from(given)
    owner = None if account is None else _owner(account)
    if files is not None:
        _begin(files)
    async with await open_store_to_look(settings) as store:
        with data_output(file) as out, progress("exporting commits") as told:
            lines = export_log(store.canon.ledger, told)
            if owner is not None:
                lines = export_account(store.canon, owner)
            async for line in lines:
                out.write(line.decode())
        if files is not None:  # after the log, which references them
            with progress("exporting files") as told:
                whose = None if owner is None else account_of(owner).user_id
                beside = files_beside(files)
                carried = await export_files(store.canon, beside, told, user_id=whose)
            click.echo(f"copied {carried.files} files to {files}", err=True)
            if carried.missing:
                click.echo(f"{carried.missing} files are missing; run `canonry verify`", err=True)


def _owner(user: str) -> Caller:
    own = None if user == "me" else user
    actor = Actor(user=own, agent_id="operator", agent_type="Operator")
    return Caller(actor=actor, tool="export")


def _begin(files: Path) -> None:
    files.mkdir(parents=True, exist_ok=True)
    if any(files.iterdir()):
        raise click.UsageError(f"{files} is not empty. Give a new folder.")


SERVERS = {"postgres": "postgres_url", "polyglot": "mongodb_url"}


@command("move")
async def move(*, source: str, target: str, **given: Any) -> None:
    """Copy a whole store with its files into another kind of store.

    `embedded` is the data folder, `postgres` the database of --postgres-url, `polyglot` that of
    --mongodb-url. One of the two must be embedded. Stop the servers first.
    The source does not change. To continue an interrupted move, run it again. At the end, the
    exports of both are compared byte for byte, and the views with the records.
    """
    settings = settings_from(given)
    if source == target:
        raise click.UsageError(f"--from and --to are both {source}. Give two kinds of store.")
    kind = target if source == "embedded" else source
    if "embedded" not in {source, target}:
        raise click.UsageError("Move to embedded first, then from embedded to the other kind.")
    if getattr(settings, SERVERS[kind]) is None:
        key = SERVERS[kind].replace("_", ".")
        message = f"Give the database with --{key.replace('.', '-')}."
        raise InvalidInput("settings.incomplete", message, path=key)
    async with (
        await _opened(settings, source, existing=True) as here,
        await _opened(settings, target) as there,
    ):
        with progress("moving") as told:
            moved = await move_store(here.canon, there.canon, told)
        with progress("verifying") as told:
            seen = await there.upkeep.verify(told)
    if seen.findings:
        finding = seen.findings[0]
        message = f"The copy is damaged ({finding.where}: {finding.what}). Run the move again."
        raise BrokenInvariant("move.damaged", message)
    log, files = moved.log, moved.files
    click.echo(
        f"moved {log.commits - log.known} commits of {log.spaces} spaces and {files.files} files; "
        f"{log.known} commits and {files.known} files already existed"
    )
    click.echo(f"both export the same bytes: SHA-256 {moved.digest}")
    if files.missing:
        click.echo(f"{files.missing} files are missing in the source", err=True)
        raise click.exceptions.Exit(1)


async def _opened(settings: Settings, kind: str, *, existing: bool = False) -> KeptStore:
    if kind == "embedded":
        settings = replace(settings, postgres_url=None, mongodb_url=None, files_url=None)
    return await open_kept_store(replace(settings, recall_embedder="none"), existing=existing)


@command("move-space")
async def move_space(*, space: str | None, target: str | None, **given: Any) -> None:
    """Move a space to another server during use, or list the server of each space."""
    if (space is None) != (target is None):
        raise click.UsageError("Give SPACE and --to SERVER, or neither to list the spaces.")
    async with await open_kept_store(settings_from(given), existing=True) as store:
        if store.mover is None:
            message = "This store is on one server. List several in records.shards."
            raise NotSupported("shards.one", message)
        placed = await store.mover.placed()
        if space is None or target is None:
            for each in placed:
                tell_line(f"{each.id}  {each.server}  {each.kind} {each.name}".rstrip())
            return
        found = _found(placed, space)
        with progress("moving") as told:
            moved = await store.mover.move(found, target, told)
    if moved is None:
        click.echo(f"the space is already on {target}")
        return
    click.echo(f"moved {moved.commits} commits from {moved.source} to {moved.target}")
    click.echo(f"{moved.gathered} were copied by this run; writes waited {moved.paused:.1f} s")
    click.echo(f"both export the same {moved.size} bytes: SHA-256 {moved.digest}")


def _found(placed: "Sequence[PlacedSpace]", named: str) -> SpaceId:
    """Return the space with that id or name."""
    if is_uuid(named):
        return SpaceId(named.lower())
    found = [each.id for each in placed if folded(each.name) == folded(named)]
    if not found:
        message = "No space has this name. Run `canonry move-space` to list them."
        raise NotFound("space.unknown", message, path="SPACE")
    if len(found) > 1:
        message = f"{len(found)} spaces have this name. Give one of their ids: {', '.join(found)}."
        raise InvalidInput("name.ambiguous", message, path="SPACE")
    return found[0]


LISTED_MAX = 50


@command("reread")
async def reread(*, yes: bool, **given: Any) -> None:
    """Record the statements in the words of facts that an older version accepted.

    New claims are then compared with these facts, and items that they end no longer hold.
    """
    async with await open_kept_store(settings_from(given), existing=True) as store:
        found = await reread_facts(store.canon, operator("canonry reread"), dry=not yes)
    _print_reread(found)
    if found and not yes:
        click.echo("Nothing was changed. Add --yes to record the statements.")


@command("upgrade")
async def upgrade(*, target: Path, yes: bool, **given: Any) -> None:
    """Back up the store into the new folder TARGET, then reread the facts of older versions.

    The command lists the answers that will change, and asks before it changes them.
    """
    caller = operator("canonry upgrade")
    async with await open_kept_store(settings_from(given), existing=True) as store:
        found = await reread_facts(store.canon, caller, dry=True)
        _print_reread(found)
        if not found:
            return
        with progress("backing up") as told:
            await store.upkeep.backup(target, told)
        click.echo(f"backed up the store into {target}")
        if yes or click.confirm("Record the statements now?"):
            done = await reread_facts(store.canon, caller, dry=False)
            click.echo(f"reread {sum(len(each.facts) for each in done)} facts")
        else:
            click.echo("Nothing was changed.")


def _print_reread(found: Sequence[Reread]) -> None:
    if not found:
        click.echo("No fact waits: all of them carry their statements.")
    for each in found:
        click.echo(f"{each.space.name}: {len(each.facts)} facts wait, {len(each.ends)} items end")
        for old, heir in each.ends[:LISTED_MAX]:
            tell_line(f'  "{says(old)}" ends where "{says(heir)}" begins')
        if len(each.ends) > LISTED_MAX:
            click.echo(f"  and {len(each.ends) - LISTED_MAX} more")
