"""The contract of upkeep for commits of every size: what came at once is found like the rest."""

import asyncio
from collections.abc import Sequence

from canonry.domain.log.entries import Erased
from canonry.domain.recall.passages import Collection
from canonry.ports.views.text import TextQuery
from canonry.testing.conformance.chronicle import write_chronicle
from canonry.testing.conformance.kit import Backend, Contract, present
from canonry.testing.conformance.requirements import requirement
from canonry.testing.conformance.upkeep import keep_writing, quiet, verified
from canonry.testing.scribe import Scribe
from canonry.testing.things import MIDDLE_EARTH, a_snippet, ident

SIZES = (1, 127, 128, 5_000)
"""Passages in one commit: alone, and on both sides of where a backend may index them at once."""


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

    @requirement("upkeep:rebuild:commits-of-any-size")
    async def test_r1_a_rebuild_keeps_the_passages_of_commits_of_any_size(
        self, backend: Backend
    ) -> None:
        """Twice, and what is written afterwards is found and forgotten as before."""
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

    @requirement("upkeep:glance:agrees")
    async def test_r1_a_glance_finds_nothing_in_good_views(self, backend: Backend) -> None:
        """Of all kinds of entries and all sizes of commits."""
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
