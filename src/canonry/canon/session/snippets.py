"""The snippets of a document, and texts that are quoted as evidence.

Quoted texts belong to one document for each audience of a space.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any, Final, TypeAlias

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, by_product_of, commit_change
from canonry.canon.session.lookup import commit_at
from canonry.canon.session.paging import every_item
from canonry.canon.session.viewpoint import narrow_canon
from canonry.language.texts.sentences import Cut, DocumentType, Excerpt, Part, cut_excerpts
from canonry.language.texts.stems import query_stems, stems_of
from canonry.log.entries import CallUndone, Made, StoredItem
from canonry.log.fold_commit import ids_of
from canonry.log.folding import item_key, snippets_key
from canonry.log.items.facts import Event, Fact, Relation, events_of_changes
from canonry.log.items.scenes import Turn
from canonry.log.items.sources import (
    QUOTES_ID,
    Snippet,
    SnippetDraft,
    Source,
    SourceDraft,
    SourceType,
)
from canonry.readmodels.passages import STANDING
from canonry.readmodels.ports.state import EventQuery, FactQuery, RelationQuery, Spaces
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.values.audience import EVERYBODY, Audience
from canonry.values.ids import (
    CommitId,
    EntityId,
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
            section=" > ".join(s for s in (title, excerpt.section) if s)[:section_max] or None,
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
    plain = quoted.text.isprintable() and quoted.text.strip()  # a line needs no decoding
    parts = (
        [Part(text=quoted.text)]
        if plain
        else await canon.reader.read_parts(quoted.text.encode(), DocumentType.PLAIN)
    )
    excerpts = tuple(cut_excerpts(parts, Cut(characters=canon.policy.limits.snippet)))
    source, section_max = _source_of(space, quoted), canon.policy.limits.name
    snippets = snippets_of(source, None, excerpts, section_max)
    known = await canon.space_scope(space).items_by_id((source.id, *(each.id for each in snippets)))
    if source.id not in known and (former := await _former_source(canon, space, quoted)):
        source, snippets = former, snippets_of(former, None, excerpts, section_max)
        known = await canon.space_scope(space).items_by_id((source.id, *(e.id for e in snippets)))
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


# Passages that only retracted items cite: evidence for them, and no answer to a question.


Citing: TypeAlias = Fact | Event | Relation
CitedBy: TypeAlias = Mapping[str, Sequence[Citing]]
"""The items that cite a piece of evidence, by its id."""


async def evidence_of_retracted(
    canon: Canon, spaces: Spaces, named: frozenset[EntityId]
) -> CitedBy:
    """Return the retracted items that cite each piece of evidence.

    Retracted relations are looked for among those of the entities in `named`, and the newest ones.
    """
    if canon.now is not None:
        canon = narrow_canon(canon.now, replace(canon.viewpoint, at=None, scene=None))
    level = CanonLevel.RETCONNED
    found = await _find_statements(canon, spaces, frozenset(), named, level)
    newest = RelationQuery(spaces=spaces, newest_first=True, limit=PAGE_MAX)
    known = {one.id for one in found}
    found += [one for one in (await canon.state.relations(newest)).items if one.id not in known]
    by: defaultdict[str, list[Citing]] = defaultdict(list)
    for one in (each for each in found if each.level is level):
        for cited in one.evidence:
            by[cited.ref].append(one)
    return by


async def retracted_passages(
    canon: Canon, by: CitedBy, ids: Collection[str]
) -> Mapping[str, Turn | Snippet]:
    """Return those of these turns and passages that only retracted items cite.

    A document or scene that is cited as a whole counts for the passages with all words of the item.
    Passages that were recorded before an undone call count as if it had not been made.
    """
    if not by:
        return {}
    spaces = frozenset(one.space for cited in by.values() for one in cited)
    if canon.now is not None:
        canon = narrow_canon(canon.now, replace(canon.viewpoint, at=None, scene=None))
    gone: dict[str, Turn | Snippet] = {}
    for passage in (await canon.query_scope(spaces).items_by_id(ids)).values():
        if not isinstance(passage, (Turn, Snippet)):
            continue
        whole = by.get(passage.scene_id if isinstance(passage, Turn) else passage.source_id, ())
        citing = [
            *by.get(passage.id, ()),
            *[e for e in whole if await share_of_words(canon, passage, e) == 1],
        ]
        before = [one for one in citing if one.position != passage.position]
        changes = [(one.id, await commit_at(canon, one.space, one.changed_at)) for one in before]
        undone = [i for i, each in changes if each and isinstance(each.entries[0], CallUndone)]
        left = [one for one in citing if one.id not in undone]
        if left and not await is_cited(canon, passage, left):
            gone[passage.id] = passage
    return gone


async def _find_statements(
    canon: Canon,
    spaces: Spaces,
    entities: frozenset[EntityId],
    ends: frozenset[EntityId],
    level: CanonLevel | None = None,
) -> list[Citing]:
    """Return facts and events of these entities, all if there are none, and relations of `ends`."""
    state, most = canon.state, PAGE_MAX
    facts = FactQuery(spaces=spaces, entities=entities, level=level, limit=most)
    events = EventQuery(spaces=spaces, entities=entities, level=level, limit=most)
    found: list[Citing] = [*(await state.facts(facts)).items, *(await state.events(events)).items]
    if ends:
        relations = RelationQuery(spaces=spaces, entities=ends, limit=most)
        found += (await state.relations(relations)).items
    return found


async def share_of_words(canon: Canon, passage: Turn | Snippet, item: Citing) -> float:
    """Return the share of the significant words of an item, or of its names, in a passage."""
    stems = {*stems_of(await _text_of(canon, item))}
    return len(stems & {*stems_of(passage.text)}) / (len(stems) or 1)


async def _text_of(canon: Canon, item: Citing) -> str:
    if isinstance(item, Relation):
        ends = await canon.space_scope(item.space).root_entities((item.from_id, item.to_id))
        return " ".join(each.name for each in ends.values())
    return getattr(item, "statement", "") or getattr(item, "title", "")


async def shares_most_words(canon: Canon, passage: Turn | Snippet, item: Citing) -> bool:
    """Return whether an item and a passage share at least half of the words of each."""
    said, reported = ({*query_stems(e)} for e in (await _text_of(canon, item), passage.text))
    return 2 * len(said & reported) >= max(len(said), len(reported), 1)


async def is_cited(canon: Canon, passage: Turn | Snippet, ignored: Sequence[Citing]) -> bool:
    """Return whether a standing item cites the passage, besides these items.

    Looked at are the items of the same entities, and those that were made with these. An item that
    corrects one of these has its evidence, which counts if it has as many words of the right item.
    """
    ids, entities = set[str](), set[EntityId]()
    for one in ignored:
        commit = await commit_at(canon, one.space, one.position)
        ids.update(i for entry in (commit.entries if commit else ()) for i in ids_of(entry)[:1])
        entities.update((one.from_id, one.to_id) if isinstance(one, Relation) else one.involved)
    spaces, about = frozenset(one.space for one in ignored), frozenset(entities)
    near: list[Any] = [*(await canon.query_scope(spaces).items_by_id(ids)).values()]
    near += await _find_statements(canon, spaces, about, about)
    container_id = passage.scene_id if isinstance(passage, Turn) else passage.source_id
    known: set[str] = {one.id for one in ignored}
    known |= {i for i, event in events_of_changes((*near, *ignored)).items() if event in known}
    for one in near:
        if not isinstance(one, Citing) or one.id in known or one.level not in STANDING:
            continue
        wrong = [each for each in ignored if getattr(each, "replaced_by", None) == one.id]
        shares = [await share_of_words(canon, passage, each) for each in (one, *wrong)]
        cited = {each.ref for each in one.evidence}
        whole = container_id in cited and await shares_most_words(canon, passage, one)
        if (passage.id in cited or whole) and shares[0] >= max(shares):
            return True
    return False
