"""The contract of upkeep beside other instances: an operator's command never stands alone."""

import asyncio
from pathlib import Path

from canonry.domain.log.entries import Erased, Tombstone
from canonry.ports.views.state import FactQuery
from canonry.testing.conformance.answers import answers
from canonry.testing.conformance.chronicle import SECRET, write_chronicle
from canonry.testing.conformance.kit import Backend, Contract, present
from canonry.testing.conformance.requirements import requirement
from canonry.testing.conformance.upkeep import heads, keep_writing, quiet, traces, verified
from canonry.testing.scribe import Scribe
from canonry.testing.things import MIDDLE_EARTH, a_fact, ident


class SharedUpkeepContract(Contract):
    """For backends with `upkeep` that offer a `second` instance."""

    @requirement("upkeep:shared:verify-and-backup")
    async def test_what_the_other_writes_is_verified_and_copied(
        self, backend: Backend, tmp_path: Path
    ) -> None:
        """While it goes on writing."""
        other = await present(backend.second)()
        await write_chronicle(other)
        upkeep = present(backend.upkeep)

        seen, held, _ = await asyncio.gather(
            upkeep.verify(quiet), upkeep.backup(tmp_path / "copy", quiet), keep_writing(other, 30)
        )

        assert seen.findings == ()
        copy = await present(backend.open_backup)(tmp_path / "copy")
        assert dict(held) == await heads(copy)
        assert (await verified(copy)).findings == ()

    @requirement("upkeep:shared:rebuild")
    async def test_the_other_does_not_notice_a_rebuild(self, backend: Backend) -> None:
        """It reads the same all the time, and its writes are in the new views."""
        other = await present(backend.second)()
        await write_chronicle(other)
        facts = (await other.canon.state.facts(FactQuery())).total
        before = await answers(other.canon)
        rebuilding = asyncio.ensure_future(present(backend.upkeep).rebuild(quiet))
        while not rebuilding.done():
            assert (await other.canon.state.facts(FactQuery())).total == facts
            await asyncio.sleep(0)

        assert await answers(other.canon) == before
        await asyncio.gather(present(backend.upkeep).rebuild(quiet), keep_writing(other, 30))
        for one in (backend, other):
            assert (await one.canon.state.facts(FactQuery())).total == facts + 30
        assert (await verified(other)).findings == ()

    @requirement("upkeep:shared:purge")
    async def test_purge_leaves_no_trace_beside_an_open_instance(self, backend: Backend) -> None:
        """The other one wrote and read the text, and learns that it is gone."""
        other = await present(backend.second)()
        await write_chronicle(other)
        target = ident("secret")
        assert SECRET in repr(await other.canon.state.things([target]))
        await Scribe(backend.canon, "eraser").write(Erased(targets=(target,), reason="a right"))

        dropped = await present(backend.upkeep).purge(MIDDLE_EARTH, [target])

        assert dropped == 1
        assert traces(backend, SECRET) == []
        for one in (backend, other):
            assert isinstance((await one.canon.state.things([target]))[target], Tombstone)
            await Scribe(one.canon, f"after {id(one)}").make(a_fact(f"after {id(one)}"))
            assert (await verified(one)).findings == ()
