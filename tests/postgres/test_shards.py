"""A space moves between servers while it is written to, and whatever ends on the way is whole."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from os import environ
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from canonry.app.backends.postgres import Shared, open_postgres
from canonry.app.doctor import report_nothing
from canonry.log.commits import ORIGIN, Appended
from canonry.stores.postgres import MovedSpace, ShardedStore
from canonry.testing.clocks import Scribe
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, creation_entries
from canonry.values.errors import Conflict, InvalidInput, Unavailable
from canonry.values.ids import SpaceId
from tests.cli.run import Done, run_canonry
from tests.conformance.kills import require_whole, written_while
from tests.conformance.postgres_store import BOTH, drop_data

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

STEPS = ("make_stage", "insert_staged", "record_move", "drop_stage", "delete_moved")
"""The steps of a mover, in order; it is killed before and after each."""

MOVER = """
import asyncio, os, signal, sys
from pathlib import Path
from canonry.stores.postgres.shards import move_space as moving
from canonry.stores.postgres.shards.servers import Directory
from canonry.app.backends.postgres import open_postgres
from canonry.app.doctor import report_nothing

schema, folder, space, target, step, when, *urls = sys.argv[1:]
owner = Directory if step == "record_move" else moving
real = getattr(owner, step)

async def killed(*args):
    if when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    done = await real(*args)
    os.kill(os.getpid(), signal.SIGKILL)
    return done

async def main():
    store = await open_postgres(
        urls[0], shards=urls, schema=schema, folder=Path(folder), connections=3
    )
    setattr(owner, step, killed)
    await store.mover.move_space(space, target, report_nothing)

asyncio.run(main())
"""


@dataclass(kw_only=True)
class Divided:
    """A store whose spaces are divided between two servers, opened as often as asked."""

    folder: Path
    closing: AsyncExitStack
    schema: str = field(default_factory=lambda: f"test_{uuid4().hex}")

    async def open_store(self) -> Shared:
        store = await open_postgres(
            BOTH[0], shards=BOTH, schema=self.schema, folder=self.folder, connections=6
        )
        self.closing.push_async_callback(store.close)
        return store

    def killed_at(self, step: str, when: str, target: str) -> int:
        """Move a space, kill the process at a step, and return its exit code."""
        words = (self.schema, str(self.folder), MIDDLE_EARTH, target, step, when, *BOTH)
        done = subprocess.run(
            [sys.executable, "-c", MOVER, *words],
            check=False,
            capture_output=True,
            env={**environ, "PYTHONPATH": "src"},
        )
        return done.returncode


@pytest.fixture
async def divided(tmp_path: Path) -> AsyncIterator[Divided]:
    if not all(BOTH):
        pytest.skip("no two PostgreSQL servers: `make servers` starts them")
    async with AsyncExitStack() as closing:
        opened = Divided(folder=tmp_path, closing=closing)
        closing.push_async_callback(drop_data, opened.schema, BOTH)
        yield opened


def shards_of(store: Shared) -> ShardedStore:
    assert isinstance(store.store, ShardedStore)
    return store.store


async def home_of(store: Shared) -> str:
    """The id of the server that the directory names."""
    return await shards_of(store).shards.directory.ask_directory(MIDDLE_EARTH)


async def other_server(store: Shared) -> str:
    """The name of the server that the space does not live on."""
    home = await home_of(store)
    servers = shards_of(store).shards.servers.values()
    return next(each.name for each in servers if each.id != home)


async def move_space(store: Shared, target: str, space: SpaceId = MIDDLE_EARTH) -> MovedSpace:
    assert store.mover is not None
    done = await store.mover.move_space(space, target, report_nothing)
    assert done is not None
    return done


async def write_commits(store: Shared, *names: str) -> set[str]:
    """The ids of commits that were acknowledged, one for each name."""
    ids: set[str] = set()
    for name in names:
        draft = Scribe(store.canon, name).next_append(creation_entries(a_fact(name)))
        (outcome,) = await Scribe(store.canon, name).append_batch([draft])
        assert isinstance(outcome, Appended)
        ids.add(draft.draft.id)
    return ids


async def test_a_space_moved_during_writes_loses_nothing(
    divided: Divided,
) -> None:
    mine, theirs = await divided.open_store(), await divided.open_store()
    await write_commits(mine, "first")

    async def harm() -> None:
        await move_space(mine, await other_server(mine))

    acknowledged = await written_while(theirs.canon, harm)

    await require_whole(mine.canon, mine.maintenance, acknowledged)
    await require_whole(theirs.canon, theirs.maintenance, acknowledged)
    assert await mine.canon.ledger.head_position(MIDDLE_EARTH) == len(acknowledged) + 1


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
async def test_a_killed_move_leaves_the_space_whole_and_is_resumed(
    divided: Divided, step: str, when: str
) -> None:
    store = await divided.open_store()
    before = await write_commits(store, *(f"before {n}" for n in range(5)))
    target = await other_server(store)

    assert await asyncio.to_thread(divided.killed_at, step, when, target) == -9
    meanwhile = await write_commits(store, "meanwhile")
    is_there = await other_server(store) != target
    if not is_there:
        await move_space(store, target)

    assert await other_server(store) != target
    assert is_there == (STEPS.index(step) > 2 or (step, when) == ("record_move", "after"))
    after = await write_commits(store, "after")
    again = await divided.open_store()
    await require_whole(again.canon, again.maintenance, before | meanwhile | after)


async def test_a_writer_with_an_outdated_shard_writes_nothing_there(
    divided: Divided,
) -> None:
    store, stale = await divided.open_store(), await divided.open_store()
    kept = await write_commits(store, "kept")
    await write_commits(stale, "known")
    old = shards_of(stale).shards.servers[await home_of(stale)]
    await move_space(store, await other_server(store))

    draft = Scribe(stale.canon, "late").next_append(creation_entries(a_fact("late")))
    with pytest.raises(Unavailable) as refused:
        await old.store.ledger.append_drafts([draft])

    assert refused.value.code == "space.moved"
    assert await old.store.ledger.head_position(MIDDLE_EARTH) == ORIGIN
    late = await write_commits(stale, "late")
    await require_whole(store.canon, store.maintenance, kept | late)


async def test_two_movers_of_one_space_do_not_collide(divided: Divided) -> None:
    mine, theirs = await divided.open_store(), await divided.open_store()
    kept = await write_commits(mine, *(f"kept {n}" for n in range(20)))
    target = await other_server(mine)

    outcomes = await asyncio.gather(
        move_space(mine, target), move_space(theirs, target), return_exceptions=True
    )

    assert sorted(type(each).__name__ for each in outcomes) == ["Conflict", "MovedSpace"]
    (refused,) = (each for each in outcomes if isinstance(each, Conflict))
    assert refused.code == "space.moving"
    await require_whole(theirs.canon, theirs.maintenance, kept)


async def test_data_erased_during_a_move_is_on_neither_server(divided: Divided) -> None:
    store, other = await divided.open_store(), await divided.open_store()
    kept = await write_commits(store, *(f"kept {n}" for n in range(20)))
    fact = a_fact("the word that goes")
    gone = Scribe(store.canon, "gone").next_append(creation_entries(fact))
    await Scribe(store.canon, "gone").append_batch([gone])
    target, under_way = await other_server(store), asyncio.Event()
    assert await count_holding(store, "the word that goes") == 1

    async def move() -> None:
        assert store.mover is not None
        await store.mover.move_space(MIDDLE_EARTH, target, lambda *_: under_way.set())

    async def erase() -> None:
        await under_way.wait()
        assert await other.maintenance.purge(MIDDLE_EARTH, [str(fact.id)]) == 1

    await asyncio.gather(move(), erase())

    assert await count_holding(store, "the word that goes") == 0
    assert await other_server(store) != target
    await require_whole(store.canon, store.maintenance, kept)


async def count_holding(store: Shared, words: str) -> int:
    """Return the number of commits with these words on all servers."""
    found = 0
    for server in shards_of(store).shards.servers.values():
        rows = await server.database.fetch_rows("SELECT to_jsonb(c)::text FROM commits c")
        found += sum(words.encode().hex() in row for (row,) in rows)
    return found


async def test_spaces_on_both_servers_are_read_as_one_store(divided: Divided) -> None:
    store = await divided.open_store()
    assert store.mover is not None
    names = [f"world {n}" for n in range(30)]  # by chance, all on one server: 1 in 2^29
    await Scribe(store.canon).open_spaces(*names)
    placed = await store.mover.list_servers()
    assert [each.name for each in placed] == names
    assert len({each.server for each in placed}) == 2

    first, *rest = placed
    target = next(each.server for each in rest if each.server != first.server)
    await move_space(store, target, first.id)

    seen = await (await divided.open_store()).canon.state.spaces(
        kind=None, parent=None, limit=50, offset=0
    )
    assert [each.id for each in seen.items] == [each.id for each in placed]
    assert (await store.mover.list_servers())[0].server == target
    with pytest.raises(InvalidInput) as refused:
        await store.mover.move_space(first.id, "nowhere:1/none", report_nothing)
    assert refused.value.code == "shards.unknown"
    assert target in str(refused.value)


async def test_the_command_lists_spaces_and_moves_one_by_name(divided: Divided) -> None:
    store = await divided.open_store()
    assert store.mover is not None
    await Scribe(store.canon).open_spaces("Saltmere", "Marrow")
    (salt, _) = await store.mover.list_servers()
    names = [each.name for each in shards_of(store).shards.servers.values()]
    (target,) = (name for name in names if name != salt.server)

    def run(*words: str) -> Done:
        environment = {
            "CANONRY_RECORDS_SHARDS": ",".join(map(without_password, BOTH)),
            "CANONRY_POSTGRES_SCHEMA": divided.schema,
            "CANONRY_DATA": str(divided.folder),
            "PGPASSWORD": urlsplit(BOTH[0]).password or "",
        }
        return run_canonry("move-space", *words, environment=environment)

    listed = await asyncio.to_thread(run)
    assert f"{salt.id}  {salt.server}  universe Saltmere" in listed.stdout, listed.stderr
    done = await asyncio.to_thread(run, "saltmere", "--to", target)
    assert f"moved 1 commits from {salt.server} to {target}" in done.stdout, done.stderr
    again = await asyncio.to_thread(run, salt.id, "--to", target)
    assert "already" in again.stdout
    unknown = await asyncio.to_thread(run, "Nowhere", "--to", target)
    assert unknown.returncode == 3
    assert "space.unknown" in unknown.stderr


def without_password(url: str) -> str:
    parts = urlsplit(url)
    return f"postgresql://{parts.username}@{parts.hostname}:{parts.port}{parts.path}"
