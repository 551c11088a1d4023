"""Files that programs exchange as XML: statements (CAMT) and invoices (UBL, CII), read exactly."""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, Final
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException  # type: ignore[import-untyped]
from defusedxml.ElementTree import fromstring  # type: ignore[import-untyped]

from canonry.documents.parsers.banks import TITLES, told_balances
from canonry.documents.parsers.findings import Fault, Findings, ParsedCell

_STATEMENTS: Final = ("BkToCstmrStmt/Stmt", "BkToCstmrAcctRpt/Rpt", "BkToCstmrDbtCdtNtfctn/Ntfctn")
_UNNAMED: Final = frozenset({"", "NOTPROVIDED", "NONREF"})


def parse(kind: str, data: bytes, found: Findings) -> None:
    """Read a document of XML; one that declares types of its own is refused."""
    del kind
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
    """The text at the first of the paths that says something."""
    return next((text for path in paths for text in _lines(node, path)), "")


def _camt(statement: Element, found: Findings) -> None:
    account = _said(statement, "Acct/Id/IBAN", "Acct/Id/Othr/Id")
    rows: list[list[ParsedCell]] = [list(TITLES)]
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
    told_balances(found, balances.get("OPBD", balances.get("PRCD")), balances.get("CLBD"), amounts)
    if waiting:
        found.note(f"{waiting} entries that are not booked yet were left out")


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
    if several:  # booked as one: the account says nothing of each
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
        None if reference in _UNNAMED else reference,
    ]


def _day(entry: Element, name: str) -> str | None:
    return _said(entry, f"{name}/Dt", f"{name}/DtTm")[:10] or None


def _lines(node: Element, path: str) -> Iterator[str]:
    return (
        text for each in _all(node, path) if (text := " ".join("".join(each.itertext()).split()))
    )


def _number(text: str) -> Decimal:
    """A number of an exchanged file, which writes a point and no thousands."""
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
    """An invoice or a credit note of UBL, as Peppol and XRechnung have it."""
    line = "CreditNoteLine" if root.tag.endswith("CreditNote") else "InvoiceLine"
    quantity = "CreditedQuantity" if root.tag.endswith("CreditNote") else "InvoicedQuantity"
    seller, buyer = "AccountingSupplierParty/Party", "AccountingCustomerParty/Party"
    sums = "LegalMonetaryTotal"
    tax = "TaxTotal"
    return {
        "invoice_number": _said(root, "ID"),
        "invoice_date": _said(root, "IssueDate"),
        "date_due": _said(root, "DueDate", "PaymentMeans/PaymentDueDate"),
        "currency": _said(root, "DocumentCurrencyCode"),
        "vendor_name": _ubl_name(root, seller),
        "customer_name": _ubl_name(root, buyer),
        "tax_id": _said(root, f"{seller}/PartyTaxScheme/CompanyID"),
        "subtotal": _plain(_said(root, f"{sums}/TaxExclusiveAmount")),
        "tax_amount": _plain(_said(root, f"{tax}/TaxAmount")),
        "tax_rate": _rate(_rates(root, f"{tax}/TaxSubtotal/TaxCategory/Percent")),
        "amount": _plain(_said(root, f"{sums}/TaxInclusiveAmount")),
        "amount_due": _plain(_said(root, f"{sums}/PayableAmount", f"{sums}/TaxInclusiveAmount")),
        "iban": _said(root, "PaymentMeans/PayeeFinancialAccount/ID").replace(" ", ""),
        "payment_terms": _said(root, "PaymentTerms/Note"),
        "purchase_order": _said(root, "OrderReference/ID"),
        "notes": _said(root, "Note"),
        "items": [
            _cleaned(
                {
                    "description": _said(each, "Item/Name", "Item/Description"),
                    "quantity": _plain(_said(each, quantity)),
                    "unit_price": _plain(_said(each, "Price/PriceAmount")),
                    "amount": _plain(_said(each, "LineExtensionAmount")),
                }
            )
            for each in _all(root, line)
        ],
    }


def _ubl_name(root: Element, party: str) -> str:
    return _said(root, f"{party}/PartyLegalEntity/RegistrationName", f"{party}/PartyName/Name")


def _cii(root: Element) -> dict[str, Any]:
    """An invoice of the Cross Industry format, as Factur-X and ZUGFeRD have it within a PDF."""
    trade = _all(root, "SupplyChainTradeTransaction") or _all(
        root, "SpecifiedSupplyChainTradeTransaction"
    )
    if not trade:
        raise Fault("damaged")
    deal = trade[0]
    agreed, settled = "ApplicableHeaderTradeAgreement", "ApplicableHeaderTradeSettlement"
    sums = f"{settled}/SpecifiedTradeSettlementHeaderMonetarySummation"
    tax = f"{settled}/ApplicableTradeTax"
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
        "tax_rate": _rate(_rates(deal, f"{tax}/RateApplicablePercent")),
        "amount": _plain(_said(deal, f"{sums}/GrandTotalAmount")),
        "amount_due": _plain(_said(deal, f"{sums}/DuePayableAmount", f"{sums}/GrandTotalAmount")),
        "iban": _said(
            deal,
            f"{settled}/SpecifiedTradeSettlementPaymentMeans/PayeePartyCreditorFinancialAccount/IBANID",
        ),
        "payment_terms": _said(deal, f"{settled}/SpecifiedTradePaymentTerms/Description"),
        "purchase_order": _said(deal, f"{agreed}/BuyerOrderReferencedDocument/IssuerAssignedID"),
        "items": [_cii_item(each) for each in _all(deal, "IncludedSupplyChainTradeLineItem")],
    }


def _cii_item(line: Element) -> dict[str, Any]:
    price = "SpecifiedLineTradeAgreement/NetPriceProductTradePrice/ChargeAmount"
    total = "SpecifiedLineTradeSettlement/SpecifiedTradeSettlementLineMonetarySummation"
    return _cleaned(
        {
            "description": _said(line, "SpecifiedTradeProduct/Name"),
            "quantity": _plain(_said(line, "SpecifiedLineTradeDelivery/BilledQuantity")),
            "unit_price": _plain(_said(line, price)),
            "amount": _plain(_said(line, f"{total}/LineTotalAmount")),
        }
    )


def _cii_day(text: str) -> str:
    """`20240131`, the one notation of days that the format has, in ISO 8601."""
    return f"{text[:4]}-{text[4:6]}-{text[6:8]}" if len(text) == 8 and text.isdigit() else text  # noqa: PLR2004


def _rates(node: Element, path: str) -> set[str]:
    return {str(_plain(text)) for text in _lines(node, path)}


def _rate(rates: set[str]) -> str | None:
    """The rate of tax, where the invoice has but one."""
    return f"{rates.pop()}%" if len(rates) == 1 else None
