"""The contract of looking back: things as they were known, and nothing of what was erased."""

from canonry.domain.ids import SpaceId
from canonry.domain.log.canon import fold
from canonry.domain.log.commits import ORIGIN, Position
from canonry.domain.log.entries import Erased, Thing, Tombstone
from canonry.testing.conformance.answers import HISTORY
from canonry.testing.conformance.chronicle import write_chronicle
from canonry.testing.conformance.kit import Backend, Contract, requirement
from canonry.testing.scribe import Scribe
from canonry.testing.things import a_fact, ident


class HistoryContract(Contract):
    """Provide a fixture `backend` that yields an empty one."""

    @requirement(
        "state:history:as-known",
        because="Why something was decided shows only in what was known then.",
    )
    async def test_every_past_is_the_fold_of_its_prefix(self, backend: Backend) -> None:
        """`things_as_known_at` gives each thing as it stood after every single position."""
        written = await write_chronicle(backend)

        for space in written:
            things: dict[str, Thing] = {}
            log = await backend.canon.ledger.read(space, after=ORIGIN, limit=100)
            everything = set(await _ids(backend, space))
            for commit in log:
                things.update(fold(commit, things).things)
                past = await backend.canon.state.things_as_known_at(everything, commit.position)
                expected = {i: t for i, t in things.items() if isinstance(t, HISTORY)}
                assert {i: t for i, t in past.items() if isinstance(t, HISTORY)} == expected
            assert await backend.canon.state.things_as_known_at(everything, ORIGIN) == {}

    @requirement("state:history:erased", because="The past must not tell what the present forgot.")
    async def test_no_past_tells_what_was_erased(self, backend: Backend) -> None:
        """An erased thing is told by no past: there is its tombstone, or nothing."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        await scribe.make(a_fact("a right to be forgotten"))
        await scribe.make(a_fact("another"))
        target = ident("a right to be forgotten")
        await scribe.write(Erased(targets=(target,), reason="a right"))

        for position in range(4):
            past = await state.things_as_known_at([target], Position(position))
            assert all(isinstance(thing, Tombstone) for thing in past.values())
        now = await state.things([target])
        assert isinstance(now[target], Tombstone)


async def _ids(backend: Backend, space: SpaceId) -> set[str]:
    """Every id that the log of `space` names."""
    log = await backend.canon.ledger.read(space, after=ORIGIN, limit=100)
    things: dict[str, Thing] = {}
    for commit in log:
        things.update(fold(commit, things).things)
    return set(things)
