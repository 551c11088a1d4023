"""Files of banks: MT940, OFX and QIF as tables of lines, whose titles say what each value is."""

import html
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

import mt940

from canonry.documents.parsers.findings import Findings, ParsedCell

TITLES: Final = (
    *("Transaction date", "Booking date", "Value date", "Amount", "Currency", "Counterparty"),
    *("Description", "Account", "Transaction ID"),
)
"""The titles of all tables that are made of files of banks, in plain English."""

_STATEMENT: Final = re.compile(r"(?m)^(?=:20:)")
_TAG: Final = re.compile(r"<(/?)([A-Za-z0-9._]+)>([^<\r\n]*)")
_OFX_DAY: Final = re.compile(r"(\d{4})(\d\d)(\d\d)")
_PLAIN: Final = re.compile(r"[+-]?\d+(?:\.\d+)?")
_NONE: Final = frozenset({"", "NONREF", "NOTPROVIDED"})


def parse(kind: str, data: bytes, found: Findings) -> None:
    """Read a file of a bank."""
    text = _decoded(data)
    {"mt940": _mt940, "ofx": _ofx, "qif": _qif}[kind](text, found)
    found.text(text)


def _decoded(data: bytes) -> str:
    """These files name no charset that can be trusted; what is no UTF-8 is of Windows."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("windows-1252", "replace")


def told_balances(
    found: Findings, opening: Decimal | None, closing: Decimal | None, amounts: list[Decimal]
) -> None:
    """Tell whether the balances at both ends prove the amounts between them."""
    if opening is None or closing is None:
        return
    if opening + sum(amounts) == closing:
        found.note(f"the balances at both ends prove the amounts of {len(amounts)} lines")
    else:
        missing = closing - opening - sum(amounts)
        found.note(f"the amounts do not lead from balance to balance: {missing} is missing")


def _mt940(text: str, found: Findings) -> None:
    for part in _STATEMENT.split(text):
        if not part.startswith(":20:"):
            continue
        statement = mt940.parse(part)
        named = statement.data
        rows: list[list[ParsedCell]] = [list(TITLES)]
        lines = [line.data for line in statement]
        rows += [
            _mt940_line(line, str(named.get("account_identification") or "")) for line in lines
        ]
        found.table(rows)
        ends = (named.get(f"final_{name}_balance") for name in ("opening", "closing"))
        opening, closing = (None if end is None else end.amount.amount for end in ends)
        told_balances(found, opening, closing, [line["amount"].amount for line in lines])


def _mt940_line(line: Mapping[str, Any], account: str) -> list[ParsedCell]:
    booked = line.get("entry_date") or line.get("guessed_entry_date")
    name = line.get("applicant_name") or line.get("recipient_name")
    purpose = line.get("purpose") or line.get("transaction_details")
    reference = str(line.get("bank_reference") or "")
    return [
        None,
        str(booked or line["date"]),
        str(line["date"]),
        float(line["amount"].amount),
        line["currency"],
        _bare(name),
        _bare(purpose),
        account,
        None if reference in _NONE else reference,
    ]


def _bare(text: Any) -> str | None:
    return " ".join(str(text).split()) or None if text else None


def _ofx(text: str, found: Findings) -> None:
    """Both notations of OFX: lines of tags of which only groups end, and XML."""
    account = currency = ""
    rows: list[list[ParsedCell]] = [list(TITLES)]
    line: dict[str, str] | None = None
    for end, tag, value in _TAG.findall(text):
        name, said = tag.upper(), html.unescape(value).strip()
        if name == "STMTTRN":
            if end and line is not None:
                rows.append(_ofx_line(line, currency, account))
            line = None if end else {}
        elif line is not None and said:
            line.setdefault(name, said)
        elif name == "ACCTID" and said:
            account = said
        elif name == "CURDEF" and said:
            currency = said
    if len(rows) > 1:
        found.table(rows)


def _ofx_line(line: Mapping[str, str], currency: str, account: str) -> list[ParsedCell]:
    made, posted = (_ofx_day(line.get(name, "")) for name in ("DTUSER", "DTPOSTED"))
    amount = line.get("TRNAMT", "")
    return [
        made if made != posted else None,
        posted,
        None,
        # A point is the mark of OFX; a comma is somebody's own notation.
        float(amount) if _PLAIN.fullmatch(amount) else amount or None,
        line.get("CURSYM") or currency,
        line.get("NAME") or line.get("PAYEE"),
        line.get("MEMO"),
        account,
        line.get("FITID"),
    ]


def _ofx_day(text: str) -> str | None:
    day = _OFX_DAY.match(text)
    return "-".join(day.groups()) if day else None


_QIF: Final = {
    "D": "Date",
    "T": "Amount",
    "P": "Payee",
    "M": "Memo",
    "N": "Number",
    "L": "Category",
}
_MOVED: Final = frozenset({"type:bank", "type:ccard", "type:cash", "type:oth a", "type:oth l"})


def _qif(text: str, found: Findings) -> None:
    rows: list[list[ParsedCell]] = [list(_QIF.values())]
    rows += [[line.get(key) for key in _QIF] for line in _qif_lines(text)]
    if len(rows) > 1:
        found.table(rows)


def _qif_lines(text: str) -> Iterator[dict[str, str]]:
    """The movements on accounts; what was bought of securities is none."""
    line: dict[str, str] = {}
    moved = False
    for raw in text.splitlines():
        key, said = raw[:1], raw[1:].strip()
        if key == "!":
            moved = said.lower() in _MOVED
        elif key == "^":
            if moved and "D" in line:
                yield line
            line = {}
        elif key in _QIF:
            line.setdefault(key, said.replace(" ", "").replace("'", "/") if key == "D" else said)
