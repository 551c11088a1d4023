"""Two calendars to say times in: one of months, odd days and eras, and one that counts rounds."""

from typing import Any, Final

from canonry.values.calendars.declaring import read_calendar, read_rough_time, time_as_given
from canonry.values.calendars.reckoning import GREGORIAN, Calendar
from canonry.values.moments import Instant

MONTHS: Final[dict[str, Any]] = {
    "name": "The Reckoning of Aldmoor",
    "months": [
        {"name": "Frostmoon", "days": 30, "short": ["Fro"]},
        {"name": "Thaw", "days": 30},
        {"name": "Day of the Dead", "days": 1, "intercalary": True},
        {"name": "High Sun", "days": 30},
        {"name": "Shieldmeet", "days": 0, "intercalary": True},
        {"name": "Leaffall", "days": 30},
    ],
    "week": ["Moonday", "Towerday", "Fireday", "Starday", "Restday"],
    "eras": [
        {"name": "BE", "backwards": True},
        {"name": "AE", "also": ["Age of Embers"]},
        {"name": "Third Age", "first_year": 2001},
    ],
    "leap": {"every": 4, "month": "Shieldmeet"},
}
ALDMOOR: Final = read_calendar(MONTHS)
ROUNDS: Final = read_calendar(
    {"counters": [{"name": "round", "seconds": 6}, {"name": "day", "seconds": 86_400}]}
)


def read_time(
    text: str, calendar: Calendar = GREGORIAN, relative_to: Instant | None = None, *, path: str = ""
) -> Instant:
    """Read the start of a time in words."""
    start = None if relative_to is None else time_as_given(relative_to, None, calendar)
    return read_rough_time(text, calendar, start, path=path).start
