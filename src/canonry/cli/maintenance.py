"""Commands that maintain, upgrade or move a store, such as `backup`, `verify` and `export`."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from typing_extensions import override

from canonry.app.doctor import Diagnosis, examine_store, move_store, restore_backup
from canonry.app.file_modes import close_to_others, paths_open_to_others
from canonry.app.recall_models import (
    INSTALL_MEANING,
    WORDS_ONLY,
    drop_damaged_vectors,
    lacks_meaning,
    rebuild_index,
    recall_folder,
)
from canonry.app.settings import DEFAULT, Settings
from canonry.app.store_files import files_in_folder
from canonry.app.stores import KeptStore, open_kept_store, open_store_to_read
from canonry.canon.maintenance.log_transfer import Heads, export_log, heads_from, verify_store
from canonry.canon.session.caller import Caller
from canonry.canon.session.lookup import account_of
from canonry.cli import options
from canonry.cli.note_folder import read_space
from canonry.cli.terminal import EXAMPLES, data_output, print_line, whole_file
from canonry.readmodels.ports.view import Verification
from canonry.recall.usecases.search_by_meaning import RecallServices
from canonry.records.usecases.files import check_files, collect_files, export_files
from canonry.records.usecases.queries import export_account
from canonry.values.errors import BrokenInvariant, InvalidInput, NotFound, NotSupported
from canonry.values.ids import SpaceId, is_uuid
from canonry.values.json_values import fold_text
from canonry.values.provenance import Actor

if TYPE_CHECKING:
    from canonry.app.backends.postgres import SpaceOnServer


from canonry.canon.maintenance.reread_facts import Reread, reread_facts
from canonry.narrative.toolset.scenes import says


@options.command_from("rebuild")
async def rebuild(*, only: str | None, **given: Any) -> None:
    """Rebuild all views from the records, and drop a damaged vector index.

    Records do not change. Files older than a day that no record references are deleted. You can
    run it while servers run, and interrupt it. A server adds missing vectors later;
    `--only vectors` rebuilds all of them now.
    """
    settings = options.settings_from(given)
    if only == "vectors":
        vectors = await _rebuild_vectors(settings)
        click.echo(f"rebuilt {vectors} vectors")
        return
    async with await open_kept_store(settings, existing=True) as store:
        with options.show_progress("rebuilding views") as on_progress:
            commits = await store.maintenance.rebuild(on_progress)
        recall = store.canon.find_service(RecallServices).recall
        shared = store.vectors is not None
        known = only is None and (shared or recall_folder(settings).is_dir())
        dropped = known and recall is not None and await drop_damaged_vectors(recall)
        orphans = await store.maintenance.collect_orphans() + await collect_files(store.canon)
    click.echo(f"rebuilt all views from {commits} commits")
    if orphans:
        click.echo(f"deleted {orphans} unreferenced files")
    if dropped:
        click.echo("dropped the damaged vector index; a server rebuilds it")


async def _rebuild_vectors(settings: Settings) -> int:
    async with await open_kept_store(settings, existing=True) as store:
        recall = store.canon.find_service(RecallServices).recall
        if lacks_meaning(settings, shared=store.vectors is not None):
            raise NotSupported("package.missing", f"{WORDS_ONLY} {INSTALL_MEANING}")
        if recall is None:
            message = "Search by meaning is off. Set recall.embedder, for example to onnx."
            raise InvalidInput("settings.incomplete", message, path="recall.embedder")
        with options.show_progress("making vectors") as on_progress:
            return await rebuild_index(recall, recall_folder(settings), on_progress)


@options.command_from("backup")
async def backup(*, target: Path, **given: Any) -> None:
    """Copy the store into the new folder TARGET; servers may keep running.

    The copy has a manifest of all heads; `canonry verify --against` compares with it.
    Exit code 1: the copy is complete, but a quick count found views with missing rows.
    Run `canonry verify` for a full check.
    """
    async with await open_store_to_read(options.settings_from(given)) as store:
        with options.show_progress("backing up") as on_progress:
            heads = await store.maintenance.backup(target, on_progress)
        findings = await store.maintenance.check_quickly()
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


@options.command_from("restore")
async def restore(*, source: Path, **given: Any) -> None:
    """Restore the backup in SOURCE into an empty data folder.

    The backup is verified against its manifest first. A damaged one is refused.
    """
    settings = options.settings_from(given)
    with options.show_progress("restoring") as on_progress:
        verification = await restore_backup(settings, source, on_progress)
    click.echo(
        f"restored {verification.commits} commits of {len(verification.heads)} spaces into "
        f"{settings.data}"
    )


@options.command_from("verify")
async def verify(*, against: Path | None, record: Path | None, as_json: bool, **given: Any) -> None:
    """Check all hash chains, views and files against the records.

    Exit code 1 if a problem is found; the first differences are listed.
    """
    settings = options.settings_from(given)
    heads = None if against is None else read_heads(against)
    async with await open_store_to_read(settings) as store:
        with options.show_progress("verifying") as on_progress:
            found = await verify_store(
                store.canon.ledger, store.maintenance, on_progress, against=heads
            )
        with options.show_progress("verifying files") as on_progress:
            files = await check_files(store.canon, on_progress, whole=True)
    verification = replace(found, findings=(*found.findings, *files.findings))
    if as_json:
        click.echo(json.dumps(_verification_data(verification), sort_keys=True))
    else:
        _print_verification(verification)
    if verification.findings:
        raise click.exceptions.Exit(1)
    if record is not None:
        text = json.dumps({"heads": _verification_data(verification)["heads"]}, sort_keys=True)
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


def _print_verification(verification: Verification) -> None:
    for finding in verification.findings:
        print_line(f"WRONG  {finding.where}: {finding.what}")
    if verification.findings:
        click.echo(
            "\nIf only views differ, run `canonry rebuild`. If records differ, restore a backup "
            "with `canonry restore`."
        )
        return
    click.echo(
        f"all is well: {verification.commits} commits in {len(verification.heads)} spaces, "
        f"{verification.items} items"
    )


def _verification_data(verification: Verification) -> dict[str, Any]:
    return {
        "ok": not verification.findings,
        "commits": verification.commits,
        "things": verification.items,
        "heads": {space: list(head) for space, head in sorted(verification.heads.items())},
        "findings": [asdict(each) for each in verification.findings],
    }


@options.command_from("doctor", settings=options.all_options, cls=options.SettingsCommand)
def doctor(*, as_json: bool, mend: bool, whole: bool, **given: Any) -> None:
    """Diagnose problems of settings and store, and suggest fixes.

    Without --mend nothing is changed. Exit code 1 if a problem is found; hints are not
    problems.
    """
    settings = options.settings_from(given)
    if mend:
        found = paths_open_to_others(settings.data)
        close_to_others(found)
        click.echo(f"made {len(found)} files and folders private", err=True)
    diagnosis = asyncio.run(examine_store(settings))
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
        print_line(f"  {key:{width}}  {value}")
    click.echo("\nsettings")
    shown = [each for each in diagnosis.settings if whole or each.source != DEFAULT]
    width = max((len(each.key) for each in shown), default=0)
    for each in shown:
        print_line(f"  {each.key:{width}}  {each.value}  ({each.source})")
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


@options.command_from("markdown", export)
async def markdown(*, folder: Path, space: str | None, reader: str, **given: Any) -> None:
    """Write a space into the new or empty FOLDER, one Markdown note for each entity."""
    settings = options.settings_from(given)
    async with await open_store_to_read(settings) as store:
        notes, _ = await read_space(store.canon, space, reader)
    _begin_folder(folder)
    for stem, text in notes.note_texts:
        (folder / f"{stem}.md").write_text(text, encoding="utf-8", newline="\n")
    print_line(f"wrote {len(notes.notes)} notes to {folder}, as of position {notes.position}")


@options.command_from("export-log", export)
async def export_as_log(
    *, file: Path | None, files: Path | None, account: str | None, **given: Any
) -> None:
    """Write all commits of all spaces to FILE, or to standard output if it is - or missing.

    The same log gives the same bytes. The last line is a manifest of all heads. Keep it on another
    disk: `canonry verify --against` then finds commits that were cut off or replaced. The log does
    not contain files; --files copies those that are not erased.
    With --account, only one user's sources, records, observations and relationships are written.
    """
    settings = options.settings_from(given)
    owner = None if account is None else _owner_caller(account)
    if files is not None:
        _begin_folder(files)
    async with await open_store_to_read(settings) as store:
        with data_output(file) as out, options.show_progress("exporting commits") as on_progress:
            lines = export_log(store.canon.ledger, on_progress)
            if owner is not None:
                lines = export_account(store.canon, owner)
            async for line in lines:
                out.write(line.decode())
        if files is not None:  # after the log, which references them
            with options.show_progress("exporting files") as on_progress:
                whose = None if owner is None else account_of(owner).user_id
                files_store = files_in_folder(files)
                carried = await export_files(store.canon, files_store, on_progress, user_id=whose)
            click.echo(f"copied {carried.files} files to {files}", err=True)
            if carried.missing:
                click.echo(f"{carried.missing} files are missing; run `canonry verify`", err=True)


def _owner_caller(user: str) -> Caller:
    own = None if user == "me" else user
    actor = Actor(user=own, agent_id="operator", agent_type="Operator")
    return Caller(actor=actor, tool="export")


def _begin_folder(files: Path) -> None:
    files.mkdir(parents=True, exist_ok=True)
    if any(files.iterdir()):
        raise click.UsageError(f"{files} is not empty. Give a new folder.")


SERVERS = {"postgres": "postgres_url", "polyglot": "mongodb_url"}


@options.command_from("move")
async def move(*, source: str, target: str, **given: Any) -> None:
    """Copy a whole store with its files into another kind of store.

    `embedded` is the data folder, `postgres` the database of --postgres-url, `polyglot` that of
    --mongodb-url. One of the two must be embedded. Stop the servers first.
    The source does not change. To continue an interrupted move, run it again. At the end, the
    exports of both are compared byte for byte, and the views with the records.
    """
    settings = options.settings_from(given)
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
        await _open_kind(settings, source, existing=True) as here,
        await _open_kind(settings, target) as there,
    ):
        with options.show_progress("moving") as on_progress:
            moved = await move_store(here.canon, there.canon, on_progress)
        with options.show_progress("verifying") as on_progress:
            seen = await there.maintenance.verify(on_progress)
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


async def _open_kind(settings: Settings, kind: str, *, existing: bool = False) -> KeptStore:
    if kind == "embedded":
        settings = replace(settings, postgres_url=None, mongodb_url=None, files_url=None)
    return await open_kept_store(replace(settings, recall_embedder="none"), existing=existing)


@options.command_from("move-space")
async def move_space(*, space: str | None, target: str | None, **given: Any) -> None:
    """Move a space to another server during use, or list the server of each space."""
    if (space is None) != (target is None):
        raise click.UsageError("Give SPACE and --to SERVER, or neither to list the spaces.")
    async with await open_kept_store(options.settings_from(given), existing=True) as store:
        if store.mover is None:
            message = "This store is on one server. List several in records.shards."
            raise NotSupported("shards.one", message)
        listed = await store.mover.list_servers()
        if space is None or target is None:
            for each in listed:
                print_line(f"{each.id}  {each.server}  {each.kind} {each.name}".rstrip())
            return
        found = _find_space(listed, space)
        with options.show_progress("moving") as on_progress:
            moved = await store.mover.move_space(found, target, on_progress)
    if moved is None:
        click.echo(f"the space is already on {target}")
        return
    click.echo(f"moved {moved.commits} commits from {moved.source} to {moved.target}")
    click.echo(f"{moved.gathered} were copied by this run; writes waited {moved.paused:.1f} s")
    click.echo(f"both export the same {moved.size} bytes: SHA-256 {moved.digest}")


def _find_space(listed: "Sequence[SpaceOnServer]", named: str) -> SpaceId:
    """Return the space with that id or name."""
    if is_uuid(named):
        return SpaceId(named.lower())
    found = [each.id for each in listed if fold_text(each.name) == fold_text(named)]
    if not found:
        message = "No space has this name. Run `canonry move-space` to list them."
        raise NotFound("space.unknown", message, path="SPACE")
    if len(found) > 1:
        message = f"{len(found)} spaces have this name. Give one of their ids: {', '.join(found)}."
        raise InvalidInput("name.ambiguous", message, path="SPACE")
    return found[0]


LISTED_MAX = 50  # one screen; a wrong rule may end thousands


@options.command_from("reread")
async def reread(*, yes: bool, **given: Any) -> None:
    """Record the statements in the words of facts that an older version accepted.

    New claims are then compared with these facts, and items that they end no longer hold.
    """
    async with await open_kept_store(options.settings_from(given), existing=True) as store:
        found = await reread_facts(
            store.canon, options.operator_caller("canonry reread"), dry=not yes
        )
    _print_reread(found)
    if found and not yes:
        click.echo("Nothing was changed. Add --yes to record the statements.")


@options.command_from("upgrade")
async def upgrade(*, target: Path, yes: bool, **given: Any) -> None:
    """Back up the store into the new folder TARGET, then reread the facts of older versions.

    The command lists the answers that will change, and asks before it changes them.
    """
    caller = options.operator_caller("canonry upgrade")
    async with await open_kept_store(options.settings_from(given), existing=True) as store:
        found = await reread_facts(store.canon, caller, dry=True)
        _print_reread(found)
        if not found:
            return
        with options.show_progress("backing up") as reported:
            await store.maintenance.backup(target, reported)
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
        for old, successor in each.ends[:LISTED_MAX]:
            print_line(f'  "{says(old)}" ends where "{says(successor)}" begins')
        if len(each.ends) > LISTED_MAX:
            click.echo(f"  and {len(each.ends) - LISTED_MAX} more")
