"""`canonry import documents`: rulebooks, lore and notes become sources with citable snippets."""

import json
from collections.abc import Coroutine
from dataclasses import asdict, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import click

from canonry.app.stores import open_kept_store
from canonry.canon.commands.import_documents import (
    GivenDocument,
    ImportedDocument,
    import_document,
)
from canonry.canon.ports.document_reader import DocumentLimits
from canonry.canon.session.caller import Progress
from canonry.cli.operator import operator
from canonry.cli.options import awaited, settings_from, store_options
from canonry.cli.progress import progress
from canonry.cli.screen import tell_line
from canonry.language.texts.excerpts import DocumentType
from canonry.log.items.sources import SourceType
from canonry.narrative.usecases.transcripts import plain
from canonry.readmodels.ports.upkeep import UpkeepProgress
from canonry.values.errors import CanonryError, InvalidInput
from canonry.values.policy import NAME_MAX
from canonry.values.provenance import CanonLevel

KINDS: Final = {
    ".md": DocumentType.MARKDOWN,
    ".markdown": DocumentType.MARKDOWN,
    ".pdf": DocumentType.PDF,
    ".text": DocumentType.PLAIN,
    ".txt": DocumentType.PLAIN,
}
"""Which kind of document a file is, by the end of its name."""

LEVELS: Final = ("proposed", "canon", "authoritative")

EPILOG = """\
\b
Examples:
  canonry import documents rules.pdf house-rules.md --universe Exandria
  canonry import documents old.txt --charset windows-1252 --universe Exandria \\
      --source-type lore --level canon

\b
What becomes of it: each file a source; its text is cut at sections, paragraphs and sentences into
snippets of about 500 tokens, which can be searched and cited as snippet:ID. A text that was
imported already adds nothing, wherever it lies now; a file that has changed adds its snippets
behind those of the older version, which stay. Files of one name in different folders are different
documents. A new edition from another place is told by --doc-id.
"""


@click.command("documents", epilog=EPILOG)
@click.argument(
    "files",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    nargs=-1,
    required=True,
)
@click.option("--universe", required=True, metavar="NAME", help="Found by its name, or made.")
@click.option(
    "--source-type",
    type=click.Choice([each.value for each in SourceType]),
    default=SourceType.RULEBOOK.value,
    show_default=True,
    help="What the documents are.",
)
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    default=CanonLevel.AUTHORITATIVE.value,
    show_default=True,
    help="How far they are true.",
)
@click.option("--doc-id", metavar="ID", help="What the document is known by; for one file.")
@click.option("--charset", metavar="NAME", help="Of texts that are not in UTF-8.")
@click.option(
    "--agent-type", default="CanonKeeper", show_default=True, help="Role of the importer."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
@store_options
@awaited
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
    if not 0 < len(plain(universe)) <= NAME_MAX:
        raise click.UsageError(f"--universe takes a name of 1 to {NAME_MAX} characters")
    if doc_id is not None and (len(files) > 1 or not 0 < len(plain(doc_id)) <= NAME_MAX):
        raise click.UsageError(f"--doc-id takes one file, and 1 to {NAME_MAX} characters")
    kinds = [_kind_of(path) for path in files]
    known_as = None if doc_id is None else plain(doc_id)
    source: dict[str, Any] = {
        "universe": plain(universe),
        "source_type": SourceType(source_type),
        "level": CanonLevel(level),
    }
    caller = operator("canonry import documents", agent_type=agent_type)
    done: list[ImportedDocument] = []
    async with await open_kept_store(settings_from(given)) as store:
        with progress("importing snippets") as told:
            caller = replace(caller, progress=_telling(told))
            for path, kind in zip(files, kinds, strict=True):
                document = _read(path, kind, charset=charset, doc_id=known_as)
                work = import_document(store.canon, caller, document, **source)
                done.append(await _named(document.name, work))
    if as_json:
        click.echo(json.dumps([asdict(each) for each in done], sort_keys=True))
        return
    for each in done:
        known = each.snippets - each.added
        already = f", {known} were there already" if known else ""
        other = "" if each.doc_id == each.name else f", known as {each.doc_id}"
        tell_line(f"{each.name}  (source {each.source_id}{other})")
        click.echo(f"  {each.added:6} snippets added{already}")


def _telling(told: UpkeepProgress) -> Progress:
    async def tell(done: float, total: float | None, message: str) -> None:
        del message  # the bar says it
        told(int(done), None if total is None else int(total))

    return tell


def _kind_of(path: Path) -> DocumentType:
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        message = f"{path} is of no kind that can be read; it may end with {', '.join(KINDS)}"
        raise InvalidInput("document.unknown-kind", message, path=str(path))
    return kind


def _read(path: Path, kind: DocumentType, **told: Any) -> GivenDocument:
    limit = DocumentLimits().bytes
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise InvalidInput("document.unreadable", message, path=str(path)) from error
    name = plain(path.name)[:NAME_MAX]
    title = plain(path.stem)[:NAME_MAX] or name
    whole = path.resolve()
    # A digest tells files apart without telling whose folders they lie in.
    place = blake2b(str(whole).encode(errors="replace"), digest_size=16).hexdigest()
    return GivenDocument(
        name=name,
        title=title,
        data=data,
        kind=kind,
        place=f"file:{place}",
        folder=plain(whole.parent.name)[: NAME_MAX // 2],
        **told,
    )


async def _named(name: str, importing: Coroutine[Any, Any, ImportedDocument]) -> ImportedDocument:
    """The same, with the file's name in front of what is wrong with it."""
    try:
        return await importing
    except CanonryError as error:
        message = f"{name}: {error.message}"
        raise type(error)(error.code, message, **error.details) from error
