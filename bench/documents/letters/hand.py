"""A hand: it writes with the phrases of one language, and chance chooses among its wordings."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """Phrases of a language, and the chance that chooses among them."""

    code: str
    book: Mapping[str, Any]
    chance: random.Random

    def one(self, section: str, name: str) -> str:
        """One of the wordings."""
        return str(self.chance.choice(self.book[section][name]))

    def said(self, section: str, name: str) -> str:
        """The one wording."""
        return str(self.book[section][name])

    def day(self) -> date:
        """Some day."""
        return date(2024, 1, 1) + timedelta(days=self.chance.randrange(700))

    def long(self, day: date) -> str:
        """A date with the name of its month."""
        return self._dated("long", day)

    def short(self, day: date) -> str:
        """A date in numbers, where the country writes them so."""
        return self._dated("short", day)

    def any(self, day: date) -> str:
        """A date in one of both."""
        return self.chance.choice((self.long, self.short))(day)

    def people(self, count: int) -> list[str]:
        """Different persons."""
        return self.chance.sample(self.book["people"], count)

    def company(self) -> str:
        """Some company."""
        return str(self.chance.choice(self.book["companies"]))

    def amount(self) -> tuple[str, float]:
        """A sum below a thousand, as it is written and as it is."""
        whole, cents = self.chance.randrange(120, 990), self.chance.randrange(1, 99)
        written = self.book["price"].format(whole=whole, cents=f"{cents:02}")
        return written, round(whole + cents / 100, 2)

    def number(self) -> str:
        """A number of a contract or a booking."""
        letters = "".join(self.chance.choice("ABCDEFGHKLMNPRSTUVWX") for _ in range(2))
        return f"{letters}-{self.chance.randrange(2020, 2026)}-{self.chance.randrange(100, 9999)}"

    def _dated(self, form: str, day: date) -> str:
        months = self.book["months"].split()
        return str(self.book[form]).format(
            day=day.day, month=months[day.month - 1], number=day.month, year=day.year
        )
