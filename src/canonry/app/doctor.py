"""Examine a store for `canonry doctor`, move it to another engine, or restore a backup."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Final

from canonry.app.file_modes import close_to_others, paths_open_to_others
from canonry.app.packages import load_toolsets
from canonry.app.recall_models import (
    INSTALL_MEANING,
    MANY_VECTORS,
    RECALL_FILE,
    SEARCHED_WELL,
    WORDS_ONLY,
    lacks_meaning,
    origin_of,
    recall_folder,
)
from canonry.app.serving import advice_on, served_toolsets
from canonry.app.settings import Settings
from canonry.app.stores import (
    STORE_FILE,
    KeptStore,
    open_kept_store,
    open_store_to_read,
    store_exists,
)
from canonry.canon.maintenance import log_transfer
from canonry.canon.maintenance.reread_facts import count_unread, unread_note
from canonry.canon.session.canon import Canon
from canonry.log.commits import OFF_MAX, is_plausible
from canonry.log.ports.ledger import Ledger
from canonry.readmodels.follow_log import LogCursor, heads_of
from canonry.readmodels.ports.text import EmbeddingModel, Purpose, Reranker
from canonry.readmodels.ports.view import MaintenanceProgress, Verification
from canonry.recall.usecases.search_by_meaning import Recall, RecallServices
from canonry.records.usecases.files import CopiedFiles, RecordServices, check_files, import_files
from canonry.stores.folder import sync_folder
from canonry.values.data_files import read_toml
from canonry.values.errors import BrokenInvariant, CanonryError, Conflict, InvalidInput, Unavailable
from canonry.values.ids import SpaceId
from canonry.values.moments import SECOND, Instant, parse_instant, render_instant


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSetting:
    """A setting with its value in force."""

    key: str
    value: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A finding and its remedy."""

    what: str
    help: str


@dataclass(slots=True, kw_only=True)
class Diagnosis:
    """All findings: `wrong` must be fixed, `hints` are good to know."""

    settings: list[ShownSetting] = field(default_factory=list)
    store: dict[str, str | int] = field(default_factory=dict)
    wrong: list[Advice] = field(default_factory=list)
    hints: list[Advice] = field(default_factory=list)

    def add_fault(self, what: str, advice: str) -> None:
        """Add a finding that must be fixed."""
        self.wrong.append(Advice(what=what, help=advice))

    def add_error(self, what: str, error: CanonryError, otherwise: str) -> None:
        """Add an error that must be fixed; `otherwise` is its remedy if its code has none."""
        self.add_fault(f"{what}: {error.message}", _REMEDIES.get(error.code, otherwise))

    def add_hint(self, what: str, advice: str) -> None:
        """Add a finding that is good to know."""
        self.hints.append(Advice(what=what, help=advice))


_REMEDIES: Final = read_toml(__package__, "remedies.toml")
"""Error code -> its remedy."""
_OF_A_STORE: Final = (
    "Check the permissions and the disk of the folder, then run canonry doctor again."
)
_BY_WORDS: Final = "Search uses words alone. Try again later."
_RERANKER: Final = (
    "Search works without it. Check recall.rerank_url, or set recall.reranker to none."
)


async def examine_recall(diagnosis: Diagnosis, recall: Recall, folder: Path, origin: str) -> None:
    """Ask the model for one vector, and the index for its position; change nothing.

    `origin` names the source of the model. If either fails, search uses words alone.
    """
    try:
        opened = await recall.open_engines()
        diagnosis.store["recall_model"] = _describe_model(opened.embedder.model)
        diagnosis.store["recall_model_origin"] = origin
        async with asyncio.timeout(recall.patience):
            await opened.embedder.embed(("hello",), Purpose.QUERY)
    except TimeoutError:
        what = f"The embedding model did not answer within {recall.patience:g} s."
        diagnosis.add_fault(what, _REMEDIES["embedder.slow"])
    except Unavailable as error:
        diagnosis.add_error("The embedding model fails", error, _BY_WORDS)
        if error.details.get("package"):
            return
    try:
        await _examine_index(diagnosis, recall, folder)
    except Unavailable as error:
        diagnosis.add_error("The index of vectors fails", error, _BY_WORDS)


async def examine_reranking(diagnosis: Diagnosis, reranking: Reranker) -> None:
    """Ask for the order of two texts; if it fails, search works without it."""
    try:
        await reranking.score_texts("hello", ("hello", "good night"))
    except Unavailable as error:
        diagnosis.add_fault(f"the reranker: {error.message}", _RERANKER)


async def _examine_index(diagnosis: Diagnosis, recall: Recall, folder: Path) -> None:
    heads = await heads_of(recall.ledger)
    opened = await recall.open_engines()
    statuses = await opened.vectors.status() if await asyncio.to_thread(folder.is_dir) else ()
    mine = next((each for each in statuses if each.model == opened.embedder.model), None)
    cursor = LogCursor() if mine is None else LogCursor.parse_cursor(mine.cursor)
    waiting = sum(max(0, head - cursor.position_in(space)) for space, head in heads.items())
    diagnosis.store["recall_vectors"] = 0 if mine is None else mine.count
    diagnosis.store["recall_commits_waiting"] = waiting
    if await asyncio.to_thread((folder / RECALL_FILE).is_file):
        count = 0 if mine is None else mine.count
        from canonry.recall.vectors import FolderVectors  # noqa: PLC0415 - loads an engine

        vectors = FolderVectors(folder)
        try:
            await vectors.check_rows()
        finally:
            await vectors.close()
        if count > SEARCHED_WELL:
            what = f"Each search compares {count:,} vectors, more than {SEARCHED_WELL:,}"
            diagnosis.add_hint(what, MANY_VECTORS)
    older = [each.model for each in statuses if each is not mine]
    if older:
        diagnosis.add_hint(
            f"The index holds vectors of another model: {', '.join(map(_describe_model, older))}",
            "They are used until a running server has indexed everything with the new model.",
        )
    if waiting:
        diagnosis.add_hint(
            f"{waiting} commits are not indexed by meaning yet.",
            "A running server indexes them. To do it now: canonry rebuild --only vectors",
        )


def _describe_model(model: EmbeddingModel) -> str:
    return f"{model.name}, version {model.version}, {model.dimensions} dimensions"


def foreign_objects(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield each file with an object, such as a trigger, that is foreign or missing."""
    from canonry.stores.sqlite import check_file, check_store_file  # noqa: PLC0415 - an engine

    for path in sorted(folder.rglob(STORE_FILE)):
        yield from ((path, what) for what in check_store_file(path))
    for path in sorted(folder.rglob(RECALL_FILE)):
        from canonry.recall.vectors import SCHEMA  # noqa: PLC0415 - loads an engine

        yield from ((path, what) for what in check_file(path, SCHEMA))


DISK_WRONG: Final = 200 * 1024 * 1024  # some bursts of the log fit, 64 MB each
DISK_HINT: Final = 2 * 1024 * 1024 * 1024
STUCK_AFTER: Final = 60 * SECOND  # canonizing a scene takes less
SCENES_SHOWN: Final = 100  # one screen
PROCESSES_SHOWN: Final = 10
CLOCK_HINT: Final = 60 * SECOND  # clocks of machines that ask a time server differ by less
WAL_HINT: Final = 256 * 1024 * 1024


async def examine_store(settings: Settings) -> Diagnosis:
    """Examine the settings, the disk and the store."""
    diagnosis = Diagnosis(
        settings=[ShownSetting(key=k, value=v, source=s) for k, v, s in settings.describe_values()]
    )
    _examine_identity(diagnosis, settings)
    _examine_disk(diagnosis, settings.data)
    found = paths_open_to_others(settings.data)
    if found:
        diagnosis.add_hint(
            f"Other users of this machine may read {len(found)} files and folders of the store, "
            f"for example {found[0]}.",
            "`canonry doctor --mend` closes them",
        )
    _examine_upload_roots(diagnosis, settings)
    if settings.memory:
        diagnosis.add_hint(
            "The store is in memory and ends with the process.", "Leave out --memory."
        )
    elif not store_exists(settings):
        _examine_meaning(diagnosis, settings)
        diagnosis.add_hint(
            f"There is no store in {settings.data} yet.", "Run canonry serve, or set --data."
        )
    elif not _has_foreign_objects(diagnosis, settings.data):
        await _examine_opened(diagnosis, settings)
    return diagnosis


_SET_BY: Final = {"agent": "agent-type", "tool": "tools"}


def _examine_identity(diagnosis: Diagnosis, settings: Settings) -> None:
    try:
        advice = advice_on(settings, served_toolsets(settings, load_toolsets(settings.toolsets)))
    except CanonryError as error:
        name = _SET_BY.get(error.code.partition(".")[0], "toolsets")
        variable = name.upper().replace("-", "_")
        diagnosis.add_fault(error.message, f"set --{name} or CANONRY_{variable}")
        return
    if advice is not None:
        diagnosis.add_hint(advice, "Set it where you start the server.")


def _examine_meaning(diagnosis: Diagnosis, settings: Settings, *, shared: bool = False) -> None:
    if lacks_meaning(settings, shared=shared):
        chosen = settings.recall_embedder != "onnx"  # the default may be left out deliberately
        (diagnosis.add_fault if chosen else diagnosis.add_hint)(WORDS_ONLY, INSTALL_MEANING)


def _examine_disk(diagnosis: Diagnosis, data: Path) -> None:
    folder = next(each for each in (data, *data.parents) if each.exists())
    free = shutil.disk_usage(folder).free
    what = f"{free // 1024 // 1024} MB are free on the disk of {data}."
    if free < DISK_WRONG:
        diagnosis.add_fault(what, "Make room. Every write fails on a full disk.")
    elif free < DISK_HINT:
        diagnosis.add_hint(what, "make room soon")
    if not folder.is_dir():
        diagnosis.add_fault(f"{folder} is no folder.", "Name a folder with --data.")
    elif not os.access(folder, os.W_OK):
        diagnosis.add_fault(
            f"{folder} is not writable.", "Change its owner, or set another --data."
        )


def _examine_upload_roots(diagnosis: Diagnosis, settings: Settings) -> None:
    for root in settings.truth_upload_roots:
        if not Path(root).is_dir():
            diagnosis.add_fault(
                f"truth.upload_roots names {root}, which is no folder.",
                "Create the folder, or name another one. No file can be uploaded from it.",
            )


def _has_foreign_objects(diagnosis: Diagnosis, data: Path) -> bool:
    """Return whether a file holds a foreign trigger or the like: the store is not opened then."""
    found = list(foreign_objects(data))
    for path, what in found:
        diagnosis.add_fault(
            f"{what}, in {path}",
            "Stop all servers, copy the folder, then restore an older backup: canonry restore",
        )
    return bool(found)


async def _examine_opened(diagnosis: Diagnosis, settings: Settings) -> None:
    try:
        store = await open_store_to_read(settings)
    except CanonryError as error:
        diagnosis.add_error("The store cannot be opened", error, _OF_A_STORE)
        return
    try:
        facts = await store.maintenance.facts_about_store()
        diagnosis.store.update(facts)
        _examine_facts(diagnosis, facts)
        _examine_clock(diagnosis, str(facts.get("newest_commit", "")), store.canon.clock.now())
        others = sorted(_processes_holding((settings.data / STORE_FILE).resolve()) - {os.getpid()})
        if others:
            listed = ", ".join(map(str, others[:PROCESSES_SHOWN]))
            diagnosis.store["other_processes"] = len(others)
            diagnosis.add_hint(
                f"{len(others)} other processes have the store open: {listed}.",
                "Several processes may share a store.",
            )
        for finding in await store.maintenance.check_quickly():
            diagnosis.add_fault(
                f"The view {finding.where} is incomplete: {finding.what}", "Run: canonry rebuild"
            )
        if waiting := await count_unread(store.canon):
            diagnosis.add_hint(unread_note(waiting), "Run: canonry upgrade BACKUP_FOLDER")
        await _examine_scenes(diagnosis, store)
        await _examine_files(diagnosis, store)
        _examine_meaning(diagnosis, settings, shared=store.vectors is not None)
        services = store.canon.find_service(RecallServices)
        if services.recall is not None:
            folder, origin = recall_folder(settings), origin_of(settings)
            await examine_recall(diagnosis, services.recall, folder, origin)
        if services.reranking is not None:
            await examine_reranking(diagnosis, services.reranking)
    except CanonryError as error:
        diagnosis.add_error("The store does not answer", error, _OF_A_STORE)
    finally:
        await store.close()


def _examine_facts(diagnosis: Diagnosis, facts: Mapping[str, str | int]) -> None:
    integrity = facts.get("integrity", "ok")
    if str(integrity).startswith("not known"):
        diagnosis.add_hint(f"Integrity is {integrity}.", "Run `canonry verify`.")
    elif integrity != "ok":
        diagnosis.add_fault(
            f"The store's file is damaged: {integrity}",
            "Stop all servers, copy the folder, then restore a backup: canonry restore",
        )
    wal = facts.get("log_bytes", 0)
    if isinstance(wal, int) and wal > WAL_HINT:
        diagnosis.add_hint(
            f"The write-ahead log has {wal // 1024 // 1024} MB.",
            "A reader may be stuck. End the processes that hold the store open.",
        )


def _examine_clock(diagnosis: Diagnosis, newest: str, now: Instant) -> None:
    """Compare the clock with the time of the newest commit."""
    if not is_plausible(now):
        diagnosis.add_fault(
            f"The clock of this machine says {render_instant(now)}. Every write fails.",
            "Set the clock.",
        )
        return
    ahead = parse_instant(newest) - now if newest else 0
    what = f"The newest commit is dated {newest}, and the clock says {render_instant(now)}"
    if ahead > OFF_MAX:
        diagnosis.add_fault(
            f"{what}. Every write to its universe fails.",
            "Set the clock. If the date is wrong, run canonry export, then canonry import "
            "log FILE --before INSTANT into a new folder, and repeat the later changes.",
        )
    elif ahead > CLOCK_HINT:
        diagnosis.add_hint(
            f"{what}. Until then, commits are dated a microsecond apart.", "Set the clock."
        )


def _processes_holding(path: Path) -> set[int]:
    """Return the processes that have `path` open; Linux shows those of the same user."""
    found: set[int] = set()
    for folder in Path("/proc").glob("[0-9]*/fd"):
        try:
            if any(each.readlink() == path for each in folder.iterdir()):
                found.add(int(folder.parent.name))
        except OSError:
            continue
    return found


async def _examine_scenes(diagnosis: Diagnosis, store: KeptStore) -> None:
    now = store.canon.clock.now()
    for scene in await store.canon.documents.open_scenes(None, limit=SCENES_SHOWN):
        if now - scene.updated_at > STUCK_AFTER:
            diagnosis.add_fault(
                f"The scene {scene.id} has been in canonization since "
                f"{render_instant(scene.updated_at)}.",
                "Canonize the scene again. It continues at the point of interruption.",
            )


async def _examine_files(diagnosis: Diagnosis, store: KeptStore) -> None:
    """Check that the files of all sources exist; `canonry verify` also reads them."""
    seen = await check_files(store.canon, whole=False)
    diagnosis.store["files"] = seen.files
    if seen.findings:
        diagnosis.add_fault(
            f"{seen.findings[0].where}: {seen.findings[0].what.partition(':')[0]}",
            "Copy the folder `files` of a backup into the store. To list all: canonry verify",
        )
    if seen.orphans:
        diagnosis.add_hint(
            f"{seen.orphans} files belong to no source.",
            "Run canonry rebuild to delete those older than a day.",
        )


# Move a store: copy its log and its files unchanged into a store of another kind.
#
# The log goes through an export. The target equals a restored export of the source, and an
# interrupted move continues at the point of interruption.


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedStore:
    """The result of a move; `digest` is the SHA-256 of the export, equal on both sides."""

    log: log_transfer.ImportedLog
    files: CopiedFiles
    digest: str


async def move_store(source: Canon, target: Canon, progress: MaintenanceProgress) -> MovedStore:
    """Copy everything and compare the exports, byte for byte.

    Raises:
        Conflict: `import.diverged`, the target holds something else.
        BrokenInvariant: `move.differs`, if a process wrote to one of them meanwhile.
    """
    log, files, digest = await copy_store(source, target, progress)
    if await _digest_of(target.ledger) != digest:
        message = (
            "The target store holds more than the source. Stop every server on both stores, and "
            "run canonry move again. It writes nothing twice."
        )
        raise BrokenInvariant("move.differs", message)
    return MovedStore(log=log, files=files, digest=digest)


async def copy_store(
    source: Canon, target: Canon, progress: MaintenanceProgress
) -> tuple[log_transfer.ImportedLog, CopiedFiles, str]:
    """Copy the log up to one instant, and the files of its sources."""
    with tempfile.TemporaryDirectory(prefix="canonry-move-") as folder:
        path, digest = Path(folder) / "log.jsonl", sha256()
        with path.open("wb") as file:
            async for line in log_transfer.export_log(source.ledger, report_nothing):
                digest.update(line)
                await asyncio.to_thread(file.write, line)
        log = await log_transfer.import_log(target.ledger, lambda: _read_lines(path), progress)
    filing = source.find_service(RecordServices).filing
    if filing is None:
        return log, CopiedFiles(files=0), digest.hexdigest()
    return log, await import_files(target, filing, progress), digest.hexdigest()


def report_nothing(done: int, total: int | None) -> None:
    """Report no progress."""
    del done, total


async def _digest_of(ledger: Ledger) -> str:
    digest = sha256()
    async for line in log_transfer.export_log(ledger, report_nothing):
        digest.update(line)
    return digest.hexdigest()


def _read_lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file


def _is_used(target: Path) -> bool:
    target.parent.mkdir(parents=True, exist_ok=True)
    return target.exists() and (not target.is_dir() or any(target.iterdir()))


async def back_up(
    canon: Canon, target: Path, progress: MaintenanceProgress
) -> Mapping[SpaceId, tuple[int, str]]:
    """Copy the store into a new folder, as an embedded store that any process can open.

    Raises:
        Conflict: `backup.exists`.
    """
    from canonry.app.embedded import open_embedded  # noqa: PLC0415 - loads the engine

    if await asyncio.to_thread(_is_used, target):
        message = "The folder for the backup is not empty. Name a new folder."
        raise Conflict("backup.exists", message)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as scratch:
        async with await open_embedded(Path(scratch) / "copy") as copy:
            await copy_store(canon, copy.canon, progress)
            return await copy.maintenance.backup(target, report_nothing)


MANIFEST: Final = "manifest.json"


async def restore_backup(
    settings: Settings, source: Path, progress: MaintenanceProgress
) -> Verification:
    """Copy the backup in `source` to the data folder, which must be missing or empty.

    Raises:
        InvalidInput: `restore.no-backup`, if `source` holds no backup.
        Conflict: `restore.exists`, if the data folder is not empty; `restore.damaged`, if the
            backup does not match its manifest, or holds a foreign object such as a trigger. The
            data folder is unchanged.
        Unavailable: `restore.failed`, if the copy cannot be written.
    """
    target = settings.data
    manifest = source / MANIFEST
    if not manifest.is_file() or not (source / STORE_FILE).is_file():
        message = f"{source} is no backup. Name a folder that canonry backup made."
        raise InvalidInput("restore.no-backup", message, path=str(source))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        message = f"{target} is not empty. Name another folder with --data."
        raise Conflict("restore.exists", message, path=str(target))
    heads = log_transfer.heads_from(manifest.read_bytes(), str(manifest))
    staged = target.with_name(f"{target.name}.restoring")
    with _stage_copy(source, staged):
        for path, what in foreign_objects(staged):
            message = f"{what} ({path.name} of the backup). Nothing was restored."
            raise Conflict("restore.damaged", message, path=str(source))
        async with await open_kept_store(replace(settings, data=staged), existing=True) as store:
            verification = await log_transfer.verify_store(
                store.canon.ledger, store.maintenance, progress, against=heads
            )
        if verification.findings or dict(verification.heads) != dict(heads):
            what = verification.findings[0].what if verification.findings else "other heads"
            message = f"The backup does not match its manifest ({what}). Nothing was restored."
            raise Conflict("restore.damaged", message, path=str(source))
        if target.exists():
            target.rmdir()
        _sync_files(staged)
        staged.replace(target)
        sync_folder(target.parent)
    return verification


@contextmanager
def _stage_copy(source: Path, staged: Path) -> Iterator[None]:
    try:
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir(mode=0o700, parents=True)
        wanted = shutil.ignore_patterns(MANIFEST)
        shutil.copytree(source, staged, ignore=wanted, dirs_exist_ok=True)
        close_to_others(
            [staged, *staged.rglob("*")]
        )  # because the backup may be open to other users
        yield
    except OSError as error:
        message = f"The copy next to the data folder failed: {error.strerror}. Check its disk."
        raise Unavailable("restore.failed", message) from error
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _sync_files(staged: Path) -> None:
    """Make the copy durable before it replaces the folder."""
    for path in staged.rglob("*"):
        if path.is_file():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        else:
            sync_folder(path)
    sync_folder(staged)
