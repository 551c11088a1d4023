"""Commands that look work on a disk that is full, and on one that cannot be written."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from canonry.app.embedded import Embedded, open_embedded
from canonry.testing.clocks import an_append
from canonry.testing.example_items import a_space, a_turn, creation_entries
from canonry.values.errors import Unavailable
from tests.cli.run import SOURCE, canonry_process, run_canonry
from tests.cli.test_store_commands import SESSION

DIED = 9
DYING = f"""
import asyncio, os, sys
from pathlib import Path
from canonry.app.embedded import open_embedded
from canonry.testing.clocks import an_append
from canonry.testing.example_items import creation_entries
from canonry.testing.example_items import a_space

async def main():
    store = await open_embedded(Path(sys.argv[1]))
    await store.canon.ledger.append_drafts([an_append("last", creation_entries(a_space()))])
    os._exit({DIED})

asyncio.run(main())
"""
"""A server that dies; what it has committed last is in the write-ahead log alone."""

ROOM = 1024 * 1024 * 4


def can_mount(*words: str) -> bool:
    mount = shutil.which("mount")
    if mount is None:
        return False
    return subprocess.run([mount, *words], capture_output=True, check=False).returncode == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    if not can_mount("-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(place)):
        pytest.skip("no disk can be mounted here: that takes Linux and its superuser")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def data(disk: Path) -> Path:
    """A store on that disk."""
    session = disk.parent / "session.json"
    session.write_text(json.dumps(SESSION), encoding="utf-8")
    known = ("--universe", "Home", "--data", str(disk / "data"))
    done = run_canonry("import", "transcript", str(session), *known)
    assert done.returncode == 0, done.stderr
    return disk / "data"


def fill_disk(disk: Path) -> None:
    """Leave no byte of it free."""
    with (disk / "filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return


def looked_at(data: Path, aside: Path) -> None:
    """Everything that only looks does so, and says nothing of a defect."""
    for words in (
        ("verify",),
        ("export", str(aside / "log.jsonl"), "--files", str(aside / "files")),
        ("backup", str(aside / "backup")),
        ("verify", "--against", str(aside / "backup" / "manifest.json")),
    ):
        done = run_canonry(*words, "--data", str(data))
        assert done.returncode == 0, (words, done.stdout, done.stderr)
    doctor = run_canonry("doctor", "--data", str(data))
    assert "cannot be opened" not in doctor.stdout
    assert "integrity" in doctor.stdout
    copied = run_canonry("verify", "--data", str(aside / "backup"))
    assert (copied.returncode, "all is well" in copied.stdout) == (0, True)
    rebuilt = run_canonry("rebuild", "--data", str(data))
    assert rebuilt.returncode in {3, 4}
    assert "defect" not in rebuilt.stderr


def test_a_store_on_a_full_disk_is_inspected(disk: Path, data: Path, tmp_path: Path) -> None:
    fill_disk(disk)

    looked_at(data, tmp_path)


def test_a_store_on_a_read_only_disk_is_inspected(disk: Path, data: Path, tmp_path: Path) -> None:
    assert can_mount("-o", "remount,ro", str(disk))

    looked_at(data, tmp_path)


@pytest.mark.parametrize("full", [False, True])
def test_an_unclosed_store_is_inspected_in_place(disk: Path, data: Path, full: bool) -> None:
    before = run_canonry("export", "--data", str(data)).stdout.count("\n")
    killed = subprocess.run(
        [sys.executable, "-c", DYING, str(data)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        check=False,
    )
    assert killed.returncode == DIED
    assert (data / "canon.db-wal").stat().st_size > 0
    if full:
        fill_disk(disk)
    else:
        assert can_mount("-o", "remount,ro", str(disk))

    done = run_canonry("export", "--data", str(data))

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == before + 1


def test_a_catalog_is_served_from_a_read_only_disk(disk: Path, data: Path) -> None:
    assert can_mount("-o", "remount,ro", str(disk))

    done = canonry_process("serve", "--toolsets", "catalog", "--data", str(data))

    assert (done.returncode, "defect" in done.stderr, "cannot" in done.stderr) == (0, False, False)


async def write_without_end(store: Embedded) -> None:
    for n in range(500):
        turn = a_turn(f"turn {n}", text=f"{n} " * 5_000)
        await store.canon.ledger.append_drafts([an_append(f"{n}", creation_entries(turn))])


@pytest.mark.anyio
async def test_a_server_stops_quietly_on_a_full_disk(disk: Path) -> None:
    store = await open_embedded(disk / "data")
    await store.canon.ledger.append_drafts([an_append("space", creation_entries(a_space()))])
    fill_disk(disk)
    with pytest.raises(Unavailable):
        await write_without_end(store)

    await store.close()
    (disk / "filler").unlink()
    again = await open_embedded(disk / "data")
    assert (await again.maintenance.verify(lambda done, total: None)).findings == ()
    await again.close()
