"""A process that works on a store until it is killed, and tells each item done on its output."""

import asyncio
import base64
import sys
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path

from canonry.app.embedded import Embedded, open_embedded
from canonry.assistant import CANON
from canonry.gateway.call import Gateway
from canonry.gateway.principal import KEY_META, Principal
from canonry.log.commits import Append, Appended
from canonry.log.entries import Erased
from canonry.log.items.sources import DEFAULT_USER
from canonry.records.toolset import TRUTH
from canonry.testing.clocks import an_append
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, a_turn, creation_entries, uuid_of
from canonry.values.errors import Unavailable

if sys.platform != "win32":
    import resource

BATCH = 5
WRITERS = 16
LARGE = 200_000
REFUSALS = 3
ROWS = 8


def print_line(line: str) -> None:
    """Tell the parent, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def print_progress(done: int, total: int | None) -> None:
    """Tell progress."""
    print_line(f"progress {done} of {total}")


def request(name: str, size: int = 0, *, head: int = 0) -> Append:
    """The commit called `name`: a fact and a turn, which are there together or not at all."""
    items = (a_fact(f"fact {name}", "frodo"), a_turn(f"turn {name}", text=f"{name} " + "x" * size))
    return an_append(name, creation_entries(*items), judged_at=head)


async def commit(store: Embedded, name: str, size: int = 0) -> None:
    """Write until acknowledged, then tell."""
    ledger = store.canon.ledger
    (outcome,) = await ledger.append_drafts(
        [request(name, size, head=await ledger.head_position(MIDDLE_EARTH))]
    )
    assert isinstance(outcome, Appended)
    print_line(name)


async def singly(store: Embedded, life: str) -> None:
    """One commit after the other."""
    for n in count():
        await commit(store, f"{life}/{n}")


async def together(store: Embedded, life: str) -> None:
    """Many writers at once, whose commits share transactions."""

    async def writer(number: int) -> None:
        for n in count():
            await commit(store, f"{life}/{number}/{n}")

    await asyncio.gather(*(writer(number) for number in range(WRITERS)))


async def in_batches(store: Embedded, life: str) -> None:
    """Several commits a call."""
    for n in count():
        names = [f"{life}/{n}/{m}" for m in range(BATCH)]
        head = await store.canon.ledger.head_position(MIDDLE_EARTH)
        await store.canon.ledger.append_drafts([request(name, head=head) for name in names])
        for name in names:
            print_line(name)


async def with_blobs(store: Embedded, life: str) -> None:
    """Payloads that are too large for a row."""
    for n in count():
        await commit(store, f"{life}/{n}", LARGE)


async def rebuilding(store: Embedded, life: str) -> None:
    """Views are folded again, and again, while somebody writes."""

    async def rebuild() -> None:
        while True:
            print_line("progress begins")
            await store.maintenance.rebuild(print_progress)

    await asyncio.gather(rebuild(), singly(store, life))


async def backing_up(store: Embedded, life: str) -> None:
    """One copy after the other beside the store, while somebody writes."""

    async def back_up() -> None:
        for n in count():
            print_line("progress begins")
            folder = Path(sys.argv[1])
            await store.maintenance.backup(
                folder.with_name(f"{folder.name} copy {life} {n}"), print_progress
            )

    await asyncio.gather(back_up(), singly(store, life))


async def purging(store: Embedded, life: str) -> None:
    """Erase each written item again, and print an erased name with a minus."""
    ledger = store.canon.ledger
    for n in count():
        name = f"{life}/{n}"
        await commit(store, name)
        targets = (uuid_of(f"turn {name}"),)
        head = await ledger.head_position(MIDDLE_EARTH)
        await ledger.append_drafts(
            [an_append(f"erase {name}", [Erased(targets=targets, reason="")], judged_at=head)]
        )
        print_line("progress begins")
        await store.maintenance.purge(MIDDLE_EARTH, targets)
        print_line(f"-{name}")


async def filling(store: Embedded, life: str) -> None:
    """The disk is full for a while: writes are refused, reads go on, and later writes as well."""
    assert sys.platform != "win32", "there are no such limits"
    largest = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, largest[1]))
    refused = 0
    for n in count():
        try:
            await commit(store, f"{life}/{n}", 20_000)
        except Unavailable:
            refused += 1
            assert await store.canon.state.items_by_id([uuid_of(f"fact {life}/0")])
        if refused == REFUSALS:
            break
    resource.setrlimit(resource.RLIMIT_FSIZE, largest)
    for n in range(20):
        await commit(store, f"{life}/after/{n}")
    print_line("progress ends")
    await asyncio.Event().wait()


async def ingesting(store: Embedded, life: str) -> None:
    """A user's records and files, one call after the other."""
    for n in count():
        name = f"{life}/{n}"
        await ingest(store, name)
        print_line(name)


async def ingest(store: Embedded, name: str) -> None:
    """The records called `name` and, beside them, a file with a table of as many."""
    gateway = Gateway(store.canon, (TRUTH,))
    rows = "".join(f"{row},{name},2024-05-0{row + 1}\n" for row in range(ROWS))
    table = base64.b64encode(f"title,project,due_date\n{rows}".encode()).decode()
    records = [
        {"entity_type": "invoice", "invoice_number": f"{name}/{row}", "vendor_name": name}
        for row in range(ROWS)
    ]
    user = {"user_id": DEFAULT_USER}
    for said in ({"entities": records}, {"file_content": table, "mime_type": "text/csv"}):
        outcome = await gateway.call("ingest", {**user, **said}, Principal(agent_id="writer"))
        assert outcome.error is None, outcome.text


async def recording_texts(store: Embedded, life: str) -> None:
    """Texts, one call after the other, each with its key."""
    for n in count():
        name = f"{life}/{n}"
        await ingest_text(store, name)
        print_line(name)


async def ingest_text(store: Embedded, name: str) -> str:
    """Tell the text called `name`, by a source and its passages; the id of the document."""
    gateway, solo = Gateway(store.canon, (CANON,)), Principal(agent_id="solo", agent_type="Solo")
    await gateway.call("open", {"name": "Marrow"}, solo, {KEY_META: "space"})
    said = {"text": f"{name}: Odo keeps the light.", "title": name, "space": "Marrow"}
    outcome = await gateway.call("tell", said, solo, {KEY_META: name})
    assert outcome.error is None, outcome.text
    return str(outcome.body["document"])


async def holding(store: Embedded, life: str) -> None:
    """Keep everybody else out, for ever."""
    async with store.canon.ledger.lock_appends():
        await commit(store, f"{life}/held")
        await asyncio.Event().wait()


WORK: dict[str, Callable[[Embedded, str], Awaitable[None]]] = {
    work.__name__: work
    for work in (
        singly,
        together,
        in_batches,
        with_blobs,
        rebuilding,
        backing_up,
        purging,
        holding,
        filling,
        ingesting,
        recording_texts,
    )
}


async def main(folder: str, work: str, life: str) -> None:
    """Open the store and work on it."""
    store = await open_embedded(Path(folder))
    print_line("open")
    await WORK[work](store, life)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
