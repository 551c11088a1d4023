"""Bank files: signs, parties, currencies and days as each format means them."""

from collections.abc import Sequence

import pytest

from canonry.canon.ports.files import FileHint, Reading
from canonry.documents.extraction.rules import interpret_reading
from canonry.documents.readers import LocalReader
from canonry.records.domain.interpretations import FoundEntity
from tests.domain.extraction.papers import SCHEMAS

pytestmark = pytest.mark.anyio


async def examine_file(data: str, name: str = "") -> Reading:
    return await LocalReader().examine_file(data.encode(), FileHint(name=name))


async def find_payments(data: str, name: str = "") -> Sequence[FoundEntity]:
    return interpret_reading(await examine_file(data, name), SCHEMAS).entities


def mt940_text(*lines: str, closing: str = "C240131EUR1000,00") -> str:
    head = (":20:S", ":25:NL91ABNA0417164300EUR", ":28C:1/1", ":60F:C231231EUR1000,00")
    return "\n".join((*head, *lines, f":62F:{closing}", "-"))


@pytest.mark.parametrize(
    ("mark", "amount"),
    [("C", 5.0), ("D", -5.0), ("RC", -5.0), ("RD", 5.0), ("EC", 5.0), ("ED", -5.0), ("CR", 5.0)],
)
async def test_a_reversed_credit_takes_money_out(mark: str, amount: float) -> None:
    closing = f"C240131EUR{1000 + int(amount)},00"
    reading = await examine_file(
        mt940_text(f":61:2401020102{mark}5,00NTRFNONREF", closing=closing), "a.sta"
    )

    assert reading.tables[0].rows[1][2] == amount
    assert reading.notes[0] == "The opening and closing balances prove the amounts of 1 lines."


@pytest.mark.parametrize(
    ("details", "name", "purpose"),
    [
        ("166?00X?20Rent?21January?30COBADEFF?31DE02120300000000202051?32Meier", "Meier", None),
        ("020^00PRZELEW^20Rent^21January^32Meier^33UL. DLUGA 1", "Meier", None),
        ("020<00PRZELEW<20Rent<21January<32Meier", "Meier", None),
        ("166?00X?20EREF+77?21SVWZ+Rent January?32Mei?33er AG", "Mei er AG", None),
        ("/TRTP/SEPA/IBAN/NL11BANK0123456789/NAME/Meier/REMI/Rent January/EREF/7", "Meier", None),
        ("/CNTP/NL11BANK0123456789/BANKNL2A/Meier///REMI/USTD//Rent January/", "Meier", None),
        ("/ORDP//NAME/Meier/REMI/Rent/\n/2024/EREF/7", "Meier", "Rent/ /2024"),
        (
            "/REMI/A long purpose that fills the whole line with sixty-five ch\naracters",
            None,
            "",
        ),
        ("Rent\nJanuary", None, None),
    ],
)
async def test_field_86_is_read_in_notations_of_several_countries(
    details: str, name: str | None, purpose: str | None
) -> None:
    (found,) = await find_payments(
        mt940_text(":61:2401020102D5,00NTRFNONREF", f":86:{details}"), "a.sta"
    )
    said = str(found.fields["description"])

    assert found.fields.get("merchant_name") == name
    assert found.fields["account_id"] == "NL91ABNA0417164300"
    if purpose == "":
        assert said.endswith("sixty-five characters")
    else:
        assert said == (purpose or "Rent January")


async def test_a_booking_around_new_year_has_the_right_year() -> None:
    late, early = await find_payments(
        mt940_text(":61:2312310102D1,00NTRFNONREF", ":61:2401011231D2,00NTRFNONREF"), "a.sta"
    )

    assert (late.fields["date"], late.fields["value_date"]) == ("2024-01-02", "2023-12-31")
    assert (early.fields["date"], early.fields["value_date"]) == ("2023-12-31", "2024-01-01")


async def test_a_malformed_line_is_reported_and_proves_nothing() -> None:
    reading = await examine_file(
        mt940_text(":61:2401020102D5,00NTRFNONREF", ":61:2 January D 5,00"), "a.sta"
    )

    assert len(reading.tables[0].rows) == 2
    assert reading.notes == (
        "1 lines of the statement are not of its format and were not read.",
        "Values beside the records were not read: 20: S; 28C: 1/1; 61: 2 January D 5,00.",
    )


OFX = """OFXHEADER:100
DATA:OFXSGML

<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>EUR
<BANKACCTFROM><ACCTID>0042</BANKACCTFROM><BANKTRANLIST>
<STMTTRN><TRNTYPE>DEBIT<DTPOSTED>20240130<TRNAMT>-46.10<FITID>R1{}</STMTTRN>
</BANKTRANLIST></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>"""


@pytest.mark.parametrize(
    ("group", "currency", "original"),
    [
        ("<ORIGCURRENCY><CURRATE>0.922<CURSYM>USD</ORIGCURRENCY>", "EUR", "USD"),
        ("<ORIGCURRENCY><CURSYM>USD</CURSYM></ORIGCURRENCY>", "EUR", "USD"),
        ("<CURRENCY><CURRATE>0.922<CURSYM>USD</CURRENCY>", "USD", None),
        ("", "EUR", None),
    ],
)
async def test_an_amount_has_the_currency_of_its_group(
    group: str, currency: str, original: str | None
) -> None:
    (found,) = await find_payments(OFX.format(f"<NAME>SHOP{group}"))

    assert found.fields["amount"] == -46.1
    assert found.fields["currency"] == currency
    assert found.fields.get("currency_original") == original


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("JOHN&REGINA CAFE", "JOHN&REGINA CAFE"),
        ("AT&amp;T", "AT&T"),
        ("R&COPY; SHOP", "R\xa9 SHOP"),
        ("B&NOTE; BAR", "B&NOTE; BAR"),
        ("A&#39;s &#x26; B", "A's & B"),
        ("<![CDATA[M & S <Food>]]>", "M & S <Food>"),
    ],
)
async def test_text_that_only_resembles_an_entity_stays_text(written: str, name: str) -> None:
    (found,) = await find_payments(OFX.format(f"<NAME>{written}\n"))

    assert found.fields["merchant_name"] == name


async def test_the_counterparty_account_is_not_used_for_the_next_payment() -> None:
    line = "<STMTTRN><DTPOSTED>20240131<TRNAMT>-1.00<FITID>R2<NAME>B"
    other = f"<NAME>A<BANKACCTTO><ACCTID>777</BANKACCTTO></STMTTRN>{line}"

    assert {each.fields["account_id"] for each in await find_payments(OFX.format(other))} == {
        "0042"
    }


def camt_text(*entries: str) -> str:
    return (
        '<?xml version="1.0"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02">'
        "<BkToCstmrStmt><Stmt><Acct><Id><IBAN>DE02120300000000202051</IBAN></Id></Acct>"
        f"{''.join(entries)}</Stmt></BkToCstmrStmt></Document>"
    )


def camt_entry(amount: str, side: str, *parts: str, more: str = "", state: str = "BOOK") -> str:
    details = "".join(f"<TxDtls>{part}</TxDtls>" for part in parts)
    return (
        f'<Ntry><Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>{side}</CdtDbtInd>{more}<Sts>{state}</Sts>'
        f"<BookgDt><Dt>2024-01-05</Dt></BookgDt><NtryDtls>{details}</NtryDtls></Ntry>"
    )


PARTIES = "<RltdPties><Dbtr><Nm>Lena Owner</Nm></Dbtr>{}<Cdtr><Nm>Power Ltd</Nm></Cdtr></RltdPties>"
OWN = "<DbtrAcct><Id><IBAN>DE02120300000000202051</IBAN></Id></DbtrAcct>"


@pytest.mark.parametrize(
    ("side", "more", "account"),
    [
        ("DBIT", "", ""),
        ("CRDT", "<RvslInd>true</RvslInd>", ""),
        ("CRDT", "<RvslInd>1</RvslInd>", OWN),
        ("CRDT", "", OWN),
        ("DBIT", "<RvslInd>false</RvslInd>", OWN),
    ],
)
async def test_the_account_owner_is_never_the_counterparty(
    side: str, more: str, account: str
) -> None:
    (found,) = await find_payments(
        camt_text(camt_entry("25.00", side, PARTIES.format(account), more=more))
    )

    assert found.fields["merchant_name"] == "Power Ltd"
    assert found.fields["amount"] == (25.0 if side == "CRDT" else -25.0)


def camt_party(name: str, amount: str = "", side: str = "") -> str:
    money = f'<AmtDtls><TxAmt><Amt Ccy="EUR">{amount}</Amt></TxAmt></AmtDtls>' if amount else ""
    side = f"<CdtDbtInd>{side}</CdtDbtInd>" if side else ""
    return f"{side}{money}<RltdPties><Dbtr><Nm>{name}</Nm></Dbtr></RltdPties>"


async def test_a_batch_is_split_if_its_parts_add_up() -> None:
    found = await find_payments(
        camt_text(camt_entry("300.00", "CRDT", camt_party("Alva", "100"), camt_party("Bo", "200")))
    )
    mixed = await find_payments(
        camt_text(
            camt_entry(
                "50.00", "CRDT", camt_party("Alva", "70", "CRDT"), camt_party("Bo", "20", "DBIT")
            )
        )
    )

    assert [(e.fields["merchant_name"], e.fields["amount"]) for e in found] == [
        ("Alva", 100.0),
        ("Bo", 200.0),
    ]
    assert [each.fields["amount"] for each in mixed] == [70.0, -20.0]


@pytest.mark.parametrize("second", ["", "150"])
async def test_a_batch_whose_parts_do_not_add_up_stays_one_payment(second: str) -> None:
    (found,) = await find_payments(
        camt_text(camt_entry("300.00", "CRDT", camt_party("Alva", "100"), camt_party("Bo", second)))
    )

    assert found.fields["amount"] == 300.0
    assert found.fields["description"] == "Alva; Bo"
    assert "merchant_name" not in found.fields


@pytest.mark.parametrize("state", ["PDNG", "INFO", "FUTR"])
async def test_an_unbooked_entry_is_no_payment(state: str) -> None:
    reading = await examine_file(
        camt_text(
            camt_entry("5.00", "DBIT", PARTIES.format(""), state=state), camt_entry("7.00", "DBIT")
        )
    )

    assert len(reading.tables[0].rows) == 2
    assert "1 entries that are not booked yet were left out." in reading.notes


async def test_an_instructed_amount_in_another_currency_is_kept_too() -> None:
    more = '<AmtDtls><InstdAmt><Amt Ccy="USD">50.00</Amt></InstdAmt></AmtDtls>'
    (found,) = await find_payments(
        camt_text(camt_entry("46.10", "DBIT", more + PARTIES.format("")))
    )

    assert (found.fields["amount"], found.fields["currency"]) == (-46.1, "EUR")
    assert found.fields["amount_original"] == -50.0
    assert found.fields["currency_original"] == "USD"


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("1/25' 4", "2004-01-25"),
        ("1/25'04", "2004-01-25"),
        (" 1/25/2004", "2004-01-25"),
        ("1/25/99", "1999-01-25"),
        ("12/ 5'24", None),
        ("26 Jan 2026", "2026-01-26"),
        ("25.1.2024", "2024-01-25"),
    ],
)
async def test_quicken_dates_are_read(written: str, day: str | None) -> None:
    (found,) = await find_payments(f"!Type:Bank\nD{written}\nT-5.00\nPAlder\n^\n")

    assert found.fields.get("date") == day
    assert (day is None) == ("date" in found.unread)


async def test_payments_belong_to_the_account_named_last() -> None:
    listed = (
        "!Option:AutoSwitch\n!Account\nNGiro\nTBank\n^\nNSavings\nTBank\n^\n!Clear:AutoSwitch\n"
    )
    line = "!Account\nN{}\nTBank\n^\n!Type:Bank\nD1/25'24\nU-1,060.00\nPMarket\n^\n"
    found = await find_payments(listed + line.format("Giro") + line.format("Savings"))

    assert [(e.fields["account_id"], e.fields["amount"]) for e in found] == [
        ("Giro", -1060.0),
        ("Savings", -1060.0),
    ]


UBL = (
    '<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"><ID>R-11</ID>'
    "<DocumentCurrencyCode>EUR</DocumentCurrencyCode>{}<LegalMonetaryTotal>"
    '<TaxInclusiveAmount currencyID="EUR">119</TaxInclusiveAmount></LegalMonetaryTotal></Invoice>'
)
CII = (
    '<CrossIndustryInvoice xmlns="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100">'
    "<SupplyChainTradeTransaction><ApplicableHeaderTradeSettlement><InvoiceCurrencyCode>EUR"
    "</InvoiceCurrencyCode><SpecifiedTradeSettlementHeaderMonetarySummation>{}<GrandTotalAmount>119"
    "</GrandTotalAmount></SpecifiedTradeSettlementHeaderMonetarySummation>"
    "</ApplicableHeaderTradeSettlement></SupplyChainTradeTransaction></CrossIndustryInvoice>"
)


@pytest.mark.parametrize(
    ("file", "total"),
    [
        (UBL, '<TaxTotal><TaxAmount currencyID="{}">{}</TaxAmount></TaxTotal>'),
        (CII, '<TaxTotalAmount currencyID="{}">{}</TaxTotalAmount>'),
    ],
)
async def test_the_tax_total_in_the_invoice_currency_counts(file: str, total: str) -> None:
    foreign, own = total.format("PLN", "81.70"), total.format("EUR", "19.00")
    for totals, tax in ((foreign + own, 19), (own + foreign, 19), (foreign, None)):
        (record,) = (await examine_file(file.format(totals))).records
        assert record.fields.get("tax_amount") == tax
        assert record.fields["amount"] == 119


@pytest.mark.parametrize(
    ("file", "parts"),
    [
        (
            mt940_text(
                ":61:2401020102D5,00NTRFOWN-7//B1",
                ":86:166?00LAST?20EREF+E-1?21MREF+M-1?22SVWZ+Rent?23ABWA+Ann?31DE02?32Meier",
            ),
            {"customer_reference": "OWN-7", "eref": "E-1", "mref": "M-1", "abwa": "Ann"}
            | {"booking_text": "LAST", "party_account": "DE02", "business_code": "166"},
        ),
        (
            OFX.format("<CHECKNUM>1001<REFNUM>R-9<SIC>5411<NAME>SHOP"),
            {"checknum": "1001", "refnum": "R-9", "sic": "5411"},
        ),
        (
            "!Type:Bank\nD01/30/2024\nT-9\nPShop\nCX\nSFood\nEbread\n$-4\nSHome\n$-5\n^\n",
            {"split": "Food, bread, -4; Home, -5", "cleared": "X"},
        ),
    ],
)
async def test_parts_without_a_field_keep_their_names(file: str, parts: dict[str, str]) -> None:
    (found,) = await find_payments(file, "a.sta")

    assert found.fields.items() >= parts.items()
    assert found.fields["amount"] in {-5, -46.1, -9}


async def test_unread_parts_of_a_line_do_not_affect_amount_and_account() -> None:
    fee = OFX.format("<NAME>SHOP<BANKACCTTO><ACCTID>99</BANKACCTTO><SIC>fee")
    (found,) = await find_payments(fee)

    assert (found.fields["account_id"], found.fields.get("kind")) == ("0042", None)
    assert (found.fields["amount"], found.fields["acctid"]) == (-46.1, "99")


async def test_parts_of_a_camt_entry_have_the_same_names_in_a_batch() -> None:
    parts = [
        f'<Refs><EndToEndId>E-{n}</EndToEndId></Refs><Amt Ccy="EUR">{n}.00</Amt>' for n in (1, 2)
    ]
    found = await find_payments(
        camt_text(camt_entry("3.00", "DBIT", *parts), camt_entry("1.00", "DBIT", parts[0]))
    )

    assert [each.fields["refs_end_to_end_id"] for each in found] == ["E-1", "E-2", "E-1"]
    assert [each.fields["amount"] for each in found] == [-1, -2, -1]
