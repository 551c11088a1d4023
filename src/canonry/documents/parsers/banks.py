"""Parsers of files that banks and programs exchange.

MT940, OFX, QIF and CAMT become tables with titles. UBL and CII become invoices.
"""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from html.entities import html5
from itertools import takewhile
from typing import Any, Final
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException  # type: ignore[import-untyped]
from defusedxml.ElementTree import fromstring  # type: ignore[import-untyped]

from canonry.documents.parsers.findings import NAMES, Fault, Findings, ParsedCell
from canonry.documents.parsers.invoices import all_at, lines_at, number_at, read_invoice, said_at
from canonry.records.notation.money import Movement, is_unbooked, movement_of, state_of

_TITLES: Final = (
    *("Transaction date", "Booking date", "Value date", "Amount", "Currency", "Counterparty"),
    *("Description", "Account", "Transaction ID", "Original amount", "Original currency"),
    *("Kind of payment", "Status", "Paid invoice"),
)
"""The titles of tables from bank files."""

_STATEMENT: Final = re.compile(r"(?m)^(?=:20:)")
_FIELD: Final = re.compile(r"(?ms)^:(\d\d[A-Z]?|NS):(.*?)(?=^:(?:\d\d[A-Z]?|NS):|^-\}?\s*$|\Z)")
_MOVED: Final = re.compile(
    r"(?P<day>\d{6})(?P<entry>\d{4})?(?P<mark>R[CD]|E?[CD])[A-Z]?(?P<sum>\d+[,.]?\d*)[A-Z][A-Z0-9]{3}"
    r"(?P<own>[^/\n]*(?:/[^/\n]+)*)(?://(?P<bank>[^\n]*))?(?:\n(?P<more>.*))?",
    re.DOTALL,
)
_BALANCE: Final = re.compile(r"([CD])\d{6}([A-Z]{3})(\d+[,.]?\d*)\s*")
_NUMBERED: Final = re.compile(r"\d{3}(?=([^\w\s/])\d\d)")
_SLASHED: Final = re.compile(f"/({'|'.join(NAMES['mt940']['slashed'].split())})/")
_SEPA: Final = re.compile(f"({'|'.join(NAMES['mt940']['sepa'].split())})[+:]")
_FULL: Final = (27, 35, 65)
"""The lengths of full lines and subfields, whose text goes on in the next one without a blank."""

_TAG: Final = re.compile(r"<(/?)([A-Za-z0-9._]+)>([^<\r\n]*)")
_CDATA: Final = re.compile(r"<!\[CDATA\[([^\]]{0,1000})\]\]>")
_ENTITY: Final = re.compile(r"&(#\d+|#[xX][\da-fA-F]+|\w+);")
_OFX_DAY: Final = re.compile(r"(\d{4})(\d\d)(\d\d)")
_OFX_MADE: Final = ("DTSERVER", "DTASOF")
_PLAIN: Final = re.compile(r"[+-]?\d+(?:\.\d+)?")
_NONE: Final = frozenset({"", "NONREF", "NOTPROVIDED"})


def _decoded(data: bytes) -> str:
    """Decode UTF-8, else Windows-1252, because these files name no reliable charset."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("windows-1252", "replace")


def _told_balances(
    found: Findings, opening: Decimal | None, closing: Decimal | None, amounts: list[Decimal]
) -> None:
    """Note whether the balances at both ends prove the amounts between them."""
    if opening is None or closing is None:
        return
    missing = closing - opening - sum(amounts)
    proved = f"The opening and closing balances prove the amounts of {len(amounts)} lines."
    found.note(f"The amounts do not fit the balances: {missing} is missing." if missing else proved)


def read_mt940(data: bytes, found: Findings) -> None:
    """Read MT940 and MT942 statements."""
    text = _decoded(data).replace("\r\n", "\n")
    for part in _STATEMENT.split(text):
        fields = [(name, value.strip("\n")) for name, value in _FIELD.findall(part)]
        ends = {name: _mt940_balance(value) for name, value in fields if name[:2] in {"60", "62"}}
        floors = (value[:3] for name, value in fields if name == "34F")
        code = next((end[1] for end in ends.values() if end), next(floors, ""))
        account = next((value for name, value in fields if name[:2] == "25"), "")
        found.made(*(f"20{value}" for name, value in fields if name == "13D"))
        closing = ends.get("62F") or ends.get("62M")
        rows: list[list[ParsedCell]] = [list(_TITLES)]
        amounts: list[Decimal] = []
        lost = 0
        for at, (name, value) in enumerate(fields):
            if name != "61":
                continue
            if (line := _MOVED.fullmatch(value)) is None:
                lost += 1
                continue
            details = list(takewhile(lambda each: each[0] == "86", fields[at + 1 :]))
            moved = movement_of("mt940", line["mark"])
            if closing:  # what is expected in a report of the day is booked in a statement
                moved = moved._replace(state="booked")
            amounts.append(_mt940_sum(line["sum"], moved.sign < 0))
            told = _mt940_details("\n".join(more for _, more in details))
            cells = _mt940_line(line, amounts[-1], told, code, account)
            rows.append([*cells, *_marked(moved), None])
        if len(rows) > 1:
            found.table(rows)
        if lost:
            found.note(f"{lost} lines of the statement are not of its format and were not read.")
            continue
        opening = ends.get("60F") or ends.get("60M")
        _told_balances(found, opening and opening[0], closing and closing[0], amounts)
    found.text(text)


def _marked(moved: Movement) -> tuple[str | None, str | None]:
    """Return the cells of a kind, and of a state that is not the usual one."""
    return moved.kind or None, moved.state if is_unbooked(moved.state) else None


def _mt940_balance(text: str) -> tuple[Decimal, str] | None:
    end = _BALANCE.fullmatch(text)
    return end and (_mt940_sum(end[3], end[1] == "D"), end[2])


def _mt940_sum(text: str, minus: bool) -> Decimal:  # noqa: FBT001
    return Decimal(text.replace(",", ".")) * (-1 if minus else 1)


def _mt940_line(
    line: re.Match[str], amount: Decimal, told: Mapping[str, str], code: str, account: str
) -> list[ParsedCell]:
    value, month = line["day"], line["entry"]
    valued = f"20{value[:2]}-{value[2:4]}-{value[4:]}"
    booked = valued
    if month:
        # The booking of a value date in December may be in January, and the other way round.
        turn = {("12", "01"): 1, ("01", "12"): -1}.get((value[2:4], month[:2]), 0)
        booked = f"{2000 + int(value[:2]) + turn}-{month[:2]}-{month[2:]}"
    reference = (line["bank"] or "").strip()
    return [
        None,
        booked,
        valued,
        float(amount),
        code,
        _bare(told.get("name")),
        _bare(told.get("purpose") or line["more"]),
        account.replace(" ", "").removesuffix(code),
        None if reference in _NONE else reference,
        None,
        None,
    ]


def _mt940_details(text: str) -> dict[str, str]:
    """Return the name and the purpose in field 86, in the notations of several countries."""
    if (numbered := _NUMBERED.match(text)) is not None:
        parts = text.replace("\n", "")[len(numbered[0]) :].split(numbered[1])[1:]
        called = ("32", "33") if numbered[1] == "?" else ("32",)
        name = _joined([part[2:] for part in parts if part[:2] in called])
        purpose = _joined([part[2:] for part in parts if part[0] in "26"])
        keyed = _SEPA.split(purpose)
        named = dict(zip(keyed[1::2], keyed[2::2], strict=True))
        return {"name": name, "purpose": named.get("SVWZ", keyed[0]) or purpose}
    whole = _joined(text.split("\n"))
    keyed = _SLASHED.split(whole)
    if len(keyed) < 3 or keyed[0].strip():  # noqa: PLR2004 - no key, or text before it
        return {"purpose": whole}
    named = dict(zip(keyed[1::2], keyed[2::2], strict=True))
    # ING writes account, BIC and name into one part, and `USTD//` before a free text.
    party = named.get("CNTP", "").split("/")
    purpose = named.get("REMI", "").removeprefix("USTD//")
    return {"name": named.get("NAME") or "".join(party[2:3]), "purpose": purpose.strip("/")}


def _joined(parts: Sequence[str]) -> str:
    return "".join(part if len(part) in _FULL else f"{part} " for part in parts).strip()


def _bare(text: Any) -> str | None:
    return " ".join(str(text).split()) or None if text else None


def read_ofx(data: bytes, found: Findings) -> None:
    """Read OFX in both notations: SGML, in which only groups have end tags, and XML."""
    text = _decoded(data)
    account = currency = ""
    dates: dict[str, str] = {}
    rows: list[list[ParsedCell]] = [list(_TITLES)]
    line: dict[str, str] | None = None
    group, gone = "", set[str | None]()
    for end, tag, value in _TAG.findall(_CDATA.sub(lambda each: html.escape(each[1]), text)):
        name, said = tag.upper(), _ENTITY.sub(_entity, value).strip()
        if name in {"STMTTRN", "STMTTRNP"}:  # P: pending
            if end and line is not None:
                # The bank replaced or deleted the line that this one corrects.
                deleted = line.get("CORRECTACTION") == "DELETE"
                gone |= {line.get("CORRECTFITID"), line.get("FITID") if deleted else None}
                moved = movement_of("ofx", "HOLD" if name[-1] == "P" else line.get("TRNTYPE", ""))
                rows.append([*_ofx_line(line, currency, account), *_marked(moved), None])
            line = None if end else {}
        elif name in {"CURRENCY", "ORIGCURRENCY"}:
            group = "" if end else name
        elif line is not None and said:
            line.setdefault(group + name, said)
        elif name == "ACCTID" and said:
            account = said
        elif name == "CURDEF" and said:
            currency = said
        elif name in _OFX_MADE:
            dates[name] = said
    found.made(*map(dates.get, _OFX_MADE))
    rows = [each for each in rows if each[8] not in gone - {None}]
    if len(rows) > 1:
        found.table(rows)
    found.text(text)


def _entity(found: re.Match[str]) -> str:
    """Return the character of an entity; a name that only begins like one stays text."""
    named = found[1].startswith("#") or f"{found[1]};" in html5
    return html.unescape(found[0]) if named else found[0]


def _ofx_line(line: Mapping[str, str], currency: str, account: str) -> list[ParsedCell]:
    days = (_OFX_DAY.match(line.get(name, "")) for name in ("DTUSER", "DTPOSTED"))
    made, posted = ("-".join(day.groups()) if day else None for day in days)
    amount = line.get("TRNAMT", "")
    return [
        made if made != posted else None,
        posted,
        None,
        # OFX uses a point; numbers in another notation stay text.
        float(amount) if _PLAIN.fullmatch(amount) else amount or None,
        line.get("CURRENCYCURSYM") or currency,
        line.get("NAME") or line.get("PAYEE"),
        line.get("MEMO"),
        account,
        line.get("FITID"),
        None,
        line.get("ORIGCURRENCYCURSYM"),
    ]


_QIF: Final = dict(
    zip("DTPMNL", ("Date", "Amount", "Payee", "Memo", "Number", "Category"), strict=True)
)
_OF_ACCOUNTS: Final = frozenset(f"type:{a}" for a in ("bank", "ccard", "cash", "oth a", "oth l"))
_SPACED: Final = re.compile(r"(?<=[/.'-])\s+|^\s+")
_SHORT_YEAR: Final = re.compile(r"'(\d{1,2})$")


def read_qif(data: bytes, found: Findings) -> None:
    """Read QIF transactions of accounts."""
    text = _decoded(data)
    rows: list[list[ParsedCell]] = [[*_QIF.values(), "Account"]]
    rows += [[*(line.get(key) for key in _QIF), line.get("!")] for line in _qif_lines(text)]
    if len(rows) > 1:
        found.table(rows)
    found.text(text)


def _qif_lines(text: str) -> Iterator[dict[str, str]]:
    """Yield the transactions of accounts, without those of securities; `!` is the account."""
    line: dict[str, str] = {}
    section = account = ""
    for raw in text.splitlines():
        key, said = raw[:1], raw[1:].strip()
        if key == "!":
            section, line = said.lower(), {}
        elif key == "^":
            if section == "account":
                account = line.get("N", "")
            elif section in _OF_ACCOUNTS and "D" in line:
                yield {"T": line.get("U", ""), **line, "!": account}
            line = {}
        elif key in _QIF or key == "U":
            if key == "D":  # Quicken writes 2004 as `' 4`
                said = _SHORT_YEAR.sub(lambda year: f"/{year[1]:0>2}", _SPACED.sub("", said))
            line.setdefault(key, said)


_STATEMENTS: Final = ("BkToCstmrStmt/Stmt", "BkToCstmrAcctRpt/Rpt", "BkToCstmrDbtCdtNtfctn/Ntfctn")


def read_xml(data: bytes, found: Findings) -> None:
    """Read a statement or an invoice in XML; refuse files with a DTD."""
    try:
        root = fromstring(data, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise Fault("damaged") from error
    match root.tag.rpartition("}")[2]:
        case "Document":
            found.made(*lines_at(root, "*/GrpHdr/CreDtTm"))
            for path in _STATEMENTS:
                found.made(*sorted(lines_at(root, f"{path}/CreDtTm"), reverse=True))
                for statement in all_at(root, path):
                    _camt(statement, found)
        case "Invoice" | "CreditNote" | "CrossIndustryInvoice" | "CrossIndustryDocument":
            read_invoice(root, found)
        case _:
            pass
    found.text("\n".join(text.strip() for text in root.itertext() if text.strip()))


def _camt(statement: Element, found: Findings) -> None:
    account = said_at(statement, "Acct/Id/IBAN", "Acct/Id/Othr/Id")
    rows: list[list[ParsedCell]] = [list(_TITLES)]
    amounts: list[Decimal] = []
    waiting = 0
    for entry in all_at(statement, "Ntry"):
        if state_of(said_at(entry, "Sts/Cd", "Sts") or "BOOK") != "booked":
            waiting += 1
            continue
        amounts.append(_camt_amount(entry))
        rows += _camt_lines(entry, amounts[-1], account)
    if len(rows) > 1:
        found.table(rows)
    balances = {
        said_at(each, "Tp/CdOrPrtry/Cd"): _camt_amount(each) for each in all_at(statement, "Bal")
    }
    _told_balances(found, balances.get("OPBD", balances.get("PRCD")), balances.get("CLBD"), amounts)
    if waiting:
        found.note(f"{waiting} entries that are not booked yet were left out.")


def _camt_lines(entry: Element, amount: Decimal, account: str) -> Iterator[list[ParsedCell]]:
    """Yield the payments of an entry: its parts if their amounts make it, else the entry."""
    parts = all_at(entry, "NtryDtls/TxDtls")
    code = all_at(entry, "Amt")[0].get("Ccy", "")
    sums = [_camt_part(part, amount, code) for part in parts]
    known = [each for each in sums if each is not None]
    if len(parts) > 1 and len(known) == len(parts) and sum(known) == amount:
        for part, each in zip(parts, known, strict=True):
            yield _camt_line(entry, [part], each, account)
    else:
        yield _camt_line(entry, parts, amount, account)


def _camt_part(part: Element, amount: Decimal, code: str) -> Decimal | None:
    """Return the signed amount of a part in the currency of its entry."""
    for path in ("Amt", "AmtDtls/TxAmt/Amt"):
        for each in all_at(part, path):
            if each.get("Ccy") == code:
                side = said_at(part, "CdtDbtInd") or ("CRDT" if amount > 0 else "DBIT")
                return number_at((each.text or "").strip()) * (-1 if side == "DBIT" else 1)
    return None


def _camt_amount(node: Element) -> Decimal:
    amount = number_at(said_at(node, "Amt"))
    return -amount if said_at(node, "CdtDbtInd") == "DBIT" else amount


def _camt_line(
    entry: Element, parts: Sequence[Element], amount: Decimal, account: str
) -> list[ParsedCell]:
    reversal = said_at(entry, "RvslInd") in {"true", "1"}
    came = (amount > 0) is not reversal
    several = len(parts) > 1
    names = dict.fromkeys(filter(None, (_camt_party(each, account, came=came) for each in parts)))
    told = dict.fromkeys(filter(None, map(_camt_purpose, parts)))
    purposes = list(told) or [said_at(entry, "AddtlNtryInf")]
    if several:  # the parties of a batch without amounts can be searched in its description
        purposes = [said_at(entry, "AddtlNtryInf"), *names, *told]
    own = [ref for each in parts if (ref := said_at(each, "Refs/AcctSvcrRef"))]
    reference = own[0] if len(parts) == len(own) == 1 else said_at(entry, "AcctSvcrRef")
    code = all_at(entry, "Amt")[0].get("Ccy", "")
    others = [] if several else _camt_original(parts, code, amount)
    returned = reversal or any(all_at(each, "RtrInf") for each in parts)
    return [
        None,
        _day(entry, "BookgDt"),
        _day(entry, "ValDt"),
        float(amount),
        code,
        None if several else next(iter(names), None),
        "; ".join(filter(None, purposes)) or None,
        account or None,
        None if reference in _NONE else reference,
        *(others or (None, None)),
        "reversal" if returned else None,
        None,
        None if several else _camt_invoice(parts),
    ]


def _camt_invoice(parts: Sequence[Element]) -> str | None:
    """Return the numbers of the invoices that a payment names, or its creditor reference."""
    paths = ("RmtInf/Strd/RfrdDocInf/Nb", "RmtInf/Strd/CdtrRefInf/Ref")
    found = ([each for part in parts for each in lines_at(part, path)] for path in paths)
    return "; ".join(dict.fromkeys(next(filter(None, found), ()))) or None


def _camt_party(part: Element, account: str, *, came: bool) -> str:
    """Return the other party, which has another account; a reversal keeps the first roles."""
    role, other = ("Dbtr", "Cdtr") if came else ("Cdtr", "Dbtr")
    if account and said_at(part, f"RltdPties/{role}Acct/Id/IBAN") == account:
        role = other
    parties = (f"RltdPties/{each}" for each in (role, f"Ultmt{role}"))
    return said_at(part, *(path for each in parties for path in (f"{each}/Nm", f"{each}/Pty/Nm")))


def _camt_purpose(part: Element) -> str:
    return " ".join(lines_at(part, "RmtInf/Ustrd")) or said_at(
        part, "RmtInf/Strd/CdtrRefInf/Ref", "AddtlTxInf"
    )


def _camt_original(parts: Sequence[Element], code: str, amount: Decimal) -> list[ParsedCell]:
    """Return the instructed amount and its currency, if that is another one."""
    for each in (each for part in parts for each in all_at(part, "AmtDtls/InstdAmt/Amt")):
        if each.get("Ccy", code) != code:
            original = number_at((each.text or "").strip())
            return [float(original.copy_sign(amount)), each.get("Ccy", "")]
    return []


def _day(entry: Element, name: str) -> str | None:
    return said_at(entry, f"{name}/Dt", f"{name}/DtTm")[:10] or None
