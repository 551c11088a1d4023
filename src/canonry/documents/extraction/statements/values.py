"""Days and sums as bank statements write them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Final, TypeAlias

from canonry.canon.ports.files import Cell
from canonry.documents.extraction.rows import WITH_BOTH_ORDERS
from canonry.documents.extraction.statements.columns import DATES, SUMS, Columns, is_sum, side_of
from canonry.records.domain.interpretations import Unread
from canonry.records.notation.numbers import SeenNumber, is_measured, mark_in, number_in
from canonry.values.calendar_dates import DayOrder, SeenDate, date_in, order_in

Booked: TypeAlias = tuple[Decimal | None, Decimal | None]
"""The amount of a line and the balance after it, where they are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """How many steps from line to line the balances confirm, of how many.

    `broken` are the places of lines that do not follow, `newest_first` says in which direction the
    lines run.
    """

    steps: int
    held: int
    newest_first: bool
    broken: tuple[int, ...]

    @property
    def whole(self) -> bool:
        """Whether every line follows from the one before."""
        return 0 < self.held == self.steps

    @property
    def runs(self) -> bool:
        """Whether these are running balances at all."""
        return self.held > 0 and 2 * self.held >= self.steps


def proof_of(lines: Sequence[Booked]) -> Proof:
    """What the balances of lines say of them, in the direction in which they say more."""
    return max((_in(lines, newest) for newest in (False, True)), key=lambda proof: proof.held)


def _in(lines: Sequence[Booked], newest_first: bool) -> Proof:  # noqa: FBT001
    steps, broken = 0, []
    for place, (above, below) in enumerate(pairwise(lines), 1):
        earlier, later = (below, above) if newest_first else (above, below)
        if earlier[1] is None or later[1] is None:
            continue
        steps += 1
        if later[0] is None or earlier[1] + later[0] != later[1]:
            broken.append(place)
    return Proof(
        steps=steps, held=steps - len(broken), newest_first=newest_first, broken=tuple(broken)
    )


Cells: TypeAlias = Sequence[Cell]
_MARKS: Final = (".", ",")
_SUFFIX: Final = re.compile(r"\d\s*([A-Za-z]{1,2})\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Reads the sums of a file with this decimal mark.

    `turned`: what went out has a minus in a column of its own.
    """

    columns: Columns
    mark: str | None
    turned: bool

    def paid(self, row: Cells) -> SeenNumber | Unread | None:
        """The amount of a row with its sign; unread where it is unclear which way it went."""
        cell = self.columns.cell(row, "amount")
        seen = number_of(cell, self.mark)
        if seen is None:
            return self._of_two(row)
        if seen.value is None:
            return Unread(value=cell, reason=seen.reason)
        side = self.columns.cell(row, "side")
        way = (side_of(side) if side is not None else 0) or _suffixed(cell)
        if seen.value < 0 < way:
            return Unread(value=cell, reason="its sign contradicts the side that is named")
        return _signed(seen.value, way) if way else seen

    def balance(self, row: Cells) -> SeenNumber | None:
        """The balance after a row."""
        cell = self.columns.cell(row, "balance")
        seen = number_of(cell, self.mark)
        way = _suffixed(cell)
        return seen if not way or seen is None or seen.value is None else _signed(seen.value, way)

    def _of_two(self, row: Cells) -> SeenNumber | Unread | None:
        """The amount that stands in one of two columns."""
        sides = []
        for name, way in (("out", 1 if self.turned else -1), ("into", 1)):
            cell = self.columns.cell(row, name)
            seen = number_of(cell, self.mark)
            if seen is not None and seen.value is None:
                return Unread(value=cell, reason=seen.reason)
            if seen is not None and seen.value:
                sides.append(SeenNumber(value=seen.value * way))
        if len(sides) > 1:
            both = " / ".join(str(self.columns.cell(row, name)) for name in ("out", "into"))
            return Unread(value=both, reason="it went out and came in")
        return sides[0] if sides else None


def sums_of(columns: Columns, rows: Sequence[Cells], around: Sequence[Cells]) -> tuple[Sums, Proof]:
    """How to read the sums of a file, and what its running balances say of that.

    The mark is that of the sums themselves, else that of what stands around them; if the balances
    prove one reading and no other, it is that one.
    """
    cells = (columns.cell(row, name) for row in rows for name in (*SUMS, "balance", "before"))
    own = mark_in("\n".join(cell for cell in cells if isinstance(cell, str)))
    mark = own or mark_in("\n".join(c for row in around for c in row if isinstance(c, str)))
    sums, proof = _tried(columns, rows, mark)
    if proof.whole or "balance" not in columns.places:
        return sums, proof
    others = (_tried(columns, rows, each) for each in _MARKS if each != mark)
    whole = [(sums, proof) for sums, proof in others if proof.whole]
    return whole[0] if len(whole) == 1 else (sums, proof)


def _tried(columns: Columns, rows: Sequence[Cells], mark: str | None) -> tuple[Sums, Proof]:
    sums = Sums(columns=columns, mark=mark, turned=_is_turned(columns, rows, mark))
    if "balance" not in columns.places:
        return sums, proof_of(())
    return sums, proof_of(
        [(decimal_of(sums.paid(row)), decimal_of(sums.balance(row))) for row in rows]
    )


def _is_turned(columns: Columns, rows: Sequence[Cells], mark: str | None) -> bool:
    if "out" not in columns.places:
        return False
    seen = (number_of(columns.cell(row, "out"), mark) for row in rows)
    return {each.value > 0 for each in seen if each is not None and each.value} == {False}


def decimal_of(seen: SeenNumber | Unread | None) -> Decimal | None:
    """The number, where it is clear."""
    return seen.value if isinstance(seen, SeenNumber) else None


def number_of(cell: Cell, mark: str | None) -> SeenNumber | None:
    """The number of a cell, where it holds one and nothing else."""
    if cell is None or not is_sum(cell):
        return None
    if isinstance(cell, str):
        return None if is_measured(cell) else number_in(cell, mark)
    return SeenNumber(value=Decimal(repr(cell)))


def _suffixed(cell: Cell) -> int:
    """The side that letters behind an amount name, as in `12,50 S`."""
    found = _SUFFIX.search(cell) if isinstance(cell, str) else None
    return side_of(found[1]) if found else 0


def _signed(value: Decimal, way: int) -> SeenNumber:
    return SeenNumber(value=abs(value) * way)


_BARE: Final = re.compile(r"\s*(\d{4})([01]\d)([0-3]\d)\s*")
_MONTH_FIRST: Final = re.compile(
    r"\b(?:ach|checking|routing|check or slip|check (?:number|no|#)|zelle|fdic|running bal"
    r"|summary amt)\b",
    re.IGNORECASE,
)
"""Words of banks of the United States, the only ones that write the month first."""

_LOOKED_AT: Final = 50
_SEVERAL: Final = 3


def day_of(cell: Cell, order: DayOrder | None) -> str | Unread | None:
    """The day of a cell in ISO 8601; unread where it could be two, or none."""
    if cell is None:
        return None
    seen = _seen(str(cell), order)
    if seen is None:
        return Unread(value=cell, reason="it is no date")
    return Unread(value=cell, reason=seen.reason) if seen.value is None else seen.value[:10]


@lru_cache(maxsize=4_096)
def _seen(text: str, order: DayOrder | None) -> SeenDate | None:
    bare = _BARE.fullmatch(text)
    return date_in("-".join(bare.groups()) if bare else text, order)


def order_of(
    columns: Columns,
    rows: Sequence[Sequence[Cell]],
    head: Sequence[Sequence[Cell]],
    currency: str | None,
    proof: Proof,
) -> DayOrder | None:
    """What stands first: as the dates themselves show, the head, the lines' order, the country."""
    days = [str(columns.cell(row, name) or "") for row in rows for name in DATES]
    around = "\n".join(str(cell) for row in head for cell in row if cell)
    return (
        order_in("\n".join(days))
        or order_in(around)
        or _running(columns, rows, proof)
        or _local(columns, rows[:_LOOKED_AT], around, currency)
    )


def _running(columns: Columns, rows: Sequence[Sequence[Cell]], proof: Proof) -> DayOrder | None:
    """The one order in which the days of the lines go on in one direction."""
    name = next(name for name in ("booked", "made", "value") if name in columns.places)
    cells = [columns.cell(row, name) for row in rows]
    fitting = [order for order in DayOrder if _goes_on(list(_days(cells, order)), proof)]
    return fitting[0] if len(fitting) == 1 else None


def _days(cells: Sequence[Cell], order: DayOrder) -> Iterator[date]:
    for cell in cells:
        day = day_of(cell, order)
        if isinstance(day, str):
            yield date.fromisoformat(day)


def _goes_on(days: Sequence[date], proof: Proof) -> bool:
    """Whether several days follow each other, in the direction of the balances if they run."""
    up = all(a <= b for a, b in pairwise(days))
    down = all(a >= b for a, b in pairwise(days))
    wanted = (down if proof.newest_first else up) if proof.whole else up or down
    return wanted and len(set(days)) >= _SEVERAL


def _local(
    columns: Columns, rows: Sequence[Sequence[Cell]], around: str, currency: str | None
) -> DayOrder | None:
    """The order of the country, as far as languages, currencies and words tell it."""
    codes = {currency, *(columns.cell(row, "currency") for row in rows)} - {None}
    if columns.languages - {"en"} or (codes and not codes & WITH_BOTH_ORDERS):
        return DayOrder.DAY
    words = " ".join((*columns.titles, around, *(str(cell) for row in rows for cell in row)))
    return DayOrder.MONTH if _MONTH_FIRST.search(words.replace("_", " ")) else None
