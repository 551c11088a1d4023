"""Histories of concurrent clients: what in them no order of one after another explains."""

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
from canonry.log.commits import Append, Appended, Position
from canonry.log.entries import EvidenceLinked
from canonry.log.folding import thing_key
from canonry.log.items.facts import Fact
from canonry.testing.conformance.kit import Backend, Contract, present, requirement
from canonry.testing.things import MIDDLE_EARTH, a_fact, ident
from canonry.testing.worlds import Scribe, an_append
from canonry.values.provenance import Evidence, EvidenceKind

# Histories of concurrent clients, and what in them no order of one after another explains.
#
# The idea is Elle's: clients append elements that are never the same to lists, and read whole
# lists. So every list tells in which order it was written, and every read from which state it came.
# What depends on what is then a graph, together with who began after who had ended; in a store that
# loses nothing, and shows nothing that is not so or not so any more, that graph has no circle.

Lists: TypeAlias = Mapping[str, Sequence[str]]
"""Elements by the key of their list, in order."""


class Fate(Enum):
    """The answer to a transaction, as its client saw it."""

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """The lists that one client read at once, and its appends to them, between two times."""

    name: str
    began: float
    ended: float
    read: Lists = field(default_factory=dict)
    wrote: Lists = field(default_factory=dict)
    fate: Fate = Fate.DONE


def anomalies(history: Sequence[Transaction], last: Lists) -> list[str]:
    """List the faults of a history; `last` is the read after all clients had ended."""
    writers = {each: t for t in history for elements in t.wrote.values() for each in elements}
    found = [*_lost(history, last), *_unfit(history, last, writers)]
    return found or _circle(history, last, writers)


def _lost(history: Sequence[Transaction], last: Lists) -> Iterator[str]:
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


def _unfit(
    history: Sequence[Transaction], last: Lists, writers: Mapping[str, Transaction]
) -> Iterator[str]:
    """Reads that are no state of a list between two transactions."""
    for t in history:
        for key, elements in t.read.items():
            seen = list(elements)
            if seen != list(last[key])[: len(seen)]:
                yield f"{t.name} read a value that {key} never had: {seen}"
            elif seen and seen[-1] != writers[seen[-1]].wrote[key][-1]:
                yield f"{t.name} read only a part of a transaction on {key}: {seen}"


def _circle(
    history: Sequence[Transaction], last: Lists, writers: Mapping[str, Transaction]
) -> list[str]:
    present = {each for elements in last.values() for each in elements}
    standing = [t for t in history if t.fate is Fate.DONE or _elements(t) & present]
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
    """Who wrote what somebody else read or followed, and who read what somebody else changed."""
    for key, elements in last.items():
        names = [writers[each].name for each in elements]
        yield from pairwise(names)
        for t in standing:
            if key in t.read:
                n = len(t.read[key])
                yield from ((name, t.name) for name in names[:n][-1:])
                yield from ((t.name, name) for name in names[n : n + 1])


def _in_time(standing: Sequence[Transaction]) -> Iterator[tuple[str, str]]:
    """Who had ended before somebody began; the end of what was given up is not known."""
    for one in standing:
        if one.fate is Fate.DONE:
            yield from ((one.name, two.name) for two in standing if one.ended < two.began)


def _elements(transaction: Transaction) -> set[str]:
    return {each for elements in transaction.wrote.values() for each in elements}


KEYS: Final = ("hoard", "oath", "road", "song")
CLIENTS: Final = 8
EACH: Final = 25
_ALSO: Final = 3
"""One in so many transactions writes to a second list."""

_GIVES_UP: Final = 10
"""One in so many transactions is given up while it is under way."""

_KINDS: Final = ((True, True), (True, True), (True, False), (False, True))
"""Whether a transaction reads, and whether it writes."""


class HistoriesContract(Contract):
    """Provide a fixture `backend` that yields an empty one."""

    @requirement(
        "ledger:histories:one-order",
        because="Two agents at one table must not each have been the first.",
    )
    async def test_clients_see_one_order(self, backend: Backend) -> None:
        """Nothing that concurrent clients read or wrote is lost, dirty, in part or out of date."""
        assert await found_in((backend.canon,)) == []


class SharedHistoriesContract(Contract):
    """For backends that offer a `second` instance on the same store."""

    @requirement(
        "ledger:histories:instances", because="The order is one, however many processes serve it."
    )
    async def test_clients_of_two_instances_see_one_order(self, backend: Backend) -> None:
        """The same is so for clients of two instances on one store."""
        other = await present(backend.second)()

        assert await found_in((backend.canon, other.canon)) == []


async def found_in(canons: Sequence[Canon], seed: int = 16) -> list[str]:
    """What is wrong with what clients of these instances of one store read and write at once."""
    await Scribe(canons[0], "lists").make(*map(a_fact, KEYS))
    start = await _lists(canons[0], KEYS)
    clients = [_Client(canons[n % len(canons)], f"{seed}/{n}") for n in range(CLIENTS)]
    await asyncio.gather(*(client.run() for client in clients))
    await canons[0].ledger.head(MIDDLE_EARTH)  # as each client does before it reads
    last = await _lists(canons[0], KEYS)
    first = Transaction(name="start", began=0.0, ended=0.0, wrote=start)
    return anomalies([first, *(t for client in clients for t in client.history)], last)


async def _lists(canon: Canon, keys: Sequence[str]) -> Mapping[str, Sequence[str]]:
    found = await canon.state.things(map(ident, keys))
    return {key: [str(each.ref) for each in _evidence(found[ident(key)], key)] for key in keys}


def _evidence(fact: object, key: str) -> Sequence[Evidence]:
    """The evidence of a fact; each began with the same, which is made its own here."""
    assert isinstance(fact, Fact)
    first, *more = fact.evidence
    return [replace(first, ref=f"{key}/{first.ref}"), *more]


class _Client:
    """Appends and reads by lots; its history is what it was told."""

    def __init__(self, canon: Canon, name: str) -> None:
        self._canon = canon
        self._name = name
        self._lots = random.Random(name)
        self.history: list[Transaction] = []

    async def run(self) -> None:
        for n in range(EACH):
            began = asyncio.get_running_loop().time()
            work = asyncio.ensure_future(self._transaction(f"{self._name}/{n}", began))
            if self._lots.randrange(_GIVES_UP) == 0:
                for _ in range(self._lots.randrange(40)):
                    await asyncio.sleep(0)
                work.cancel()
            with suppress(asyncio.CancelledError):
                await work

    async def _transaction(self, name: str, began: float) -> None:
        keys = self._lots.sample(KEYS, 2 if self._lots.randrange(_ALSO) == 0 else 1)
        looks, writes = self._lots.choice(_KINDS)
        read: Mapping[str, Sequence[str]] = {}
        wrote = {
            key: [f"{name}/{key}/{n}" for n in range(self._lots.randint(1, 2))] for key in keys
        }
        fate = Fate.UNKNOWN
        try:
            judged_at = await self._canon.ledger.head(MIDDLE_EARTH)
            read = await _lists(self._canon, keys) if looks else {}
            if writes:
                append = _append(name, wrote, judged_at, read)
                (outcome,) = await self._canon.ledger.append([append])
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
                        # Who was refused has read what was out of date, and acts on nothing of it.
                        read=read if fate is Fate.DONE else {},
                        wrote=wrote,
                        fate=fate,
                    )
                )


def _append(
    name: str,
    wrote: Mapping[str, Sequence[str]],
    judged_at: Position,
    read: Mapping[str, Sequence[str]],
) -> Append:
    entries = [
        EvidenceLinked(thing_id=ident(key), evidence=Evidence(kind=EvidenceKind.SOURCE, ref=each))
        for key, elements in wrote.items()
        for each in elements
    ]
    keys = [thing_key(ident(key)) for key in read]
    return an_append(name, entries, judged_at=judged_at, reads=keys)
