"""Canonizing a scene that is interrupted at any append ends as if nothing had happened."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from typing_extensions import override

from canonry.canon.canonization.canonize_scene import CanonizationReport
from canonry.canon.canonization.decide_proposals import BATCH
from canonry.log.commits import Append, Outcome
from canonry.log.items.proposals import ProposalStatus
from canonry.log.items.scenes import SceneStatus
from canonry.stores.memory import MemoryLedger
from canonry.testing.example_items import MIDDLE_EARTH, uuid_of
from canonry.values.errors import Unavailable
from tests.usecases.stage import ACCEPTED, REJECTED, Stage, a_stage

pytestmark = pytest.mark.anyio
PROPOSALS = 40


class Killed(BaseException):
    """The process ends here."""


class FragileLedger(MemoryLedger):
    """A ledger whose process is killed at an append, or that does not answer for some of them.

    `after` tells whether what is appended is written before the process ends.
    """

    def __init__(self, whole: MemoryLedger) -> None:
        super().__init__(whole._store, whole._sealer)
        self.kill_at: int | None = None
        self.written_before_death = False
        self.refuses: frozenset[str] = frozenset()
        self.appends = 0

    @override
    async def append_drafts(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        self.appends += 1
        if self.appends == self.kill_at:
            if self.written_before_death:
                await super().append_drafts(batch[: len(batch) // 2 + 1])
            raise Killed
        if any(self._refused(each) for each in batch):
            raise Unavailable("ledger.busy", "try again")
        return await super().append_drafts(batch)

    def _refused(self, append: Append) -> bool:
        names = {getattr(entry, "proposal_id", None) for entry in append.draft.entries}
        return not self.refuses.isdisjoint(names)


async def a_fragile_stage(*, loose: bool = False) -> tuple[Stage, FragileLedger]:
    """A stage with proposals of every type, of its scene or `loose`."""
    stage = await a_stage()
    whole = stage.canon.ledger
    assert isinstance(whole, MemoryLedger)
    ledger = FragileLedger(whole)
    stage.canon = replace(stage.canon, ledger=ledger)
    place: dict[str, Any] = {"scene_id": None, "turn_id": None, "turn_index": None}
    more = place if loose else {}
    for number in range(PROPOSALS // 4):
        ref = f"$hero{number}"
        hero = {"name": f"H{number}", "entity_type": "character", "ref": ref}
        await stage.propose("entity", hero, **more)
        tag = "alive" if number % 2 else "dead"
        await stage.propose("state_change", {"entity": ref, "add": [tag]}, **more)
        await stage.propose("event", {"title": f"E{number}", "actor": ref}, **more)
        await stage.propose("fact", {"statement": "all is well", "entity_ids": [ref]}, **more)
    return stage, ledger


async def read_items(stage: Stage) -> dict[str, Any]:
    """Return all items without the time and the log position of their record."""
    whole = stage.canon.ledger
    assert isinstance(whole, MemoryLedger)
    return {
        item_id: (type(item), *(getattr(item, name, None) for name in COMPARED))
        for item_id, item in whole._store.items.items()
    }


COMPARED = ("name", "state_tags", "statement", "title", "level", "status", "evidence", "outcomes")


async def run_uninterrupted() -> tuple[CanonizationReport, dict[str, Any]]:
    stage, _ = await a_fragile_stage()
    return await stage.canonize(), await read_items(stage)


@pytest.mark.parametrize("written", [False, True])
async def test_after_a_kill_at_any_append_the_next_call_gives_the_same_end(written: bool) -> None:
    expected, world = await run_uninterrupted()
    appends = 2 + -(-PROPOSALS // BATCH)
    for kill_at in range(1, appends + 1):
        stage, ledger = await a_fragile_stage()
        ledger.kill_at, ledger.written_before_death = kill_at, written
        with pytest.raises(Killed):
            await stage.canonize()
        ended = (await stage.find_item(uuid_of("scene"))).status is SceneStatus.COMPLETED

        if not ended:
            assert await stage.canonize() == expected, kill_at
        assert await read_items(stage) == world, kill_at


async def test_an_unwritable_proposal_stays_pending_and_the_rest_continues() -> None:
    expected, world = await run_uninterrupted()
    stage, ledger = await a_fragile_stage()
    failing = uuid_of("proposal 1")  # the first hero, whom three others name
    ledger.refuses = frozenset({failing})

    with pytest.raises(Unavailable) as failure:
        await stage.canonize()

    assert failure.value.code == "canonization.partial"
    assert failure.value.retryable
    details = failure.value.details
    failed = {one["proposal_id"]: one["reason"] for one in details["failed"]}
    assert set(failed) == {uuid_of(f"proposal {number}") for number in (1, 2, 3, 4)}
    assert failed[failing] == "ledger.busy: try again"
    assert failing in failed[uuid_of("proposal 2")]
    assert len(details["accepted"]) + len(details["rejected"]) == PROPOSALS - 4
    assert (await stage.find_item(uuid_of("scene"))).status is SceneStatus.FINALIZING

    ledger.refuses = frozenset()
    report = await stage.canonize()

    assert {(v.proposal_id, v.status, v.rule) for v in report.verdicts} == {
        (v.proposal_id, v.status, v.rule) for v in expected.verdicts
    }
    assert (await read_items(stage)).keys() == world.keys()


async def test_an_unavailable_store_is_not_asked_for_every_proposal() -> None:
    stage, ledger = await a_fragile_stage()
    ledger.refuses = frozenset(uuid_of(f"proposal {n}") for n in range(1, PROPOSALS + 1))

    with pytest.raises(Unavailable) as failure:
        await stage.canonize()

    assert len(failure.value.details["failed"]) == PROPOSALS
    assert ledger.appends < 10


async def test_a_batch_costs_one_append() -> None:
    stage, ledger = await a_fragile_stage()

    report = await stage.canonize()

    assert ledger.appends == 2 + -(-PROPOSALS // BATCH)
    assert len(report.with_status(ACCEPTED)) == PROPOSALS
    assert report.with_status(REJECTED) == ()
    assert report.with_status(ProposalStatus.PENDING) == ()
    assert await stage.canon.ledger.head_position(MIDDLE_EARTH) > PROPOSALS
