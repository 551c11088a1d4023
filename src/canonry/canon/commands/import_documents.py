"""Import documents: each a source of a universe, and its text as snippets.

A name is no identity: every second folder has a `rules.md`. A document is known by the id that it
is given, else by its content, else by where it lies.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from canonry.canon.commands.create_source import NewSource, create_source
from canonry.canon.commands.create_universe import universe_named
from canonry.canon.commands.ingest_source import (
    digest_of,
    excerpts_of,
    ingest_excerpts,
    source_holding,
)
from canonry.canon.session.caller import Caller, step
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require_universe
from canonry.canon.session.receipts import made_before, the_made
from canonry.language.texts.excerpts import DocumentType, Excerpt
from canonry.log.items.sources import Source, SourceDraft, SourceType
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.values.audience import EVERYBODY, Audience
from canonry.values.ids import SpaceId
from canonry.values.provenance import CanonLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenDocument:
    """A file: `place` tells apart where files lie, and `folder` is the name of the folder.

    With a `doc_id` it is a document, or a new edition of one, that goes by this id. What is for
    another `audience` is another document, although it says the same.
    """

    name: str
    title: str
    data: bytes
    kind: DocumentType
    charset: str | None = None
    place: str | None = None
    folder: str = ""
    doc_id: str | None = None
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedDocument:
    """What became of one file: its snippets have the indexes from `first` on."""

    name: str
    universe_id: str
    source_id: str
    doc_id: str
    first: int
    snippets: int
    added: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Home:
    """Where a document is kept, and as what."""

    space: SpaceId
    source_type: SourceType
    level: CanonLevel


async def import_document(
    canon: Canon,
    caller: Caller,
    given: GivenDocument,
    *,
    universe: str,
    source_type: SourceType,
    level: CanonLevel,
) -> ImportedDocument:
    """Ingest the document into its source, which is made where it is missing.

    That is the source with the id that was given; or the one that has the very same text already;
    or the one that the file's earlier edition went into, if it lies where that lay. The document
    is read before anything is written.

    Raises:
        CanonryError: as the steps that it consists of; run it again to go on.
    """
    description = f"The world of {universe}, as its documents tell it."
    excerpts = await _read(canon, given)
    space = await universe_named(canon, caller, universe, description=description)
    home = _Home(space=space, source_type=source_type, level=level)
    return await _kept(canon, caller, given, excerpts, home)


async def keep_document(
    canon: Canon,
    caller: Caller,
    given: GivenDocument,
    *,
    universe_id: str,
    source_type: SourceType,
    level: CanonLevel,
) -> ImportedDocument:
    """The same in a universe that is there already.

    Raises:
        NotFound: `universe.unknown`.
        CanonryError: as above.
    """
    space = (await require_universe(canon, caller, universe_id)).id
    excerpts = await _read(canon, given)
    home = _Home(space=space, source_type=source_type, level=level)
    return await _kept(canon, caller, given, excerpts, home)


async def _read(canon: Canon, given: GivenDocument) -> Sequence[Excerpt]:
    parts = await canon.reader.read(given.data, given.kind, charset=given.charset)
    return await excerpts_of(canon, parts)


async def _kept(
    canon: Canon,
    caller: Caller,
    given: GivenDocument,
    excerpts: Sequence[Excerpt],
    home: _Home,
) -> ImportedDocument:
    source_type = home.source_type
    found = [s for s in await _sources(canon, home.space) if s.source_type is source_type]
    known = [each for each in found if each.audience == given.audience]
    making = _making(caller, given, excerpts, source_type)
    (source,) = await made_before(canon, making, home.space, SourceDraft) or (
        await _source_among(canon, known, given, excerpts),
    )
    if source is None:
        new = NewSource(
            space=home.space,
            doc_id=_free_id(given, found if given.doc_id is None else known),
            title=given.title,
            edition=None,
            origin=given.place,
            source_type=source_type,
            level=home.level,
            audience=given.audience or None,
        )
        source = the_made(await create_source(canon, making, new), SourceDraft)
    done = await ingest_excerpts(canon, caller, source, excerpts)
    return ImportedDocument(
        name=given.name,
        universe_id=home.space,
        source_id=source.id,
        doc_id=source.doc_id,
        first=done.first,
        snippets=done.snippets,
        added=done.added,
    )


def _making(
    caller: Caller, given: GivenDocument, excerpts: Sequence[Excerpt], source_type: SourceType
) -> Caller:
    """The caller for the step that makes the source.

    A document with an id of its own, and one that is told without a key, are known by themselves,
    so that two calls at once make one source of it.
    """
    if caller.idempotency_key is not None and given.doc_id is None:
        return step(caller, "source")
    named = given.doc_id or digest_of(excerpts)
    key = " ".join(("source", source_type, named, str(given.place), *given.audience))
    return replace(caller, idempotency_key=key)


async def _source_among(
    canon: Canon, known: Sequence[Source], given: GivenDocument, excerpts: Sequence[Excerpt]
) -> SourceDraft | None:
    """The oldest of the known sources that this is a document of."""
    if given.doc_id is not None:
        return next((each for each in known if each.doc_id == given.doc_id), None)
    same = await source_holding(canon, known, excerpts)
    if same is not None:
        return same
    return next((each for each in known if given.place and each.origin == given.place), None)


def _free_id(given: GivenDocument, known: Sequence[Source]) -> str:
    """An id that no source has: the name, where it is taken with more of where the file lies."""
    taken = {each.doc_id for each in known}
    return next(each for each in _possible_ids(given) if each not in taken)


def _possible_ids(given: GivenDocument) -> Iterator[str]:
    if given.doc_id is not None:
        yield given.doc_id
    yield given.name
    longer = f"{given.folder}/{given.name}" if given.folder else given.name
    yield longer
    yield from (f"{longer} ({number})" for number in count(2))


async def _sources(canon: Canon, space: SpaceId) -> Sequence[Source]:
    found: list[Source] = []
    while True:
        page = await canon.state.sources(space, limit=PAGE_MAX, offset=len(found))
        found.extend(page.items)
        if not page.items or len(found) >= page.total:
            return found
