"""Arguments: numbers that may come as text, names that may be missing, and their bounds.

The schema has been applied before, so that types hold here.
"""

import math
from typing import Final

from canonry.gateway.tool import Arguments
from canonry.readmodels.ticks import Tick, checked_tick
from canonry.values.errors import InvalidInput

DEPTH_MAX: Final = 5
LIMIT_MAX: Final = 100
FOUND_MAX: Final = 20
_EXACT: Final = 2**53
"""Beyond this a whole number in a text becomes a float, as JSON's numbers are to most readers."""


def number_of(arguments: Arguments, name: str) -> float | int | None:
    """A number, or the number that a text writes; None where there is neither.

    Raises:
        InvalidInput: `number.malformed`, with the parameter's own name.
    """
    value = arguments.get(name)
    if isinstance(value, str):
        value = _read(value)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        message = f"invalid {name}: give a finite number"
        raise InvalidInput("number.malformed", message, path=f"/{name}")
    return value


def _read(text: str) -> float | int | None:
    """The number in a text; nan where there is none, None where the text says nothing."""
    shown = text.strip()
    if not shown:
        return None
    if "_" in shown or not shown.isascii():  # which Python reads and JavaScript does not
        return math.nan
    try:
        whole = int(shown, 0)
        return whole if abs(whole) <= _EXACT else float(whole)
    except OverflowError:
        return math.inf
    except ValueError:
        pass
    try:
        return float(shown)
    except ValueError:
        return math.nan


def tick_of(arguments: Arguments) -> Tick | None:
    """The tick that is asked about; what lies between two is the earlier."""
    value = number_of(arguments, "tick")
    return None if value is None else checked_tick(math.floor(value), path="/tick")


def clamped(value: float, least: int, most: int) -> int:
    """`value` without what is after the point, and within its bounds."""
    return min(max(math.floor(value), least), most)


def name_of(arguments: Arguments, name: str) -> str | None:
    """An id or key; an empty one counts as missing."""
    value = arguments.get(name)
    return value if isinstance(value, str) and value else None
