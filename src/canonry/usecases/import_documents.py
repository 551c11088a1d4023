"""Import documents: each file a source of a universe by its name, and its text as snippets."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from canonry.domain.excerpts import DocumentType
from canonry.domain.ids import SpaceId
from canonry.domain.provenance import CanonLevel
from canonry.domain.sources import Source, SourceType
from canonry.ports.views.pages import PAGE_MAX
from canonry.usecases.caller import Caller
from canonry.usecases.canon import Canon
from canonry.usecases.create_source import NewSource, create_source
from canonry.usecases.ingest_source import ingest_parts
from canonry.usecases.receipts import the_made
from canonry.usecases.universe_named import universe_named


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenDocument:
    """A file with its name, which is what its source is known by."""

    name: str
    title: str
    data: bytes
    kind: DocumentType
    charset: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedDocument:
    """What became of one file."""

    name: str
    universe_id: str
    source_id: str
    snippets: int
    added: int


async def import_document(
    canon: Canon,
    caller: Caller,
    given: GivenDocument,
    *,
    universe: str,
    source_type: SourceType,
    level: CanonLevel,
) -> ImportedDocument:
    """Ingest the document into the source of that name, which is made where it is missing.

    The document is read before anything is written.

    Raises:
        CanonryError: as the steps that it consists of; run it again to go on.
    """
    parts = await canon.reader.read(given.data, given.kind, charset=given.charset)
    description = f"The world of {universe}, as its documents tell it."
    space = await universe_named(canon, caller, universe, description=description)
    new = NewSource(
        space=space,
        doc_id=given.name,
        title=given.title,
        edition=None,
        origin=None,
        source_type=source_type,
        level=level,
    )
    source = await _source(canon, caller, new)
    done = await ingest_parts(canon, caller, source, parts)
    return ImportedDocument(
        name=given.name,
        universe_id=space,
        source_id=source.id,
        snippets=done.snippets,
        added=done.added,
    )


async def _source(canon: Canon, caller: Caller, new: NewSource) -> Source:
    """The oldest source of that name and type, made if there is none."""
    same = (s for s in await _sources(canon, new.space) if s.doc_id == new.doc_id)
    known = next((s for s in same if s.source_type is new.source_type), None)
    if known is not None:
        return known
    keyed = replace(caller, idempotency_key=f"source {new.source_type} {new.doc_id}")
    return the_made(await create_source(canon, keyed, new), Source)


async def _sources(canon: Canon, space: SpaceId) -> Iterable[Source]:
    found: list[Source] = []
    while True:
        page = await canon.state.sources(space, limit=PAGE_MAX, offset=len(found))
        found.extend(page.items)
        if not page.items or len(found) >= page.total:
            return found
