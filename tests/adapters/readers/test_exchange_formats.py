"""Exchanged files: statements of banks and invoices for programs, read exactly or told why not."""

import pytest

from canonry.canon.ports.files import FileHint, FileType, Reading
from canonry.documents.readers import LocalReader
from canonry.values.errors import InvalidInput
from tests.adapters.readers.paper import a_pdf, with_file, with_picture

pytestmark = pytest.mark.anyio

CAMT = """<?xml version="1.0"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt>
<Acct><Id><IBAN>DE89370400440532013000</IBAN></Id></Acct>
<Bal><Tp><CdOrPrtry><Cd>OPBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">10.00</Amt>
<CdtDbtInd>CRDT</CdtDbtInd></Bal>
<Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">{closing}</Amt>
<CdtDbtInd>CRDT</CdtDbtInd></Bal>
<Ntry><Amt Ccy="EUR">1.250</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
<BookgDt><Dt>2024-01-30</Dt></BookgDt><ValDt><DtTm>2024-01-31T00:00:00</DtTm></ValDt>
<AcctSvcrRef>R1</AcctSvcrRef><NtryDtls><TxDtls><RltdPties><Cdtr><Pty><Nm>Alder</Nm></Pty></Cdtr>
</RltdPties><RmtInf><Ustrd>Boards</Ustrd><Ustrd>and nails</Ustrd></RmtInf></TxDtls></NtryDtls>
</Ntry>
<Ntry><Amt Ccy="EUR">3.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>PDNG</Sts></Ntry>
</Stmt></BkToCstmrStmt></Document>"""

MT940 = """:20:S1\r
:25:DE89370400440532013000\r
:28C:1/1\r
:60F:C240129EUR10,00\r
:61:2401310130D1,25NMSCNONREF//R1\r
:86:005?00DEBIT?20SVWZ+Boards?32Alder\r
:62F:C240130EUR8,75\r
-"""

OFX = """OFXHEADER:100
DATA:OFXSGML

<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>USD
<BANKACCTFROM><ACCTID>0042</BANKACCTFROM><BANKTRANLIST>
<STMTTRN><TRNTYPE>DEBIT<DTPOSTED>20240130120000[-5:EST]<TRNAMT>-1.250<FITID>R1
<NAME>Alder &amp; Sons<MEMO>Boards</STMTTRN>
<STMTTRN><TRNTYPE>DEBIT<DTPOSTED>20240131<DTUSER>20240129<TRNAMT>-7,50<FITID>R2</STMTTRN>
</BANKTRANLIST></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>"""

QIF = "!Type:Bank\nD1/30'24\nT-1,250.00\nPAlder\nMBoards\n^\n!Type:Invst\nD1/31'24\nT5.00\n^\n"


async def examine_file(data: str | bytes, name: str = "") -> Reading:
    content = data if isinstance(data, bytes) else data.encode()
    return await LocalReader().examine_file(content, FileHint(name=name))


def statement_lines(reading: Reading) -> list[dict[str, object]]:
    """The lines of a statement, without the parts that have no meaning in every format."""
    titles, *rows = reading.tables[0].rows
    return [
        {
            str(title): cell
            for title, cell in zip(titles, row, strict=True)
            if cell not in {None, ""} and not str(title).startswith("/")
        }
        for row in rows
    ]


ALDER = {
    "Booking date": "2024-01-30",
    "Value date": "2024-01-31",
    "Amount": -1.25,
    "Currency": "EUR",
    "Counterparty": "Alder",
    "Description": "Boards",
    "Account": "DE89370400440532013000",
    "Transaction ID": "R1",
}


async def test_a_camt_statement_yields_booked_entries_proven_by_balances() -> None:
    reading = await examine_file(CAMT.format(closing="8.75"))

    assert reading.kind is FileType.XML
    assert statement_lines(reading) == [{**ALDER, "Description": "Boards and nails"}]
    assert reading.notes == (
        "The opening and closing balances prove the amounts of 1 lines.",
        "1 entries that are not booked yet were left out.",
        "Values beside the records were not read: amt: 3.00; sts: PDNG.",
    )


async def test_balances_that_do_not_match_the_amounts_are_reported() -> None:
    reading = await examine_file(CAMT.format(closing="8.00"))

    assert "do not fit the balances: -0.75" in reading.notes[0]


async def test_mt940_gives_the_same_result_for_the_same_line() -> None:
    reading = await examine_file(MT940, "export.sta")

    assert reading.kind is FileType.MT940
    assert statement_lines(reading) == [ALDER]
    assert reading.notes == (
        "The opening and closing balances prove the amounts of 1 lines.",
        "Values beside the records were not read: 20: S1; 28C: 1/1.",
    )


async def test_ofx_without_end_tags_is_read_and_commas_are_left_as_written() -> None:
    first, second = statement_lines(await examine_file(OFX))

    assert first == {
        "Booking date": "2024-01-30",
        "Amount": -1.25,
        "Currency": "USD",
        "Counterparty": "Alder & Sons",
        "Description": "Boards",
        "Account": "0042",
        "Transaction ID": "R1",
    }
    assert (second["Transaction date"], second["Amount"]) == ("2024-01-29", "-7,50")


async def test_qif_yields_movements_as_written_and_no_securities() -> None:
    reading = await examine_file(QIF)

    assert statement_lines(reading) == [
        {"Date": "1/30/24", "Amount": "-1,250.00", "Payee": "Alder", "Memo": "Boards"}
    ]


UBL = """<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"
 xmlns:c="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"
 xmlns:a="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2">
<c:ID>A-1</c:ID><c:IssueDate>2024-01-30</c:IssueDate>
<c:DocumentCurrencyCode>EUR</c:DocumentCurrencyCode>
<a:LegalMonetaryTotal><c:TaxExclusiveAmount>1.250</c:TaxExclusiveAmount>
<c:PayableAmount>{payable}</c:PayableAmount></a:LegalMonetaryTotal></Invoice>"""
CII = """<r:CrossIndustryInvoice
 xmlns:r="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100">
<r:ExchangedDocument><r:ID>B-2</r:ID></r:ExchangedDocument><r:SupplyChainTradeTransaction>
<r:ApplicableHeaderTradeSettlement><r:InvoiceCurrencyCode>EUR</r:InvoiceCurrencyCode>
<r:SpecifiedTradeSettlementHeaderMonetarySummation><r:DuePayableAmount>119.00</r:DuePayableAmount>
</r:SpecifiedTradeSettlementHeaderMonetarySummation></r:ApplicableHeaderTradeSettlement>
</r:SupplyChainTradeTransaction></r:CrossIndustryInvoice>"""


async def test_an_electronic_invoice_is_read_exactly() -> None:
    (record,) = (await examine_file(UBL.format(payable="1.49"))).records

    assert record.kind == "invoice"
    assert record.fields == {
        "invoice_number": "A-1",
        "invoice_date": "2024-01-30",
        "currency": "EUR",
        "subtotal": 1.25,
        "amount_due": 1.49,
    }


@pytest.mark.parametrize(
    "data",
    [
        UBL.format(payable="1,49"),
        UBL.format(payable="1").replace("<c:ID>", "<!DOCTYPE a []><c:ID>"),
        UBL.format(payable="1")[:-20],
        CII.replace("SupplyChainTradeTransaction", "Other"),
    ],
)
async def test_a_malformed_invoice_is_damaged(data: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await examine_file(data)

    assert refused.value.code == "document.damaged"


async def test_a_document_that_declares_xml_entities_is_no_invoice() -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "cc">]>' + UBL.format(payable="1")

    assert (await examine_file(bomb)).kind is FileType.PLAIN


async def test_an_invoice_embedded_in_a_pdf_takes_precedence_over_its_pages() -> None:
    data = with_file(a_pdf("Invoice A-1", "Total 5.00"), "factur-x.xml", CII.encode())
    reading = await examine_file(data)

    assert reading.kind is FileType.PDF
    assert [record.fields["invoice_number"] for record in reading.records] == ["B-2"]


async def test_a_broken_invoice_in_a_pdf_is_reported_and_its_pages_are_read() -> None:
    data = with_file(a_pdf("Invoice A-1"), "factur-x.xml", b"<CrossIndustryInvoice")
    reading = await examine_file(data)

    assert reading.records == ()
    assert reading.whole_text.strip() == "Invoice A-1"
    assert reading.notes == ("The invoice within the PDF was not read (document.damaged).",)


async def test_a_pdf_of_images_says_so_without_text_recognition() -> None:
    reading = await examine_file(with_picture(a_pdf("")))
    mixed = await examine_file(with_picture(a_pdf("", "Text")))

    assert not reading.whole_text.strip()
    assert reading.notes[0].startswith("The PDF has only pictures")
    assert mixed.notes[0].startswith("1 pages of the PDF have only pictures")
    assert (await examine_file(a_pdf("Text"))).notes == ()


NOTE = (
    '<CreditNote xmlns="urn:oasis:names:specification:ubl:schema:xsd:CreditNote-2"><ID>G-3</ID>'
    "<IssueDate>2024-05-13</IssueDate><DocumentCurrencyCode>EUR</DocumentCurrencyCode>"
    "<BillingReference><InvoiceDocumentReference><ID>R-10</ID></InvoiceDocumentReference>"
    "</BillingReference><LegalMonetaryTotal><PayableAmount>119</PayableAmount>"
    "</LegalMonetaryTotal></CreditNote>"
)
CODED = NOTE.replace("CreditNote", "Invoice").replace(
    "<IssueDate>", "<InvoiceTypeCode>381</InvoiceTypeCode><IssueDate>"
)


@pytest.mark.parametrize("data", [NOTE, CODED, CODED.replace("381", "396")])
async def test_a_credit_note_is_no_bill_and_names_its_invoice(data: str) -> None:
    (record,) = (await examine_file(f"<?xml version='1.0'?>{data}")).records

    assert record.kind == "credit_note"
    assert record.fields == {
        "credit_note_number": "G-3",
        "credit_note_date": "2024-05-13",
        "currency": "EUR",
        "amount": 119,
        "invoice_reference": "R-10",
    }


async def test_a_file_attached_to_an_invoice_is_a_member() -> None:
    attached = (
        "<AdditionalDocumentReference><ID>1</ID><Attachment><EmbeddedDocumentBinaryObject "
        'mimeCode="text/csv" filename="hours.csv">ZGF0ZSxob3Vycwo=</EmbeddedDocumentBinaryObject>'
        "</Attachment></AdditionalDocumentReference><LegalMonetaryTotal>"
    )
    reading = await examine_file(NOTE.replace("<LegalMonetaryTotal>", attached))

    (member,) = reading.members
    assert (member.hint.name, member.data, member.record) == ("hours.csv", b"date,hours\n", 0)
    assert "ZGF0" not in reading.whole_text
