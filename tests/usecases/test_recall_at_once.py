"""What erasing, retconning, merging and renaming change is seen by the next search already.

No indexer runs in between, so that the index says what was true before.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from canonry.adapters.vectors import FolderVectors
from canonry.domain.ids import EntityId, FactId
from canonry.domain.log.entries import EntitiesMerged, Erased, FactRetconned
from canonry.domain.recall.passages import Collection
from canonry.domain.things.scenes import Speaker
from canonry.domain.vocabularies.narrative_fields import NAME
from canonry.ports.views.vectors import VectorHit, VectorQuery
from canonry.testing.things import MIDDLE_EARTH, a_fact, a_turn, an_observation, ident
from canonry.testing.worlds import a_caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.recall.index_passages import forget_passages
from canonry.usecases.recall.search_canon import CanonKind, CanonRequest, search_canon
from canonry.usecases.recall.search_passages import SearchRequest, search_passages
from tests.usecases.recall_scenario import Scenario, a_scenario, found, index
from tests.usecases.stage import id_of

pytestmark = pytest.mark.anyio


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Scenario]:
    """Strider has spoken, there is a fact, and all of it is indexed."""
    async with a_scenario(tmp_path) as made:
        strider = await made.stage.entity("Strider")
        await made.stage.entity("Aragorn")
        await made.stage.make(
            a_turn("said", index=1, text="Follow me.", speaker=Speaker.ENTITY, entity_id=strider),
            a_turn("answered", index=2, text="Follow him where?"),
            a_fact("the fact", statement="The sword was broken.", involved=()),
        )
        await index(made.recall())
        yield made


def canon_of(world: Scenario) -> Canon:
    """The canon as a server sees it that finds by meaning."""
    return replace(world.stage.canon, recall=world.recall())


async def turns(canon: Canon, text: str, entity: str | None = None) -> list[str]:
    request = SearchRequest(collection=Collection.SCENES, text=text, entity_id=entity, limit=50)
    found = await search_passages(canon, a_caller(), request)
    assert found.degraded == ()
    return [hit.passage.id for hit in found.hits]


async def facts(canon: Canon, text: str) -> list[str]:
    request = CanonRequest(text=text, kinds=frozenset((CanonKind.FACT,)), limit=50)
    return [hit.passage.id for hit in (await search_canon(canon, a_caller(), request)).hits]


async def test_what_was_erased_is_not_found(world: Scenario) -> None:
    canon = canon_of(world)
    assert ident("said") in await turns(canon, "follow me")

    await world.stage.scribe.write(Erased(targets=(ident("said"),), reason="asked"))

    assert ident("said") not in await turns(canon, "follow me")
    assert canon.recall is not None
    vectors = (await canon.recall.opened()).vectors
    head = await canon.ledger.head(MIDDLE_EARTH)
    ids = (ident("said"),)
    await forget_passages(vectors, canon.documents, MIDDLE_EARTH, ids, erased_at=head)
    left = await turns(canon, "follow me")
    assert left[0] == ident("answered")
    assert ident("said") not in left


async def test_what_was_retconned_is_not_found(world: Scenario) -> None:
    canon = canon_of(world)
    assert await facts(canon, "broken sword") == [ident("the fact")]

    await world.stage.scribe.write(
        FactRetconned(fact_id=FactId(ident("the fact")), replaced_by=None, reason="never")
    )

    assert await facts(canon, "broken sword") == []


async def test_whoever_was_merged_is_found_under_the_other(world: Scenario) -> None:
    canon, kept = canon_of(world), EntityId(id_of("Aragorn"))
    assert await turns(canon, "follow", kept) == []

    await world.stage.scribe.write(
        EntitiesMerged(kept=kept, merged=EntityId(id_of("Strider")), members=(), reason="one")
    )

    assert await turns(canon, "follow", kept) == [ident("said")]
    await index(world.recall())
    assert await turns(canon, "follow", kept) == [ident("said")]


async def test_whoever_has_another_name_is_found_by_it(world: Scenario) -> None:
    canon, entity = canon_of(world), EntityId(id_of("Strider"))
    named = an_observation(
        "Strider", "crowned", entity_id=entity, fields={NAME: "Elessar"}, correction=True
    )
    await world.stage.make(named)

    assert (await turns(canon, "Elessar follow"))[0] == ident("said")


class Overtaken(FolderVectors):
    """An index that answers from what it had, while something happens before the answer is read."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.meanwhile: Callable[[], Awaitable[object]] | None = None

    @override
    async def search(self, query: VectorQuery) -> Sequence[VectorHit]:
        found = await super().search(query)
        if self.meanwhile is not None:
            await self.meanwhile()
        return found


async def test_what_the_index_takes_in_during_a_search_is_found_by_that_search(
    world: Scenario,
) -> None:
    vectors = Overtaken(world.folder)
    recall = world.recall(vectors=vectors)
    await world.say("A comet strikes the mill.", start=3)
    vectors.meanwhile = lambda: index(recall)

    nearest = await found(recall, "the comet strikes a mill")

    assert nearest[0] == ident("A comet strikes the mill.")
