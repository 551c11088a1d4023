"""Truth: every action through standard input and output, as a user's canon grows.

Two servers keep the same kind of canon, a small one and one with 10,000 entities and 20,000 edges,
with full durability and a real client each. The calls alternate between them, so that a change in
the machine's speed does not look like growth. The canons are filled through the same tools, and
only the plain edges are written straight into the ledger.
"""

import asyncio
import random
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.accounts import BULK, SELDOM, Account, fill, invoice, long_histories, transactions
from bench.report import Row, median
from bench.stdio import Line, connected

SECTION = "truth"
SERVING = ("--toolsets", "truth", "--recall-embedder", "none")
SMALL, LARGE = 200, 10_000
CALLS, ROUNDS, BULK_ROUNDS = 10, 12, 5
GROWTH_MAX, BULK_MIN = 1.3, 3_000.0
LONG_MAX, LONG_AT_MAX = 2.0, 10.0
ASKED, ASKED_MAX = 20, 100.0
LIST_MAX, INSTRUCTIONS_MAX = 24_000, 2_000

Draw = Callable[["LoadClient"], tuple[str, dict[str, Any]]]


@dataclass(slots=True)
class LoadClient:
    """A client of one server, with what its canon holds and the durations of each action."""

    line: Line
    account: Account
    dice: random.Random
    made: int = 0
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def number(self) -> int:
        """A number that this client has not used yet."""
        self.made += 1
        return self.made

    def some_invoice(self) -> str:
        """The id of an invoice."""
        return self.dice.choice(self.account.invoices)

    def two_invoices(self) -> dict[str, str]:
        """The ends of an edge; the order rules out cycles."""
        low, high = sorted(self.dice.sample(range(len(self.account.invoices)), 2))
        ends = (self.account.invoices[low], self.account.invoices[high])
        return dict(zip(("source_entity_id", "target_entity_id"), ends, strict=True))

    def of(self, **more: Any) -> dict[str, Any]:
        """The arguments of a call that names its user."""
        return {"user_id": self.account.user_id, **more}


def _new_invoice(client: LoadClient) -> tuple[str, dict[str, Any]]:
    company = client.dice.randrange(len(client.account.companies))
    return "ingest", client.of(entities=[invoice(1_000_000 + client.number(), company)])


def _again(client: LoadClient) -> tuple[str, dict[str, Any]]:
    return "ingest", client.of(entities=[client.account.single])


def _correction(client: LoadClient) -> tuple[str, dict[str, Any]]:
    value = float(client.number())
    said = {"entity_type": "invoice", "field": "amount_due", "value": value}
    return "correct", client.of(entity_id=client.some_invoice(), **said)


def _about(tool: str, **more: Any) -> Draw:
    return lambda client: (tool, {"entity_id": client.some_invoice(), **more})


def _edge(rel_type: str) -> Draw:
    return lambda client: (
        "create_relationship",
        {"relationship_type": rel_type, **client.two_invoices()},
    )


WORKLOADS: Mapping[str, Draw] = {
    "ingest an invoice": _new_invoice,
    "ingest it again": _again,
    "snapshot": _about("get_entity_snapshot"),
    "snapshot at an instant": lambda d: (
        "get_entity_snapshot",
        {"entity_id": d.some_invoice(), "at": d.account.middle},
    ),
    "retrieve 100": lambda _: ("retrieve_entities", {"entity_type": "invoice", "limit": 100}),
    "retrieve 10": lambda d: ("retrieve_entities", {"limit": 10, "offset": d.dice.randrange(90)}),
    "by identifier": lambda d: (
        "get_entity_by_identifier",
        {"identifier": f"INV-{d.dice.randrange(len(d.account.invoices)):07}"},
    ),
    "list observations": _about("list_observations"),
    "provenance of a field": _about("get_field_provenance", field="amount_due"),
    "timeline 100": lambda _: ("list_timeline_events", {"limit": 100}),
    "correct": _correction,
    "create relationship": _edge("REFERS_TO"),
    "create relationship without cycles": _edge("PART_OF"),
    "related": _about("get_related_entities"),
    "related over 2 hops": _about("get_related_entities", max_hops=2),
    "neighbourhood": lambda d: ("get_graph_neighborhood", {"node_id": d.some_invoice()}),
}


QUESTIONS: Mapping[str, Draw] = {
    "search by words": lambda d: ("search_records", {"query": f"office company-{d.number()}"}),
    "search by a word of every second record": lambda d: (
        "search_records",
        {"query": "company", "offset": d.number()},
    ),
    "search by fields": lambda d: (
        "search_records",
        {"entity_type": "invoice", "after_date": "2010", "min_amount": d.number()},
    ),
    "sums by month": lambda d: (
        "summarise_records",
        {
            "entity_type": "invoice",
            "field": "amount_due",
            "period": "month",
            "min_amount": d.number(),
        },
    ),
}
"""Questions about all records of the account; each differs, so that no reply is kept."""


def run() -> list[Row]:
    """Fill both canons, then measure."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_run(Path(folder)))


async def _run(folder: Path) -> list[Row]:
    dice = random.Random(3)  # noqa: S311 - benches repeat, they need not be secret
    async with AsyncExitStack() as stack:
        small, large = [
            await stack.enter_async_context(_open_client(folder / str(size), size, dice))
            for size in (SMALL, LARGE)
        ]
        for number in range(ROUNDS + 1):
            names = [*WORKLOADS, "merge"]
            dice.shuffle(names)
            for name in names:
                for client in (small, large) * CALLS:
                    seconds = await _call(client, name)
                    if number > 0:
                        client.seconds.setdefault(name, []).append(seconds)
        asked = await _asked(large)
        long = await _long(folder / "long")
        bulk = await _bulk(small, large)
        weights = await _weights(small)
    return [*_growth(small, large), *asked, *bulk, *long, *weights]


@asynccontextmanager
async def _open_client(folder: Path, size: int, dice: random.Random) -> AsyncIterator[LoadClient]:
    account = await fill(folder, size)
    async with connected(folder, *SERVING) as line:
        yield LoadClient(line=line, account=account, dice=dice)


async def _call(client: LoadClient, name: str) -> float:
    if name == "merge":
        return await _merge(client)
    return (await client.line.timed(*WORKLOADS[name](client)))[0]


async def _merge(client: LoadClient) -> float:
    """Two companies are made for it; only the merge itself is timed."""
    number = client.number()
    twins = [
        {"entity_type": "company", "name": f"Twin {side} {number}", "tax_id": f"T{side}{number}"}
        for side in "AB"
    ]
    _, reply = await client.line.timed("ingest", client.of(entities=twins))
    one, other = (each["entity_id"] for each in reply["entities"])
    ends = client.of(from_entity_id=one, to_entity_id=other)
    return (await client.line.timed("merge_entities", ends))[0]


async def _asked(client: LoadClient) -> list[Row]:
    """Questions about all records, after the first, which reads the account."""
    rows = []
    for name, draw in QUESTIONS.items():
        seconds = [(await client.line.timed(*draw(client)))[0] for _ in range(ASKED + 1)]
        rows.append(
            Row(
                section=SECTION,
                what=f"{name} over {LARGE} entities",
                value=median(seconds[1:]) * 1e3,
                unit="ms",
                budget=ASKED_MAX,
                note=f"the first {seconds[0] * 1e3:.0f} ms",
            )
        )
    return rows


async def _long(folder: Path) -> list[Row]:
    """Snapshots of an entity that was observed often, against one that was observed ten times."""
    histories = await long_histories(folder)
    seconds: dict[tuple[str, bool], list[float]] = {}
    async with connected(folder, *SERVING) as line:
        for number in range(CALLS * 3):
            for name, (entity_id, middle) in histories.items():
                for past in (False, True):
                    arguments = {"entity_id": entity_id} | ({"at": middle} if past else {})
                    taken, _ = await line.timed("get_entity_snapshot", arguments)
                    if number > 0:
                        seconds.setdefault((name, past), []).append(taken)
    shortest, *others = histories
    rows = []
    for name in others:
        for past, budget in ((False, LONG_MAX), (True, LONG_AT_MAX)):
            few, many = median(seconds[shortest, past]), median(seconds[name, past])
            rows.append(
                Row(
                    section=SECTION,
                    what=f"snapshot{' at an instant' if past else ''}: {name} / {SELDOM}",
                    value=many / few,
                    unit="x",
                    budget=budget,
                    note=f"{few * 1e3:.2f} -> {many * 1e3:.2f} ms",
                )
            )
    return rows


async def _bulk(*clients: LoadClient) -> list[Row]:
    """Whole statements, with and without the companies and edges that they bring along."""
    rates: dict[str, list[tuple[float, float]]] = {}
    for number in range(BULK_ROUNDS + 1):
        for size, client in zip(("small", "larger"), clients, strict=True):
            for name, records in _statements(client):
                before = client.line.cpu_seconds()
                seconds, _ = await client.line.timed("ingest", client.of(entities=records))
                rate = (BULK / seconds, BULK / (client.line.cpu_seconds() - before))
                if number > 0:
                    rates.setdefault(f"{name}, {size} canon", []).append(rate)
    return [
        Row(
            section=SECTION,
            what=f"one ingest of {BULK} {name}",
            value=median([by_clock for by_clock, _ in each]),
            unit="/s",
            budget=BULK_MIN,
            at_least=True,
            note=f"{median([by_cpu for _, by_cpu in each]):.0f} a second of the server's CPU",
        )
        for name, each in rates.items()
    ]


def _statements(client: LoadClient) -> list[tuple[str, list[dict[str, Any]]]]:
    series, vendors = client.number(), min(90, len(client.account.companies))
    first = 10_000_000 + series * BULK
    return [
        ("transactions", transactions(series)),
        ("transactions with merchants", transactions(series, merchants=50)),
        ("invoices with vendors", [invoice(first + n, n % vendors) for n in range(BULK)]),
    ]


async def _weights(client: LoadClient) -> list[Row]:
    listed, said = await client.line.weights()
    return [
        Row(section=SECTION, what="tools/list", value=listed, unit="B", budget=LIST_MAX),
        Row(section=SECTION, what="instructions", value=said, unit="B", budget=INSTRUCTIONS_MAX),
    ]


def _growth(small: LoadClient, large: LoadClient) -> list[Row]:
    rows = []
    for name, before in small.seconds.items():
        few, many = median(before), median(large.seconds[name])
        rows.append(
            Row(
                section=SECTION,
                what=f"{name}: {LARGE} entities, {2 * LARGE} edges / {SMALL}",
                value=many / few,
                unit="x",
                budget=GROWTH_MAX,
                note=f"{few * 1e3:.2f} -> {many * 1e3:.2f} ms",
            )
        )
    return rows
