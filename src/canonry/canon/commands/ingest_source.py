"""Ingest a source: read its document, cut it into snippets, and keep those that are not there yet.

A snippet's id follows from its source, the document's text and its place, so that the same document
adds nothing, whoever brings it and in which file; an interrupted ingestion goes on when repeated.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from canonry.canon.session.caller import Caller, step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.canon.session.lookup import require
from canonry.language.texts.excerpts import Cut, DocumentType, Excerpt, Part, cut
from canonry.log.entries import Made, Thing
from canonry.log.items.sources import Snippet, SnippetDraft, Source, SourceDraft
from canonry.log.keys import snippets_key, thing_key
from canonry.values.errors import InvalidInput
from canonry.values.ids import CommitId, NewId, SnippetId, derived_id, keyed_commit_id
from canonry.values.json_values import encode_json

SNIPPETS_PER_COMMIT: Final = 250
SNIPPETS_MAX: Final = 20_000
"""The most snippets of one document."""

_TITLED: Final = " > "
"""Stands between a document's title and a section's, as between headings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest:
    """A document of a source; `title` tells it from the source's other documents."""

    source_id: str
    data: bytes
    kind: DocumentType
    title: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What became of a document: its snippets have the indexes from `first` on."""

    source: SourceDraft
    first: int
    snippets: int
    added: int


async def ingest_source(canon: Canon, caller: Caller, request: IngestRequest) -> Ingested:
    """Keep the document's snippets, at the end of those that the source has already.

    Raises:
        NotFound: `source.unknown`.
        InvalidInput: as the reader of documents says, or `document.too-large`.
        Unavailable: `document.too-slow`, or as commits say; repeat the request to go on.
    """
    source = await require(canon, caller, Source, request.source_id)
    parts = await canon.reader.read(request.data, request.kind)
    excerpts = await excerpts_of(canon, parts)
    return await ingest_excerpts(canon, caller, source, excerpts, title=request.title)


async def excerpts_of(canon: Canon, parts: Sequence[Part]) -> Sequence[Excerpt]:
    """The excerpts of a document that was read.

    Raises:
        InvalidInput: `document.too-large`.
    """
    how = Cut(characters=canon.policy.limits.snippet)
    # A book takes a second, in which others want to be served.
    excerpts = await asyncio.to_thread(lambda: tuple(cut(parts, how)))
    if len(excerpts) > SNIPPETS_MAX:
        message = f"the document makes more than {SNIPPETS_MAX} snippets; bring it in pieces"
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
            await self.caller.progress(done, total, "snippets kept")
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

        async def prepare(new_id: NewId) -> Change:
            del new_id  # the ids follow from the document
            source = await require(self.canon, self.caller, Source, self.source.id)
            known = await self.canon.within(self.source.space).things(each.id for each in batch)
            reads = {thing_key(source.id), *(thing_key(each.id) for each in batch)}
            self.first = settled if settled is not None else _first(batch, known)
            if self.first is None:
                self.first = await self._next_index()
                reads.add(snippets_key(source.id))
            missing = (each for each in batch if each.id not in known)
            entries = tuple(
                Made(thing=replace(each, index=self.first + each.index)) for each in missing
            )
            return Change(entries=entries, reads=frozenset(reads))

        receipt = await commit_change(self.canon, caller, self.source.space, prepare)
        return len(receipt.made(SnippetDraft))

    async def _next_index(self) -> int:
        """The index past all that the source has."""
        source_id = self.source.id
        total = (await self.canon.documents.snippets(source_id, limit=1, offset=0)).total
        last = await self.canon.documents.snippets(source_id, limit=1, offset=max(0, total - 1))
        return last.items[-1].index + 1 if last.items else 0


def _first(batch: Sequence[SnippetDraft], known: Mapping[str, Thing]) -> int | None:
    """Where the document begins in the source, if one of its snippets is there; not an erased."""
    for each in batch:
        found = known.get(each.id)
        if isinstance(found, Snippet):
            return found.index - each.index
    return None
