"""Passages that only retracted items cite: evidence for them, and no answer to a question."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import commit_at
from canonry.canon.session.viewpoint import narrow_canon
from canonry.language.texts.stems import query_stems, stems_of
from canonry.log.entries import CallUndone
from canonry.log.fold_commit import ids_of
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.scenes import Turn
from canonry.log.items.sources import Snippet
from canonry.readmodels.passages import STANDING
from canonry.readmodels.ports.state import EventQuery, FactQuery, RelationQuery, Spaces
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.values.ids import EntityId
from canonry.values.provenance import CanonLevel

Citing: TypeAlias = Fact | Event | Relation
CitedBy: TypeAlias = Mapping[str, Sequence[Citing]]
"""The items that cite a piece of evidence, by its id."""
_WORDS: Final = (Turn, Snippet)


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
        if not isinstance(passage, _WORDS):
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
    known = {one.id for one in ignored}
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
