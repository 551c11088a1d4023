"""Appends that wait for one space are inserted together, and differ for nobody but in time."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from pymongo.errors import AutoReconnect

from canonry.app.backends.servers import canon_over_copy
from canonry.log.commits import ORIGIN, Appended, Outcome, Position, PredictedKeys, Stale
from canonry.log.folding import item_key, key_hash
from canonry.log.ports.world import enter_scope
from canonry.log.sealing import ENCODING_VERSION, GENESIS, fault_in
from canonry.stores.mongodb import MongoDatabase, MongoLedger
from canonry.stores.projections.projector import Follower, join_views
from canonry.testing.clocks import CountingIdentities, HandClock, Scribe
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, creation_entries, uuid_of
from canonry.values.errors import BrokenInvariant, InvalidInput
from canonry.values.ids import CommitId
from tests.conformance.mongodb_store import URL, drop_data, require_server
from tests.conformance.test_memory import open_memory
from tests.conformance.test_mixed import erase_nothing
from tests.mongodb.test_trips_of_calls import Commands, heard_by

pytestmark = pytest.mark.anyio


class Store:
    """One database, opened as often as one likes."""

    def __init__(self, closing: AsyncExitStack) -> None:
        self.name = f"test_{uuid4().hex}"
        self._closing = closing
        self._opened = 0

    async def open_database(self) -> MongoDatabase:
        opened = MongoDatabase(URL, self.name)
        self._closing.push_async_callback(opened.close)
        await opened.open()
        return opened

    async def open_ledger(self) -> MongoLedger:
        self._opened += 1
        identities = CountingIdentities(prefix=self._opened)
        return MongoLedger(await self.open_database(), HandClock(), identities)

    async def open_scribe(self, ledger: MongoLedger, name: str = "scribe") -> Scribe:
        """Somebody who writes there, and whose views are in memory."""
        copy = (await open_memory()).canon
        follower = Follower(log=ledger, copy=copy.ledger, purge=erase_nothing)
        self._closing.push_async_callback(follower.await_erasures)
        return Scribe(
            join_views(canon_over_copy(copy, ledger, follower), copied=copy.ledger).canon, name
        )


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    require_server()
    async with AsyncExitStack() as closing:
        opened = Store(closing)
        closing.push_async_callback(drop_data, opened.name)
        yield opened


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Commands:
    return heard_by(Commands(), monkeypatch)


async def require_chain(ledger: MongoLedger, length: int) -> None:
    sealed = await ledger.read_sealed(MIDDLE_EARTH, after=ORIGIN, limit=1000)
    previous = GENESIS
    for position, each in enumerate(sealed, 1):
        assert fault_in(each, position=position, previous=previous) is None  # type: ignore[arg-type]
        previous = each.hash
    assert len(sealed) == length


class LosesAnswers:
    """A collection of which the first insert writes so many documents, and answers nothing."""

    def __init__(self, collection: Any, written: int) -> None:
        self._collection = collection
        self._written: int | None = written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._collection, name)

    async def insert_many(self, documents: Sequence[Any], **more: Any) -> None:
        written, self._written = self._written, None
        if written is None:
            await self._collection.insert_many(documents, **more)
            return
        if written:
            await self._collection.insert_many(documents[:written], **more)
        raise AutoReconnect("the line was cut")


class Slow:
    """A collection of which inserts wait until they may go on."""

    def __init__(self, collection: Any) -> None:
        self._collection = collection
        self.asked, self.goes_on = asyncio.Event(), asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._collection, name)

    async def insert_many(self, documents: Sequence[Any], **more: Any) -> None:
        self.asked.set()
        await self.goes_on.wait()
        await self._collection.insert_many(documents, **more)


async def test_waiting_drafts_are_inserted_together(store: Store, commands: Commands) -> None:
    ledger = await store.open_ledger()
    scribe = await store.open_scribe(ledger)
    await scribe.make_items(a_fact("first"))
    drafts = [scribe.next_append(creation_entries(a_fact(f"fact {n}"))) for n in range(40)]
    before = commands.named["insert"]
    slow = ledger._appender._latest = Slow(ledger._appender._latest)  # type: ignore[assignment]

    calls = [asyncio.ensure_future(scribe.append_batch([draft])) for draft in drafts]
    await slow.asked.wait()
    waiting = ledger._queues._spaces[MIDDLE_EARTH].waiting
    for _look in range(1000):
        await asyncio.sleep(0.01)
        if len(waiting) == 39:
            break
    slow.goes_on.set()
    answers = await asyncio.gather(*calls)

    positions = [each.position for (each,) in answers if isinstance(each, Appended)]
    assert sorted(positions) == list(range(2, 42))
    assert commands.named["insert"] - before == 2
    await require_chain(ledger, 41)


async def test_one_of_several_drafts_on_the_same_item_is_first(store: Store) -> None:
    ledger = await store.open_ledger()
    scribe = await store.open_scribe(ledger)
    key = item_key(uuid_of("throne"))
    first, second = [
        [
            replace(
                scribe.next_append(creation_entries(a_fact("throne", f"heir {n}"))),
                reads=frozenset((key,)),
            )
            for n in range(few, few + 4)
        ]
        for few in (0, 4)
    ]
    others = [scribe.next_append(creation_entries(a_fact(f"other {n}"))) for n in range(4)]

    answers = await asyncio.gather(*(scribe.append_batch([d]) for d in (*first, *others, *second)))

    found = [type(outcome) for (outcome,) in answers]
    assert found[4:8] == [Appended] * 4
    assert (found.count(Appended), found.count(Stale)) == (5, 7)
    await require_chain(ledger, 5)


async def test_an_unwritable_draft_stops_no_other(store: Store) -> None:
    ledger = await store.open_ledger()
    scribe = await store.open_scribe(ledger)
    drafts = [scribe.next_append(creation_entries(a_fact(f"fact {n}"))) for n in range(9)]
    drafts[4] = replace(drafts[4], draft=replace(drafts[4].draft, id=CommitId("\ud800")))

    answers = await asyncio.gather(
        *(scribe.append_batch([draft]) for draft in drafts), return_exceptions=True
    )

    (refused,) = [each for each in answers if isinstance(each, BaseException)]
    assert isinstance(refused, InvalidInput)
    await require_chain(ledger, 8)


@pytest.mark.parametrize("written", [0, 1, 3, 6])
async def test_after_a_lost_group_answer_each_draft_gets_its_own(
    store: Store, written: int
) -> None:
    ledger = await store.open_ledger()
    scribe = await store.open_scribe(ledger)
    await scribe.make_items(a_fact("first"))
    groups = [
        [scribe.next_append(creation_entries(a_fact(f"fact {n}/{k}"))) for k in range(2)]
        for n in range(3)
    ]
    appender = ledger._appender
    appender._latest = LosesAnswers(appender._latest, written)  # type: ignore[assignment]

    answers = await asyncio.gather(*(scribe.append_batch(group) for group in groups))

    listed = [each for answer in answers for each in answer if isinstance(each, Appended)]
    assert sorted((each.position, each.replayed) for each in listed) == [
        (n, False) for n in range(2, 8)
    ]
    await require_chain(ledger, 7)
    for group, answer in zip(groups, answers, strict=True):
        for draft, outcome in zip(group, answer, strict=True):
            found = await ledger.find_commit(draft.draft.id)
            assert found is not None
            assert isinstance(outcome, Appended)
            assert found.position == outcome.position


async def test_a_late_draft_is_not_reported_as_stale(store: Store) -> None:
    ledger, other = await store.open_ledger(), await store.open_ledger()
    scribe, theirs = await store.open_scribe(ledger), await store.open_scribe(other, "theirs")
    await scribe.make_items(a_fact("first"))
    key = item_key(uuid_of("throne"))
    draft = replace(
        scribe.next_append(creation_entries(a_fact("heir"))),
        reads=frozenset((key,)),
        judged_at=Position(1),
    )
    appender = ledger._appender

    class Overtaken(LosesAnswers):
        """Others change what the draft rests on, once it was written and nobody knows."""

        async def insert_many(self, documents: Sequence[Any], **more: Any) -> None:
            try:
                await super().insert_many(documents, **more)
            except AutoReconnect:
                await theirs.make_items(a_fact("throne"))
                raise

    class Late:
        """A collection of which the first question finds nothing."""

        def __init__(self, collection: Any) -> None:
            self._collection, self._asked = collection, False

        def find(self, asked: Any, *more: Any) -> Any:
            first, self._asked = not self._asked, True
            return self._collection.find({"_id": "nothing"} if first else asked, *more)

    appender._latest = Overtaken(appender._latest, 1)  # type: ignore[assignment]
    appender._commits = Late(appender._commits)  # type: ignore[assignment]

    (outcome,) = await scribe.append_batch([draft])

    assert isinstance(outcome, Appended)
    assert (outcome.position, outcome.replayed) == (2, False)
    await require_chain(ledger, 3)


async def test_a_draft_written_by_others_stops_no_other_of_its_group(store: Store) -> None:
    ledger, other = await store.open_ledger(), await store.open_ledger()
    scribe, theirs = await store.open_scribe(ledger), await store.open_scribe(other)
    await scribe.make_items(a_fact("first"))
    drafts = [scribe.next_append(creation_entries(a_fact(f"fact {n}"))) for n in range(4)]
    await theirs.append_batch([drafts[2]])
    await theirs.append_batch([drafts[0]])

    answers = await asyncio.gather(*(scribe.append_batch([draft]) for draft in drafts))

    replayed = [each.replayed for (each,) in answers if isinstance(each, Appended)]
    assert replayed == [True, False, True, False]
    await require_chain(ledger, 5)


async def test_a_draft_cancelled_before_the_lock_is_not_written(store: Store) -> None:
    ledger, other = await store.open_ledger(), await store.open_ledger()
    scribe = await store.open_scribe(ledger)
    drafts = [scribe.next_append(creation_entries(a_fact(f"fact {n}"))) for n in range(6)]
    async with other.lock_appends():
        calls = [asyncio.ensure_future(scribe.append_batch([draft])) for draft in drafts]
        await asyncio.sleep(0.05)
        for call in calls[::2]:
            call.cancel()
        await asyncio.gather(*calls[::2], return_exceptions=True)
    await asyncio.gather(*calls[1::2])

    found = [await ledger.find_commit(draft.draft.id) is not None for draft in drafts]
    assert found == [False, True] * 3


async def test_two_processes_writing_in_groups_make_one_log(store: Store) -> None:
    ledgers = [await store.open_ledger() for _ in range(2)]
    scribes = [await store.open_scribe(each, f"scribe {n}") for n, each in enumerate(ledgers)]

    async def write(n: int, scribe: Scribe) -> list[Outcome]:
        drafts = [scribe.next_append(creation_entries(a_fact(f"fact {n}/{k}"))) for k in range(20)]
        answers = await asyncio.gather(*(scribe.append_batch([draft]) for draft in drafts))
        return [each for (each,) in answers]

    both = await asyncio.gather(*(write(n, each) for n, each in enumerate(scribes)))

    found = [each.position for one in both for each in one if isinstance(each, Appended)]
    assert sorted(found) == list(range(1, 41))
    await require_chain(ledgers[0], 40)


async def test_own_writes_are_reported_without_a_query(store: Store, commands: Commands) -> None:
    ledger = await store.open_ledger()
    scribe = await store.open_scribe(ledger)
    start = await ledger.touched_since(0, limit=100)
    await scribe.make_items(a_fact("ring", "ann"))
    commands.named.clear()

    answer = await ledger.touched_since(start.cursor, limit=100)
    again = await ledger.touched_since(answer.cursor, limit=100)

    assert answer.keys is not None
    assert key_hash(item_key(uuid_of("ring"))) in answer.keys
    assert answer.reached == {MIDDLE_EARTH: 1}
    assert again.keys == frozenset()
    assert commands.named == {"count": 2}


@pytest.mark.parametrize("ours", [0, 1, 2])
async def test_concurrent_writes_of_others_are_reported_too(store: Store, ours: int) -> None:
    ledger, other = await store.open_ledger(), await store.open_ledger()
    scribe, theirs = (
        await store.open_scribe(ledger, "ours"),
        await store.open_scribe(other, "theirs"),
    )
    start = await ledger.touched_since(0, limit=100)
    waiting = [asyncio.ensure_future(scribe.make_items(a_fact(f"ours {n}"))) for n in range(ours)]
    await theirs.make_items(a_fact("theirs"))
    seen = set[int]()
    cursor = start.cursor
    while not all(each.done() for each in waiting):
        touched = await ledger.touched_since(cursor, limit=100)
        cursor, seen = touched.cursor, seen | set(touched.keys or ())
    touched = await ledger.touched_since(cursor, limit=100)

    wanted = {"theirs", *(f"ours {n}" for n in range(ours))}
    assert {key_hash(item_key(uuid_of(each))) for each in wanted} <= seen | set(touched.keys or ())


async def test_a_writing_call_asks_for_the_version_gate_first(
    store: Store, commands: Commands
) -> None:
    ledger = await store.open_ledger()
    scribe = await store.open_scribe(ledger)
    here = (await scribe.make_items(a_fact("first"))).position
    result = PredictedKeys(touched=frozenset(("something",)), over=frozenset(), at=here)
    drafts = [
        replace(
            scribe.next_append(creation_entries(a_fact(f"fact {n}"))),
            predicted=result,
            judged_at=here,
        )
        for n in range(3)
    ]
    loop = asyncio.get_running_loop()
    commands.named.clear()

    with enter_scope(loop.time() + 30, writes=True):
        await ledger.touched_since(0, limit=1)
        for draft in drafts:
            await ledger.append_drafts([draft])

    assert (commands.named["find"], commands.named["insert"]) == (1, 3)


async def test_the_version_gate_is_read_again_in_each_exclusive_block(
    store: Store,
) -> None:
    ledger = await store.open_ledger()
    scribe = await store.open_scribe(ledger)
    draft = scribe.next_append(creation_entries(a_fact("other")))
    begun, wanted = asyncio.Event(), asyncio.Event()

    async def call() -> Sequence[Outcome]:
        with enter_scope(asyncio.get_running_loop().time() + 30, writes=True):
            await ledger.touched_since(0, limit=1)
            begun.set()
            await wanted.wait()
            return await ledger.append_drafts([draft])

    waiting = asyncio.ensure_future(call())
    await begun.wait()
    async with ledger.lock_appends():
        wanted.set()
        await scribe.make_items(a_fact("mine"))
        await asyncio.sleep(0.05)
        assert not waiting.done()
    (outcome,) = await waiting

    assert isinstance(outcome, Appended)
    assert outcome.position == 2


async def test_opening_an_earlier_database_locks_the_old_version_out(store: Store) -> None:
    database = await store.open_database()
    written = await store.open_scribe(await store.open_ledger())
    await written.make_items(a_fact("before"))
    meta = database.committed_collection("meta")
    await meta.update_one({"_id": "records"}, {"$set": {"encoding": ENCODING_VERSION - 1}})

    ledger = await store.open_ledger()

    stated = await meta.find_one({"_id": "records"})
    assert stated is not None
    assert stated["encoding"] == ENCODING_VERSION
    assert await ledger.head_position(MIDDLE_EARTH) == 1


async def test_a_database_of_a_later_version_is_refused_and_kept(store: Store) -> None:
    meta = (await store.open_database()).committed_collection("meta")
    await meta.update_one({"_id": "records"}, {"$set": {"encoding": ENCODING_VERSION + 1}})

    with pytest.raises(BrokenInvariant) as refused:
        await store.open_database()

    assert refused.value.code == "store.newer"
    stated = await meta.find_one({"_id": "records"})
    assert stated is not None
    assert stated["encoding"] == ENCODING_VERSION + 1
