"""A catalog of one large project: what its four questions cost, and how fast it is filled.

The rows go through the import, as an operator's would. The large project has a hub that is related
to 10^5 others; a project of 10^3 lies alone in a store beside it. `CANONRY_BENCH_ENTITIES` (default
10^5) says how large; each entity has five relations. The budgets are stated for 10^6, which takes
long to fill: where `CANONRY_BENCH_FOLDER` names a folder, the stores stay there for the next run.
"""

import asyncio
import os
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from bench.processes import own_bytes
from bench.report import Row, median, percentile
from canonry.app.embedded import Embedded, open_embedded
from canonry.canon.session.caller import Caller
from canonry.catalog.toolset import CATALOG
from canonry.catalog.usecases.exchange import import_catalog
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.stores.sqlite import Durability
from canonry.values.provenance import Actor

SECTION = "catalog"
RELATIONS_EACH, HUB_DEGREE, SMALL, ROUNDS, ENTITIES_ASKED = 5, 100_000, 1_000, 7, 300
RATIO_MAX, GRAPH_MAX, WORST_MAX, INDEXED_MAX, MEMORY_MAX = 1.5, 30.0, 150.0, 20.0, 64.0
KINDS = ("concept", "guide", "news", "project")
TO_CONCEPT = {
    "concept": "CONCEPT_RELATES_TO_CONCEPT",
    "guide": "GUIDE_USES_CONCEPT",
    "news": "NEWS_REFERENCES_CONCEPT",
    "project": "PROJECT_IMPLEMENTS_CONCEPT",
}
PROJECT = "00000000-0000-4000-a000-000000000001"
CALLER = Caller(actor=Actor(agent_id="bench", agent_type="Operator"), tool="bench")
BATCH = 20_000


def run() -> list[Row]:
    """Fill both stores, then ask."""
    return asyncio.run(_measured(int(os.environ.get("CANONRY_BENCH_ENTITIES", "100000"))))


def _uuid(number: int, sort: int = 0) -> str:
    return f"{sort:08x}-0000-4000-8000-{number:012x}"


class _Rows:
    """Rows of a project whose words are as uneven as those of a language."""

    def __init__(self, count: int) -> None:
        self._random = random.Random(11)  # noqa: S311 - benches repeat, they need not be secret
        letters = "abcdefghijklmnopqrstuvwxyz"
        lengths = (3, 4, 5, 5, 6, 7, 8, 9, 11)
        self._words = [
            "".join(self._random.choices(letters, k=self._random.choice(lengths)))
            for _ in range(20_000)
        ]
        self._weights = [1 / (rank + 3) for rank in range(len(self._words))]
        self._count = count

    def projects(self) -> list[dict[str, Any]]:
        return [{"id": PROJECT, "name": "Bench", "slug": "bench"}]

    def entities(self, start: int, stop: int) -> list[dict[str, Any]]:
        said = self._random.choices(self._words, self._weights, k=30 * (stop - start))
        return [
            {
                "id": _uuid(n),
                "projectId": PROJECT,
                "entityType": KINDS[n % len(KINDS)],
                "title": " ".join(said[30 * (n - start) : 30 * (n - start) + 5]).title(),
                "slug": f"entry-{n}",
                "summary": " ".join(said[30 * (n - start) + 5 : 30 * (n - start) + 30]),
                "createdAt": "2025-01-01T00:00:00Z",
                "updatedAt": f"2025-{1 + n % 12:02}-{1 + n % 28:02}T{n % 24:02}:00:{n % 60:02}Z",
            }
            for n in range(start, stop)
        ]

    def relations(self) -> Iterator[dict[str, Any]]:
        """The hub first: concept 0; then to concepts far apart, so that none comes twice."""
        concepts = self._count // len(KINDS)
        stride = max(1, concepts // RELATIONS_EACH)
        number = 0
        for n in range(self._count):
            kind = KINDS[n % len(KINDS)]
            for step in range(RELATIONS_EACH):
                far = (n * 7 + step * stride) % concepts
                target = 0 if step == 0 and n < HUB_DEGREE else (far or 1) * len(KINDS)
                number += 1
                yield {
                    "id": _uuid(number, 9),
                    "projectId": PROJECT,
                    "fromEntityType": kind,
                    "fromEntityId": _uuid(n),
                    "toEntityType": "concept",
                    "toEntityId": _uuid(target),
                    "relationType": TO_CONCEPT[kind],
                    "createdAt": "2025-01-01T00:00:00Z",
                }


async def _fill(store: Embedded, count: int) -> float:
    rows, spent = _Rows(count), 0.0
    batches: list[dict[str, list[dict[str, Any]]]] = [{"projects": rows.projects()}]
    starts = range(0, count, BATCH)
    batches += [{"entities": rows.entities(n, min(count, n + BATCH))} for n in starts]
    for batch in batches:
        spent += await _store(store, batch)
    waiting: list[dict[str, Any]] = []
    seen: set[tuple[str, str]] = set()
    for row in rows.relations():
        pair = (row["fromEntityId"], row["toEntityId"])
        if pair in seen:
            continue
        seen.add(pair)
        waiting.append(row)
        if len(waiting) == BATCH:
            spent += await _store(store, {"relations": waiting})
            waiting, seen = [], {each for each in seen if each[0] == pair[0]}
    return spent + await _store(store, {"relations": waiting})


async def _store(store: Embedded, arrays: dict[str, list[dict[str, Any]]]) -> float:
    started = time.perf_counter()
    report = await import_catalog(store.canon, CALLER, arrays, lambda _done, _total: None)
    if (os.environ.get("CANONRY_BENCH_TELL")) is not None:
        sys.stderr.write(f"{dict(report.made)} {time.perf_counter() - started:.1f} s\n")
    return time.perf_counter() - started


async def _measured(count: int) -> list[Row]:
    kept = os.environ.get("CANONRY_BENCH_FOLDER")
    with tempfile.TemporaryDirectory() as passing:
        folder = Path(kept or passing)
        large, filled = await _filled(folder / f"large-{count}", count)
        small, _ = await _filled(folder / "small", SMALL)
        try:
            rows = await _asked(large, small, count)
        finally:
            await large.close()
            await small.close()
    return [*filled, *rows]


async def _filled(folder: Path, count: int) -> tuple[Embedded, list[Row]]:
    """A store of so many entities, and how fast it was filled unless it was there."""
    known = folder.exists()  # noqa: ASYNC240 - nobody else waits
    store = await open_embedded(folder, durability=Durability.NORMAL)
    if known:
        return store, []
    seconds = await _fill(store, count)
    row = Row(
        section=SECTION,
        what="filling: rows a second",
        value=count * (1 + RELATIONS_EACH) / seconds,
        unit="rows/s",
        note=f"{count} entities, {count * RELATIONS_EACH} relations, {seconds:.0f} s",
    )
    return store, [row]


async def _asked(large: Embedded, small: Embedded, count: int) -> list[Row]:
    gateway, beside = (Gateway(each.canon, [CATALOG]) for each in (large, small))
    hub = {"projectId": PROJECT, "entityId": _uuid(0)}
    rows, before = [await _compared(gateway, beside, count)], own_bytes(os.getpid())
    for depth in (1, 2):
        graph = await _best(lambda: _ask(gateway, "get_entity_graph", {**hub, "depth": depth}))  # noqa: B023
        what = f"graph of depth {depth} around the hub, ms"
        rows.append(_row(what, graph, GRAPH_MAX))
    words = _Rows(count)._words  # noqa: SLF001 - the bench's own rows
    questions = {
        "one letter": ("e", WORST_MAX),
        "two letters": ("th", WORST_MAX),
        "two letters that are rare": ("q7", WORST_MAX),
        "a common word": (words[0], WORST_MAX),
        "a common phrase": (f"{words[0]} {words[1]}", WORST_MAX),
        "half a rare word": (words[15_000][:6], INDEXED_MAX),
        "a slug": (f"entry-{count // 2}", INDEXED_MAX),
        "what nobody wrote": ("zzqqjjxxvv", INDEXED_MAX),
        "the beginning of every slug": ("entry-", WORST_MAX),
    }
    for what, (text, budget) in questions.items():
        given = {"projectId": PROJECT, "query": text}
        took = await _best(lambda: _ask(gateway, "search_entities", given))  # noqa: B023
        found = (await gateway.call("search_entities", given, Principal())).body["totalCount"]
        rows.append(_row(f"search: {what}, ms", took, budget, note=f"{found} found"))
    among: dict[str, Any] = {
        "projectId": PROJECT,
        "query": words[3],
        "entityTypes": ["guide", "news"],
    }
    took = await _best(lambda: _ask(gateway, "search_entities", among))
    rows.append(_row("search: a common word among two kinds, ms", took, WORST_MAX))
    grown = (own_bytes(os.getpid()) - before) / 2**20
    what = "memory that graphs and searches took, MB"
    note = "beyond what reading single entities had taken"
    row = Row(section=SECTION, what=what, value=grown, unit="MB", budget=MEMORY_MAX, note=note)
    return [*rows, row]


async def _compared(gateway: Gateway, beside: Gateway, count: int) -> Row:
    """Reading one entity, here and in the small store, in turns."""
    chosen = random.Random(3)  # noqa: S311 - as above
    here, there = [], []
    for _ in range(ENTITIES_ASKED):
        big = {"projectId": PROJECT, "entityId": _uuid(chosen.randrange(1, count))}
        few = {"projectId": PROJECT, "entityId": _uuid(chosen.randrange(1, SMALL))}
        here.append(await _ask(gateway, "get_entity", big))
        there.append(await _ask(beside, "get_entity", few))
    ratio = median(here) / median(there)
    note = f"median {median(here):.3f} ms against {median(there):.3f} ms, "
    note += f"p95 {percentile(here, 0.95):.3f} ms against {percentile(there, 0.95):.3f} ms"
    what = "get_entity against a project of 10^3"
    return Row(section=SECTION, what=what, value=ratio, unit="times", budget=RATIO_MAX, note=note)


async def _ask(gateway: Gateway, tool: str, arguments: dict[str, Any]) -> float:
    started = time.perf_counter()
    outcome = await gateway.call(tool, arguments, Principal())
    took = (time.perf_counter() - started) * 1000
    if outcome.error is not None:
        raise RuntimeError(outcome.text)
    return took


async def _best(ask: Callable[[], Awaitable[float]]) -> list[float]:
    return [await ask() for _ in range(ROUNDS)]


def _row(what: str, took: list[float], budget: float, note: str = "") -> Row:
    return Row(
        section=SECTION,
        what=what,
        value=median(took),
        unit="ms",
        budget=budget,
        note=f"{note}, {max(took):.1f} at worst".removeprefix(", "),
    )
