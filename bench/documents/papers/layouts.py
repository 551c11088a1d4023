"""Layouts of papers: what is true in one, and how it is written down in each country."""

import random
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from bench.documents.case import Case

_BOOKS: Final = Path(__file__).with_name("books.toml")
Truth = list[dict[str, Any]]
Written = tuple[str, list[str], Truth]
"""The end of the file's name, its lines, and what is true in it."""


def laid_out() -> Iterator[Case]:
    """One paper of each kind in each country."""
    books = tomllib.loads(_BOOKS.read_text(encoding="utf-8"))
    for country, book in books.items():
        for kind, write in _LAYOUTS.items():
            name = f"{country}-{kind}"
            clerk = Clerk(book=book, chance=random.Random(name))  # noqa: S311
            ending, lines, truth = write(clerk)
            yield Case(
                group=_GROUPS.get(kind, kind),
                name=name,
                file_name=f"{name}.{ending}",
                data="\n".join((*lines, "")).encode(),
                truth=truth,
                kept=sha256(name.encode()).digest()[0] % 2 == 1,
            )


@dataclass(slots=True)
class Clerk:
    """Writes what is true in the words and notations of a country, by chance where there are
    several."""

    book: Mapping[str, Any]
    chance: random.Random

    def word(self, *names: str) -> str:
        """One of the wordings under these names."""
        found: Any = self.book
        for name in names:
            found = found[name]
        return found if isinstance(found, str) else self.chance.choice(found)

    def cents(self, low: int = 2_000, high: int = 400_000) -> int:
        """An amount."""
        return self.chance.randrange(low, high)

    def money(self, cents: int) -> str:
        """An amount as it is written, with its currency."""
        return str(self.book["money"]).format(**self._parts(cents))

    def bare(self, cents: int) -> str:
        """An amount without its currency."""
        parts = self._parts(cents)
        return f"{parts['whole']}{self.book['marks'][1]}{parts['cents']}"

    def _parts(self, cents: int) -> dict[str, str]:
        whole = f"{cents // 100:,}".replace(",", self.book["marks"][0])
        return {"whole": whole, "cents": f"{cents % 100:02}"}

    def day(self) -> tuple[str, str]:
        """A day, as ISO 8601 writes it and as the country does; no month looks like a day."""
        y, m, d = 2024, self.chance.randrange(1, 13), self.chance.randrange(13, 29)
        return f"{y}-{m:02}-{d:02}", self.book["date"].format(y=y, m=m, d=d)

    def number(self, letters: str) -> str:
        """A number of a paper."""
        form = self.chance.choice(("{l}-{n}", "{l}{n}", "2024/{n}", "{n}"))
        return form.format(l=letters, n=self.chance.randrange(1_000, 99_999))


def _bill(clerk: Clerk, kind: str, head: str) -> tuple[list[str], dict[str, Any], int]:
    """The top of a paper with its own number and day, what is true in it, and its sum."""
    number, (day, written), total = clerk.number(kind[:2].upper()), clerk.day(), clerk.cents()
    shown = "credit_note" if kind == "credit_note" else kind
    label = clerk.word(head, "number")
    lines = [clerk.word("firm"), clerk.word("street"), "", clerk.word(head, "head"), ""]
    lines += [f"{label}: {number}", f"{clerk.word('invoice', 'day')}: {written}"]
    lines.append(f"{clerk.word('customer')}: {clerk.word('buyer')}")
    truth = {
        "entity_type": shown,
        f"{shown}_number": number,
        f"{shown}_date": day,
        "vendor_name": clerk.word("firm"),
        "customer_name": clerk.word("buyer"),
    }
    return lines, truth, total


def _summed(clerk: Clerk, total: int) -> list[str]:
    """The net amount, the tax and the sum."""
    net = round(total * 100 / (100 + clerk.book["rate"]))
    rows = (
        (clerk.word("net"), net),
        (clerk.word("tax"), total - net),
        (clerk.word("total"), total),
    )
    return ["", *(f"{label}: {clerk.money(cents)}" for label, cents in rows)]


def _invoice(clerk: Clerk) -> Written:
    lines, truth, total = _bill(clerk, "invoice", "invoice")
    due, written = clerk.day()
    lines += [f"{clerk.word('invoice', 'due')}: {written}", *_summed(clerk, total)]
    money = {"amount_due": total / 100, "currency": clerk.word("currency"), "date_due": due}
    return "txt", lines, [{**truth, **money}]


def _two_invoices(clerk: Clerk) -> Written:
    _, first, (one,) = _invoice(clerk)
    _, second, (other,) = _invoice(clerk)
    return "txt", [*first, "", "", *second], [one, other]


def _paper(kind: str, head: str = "") -> Callable[[Clerk], Written]:
    """A paper with a sum of its own."""

    def write(clerk: Clerk) -> Written:
        lines, truth, total = _bill(clerk, kind, head or kind)
        if until := clerk.book[head or kind].get("until"):
            lines.append(f"{clerk.chance.choice(until)}: {clerk.day()[1]}")
        money = {"amount": total / 100, "currency": clerk.word("currency")}
        return "txt", [*lines, *_summed(clerk, total)], [{**truth, **money}]

    return write


def _about_an_invoice(kind: str) -> Callable[[Clerk], Written]:
    """A paper that names an invoice."""

    def write(clerk: Clerk) -> Written:
        lines, truth, total = _bill(clerk, kind, kind)
        named = clerk.number("INV")
        lines.append(f"{clerk.word(kind, 'about')} {named}")
        truth["invoice_reference"] = named
        if kind == "reminder":
            lines += ["", f"{clerk.word('open')}: {clerk.money(total)}"]
        elif kind == "credit_note":
            lines += _summed(clerk, total)
        else:
            lines += ["", *(f"{each}  {n} x" for n, each in enumerate(clerk.book["goods"], 2))]
            return "txt", lines, [{**truth, "amount": None, "amount_due": None}]
        money = {"amount": total / 100, "currency": clerk.word("currency")}
        return "txt", lines, [{**truth, **money}]

    return write


def _payslip(clerk: Clerk) -> Written:
    gross = clerk.cents(200_000, 500_000)
    net = round(gross * 0.68)
    lines = [clerk.word("firm"), "", clerk.word("payslip", "head"), ""]
    lines += [f"{clerk.word('payslip', 'gross')}: {clerk.money(gross)}"]
    lines += [f"{clerk.word('payslip', 'net')}: {clerk.money(net)}"]
    # The payment is the sum, if any is read; earnings before taxes never are.
    return "txt", lines, [{"entity_type": "payslip", "amount": net / 100}]


def _till(*, card: bool) -> Callable[[Clerk], Written]:
    """A receipt of a till: the shop at the top, the day somewhere, a sum, and how it was paid."""

    def write(clerk: Clerk) -> Written:
        (day, written), shop = clerk.day(), clerk.word("shop")
        prices = [clerk.cents(90, 900) for _ in clerk.book["goods"]]
        width, total = 32, sum(prices)
        rows = [
            f"{name:<22}{clerk.bare(price):>10}"
            for name, price in zip(clerk.book["goods"], prices, strict=True)
        ]
        lines = [shop.upper(), clerk.word("street"), ""]
        lines += rows if card else [f"{written}  14:{clerk.chance.randrange(10, 59)}", "", *rows]
        lines += ["-" * width, f"{clerk.word('till', 'sum'):<22}{clerk.money(total):>10}"]
        if card:
            lines += [
                f"{clerk.word('till', 'card'):<22}{clerk.money(total):>10}",
                "",
                f"{written} 18:{clerk.chance.randrange(10, 59)}:07",
            ]
        else:
            given = (total // 1000 + 1) * 1000
            lines += [
                f"{clerk.word('till', 'cash'):<22}{clerk.bare(given):>10}",
                f"{clerk.word('till', 'change'):<22}{clerk.bare(given - total):>10}",
            ]
        truth = {"entity_type": "receipt", "merchant_name": shop, "date_purchased": day}
        money = {"amount_total": total / 100, "currency": clerk.word("currency")}
        return "txt", [*lines, "", clerk.word("till", "thanks")], [{**truth, **money}]

    return write


def _statement(clerk: Clerk) -> Written:
    balance, lines, truth = clerk.cents(), [";".join(clerk.book["columns"])], []
    for party in ("Studio Aalto", "Bistro Nove", "Rent"):
        (day, written), cents = clerk.day(), clerk.cents() * clerk.chance.choice((1, -1))
        balance += cents
        said = "".join("-" if each < 0 else "" for each in (cents,)) + clerk.bare(abs(cents))
        left = ("-" if balance < 0 else "") + clerk.bare(abs(balance))
        lines.append(f"{written};{party};{said};{left}")
        truth.append({"entity_type": "transaction", "date": day, "amount": cents / 100})
    return "csv", lines, truth


_LAYOUTS: Final[Mapping[str, Callable[[Clerk], Written]]] = {
    "invoice": _invoice,
    "two-invoices": _two_invoices,
    "credit_note": _about_an_invoice("credit_note"),
    "reminder": _about_an_invoice("reminder"),
    "delivery_note": _about_an_invoice("delivery_note"),
    "quote": _paper("quote"),
    "order": _paper("order"),
    "proforma": _paper("quote", "proforma"),
    "payslip": _payslip,
    "till-cash": _till(card=False),
    "till-card": _till(card=True),
    "statement": _statement,
}
_GROUPS: Final = {"two-invoices": "invoice", "till-cash": "till", "till-card": "till"} | {
    "proforma": "quote"
}
