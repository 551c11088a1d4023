"""Exports as banks and cards write them: signs, states, kinds, fees, dates and named invoices."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from canonry.canon.ports.files import FileType, Reading
from canonry.documents.extraction.rules import interpret_reading
from canonry.documents.readers.reader import records_of, table_of
from canonry.records.domain.interpretations import FoundEntity, Interpretation
from tests.adapters.readers.test_bank_formats import (
    camt_entry,
    camt_text,
    find_payments,
    mt940_text,
)
from tests.domain.extraction.papers import SCHEMAS, from_objects


def read_export(text: str) -> Interpretation:
    table, notes = table_of(text, 10_000)
    reading = Reading(kind=FileType.CSV, name="export.csv", tables=(table,), notes=notes)
    return interpret_reading(reading, SCHEMAS)


def select_fields(done: Interpretation, *names: str) -> list[tuple[Any, ...]]:
    return list_payments(done.entities, *names)


def list_payments(found: Sequence[FoundEntity], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(each.fields.get(name) for name in names) for each in found]


PAYPAL = (
    '"Date","Time","TimeZone","Name","Type","Status","Currency","Gross","Fee","Net",'
    '"Transaction ID","Reference Txn ID","Invoice Number","Balance","Balance Impact"\n'
    '"03/12/2024","09:12","PST","Ann Lee","General Payment","Completed","USD","1,200.00",'
    '"-35.10","1,164.90","1AB","","INV-77","1,164.90","Credit"\n'
    '"03/13/2024","10:12","PST","Ann Lee","Payment Refund","Completed","USD","-200.00",'
    '"5.80","-194.20","2AB","1AB","INV-77","970.70","Debit"\n'
    '"03/14/2024","11:12","PST","Game Store","Express Checkout Payment","Pending","USD",'
    '"-20.00","0.00","-20.00","3AB","","","970.70","Memo"\n'
)
PAYPAL_GERMAN = (
    '"Datum","Uhrzeit","Name","Typ","Status","Währung","Brutto","Gebühr","Netto",'
    '"Transaktionscode","Rechnungsnummer","Guthaben"\n'
    '"12.03.2024","09:12","Spotify AB","Zahlung","Abgeschlossen","EUR","-1.009,99","0,00",'
    '"-1.009,99","1AB","","-1.009,99"\n'
    '"13.03.2024","09:12","","Bankgutschrift","Abgeschlossen","EUR","1.009,99","0,00",'
    '"1.009,99","2AB","","0,00"\n'
    '"13.03.2024","09:13","Shop GmbH","Zahlung","Ausstehend","EUR","-1.049,00","0,00",'
    '"-1.049,00","3AB","RE-1","0,00"\n'
)


def test_paypal_counts_net_amounts_and_keeps_gross_and_invoice() -> None:
    done = read_export(PAYPAL)

    assert select_fields(done, "date", "amount", "amount_gross", "kind", "invoice_reference") == [
        ("2024-03-12", 1164.9, 1200, None, ["INV-77"]),
        ("2024-03-13", -194.2, -200, "refund", ["INV-77"]),
    ]
    assert "1 lines that are not booked were left out: Pending." in done.warnings


def test_paypal_in_german_reads_the_same() -> None:
    done = read_export(PAYPAL_GERMAN)

    assert select_fields(done, "date", "amount", "merchant_name", "transaction_id") == [
        ("2024-03-12", -1009.99, "Spotify AB", "1AB"),
        ("2024-03-13", 1009.99, None, "2AB"),
    ]


def test_a_list_of_invoices_is_still_no_statement() -> None:
    done = read_export("Invoice Number,Date,Amount,Vendor\nINV-1,2024-03-01,100.00,Alder\n")

    assert {each.entity_type for each in done.entities} == {"invoice"}


REVOLUT = """
Art,Produkt,Datum des Beginns,Datum des Abschlusses,Beschreibung,Betrag,Gebühr,Währung,State,Saldo
Tipo,Producto,Fecha de inicio,Fecha de finalización,Descripción,Importe,Comisión,Divisa,State,Saldo
Type,Produit,Date de début,Date de fin,Description,Montant,Frais,Devise,State,Solde
Tipo,Prodotto,Data di inizio,Data di completamento,Descrizione,Importo,Costo,Valuta,State,Saldo
Rodzaj,Produkt,Data rozpoczęcia,Data zrealizowania,Opis,Kwota,Opłata,Waluta,State,Saldo
Tipo,Produto,Data de início,Data de Conclusão,Descrição,Montante,Comissão,Moeda,Estado,Saldo
"""
STATES = (
    ("ABGESCHLOSSEN", "RÜCKGÄNGIG GEMACHT", "AUSSTEHEND"),
    ("COMPLETADO", "REVERTIDO", "PENDIENTE"),
    ("TERMINÉ", "ANNULÉ", "EN ATTENTE"),
    ("COMPLETATO", "ANNULLATO", "IN SOSPESO"),
    ("ZAKOŃCZONO", "COFNIĘTO", "OCZEKUJE"),
    ("CONCLUÍDA", "REVERTIDO", "PENDENTE"),
)


@pytest.mark.parametrize(
    ("titles", "states"), [*zip(REVOLUT.strip().split("\n"), STATES, strict=True)]
)
def test_revolut_leaves_out_unbooked_lines_in_any_language(
    titles: str, states: tuple[str, str, str]
) -> None:
    (done, reverted, pending), kind = states, "CARD_PAYMENT,Current"
    read_as = read_export(
        f"{titles}\n"
        f"{kind},2024-03-01 09:00:00,2024-03-01 09:00:05,Top-up,500.00,0.00,EUR,{done},500.00\n"
        f"{kind},2024-03-02 10:00:00,,Deposit,-80.00,0.00,EUR,{reverted},\n"
        f"{kind},2024-03-03 10:00:00,2024-03-04 08:00:00,Hotel,-100.00,1.00,EUR,{done},399.00\n"
        f"{kind},2024-03-05 10:00:00,,Fuel,-50.00,0.00,EUR,{pending},\n"
    )

    assert select_fields(read_as, "date", "amount", "currency", "kind") == [
        ("2024-03-01", 500, "EUR", None),
        ("2024-03-03", -100, "EUR", None),
        ("2024-03-03", -1, "EUR", "fee"),
    ]


def test_hdfc_writes_days_first_and_empty_sums_as_zero() -> None:
    done = read_export(
        "Date   ,Narration ,Value Dat,Debit Amount ,Credit Amount ,Chq/Ref Number,Closing Balance\n"
        "  01/04/24  ,UPI-GROCER  ,01/04/24 ,   500.00 ,0.00 ,0000409212345678 ,  126000.00\n"
        "  02/04/24  ,NEFT CR-ACME,02/04/24 ,     0.00 ,125000.00,N092240001 ,  251000.00\n"
    )

    assert select_fields(done, "date", "amount") == [("2024-04-01", -500), ("2024-04-02", 125000)]


def test_handelsbanken_marks_unbooked_lines_in_the_text() -> None:
    done = read_export(
        "Reskontradatum,Transaktionsdatum,Text,Belopp,Saldo\n"
        '2024-03-06,2024-03-06,Prel Hyra,"\u22127 500,00",\n'
        '2024-03-05,2024-03-04,ICA MAXI,"-1 234,50","8 765,50"\n'
        '2024-03-04,2024-03-04,LÖN,"10 000,00","10 000,00"\n'
    )

    assert select_fields(done, "date", "amount") == [("2024-03-04", -1234.5), ("2024-03-04", 10000)]
    assert "1 lines that are not booked were left out: pending." in done.warnings


def test_commbank_has_no_column_titles() -> None:
    done = read_export(
        '15/03/2024,"-25.50","WOOLWORTHS Card xx1234 Value Date: 13/03/2024","+974.50"\n'
        '14/03/2024,"+1000.00","Salary ACME","+1000.00"\n'
        '13/03/2024,"-10.00","Transfer to xx5678 CommBank app","+0.00"\n'
    )

    assert select_fields(done, "date", "amount", "balance") == [
        ("2024-03-15", -25.5, 974.5),
        ("2024-03-14", 1000, 1000),
        ("2024-03-13", -10, 0),
    ]


@pytest.mark.parametrize("more", ["", "03/22/2024,SHOP,LEE,-1.00\n"])
def test_a_card_with_negative_payments_has_positive_purchases(more: str) -> None:
    done = read_export(
        "Date,Description,Card Member,Amount\n03/05/2024,BAKERY,LEE,4.50\n"
        f"03/20/2024,AUTOPAY PAYMENT - THANK YOU,LEE,-100.00\n03/21/2024,SHOP,LEE,-20.00\n{more}"
    )

    assert select_fields(done, "amount")[:3] == [(-4.5,), (100,), (20,)]


def test_without_a_holder_a_table_with_equal_refunds_is_unread() -> None:
    done = read_export(
        "Date,Description,Amount\n03/05/2024,BAKERY,4.50\n"
        "03/20/2024,PAYMENT - THANK YOU,-100.00\n03/21/2024,SHOP,-20.00\n"
    )

    assert select_fields(done, "amount") == [(None,), (None,), (None,)]


def test_apple_card_has_installments_interest_and_returns() -> None:
    done = read_export(
        "Transaction Date,Clearing Date,Description,Merchant,Category,Type,Amount (USD)\n"
        "05/13/2024,05/14/2024,BAKERY,Bakery,Restaurants,Purchase,4.50\n"
        "05/14/2024,05/15/2024,SHOP RETURN,Shop,Shopping,Refund,-20.00\n"
        "05/15/2024,05/15/2024,ACH DEPOSIT,Ach Deposit,Payment,Payment,-100.00\n"
        "05/31/2024,05/31/2024,MONTHLY INSTALLMENTS,Apple,Installment,Installment,41.62\n"
    )

    assert select_fields(done, "amount", "kind") == [
        (-4.5, None),
        (20, "refund"),
        (100, None),
        (-41.62, None),
    ]


def test_one_word_json_names_are_column_titles() -> None:
    done = from_objects(
        {"bookingDate": "2024-03-01", "amount": "15.00", "currencyCode": "EUR"}
        | {"creditorName": "Shop", "transactionStatus": "BOOKED", "creditDebitIndicator": "DBIT"},
        {"bookingDate": "2024-03-02", "amount": "25.00", "currencyCode": "EUR"}
        | {"debtorName": "Lena", "transactionStatus": "PENDING", "creditDebitIndicator": "CRDT"},
    )

    assert list_payments(done, "date", "amount", "currency", "merchant_name") == [
        ("2024-03-01", -15, "EUR", "Shop")
    ]


def test_a_nested_account_export_has_its_booked_lines() -> None:
    def line(amount: str, day: str, **more: Any) -> dict[str, Any]:
        sums = {"transactionAmount": {"amount": amount, "currency": "EUR"}}
        return {"bookingDate": day, **sums, "creditorName": "Shop", **more}

    text = "Rechnung RE-5"
    booked = line("-15.00", "2024-03-01", remittanceInformationUnstructured=text, transactionId="1")
    account = {"creditorAccount": {"iban": "DE02120300000000202051"}}
    exchange = {"instructedAmount": {"amount": "50.00", "currency": "USD"}}
    listed_as = {
        "booked": [booked, line("-46.10", "2024-03-02", **exchange, **account)],
        "pending": [line("-25.00", "2024-03-03")],
    }
    records, *_ = records_of(json.dumps({"transactions": listed_as}), 10_000)
    done = interpret_reading(Reading(kind=FileType.JSON, name="a.json", records=records), SCHEMAS)

    assert select_fields(done, "date", "amount", "currency", "merchant_name", "status") == [
        ("2024-03-01", -15, "EUR", "Shop", "booked"),
        ("2024-03-02", -46.1, "EUR", "Shop", "booked"),
    ]
    assert done.entities[0].fields["invoice_reference"] == ["RE-5"]
    assert "1 lines that are not booked were left out: pending." in done.warnings


def test_a_statement_with_only_pending_lines_has_no_payment() -> None:
    done = read_export("Date,Payee,Amount,Status\n2024-03-01,Alder,-5.00,PENDING\n")

    assert select_fields(done, "amount") == []
    assert "1 lines that are not booked were left out: PENDING." in done.warnings


@pytest.mark.parametrize(
    ("word", "kind"),
    [("Rücklastschrift", "reversal"), ("RUECKLASTSCHRIFT", "reversal"), ("Chargeback", "reversal")],
)
def test_a_returned_debit_is_a_reversal(word: str, kind: str) -> None:
    done = read_export(f"Date,Payee,Description,Amount\n2024-03-01,Alder,{word} RE-77,5.00\n")

    assert select_fields(done, "kind", "invoice_reference") == [(kind, ["RE-77"])]


@pytest.mark.anyio
async def test_expected_amounts_of_a_daily_report_are_not_booked() -> None:
    report = mt940_text(":61:2401020102ED5,00NTRFNONREF", ":61:2401020102D7,00NTRFNONREF")
    expected = "\n".join(each for each in report.split("\n") if not each.startswith(":62F:"))

    assert [each.fields["amount"] for each in await find_payments(expected, "a.sta")] == [-7]


@pytest.mark.anyio
async def test_a_reversed_line_of_a_bank_file_is_a_reversal() -> None:
    (line,) = await find_payments(mt940_text(":61:2401020102RD5,00NTRFNONREF"), "a.sta")
    returned = "<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>"
    (entered,) = await find_payments(camt_text(camt_entry("5.00", "CRDT", returned)))

    assert (line.fields["amount"], line.fields["kind"]) == (5, "reversal")
    assert (entered.fields["amount"], entered.fields["kind"]) == (5, "reversal")


@pytest.mark.anyio
async def test_fees_and_holds_of_ofx_are_labelled() -> None:
    lines = "".join(
        f"<STMTTRN{end}><TRNTYPE>{kind}<DTPOSTED>20240130<TRNAMT>-5.00<FITID>{kind}{end}</STMTTRN{end}>"
        for kind, end in (("SRVCHG", ""), ("HOLD", ""), ("DEBIT", "P"))
    )
    found = await find_payments(f"OFXHEADER:100\n\n<OFX><CURDEF>EUR{lines}</OFX>", "a.ofx")

    assert [(each.fields["transaction_id"], each.fields["kind"]) for each in found] == [
        ("SRVCHG", "fee")
    ]


@pytest.mark.anyio
async def test_corrected_ofx_lines_are_removed() -> None:
    lines = "".join(
        f"<STMTTRN><TRNTYPE>DEBIT<DTPOSTED>20240130<TRNAMT>{amount}<FITID>{number}{more}</STMTTRN>"
        for number, amount, more in (
            ("1", "-5.00", ""),
            ("2", "-6.00", ""),
            ("3", "-5.50", "<CORRECTFITID>1<CORRECTACTION>REPLACE"),
            ("4", "-6.00", "<CORRECTFITID>2<CORRECTACTION>DELETE"),
        )
    )
    found = await find_payments(f"OFXHEADER:100\n\n<OFX><CURDEF>EUR{lines}</OFX>", "a.ofx")

    assert [each.fields["amount"] for each in found] == [-5.5]


@pytest.mark.anyio
async def test_camt_names_invoices_and_creditor_references() -> None:
    number = "<RmtInf><Strd><RfrdDocInf><Nb>INV-7</Nb></RfrdDocInf></Strd></RmtInf>"
    reference = "<RmtInf><Strd><CdtrRefInf><Ref>RF18539007547034</Ref></CdtrRefInf></Strd></RmtInf>"
    text = "<RmtInf><Ustrd>Rechnung RE-2024-0815</Ustrd></RmtInf>"
    found = [
        (await find_payments(camt_text(camt_entry("5.00", "DBIT", each))))[0]
        for each in (number, reference, text)
    ]

    assert [each.fields["invoice_reference"] for each in found] == [
        ["INV-7"],
        ["RF18539007547034"],
        ["RE-2024-0815"],
    ]
