"""A limited number of places, shared fairly: whoever has most gives first, and the longest idle."""

from collections.abc import Hashable, Iterator
from typing import Final, Generic, TypeVar

Owner = TypeVar("Owner", bound=Hashable)
Holder = TypeVar("Holder", bound=Hashable)

KEPT: Final = -1
"""The rank of a holder who is in the middle of something, and gives its place to nobody."""


class Full(Exception):  # noqa: N818 - the word for what it says
    """There is no place, and nobody who could be asked for one."""


class Seats(Generic[Owner, Holder]):
    """Who holds a place, on whose account, and in what order places are given back.

    A holder has a rank: those of rank 0 go first, then those of rank 1, and so on; `KEPT` never.
    Within a rank whoever came to it first goes first. Nothing here takes longer with more holders,
    but for finding the owner who has most.
    """

    def __init__(self, *, total: int, each: int, ranks: int) -> None:
        """At most `total` places, and at most `each` for one owner."""
        self._total = total
        self._each = each
        self._ranks = ranks
        self._accounts: dict[Owner, _Account[Holder]] = {}
        self._taken = 0

    def __len__(self) -> int:
        """How many places are taken."""
        return self._taken

    def __iter__(self) -> Iterator[Holder]:
        """Every holder."""
        for account in self._accounts.values():
            yield from account.ranks

    def must_go(self, owner: Owner) -> tuple[Owner, Holder] | None:
        """Who has to leave before `owner` may have one place more, and on whose account it sits.

        Raises:
            Full: somebody would have to, and all of them are in the middle of something.
        """
        account = self._accounts.get(owner)
        if account is not None and len(account.ranks) >= self._each:
            return owner, account.first()
        if self._taken < self._total:
            return None
        most = max(self._accounts, key=lambda each: len(self._accounts[each].ranks), default=None)
        if most is not None and self._accounts[most].yields():
            return most, self._accounts[most].first()
        yielding = (item for item in self._accounts.items() if item[1].yields())
        other, theirs = max(yielding, key=lambda item: len(item[1].ranks), default=(None, None))
        if other is None or theirs is None:
            raise Full
        return other, theirs.first()

    def place(self, owner: Owner, holder: Holder, rank: int = KEPT) -> None:
        """Let `holder` have a place, or move to the end of another rank."""
        account = self._accounts.get(owner)
        if account is None:
            account = self._accounts[owner] = _Account(self._ranks)
        if account.move(holder, rank):
            self._taken += 1

    def leave(self, owner: Owner, holder: Holder) -> None:
        """Give the place of `holder` back, if it has one."""
        account = self._accounts.get(owner)
        if account is not None and account.drop(holder):
            self._taken -= 1
            if not account.ranks:
                del self._accounts[owner]


class _Account(Generic[Holder]):
    """The places of one owner."""

    __slots__ = ("_lines", "ranks")

    def __init__(self, ranks: int) -> None:
        self.ranks: dict[Holder, int] = {}
        self._lines: tuple[dict[Holder, None], ...] = tuple({} for _ in range(ranks + 1))

    def move(self, holder: Holder, rank: int) -> bool:
        """Whether it is a new one."""
        former = self.ranks.get(holder)
        if former is not None:
            del self._lines[former][holder]
        self.ranks[holder] = rank
        self._lines[rank][holder] = None  # the last line is that of `KEPT`
        return former is None

    def drop(self, holder: Holder) -> bool:
        former = self.ranks.pop(holder, None)
        if former is None:
            return False
        del self._lines[former][holder]
        return True

    def yields(self) -> bool:
        return any(self._lines[:KEPT])

    def first(self) -> Holder:
        for line in self._lines[:KEPT]:
            for holder in line:
                return holder
        raise Full
