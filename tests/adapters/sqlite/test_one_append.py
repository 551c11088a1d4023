"""One append of many commits: the views show each step of it, though they are written once."""

from pathlib import Path
from typing import Any

import pytest

from canonry.app.embedded import open_embedded
from canonry.log.commits import Appended, Position
from canonry.log.entries import Entry, Erased, FactRetconned, FactSuperseded, Tombstone
from canonry.log.items.facts import Fact
from canonry.testing.conformance.upkeep import quiet
from canonry.testing.things import MIDDLE_EARTH, a_fact, a_space, ident, made
from canonry.testing.worlds import an_append
from canonry.values.ids import FactId
from canonry.values.provenance import CanonLevel

pytestmark = pytest.mark.anyio

RING = FactId(ident("ring"))
FALLS = FactRetconned(fact_id=RING, reason="never", replaced_by=None)


async def test_each_step_of_one_append_is_known_afterwards(tmp_path: Path) -> None:
    steps: list[list[Entry]] = [
        [*made(a_space(), a_fact("ring"))],
        [FactSuperseded(fact_id=RING, superseded_by=FactId(ident("sword")), until=None)],
        [*made(a_fact("sword")), FALLS],
        [*made(a_fact("lost"))],
        [Erased(targets=(ident("lost"),), reason="asked for")],
    ]
    store = await open_embedded(tmp_path)
    try:
        drafts = [an_append(f"step {n}", entries) for n, entries in enumerate(steps)]
        outcomes = await store.canon.ledger.append(drafts)
        later = await store.canon.ledger.append(
            [an_append("later", made(a_fact("bow")), judged_at=5)]
        )

        state = store.canon.state
        known: list[Any] = [
            (await state.things_as_known_at((RING,), Position(at + 1)))[RING]
            for at in range(len(steps))
        ]
        assert all(isinstance(one, Appended) for one in (*outcomes, *later))
        assert [fact.superseded for fact in known] == [False, True, True, True, True]
        assert [fact.level.value for fact in known] == ["canon", "canon", *["retconned"] * 3]
        assert isinstance((await state.things((ident("lost"),)))[ident("lost")], Tombstone)
        assert not (await store.upkeep.verify(quiet)).findings
    finally:
        await store.close()


async def test_an_append_that_fails_shows_nothing_of_it(tmp_path: Path) -> None:
    store = await open_embedded(tmp_path)
    try:
        await store.canon.ledger.append([an_append("space", made(a_space(), a_fact("ring")))])
        dangling = FactRetconned(fact_id=FactId(ident("nothing")), reason="never", replaced_by=None)
        drafts = [an_append("fine", [FALLS], judged_at=1), an_append("not fine", [dangling])]
        with pytest.raises(Exception, match="does not exist"):
            await store.canon.ledger.append(drafts)

        ring = (await store.canon.state.things((RING,)))[RING]
        assert isinstance(ring, Fact)
        assert ring.level is CanonLevel.CANON
        assert await store.canon.ledger.head(MIDDLE_EARTH) == 1
        assert not (await store.upkeep.verify(quiet)).findings
    finally:
        await store.close()
