"""Parsers of files that banks and programs exchange.

MT940, OFX, QIF and CAMT become tables with titles. UBL and CII become invoices.
"""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException  # type: ignore[import-untyped]
from defusedxml.ElementTree import fromstring  # type: ignore[import-untyped]

from canonry.documents.parsers.findings import Fault, Findings, ParsedCell

_TITLES: Final = (
    *("Transaction date", "Booking date", "Value date", "Amount", "Currency", "Counterparty"),
    *("Description", "Account", "Transaction ID"),
)
"""The titles of tables from bank files."""

_STATEMENT: Final = re.compile(r"(?m)^(?=:20:)")
_TAG: Final = re.compile(r"<(/?)([A-Za-z0-9._]+)>([^<\r\n]*)")
_OFX_DAY: Final = re.compile(r"(\d{4})(\d\d)(\d\d)")
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
    if opening + sum(amounts) == closing:
        found.note(f"The opening and closing balances prove the amounts of {len(amounts)} lines.")
    else:
        missing = closing - opening - sum(amounts)
        found.note(f"The amounts do not fit the balances: {missing} is missing.")


def read_mt940(data: bytes, found: Findings) -> None:
    """Read MT940 statements."""
    import mt940  # noqa: PLC0415 - no other file needs it

    text = _decoded(data)
    for part in _STATEMENT.split(text):
        if not part.startswith(":20:"):
            continue
        statement = mt940.parse(part)
        named = statement.data
        rows: list[list[ParsedCell]] = [list(_TITLES)]
        lines = [line.data for line in statement]
        rows += [
            _mt940_line(line, str(named.get("account_identification") or "")) for line in lines
        ]
        found.table(rows)
        ends = (named.get(f"final_{name}_balance") for name in ("opening", "closing"))
        opening, closing = (None if end is None else end.amount.amount for end in ends)
        _told_balances(found, opening, closing, [line["amount"].amount for line in lines])
    found.text(text)


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


def read_ofx(data: bytes, found: Findings) -> None:
    """Read OFX in both notations: SGML, in which only groups have end tags, and XML."""
    text = _decoded(data)
    account = currency = ""
    rows: list[list[ParsedCell]] = [list(_TITLES)]
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
    found.text(text)


def _ofx_line(line: Mapping[str, str], currency: str, account: str) -> list[ParsedCell]:
    made, posted = (_ofx_day(line.get(name, "")) for name in ("DTUSER", "DTPOSTED"))
    amount = line.get("TRNAMT", "")
    return [
        made if made != posted else None,
        posted,
        None,
        # OFX uses a point; numbers in another notation stay text.
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


def read_qif(data: bytes, found: Findings) -> None:
    """Read QIF transactions of accounts."""
    text = _decoded(data)
    rows: list[list[ParsedCell]] = [list(_QIF.values())]
    rows += [[line.get(key) for key in _QIF] for line in _qif_lines(text)]
    if len(rows) > 1:
        found.table(rows)
    found.text(text)


def _qif_lines(text: str) -> Iterator[dict[str, str]]:
    """Yield the transactions of accounts, without those of securities."""
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


_STATEMENTS: Final = ("BkToCstmrStmt/Stmt", "BkToCstmrAcctRpt/Rpt", "BkToCstmrDbtCdtNtfctn/Ntfctn")


def read_xml(data: bytes, found: Findings) -> None:
    """Read a statement or an invoice in XML; refuse files with a DTD."""
    try:
        root = fromstring(data, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise Fault("damaged") from error
    match root.tag.rpartition("}")[2]:
        case "Document":
            for path in _STATEMENTS:
                for statement in _all(root, path):
                    _camt(statement, found)
        case "Invoice" | "CreditNote":
            found.record("invoice", _cleaned(_ubl(root)))
        case "CrossIndustryInvoice" | "CrossIndustryDocument":
            found.record("invoice", _cleaned(_cii(root)))
        case _:
            pass
    found.text("\n".join(text.strip() for text in root.itertext() if text.strip()))


def _all(node: Element, path: str) -> list[Element]:
    return node.findall("/".join(f"{{*}}{name}" for name in path.split("/")))


def _said(node: Element, *paths: str) -> str:
    """Return the first text at these paths that is not empty."""
    return next((text for path in paths for text in _lines(node, path)), "")


def _camt(statement: Element, found: Findings) -> None:
    account = _said(statement, "Acct/Id/IBAN", "Acct/Id/Othr/Id")
    rows: list[list[ParsedCell]] = [list(_TITLES)]
    amounts: list[Decimal] = []
    waiting = 0
    for entry in _all(statement, "Ntry"):
        if _said(entry, "Sts/Cd", "Sts") == "PDNG":
            waiting += 1
            continue
        amount = _camt_amount(entry)
        amounts.append(amount)
        rows.append(_camt_line(entry, amount, account))
    if len(rows) > 1:
        found.table(rows)
    balances = {
        _said(each, "Tp/CdOrPrtry/Cd"): _camt_amount(each) for each in _all(statement, "Bal")
    }
    _told_balances(found, balances.get("OPBD", balances.get("PRCD")), balances.get("CLBD"), amounts)
    if waiting:
        found.note(f"{waiting} entries that are not booked yet were left out.")


def _camt_amount(node: Element) -> Decimal:
    amount = _number(_said(node, "Amt"))
    return -amount if _said(node, "CdtDbtInd") == "DBIT" else amount


def _camt_line(entry: Element, amount: Decimal, account: str) -> list[ParsedCell]:
    role = "Dbtr" if amount > 0 else "Cdtr"
    details = "NtryDtls/TxDtls"
    parties = (f"{details}/RltdPties/{who}" for who in (role, f"Ultmt{role}"))
    several = len(_all(entry, details)) > 1
    reference = _said(entry, "AcctSvcrRef", f"{details}/Refs/AcctSvcrRef")
    purpose = " ".join(_lines(entry, f"{details}/RmtInf/Ustrd")) or _said(
        entry, f"{details}/RmtInf/Strd/CdtrRefInf/Ref", f"{details}/AddtlTxInf", "AddtlNtryInf"
    )
    if several:  # a batch booking has no details of each payment
        purpose = _said(entry, "AddtlNtryInf")
    names = [path for party in parties for path in (f"{party}/Nm", f"{party}/Pty/Nm")]
    return [
        None,
        _day(entry, "BookgDt"),
        _day(entry, "ValDt"),
        float(amount),
        _all(entry, "Amt")[0].get("Ccy", ""),
        (_said(entry, *names) or None) if not several else None,
        purpose or None,
        account or None,
        None if reference in _NONE else reference,
    ]


def _day(entry: Element, name: str) -> str | None:
    return _said(entry, f"{name}/Dt", f"{name}/DtTm")[:10] or None


def _lines(node: Element, path: str) -> Iterator[str]:
    return (
        text for each in _all(node, path) if (text := " ".join("".join(each.itertext()).split()))
    )


def _number(text: str) -> Decimal:
    """Parse a number with a decimal point and without thousands."""
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise Fault("damaged") from error


def _plain(text: str) -> float | int | None:
    if not text:
        return None
    number = _number(text)
    return int(number) if number == number.to_integral_value() else float(number)


def _cleaned(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, "", [])}


def _ubl(root: Element) -> dict[str, Any]:
    """Read a UBL invoice or credit note, as in Peppol and XRechnung."""
    line = "CreditNoteLine" if root.tag.endswith("CreditNote") else "InvoiceLine"
    quantity = "CreditedQuantity" if root.tag.endswith("CreditNote") else "InvoicedQuantity"
    seller, buyer = "AccountingSupplierParty/Party", "AccountingCustomerParty/Party"
    names = ("PartyLegalEntity/RegistrationName", "PartyName/Name")
    sums, tax, named = "LegalMonetaryTotal", "TaxTotal", ("Item/Name", "Item/Description")
    return {
        "invoice_number": _said(root, "ID"),
        "invoice_date": _said(root, "IssueDate"),
        "date_due": _said(root, "DueDate", "PaymentMeans/PaymentDueDate"),
        "currency": _said(root, "DocumentCurrencyCode"),
        "vendor_name": _said(root, *(f"{seller}/{name}" for name in names)),
        "customer_name": _said(root, *(f"{buyer}/{name}" for name in names)),
        "tax_id": _said(root, f"{seller}/PartyTaxScheme/CompanyID"),
        "subtotal": _plain(_said(root, f"{sums}/TaxExclusiveAmount")),
        "tax_amount": _plain(_said(root, f"{tax}/TaxAmount")),
        "tax_rate": _rate(root, f"{tax}/TaxSubtotal/TaxCategory/Percent"),
        "amount": _plain(_said(root, f"{sums}/TaxInclusiveAmount")),
        "amount_due": _plain(_said(root, f"{sums}/PayableAmount", f"{sums}/TaxInclusiveAmount")),
        "iban": _said(root, "PaymentMeans/PayeeFinancialAccount/ID").replace(" ", ""),
        "payment_terms": _said(root, "PaymentTerms/Note"),
        "purchase_order": _said(root, "OrderReference/ID"),
        "notes": _said(root, "Note"),
        "items": [
            _item(each, named, quantity, "Price/PriceAmount", "LineExtensionAmount")
            for each in _all(root, line)
        ],
    }


def _cii(root: Element) -> dict[str, Any]:
    """Read a Cross Industry Invoice, as in Factur-X and ZUGFeRD PDFs."""
    trade = _all(root, "SupplyChainTradeTransaction") or _all(
        root, "SpecifiedSupplyChainTradeTransaction"
    )
    if not trade:
        raise Fault("damaged")
    deal = trade[0]
    agreed, settled = "ApplicableHeaderTradeAgreement", "ApplicableHeaderTradeSettlement"
    sums = f"{settled}/SpecifiedTradeSettlementHeaderMonetarySummation"
    tax = f"{settled}/ApplicableTradeTax"
    of_line = "SpecifiedTradeSettlementLineMonetarySummation"
    return {
        "invoice_number": _said(root, "ExchangedDocument/ID"),
        "invoice_date": _cii_day(_said(root, "ExchangedDocument/IssueDateTime/DateTimeString")),
        "date_due": _cii_day(
            _said(deal, f"{settled}/SpecifiedTradePaymentTerms/DueDateDateTime/DateTimeString")
        ),
        "currency": _said(deal, f"{settled}/InvoiceCurrencyCode"),
        "vendor_name": _said(deal, f"{agreed}/SellerTradeParty/Name"),
        "customer_name": _said(deal, f"{agreed}/BuyerTradeParty/Name"),
        "tax_id": _said(deal, f"{agreed}/SellerTradeParty/SpecifiedTaxRegistration/ID"),
        "subtotal": _plain(_said(deal, f"{sums}/TaxBasisTotalAmount")),
        "tax_amount": _plain(_said(deal, f"{sums}/TaxTotalAmount")),
        "tax_rate": _rate(deal, f"{tax}/RateApplicablePercent"),
        "amount": _plain(_said(deal, f"{sums}/GrandTotalAmount")),
        "amount_due": _plain(_said(deal, f"{sums}/DuePayableAmount", f"{sums}/GrandTotalAmount")),
        "iban": _said(
            deal,
            f"{settled}/SpecifiedTradeSettlementPaymentMeans/PayeePartyCreditorFinancialAccount/IBANID",
        ),
        "payment_terms": _said(deal, f"{settled}/SpecifiedTradePaymentTerms/Description"),
        "purchase_order": _said(deal, f"{agreed}/BuyerOrderReferencedDocument/IssuerAssignedID"),
        "items": [
            _item(
                each,
                ("SpecifiedTradeProduct/Name",),
                "SpecifiedLineTradeDelivery/BilledQuantity",
                "SpecifiedLineTradeAgreement/NetPriceProductTradePrice/ChargeAmount",
                f"SpecifiedLineTradeSettlement/{of_line}/LineTotalAmount",
            )
            for each in _all(deal, "IncludedSupplyChainTradeLineItem")
        ],
    }


def _item(
    line: Element, description: Sequence[str], quantity: str, price: str, amount: str
) -> dict[str, Any]:
    return _cleaned(
        {
            "description": _said(line, *description),
            "quantity": _plain(_said(line, quantity)),
            "unit_price": _plain(_said(line, price)),
            "amount": _plain(_said(line, amount)),
        }
    )


def _cii_day(text: str) -> str:
    """Convert a date such as `20240131` to ISO 8601."""
    return f"{text[:4]}-{text[4:6]}-{text[6:8]}" if len(text) == 8 and text.isdigit() else text  # noqa: PLR2004


def _rate(node: Element, path: str) -> str | None:
    """Return the tax rate if the invoice has only one."""
    rates = {str(_plain(text)) for text in _lines(node, path)}
    return f"{rates.pop()}%" if len(rates) == 1 else None
