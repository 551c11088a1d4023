"""Joining engines: a view that is dead, stands still or is broken is told, and loses nothing."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest
from typing_extensions import override

from canonry.app.backends.servers import canon_over_copy
from canonry.app.compose import compose_memory
from canonry.canon.session.canon import Canon
from canonry.log.commits import ORIGIN, Appended, Position
from canonry.log.entries import StoredItem, StoryMoved
from canonry.log.items.scenes import StoryStatus, Turn
from canonry.log.sealing import Sealed
from canonry.readmodels.ports.view import Folded, Projection, advance_items
from canonry.stores.memory import MemoryLedger
from canonry.stores.projections.projector import Follower, Projector, join_views
from canonry.testing.clocks import Scribe, an_append
from canonry.testing.example_items import (
    MIDDLE_EARTH,
    a_fact,
    a_scene,
    a_turn,
    creation_entries,
    uuid_of,
)
from canonry.values.errors import BrokenInvariant, CanonryError, Unavailable
from canonry.values.ids import SpaceId, StoryId
from tests.conformance.test_mixed import erase_nothing

pytestmark = pytest.mark.anyio


class Moody(MemoryLedger):
    """The log of a copy that takes what it is given, unless it refuses it."""

    against: CanonryError | None = None

    @override
    async def restore_commits(
        self, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None = None
    ) -> None:
        if self.against is not None:
            raise self.against
        await super().restore_commits(sealed, touched)


class Shown(Projection):
    """Keeps the items that it is given."""

    def __init__(self) -> None:
        self.items: list[StoredItem] = []
        self.position = ORIGIN

    @override
    async def cursor(self, space: SpaceId) -> Position:
        return self.position

    @override
    async def apply(self, folded: Sequence[Folded]) -> None:
        items, self.position = advance_items(folded, self.position)
        self.items += items.values()


def join_moody() -> tuple[Canon, Moody]:
    log, copy = compose_memory(), compose_memory()
    kept = cast("MemoryLedger", copy.ledger)
    moody = Moody(kept._store, kept._sealer)
    follower = Follower(log=log.ledger, copy=moody, purge=erase_nothing)
    return join_views(canon_over_copy(copy, log.ledger, follower), copied=moody).canon, moody


async def test_a_failed_view_stops_no_commit_and_informs_readers() -> None:
    canon, copy = join_moody()
    copy.against = Unavailable("copy.gone", "the engine does not answer")

    await Scribe(canon).make_items(a_fact("written all the same"))

    (head,) = await canon.ledger.list_heads(limit=10)
    assert head.position == 1
    with pytest.raises(Unavailable) as behind:
        await canon.state.items_by_id([uuid_of("written all the same")])
    assert behind.value.code == "view.behind"
    with pytest.raises(Unavailable):
        await canon.ledger.head_position(MIDDLE_EARTH)  # nobody judges by a state that lags

    copy.against = None

    assert set(await canon.state.items_by_id([uuid_of("written all the same")])) == {
        uuid_of("written all the same")
    }


async def test_commits_appended_during_a_catch_up_are_not_skipped() -> None:
    log = compose_memory()
    scribe = Scribe(log)
    await scribe.make_items(a_scene())
    await scribe.make_items(a_turn("first"))

    class Overtaken(Shown):
        """Somebody writes before it is asked for the first time where it stands."""

        untouched = True

        @override
        async def cursor(self, space: SpaceId) -> Position:
            if self.untouched:
                self.untouched = False
                await scribe.make_items(a_turn("second"))
            return await super().cursor(space)

    view = Overtaken()
    projector = Projector(ledger=log.ledger, state=log.state, others=[view])

    await projector.advance_to(MIDDLE_EARTH, Position(2))
    assert view.position == 2
    await projector.advance_to(MIDDLE_EARTH, Position(3))

    assert [each.index for each in view.items if isinstance(each, Turn)] == [0, 1]


async def test_a_dependent_view_waits_until_the_state_shows_its_source() -> None:
    begun, go_on = asyncio.Event(), [asyncio.Event(), asyncio.Event()]

    class Slow(Moody):
        """Takes a commit when it may."""

        @override
        async def restore_commits(
            self, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None = None
        ) -> None:
            for each in sealed:
                begun.set()
                await go_on[each.position - 1].wait()
                await super().restore_commits([each], touched)

    log, copy, view = compose_memory(), compose_memory(), Shown()
    kept, scribe = cast("MemoryLedger", copy.ledger), Scribe(log)
    slow = Slow(kept._store, kept._sealer)
    follower = Follower(log=log.ledger, copy=slow, purge=erase_nothing)
    canon = canon_over_copy(copy, log.ledger, follower)
    projector = Projector(ledger=canon.ledger, state=canon.state, others=[view], copied=copy.ledger)
    await scribe.make_items(a_scene())
    shown = asyncio.create_task(projector.advance_to(MIDDLE_EARTH, Position(1)))
    await begun.wait()
    await scribe.make_items(a_turn("second"))
    also = asyncio.create_task(projector.advance_to(MIDDLE_EARTH, Position(2)))
    for event in go_on:
        event.set()
        for _ in range(20):
            await asyncio.sleep(0)
    await asyncio.gather(shown, also)

    assert [each.index for each in view.items if isinstance(each, Turn)] == [0]


async def test_a_view_that_shows_nothing_of_its_commits_is_behind() -> None:
    class Still(Shown):
        @override
        async def apply(self, folded: Sequence[Folded]) -> None:
            assert folded

    log = compose_memory()
    await Scribe(log).make_items(a_fact("unseen"))

    with pytest.raises(Unavailable) as behind:
        await Projector(ledger=log.ledger, state=log.state, others=[Still()]).catch_up()
    assert behind.value.code == "view.behind"


async def test_a_defect_of_a_view_is_reported_unchanged() -> None:
    canon, copy = join_moody()
    copy.against = BrokenInvariant("copy.broken", "an entry leads nowhere")

    with pytest.raises(BrokenInvariant) as broken:
        await Scribe(canon).make_items(a_fact("told"))
    assert broken.value.code == "copy.broken"
    (head,) = await canon.ledger.list_heads(limit=10)
    assert head.position == 1


async def test_appending_nothing_appends_nothing() -> None:
    canon, _ = join_moody()

    assert await canon.ledger.append_drafts([]) == []
    assert await canon.ledger.list_heads(limit=10) == []


async def test_an_existing_commit_is_returned_whatever_is_sent_under_its_id() -> None:
    canon, _ = join_moody()
    said = an_append("once", creation_entries(a_fact("told")))
    nowhere = StoryMoved(story_id=StoryId(uuid_of("never told")), status=StoryStatus.ACTIVE)
    (first,) = await canon.ledger.append_drafts([said])

    (again,) = await canon.ledger.append_drafts([an_append("once", [nowhere], judged_at=1)])

    assert isinstance(first, Appended)
    assert again == replace(first, replayed=True)
    with pytest.raises(BrokenInvariant) as dangling:
        await canon.ledger.append_drafts([an_append("another", [nowhere], judged_at=1)])
    assert dangling.value.code == "canon.dangling-entry"
