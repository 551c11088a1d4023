"""Canonizing reads each item once, and again only after something was written."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from canonry.canon.canonization.canonize_scene import canonize_proposals
from canonry.canon.session.canon import Canon
from canonry.log.entries import SceneCompleted
from canonry.log.ports.ledger import Ledger
from canonry.readmodels.ports.documents import Documents
from canonry.readmodels.ports.state import State
from canonry.testing.clocks import a_caller
from canonry.testing.example_items import uuid_of
from canonry.values.errors import Conflict
from canonry.values.ids import SceneId
from tests.usecases.stage import ACCEPTED, Stage, a_stage

pytestmark = pytest.mark.anyio


@dataclass
class Reads:
    """The reads since the last write, and the number of reads of each item."""

    since: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    total: Counter[str] = field(default_factory=Counter)

    def note_ids(self, ids: Iterable[str]) -> None:
        for each in ids:
            if each in self.since:
                self.twice.append(each)
            self.since.append(each)
            self.total[each] += 1


@dataclass
class Watched:
    """A port that notes what its answers hold; `written` says which method is a write."""

    port: Any
    reads: Reads
    written: str = ""

    def __getattr__(self, name: str) -> Any:
        inner: Callable[..., Any] = getattr(self.port, name)
        if name == self.written:
            return self._wrap_writing(inner)
        return (
            self._wrap_reading(inner) if name in {"items_by_id", "proposals", "events"} else inner
        )

    def _wrap_reading(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        async def read(*args: Any, **options: Any) -> Any:
            found = await inner(*args, **options)
            items = getattr(found, "items", None)
            self.reads.note_ids(found if callable(items) else [each.id for each in found.items])
            return found

        return read

    def _wrap_writing(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        async def write(*args: Any, **options: Any) -> Any:
            self.reads.since.clear()
            return await inner(*args, **options)

        return write


def watch_canon(canon: Canon) -> tuple[Canon, Reads]:
    reads = Reads()
    return replace(
        canon,
        ledger=cast("Ledger", Watched(canon.ledger, reads, "append_drafts")),
        state=cast("State", Watched(canon.state, reads)),
        documents=cast("Documents", Watched(canon.documents, reads)),
    ), reads


async def three_proposals() -> tuple[Stage, list[str]]:
    stage = await a_stage()
    await stage.entity("Sam")
    return stage, [
        await stage.propose("entity", {"name": "Gimli", "entity_type": "character", "ref": "$g"}),
        await stage.propose(
            "fact", {"statement": "Sam is here", "entity_ids": [uuid_of("Sam/entity")]}
        ),
        await stage.propose(
            "event", {"title": "They meet", "actors": ["$g", uuid_of("Sam/entity")]}
        ),
    ]


async def test_canonizing_a_scene_reads_nothing_twice_without_a_write() -> None:
    stage, proposals = await three_proposals()
    stage.canon, reads = watch_canon(stage.canon)

    report = await stage.canonize()

    assert len(report.with_status(ACCEPTED)) == 3
    assert reads.twice == []
    assert {uuid_of("scene"), *proposals} <= reads.total.keys()


async def test_a_scene_changed_at_the_start_is_read_again() -> None:
    stage, _ = await three_proposals()
    canon = stage.canon

    class Interrupting(Watched):
        def __getattr__(self, name: str) -> Any:
            return self.append if name == "append_drafts" else getattr(self.port, name)

        async def append(self, appends: Any) -> Any:
            if not self.reads.total["interrupted"]:
                self.reads.note_ids(["interrupted"])
                await stage.scribe.write_entries(
                    SceneCompleted(scene_id=SceneId(uuid_of("scene")), outcomes=(), summary="gone")
                )
            return await self.port.append_drafts(appends)

    reads = Reads()
    stage.canon = replace(canon, ledger=cast("Ledger", Interrupting(canon.ledger, reads)))
    with pytest.raises(Conflict) as refused:
        await stage.canonize()

    assert refused.value.code == "scene.completed"
    assert reads.total["interrupted"] == 1
    assert (await stage.find_item(uuid_of("scene"))).summary == "gone"


async def test_loose_proposals_are_read_once_before_the_decision() -> None:
    stage = await a_stage()
    loose = [
        await stage.propose("fact", {"statement": f"x {n}"}, scene_id=None, turn_id=None)
        for n in range(3)
    ]
    stage.canon, reads = watch_canon(stage.canon)

    report = await canonize_proposals(stage.canon, a_caller(), loose)

    assert len(report.with_status(ACCEPTED)) == 3
    assert reads.twice == []
    reads.since.clear()
    assert await canonize_proposals(stage.canon, a_caller(), loose) == report
    assert reads.twice == []
