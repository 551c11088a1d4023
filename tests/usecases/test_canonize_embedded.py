"""Two openings of one embedded store canonize the same scene, and everything is written once."""

import asyncio
from pathlib import Path

import pytest

from canonry.app.embedded import open_embedded
from canonry.canon.canonization.canonize_scene import CanonizationReport, canonize_scene
from canonry.canon.session.canon import Canon
from canonry.log.commits import ORIGIN
from canonry.log.entries import Made, ProposalDecided, SceneCompleted
from canonry.log.items.proposals import ProposalStatus
from canonry.stores.sqlite import Durability
from canonry.testing.clocks import Scribe, a_caller
from canonry.testing.example_items import MIDDLE_EARTH, a_source, a_story, uuid_of
from canonry.values.errors import Conflict
from tests.usecases.stage import Stage

pytestmark = pytest.mark.anyio
HEROES = 12


async def propose_all(stage: Stage) -> None:
    """A scene in which heroes enter, meet Frodo, and are told of."""
    await stage.scribe.open_spaces("space")
    await stage.make(a_source(), a_story())
    await stage.scene()
    frodo = await stage.entity("Frodo")
    for number in range(HEROES):
        ref = f"$hero{number}"
        hero = {"name": f"H{number}", "entity_type": "character", "ref": ref}
        await stage.propose("entity", hero)
        await stage.propose("relationship", {"from": frodo, "to": ref, "type": "KNOWS"})
        await stage.propose("state_change", {"entity_id": frodo, "add": [f"met {number}"]})


async def test_two_connections_to_one_store_write_everything_once(tmp_path: Path) -> None:
    first = await open_embedded(tmp_path, durability=Durability.NORMAL)
    second = await open_embedded(tmp_path, durability=Durability.NORMAL)
    try:
        stage = Stage(canon=first.canon, scribe=Scribe(first.canon))
        await propose_all(stage)

        async def canonize(canon: Canon) -> CanonizationReport:
            return await canonize_scene(canon, a_caller(), uuid_of("scene"))

        results = await asyncio.gather(
            canonize(first.canon), canonize(second.canon), return_exceptions=True
        )

        reports = [one for one in results if isinstance(one, CanonizationReport)]
        refusals = [one.code for one in results if isinstance(one, Conflict)]
        assert reports
        assert len(reports) + len(refusals) == 2, results
        assert set(refusals) <= {"scene.completed"}
        assert len(reports[0].with_status(ProposalStatus.ACCEPTED)) == 3 * HEROES
        log = await first.canon.ledger.read_commits(MIDDLE_EARTH, after=ORIGIN, limit=500)
        entries = [entry for commit in log for entry in commit.entries]
        made = [entry.thing.id for entry in entries if isinstance(entry, Made)]
        assert len(made) == len(set(made))
        assert sum(isinstance(entry, ProposalDecided) for entry in entries) == 3 * HEROES
        assert sum(isinstance(entry, SceneCompleted) for entry in entries) == 1
    finally:
        await second.close()
        await first.close()
