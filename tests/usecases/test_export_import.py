"""Export and import of the log: the same bytes, a whole file or none of it, and resumable."""

import json
from collections.abc import Iterable, Sequence

import pytest
from typing_extensions import override

from canonry.app.compose import compose_memory
from canonry.canon.commands.universes import create_universe
from canonry.canon.maintenance.log_transfer import ImportedLog, export_log, import_log
from canonry.canon.session.canon import Canon
from canonry.log.ports.ledger import Ledger, Sealer
from canonry.log.sealing import Sealed
from canonry.stores.memory import MemoryLedger, MemoryStore
from canonry.testing.clocks import CountingIdentities, HandClock, a_caller
from canonry.values.errors import Conflict, InvalidInput, Unavailable
from canonry.values.ids import SpaceId, SpaceKind

pytestmark = pytest.mark.anyio


def ignore_progress(done: int, total: int | None) -> None:
    """Ignore progress, because no test watches it."""


async def a_world(prefix: int = 0, names: Sequence[str] = ("North", "Süd", "\u2028")) -> Canon:
    canon = compose_memory(clock=HandClock(), identities=CountingIdentities(prefix))
    for name in names:
        await create_universe(
            canon,
            a_caller(),
            kind=SpaceKind.UNIVERSE,
            name=name,
            description="",
            properties={},
        )
    return canon


async def export_lines(canon: Canon) -> list[bytes]:
    return [line async for line in export_log(canon.ledger, ignore_progress)]


async def import_lines(ledger: Ledger, lines: Iterable[bytes]) -> ImportedLog:
    kept = list(lines)
    return await import_log(ledger, lambda: kept, ignore_progress)


async def test_a_round_trip_gives_the_same_bytes() -> None:
    lines = await export_lines(await a_world())
    copy = compose_memory()
    report = await import_lines(copy.ledger, lines)

    assert await export_lines(copy) == lines
    assert (report.spaces, report.commits, report.known) == (3, 3, 0)
    spaces = await copy.state.spaces(kind=None, parent=None, limit=10, offset=0)
    assert {space.name for space in spaces.items} >= {"North", "Süd"}


async def test_the_lines_follow_the_format() -> None:
    lines = await export_lines(await a_world())
    head, *commits, manifest = map(json.loads, lines)

    assert head == {"format": "canonry-log", "version": 1}
    assert [each["space"] for each in commits] == sorted(each["space"] for each in commits)
    assert set(commits[0]) == {"space", "position", "id", "recorded_at", "hash", "body", "parts"}
    assert manifest["manifest"]["commits"] == 3
    assert manifest["manifest"]["heads"][commits[0]["space"]] == [1, commits[0]["hash"]]


async def test_an_empty_log_is_exported_and_imported_too() -> None:
    lines = await export_lines(compose_memory())
    copy = compose_memory()

    assert (await import_lines(copy.ledger, lines)).commits == 0
    assert len(lines) == 2


async def test_importing_twice_adds_nothing() -> None:
    lines = await export_lines(await a_world())
    copy = compose_memory()
    await import_lines(copy.ledger, lines)

    assert (await import_lines(copy.ledger, lines)).known == 3
    assert await export_lines(copy) == lines


def damage_line(lines: list[bytes], number: int, old: bytes, new: bytes) -> list[bytes]:
    assert old in lines[number - 1]
    changed = lines[number - 1].replace(old, new, 1)
    return [*lines[: number - 1], changed, *lines[number:]]


@pytest.mark.parametrize(
    ("number", "old", "new"),
    [
        (1, b"canonry-log", b"something"),
        (2, b"North", b"South"),
        (3, b'"salt":"', b'"salt":"00'),
        (3, b'"position":1', b'"position":2'),
        (2, b'{"body"', b'{"bodi"'),
        (4, b"}", b""),
        (5, b'"commits"', b'"commits'),
    ],
)
async def test_a_damaged_file_is_refused_with_its_line(number: int, old: bytes, new: bytes) -> None:
    lines = damage_line(await export_lines(await a_world()), number, old, new)
    copy = compose_memory()

    with pytest.raises(InvalidInput, match=f"Line {number} ") as caught:
        await import_lines(copy.ledger, lines)

    assert caught.value.code == "import.damaged"
    assert not await copy.ledger.list_heads(limit=10)


@pytest.mark.parametrize("kept", [0, 1, 3, 4])
async def test_a_truncated_file_is_refused(kept: int) -> None:
    lines = (await export_lines(await a_world()))[:kept]
    copy = compose_memory()

    with pytest.raises(InvalidInput, match="cut off"):
        await import_lines(copy.ledger, lines)

    assert not await copy.ledger.list_heads(limit=10)


async def test_a_missing_commit_is_noticed() -> None:
    lines = await export_lines(await a_world())

    with pytest.raises(InvalidInput, match="commits are missing"):
        await import_lines(compose_memory().ledger, [*lines[:2], *lines[3:]])


async def test_lines_after_the_manifest_are_refused() -> None:
    lines = await export_lines(await a_world())

    with pytest.raises(InvalidInput, match="after the manifest"):
        await import_lines(compose_memory().ledger, [*lines, lines[1]])


async def test_a_newer_format_is_refused_as_such() -> None:
    lines = damage_line(await export_lines(await a_world()), 1, b'"version":1', b'"version":2')

    with pytest.raises(InvalidInput, match="newer Canonry"):
        await import_lines(compose_memory().ledger, lines)


async def test_a_different_past_is_refused_and_nothing_is_written() -> None:
    lines = await export_lines(await a_world(names=("North", "South")))
    other = await a_world(names=("North", "Elsewhere"))
    before = await export_lines(other)

    with pytest.raises(Conflict, match="another history"):
        await import_lines(other.ledger, lines)

    assert await export_lines(other) == before


class StoppingLedger(MemoryLedger):
    """A ledger whose process ends after some restored batches."""

    batches = 1

    @override
    async def restore_commits(
        self, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None = None
    ) -> None:
        if self.batches == 0:
            raise Unavailable("ledger.closed", "the process ends here")
        self.batches -= 1
        await super().restore_commits(sealed, touched)


async def test_an_interrupted_import_continues() -> None:
    lines = await export_lines(await a_world())
    ledger = StoppingLedger(MemoryStore(), Sealer(HandClock(), CountingIdentities()))
    with pytest.raises(Unavailable):
        await import_lines(ledger, lines)

    ledger.batches = 5
    report = await import_lines(ledger, lines)

    assert report.known == 1
    assert [line async for line in export_log(ledger, ignore_progress)] == lines
    assert await ledger.head_position(SpaceId(json.loads(lines[1])["space"])) == 1
