"""The snippets of a document, and texts that are quoted as evidence.

Quoted texts belong to one document for each audience of a space.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, by_product_of, commit_change
from canonry.canon.session.paging import every_item
from canonry.language.texts.sentences import Cut, DocumentType, Excerpt, cut_excerpts
from canonry.log.entries import Made, StoredItem
from canonry.log.folding import item_key, snippets_key
from canonry.log.items.sources import (
    QUOTES_ID,
    Snippet,
    SnippetDraft,
    Source,
    SourceDraft,
    SourceType,
)
from canonry.values.audience import EVERYBODY, Audience
from canonry.values.ids import (
    CommitId,
    NewId,
    SnippetId,
    SourceId,
    SpaceId,
    content_id,
    derived_id,
    keyed_commit_id,
)
from canonry.values.json_values import encode_json
from canonry.values.provenance import CanonLevel, Evidence, EvidenceKind

_TITLED: Final = " > "
"""The separator between a document's title and a section's, as between headings."""


def digest_of(excerpts: Sequence[Excerpt]) -> str:
    """Return a digest of a document's text, whatever its file."""
    return sha256(encode_json([excerpt.text for excerpt in excerpts])).hexdigest()


def id_root_of(source: SourceDraft, digest: str) -> CommitId:
    """Return the id from which the ids of a document's snippets derive."""
    return keyed_commit_id(source.space, source.id, "snippets", digest)


def snippets_of(
    source: SourceDraft, title: str | None, excerpts: Sequence[Excerpt], section_max: int
) -> tuple[SnippetDraft, ...]:
    """Return the snippets with their indexes in the document, before those in the source."""
    root = id_root_of(source, digest_of(excerpts))
    return tuple(
        SnippetDraft(
            id=SnippetId(derived_id(root, str(index))),
            space=source.space,
            source_id=source.id,
            text=excerpt.text,
            page=excerpt.page,
            section=_TITLED.join(s for s in (title, excerpt.section) if s)[:section_max] or None,
            index=index,
        )
        for index, excerpt in enumerate(excerpts)
    )


async def next_index(canon: Canon, source: SourceDraft) -> int:
    """Return the index after the last snippet of a source."""
    ask = partial(canon.documents.snippets, source.id, limit=1)
    first = await ask(offset=0)
    last = (await ask(offset=first.total - 1) if first.total > 1 else first).items
    return last[-1].index + 1 if last else 0


def known_index(batch: Sequence[SnippetDraft], known: Mapping[str, StoredItem]) -> int | None:
    """Return the document's first index if one of its snippets exists and is not erased."""
    for each in batch:
        found = known.get(each.id)
        if isinstance(found, Snippet):
            return found.index - each.index
    return None


SAID_TITLE: Final = "What was said"
"""The title of the document that keeps quoted texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotedText:
    """A quoted text, the title of the document that keeps it, and its readers."""

    text: str
    title: str
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptQuotes:
    """The passages of a quoted text, the items to write, and the stored items and keys read."""

    evidence: tuple[Evidence, ...] = ()
    known: tuple[StoredItem, ...] = ()
    made: tuple[SourceDraft | SnippetDraft, ...] = ()
    reads: frozenset[str] = frozenset()


async def plan_quotes(canon: Canon, space: SpaceId, quoted: QuotedText) -> KeptQuotes:
    """Return the passages of a quoted text; passages that exist are not made again."""
    parts = await canon.reader.read_parts(quoted.text.encode(), DocumentType.PLAIN)
    excerpts = tuple(cut_excerpts(parts, Cut(characters=canon.policy.limits.snippet)))
    source, section_max = _source_of(space, quoted), canon.policy.limits.name
    snippets = snippets_of(source, None, excerpts, section_max)
    known = await canon.space_scope(space).items_by_id((source.id, *(each.id for each in snippets)))
    if source.id not in known and (former := await _former_source(canon, space, quoted)):
        source, snippets = former, snippets_of(former, None, excerpts, section_max)
        known = await canon.space_scope(space).items_by_id(
            (source.id, *(each.id for each in snippets))
        )
    reads = set(map(item_key, (source.id, *(each.id for each in snippets))))
    first = known_index(snippets, known)
    if first is None:
        first = await next_index(canon, source) if source.id in known else 0
        reads.add(snippets_key(source.id))
    made = [replace(e, index=first + e.index) for e in snippets if e.id not in known]
    cited = [one.id for one in snippets if isinstance(known.get(one.id, one), SnippetDraft)]
    return KeptQuotes(
        evidence=tuple(Evidence(kind=EvidenceKind.SNIPPET, ref=one) for one in cited),
        known=tuple(known.values()),
        made=(*(() if source.id in known else (source,)), *made),
        reads=frozenset(reads),
    )


async def keep_quotes(
    canon: Canon, caller: Caller, space: SpaceId, quoted: QuotedText
) -> Sequence[Evidence]:
    """Record a quoted text and return its passages as evidence.

    Raises:
        CanonryError: as a commit.
    """

    async def prepare_change(_: NewId) -> Change[Sequence[Evidence]]:
        kept = await plan_quotes(canon, space, quoted)
        entries = tuple(Made(thing=one) for one in kept.made)
        return Change(entries=entries, reads=kept.reads, found=kept.evidence)

    return await by_product_of(
        await commit_change(canon, caller, space, prepare_change), prepare_change
    )


def _source_of(space: SpaceId, quoted: QuotedText) -> SourceDraft:
    """Return the document of quoted texts for these readers."""
    return SourceDraft(
        id=SourceId(content_id(space, QUOTES_ID, *quoted.audience)),
        space=space,
        doc_id=QUOTES_ID,
        title=quoted.title,
        edition=None,
        origin=None,
        source_type=SourceType.DOCUMENT,
        level=CanonLevel.CANON,
        audience=quoted.audience,
    )


async def _former_source(canon: Canon, space: SpaceId, quoted: QuotedText) -> Source | None:
    """Return the document of quoted texts of an earlier version, which chose another id."""
    sources = every_item(partial(canon.state.sources, space))
    same = [e async for e in sources if (e.doc_id, e.audience) == (QUOTES_ID, quoted.audience)]
    return same[0] if same else None
