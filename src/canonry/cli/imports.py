"""`canonry import`: import chats, notes, transcripts, documents or an exported log."""

import json
import re
from collections import Counter
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final, TextIO
from urllib.parse import unquote

import click

from canonry.app.settings import Settings
from canonry.app.store_files import files_in_folder
from canonry.app.stores import open_kept_store
from canonry.assistant.claims import brief_claim
from canonry.canon.commands.sources import GivenDocument, ImportedDocument, import_document
from canonry.canon.maintenance.log_transfer import import_log
from canonry.canon.ports.files import DocumentLimits, FileHint
from canonry.canon.session.caller import Caller, Progress
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import account_of
from canonry.cli.canon_commands import TOOLS, ask_store, print_reply
from canonry.cli.note_folder import compare_folder, is_exported
from canonry.cli.options import command_from, operator_caller, settings_from, show_progress
from canonry.cli.terminal import print_line
from canonry.language.texts.sentences import DocumentType
from canonry.log.items.entities import normalised_name
from canonry.log.items.sources import SourceType
from canonry.log.schemas.schemas import TruthRelation
from canonry.narrative.usecases.transcripts import (
    ImportReport,
    ImportRequest,
    Summary,
    Transcript,
    TranscriptLine,
    import_transcripts,
    plain_text,
)
from canonry.readmodels.ports.view import MaintenanceProgress
from canonry.records.usecases.files import GivenFile, import_files, require_undamaged
from canonry.records.usecases.ingest_file import ingest_file
from canonry.records.usecases.relationships import relate_entities
from canonry.values.calendar_dates import read_date
from canonry.values.errors import CanonryError, InvalidInput
from canonry.values.json_values import decode_json
from canonry.values.moments import Instant, parse_instant
from canonry.values.policy import NAME_MAX
from canonry.values.provenance import CanonLevel

# Shapes of transcript files:
#
# - A list of `{"speaker": ..., "text": ...}`, or an object with this list as `turns`, and
#   optionally a `title` and `summaries` (`{"start": 0, "end": 9, "text": ...}`; turns count from
#   0). An object or a turn may have its time as `said_at`, `timestamp`, `time` or `date`.
# - The CRD3 data set: `TURNS` with `NAMES` and `UTTERANCES`, and beside it `*.aligned-*.json` with
#   the chunks of the summary and the span of turns of each.

GM_NAMES: Final = frozenset({"dm", "gm", "game master", "dungeon master", "narrator"})
"""Names of the game master, unless --gm gives others."""

_CRD3_GM: Final = "MATT"

_ALIGNED: Final = ".aligned"
_TIMES: Final = ("said_at", "timestamp", "time", "date")
"""Members for the time of a turn or session; the first one present is used."""
_DAMAGE: Final = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


def read_transcripts(files: Sequence[Path]) -> tuple[Transcript, ...]:
    """Return the transcripts in the files; summaries lie beside them or among the files.

    Raises:
        InvalidInput: `transcript.unreadable`, with the file.
    """
    aligned = [path for path in files if _ALIGNED in path.name]
    sessions = [path for path in files if _ALIGNED not in path.name]
    if not sessions:
        message = "These files are only summaries. Give their transcripts too."
        raise InvalidInput("transcript.unreadable", message, path=str(files[0]))
    return tuple(_read_transcript(path, aligned) for path in sessions)


def gm_names_in(transcripts: Iterable[Transcript]) -> frozenset[str]:
    """Return the default names of the game master: `GM_NAMES`, and MATT in CRD3."""
    lines = (line for transcript in transcripts for line in transcript.lines)
    crd3 = any(line.speakers == (_CRD3_GM,) for line in lines)
    return GM_NAMES | {_CRD3_GM.casefold()} if crd3 else GM_NAMES


def _read_transcript(path: Path, aligned: Iterable[Path]) -> Transcript:
    data = _read_json(path)
    try:
        transcript = _parse_transcript(path.stem, data)
    except _DAMAGE as error:
        raise _unreadable_file(path, "it has none of the known shapes") from error
    if not transcript.lines:
        raise _unreadable_file(path, "it has no turns")
    nearby = sorted(path.parent.glob(f"{path.stem}{_ALIGNED}*.json"))
    named = [each for each in aligned if each.name.startswith(f"{path.stem}{_ALIGNED}")]
    for summary in [*named, *nearby][:1]:
        try:
            chunks = tuple(_read_chunk(each) for each in _read_json(summary))
        except _DAMAGE as error:
            raise _unreadable_file(summary, "its chunks need CHUNK and ALIGNMENT") from error
        transcript = replace(transcript, summaries=_in_order(chunks, len(transcript.lines)))
    return transcript


def _parse_transcript(stem: str, data: Any) -> Transcript:
    if isinstance(data, Mapping) and "TURNS" in data:
        lines = tuple(
            TranscriptLine(
                speakers=_read_speakers(turn["NAMES"]),
                text=plain_text(" ".join(turn["UTTERANCES"])),
            )
            for turn in data["TURNS"]
        )
        return Transcript(title=stem, lines=lines)
    reported: Mapping[str, Any] = data if isinstance(data, Mapping) else {"turns": data}
    lines = tuple(
        TranscriptLine(
            speakers=_read_speakers(turn["speaker"]),
            text=_read_text(turn),
            said_at=_read_time(turn),
        )
        for turn in reported["turns"]
    )
    given = tuple(
        Summary(start=int(each["start"]), end=int(each["end"]), text=_read_text(each))
        for each in reported.get("summaries", ())
    )
    began = _read_time(reported)
    return Transcript(
        title=_read_name(reported.get("title", stem)),
        lines=lines,
        summaries=_in_order(given, len(lines)),
        said_at=began or next((line.said_at for line in lines if line.said_at is not None), None),
    )


def _read_speakers(value: Any) -> tuple[str, ...]:
    names = value if isinstance(value, list) else [value]
    return tuple(_read_name(name) for name in names)


def _read_time(value: Mapping[str, Any]) -> Instant | None:
    """Return the time of a turn or session: RFC 3339, a date in words, or seconds."""
    given = next((value[name] for name in _TIMES if value.get(name) not in (None, "")), None)
    if given is None:
        return None
    read = read_date(given) if isinstance(given, str | int) else None
    if read is None:
        raise ValueError(given)
    return read.instant


def _read_name(value: Any) -> str:
    if not isinstance(value, str) or not plain_text(value):
        raise ValueError(value)
    return plain_text(value)[:NAME_MAX]


def _read_text(turn: Mapping[str, Any]) -> str:
    if not isinstance(turn["text"], str):
        raise ValueError(turn)  # noqa: TRY004 - all damage is reported alike
    return turn["text"]


def _read_chunk(data: Mapping[str, Any]) -> Summary:
    span = data["ALIGNMENT"]
    return Summary(
        start=int(span["TURN START"]), end=int(span["TURN END"]), text=plain_text(data["CHUNK"])
    )


def _in_order(summaries: tuple[Summary, ...], lines: int) -> tuple[Summary, ...]:
    """Return the summaries with a text about existing lines, in the order of the session."""
    sound = [each for each in summaries if each.text and 0 <= each.start <= each.end < lines]
    return tuple(sorted(sound, key=lambda each: (each.end, each.start)))


def _read_json(path: Path) -> Any:
    try:
        return decode_json(path.read_bytes())
    except OSError as error:
        raise _unreadable_file(path, str(error.strerror)) from error
    except (ValueError, RecursionError) as error:
        raise _unreadable_file(path, "it is not JSON in UTF-8") from error


def _unreadable_file(path: Path, why: str) -> InvalidInput:
    message = (
        f"{path} cannot be imported: {why}. `canonry import transcript --help` shows the shapes."
    )
    return InvalidInput("transcript.unreadable", message, path=str(path))


KINDS: Final = {
    ".md": DocumentType.MARKDOWN,
    ".markdown": DocumentType.MARKDOWN,
    ".pdf": DocumentType.PDF,
    ".text": DocumentType.PLAIN,
    ".txt": DocumentType.PLAIN,
}
"""Type of a document by the suffix of its file."""


@click.group()
def imports() -> None:
    """Import chats, notes, transcripts, documents or an exported log."""


@command_from(
    "documents", imports, types={"source_type": click.Choice([each.value for each in SourceType])}
)
async def documents(
    *,
    files: tuple[Path, ...],
    universe: str,
    source_type: str,
    level: str,
    doc_id: str | None,
    charset: str | None,
    agent_type: str,
    as_json: bool,
    **given: Any,
) -> None:
    """Cut text, Markdown and PDF files into snippets that proposals can cite."""
    if not 0 < len(plain_text(universe)) <= NAME_MAX:
        raise click.UsageError(f"--universe takes a name of 1 to {NAME_MAX} characters.")
    if doc_id is not None and (len(files) > 1 or not 0 < len(plain_text(doc_id)) <= NAME_MAX):
        raise click.UsageError(f"--doc-id takes one file, and 1 to {NAME_MAX} characters.")
    kinds = [_kind_of(path) for path in files]
    known_as = None if doc_id is None else plain_text(doc_id)
    source: dict[str, Any] = {
        "universe": plain_text(universe),
        "source_type": SourceType(source_type),
        "level": CanonLevel(level),
    }
    caller = operator_caller("canonry import documents", agent_type=agent_type)
    done: list[ImportedDocument] = []
    async with await open_kept_store(settings_from(given)) as store:
        with show_progress("importing snippets") as on_progress:
            caller = replace(caller, progress=_as_progress(on_progress))
            for path, kind in zip(files, kinds, strict=True):
                document = _documents_read(path, kind, charset=charset, doc_id=known_as)
                work = import_document(store.canon, caller, document, **source)
                done.append(await _name_errors(document.name, work))
    if as_json:
        click.echo(json.dumps([asdict(each) for each in done], sort_keys=True))
        return
    for each in done:
        known = each.snippets - each.added
        already = f", {known} were there already" if known else ""
        other = "" if each.doc_id == each.name else f", known as {each.doc_id}"
        print_line(f"{each.name}  (source {each.source_id}{other})")
        click.echo(f"  {each.added:6} snippets added{already}")


def _as_progress(on_progress: MaintenanceProgress) -> Progress:
    async def report(done: float, total: float | None, message: str) -> None:
        del message  # the progress bar shows enough
        on_progress(int(done), None if total is None else int(total))

    return report


def _kind_of(path: Path) -> DocumentType:
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        message = f"{path} has an unknown type. Import files with {', '.join(KINDS)}."
        raise InvalidInput("document.unknown-kind", message, path=str(path))
    return kind


def _documents_read(path: Path, kind: DocumentType, **options: Any) -> GivenDocument:
    limit = DocumentLimits().bytes
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}."
        raise InvalidInput("document.unreadable", message, path=str(path)) from error
    name = plain_text(path.name)[:NAME_MAX]
    title = plain_text(path.stem)[:NAME_MAX] or name
    whole = path.resolve()
    # A digest identifies the file without revealing its folder.
    path_hash = blake2b(str(whole).encode(errors="replace"), digest_size=16).hexdigest()
    return GivenDocument(
        name=name,
        title=title,
        data=data,
        kind=kind,
        file_path=f"file:{path_hash}",
        folder=plain_text(whole.parent.name)[: NAME_MAX // 2],
        **options,
    )


async def _name_errors(
    name: str, importing: Coroutine[Any, Any, ImportedDocument]
) -> ImportedDocument:
    """Await the import, and put the file's name before the message of an error."""
    try:
        return await importing
    except CanonryError as error:
        message = f"{name}: {error.message}"
        raise type(error)(error.code, message, **error.details) from error


# Chats and notes: exports of assistants and messengers, and folders of Markdown, become records of
# the account. A note is related to those that it links to.

_ENDINGS: Final = {"chats": (".json", ".jsonl", ".txt", ".zip"), "notes": (".md", ".markdown")}
_SUBJECTS: Final = {"chats": "exports of chats", "notes": "Markdown notes"}
_LINK: Final = re.compile(r"\[\[([^\[\]|#\n]{1,200})|\]\(([^()\s#]{1,300})")
_COUNTED: Final = ("files", "sources", "known", "records", "links")


def _import_command(kind: str) -> None:
    """Make the command that brings chats or notes into the account."""

    @command_from(kind, imports, help=f"Import {_SUBJECTS[kind]} into your account.")
    async def bring(
        *, paths: tuple[Path, ...], dry_run: bool, agent_type: str, as_json: bool, **given: Any
    ) -> None:
        exported = [each for each in paths if kind == "notes" and is_exported(each)]
        if exported:
            await _propose_edits(
                settings_from(given), exported[0], dry_run=dry_run, as_json=as_json
            )
            return
        if dry_run:
            raise click.UsageError("--dry-run takes a folder of `canonry export markdown`.")
        caller = operator_caller(f"canonry import {kind}", agent_type=agent_type)
        counts, unread = Counter(dict.fromkeys(_COUNTED, 0)), dict[str, str]()
        notes: dict[str, tuple[str, str]] = {}
        async with await open_kept_store(settings_from(given)) as store:
            with show_progress("importing files") as told:
                for path, name in _files_within(paths, _ENDINGS[kind]):
                    counts["files"] += 1
                    told(counts["files"], None)
                    try:
                        for part in parts_of(path, name):
                            one = await _ingest_source(
                                store.canon, caller, (name, part), counts, unread
                            )
                            notes |= {name: (one, part.decode())} if kind == "notes" else {}
                    except CanonryError as error:
                        unread[name] = error.message
            counts["links"] = await _relate_notes(store.canon, caller, notes)
        if as_json:
            click.echo(json.dumps({**counts, "unread": unread}, sort_keys=True))
            return
        click.echo(", ".join(f"{counts[each]} {each}" for each in _COUNTED))
        for name, why in unread.items():
            print_line(f"not read: {name}: {why}")


async def _propose_edits(settings: Settings, path: Path, *, dry_run: bool, as_json: bool) -> None:
    """Propose each edit of an exported folder by itself, with its own words; entities first."""
    done: list[Mapping[str, Any]] = []
    async with await open_kept_store(settings, existing=True) as store:
        edits = await compare_folder(store.canon, path)
        edits.claims.sort(key=lambda each: each[1]["kind"] != "entity")
        for stem, claim in [] if dry_run else edits.claims:
            wording = str(claim.get("value") or claim.get("says") or brief_claim(claim))
            asked = {"space": edits.folder.space, "claims": [claim], "said": wording}
            try:
                done.append((await ask_store(store, settings, TOOLS["propose"], asked)).body)
            except CanonryError as error:
                edits.refused.append(f"{stem}: {brief_claim(claim)} ({error.message})")
    if as_json:
        outcome = {"claims": [each for _, each in edits.claims], "replies": done}
        click.echo(json.dumps({**outcome, "refused": edits.refused}, sort_keys=True))
    else:
        for stem, claim in edits.claims if dry_run else ():
            print_line(f"{stem}: would propose {claim['kind']}: {brief_claim(claim)}")
        for each in done:
            print_reply({name: each[name] for name in ("verdicts", "note") if name in each})
        for line in edits.refused:
            print_line(f"not proposed: {line}")
        if not edits.claims and not edits.refused:
            click.echo("nothing changed")
    if edits.refused or any(each["accepted"] < each["of"] for each in done):
        raise click.exceptions.Exit(1)


async def _ingest_source(
    canon: Canon,
    caller: Caller,
    source: tuple[str, bytes],
    counts: Counter[str],
    unread: dict[str, str],
) -> str:
    """Ingest one source, and return the id of its first record."""
    given = GivenFile(data=source[1], hint=FileHint(name=source[0]))
    done = await ingest_file(canon, caller, account_of(caller), given)
    counts.update(sources=1, known=done.deduplicated)
    if done.recorded is not None:
        counts["records"] += done.recorded.total
        warnings = [each.message for each in done.recorded.warnings if not each.path]
        unread |= {source[0]: " ".join(warnings)} if warnings else {}
    first_page = await canon.state.observations_from(done.source.id, limit=1, offset=0)
    return first_page.items[0].entity_id if first_page.items else ""


async def _relate_notes(canon: Canon, caller: Caller, notes: Mapping[str, tuple[str, str]]) -> int:
    """Relate notes to those that they name or lead to; return the number of new relations."""
    ids: dict[str, str] = {}
    for name, (one, _) in notes.items():
        bare = name.rpartition(".")[0].casefold()
        ids = {bare.rpartition("/")[2]: one, **ids, bare: one}
    new = 0
    for one, text in notes.values():
        links = (unquote(wiki or path.rpartition(".")[0]) for wiki, path in _LINK.findall(text))
        others = dict.fromkeys(ids.get(each.strip().casefold(), one) for each in links)
        for ends in [(one, other) for other in others if other != one]:
            _, existed = await relate_entities(canon, caller, TruthRelation.REFERS_TO, ends, {})
            new += not existed
    return new


def _files_within(paths: Sequence[Path], endings: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """Yield the files with these endings and their names within a folder, without hidden ones."""
    for path in paths:
        for each in sorted(path.rglob("*")) if path.is_dir() else (path,):
            name = each.relative_to(path).as_posix() if path.is_dir() else each.name
            hidden = any(part.startswith(".") for part in name.split("/"))
            if each.is_file() and not hidden and each.suffix.lower() in endings:
                yield each, name


for _kind in _ENDINGS:
    _import_command(_kind)


@command_from("transcript", imports)
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
    """Turn transcripts into a universe, a story, scenes and turns, and canonize the scenes."""
    settings = settings_from(given)
    transcripts = read_transcripts(files)
    found: dict[str, str] = {}
    for each in casts:
        speaker, equals, character = each.partition("=")
        if not equals or not speaker.strip() or not character.strip():
            raise click.UsageError(f"--cast takes SPEAKER=CHARACTER, not {each}.")
        found[normalised_name(speaker)] = _imports_name(character, "--cast")
    request = ImportRequest(
        universe=_imports_name(universe, "--universe"),
        story=_imports_name(story or universe, "--story"),
        transcripts=transcripts,
        gm_names=frozenset(map(normalised_name, gms)) or gm_names_in(transcripts),
        casting=found,
    )
    caller = operator_caller("canonry import transcript", agent_type=agent_type)
    async with await open_kept_store(settings) as store:
        with show_progress("importing turns") as on_progress:
            report = await import_transcripts(store.canon, caller, request, on_progress)
    if as_json:
        click.echo(json.dumps(asdict(report), sort_keys=True))
    else:
        _print_report(report)


def _imports_name(text: str, option: str) -> str:
    if not 0 < len(plain_text(text)) <= NAME_MAX:
        raise click.UsageError(f"{option} takes a name of 1 to {NAME_MAX} characters.")
    return plain_text(text)


def _print_report(report: ImportReport) -> None:
    for each in report.transcripts:
        rate = each.turns / each.writing_seconds if each.writing_seconds else 0.0
        print_line(f"{each.title}  (story {each.story_id})")
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
            print_line(f"         {proposal}  {rule}: {rationale}")
    click.echo(
        f"universe {report.universe_id}, story {report.story_id}, {report.entities} entities"
    )


@command_from("log", imports)
async def log(*, file: Path, files: Path | None, before: str | None, **given: Any) -> None:
    """Append the commits of FILE, an export of `canonry export`, without any change.

    The file and those of --files are verified first. A damaged one is refused before anything is
    written. To continue an interrupted import, run it again. Files of erased sources are skipped.
    Exit code 1 if files of other sources are missing.
    """
    until = None if before is None else parse_instant(before, path="--before")
    files_store, carried = None if files is None else files_in_folder(files), None
    if files_store is not None:
        await require_undamaged(files_store)
    async with await open_kept_store(settings_from(given)) as store:
        with show_progress("importing commits") as on_progress:
            done = await import_log(
                store.canon.ledger, lambda: _file_lines(file), on_progress, before=until
            )
        if files_store is not None:
            with show_progress("importing files") as on_progress:
                carried = await import_files(store.canon, files_store, on_progress)
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
        click.echo(f"left out {carried.unnamed} files without a source")
    if carried.missing:
        click.echo(f"{carried.missing} files are missing in {files}", err=True)
        raise click.exceptions.Exit(1)


def _file_lines(file: Path) -> Iterator[bytes]:
    with file.open("rb") as lines:
        yield from lines


# Exports of chats are read value by value, so that one of any length takes little memory.

_READ: Final = 1 << 20  # characters that are read at a time

_PART: Final = 2_000
"""The most messages of a part, which keeps it below the limit of characters of a file."""

_MESSAGES: Final = frozenset({"mapping", "chat_messages", "messages"})
_AUTHORS: Final = ("from", "actor", "sender", "author")
_SIGN: Final = re.compile(r"[^\s,:]")
_DECODER: Final = json.JSONDecoder()


def parts_of(path: Path, name: str = "") -> Iterator[bytes]:
    """Yield the content of a file; a large export by conversations, and long ones in parts."""
    read = []
    if path.suffix.lower() == ".txt" and path.stat().st_size >= _READ:
        for part in _texts_in(path, (name or path.name).rpartition(".")[0]):
            read.append(True)
            yield json.dumps(part, ensure_ascii=False).encode()
    if path.suffix.lower() == ".json" and path.stat().st_size >= _READ:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            export = _Export(file)
            export.take_sign("[")
            while export.take_sign("{"):
                read.append(False)
                for part in export.read_conversation():
                    read[-1] = True
                    yield json.dumps([part], ensure_ascii=False).encode()
    if not all(read) or not read:  # such as messages of Slack, which are one conversation
        yield path.read_bytes()


def _texts_in(path: Path, title: str) -> Iterator[Mapping[str, Any]]:
    """Yield the messages in a text of WhatsApp in parts; nothing if it is none."""
    from canonry.documents.extraction.chats import messages_in  # noqa: PLC0415 - may be missing

    def text_lines() -> Iterator[str]:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            yield from file

    authors = dict.fromkeys(each.author for each in messages_in(text_lines) if each.author)
    about = {"id": title, "name": title, "participants": list(authors)}
    messages = (
        {"id": e.id, "from" if e.author else "actor": e.author, "date": e.at, "text": e.text}
        for e in messages_in(text_lines)
    )
    while items := list(islice(messages, _PART)):
        yield {**about, "messages": items}


class _Export:
    """An export in JSON, and the position up to which it is read."""

    def __init__(self, file: TextIO) -> None:
        self._file, self._text, self._at = file, "", 0

    def take_sign(self, signs: str) -> str:
        """Pass over the next sign if it is one of these, and return it."""
        while not (seen := _SIGN.search(self._text, self._at)):
            if not self._read_more():
                return ""
        self._at = seen.end() if seen[0] in signs else seen.start()
        return seen[0] if seen[0] in signs else ""

    def read_value(self) -> Any:
        """Read the next value, which must be whole."""
        self.take_sign("")
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except ValueError as error:
                if not self._read_more():
                    message = "The export ends within a conversation. Download it again."
                    raise InvalidInput("document.damaged", message) from error
            else:
                if end < len(self._text) or not self._read_more():  # a number could go on
                    self._at = end
                    return value

    def read_conversation(self) -> Iterator[Mapping[str, Any]]:
        """Yield an object in parts of its messages, or its chats; nothing if it has neither."""
        about: dict[str, Any] = {}
        named = begin = ""
        with TemporaryFile("w+", encoding="utf-8") as kept:
            while not self.take_sign("}"):
                name = self.read_value()
                about[name] = None
                if name in _MESSAGES and (begin := self.take_sign("[{")):
                    named = name
                    while not self.take_sign("]}"):
                        key = self.read_value() if begin == "{" else ""
                        kept.write(json.dumps((key, self.read_value())) + "\n")
                elif name == "chats" and self.take_sign("{"):
                    for part in self.read_conversation():
                        yield {**about, **part}
                        about = {}
                elif name == "list" and self.take_sign("["):
                    while self.take_sign("{"):
                        yield from ({"chats": {"list": [p]}} for p in self.read_conversation())
                    self.take_sign("]")
                else:
                    about[name] = self.read_value()
            for items, shared in _split_messages(kept, about) if named else ():
                inner = dict(items) if begin == "{" else [item for _, item in items]
                yield {**about, named: inner, **shared}

    def _read_more(self) -> bool:
        rest = self._text[self._at :]
        more = self._file.read(max(_READ, len(rest)))
        self._text, self._at = rest + more, 0
        return bool(more)


def _split_messages(
    kept: TextIO, about: Mapping[str, Any]
) -> Iterator[tuple[list[tuple[str, Any]], Mapping[str, Any]]]:
    """Yield messages in parts; each part of several has all authors, and the times of the chat."""
    authors: dict[str, None] = {}
    times: list[Any] = []
    kept.seek(0)
    number = 0
    for number, line in enumerate(kept, 1):  # noqa: B007
        author, at = _author_time(json.loads(line)[1])
        authors |= {author: None} if author else {}
        times = [*times[:1], at] if at else times
    shared: dict[str, Any] = {}
    if number > _PART:
        shared = {"participants": list(authors)}
        if times and about.keys().isdisjoint({"create_time", "created_at"}):
            shared |= {"create_time": times[0], "update_time": times[-1]}
    kept.seek(0)
    yield [json.loads(line) for line in islice(kept, _PART)], shared
    while items := [json.loads(line) for line in islice(kept, _PART)]:
        yield items, shared


def _author_time(item: Any) -> tuple[str, Any]:
    """Return the author and the time of a message."""
    message = item.get("message") or item if isinstance(item, dict) else {}
    author = next((message[name] for name in _AUTHORS if message.get(name)), "")
    unix = str(message.get("date_unixtime", ""))
    role = author.get("role", "") if isinstance(author, dict) else author
    return str(role), int(unix) if unix.isdigit() else message.get("date")
