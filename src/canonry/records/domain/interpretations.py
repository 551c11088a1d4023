"""Interpretations: which entities an interpreter finds in a file, before a schema has judged them.

Nothing here is canon: fields are as the interpreter read them, and `unread` keeps what it saw and
would not decide, so that nothing of a document is lost to a guess.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pickle import dumps, loads
from typing import Any, Final, overload
from zlib import compress, decompress

from typing_extensions import override

_TOGETHER: Final = 1_000
_HELD_MAX: Final = 10_000
"""More entities than this are packed, so that a long file takes little more memory than another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A value that is kept as it stands, and why it was not taken as its field."""

    value: Any
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An entity that a document speaks of.

    `row` is its place in a table or list, where it comes from one: two rows are two entities unless
    their identity says otherwise. `occurrence` counts rows that say the same, so that those without
    a key of their own stay two as well. `refers_to` are the places of other entities in the same
    interpretation; `reasons` say what made it this type.
    """

    entity_type: str
    fields: Mapping[str, Any]
    unread: Mapping[str, Unread] = field(default_factory=dict[str, Unread])
    row: int | None = None
    occurrence: int = 1
    refers_to: tuple[int, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpretation:
    """What one run of an interpreter says of one file."""

    entities: Sequence[Found]
    warnings: tuple[str, ...] = ()


def held(found: Iterable[Found]) -> Sequence[Found]:
    """The entities, packed as they come where they are very many."""
    rest = iter(found)
    few = tuple(islice(rest, _HELD_MAX + 1))
    return few if len(few) <= _HELD_MAX else _Packed(chain(few, rest))


class _Packed(Sequence[Found]):
    """Entities of which whoever iterates has a thousand unpacked at a time."""

    def __init__(self, found: Iterable[Found]) -> None:
        rest = iter(found)
        self._total = 0
        self._packed: list[bytes] = []
        while some := tuple(islice(rest, _TOGETHER)):
            self._total += len(some)
            self._packed.append(compress(dumps(some), 1))

    @override
    def __len__(self) -> int:
        return self._total

    @override
    def __iter__(self) -> Iterator[Found]:
        return chain.from_iterable(map(self._some, range(len(self._packed))))

    @overload
    def __getitem__(self, place: int) -> Found: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Found]: ...

    @override
    def __getitem__(self, place: int | slice) -> Found | Sequence[Found]:
        if isinstance(place, int):
            number = range(self._total)[place]
            return self._some(number // _TOGETHER)[number % _TOGETHER]
        begin, end, step = place.indices(self._total)
        before = begin // _TOGETHER
        some = map(self._some, range(before, -(-end // _TOGETHER)))
        shift = before * _TOGETHER
        return tuple(islice(chain.from_iterable(some), begin - shift, end - shift, step))

    def _some(self, number: int) -> Sequence[Found]:
        found: Sequence[Found] = loads(decompress(self._packed[number]))  # noqa: S301 - our own
        return found
