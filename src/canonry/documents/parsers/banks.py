"""Parsers of files that banks and programs exchange.

MT940, OFX, QIF and CAMT become tables with titles. UBL and CII become invoices and credit notes, by
the paths of their fields in `invoices.json`.
"""

import html
import json
import re
from base64 import b64decode
from binascii import Error
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from html.entities import html5
from importlib.resources import files
from itertools import takewhile
from typing import Any, Final
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException  # type: ignore[import-untyped]
from defusedxml.ElementTree import fromstring  # type: ignore[import-untyped]

from canonry.documents.parsers.findings import NAMES, Fault, Findings, Line, ParsedCell, keep_rest
from canonry.records.notation.money import Movement, is_unbooked, movement_of, state_of
from canonry.values.file_texts import split_words, unused_texts

_CREDITS: Final = frozenset(map(str, (81, 83, 261, 262, 296, 308, 381, 396, 420, 458, 532)))
"""Codes of credit notes in UNTDID 1001."""

_SUMS: Final = frozenset({"subtotal", "tax_amount", "amount", "amount_due"})
_CREDITED: Final[dict[str, str]] = NAMES["credit_notes"]
"""The names of an invoice's fields in a credit note, which nobody has to pay."""

_DEALS: Final = ("SupplyChainTradeTransaction", "SpecifiedSupplyChainTradeTransaction")
_SILENT: Final = frozenset(NAMES["xml"]["silent"].split())
"""Attributes that say in which list, unit or currency a value is."""

_Paths = Mapping[str, Sequence[str]]


def read_invoice(root: Element, found: Findings) -> None:
    """Add an invoice in XML, its attached files, and its text."""
    name = "cii" if root.tag.rpartition("}")[2].startswith("CrossIndustry") else "ubl"
    written = json.loads(files(__package__).joinpath("invoices.json").read_text(encoding="utf-8"))
    all_paths: _Paths = written[name]
    if name == "cii" and not any(all_at(root, deal) for deal in _DEALS):
        raise Fault("damaged")
    fields = _fields(root, all_paths)
    kind = "invoice"
    if root.tag.endswith("CreditNote") or said_at(root, *all_paths["code"]) in _CREDITS:
        kind = "credit_note"
        fields = {_CREDITED.get(name, name): value for name, value in fields.items()}
    record = found.add_record(kind, fields)
    for each in (file for path in all_paths["files"] for file in all_at(root, path)):
        try:
            data = b64decode(each.text or "", validate=False)
        except Error:
            found.add_note("A file within the invoice is damaged and was not read.")
        else:
            found.add_member(each.get("filename", ""), each.get("mimeCode", ""), data, record)
        each.text = None


def _fields(root: Element, all_paths: _Paths) -> dict[str, Any]:
    """Return the fields that have a value."""
    currency = said_at(root, *all_paths["currency"])
    fields: dict[str, Any] = {}
    for name, paths in all_paths.items():
        if name in _SUMS:
            fields[name] = _sum(root, currency, *paths)
        elif name in {"items", "code", "files"} or "." in name:
            continue
        elif name == "tax_rate":
            rates = {str(plain_number(text)) for path in paths for text in lines_at(root, path)}
            fields[name] = f"{rates.pop()}%" if len(rates) == 1 else None
        else:
            fields[name] = said_at(root, *paths)
    for name in ("invoice_date", "date_due"):
        day = fields[name]
        if len(day) == len("20240131") and day.isdigit():
            fields[name] = f"{day[:4]}-{day[4:6]}-{day[6:]}"
    fields["iban"] = fields["iban"].replace(" ", "")
    lines = [line for path in all_paths["items"] for line in all_at(root, path)]
    fields["items"] = [_item(line, all_paths) for line in lines]
    fields = _cleaned(fields)
    files_in = [file for path in all_paths["files"] for file in all_at(root, path)]
    said = leaves_of(root, "invoice", without=[*lines, *files_in])
    for path, text in unused_texts(said, [*fields.values(), said_at(root, *all_paths["code"])]):
        keep_rest(fields, path, text)
    return fields


def _item(line: Element, all_paths: _Paths) -> dict[str, Any]:
    texts = {
        name.removeprefix("items."): said_at(line, *paths)
        for name, paths in all_paths.items()
        if name.startswith("items.")
    }
    numbers = {name: plain_number(text) for name, text in texts.items() if name != "description"}
    item = _cleaned({**texts, **numbers})
    for path, text in unused_texts(leaves_of(line), item.values()):
        keep_rest(item, path, text)
    return item


def _cleaned(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, "", [])}


def _sum(node: Element, code: str, *paths: str) -> float | int | None:
    """Return the first amount in the currency of the document; one without a code is in it."""
    found = (each for path in paths for each in all_at(node, path))
    own = (each for each in found if each.get("currencyID", code) == code or not code)
    return plain_number(next(((each.text or "").strip() for each in own), ""))


def all_at(node: Element, path: str) -> list[Element]:
    """Return the elements at a path of names in any namespace."""
    return node.findall("/".join(f"{{*}}{name}" for name in path.split("/")))


def leaves_of(
    node: Element, path: str = "", *, without: Collection[Element] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the texts and attributes below an element, except those of some, with their paths."""
    for each in node:
        tag = split_words(each.tag.rpartition("}")[2])
        name = f"{path}/{tag}" if path else tag
        if each not in without:
            yield name, " ".join((each.text or "").split())
            yield from ((f"{name}/{key}", said) for key, said in each.items() if key not in _SILENT)
            yield from leaves_of(each, name, without=without)


def lines_at(node: Element, path: str) -> Iterator[str]:
    """Yield the texts at a path that are not empty, each in one line."""
    said = (" ".join("".join(each.itertext()).split()) for each in all_at(node, path))
    return (text for text in said if text)


def said_at(node: Element, *paths: str) -> str:
    """Return the first text at these paths that is not empty."""
    return next((text for path in paths for text in lines_at(node, path)), "")


def number_at(text: str) -> Decimal:
    """Parse a number with a decimal point and without thousands."""
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise Fault("damaged") from error


def plain_number(text: str) -> float | int | None:
    """Return the number in a text; None if it is empty."""
    if not text:
        return None
    number = number_at(text)
    return int(number) if number == number.to_integral_value() else float(number)


_STATEMENT: Final = re.compile(r"(?m)^(?=:20:)")
_FIELD: Final = re.compile(r"(?ms)^:(\d\d[A-Z]?|NS):(.*?)(?=^:(?:\d\d[A-Z]?|NS):|^-\}?\s*$|\Z)")
_MOVED: Final = re.compile(
    r"(?P<day>\d{6})(?P<entry>\d{4})?(?P<mark>R[CD]|E?[CD])[A-Z]?(?P<sum>\d+[,.]?\d*)(?P<transaction_type>[A-Z][A-Z0-9]{3})"
    r"(?P<customer_reference>[^/\n]*(?:/[^/\n]+)*)(?://(?P<bank>[^\n]*))?(?:\n(?P<details>.*))?",
    re.DOTALL,
)
_OF_LINE: Final = ("transaction_type", "customer_reference", "details")
_BALANCE: Final = re.compile(r"([CD])\d{6}([A-Z]{3})(\d+[,.]?\d*)\s*")
_NUMBERED: Final = re.compile(r"\d{3}(?=([^\w\s/])\d\d)")
_SLASHED: Final = re.compile(f"/({'|'.join(NAMES['mt940']['slashed'].split())})/")
_SEPA: Final = re.compile(f"({'|'.join(NAMES['mt940']['sepa'].split())})[+:]")
_PARTS: Final[dict[str, str]] = NAMES["mt940_parts"]
_FRAME: Final = frozenset(NAMES["mt940"]["frame"].split())
_OFX_FRAME: Final = frozenset(NAMES["ofx"]["frame"].split())
"""Members of statements that are read, or that only carry the others."""

_FULL: Final = (27, 35, 65)
"""The lengths of full lines and subfields, whose text goes on in the next one without a blank."""

_TAG: Final = re.compile(r"<(/?)([A-Za-z0-9._]+)>([^<\r\n]*)")
_CDATA: Final = re.compile(r"<!\[CDATA\[([^\]]{0,1000})\]\]>")
_ENTITY: Final = re.compile(r"&(#\d+|#[xX][\da-fA-F]+|\w+);")
_OFX_DAY: Final = re.compile(r"(\d{4})(\d\d)(\d\d)")
_OFX_MADE: Final = ("DTSERVER", "DTASOF")
_OFX_ABOUT: Final = frozenset({"ACCTID", "CURDEF", *_OFX_MADE})
_PLAIN: Final = re.compile(r"[+-]?\d+(?:\.\d+)?")
_NONE: Final = frozenset({"", "NONREF", "NOTPROVIDED"})


def _decode_text(data: bytes) -> str:
    """Decode UTF-8, else Windows-1252, because these files name no reliable charset."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("windows-1252", "replace")


def _note_balances(
    found: Findings, opening: Decimal | None, closing: Decimal | None, amounts: list[Decimal]
) -> None:
    """Note whether the balances at both ends prove the amounts between them."""
    if opening is None or closing is None:
        return
    missing = closing - opening - sum(amounts)
    proved = f"The opening and closing balances prove the amounts of {len(amounts)} lines."
    found.add_note(
        f"The amounts do not fit the balances: {missing} is missing." if missing else proved
    )


def read_mt940(data: bytes, found: Findings) -> None:
    """Read MT940 and MT942 statements."""
    text = _decode_text(data).replace("\r\n", "\n")
    for part in _STATEMENT.split(text):
        fields = [(name, value.strip("\n")) for name, value in _FIELD.findall(part)]
        ends = {name: _mt940_balance(value) for name, value in fields if name[:2] in {"60", "62"}}
        floors = (value[:3] for name, value in fields if name == "34F")
        code = next((end[1] for end in ends.values() if end), next(floors, ""))
        account = next((value for name, value in fields if name[:2] == "25"), "")
        found.note_time(*(f"20{value}" for name, value in fields if name == "13D"))
        closing = ends.get("62F") or ends.get("62M")
        lines: list[Line] = []
        amounts: list[Decimal] = []
        lost = 0
        details: list[tuple[str, str]] = []
        for at, (name, value) in enumerate(fields):
            if name != "61":
                if name not in _FRAME and (name, value) not in details:
                    found.note_unread([(name, value)])
                continue
            after = range(at + 1, len(fields))
            if (line := _MOVED.fullmatch(value)) is None:
                lost += 1
                found.note_unread([(name, value)])
                continue
            details = list(takewhile(lambda each: each[0] == "86", map(fields.__getitem__, after)))
            moved = movement_of("mt940", line["mark"])
            if closing:  # what is expected in a report of the day is booked in a statement
                moved = moved._replace(state="booked")
            amounts.append(_mt940_sum(line["sum"], moved.sign < 0))
            detail_parts = _mt940_details("\n".join(more for _, more in details))
            cells = _mt940_line(line, amounts[-1], dict(detail_parts), code, account)
            own = [(n, line[n].strip()) for n in _OF_LINE if (line[n] or "").strip() not in _NONE]
            lines.append(({**cells, **_state_cells(moved)}, [*own, *detail_parts]))
        found.add_lines(lines)
        if lost:
            found.add_note(
                f"{lost} lines of the statement are not of its format and were not read."
            )
            continue
        opening = ends.get("60F") or ends.get("60M")
        _note_balances(found, opening and opening[0], closing and closing[0], amounts)
    found.add_text(text)


def _state_cells(moved: Movement) -> dict[str, ParsedCell]:
    """Return the cells of a kind, and of a state that is not the usual one."""
    state = moved.state if is_unbooked(moved.state) else None
    return {"Kind of payment": moved.kind or None, "Status": state}


def _mt940_balance(text: str) -> tuple[Decimal, str] | None:
    end = _BALANCE.fullmatch(text)
    return end and (_mt940_sum(end[3], end[1] == "D"), end[2])


def _mt940_sum(text: str, minus: bool) -> Decimal:  # noqa: FBT001
    return Decimal(text.replace(",", ".")) * (-1 if minus else 1)


def _mt940_line(
    line: re.Match[str], amount: Decimal, detail_parts: Mapping[str, str], code: str, account: str
) -> dict[str, ParsedCell]:
    value, month = line["day"], line["entry"]
    valued = f"20{value[:2]}-{value[2:4]}-{value[4:]}"
    booked = valued
    if month:
        # The booking of a value date in December may be in January, and the other way round.
        year_shift = {("12", "01"): 1, ("01", "12"): -1}.get((value[2:4], month[:2]), 0)
        booked = f"{2000 + int(value[:2]) + year_shift}-{month[:2]}-{month[2:]}"
    reference = (line["bank"] or "").strip()
    return {
        "Booking date": booked,
        "Value date": valued,
        "Amount": float(amount),
        "Currency": code,
        "Counterparty": _clean_text(detail_parts.get("name")),
        "Description": _clean_text(detail_parts.get("purpose") or line["details"]),
        "Account": account.replace(" ", "").removesuffix(code),
        "Transaction ID": None if reference in _NONE else reference,
    }


def _mt940_details(text: str) -> list[tuple[str, str]]:
    """Return the parts of field 86, in the notations of several countries.

    The name and the purpose come last, because they are those of the line.
    """
    if (numbered := _NUMBERED.match(text)) is not None:
        parts = text.replace("\n", "")[len(numbered[0]) :].split(numbered[1])[1:]
        called = ("32", "33") if numbered[1] == "?" else ("32",)
        name = _join_parts([part[2:] for part in parts if part[:2] in called])
        purpose = _join_parts([part[2:] for part in parts if part[0] in "26"])
        before, *keyed = _SEPA.split(purpose)
        named_parts = [*zip(keyed[::2], keyed[1::2], strict=True), ("purpose", before)]
        named_parts.append(("business_code", numbered[0]))
        others = (each for each in parts if each[:1] not in "26" and each[:2] not in called)
        named_parts += ((_PARTS.get(each[:2], each[:2]), each[2:]) for each in others)
        purpose = dict(named_parts).get("SVWZ", before) or purpose
        return [*named_parts, ("name", name), ("purpose", purpose)]
    whole = _join_parts(text.split("\n"))
    keyed = _SLASHED.split(whole)
    if len(keyed) < 3 or keyed[0].strip():  # noqa: PLR2004 - no key, or text before it
        return [("purpose", whole)]
    named_parts = list(zip(keyed[1::2], keyed[2::2], strict=True))
    named = dict(named_parts)
    # ING writes account, BIC and name into one part, and `USTD//` before a free text.
    party = named.get("CNTP", "").split("/")
    purpose = named.get("REMI", "").removeprefix("USTD//")
    name = named.get("NAME") or "".join(party[2:3])
    return [
        *((key, text.strip("/")) for key, text in named_parts),
        ("name", name),
        ("purpose", purpose.strip("/")),
    ]


def _join_parts(parts: Sequence[str]) -> str:
    return "".join(part if len(part) in _FULL else f"{part} " for part in parts).strip()


def _clean_text(text: Any) -> str | None:
    return " ".join(str(text).split()) or None if text else None


def read_ofx(data: bytes, found: Findings) -> None:
    """Read OFX in both notations: SGML, in which only groups have end tags, and XML."""
    text = _decode_text(data)
    about: dict[str, str] = {}
    lines: list[Line] = []
    line: list[tuple[str, str]] | None = None
    group, gone = "", set[str | None]()
    for end, tag, value in _TAG.findall(_CDATA.sub(lambda each: html.escape(each[1]), text)):
        name, member_text = tag.upper(), _ENTITY.sub(_decode_entity, value).strip()
        if name in {"STMTTRN", "STMTTRNP"}:  # P: pending
            if end and line is not None:
                own = dict(reversed(line))
                # The bank replaced or deleted the line that this one corrects.
                deleted = own.get("CORRECTACTION") == "DELETE"
                gone |= {own.get("CORRECTFITID"), own.get("FITID") if deleted else None}
                moved = movement_of("ofx", "HOLD" if name[-1] == "P" else own.get("TRNTYPE", ""))
                lines.append(({**_ofx_line(own, about), **_state_cells(moved)}, line))
            line = None if end else []
        elif name in {"CURRENCY", "ORIGCURRENCY"}:
            group = "" if end else name
        elif line is not None:
            line += [(group + name, member_text)] if member_text else []
        elif name in _OFX_ABOUT:
            about |= {name: member_text} if member_text else {}
        elif name not in _OFX_FRAME:
            found.note_unread([(name, member_text)])
    found.note_time(*map(about.get, _OFX_MADE))
    kept = [each for each in lines if each[0]["Transaction ID"] not in gone - {None}]
    if lost := len(lines) - len(kept):
        found.add_note(f"{lost} lines that the bank replaced or deleted were left out.")
    found.add_lines(kept)
    found.add_text(text)


def _decode_entity(found: re.Match[str]) -> str:
    """Return the character of an entity; a name that only begins like one stays text."""
    named = found[1].startswith("#") or f"{found[1]};" in html5
    return html.unescape(found[0]) if named else found[0]


def _ofx_line(line: Mapping[str, str], about: Mapping[str, str]) -> dict[str, ParsedCell]:
    days = (_OFX_DAY.match(line.get(name, "")) for name in ("DTUSER", "DTPOSTED"))
    made, posted = ("-".join(day.groups()) if day else None for day in days)
    amount = line.get("TRNAMT", "")
    return {
        "Transaction date": made if made != posted else None,
        "Booking date": posted,
        # OFX uses a point; numbers in another notation stay text.
        "Amount": float(amount) if _PLAIN.fullmatch(amount) else amount or None,
        "Currency": line.get("CURRENCYCURSYM") or about.get("CURDEF", ""),
        "Counterparty": line.get("NAME") or line.get("PAYEE"),
        "Description": line.get("MEMO"),
        "Account": about.get("ACCTID", ""),
        "Transaction ID": line.get("FITID"),
        "Original currency": line.get("ORIGCURRENCYCURSYM"),
    }


_QIF: Final[dict[str, str]] = NAMES["qif"]
_QIF_PARTS: Final[dict[str, str]] = NAMES["qif_parts"]
_OF_ACCOUNTS: Final = frozenset(f"type:{a}" for a in ("bank", "ccard", "cash", "oth a", "oth l"))
_SPACED: Final = re.compile(r"(?<=[/.'-])\s+|^\s+")
_SHORT_YEAR: Final = re.compile(r"'(\d{1,2})$")


def read_qif(data: bytes, found: Findings) -> None:
    """Read QIF transactions of accounts."""
    text = _decode_text(data)
    found.add_lines(list(_qif_lines(text, found)))
    found.add_text(text)


def _qif_lines(text: str, found: Findings) -> Iterator[Line]:
    """Yield the transactions of accounts, with all of their parts; others are only noted."""
    line: dict[str, str] = {}
    parts: list[tuple[str, str]] = []
    section = account = ""
    for raw in text.splitlines():
        key, member_text = raw[:1], raw[1:].strip()
        if key == "!":
            section, line, parts = member_text.lower(), {}, []
        elif key == "^":
            account = line.get("N", "") if section == "account" else account
            if section in _OF_ACCOUNTS and "D" in line:
                line.setdefault("T", line.get("U", ""))
                cells = {title: line.get(key) for key, title in _QIF.items()}
                yield {**cells, "Account": account or None}, parts
            else:
                found.note_unread(((f"{section} {name}", text) for name, text in parts), [account])
            line, parts = {}, []
        elif key in ("E", "$", "%") and parts:  # the memo and the share of the split above
            parts[-1] = (parts[-1][0], f"{parts[-1][1]}, {member_text}")
        elif key:
            if key == "D":  # Quicken writes 2004 as `' 4`
                member_text = _SHORT_YEAR.sub(
                    lambda year: f"/{year[1]:0>2}", _SPACED.sub("", member_text)
                )
            line.setdefault(key, member_text)
            parts.append((_QIF_PARTS.get(key, key), member_text))


_STATEMENTS: Final = ("BkToCstmrStmt/Stmt", "BkToCstmrAcctRpt/Rpt", "BkToCstmrDbtCdtNtfctn/Ntfctn")


def read_xml(data: bytes, found: Findings) -> None:
    """Read a statement or an invoice in XML; refuse files with a DTD."""
    try:
        root = fromstring(data, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise Fault("damaged") from error
    match root.tag.rpartition("}")[2]:
        case "Document":
            found.note_time(*lines_at(root, "*/GrpHdr/CreDtTm"))
            for path in _STATEMENTS:
                found.note_time(*sorted(lines_at(root, f"{path}/CreDtTm"), reverse=True))
                for head in all_at(root, f"{path.partition('/')[0]}/GrpHdr"):
                    found.note_unread(leaves_of(head))
                for statement in all_at(root, path):
                    _read_camt(statement, found)
        case "Invoice" | "CreditNote" | "CrossIndustryInvoice" | "CrossIndustryDocument":
            read_invoice(root, found)
        case _:
            pass
    found.add_text("\n".join(text.strip() for text in root.itertext() if text.strip()))


def _read_camt(statement: Element, found: Findings) -> None:
    account = said_at(statement, "Acct/Id/IBAN", "Acct/Id/Othr/Id")
    lines: list[Line] = []
    amounts: list[Decimal] = []
    waiting = 0
    entries = all_at(statement, "Ntry")
    for entry in entries:
        if state_of(said_at(entry, "Sts/Cd", "Sts") or "BOOK") != "booked":
            waiting += 1
            found.note_unread(leaves_of(entry))
            continue
        amounts.append(_camt_amount(entry))
        lines += _camt_lines(entry, amounts[-1], account)
    found.add_lines(lines)
    ends = {said_at(each, "Tp/CdOrPrtry/Cd"): each for each in all_at(statement, "Bal")}
    balances = {name: _camt_amount(each) for name, each in ends.items()}
    proving = [each for name, each in ends.items() if name in {"OPBD", "PRCD", "CLBD"}]
    found.note_unread(leaves_of(statement, without=[*entries, *proving]), [account])
    _note_balances(found, balances.get("OPBD", balances.get("PRCD")), balances.get("CLBD"), amounts)
    if waiting:
        found.add_note(f"{waiting} entries that are not booked yet were left out.")


def _camt_lines(entry: Element, amount: Decimal, account: str) -> Iterator[Line]:
    """Yield the payments of an entry: its parts if their amounts make it, else the entry."""
    parts = all_at(entry, "NtryDtls/TxDtls")
    code = all_at(entry, "Amt")[0].get("Ccy", "")
    sums = [_camt_part(part, amount, code) for part in parts]
    known = [each for each in sums if each is not None]
    around = list(leaves_of(entry, without=parts))
    if len(parts) > 1 and len(known) == len(parts) and sum(known) == amount:
        for part, each in zip(parts, known, strict=True):
            yield _camt_line(entry, [part], each, account), [*around, *leaves_of(part)]
    else:
        part_texts = [each for part in parts for each in leaves_of(part)]
        yield _camt_line(entry, parts, amount, account), [*around, *part_texts]


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
) -> dict[str, ParsedCell]:
    reversal = said_at(entry, "RvslInd") in {"true", "1"}
    came = (amount > 0) is not reversal
    several = len(parts) > 1
    names = dict.fromkeys(filter(None, (_camt_party(each, account, came=came) for each in parts)))
    own_purposes = dict.fromkeys(filter(None, map(_camt_purpose, parts)))
    purposes = list(own_purposes) or [said_at(entry, "AddtlNtryInf")]
    if several:  # the parties of a batch without amounts can be searched in its description
        purposes = [said_at(entry, "AddtlNtryInf"), *names, *own_purposes]
    own = [ref for each in parts if (ref := said_at(each, "Refs/AcctSvcrRef"))]
    reference = own[0] if len(parts) == len(own) == 1 else said_at(entry, "AcctSvcrRef")
    code = all_at(entry, "Amt")[0].get("Ccy", "")
    returned = reversal or any(all_at(each, "RtrInf") for each in parts)
    return {
        "Booking date": _read_day(entry, "BookgDt"),
        "Value date": _read_day(entry, "ValDt"),
        "Amount": float(amount),
        "Currency": code,
        "Counterparty": None if several else next(iter(names), None),
        "Description": "; ".join(filter(None, purposes)) or None,
        "Account": account or None,
        "Transaction ID": None if reference in _NONE else reference,
        **({} if several else _camt_original(parts, code, amount)),
        "Kind of payment": "reversal" if returned else None,
        "Paid invoice": None if several else _camt_invoice(parts),
    }


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


def _camt_original(parts: Sequence[Element], code: str, amount: Decimal) -> dict[str, ParsedCell]:
    """Return the instructed amount and its currency, if that is another one."""
    for each in (each for part in parts for each in all_at(part, "AmtDtls/InstdAmt/Amt")):
        if each.get("Ccy", code) != code:
            original = number_at((each.text or "").strip())
            amount = original.copy_sign(amount)
            return {"Original amount": float(amount), "Original currency": each.get("Ccy", "")}
    return {}


def _read_day(entry: Element, name: str) -> str | None:
    return said_at(entry, f"{name}/Dt", f"{name}/DtTm")[:10] or None
