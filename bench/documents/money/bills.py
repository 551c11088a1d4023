"""Invoices and receipts of ten countries: pages with columns, web pages, texts, and for programs.

Every country has three sets of words, and each layout takes one of them; which cases are kept apart
follows from their names.
"""

import random
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from html import escape
from pathlib import Path
from typing import Any

from bench.documents.case import Case
from bench.documents.money.exchange import a_cii, a_ubl
from bench.documents.money.pages import Placed, a_pdf, width
from bench.documents.money.statements import is_kept

CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """An invoice or receipt: the words of its country, and its figures."""

    words: Mapping[str, Any]
    variant: int
    number: str
    issued: date
    due: date
    lines: Sequence[tuple[str, int, Decimal]]

    @property
    def net(self) -> Decimal:
        return sum((count * price for _, count, price in self.lines), Decimal())

    @property
    def tax(self) -> Decimal:
        rate = Decimal(str(self.words["rate"]))
        return (self.net * rate / 100).quantize(CENT, ROUND_HALF_UP)

    @property
    def gross(self) -> Decimal:
        return self.net + self.tax

    def word(self, name: str) -> str:
        said = self.words[name]
        return str(said if isinstance(said, str) else said[self.variant])

    def money(self, amount: Decimal) -> str:
        return str(self.words["money"]).format(self.plain(amount))

    def plain(self, amount: Decimal) -> str:
        marks = str.maketrans({",": self.words["group"], ".": self.words["mark"]})
        return f"{amount:,.2f}".translate(marks)

    def day(self, day: date) -> str:
        return day.strftime(self.words["day"])


def bills() -> Iterator[Case]:
    """All of them."""
    path = Path(__file__).with_name("bills.toml")
    countries: dict[str, dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))
    for country, words in countries.items():
        for place, (layout, suffix, make) in enumerate(_LAYOUTS):
            name = f"{country.lower()}-{layout}"
            bill = _a_bill(words, place % 3, name)
            receipt = layout.startswith("receipt")
            yield Case(
                group="receipt" if receipt else "e-invoice" if suffix in _EXACT else "invoice",
                name=name,
                file_name=f"document.{suffix.removeprefix('fx.')}",
                data=make(bill),
                truth=[_true_receipt(bill) if receipt else _true_invoice(bill)],
                kept=is_kept(name),
            )


def _a_bill(words: Mapping[str, Any], variant: int, name: str) -> Bill:
    lot = random.Random(name)  # noqa: S311 - a document, not a secret
    issued = date(2024, lot.randint(1, 11), lot.randint(13, 27))
    goods = words["articles" if "receipt" in name else "goods"]
    prices = (199, 2_900) if "receipt" in name else (4_500, 160_000)
    return Bill(
        words=words,
        variant=variant,
        number=f"{lot.choice(('2024-', 'R', 'INV-', ''))}{lot.randint(10_000, 99_999)}",
        issued=issued,
        due=issued + timedelta(days=lot.choice((14, 30))),
        lines=[(g, lot.randint(1, 3), Decimal(lot.randint(*prices)) / 100) for g in goods],
    )


def _true_invoice(bill: Bill) -> dict[str, Any]:
    words = bill.words
    true = {
        "entity_type": "invoice",
        "invoice_number": bill.number,
        "invoice_date": bill.issued.isoformat(),
        "date_due": bill.due.isoformat(),
        "vendor_name": words["vendor"],
        "customer_name": words["customer"],
        "subtotal": float(bill.net),
        "tax_amount": float(bill.tax),
        "amount_due": float(bill.gross),
        "currency": words["currency"],
        "tax_id": (words["taxid"][1], words["taxid"][1].replace(".", "")),
    }
    return true | ({"iban": words["iban"]} if words["iban"] else {})


def _true_receipt(bill: Bill) -> dict[str, Any]:
    return {
        "entity_type": "receipt",
        "merchant_name": bill.words["shop"],
        "receipt_number": bill.number,
        "date_purchased": bill.issued.isoformat(),
        "amount_total": float(bill.gross),
        "tax_amount": float(bill.tax),
        "currency": bill.words["currency"],
    }


def _right(x: float, y: float, text: str) -> Placed:
    return x - width(text), y, text


def _letter(bill: Bill) -> bytes:
    """Sender and address on the left, facts on the right, sums below the last column."""
    words = bill.words
    page: list[Placed] = [(60, 790, words["vendor"])]
    page += [(60, 776 - 12 * i, each) for i, each in enumerate(words["street"])]
    page += [(60, 700, bill.word("to") + ":"), (60, 686, words["customer"]), (60, 672, "PO Box 77")]
    facts = (
        ("number", bill.number),
        ("date", bill.day(bill.issued)),
        ("due", bill.day(bill.due)),
    )
    for place, (name, value) in enumerate(facts):
        page += [(350, 700 - 14 * place, bill.word(name) + ":"), (480, 700 - 14 * place, value)]
    page.append((60, 620, words["title"]))
    page += _goods(bill, 590)
    y = 590 - 16 * (len(bill.lines) + 2)
    for name, amount in (("net", bill.net), ("tax", bill.tax), ("total", bill.gross)):
        page += [(340, y, bill.word(name)), _right(540, y, bill.money(amount))]
        y -= 16
    page += [(60, 60, words["vendor"]), (240, 60, "IBAN"), (420, 60, " ".join(words["taxid"]))]
    page += [(240, 48, words["iban"])] if words["iban"] else []
    return a_pdf([page])


def _boxes(bill: Bill) -> bytes:
    """Two boxes side by side, labels above their values."""
    words = bill.words
    page: list[Placed] = [(60, 790, words["title"].upper()), (380, 790, words["vendor"])]
    page += [(380, 776 - 12 * i, each) for i, each in enumerate(words["street"])]
    heads = ((60, "number", bill.number), (220, "date", bill.day(bill.issued)))
    for x, name, value in (*heads, (380, "due", bill.day(bill.due))):
        page += [(x, 720, bill.word(name)), (x, 706, value)]
    page += [(60, 670, bill.word("to")), (60, 656, words["customer"]), (60, 642, "PO Box 77")]
    page += _goods(bill, 600)
    y = 600 - 16 * (len(bill.lines) + 2)
    for name, amount in (("net", bill.net), ("tax", bill.tax), ("total", bill.gross)):
        page += [_right(440, y, bill.word(name) + ":"), _right(540, y, bill.money(amount))]
        y -= 16
    page += [(60, 80, " ".join(words["taxid"]))]
    page += [(60, 66, f"IBAN: {words['iban']}")] if words["iban"] else []
    return a_pdf([page])


def _goods(bill: Bill, y: float) -> Iterator[Placed]:
    titles = bill.words["columns"]
    yield 60, y, titles[0]
    for x, title in zip((340, 440, 540), titles[1:], strict=True):
        yield _right(x, y, title)
    for place, (good, count, price) in enumerate(bill.lines, 1):
        at = y - 16 * place
        yield 60, at, good
        yield _right(340, at, str(count))
        yield _right(440, at, bill.plain(price))
        yield _right(540, at, bill.plain(count * price))


def _web(bill: Bill) -> bytes:
    """A mail or a page of HTML with tables for everything."""
    words = bill.words

    def row(*cells: str) -> str:
        return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"

    facts = (("number", bill.number), ("date", bill.day(bill.issued)), ("due", bill.day(bill.due)))
    sums = (("net", bill.net), ("tax", bill.tax), ("total", bill.gross))
    goods = "".join(
        row(good, str(count), bill.plain(price), bill.plain(count * price))
        for good, count, price in bill.lines
    )
    iban = f"IBAN {words['iban']}" if words["iban"] else ""
    return (
        f"<html><body><div>{escape(words['vendor'])}</div><h1>{words['title']}</h1><table>"
        + "".join(row(bill.word(name) + ":", value) for name, value in facts)
        + row(bill.word("to") + ":", words["customer"])
        + f"</table><table>{row(*words['columns'])}{goods}</table><table>"
        + "".join(row(bill.word(name), bill.money(amount)) for name, amount in sums)
        + f"</table><p>{' '.join(words['taxid'])}</p><p>{iban}</p></body></html>"
    ).encode()


def _till(bill: Bill) -> Sequence[tuple[str, str]]:
    """Return the lines that a till prints, each with a left and a right part."""
    words = bill.words
    shop = words["shop"].upper() if bill.variant == 1 else words["shop"]
    lines = [(each, "") for each in (shop, *words["street"], "", words["receipt"])]
    lines += [(f"{words['receipt_number']} {bill.number}", "")]
    lines += [(f"{bill.day(bill.issued)} 14:32", ""), ("-" * 32, "")]
    for good, count, price in bill.lines:
        lines.append((f"{count} x {good}", bill.plain(count * price)))
    lines += [("-" * 32, ""), (bill.word("receipt_tax"), bill.plain(bill.tax))]
    lines.append((bill.word("receipt_total"), bill.money(bill.gross)))
    return [*lines, (words["paid"], bill.money(bill.gross))]


def _receipt_text(bill: Bill) -> bytes:
    lines = (left.ljust(22) + right.rjust(12) if right else left for left, right in _till(bill))
    return "\n".join(lines).encode()


def _receipt_page(bill: Bill) -> bytes:
    page: list[Placed] = []
    for place, (left, right) in enumerate(_till(bill)):
        y = 780 - 14 * place
        page.append((60, y, left))
        page += [_right(300, y, right)] if right else []
    return a_pdf([page])


def _factur_x(bill: Bill) -> bytes:
    return a_pdf([[(60, 790, bill.words["title"])]], ("factur-x.xml", a_cii(bill)))


_EXACT = frozenset({"xml", "fx.pdf"})
_LAYOUTS: tuple[tuple[str, str, Callable[[Bill], bytes]], ...] = (
    ("letter", "pdf", _letter),
    ("boxes", "pdf", _boxes),
    ("web", "html", _web),
    ("receipt-text", "txt", _receipt_text),
    ("receipt-page", "pdf", _receipt_page),
    ("ubl", "xml", a_ubl),
    ("cii", "xml", a_cii),
    ("factur-x", "fx.pdf", _factur_x),
)
