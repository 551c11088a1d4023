"""The contract of the port `View`: views that the ledger of another engine feeds."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from canonry.log.canon import needs
from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import Thing
from canonry.readmodels.ports.view import Folded, View
from canonry.stores.following.following import Projector, folded
from canonry.testing.conformance.chronicle import write_chronicle
from canonry.testing.conformance.kit import (
    Answers,
    Backend,
    Contract,
    answers,
    answers_of_documents,
    requirement,
)
from canonry.testing.things import MIDDLE_EARTH, a_fact, ident
from canonry.testing.worlds import Scribe
from canonry.values.errors import Conflict


def views_of(backend: Backend) -> Sequence[View]:
    """Every view of a canon, the state first."""
    canon = backend.canon
    return (canon.state, canon.documents, canon.text, canon.catalog, canon.places)


def feeding(source: Backend, target: Backend) -> Projector:
    """What brings the views of `target` to where the log of `source` is."""
    state, *others = target.canon.state, *views_of(target)[1:]
    return Projector(ledger=source.canon.ledger, state=state, others=others)


async def answers_over(source: Backend, target: Backend) -> Answers:
    """What the views of `target` answer about the log of `source`."""
    return await answers(replace(target.canon, ledger=source.canon.ledger))


def assert_alike(expected: Answers, given: Answers) -> None:
    """Every question has the same answer; the first that has another one is named."""
    for question, answer in expected.items():
        assert given[question] == answer, question


class ViewContract(Contract):
    """Provide a fixture `backend` that yields an empty one."""

    @requirement(
        "view:cursor:stands-where-it-shows",
        because="Whoever waits for a write must know whether it is there.",
    )
    async def test_the_cursor_follows_what_shows(self, backend: Backend) -> None:
        """The cursor of a space is the position of the last commit that shows."""
        scribe, other = Scribe(backend.canon), await backend.another()
        for view in (*views_of(backend), *views_of(other)):
            assert await view.cursor(MIDDLE_EARTH) == ORIGIN
        for n in range(3):
            await scribe.make(a_fact(f"fact {n}"))
        await feeding(backend, other).reach(MIDDLE_EARTH, Position(2))

        for view in views_of(backend):
            assert await view.cursor(MIDDLE_EARTH) == 3
        for view in views_of(other):
            assert await view.cursor(MIDDLE_EARTH) >= 2

    @requirement(
        "view:apply:equals-own-fold",
        because="An engine may be chosen for each view without changing any answer.",
    )
    async def test_fed_views_answer_as_their_ledgers_own(self, backend: Backend) -> None:
        """Views that are given what another ledger folded answer as those beside it do."""
        other = await backend.another()
        await write_chronicle(backend)

        await feeding(backend, other).catch_up()

        assert_alike(await answers(backend.canon), await answers_over(backend, other))

    @requirement(
        "view:apply:again",
        because="An answer may be lost, and several processes may project the same commits.",
    )
    async def test_applying_again_changes_nothing(self, backend: Backend) -> None:
        """What was applied before changes nothing, also in the middle of what is new."""
        other = await backend.another()
        for space in await write_chronicle(backend):
            log = await backend.canon.ledger.read(space, after=ORIGIN, limit=1_000)
            made = folded(log, {})
            for each in made:
                await other.canon.state.apply([each])
                await other.canon.state.apply([each])
            await other.canon.state.apply(made)
            for view in views_of(other)[1:]:
                await view.apply(made)

        assert_alike(await answers(backend.canon), await answers_over(backend, other))

    @requirement(
        "view:apply:gap", because="A view that skips a commit tells something that never was."
    )
    async def test_a_gap_is_refused(self, backend: Backend) -> None:
        """Commits that do not follow the cursor are refused, and nothing of them shows."""
        scribe, other = Scribe(backend.canon), await backend.another()
        await scribe.make(a_fact("first"))
        await scribe.make(a_fact("second"))
        log = await backend.canon.ledger.read(MIDDLE_EARTH, after=ORIGIN, limit=10)
        made = folded(log, {})

        for view in views_of(other):
            with pytest.raises(Conflict) as refused:
                await view.apply(made[1:])
            assert refused.value.code == "view.gap"
            assert await view.cursor(MIDDLE_EARTH) == ORIGIN
        assert await other.canon.state.things([ident("second")]) == {}

        for view in views_of(other):
            await view.apply(made)
            assert await view.cursor(MIDDLE_EARTH) == 2

    @requirement("view:apply:together", because="Whoever waits for a view helps to bring it up.")
    async def test_projectors_side_by_side_leave_what_one_leaves(self, backend: Backend) -> None:
        """Projectors that run at the same time leave what one alone leaves."""
        other, scribe = await backend.another(), Scribe(backend.canon)
        await write_chronicle(backend)

        async def write() -> None:
            for n in range(10):
                await scribe.make(a_fact(f"late fact {n}"))

        await asyncio.gather(write(), *(feeding(backend, other).catch_up() for _ in range(3)))
        await feeding(backend, other).catch_up()

        assert_alike(await answers(backend.canon), await answers_over(backend, other))

    @requirement(
        "view:apply:as-it-is-now",
        because="A view that lags is brought up from the present state, not from every past one.",
    )
    async def test_a_view_that_lags_may_see_things_early(self, backend: Backend) -> None:
        """Views other than the state may be given things as later commits left them."""
        other, canon = await backend.another(), backend.canon
        things: dict[str, Thing] = {}
        spaces = list(await write_chronicle(backend))
        for space in spaces:
            log = await canon.ledger.read(space, after=ORIGIN, limit=1_000)
            things |= await canon.state.things(needs(e for c in log for e in c.entries))
            late = [
                Folded(
                    space=space,
                    position=commit.position,
                    things=tuple(things[i] for i in sorted(needs(commit.entries)) if i in things),
                )
                for commit in log
            ]
            for view in views_of(other)[1:]:
                await view.apply(late)

        expected = await answers_of_documents(canon, spaces, things)
        assert_alike(expected, await answers_of_documents(other.canon, spaces, things))
        limits: Any = {"limit": 10}
        projects = [await each.catalog.projects(None, **limits) for each in (canon, other.canon)]
        assert projects[0] == projects[1] != []
