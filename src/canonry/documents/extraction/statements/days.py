"""Days in statements: whether the day or the month stands first, by all that a file shows."""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import lru_cache
from itertools import pairwise
from typing import Final

from canonry.canon.ports.files import Cell
from canonry.documents.extraction.rows import WITH_BOTH_ORDERS
from canonry.documents.extraction.statements.columns import DATES, Columns
from canonry.documents.extraction.statements.sums import Proof
from canonry.records.domain.interpretations import Unread
from canonry.values.calendar_dates import DayOrder, SeenDate, date_in, order_in

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
