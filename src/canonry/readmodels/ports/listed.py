"""What follows from the lists alone: a store says how it turns a page, and every question is one.

Which list, facets and filter a question means is said in `selections`; stores that keep such lists
differ in how they read one.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from typing_extensions import override

from canonry.language.texts.sentences import plain_statement
from canonry.log.folding import statement_key
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Memory, Scene, Story
from canonry.log.items.sources import InterpretationRun, Snippet, Source
from canonry.log.schemas.schemas import RegisteredSchema
from canonry.readmodels.listing import List
from canonry.readmodels.ports import selections
from canonry.readmodels.ports.documents import Documents, MemoryQuery, ProposalQuery, SceneQuery
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.selections import Selection
from canonry.readmodels.ports.state import (
    STATING_MAX,
    EntityQuery,
    EventQuery,
    FactQuery,
    RelationQuery,
    Spaces,
    State,
)
from canonry.values.ids import SourceId, Space, SpaceId, SpaceKind
from canonry.values.observations import Observation


class ListedState(State):
    """The questions about the graph that are pages of lists."""

    @abstractmethod
    async def _page(self, selection: Selection, limit: int, offset: int) -> Page[Any]: ...

    @abstractmethod
    async def _under(
        self, listed: List, space: SpaceId, keys: Mapping[str, int], *, newest: bool = False
    ) -> Sequence[Fact]:
        """The facts under keys, of each so many as it says, the first or the newest."""

    @override
    async def entities(self, query: EntityQuery) -> Page[Entity]:
        return await self._page(selections.entities_of(query), query.limit, query.offset)

    @override
    async def spaces(
        self, *, kind: SpaceKind | None, parent: SpaceId | None, limit: int, offset: int
    ) -> Page[Space]:
        return await self._page(selections.spaces_in(kind, parent), limit, offset)

    @override
    async def observations_from(
        self, source_id: SourceId, *, limit: int, offset: int
    ) -> Page[Observation]:
        return await self._page(selections.owned(List.OBSERVATIONS_FROM, source_id), limit, offset)

    @override
    async def schemas(
        self, spaces: Spaces, entity_type: str | None, *, limit: int, offset: int
    ) -> Page[RegisteredSchema]:
        return await self._page(selections.schemas_of(spaces, entity_type), limit, offset)

    @override
    async def runs(
        self, source_id: SourceId, *, limit: int, offset: int
    ) -> Page[InterpretationRun]:
        return await self._page(selections.owned(List.RUNS, source_id), limit, offset)

    @override
    async def runs_newest(
        self, spaces: Spaces, *, limit: int, offset: int
    ) -> Page[InterpretationRun]:
        selection = selections.all_of(List.RUNS, spaces, newest_first=True)
        return await self._page(selection, limit, offset)

    @override
    async def facts(self, query: FactQuery) -> Page[Fact]:
        return await self._page(selections.facts_of(query), query.limit, query.offset)

    @override
    async def facts_stating(self, space: SpaceId, statements: AbstractSet[str]) -> Sequence[Fact]:
        wanted = frozenset(map(plain_statement, statements))
        keys = dict.fromkeys(map(statement_key, wanted), STATING_MAX)
        found = await self._under(List.FACTS_STATING, space, keys)
        return [fact for fact in found if plain_statement(fact.statement) in wanted]

    @override
    async def facts_framed(self, space: SpaceId, keys: Mapping[str, int]) -> Sequence[Fact]:
        return await self._under(List.FACTS_FRAMED, space, keys, newest=True)

    @override
    async def events(self, query: EventQuery) -> Page[Event]:
        return await self._page(selections.events_of(query), query.limit, query.offset)

    @override
    async def relations(self, query: RelationQuery) -> Page[Relation]:
        return await self._page(selections.relations_of(query), query.limit, query.offset)

    @override
    async def axioms(self, space: SpaceId, *, limit: int, offset: int) -> Page[Axiom]:
        return await self._of(List.AXIOMS, space, limit, offset)

    @override
    async def sources(self, space: SpaceId, *, limit: int, offset: int) -> Page[Source]:
        return await self._of(List.SOURCES, space, limit, offset)

    @override
    async def stories(self, space: SpaceId, *, limit: int, offset: int) -> Page[Story]:
        return await self._of(List.STORIES, space, limit, offset)

    async def _of(self, listed: List, space: SpaceId, limit: int, offset: int) -> Page[Any]:
        return await self._page(selections.all_of(listed, frozenset((space,))), limit, offset)


class ListedDocuments(Documents):
    """The questions about what was played and read that are pages of lists."""

    @abstractmethod
    async def _page(self, selection: Selection, limit: int, offset: int) -> Page[Any]: ...

    @override
    async def scenes(self, query: SceneQuery) -> Page[Scene]:
        return await self._page(selections.scenes_of(query), query.limit, query.offset)

    @override
    async def proposals(self, query: ProposalQuery) -> Page[Proposal]:
        return await self._page(selections.proposals_of(query), query.limit, query.offset)

    @override
    async def memories(self, query: MemoryQuery) -> Page[Memory]:
        return await self._page(selections.memories_of(query), query.limit, query.offset)

    @override
    async def snippets(self, source_id: SourceId, *, limit: int, offset: int) -> Page[Snippet]:
        return await self._page(selections.owned(List.SNIPPETS, source_id), limit, offset)

    @override
    async def open_scenes(self, space: SpaceId | None, *, limit: int) -> Sequence[Scene]:
        spaces = None if space is None else frozenset((space,))
        return (await self._page(selections.all_of(List.SCENES_OPEN, spaces), limit, 0)).items
