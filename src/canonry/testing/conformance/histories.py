"""Check that histories of concurrent clients have a serial order."""

import asyncio
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Final, TypeAlias

from canonry.canon.session.canon import Canon
from canonry.log.commits import Appended
from canonry.log.entries import EvidenceLinked
from canonry.log.folding import item_key
from canonry.log.items.facts import Fact
from canonry.testing.clocks import Scribe, an_append
from canonry.testing.conformance.kit import Backend, Contract, require_part, requirement
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, uuid_of
from canonry.values.provenance import Evidence, EvidenceKind

# Histories of concurrent clients, and the faults that no serial order explains.
#
# The method is Elle's: clients append unique elements to lists and read whole lists. Each list
# shows the order of its writes, and each read shows its state. The dependencies, together with the
# real-time order of transactions, form a graph. The graph has no cycle if the store loses nothing
# and shows neither dirty nor outdated data.

Lists: TypeAlias = Mapping[str, Sequence[str]]
"""The elements of each list by its key, in order."""


class Fate(Enum):
    """The result of a transaction, as its client saw it."""

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """The lists that one client read together and its appends to them, with start and end."""

    name: str
    began: float
    ended: float
    read: Lists = field(default_factory=dict)
    wrote: Lists = field(default_factory=dict)
    fate: Fate = Fate.DONE


def find_anomalies(history: Sequence[Transaction], last: Lists) -> list[str]:
    """Return the faults of a history. `last` is the read after all clients ended."""
    writers = {each: t for t in history for elements in t.wrote.values() for each in elements}
    found = [*_lost_writes(history, last), *_unfit_reads(history, last, writers)]
    return found or _find_cycle(history, last, writers)


def _lost_writes(history: Sequence[Transaction], last: Lists) -> Iterator[str]:
    for key, elements in last.items():
        if len(set(elements)) < len(elements):
            yield f"{key} has elements twice: {list(elements)}"
    for t in history:
        kept = [each in last[key] for key, elements in t.wrote.items() for each in elements]
        if t.fate is Fate.DONE and not all(kept):
            yield f"{t.name} was acknowledged, but the final state lacks a part of it"
        if t.fate is Fate.REFUSED and any(kept):
            yield f"{t.name} was refused, but the final state contains it"
        if t.fate is Fate.UNKNOWN and any(kept) and not all(kept):
            yield f"the final state contains only a part of {t.name}"


def _unfit_reads(
    history: Sequence[Transaction], last: Lists, writers: Mapping[str, Transaction]
) -> Iterator[str]:
    """Yield reads that do not show a state of a list between two transactions."""
    for t in history:
        for key, elements in t.read.items():
            seen = list(elements)
            if seen != list(last[key])[: len(seen)]:
                yield f"{t.name} read a value that {key} never had: {seen}"
            elif seen and seen[-1] != writers[seen[-1]].wrote[key][-1]:
                yield f"{t.name} read only a part of a transaction on {key}: {seen}"


def _find_cycle(
    history: Sequence[Transaction], last: Lists, writers: Mapping[str, Transaction]
) -> list[str]:
    present = {each for elements in last.values() for each in elements}
    seen = [any(present.intersection(e) for e in t.wrote.values()) for t in history]
    standing = [t for t, s in zip(history, seen, strict=True) if s or t.fate is Fate.DONE]
    before: dict[str, set[str]] = {t.name: set() for t in standing}
    for earlier, later in (*_in_lists(standing, last, writers), *_in_time(standing)):
        if earlier != later:
            before[later].add(earlier)
    try:
        TopologicalSorter(before).prepare()
    except CycleError as error:
        return [f"each of these comes before the next: {' < '.join(error.args[1])}"]
    return []


def _in_lists(
    standing: Sequence[Transaction], last: Lists, writers: Mapping[str, Transaction]
) -> Iterator[tuple[str, str]]:
    """Yield (earlier, later) for reads and writes of the same list."""
    for key, elements in last.items():
        names = [writers[each].name for each in elements]
        yield from pairwise(names)
        for t in standing:
            if key in t.read:
                n = len(t.read[key])
                yield from ((name, t.name) for name in names[:n][-1:])
                yield from ((t.name, name) for name in names[n : n + 1])


def _in_time(standing: Sequence[Transaction]) -> Iterator[tuple[str, str]]:
    """Yield (earlier, later) for transactions that ended before others began."""
    for one in standing:
        if one.fate is Fate.DONE:
            yield from ((one.name, two.name) for two in standing if one.ended < two.began)


KEYS: Final = ("hoard", "oath", "road", "song")
CLIENTS: Final = 8
EACH: Final = 25
_ALSO: Final = 3  # one in this many transactions writes to a second list

_GIVES_UP: Final = 10  # one in this many transactions is cancelled while it runs

_KINDS: Final = ((True, True), (True, True), (True, False), (False, True))
"""(reads, writes) of the kinds of transactions."""


class HistoriesContract(Contract):
    """Provide a fixture `backend` with an empty store."""

    @requirement("ledger:histories:one-order")
    async def test_clients_see_one_order(self, backend: Backend) -> None:
        """No write of concurrent clients is lost, and no read is dirty, partial or outdated."""
        assert await found_in((backend.canon,)) == []


class SharedHistoriesContract(Contract):
    """For backends that offer a `second` instance on the same store."""

    @requirement("ledger:histories:instances")
    async def test_clients_of_two_instances_see_one_order(self, backend: Backend) -> None:
        """Clients of two instances on one store see one order, too."""
        other = await require_part(backend.second)()

        assert await found_in((backend.canon, other.canon)) == []


async def found_in(canons: Sequence[Canon], seed: int = 16) -> list[str]:
    """Run clients of these instances of one store concurrently, and return the faults."""
    await Scribe(canons[0], "lists").make_items(*map(a_fact, KEYS))
    start = await _read_lists(canons[0], KEYS)
    clients = [_Client(canons[n % len(canons)], f"{seed}/{n}") for n in range(CLIENTS)]
    await asyncio.gather(*(client.run_transactions() for client in clients))
    await canons[0].ledger.head_position(MIDDLE_EARTH)  # as each client does before it reads
    last = await _read_lists(canons[0], KEYS)
    first = Transaction(name="start", began=0.0, ended=0.0, wrote=start)
    return find_anomalies([first, *(t for client in clients for t in client.history)], last)


async def _read_lists(canon: Canon, keys: Sequence[str]) -> Mapping[str, Sequence[str]]:
    found = await canon.state.items_by_id(map(uuid_of, keys))
    return {key: [str(e.ref) for e in _unique_evidence(found[uuid_of(key)], key)] for key in keys}


def _unique_evidence(fact: object, key: str) -> Sequence[Evidence]:
    """Return the evidence of a fact. All facts begin with the same evidence, made unique here."""
    assert isinstance(fact, Fact)
    first, *more = fact.evidence
    return [replace(first, ref=f"{key}/{first.ref}"), *more]


class _Client:
    """Appends and reads at random, and records the results as its history."""

    def __init__(self, canon: Canon, name: str) -> None:
        self._canon = canon
        self._name = name
        self._random = random.Random(name)
        self.history: list[Transaction] = []

    async def run_transactions(self) -> None:
        for n in range(EACH):
            began = asyncio.get_running_loop().time()
            work = asyncio.ensure_future(self._run_transaction(f"{self._name}/{n}", began))
            if self._random.randrange(_GIVES_UP) == 0:
                for _ in range(self._random.randrange(40)):
                    await asyncio.sleep(0)
                work.cancel()
            with suppress(asyncio.CancelledError):
                await work

    async def _run_transaction(self, name: str, began: float) -> None:
        keys = self._random.sample(KEYS, 2 if self._random.randrange(_ALSO) == 0 else 1)
        reads_first, writes = self._random.choice(_KINDS)
        read: Mapping[str, Sequence[str]] = {}
        wrote = {
            key: [f"{name}/{key}/{n}" for n in range(self._random.randint(1, 2))] for key in keys
        }
        fate = Fate.UNKNOWN
        try:
            judged_at = await self._canon.ledger.head_position(MIDDLE_EARTH)
            read = await _read_lists(self._canon, keys) if reads_first else {}
            if writes:
                cited = EvidenceKind.SOURCE
                entries = [
                    EvidenceLinked(thing_id=uuid_of(key), evidence=Evidence(kind=cited, ref=each))
                    for key, elements in wrote.items()
                    for each in elements
                ]
                reads = [item_key(uuid_of(key)) for key in read]
                append = an_append(name, entries, judged_at=judged_at, reads=reads)
                (outcome,) = await self._canon.ledger.append_drafts([append])
                fate = Fate.DONE if isinstance(outcome, Appended) else Fate.REFUSED
            else:
                wrote, fate = {}, Fate.DONE
        finally:
            if read or wrote:
                self.history.append(
                    Transaction(
                        name=name,
                        began=began,
                        ended=asyncio.get_running_loop().time(),
                        # A refused transaction has read outdated data, and nothing depends on it.
                        read=read if fate is Fate.DONE else {},
                        wrote=wrote,
                        fate=fate,
                    )
                )
