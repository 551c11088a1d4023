"""Invoices for programs: UBL as Peppol has it, and CII as Factur-X has it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from bench.documents.money.bills import Bill

_UBL = "urn:oasis:names:specification:ubl:schema:xsd"
_CII = "urn:un:unece:uncefact:data:standard"


def a_ubl(bill: Bill) -> bytes:
    """The bill as an invoice of UBL 2.1."""
    words, code = bill.words, bill.words["currency"]
    lines = "".join(
        f"<cac:InvoiceLine><cbc:ID>{place}</cbc:ID>"
        f'<cbc:InvoicedQuantity unitCode="C62">{count}</cbc:InvoicedQuantity>'
        f'<cbc:LineExtensionAmount currencyID="{code}">{count * price}</cbc:LineExtensionAmount>'
        f"<cac:Item><cbc:Name>{escape(good)}</cbc:Name></cac:Item><cac:Price>"
        f'<cbc:PriceAmount currencyID="{code}">{price}</cbc:PriceAmount></cac:Price>'
        "</cac:InvoiceLine>"
        for place, (good, count, price) in enumerate(bill.lines, 1)
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<Invoice xmlns="{_UBL}:Invoice-2"'
        f' xmlns:cac="{_UBL}:CommonAggregateComponents-2"'
        f' xmlns:cbc="{_UBL}:CommonBasicComponents-2">'
        f"<cbc:ID>{bill.number}</cbc:ID><cbc:IssueDate>{bill.issued}</cbc:IssueDate>"
        f"<cbc:DueDate>{bill.due}</cbc:DueDate><cbc:DocumentCurrencyCode>{code}"
        "</cbc:DocumentCurrencyCode><cac:AccountingSupplierParty><cac:Party><cac:PartyTaxScheme>"
        f"<cbc:CompanyID>{words['taxid'][1]}</cbc:CompanyID></cac:PartyTaxScheme>"
        f"<cac:PartyLegalEntity><cbc:RegistrationName>{escape(words['vendor'])}"
        "</cbc:RegistrationName></cac:PartyLegalEntity></cac:Party></cac:AccountingSupplierParty>"
        "<cac:AccountingCustomerParty><cac:Party><cac:PartyLegalEntity><cbc:RegistrationName>"
        f"{escape(words['customer'])}</cbc:RegistrationName></cac:PartyLegalEntity></cac:Party>"
        "</cac:AccountingCustomerParty><cac:PaymentMeans><cac:PayeeFinancialAccount>"
        f"<cbc:ID>{words['iban']}</cbc:ID></cac:PayeeFinancialAccount></cac:PaymentMeans>"
        f'<cac:TaxTotal><cbc:TaxAmount currencyID="{code}">{bill.tax}</cbc:TaxAmount>'
        f"<cac:TaxSubtotal><cac:TaxCategory><cbc:Percent>{words['rate']}</cbc:Percent>"
        "</cac:TaxCategory></cac:TaxSubtotal></cac:TaxTotal><cac:LegalMonetaryTotal>"
        f'<cbc:TaxExclusiveAmount currencyID="{code}">{bill.net}</cbc:TaxExclusiveAmount>'
        f'<cbc:TaxInclusiveAmount currencyID="{code}">{bill.gross}</cbc:TaxInclusiveAmount>'
        f'<cbc:PayableAmount currencyID="{code}">{bill.gross}</cbc:PayableAmount>'
        f"</cac:LegalMonetaryTotal>{lines}</Invoice>"
    ).encode()


def a_cii(bill: Bill) -> bytes:
    """The bill as a Cross Industry Invoice."""
    words = bill.words
    day = '<udt:DateTimeString format="102">{:%Y%m%d}</udt:DateTimeString>'
    lines = "".join(
        "<ram:IncludedSupplyChainTradeLineItem><ram:SpecifiedTradeProduct>"
        f"<ram:Name>{escape(good)}</ram:Name></ram:SpecifiedTradeProduct>"
        "<ram:SpecifiedLineTradeAgreement><ram:NetPriceProductTradePrice>"
        f"<ram:ChargeAmount>{price}</ram:ChargeAmount></ram:NetPriceProductTradePrice>"
        "</ram:SpecifiedLineTradeAgreement><ram:SpecifiedLineTradeDelivery>"
        f"<ram:BilledQuantity>{count}</ram:BilledQuantity></ram:SpecifiedLineTradeDelivery>"
        "<ram:SpecifiedLineTradeSettlement><ram:SpecifiedTradeSettlementLineMonetarySummation>"
        f"<ram:LineTotalAmount>{count * price}</ram:LineTotalAmount>"
        "</ram:SpecifiedTradeSettlementLineMonetarySummation></ram:SpecifiedLineTradeSettlement>"
        "</ram:IncludedSupplyChainTradeLineItem>"
        for good, count, price in bill.lines
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<rsm:CrossIndustryInvoice'
        f' xmlns:rsm="{_CII}:CrossIndustryInvoice:100"'
        f' xmlns:ram="{_CII}:ReusableAggregateBusinessInformationEntity:100"'
        f' xmlns:udt="{_CII}:UnqualifiedDataType:100"><rsm:ExchangedDocument>'
        f"<ram:ID>{bill.number}</ram:ID><ram:IssueDateTime>{day.format(bill.issued)}"
        "</ram:IssueDateTime></rsm:ExchangedDocument><rsm:SupplyChainTradeTransaction>"
        f"{lines}<ram:ApplicableHeaderTradeAgreement><ram:SellerTradeParty>"
        f"<ram:Name>{escape(words['vendor'])}</ram:Name><ram:SpecifiedTaxRegistration>"
        f'<ram:ID schemeID="VA">{words["taxid"][1]}</ram:ID></ram:SpecifiedTaxRegistration>'
        f"</ram:SellerTradeParty><ram:BuyerTradeParty><ram:Name>{escape(words['customer'])}"
        "</ram:Name></ram:BuyerTradeParty></ram:ApplicableHeaderTradeAgreement>"
        "<ram:ApplicableHeaderTradeSettlement>"
        f"<ram:InvoiceCurrencyCode>{words['currency']}</ram:InvoiceCurrencyCode>"
        "<ram:SpecifiedTradeSettlementPaymentMeans><ram:PayeePartyCreditorFinancialAccount>"
        f"<ram:IBANID>{words['iban']}</ram:IBANID></ram:PayeePartyCreditorFinancialAccount>"
        "</ram:SpecifiedTradeSettlementPaymentMeans><ram:ApplicableTradeTax>"
        f"<ram:RateApplicablePercent>{words['rate']}</ram:RateApplicablePercent>"
        "</ram:ApplicableTradeTax><ram:SpecifiedTradePaymentTerms><ram:DueDateDateTime>"
        f"{day.format(bill.due)}</ram:DueDateDateTime></ram:SpecifiedTradePaymentTerms>"
        "<ram:SpecifiedTradeSettlementHeaderMonetarySummation>"
        f"<ram:TaxBasisTotalAmount>{bill.net}</ram:TaxBasisTotalAmount>"
        f'<ram:TaxTotalAmount currencyID="{words["currency"]}">{bill.tax}</ram:TaxTotalAmount>'
        f"<ram:GrandTotalAmount>{bill.gross}</ram:GrandTotalAmount>"
        f"<ram:DuePayableAmount>{bill.gross}</ram:DuePayableAmount>"
        "</ram:SpecifiedTradeSettlementHeaderMonetarySummation>"
        "</ram:ApplicableHeaderTradeSettlement></rsm:SupplyChainTradeTransaction>"
        "</rsm:CrossIndustryInvoice>"
    ).encode()
