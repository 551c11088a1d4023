"""Joining engines: a view that is dead, stands still or is broken is told, and loses nothing."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest
from typing_extensions import override

from canonry.app.compose import compose_memory
from canonry.canon.session.canon import Canon
from canonry.log.commits import Appended, Position
from canonry.log.entries import StoryMoved
from canonry.log.items.scenes import StoryStatus
from canonry.readmodels.ports.view import Folded
from canonry.stores.following.following import Projector
from canonry.stores.following.join import JoinedLedger, join
from canonry.stores.memory import MemoryDocuments, MemoryState, MemoryStore
from canonry.testing.things import MIDDLE_EARTH, a_fact, a_scene, a_turn, ident, made
from canonry.testing.worlds import Scribe, an_append
from canonry.values.errors import BrokenInvariant, CanonryError, Unavailable
from canonry.values.ids import SceneId, SpaceId, StoryId

pytestmark = pytest.mark.anyio


class Moody(MemoryState):
    """A state that applies what it is given, unless it stands still or has something against it."""

    against: CanonryError | None = None
    still = False

    @override
    async def apply(self, folded: Sequence[Folded]) -> None:
        if self.against is not None:
            raise self.against
        if not self.still:
            await super().apply(folded)


def joined() -> tuple[Canon, Moody]:
    state = Moody(MemoryStore())
    return join(replace(compose_memory(), state=state)).canon, state


async def test_a_dead_view_stops_no_commit_and_tells_readers_until_it_is_back() -> None:
    canon, state = joined()
    state.against = Unavailable("state.gone", "the engine does not answer")

    await Scribe(canon).make(a_fact("written all the same"))

    (head,) = await canon.ledger.heads(limit=10)
    assert head.position == 1
    with pytest.raises(Unavailable) as behind:
        await canon.state.things([ident("written all the same")])
    assert behind.value.code == "view.behind"
    with pytest.raises(Unavailable):
        await canon.ledger.head(MIDDLE_EARTH)  # nobody judges by a state that lags

    state.against = None

    assert set(await canon.state.things([ident("written all the same")])) == {
        ident("written all the same")
    }


async def test_what_is_appended_while_a_view_is_brought_up_is_not_passed_over() -> None:
    log, stores = compose_memory(), (MemoryStore(), MemoryStore())
    scribe, scene = Scribe(log), SceneId(ident("scene"))
    await scribe.make(a_scene())
    await scribe.make(a_turn("first"))

    class Overtaken(MemoryDocuments):
        """Somebody writes before it is asked for the first time where it stands."""

        untouched = True

        @override
        async def cursor(self, space: SpaceId) -> Position:
            if self.untouched:
                self.untouched = False
                await scribe.make(a_turn("second"))
            return await super().cursor(space)

    state, documents = MemoryState(stores[0]), Overtaken(stores[1])
    projector = Projector(ledger=log.ledger, state=state, others=[documents])

    await projector.reach(MIDDLE_EARTH, Position(2))
    await projector.reach(MIDDLE_EARTH, Position(3))

    assert [turn.index for turn in await documents.turns(scene)] == [0, 1]


async def test_what_is_made_from_the_state_waits_until_the_state_shows_it() -> None:
    log, begun, go_on = compose_memory(), asyncio.Event(), [asyncio.Event(), asyncio.Event()]

    class Slow(MemoryState):
        """Applies a commit when it may."""

        @override
        async def apply(self, folded: Sequence[Folded]) -> None:
            for each in folded:
                begun.set()
                await go_on[each.position - 1].wait()
                await super().apply([each])

    scribe, scene = Scribe(log), SceneId(ident("scene"))
    state, documents = Slow(MemoryStore()), MemoryDocuments(MemoryStore())
    canon = join(replace(log, state=state, documents=documents)).canon
    ledger = cast("JoinedLedger", canon.ledger)
    await scribe.make(a_scene())
    ledger._views.owe(MIDDLE_EARTH, Position(1))
    shown = asyncio.create_task(ledger.settle())
    await begun.wait()
    await scribe.make(a_turn("second"))
    ledger._views.owe(MIDDLE_EARTH, Position(2))  # by another call, as the first is brought up
    for event in go_on:
        event.set()
        for _ in range(20):
            await asyncio.sleep(0)
    await shown

    assert [turn.index for turn in await canon.documents.turns(scene)] == [0]


async def test_a_view_that_takes_everything_and_shows_nothing_is_behind() -> None:
    canon, state = joined()
    state.still = True

    await Scribe(canon).make(a_fact("unseen"))

    with pytest.raises(Unavailable) as behind:
        await canon.state.things([ident("unseen")])
    assert behind.value.code == "view.behind"


async def test_a_defect_of_a_view_is_told_as_it_is() -> None:
    canon, state = joined()
    state.against = BrokenInvariant("state.broken", "an entry leads nowhere")

    with pytest.raises(BrokenInvariant) as broken:
        await Scribe(canon).make(a_fact("told"))
    assert broken.value.code == "state.broken"
    (head,) = await canon.ledger.heads(limit=10)
    assert head.position == 1


async def test_nothing_to_append_is_nothing_appended() -> None:
    canon, _ = joined()

    assert await canon.ledger.append([]) == []
    assert await canon.ledger.heads(limit=10) == []


async def test_a_commit_that_stands_is_answered_whatever_is_said_under_its_id_now() -> None:
    canon, _ = joined()
    said = an_append("once", made(a_fact("told")))
    nowhere = StoryMoved(story_id=StoryId(ident("never told")), status=StoryStatus.ACTIVE)
    (first,) = await canon.ledger.append([said])

    (again,) = await canon.ledger.append([an_append("once", [nowhere], judged_at=1)])

    assert isinstance(first, Appended)
    assert again == replace(first, replayed=True)
    with pytest.raises(BrokenInvariant) as dangling:
        await canon.ledger.append([an_append("another", [nowhere], judged_at=1)])
    assert dangling.value.code == "canon.dangling-entry"
