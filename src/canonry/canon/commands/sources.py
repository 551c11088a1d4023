"""Commands on sources: create them, ingest texts and import documents."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import chain, count
from typing import Final

from canonry.canon.commands.universes import universe_named
from canonry.canon.session.caller import Caller, step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    Receipt,
    commit_change,
    made_before,
    the_made,
)
from canonry.canon.session.lookup import require, require_universe
from canonry.canon.session.paging import every_item, first_items
from canonry.language.texts.sentences import Cut, DocumentType, Excerpt, Part, cut
from canonry.log.entries import Made, Thing
from canonry.log.folding import snippets_key, thing_key
from canonry.log.items.sources import Snippet, SnippetDraft, Source, SourceDraft, SourceType
from canonry.values.audience import EVERYBODY, Audience
from canonry.values.errors import InvalidInput
from canonry.values.ids import (
    CommitId,
    NewId,
    SnippetId,
    SourceId,
    SpaceId,
    derived_id,
    keyed_commit_id,
)
from canonry.values.json_values import encode_json
from canonry.values.provenance import CanonLevel

PAGES_MAX: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSource:
    """A document by its title and edition; `doc_id` is the caller's own name for it."""

    space: SpaceId
    doc_id: str
    title: str
    edition: str | None
    origin: str | None
    source_type: SourceType
    level: CanonLevel
    audience: Audience | None = None


async def create_source(canon: Canon, caller: Caller, new: NewSource) -> Receipt:
    """Register the source; that the caller's name for it is taken earns a warning.

    Raises:
        NotFound: `universe.unknown`.
    """
    await require_universe(canon, caller, new.space)

    async def prepare(new_id: NewId) -> Change:
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
        told = (f"Sources with this doc_id already exist: {', '.join(same)}.",) if same else ()
        entries = (Made(thing=source),)
        return Change(entries=entries, reads=frozenset(), warnings=told, audience=new.audience)

    return await commit_change(canon, caller, new.space, prepare)


# Ingest a source: read its document, cut it into snippets, and keep those that are not there yet.
#
# A snippet's id follows from its source, the document's text and its place, so that the same
# document adds nothing, whoever brings it and in which file; an interrupted ingestion goes on when
# repeated.

SNIPPETS_PER_COMMIT: Final = 250
SNIPPETS_MAX: Final = 20_000
"""The most snippets of one document."""

_TITLED: Final = " > "
"""Stands between a document's title and a section's, as between headings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What became of a document: its snippets have the indexes from `first` on."""

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
    """Keep the document's snippets, at the end of those that the source has already.

    `title` tells the document from the source's others.

    Raises:
        NotFound: `source.unknown`.
        InvalidInput: as the reader of documents says, or `document.too-large`.
        Unavailable: `document.too-slow`, or as commits say; repeat the request to go on.
    """
    source = await require(canon, caller, Source, source_id)
    excerpts = await excerpts_of(canon, await canon.reader.read(data, kind))
    return await ingest_excerpts(canon, caller, source, excerpts, title=title)


async def excerpts_of(canon: Canon, parts: Sequence[Part]) -> Sequence[Excerpt]:
    """The excerpts of a document that was read.

    Raises:
        InvalidInput: `document.too-large`.
    """
    how = Cut(characters=canon.policy.limits.snippet)
    # A book takes a second, in which others want to be served.
    excerpts = await asyncio.to_thread(lambda: tuple(cut(parts, how)))
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
    """The same as `ingest_source` for a document that was cut already."""
    ingestion = _Ingestion(
        canon=canon,
        caller=caller,
        source=source,
        snippets=_snippets(source, title, excerpts, canon.policy.limits.name),
    )
    added = await ingestion.run()
    return Ingested(source=source, first=ingestion.first or 0, snippets=len(excerpts), added=added)


async def source_holding(
    canon: Canon, sources: Sequence[Source], excerpts: Sequence[Excerpt]
) -> Source | None:
    """The first of `sources` that has this very document, whole or as far as it was ingested."""
    digest = digest_of(excerpts)
    last = str(len(excerpts) - 1)  # what is ingested first
    named = {derived_id(_root(source, digest), last): source for source in sources}
    known = await canon.within(*{each.space for each in sources}).things(named)
    return next((source for snippet_id, source in named.items() if snippet_id in known), None)


def digest_of(excerpts: Sequence[Excerpt]) -> str:
    """What tells a document from all others, however its text came."""
    return sha256(encode_json([excerpt.text for excerpt in excerpts])).hexdigest()


def _root(source: SourceDraft, digest: str) -> CommitId:
    return keyed_commit_id(source.space, source.id, "snippets", digest)


def _snippets(
    source: SourceDraft, title: str | None, excerpts: Sequence[Excerpt], section_max: int
) -> tuple[SnippetDraft, ...]:
    """The snippets with their places in the document, not yet in the source."""
    root = _root(source, digest_of(excerpts))
    return tuple(
        SnippetDraft(
            id=SnippetId(derived_id(root, str(place))),
            space=source.space,
            source_id=source.id,
            text=excerpt.text,
            page=excerpt.page,
            section=_TITLED.join(s for s in (title, excerpt.section) if s)[:section_max] or None,
            index=place,
        )
        for place, excerpt in enumerate(excerpts)
    )


@dataclass(slots=True, kw_only=True)
class _Ingestion:
    """One document on its way; `first` is its place in the source, once that is known.

    The last batch goes first: with the highest index in the source, nobody else takes the ones
    below it.
    """

    canon: Canon
    caller: Caller
    source: SourceDraft
    snippets: tuple[SnippetDraft, ...]
    first: int | None = None

    async def run(self) -> int:
        """How many snippets were added."""
        total, done, added = len(self.snippets), 0, 0
        await self._look()
        for number, batch in reversed(tuple(enumerate(self._batches()))):
            added += await self._keep(batch, step(self.caller, f"snippets {number}"))
            done += len(batch)
            await self.caller.progress(done, total, "snippets stored")
        return added

    def _batches(self) -> Sequence[Sequence[SnippetDraft]]:
        starts = range(0, len(self.snippets), SNIPPETS_PER_COMMIT)
        return [self.snippets[start : start + SNIPPETS_PER_COMMIT] for start in starts]

    async def _look(self) -> None:
        """Find the place that an earlier run has given to the document."""
        for batch in self._batches():
            if self.first is None:
                known = await self.canon.within(self.source.space).things(each.id for each in batch)
                self.first = _first(batch, known)

    async def _keep(self, batch: Sequence[SnippetDraft], caller: Caller) -> int:
        settled = self.first

        async def prepare(_: NewId) -> Change:
            source = await require(self.canon, self.caller, Source, self.source.id)
            known = await self.canon.within(self.source.space).things(each.id for each in batch)
            reads = {thing_key(source.id), *(thing_key(each.id) for each in batch)}
            self.first = settled if settled is not None else _first(batch, known)
            if self.first is None:
                ask = partial(self.canon.documents.snippets, source.id, limit=1)
                total = (await ask(offset=0)).total
                last = (await ask(offset=max(0, total - 1))).items
                self.first = last[-1].index + 1 if last else 0
                reads.add(snippets_key(source.id))
            missing = (each for each in batch if each.id not in known)
            entries = tuple(
                Made(thing=replace(each, index=self.first + each.index)) for each in missing
            )
            return Change(entries=entries, reads=frozenset(reads))

        receipt = await commit_change(self.canon, caller, self.source.space, prepare)
        return len(receipt.made(SnippetDraft))


def _first(batch: Sequence[SnippetDraft], known: Mapping[str, Thing]) -> int | None:
    """Where the document begins in the source, if one of its snippets is there; not an erased."""
    for each in batch:
        found = known.get(each.id)
        if isinstance(found, Snippet):
            return found.index - each.index
    return None


# Import documents: each a source of a universe, and its text as snippets.
#
# A name is no identity: every second folder has a `rules.md`. A document is known by the id that it
# is given, else by its content, else by where it lies.


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
    """Ingest the document into its source, which is made where it is missing.

    That is the source with the id that was given; or the one that has the very same text already;
    or the one that the file's earlier edition went into, if it lies where that lay. The document
    is read before anything is written: to a `space` that is there, or else to the `universe` of
    that name, which is opened where it is missing.

    Raises:
        NotFound: `universe.unknown`.
        CanonryError: as the steps that it consists of; run it again to go on.
    """
    if space is not None:
        await require_universe(canon, caller, space)
    parts = await canon.reader.read(given.data, given.kind, charset=given.charset)
    excerpts = await excerpts_of(canon, parts)
    if space is None:
        description = f"The world of {universe}, as its documents tell it."
        space = await universe_named(canon, caller, universe, description=description)
    sources = every_item(partial(canon.state.sources, space))
    found = [each async for each in sources if each.source_type is source_type]
    known = [each for each in found if each.audience == given.audience]
    making = _making(caller, given, excerpts, source_type)
    (source,) = await made_before(canon, making, space, SourceDraft) or (
        await _source_among(canon, known, given, excerpts),
    )
    if source is None:
        new = NewSource(
            space=space,
            doc_id=_free_id(given, found if given.doc_id is None else known),
            title=given.title,
            edition=None,
            origin=given.place,
            source_type=source_type,
            level=level,
            audience=given.audience or None,
        )
        source = the_made(await create_source(canon, making, new), SourceDraft)
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


def _making(
    caller: Caller, given: GivenDocument, excerpts: Sequence[Excerpt], source_type: SourceType
) -> Caller:
    """The caller for the step that makes the source.

    A document with an id of its own, and one that is told without a key, are known by themselves,
    so that two calls at once make one source of it, whatever else each of them asks for.
    """
    if caller.idempotency_key is not None and given.doc_id is None:
        return step(caller, "source")
    named = given.doc_id or digest_of(excerpts)
    key = " ".join(("source", source_type, named, str(given.place), *given.audience))
    return replace(caller, idempotency_key=key, request="")


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
    longer = f"{given.folder}/{given.name}" if given.folder else given.name
    possible = [name for name in (given.doc_id, given.name, longer) if name is not None]
    numbered = (f"{longer} ({number})" for number in count(2))
    return next(each for each in chain(possible, numbered) if each not in taken)
