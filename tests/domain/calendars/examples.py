"""Two calendars to say times in: one of months, odd days and eras, and one that counts rounds."""

from typing import Any, Final

from canonry.values.calendars.declaring import read_calendar

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
