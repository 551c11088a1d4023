"""One append of many commits: the views show each step of it, though they are written once."""

from pathlib import Path
from typing import Any

import pytest

from canonry.app.embedded import open_embedded
from canonry.log.commits import Appended, Position
from canonry.log.entries import Entry, Erased, FactRetconned, FactSuperseded, Tombstone
from canonry.log.items.facts import Fact
from canonry.testing.clocks import an_append
from canonry.testing.conformance.maintenance import check_progress
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, a_space, creation_entries, uuid_of
from canonry.values.ids import FactId
from canonry.values.provenance import CanonLevel

pytestmark = pytest.mark.anyio

RING = FactId(uuid_of("ring"))
FALLS = FactRetconned(fact_id=RING, reason="never", replaced_by=None)


async def test_each_step_of_an_append_is_traced(tmp_path: Path) -> None:
    steps: list[list[Entry]] = [
        [*creation_entries(a_space(), a_fact("ring"))],
        [FactSuperseded(fact_id=RING, superseded_by=FactId(uuid_of("sword")), until=None)],
        [*creation_entries(a_fact("sword")), FALLS],
        [*creation_entries(a_fact("lost"))],
        [Erased(targets=(uuid_of("lost"),), reason="asked for")],
    ]
    store = await open_embedded(tmp_path)
    try:
        drafts = [an_append(f"step {n}", entries) for n, entries in enumerate(steps)]
        outcomes = await store.canon.ledger.append_drafts(drafts)
        later = await store.canon.ledger.append_drafts(
            [an_append("later", creation_entries(a_fact("bow")), judged_at=5)]
        )

        state = store.canon.state
        known: list[Any] = [
            (await state.items_as_known_at((RING,), Position(at + 1)))[RING]
            for at in range(len(steps))
        ]
        assert all(isinstance(one, Appended) for one in (*outcomes, *later))
        assert [fact.superseded for fact in known] == [False, True, True, True, True]
        assert [fact.level.value for fact in known] == ["canon", "canon", *["retconned"] * 3]
        assert isinstance((await state.items_by_id((uuid_of("lost"),)))[uuid_of("lost")], Tombstone)
        assert not (await store.maintenance.verify(check_progress)).findings
    finally:
        await store.close()


async def test_a_failed_append_shows_nothing(tmp_path: Path) -> None:
    store = await open_embedded(tmp_path)
    try:
        await store.canon.ledger.append_drafts(
            [an_append("space", creation_entries(a_space(), a_fact("ring")))]
        )
        dangling = FactRetconned(
            fact_id=FactId(uuid_of("nothing")), reason="never", replaced_by=None
        )
        drafts = [an_append("fine", [FALLS], judged_at=1), an_append("not fine", [dangling])]
        with pytest.raises(Exception, match="does not exist"):
            await store.canon.ledger.append_drafts(drafts)

        ring = (await store.canon.state.items_by_id((RING,)))[RING]
        assert isinstance(ring, Fact)
        assert ring.level is CanonLevel.CANON
        assert await store.canon.ledger.head_position(MIDDLE_EARTH) == 1
        assert not (await store.maintenance.verify(check_progress)).findings
    finally:
        await store.close()
