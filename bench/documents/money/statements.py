"""Statements: every layout filled with movements, as bytes, with what is truly in it."""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from typing import Any
from zlib import crc32

from bench.documents.case import Case
from bench.documents.money.layouts import Layout, layouts
from bench.documents.money.movements import Account, Movement, an_account
from bench.documents.money.sheets import Cell, a_csv, an_xlsx

SEEDS = 2
_SIDES = {
    "SH": ("S", "H"),
    "AfBij": ("Af", "Bij"),
    "DebitoCredito": ("Débito", "Crédito"),
    "DEBITCREDIT": ("DEBIT", "CREDIT"),
    "DebitCredit": ("Debit", "Credit"),
}
_CURRENCY = re.compile(r"EUR|euro|€|CHF|GBP|£|PLN", re.IGNORECASE)
_OWNER = "Mara Beispiel"


def statements() -> Iterator[Case]:
    """Each layout once a seed; half of the layouts are kept apart, by their names."""
    for layout in layouts():
        for seed in range(SEEDS):
            account = an_account(layout.country, seed, late=layout.late)
            yield Case(
                group="statement",
                name=f"{layout.name}-{seed}",
                file_name="movements.xlsx" if layout.xlsx else "movements.csv",
                data=_file(layout, account, seed),
                truth=[_true(layout, account, each, seed) for each in account.movements],
                kept=is_kept(layout.name),
            )


def is_kept(name: str) -> bool:
    """Return whether the case of this name is kept apart."""
    return crc32(name.encode()) % 2 == 1


def _columns(layout: Layout) -> list[tuple[str, str]]:
    pairs = (each.rpartition("=") for each in layout.columns)
    return [(title, content) for title, _, content in pairs]


def _file(layout: Layout, account: Account, seed: int) -> bytes:
    columns = _columns(layout)
    lines = list(account.movements)
    lines = lines[::-1] if layout.newest_first else lines
    rows: list[Sequence[Any]] = [*_around(layout.head, layout, account)]
    rows.append([title for title, _ in columns])
    rows += [[_cell(layout, account, each, c, seed) for _, c in columns] for each in lines]
    rows += _around(layout.foot, layout, account)
    if layout.xlsx:
        return an_xlsx(rows)
    return a_csv(rows, layout.separator, layout.charset, quoted=layout.quoted)


def _around(rows: Sequence[Sequence[str]], layout: Layout, account: Account) -> Iterator[list[str]]:
    figures = {
        "@iban": account.iban,
        "@opening": _number(layout, account.opening),
        "@closing": _number(layout, account.movements[-1].balance),
    }
    for row in rows:
        cells = []
        for cell in row:
            text = cell
            for name, figure in figures.items():
                text = text.replace(name, figure)
            cells.append(text)
        yield cells


def _cell(  # noqa: C901, PLR0911, PLR0912 - a line for each content
    layout: Layout, account: Account, each: Movement, content: str, seed: int
) -> Cell:
    if content.startswith("-"):
        return content[1:]
    match content:
        case "":
            return ""
        case "booked" | "value" | "made":
            day: date = getattr(each, content)
            return day if layout.xlsx else day.strftime(layout.day)
        case "amount" | "balance":
            return _amount(layout, getattr(each, content))
        case "before":
            return _amount(layout, each.balance - each.amount)
        case "closing":
            return _amount(layout, account.movements[-1].balance)
        case "absolute":
            return _amount(layout, abs(each.amount))
        case "out" | "out-":
            wanted = -each.amount if content == "out" else each.amount
            return _amount(layout, wanted) if each.amount < 0 else ""
        case "in":
            return _amount(layout, each.amount) if each.amount > 0 else ""
        case "payer":
            return each.party if each.amount > 0 else _OWNER
        case "payee":
            return each.party if each.amount < 0 else _OWNER
        case "party" | "purpose":
            return str(getattr(each, content))
        case "currency":
            return account.currency
        case "account":
            return account.iban
        case "number":
            return f"{each.number:018}"
        case "id":
            return _id(seed, each)
        case _:
            return _SIDES[content][each.amount > 0]


def _id(seed: int, each: Movement) -> str:
    return f"TX{seed}{each.booked:%y%m%d}{each.number:04}"


def _amount(layout: Layout, amount: Decimal) -> Cell:
    if layout.xlsx:
        return float(amount)
    written = _number(layout, abs(amount))
    sign = "-" if amount < 0 else "+" if layout.plus else ""
    return f"{sign}{layout.before}{written}{layout.after}"


def _number(layout: Layout, amount: Decimal) -> str:
    marks = str.maketrans({",": layout.group, ".": layout.mark})
    return f"{amount:,.2f}".translate(marks)


def _true(layout: Layout, account: Account, each: Movement, seed: int) -> dict[str, Any]:
    contents = [content for _, content in _columns(layout)]
    dates = [getattr(each, name) for name in ("made", "booked") if name in contents]
    true: dict[str, Any] = {
        "entity_type": "transaction",
        "date": (dates or [each.value])[0].isoformat(),
        "amount": float(each.amount),
        "description": each.purpose,
        "merchant_name": each.party if {"party", "payee"} & set(contents) else None,
    }
    if len(dates) > 1:
        true["posting_date"] = dates[1].isoformat()
    if "value" in contents and dates:
        true["value_date"] = each.value.isoformat()
    if "balance" in contents:
        true["balance"] = float(each.balance)
    if "id" in contents:
        true["transaction_id"] = _id(seed, each)
    around = f"{layout.columns}{layout.head}{layout.foot}{layout.after}{layout.before}"
    if "currency" in contents or _CURRENCY.search(around):
        true["currency"] = account.currency
    if "account" in contents or "@iban" in around:
        true["account_id"] = account.iban
    return true
