"""The contract of upkeep beside other instances, and for what came in at once or bit by bit."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from canonry.log.entries import Erased, Tombstone
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.state import FactQuery
from canonry.readmodels.ports.text import TextQuery
from canonry.testing.conformance.answers import answers
from canonry.testing.conformance.chronicle import SECRET, write_chronicle
from canonry.testing.conformance.kit import Backend, Contract, present, requirement
from canonry.testing.conformance.upkeep import heads, keep_writing, quiet, traces, verified
from canonry.testing.scribe import Scribe
from canonry.testing.things import MIDDLE_EARTH, a_fact, a_snippet, ident

SIZES = (1, 127, 128, 5_000)
"""Passages in one commit: alone, and on both sides of where a backend may index them at once."""


class SharedUpkeepContract(Contract):
    """For backends with `upkeep` that offer a `second` instance."""

    @requirement(
        "upkeep:shared:verify-and-backup",
        because="An operator's command is a process beside the servers.",
    )
    async def test_what_the_other_writes_is_verified_and_copied(
        self, backend: Backend, tmp_path: Path
    ) -> None:
        """What another instance wrote is verified and backed up like one's own."""
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

    @requirement(
        "upkeep:shared:rebuild", because="Agents must not notice that somebody repairs the views."
    )
    async def test_the_other_does_not_notice_a_rebuild(self, backend: Backend) -> None:
        """Another instance answers alike during and after a rebuild, and goes on writing."""
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

    @requirement(
        "upkeep:shared:purge", because="The servers keep running while an operator erases."
    )
    async def test_purge_leaves_no_trace_beside_an_open_instance(self, backend: Backend) -> None:
        """A purge leaves no trace though another instance has the store open and read it."""
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


async def write_sizes(backend: Backend, name: str = "") -> None:
    """One commit of each size; the passages of each have a word of their own."""
    for size in SIZES:
        said = [
            a_snippet(f"{name}{size}/{n}", text=f"oak{name}{size} leaf{name}{size}n{n}")
            for n in range(size)
        ]
        await Scribe(backend.canon, f"{name}{size}").make(*said)


async def found(backend: Backend, name: str = "") -> Sequence[int]:
    """How many passages of each size are found by their word, and the last one by its own."""
    told: list[int] = []
    for size in SIZES:
        for words in (f"oak{name}{size}", f"leaf{name}{size}n{size - 1}"):
            query = TextQuery(collection=Collection.SNIPPETS, text=words, limit=6_000)
            told.append(len((await backend.canon.text.search(query)).hits))
    return told


class SizesContract(Contract):
    """For backends that offer `upkeep`."""

    @requirement(
        "upkeep:rebuild:commits-of-any-size",
        because="What is brought in at once takes another way into an index than what trickles.",
    )
    async def test_r1_a_rebuild_keeps_the_passages_of_commits_of_any_size(
        self, backend: Backend
    ) -> None:
        """Rebuilt views find every passage of commits of 1, 127, 128 and 5,000 passages.

        After further commits as well.
        """
        await write_sizes(backend)
        before = await found(backend)

        for _ in range(2):
            await present(backend.upkeep).rebuild(quiet)
            assert await found(backend) == before
            assert (await verified(backend)).findings == ()

        await write_sizes(backend, "late")
        assert await found(backend, "late") == before
        target = ident("5000/4999")
        await Scribe(backend.canon, "eraser").write(Erased(targets=(target,), reason="a right"))
        await present(backend.upkeep).purge(MIDDLE_EARTH, [target])
        assert (await found(backend))[-2] == before[-2] - 1
        assert (await verified(backend)).findings == ()

    @requirement(
        "upkeep:glance:agrees", because="It is looked at after every backup, and must not cry wolf."
    )
    async def test_r1_a_glance_finds_nothing_in_good_views(self, backend: Backend) -> None:
        """`glance` finds nothing in good views, also while passages wait and while others write.

        After a rebuild and after a purge as well.
        """
        glance = present(backend.upkeep).glance
        assert await glance() == ()
        await write_chronicle(backend)
        assert await glance() == ()
        await write_sizes(backend)
        assert await glance() == ()
        await present(backend.upkeep).rebuild(quiet)
        assert await glance() == ()
        targets = (ident("secret"), ident("turn 1"), ident("dream"), ident("at home"))
        await Scribe(backend.canon, "eraser").write(Erased(targets=targets, reason="a right"))
        await present(backend.upkeep).purge(MIDDLE_EARTH, targets)

        _, *seen = await asyncio.gather(keep_writing(backend, 40), *(glance() for _ in range(5)))

        assert set(seen) == {()}
