"""Told by a source: what it said, with the files that came within it, and what stands beside."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from canonry.canon.session.account import Account
from canonry.canon.session.canon import Canon
from canonry.canon.session.every_item import every_item, every_match
from canonry.log.items.entities import Entity
from canonry.log.items.relations import Relation
from canonry.log.items.runs import InterpretationRun
from canonry.log.items.sources import Snippet, Source
from canonry.readmodels.ports.state import RelationQuery
from canonry.records.usecases.derived_edges import FIELD
from canonry.values.ids import EntityId, SourceId
from canonry.values.observations import Observation
from canonry.values.provenance import EvidenceKind

_TOGETHER: Final = 200
"""So many entities are asked about at once."""
_PART_OF: Final = "part_of"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldBySource:
    """The source with those within it, what they said, of whom, and what others said of these.

    `standing` has, for each entity, what others said of it, oldest first; `edges` are all of them.
    """

    sources: tuple[SourceId, ...]
    runs: Sequence[InterpretationRun]
    snippets: Sequence[Snippet]
    said: Sequence[Observation]
    entities: Mapping[EntityId, Entity]
    standing: Mapping[EntityId, Sequence[Observation]]
    edges: Sequence[Relation]

    def only_here(self, edge: Relation) -> bool:
        """Whether nobody but these sources said that the edge is there."""
        words = [*edge.evidence, *(cited for each in edge.again for cited in each.evidence)]
        cited = {each.ref for each in words if each.kind is EvidenceKind.SOURCE}
        asked = any(not each.evidence for each in edge.again)
        return bool(cited) and not asked and cited <= set(self.sources)


async def told_by(canon: Canon, account: Account, source: Source) -> ToldBySource:
    """Everything that the source said, and those within it that came with no other."""
    sources, said = [source.id], [each async for each in _said_by(canon, account, source.id)]
    async for member in _within(canon, account, source):
        theirs = [each async for each in _said_by(canon, account, member.id)]
        if not await _brought_by_others(canon, account, theirs, (*sources, member.id)):
            sources.append(member.id)
            said += theirs
    about = tuple(dict.fromkeys(each.entity_id for each in said))
    found = await canon.within(account.space).things(about)
    entities = {each.id: each for each in found.values() if isinstance(each, Entity)}
    gone, standing = {each.id for each in said}, dict[EntityId, list[Observation]]()
    for some in in_batches(entities):
        async for seen in every_item(partial(canon.state.observations_newest, some)):
            if seen.id not in gone:
                standing.setdefault(seen.entity_id, []).append(seen)
    runs = [run for each in sources async for run in every_item(partial(canon.state.runs, each))]
    texts = [s for i in sources async for s in every_item(partial(canon.documents.snippets, i))]
    return ToldBySource(
        snippets=texts,
        sources=tuple(sources),
        runs=[each for each in runs if each.space == account.space],
        said=said,
        entities=entities,
        standing={i: theirs[::-1] for i, theirs in standing.items()},
        edges=[each async for each in edges_around(canon, account, entities)],
    )


async def edges_around(
    canon: Canon, account: Account, ids: Iterable[EntityId]
) -> AsyncIterator[Relation]:
    """Every edge from or to these entities, once, the oldest of each batch first."""
    seen = set[str]()
    for some in in_batches(ids):
        query = RelationQuery(spaces=frozenset((account.space,)), entities=frozenset(some))
        async for edge in every_match(canon.state.relations, query):
            if edge.id not in seen:
                seen.add(edge.id)
                yield edge


def in_batches(ids: Iterable[EntityId]) -> Iterator[tuple[EntityId, ...]]:
    """The ids, as many together as are asked about at once."""
    every = tuple(ids)
    for start in range(0, len(every), _TOGETHER):
        yield every[start : start + _TOGETHER]


def sources_of(edge: Relation) -> Iterator[SourceId]:
    """The sources that said an edge."""
    for each in edge.evidence:
        if each.kind is EvidenceKind.SOURCE:
            yield SourceId(each.ref)


async def _said_by(
    canon: Canon, account: Account, source_id: SourceId
) -> AsyncIterator[Observation]:
    async for each in every_item(partial(canon.state.observations_from, source_id)):
        if each.space == account.space:
            yield each


async def _within(canon: Canon, account: Account, whole: Source) -> AsyncIterator[Source]:
    """The files within a file, however deep; those of records there are none of."""
    inside = {whole.id} if whole.files else set[SourceId]()
    if not inside:
        return
    everything = partial(canon.state.sources, account.space)
    parts = [e async for e in every_item(everything) if _PART_OF in e.properties]
    while more := [e for e in parts if e.properties[_PART_OF] in inside and e.id not in inside]:
        for each in more:
            inside.add(each.id)
            yield each


async def _brought_by_others(
    canon: Canon, account: Account, said: Sequence[Observation], sources: Sequence[SourceId]
) -> bool:
    """Whether a record of another source says that this came with it as well."""
    about = dict.fromkeys(each.entity_id for each in said)
    async for edge in edges_around(canon, account, about):
        others = set(sources_of(edge)).difference(sources)
        if others and FIELD not in edge.properties and edge.to_id in about:
            return True
    return False
