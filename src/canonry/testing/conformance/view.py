"""The contract of the port `Projection`: views that another engine than the ledger's keeps."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from canonry.canon.session.canon import Canon
from canonry.log.commits import ORIGIN, Position
from canonry.readmodels.ports.view import Folded, Projection
from canonry.stores.following.following import Projector
from canonry.testing.conformance.chronicle import write_chronicle
from canonry.testing.conformance.kit import Backend, Contract, answers, requirement
from canonry.testing.things import MIDDLE_EARTH, a_fact
from canonry.testing.worlds import Scribe
from canonry.values.errors import Conflict
from canonry.values.ids import SpaceId


def projections_of(canon: Canon) -> Mapping[str, Projection]:
    """The views of a canon that a projector feeds, by the names of their ports."""
    views = {name: getattr(canon, name) for name in ("documents", "text", "catalog", "places")}
    return {name: view for name, view in views.items() if hasattr(view, "apply")}


def feeding(source: Backend, target: Backend) -> Projector:
    """The projector that brings the projections of `target` to where the log of `source` is."""
    canon, others = source.canon, list(projections_of(target.canon).values())
    return Projector(ledger=canon.ledger, state=canon.state, others=others)


async def folded(canon: Canon, space: SpaceId) -> Sequence[Folded]:
    """The commits of a space, each with its things as they are now."""
    log = await canon.ledger.read(space, after=ORIGIN, limit=1_000)
    projector = Projector(ledger=canon.ledger, state=canon.state, others=())
    return await projector.as_they_are(log)


async def assert_alike(source: Backend, target: Backend) -> None:
    """The projections of `target` answer every question as the own views of `source` do."""
    views: dict[str, Any] = {**projections_of(target.canon)}
    assert views, "this contract is for backends with a projection; leave it out"
    given = await answers(replace(source.canon, **views))
    for question, answer in (await answers(source.canon)).items():
        assert given[question] == answer, question


class ViewContract(Contract):
    """Provide a fixture `backend` that yields an empty one, of which some views are projections."""

    @requirement(
        "view:cursor:stands-where-it-shows",
        because="Whoever waits for a write must know whether it is there.",
    )
    async def test_the_cursor_follows_what_shows(self, backend: Backend) -> None:
        """The cursor of a space is the position of the last commit that shows."""
        scribe, other = Scribe(backend.canon), await backend.another()
        for view in projections_of(other.canon).values():
            assert await view.cursor(MIDDLE_EARTH) == ORIGIN
        for n in range(3):
            await scribe.make(a_fact(f"fact {n}"))
        await feeding(backend, other).reach(MIDDLE_EARTH, Position(2))

        for view in projections_of(backend.canon).values():
            assert await view.cursor(MIDDLE_EARTH) == 3
        for view in projections_of(other.canon).values():
            assert await view.cursor(MIDDLE_EARTH) >= 2

    @requirement(
        "view:apply:equals-own-fold",
        because="An engine may be chosen for such a view without changing any answer.",
    )
    async def test_fed_views_answer_as_their_ledgers_own(self, backend: Backend) -> None:
        """Views that are given what another ledger folded answer as those beside it do."""
        other = await backend.another()
        await write_chronicle(backend)

        await feeding(backend, other).catch_up()

        await assert_alike(backend, other)

    @requirement(
        "view:apply:again",
        because="An answer may be lost, and several processes may project the same commits.",
    )
    async def test_applying_again_changes_nothing(self, backend: Backend) -> None:
        """What was applied before changes nothing, also in the middle of what is new."""
        other = await backend.another()
        for space in await write_chronicle(backend):
            made = await folded(backend.canon, space)
            for view in projections_of(other.canon).values():
                for each in made[: len(made) // 2]:
                    await view.apply([each])
                    await view.apply([each])
                await view.apply(made)

        await assert_alike(backend, other)

    @requirement(
        "view:apply:gap", because="A view that skips a commit tells something that never was."
    )
    async def test_a_gap_is_refused(self, backend: Backend) -> None:
        """Commits that do not follow the cursor are refused, and nothing of them shows."""
        scribe, other = Scribe(backend.canon), await backend.another()
        await scribe.make(a_fact("first"))
        await scribe.make(a_fact("second"))
        made = await folded(backend.canon, MIDDLE_EARTH)

        for view in projections_of(other.canon).values():
            with pytest.raises(Conflict, match=r"^view\.gap:"):
                await view.apply(made[1:])
            assert await view.cursor(MIDDLE_EARTH) == ORIGIN
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

        await assert_alike(backend, other)

    @requirement(
        "view:apply:as-it-is-now",
        because="A view that lags is brought up from the present state, not from every past one.",
    )
    async def test_a_view_that_lags_may_see_things_early(self, backend: Backend) -> None:
        """Projections may be given things as later commits left them."""
        other = await backend.another()
        for space in await write_chronicle(backend):
            made = await folded(backend.canon, space)
            for view in projections_of(other.canon).values():
                await view.apply(made)

        await assert_alike(backend, other)
