"""Create sources, ingest texts and import documents."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count
from typing import Final

from canonry.canon.commands.universes import universe_named
from canonry.canon.session.caller import Caller, derive_step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    Receipt,
    commit_change,
    drafts_made_before,
    first_made,
)
from canonry.canon.session.lookup import require_item, require_universe
from canonry.canon.session.paging import every_item, first_items
from canonry.canon.session.snippets import (
    digest_of,
    id_root_of,
    known_index,
    next_index,
    snippets_of,
)
from canonry.language.texts.sentences import Cut, DocumentType, Excerpt, Part, cut_excerpts
from canonry.log.entries import Made, Tombstone
from canonry.log.folding import item_key, snippets_key
from canonry.log.items.sources import SnippetDraft, Source, SourceDraft, SourceType
from canonry.values.audience import EVERYBODY, Audience
from canonry.values.errors import InvalidInput
from canonry.values.ids import NewId, SourceId, SpaceId, derived_id
from canonry.values.provenance import CanonLevel

PAGES_MAX: Final = 10  # bounds the search for a repeated doc_id, which only warns


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSource:
    """A document by title and edition; `doc_id` is the caller's own id for it."""

    space: SpaceId
    doc_id: str
    title: str
    edition: str | None
    origin: str | None
    source_type: SourceType
    level: CanonLevel
    audience: Audience | None = None


async def create_source(canon: Canon, caller: Caller, new: NewSource) -> Receipt:
    """Create the source; a `doc_id` that is taken causes a warning.

    Raises:
        NotFound: `universe.unknown`.
    """
    await require_universe(canon, caller, new.space)

    async def prepare_change(new_id: NewId) -> Change:
        source = SourceDraft(
            id=SourceId(new_id("source")),
            space=new.space,
            doc_id=new.doc_id,
            title=new.title,
            edition=new.edition,
            origin=new.origin,
            source_type=new.source_type,
            level=new.level,
        )
        known, _ = await first_items(partial(canon.state.sources, new.space), PAGES_MAX)
        same = [each.id for each in known if each.doc_id == new.doc_id]
        warnings = (f"Sources with this doc_id already exist: {', '.join(same)}.",) if same else ()
        entries = (Made(thing=source),)
        return Change(entries=entries, reads=frozenset(), warnings=warnings, audience=new.audience)

    return await commit_change(canon, caller, new.space, prepare_change)


# Ingest a source: read its document, cut it into snippets, and store the missing ones.
#
# A snippet's id derives from its source, the document's text and its index. The same document adds
# nothing, in any file, and a repeated ingestion continues after an interruption.

SNIPPETS_PER_COMMIT: Final = 250
SNIPPETS_MAX: Final = 20_000
"""The most snippets of one document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """The result of an ingestion: the document's snippets have the indexes from `first` on."""

    source: SourceDraft
    first: int
    snippets: int
    added: int


async def ingest_source(
    canon: Canon,
    caller: Caller,
    source_id: str,
    data: bytes,
    kind: DocumentType,
    *,
    title: str | None = None,
) -> Ingested:
    """Append the document's snippets to those of the source.

    `title` distinguishes the document from others of the source.

    Raises:
        NotFound: `source.unknown`.
        InvalidInput: as the document reader, or `document.too-large`.
        Unavailable: `document.too-slow`, or as a commit; repeat the request to continue.
    """
    source = await require_item(canon, caller, Source, source_id)
    excerpts = await excerpts_of(canon, await canon.reader.read_parts(data, kind))
    return await ingest_excerpts(canon, caller, source, excerpts, title=title)


async def excerpts_of(canon: Canon, parts: Sequence[Part]) -> Sequence[Excerpt]:
    """Cut the parts of a document into excerpts.

    Raises:
        InvalidInput: `document.too-large`.
    """
    how = Cut(characters=canon.policy.limits.snippet)
    # Cutting a book takes a second, which would block other calls.
    excerpts = await asyncio.to_thread(lambda: tuple(cut_excerpts(parts, how)))
    if len(excerpts) > SNIPPETS_MAX:
        message = f"The document makes more than {SNIPPETS_MAX} snippets. Split it into files."
        raise InvalidInput("document.too-large", message, unit="snippets", limit=SNIPPETS_MAX)
    return excerpts


async def ingest_excerpts(
    canon: Canon,
    caller: Caller,
    source: SourceDraft,
    excerpts: Sequence[Excerpt],
    *,
    title: str | None = None,
) -> Ingested:
    """Ingest a document that was already cut, like `ingest_source`."""
    ingestion = _Ingestion(
        canon=canon,
        caller=caller,
        source=source,
        snippets=snippets_of(source, title, excerpts, canon.policy.limits.name),
    )
    added = await ingestion.store_document()
    return Ingested(source=source, first=ingestion.first or 0, snippets=len(excerpts), added=added)


async def source_holding(
    canon: Canon, sources: Sequence[Source], excerpts: Sequence[Excerpt]
) -> Source | None:
    """Return the first of `sources` that contains this document, completely or in part."""
    digest = digest_of(excerpts)
    last = str(len(excerpts) - 1)  # the first one to be stored
    named = {derived_id(id_root_of(source, digest), last): source for source in sources}
    known = await canon.space_scope(*{each.space for each in sources}).items_by_id(named)
    return next((source for snippet_id, source in named.items() if snippet_id in known), None)


@dataclass(slots=True, kw_only=True)
class _Ingestion:
    """The ingestion of one document; `first` is its index in the source, once known.

    The last batch is written first: its highest index reserves the ones below it.
    """

    canon: Canon
    caller: Caller
    source: SourceDraft
    snippets: tuple[SnippetDraft, ...]
    first: int | None = None

    async def store_document(self) -> int:
        """Store the document; return the number of added snippets."""
        total, done, added = len(self.snippets), 0, 0
        for batch in self._split_batches():  # an earlier run may have given the document its index
            if self.first is None:
                known = await self.canon.space_scope(self.source.space).items_by_id(
                    each.id for each in batch
                )
                self.first = known_index(batch, known)
        for number, batch in reversed(tuple(enumerate(self._split_batches()))):
            added += await self._store_batch(batch, derive_step(self.caller, f"snippets {number}"))
            done += len(batch)
            await self.caller.progress(done, total, "snippets stored")
        return added

    def _split_batches(self) -> Sequence[Sequence[SnippetDraft]]:
        starts = range(0, len(self.snippets), SNIPPETS_PER_COMMIT)
        return [self.snippets[start : start + SNIPPETS_PER_COMMIT] for start in starts]

    async def _store_batch(self, batch: Sequence[SnippetDraft], caller: Caller) -> int:
        settled = self.first

        async def prepare_change(_: NewId) -> Change:
            source = await require_item(self.canon, self.caller, Source, self.source.id)
            known = await self.canon.space_scope(self.source.space).items_by_id(e.id for e in batch)
            reads = {item_key(source.id), *(item_key(each.id) for each in batch)}
            self.first = settled if settled is not None else known_index(batch, known)
            if self.first is None:
                self.first = await next_index(self.canon, source)
                reads.add(snippets_key(source.id))
            missing = (each for each in batch if each.id not in known)
            entries = tuple(Made(thing=replace(e, index=self.first + e.index)) for e in missing)
            return Change(entries=entries, reads=frozenset(reads))

        receipt = await commit_change(self.canon, caller, self.source.space, prepare_change)
        return len(receipt.drafts_made(SnippetDraft))


# Import documents: each becomes a source of a universe with snippets.
#
# A name does not identify a document, because each second folder has a `rules.md`. A document is
# identified by its given id, else by its content, else by its path.


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenDocument:
    """A file: `file_path` distinguishes equal names, and `folder` is the folder's name.

    A `doc_id` identifies the document across its editions. The same text for another `audience` is
    another document.
    """

    name: str
    title: str
    data: bytes
    kind: DocumentType
    charset: str | None = None
    file_path: str | None = None
    folder: str = ""
    doc_id: str | None = None
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedDocument:
    """The result for one file: its snippets have the indexes from `first` on."""

    name: str
    universe_id: str
    source_id: str
    doc_id: str
    first: int
    snippets: int
    added: int


async def import_document(
    canon: Canon,
    caller: Caller,
    given: GivenDocument,
    *,
    space: SpaceId | None = None,
    universe: str = "",
    source_type: SourceType,
    level: CanonLevel,
) -> ImportedDocument:
    """Ingest the document into its source, which is created if it is missing.

    The source is the one with the given id, else one with the same text, else the source of the
    file's earlier edition at the same path. The document is read before anything is written: to the
    existing `space`, else to the `universe` of that name, which is created if missing.

    Raises:
        NotFound: `universe.unknown`.
        CanonryError: as its steps; run it again to continue.
    """
    if space is not None:
        await require_universe(canon, caller, space)
    parts = await canon.reader.read_parts(given.data, given.kind, charset=given.charset)
    excerpts = await excerpts_of(canon, parts)
    if space is None:
        description = f"The world of {universe}, as its documents tell it."
        space = await universe_named(canon, caller, universe, description=description)
    sources = every_item(partial(canon.state.sources, space))
    found = [each async for each in sources if each.source_type is source_type]
    known = [each for each in found if each.audience == given.audience]
    making = _source_step(caller, given, excerpts, source_type)
    while made := await drafts_made_before(canon, making, space, SourceDraft):
        now = await canon.space_scope(space).find_item(made[0].id)
        if not isinstance(now, Tombstone):
            break
        making = derive_step(making, f"after {now.position}")  # recorded before, and withdrawn
    (source,) = made or (await _source_among(canon, known, given, excerpts),)
    if source is None:
        new = NewSource(
            space=space,
            doc_id=_free_id(given, found if given.doc_id is None else known),
            title=given.title,
            edition=None,
            origin=given.file_path,
            source_type=source_type,
            level=level,
            audience=given.audience or None,
        )
        source = first_made(await create_source(canon, making, new), SourceDraft)
    done = await ingest_excerpts(canon, caller, source, excerpts)
    return ImportedDocument(
        name=given.name,
        universe_id=space,
        source_id=source.id,
        doc_id=source.doc_id,
        first=done.first,
        snippets=done.snippets,
        added=done.added,
    )


def _source_step(
    caller: Caller, given: GivenDocument, excerpts: Sequence[Excerpt], source_type: SourceType
) -> Caller:
    """Derive the caller for the step that creates the source.

    The step is keyed by the document if it has an id or the call has no key, so that two calls at
    once create one source.
    """
    if caller.idempotency_key is not None and given.doc_id is None:
        return derive_step(caller, "source")
    named = given.doc_id or digest_of(excerpts)
    key = " ".join(("source", source_type, named, str(given.file_path), *given.audience))
    return replace(caller, idempotency_key=key, request="")


async def _source_among(
    canon: Canon, known: Sequence[Source], given: GivenDocument, excerpts: Sequence[Excerpt]
) -> SourceDraft | None:
    """Return the oldest known source of this document."""
    if given.doc_id is not None:
        return next((each for each in known if each.doc_id == given.doc_id), None)
    same = await source_holding(canon, known, excerpts)
    if same is not None:
        return same
    return next((e for e in known if given.file_path and e.origin == given.file_path), None)


def _free_id(given: GivenDocument, known: Sequence[Source]) -> str:
    """Return an unused id: the name, extended with as much of the path as is needed."""
    taken = {each.doc_id for each in known}
    longer = f"{given.folder}/{given.name}" if given.folder else given.name
    possible = [name for name in (given.doc_id, given.name, longer) if name is not None]
    numbered = (f"{longer} ({number})" for number in count(2))
    return next(each for each in chain(possible, numbered) if each not in taken)
