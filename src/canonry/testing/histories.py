"""Histories of concurrent clients, and what in them no order of one after another explains.

The idea is Elle's: clients append elements that are never the same to lists, and read whole lists.
So every list tells in which order it was written, and every read from which state it came. What
depends on what is then a graph, together with who began after who had ended; in a store that loses
nothing, and shows nothing that is not so or not so any more, that graph has no circle.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import TypeAlias

Lists: TypeAlias = Mapping[str, Sequence[str]]
"""Elements by the key of their list, in order."""


class Fate(Enum):
    """What the client was told of a transaction."""

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """What one client read in one look, and then appended to lists, between two times."""

    name: str
    began: float
    ended: float
    read: Lists = field(default_factory=dict)
    wrote: Lists = field(default_factory=dict)
    fate: Fate = Fate.DONE


def anomalies(history: Sequence[Transaction], last: Lists) -> list[str]:
    """What is wrong with a history, of which `last` was read when all clients had ended."""
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
            yield f"{t.name} was acknowledged, and is not whole in the end"
        if t.fate is Fate.REFUSED and any(kept):
            yield f"{t.name} was refused, and is there in the end"
        if t.fate is Fate.UNKNOWN and any(kept) and not all(kept):
            yield f"{t.name} is there in part"


def _unfit(
    history: Sequence[Transaction], last: Lists, writers: Mapping[str, Transaction]
) -> Iterator[str]:
    """Reads that are no state of a list between two transactions."""
    for t in history:
        for key, elements in t.read.items():
            seen = list(elements)
            if seen != list(last[key])[: len(seen)]:
                yield f"{t.name} read of {key} what it never was: {seen}"
            elif seen and seen[-1] != writers[seen[-1]].wrote[key][-1]:
                yield f"{t.name} read of {key} a transaction in part: {seen}"


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
