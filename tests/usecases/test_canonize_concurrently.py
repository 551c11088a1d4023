"""Two canonizations of one scene, in one process and in two, write everything once."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random

import pytest
from typing_extensions import override

from canonry.canon.canonization.canonize_scene import CanonizationReport, canonize_scene
from canonry.canon.canonization.decide_proposals import ROUNDS_FREE
from canonry.canon.session.canon import Canon
from canonry.log.commits import ORIGIN, Append, Outcome
from canonry.log.entries import Made, ProposalDecided, SceneCompleted, StoredItem
from canonry.log.items.proposals import ProposalStatus
from canonry.stores.memory import MemoryLedger, MemoryState
from canonry.testing.clocks import a_caller
from canonry.testing.example_items import MIDDLE_EARTH, uuid_of
from canonry.values.errors import Conflict
from tests.usecases.stage import Stage, a_stage, id_of

pytestmark = pytest.mark.anyio


class HesitantState(MemoryState):
    """A state that lets others go first now and then."""

    def __init__(self, whole: MemoryState, seed: int) -> None:
        super().__init__(whole._store)
        self._random = Random(seed)

    @override
    async def items_by_id(self, ids: Iterable[str]) -> Mapping[str, StoredItem]:
        for _ in range(self._random.randrange(4)):
            await asyncio.sleep(0)
        return await super().items_by_id(ids)


def another_process(canon: Canon, seed: int) -> Canon:
    """A canon over the same store that shares nothing else."""
    ledger, state = canon.ledger, canon.state
    assert isinstance(ledger, MemoryLedger)
    assert isinstance(state, MemoryState)
    own = MemoryLedger(ledger._store, ledger._sealer)
    return replace(canon, ledger=own, state=HesitantState(state, seed))


async def a_busy_stage() -> Stage:
    stage = await a_stage()
    frodo = await stage.entity("Frodo")
    for number in range(10):
        ref = f"$hero{number}"
        hero = {"name": f"H{number}", "entity_type": "character", "ref": ref}
        await stage.propose("entity", hero)
        await stage.propose("relationship", {"from": frodo, "to": ref, "type": "KNOWS"})
        await stage.propose("state_change", {"entity_id": frodo, "add": [f"met {number}"]})
    return stage


async def test_a_second_call_in_the_same_process_is_refused_as_in_progress() -> None:
    stage = await a_busy_stage()
    slow = another_process(stage.canon, 1)

    async def canonize() -> CanonizationReport:
        return await canonize_scene(slow, a_caller(), uuid_of("scene"))

    results = await asyncio.gather(canonize(), canonize(), return_exceptions=True)

    errors = [one for one in results if isinstance(one, Conflict)]
    reports = [one for one in results if isinstance(one, CanonizationReport)]
    assert [error.code for error in errors] == ["scene.in-progress"]
    assert len(reports) == 1


@pytest.mark.parametrize("seed", range(12))
async def test_two_processes_write_everything_once(seed: int) -> None:
    stage = await a_busy_stage()
    canons = [another_process(stage.canon, 2 * seed + n) for n in range(2)]
    keeper = another_process(stage.canon, seed + 500)

    async def canonize(canon: Canon) -> CanonizationReport:
        return await canonize_scene(canon, a_caller(), uuid_of("scene"))

    async def meddle() -> None:
        for number in range(6):
            await keeper.state.items_by_id(())
            await stage.tag("Frodo", f"seen {number}")

    *results, _ = await asyncio.gather(*map(canonize, canons), meddle(), return_exceptions=True)

    reports = [one for one in results if isinstance(one, CanonizationReport)]
    refusals = [one for one in results if isinstance(one, Conflict)]
    assert reports
    assert len(reports) + len(refusals) == 2, results
    assert {error.code for error in refusals} <= {"scene.completed"}
    await only_once(stage)
    assert all(not report.with_status(ProposalStatus.PENDING) for report in reports)


async def only_once(stage: Stage) -> None:
    """Nothing was made, decided or completed twice, and every change of Frodo is there."""
    log = await stage.canon.ledger.read_commits(MIDDLE_EARTH, after=ORIGIN, limit=500)
    entries = [entry for commit in log for entry in commit.entries]
    made = [e.thing.id for e in entries if isinstance(e, Made)]
    decided = [e.proposal_id for e in entries if isinstance(e, ProposalDecided)]
    assert len(made) == len(set(made))
    assert len(decided) == len(set(decided)) == 30
    assert sum(isinstance(e, SceneCompleted) for e in entries) == 1
    frodo = await stage.find_item(id_of("Frodo"))
    assert len([tag for tag in frodo.state_tags if tag.startswith("met ")]) == 10
    facts = await stage.canon.state.facts_stating(MIDDLE_EARTH, {"Frodo is met 3"})
    assert len(facts) == 1


class CrowdedLedger(MemoryLedger):
    """Somebody else changes Frodo before every append that is not exclusive."""

    def __init__(self, whole: MemoryLedger, stage: Stage) -> None:
        super().__init__(whole._store, whole._sealer)
        self._stage = stage
        self.intrusions = 0

    @override
    async def append_drafts(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        if self._owner is None and len(batch) > 1:
            self.intrusions += 1
            await self._stage.tag("Frodo", f"seen {self.intrusions}")
        return await super().append_drafts(batch)


async def test_after_repeated_stale_verdicts_a_call_judges_exclusively() -> None:
    stage = await a_busy_stage()
    whole = stage.canon.ledger
    assert isinstance(whole, MemoryLedger)
    ledger = CrowdedLedger(whole, stage)
    canon = replace(stage.canon, ledger=ledger)

    report = await canonize_scene(canon, a_caller(), uuid_of("scene"))

    assert not report.with_status(ProposalStatus.PENDING)
    assert ledger.intrusions >= ROUNDS_FREE
    await only_once(stage)
