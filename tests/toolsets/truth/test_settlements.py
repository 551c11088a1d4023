"""Payments settle the invoices that they name, and sums of what is still owed follow them."""

import base64
from typing import Any

import pytest

from tests.toolsets.truth.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio

BILL: dict[str, Any] = {
    "entity_type": "invoice",
    "invoice_number": "INV-77",
    "vendor_name": "Alder Ltd",
    "customer_name": "Lena Owner",
    "invoice_date": "2024-03-01",
    "amount_due": 100,
    "currency": "EUR",
}
PAYMENT: dict[str, Any] = {
    "entity_type": "transaction",
    "date": "2024-03-10",
    "amount": -100,
    "currency": "EUR",
    "merchant_name": "ALDER LTD LONDON",
    "invoice_reference": "inv 77",
}
LINES = """Date,Description,Amount,Currency,Counterparty,Balance
2024-03-10,{purpose},{amount},{currency},{party},900.00
2024-03-11,Groceries,-5.00,{currency},Shop,895.00
"""
PAPER = """Alder Ltd
{heading}
{own}
Invoice number: INV-77
Date: 2024-03-12
{sum}: 100.00 EUR
"""
MAIL = """From: Alder <pay@alder.example>
To: lena@x.example
Subject: {subject}
Date: Tue, 12 Mar 2024 10:00:00 +0000
Message-ID: <1@x>

{text}
"""


async def ingest_file(driver: ToolDriver, text: str, media: str) -> None:
    driver.wait()
    content = base64.b64encode(text.encode()).decode()
    await driver.call("ingest", user_id=driver.user, file_content=content, mime_type=media)


def a_line(purpose: str = "Invoice INV-77", **said: str) -> str:
    usual = {"amount": "-100.00", "currency": "EUR", "party": "Alder"}
    return LINES.format(purpose=purpose, **{**usual, **said})


async def settled_types(driver: ToolDriver) -> list[tuple[str, str]]:
    """The types of what settles an invoice, and the vendors of the invoices."""
    found = []
    for entity in (await driver.call("retrieve_entities"))["entities"]:
        edges = await driver.call(
            "list_relationships",
            entity_id=entity["id"],
            direction="outbound",
            relationship_type="SETTLES",
        )
        for each in edges["relationships"]:
            invoice = await driver.snapshot(each["target_entity_id"])
            found.append((entity["entity_type"], invoice["vendor_name"]))
    return sorted(found)


async def owed(driver: ToolDriver, field: str = "owed", **more: Any) -> dict[str | None, str]:
    reply = await driver.call("summarise_records", entity_type="invoice", field=field, **more)
    assert reply["field"] == "owed"
    return {each["group"]["currency"]: each["sum"] for each in reply["totals"]}


async def left_out(driver: ToolDriver) -> list[str]:
    reply = await driver.call("summarise_records", entity_type="invoice", field="owed")
    return [each["reason"] for each in reply["left_out"]]


FILES = {
    "a line of the bank": (a_line("Rechnung inv/77"), "text/csv", "transaction"),
    "a receipt": (
        PAPER.format(heading="Receipt", own="Receipt number: R-9", sum="Total"),
        "text/plain",
        "receipt",
    ),
    "a note of a payment": (
        "Alder Ltd\nPayment received for INV-77\nDate: 2024-03-12\nTotal: 100.00 EUR\n",
        "text/plain",
        "receipt",
    ),
    "a mail": (
        MAIL.format(subject="Payment received for INV-77", text="Thank you."),
        "message/rfc822",
        "message",
    ),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("first", ["invoice", "payment"])
async def test_a_payment_settles_the_invoice_it_names(name: str, first: str) -> None:
    driver = make_driver()
    text, media, entity_type = FILES[name]
    if first == "invoice":
        await driver.ingest(BILL)
    await ingest_file(driver, text, media)
    if first == "payment":
        assert (await driver.call("retrieve_entities", entity_type="invoice"))["total"] == 0
        await driver.ingest(BILL)

    assert await settled_types(driver) == [(entity_type, "Alder Ltd")]
    assert (await driver.call("retrieve_entities", entity_type="invoice"))["total"] == 1


@pytest.mark.parametrize(
    ("text", "media"),
    [
        (
            PAPER.format(heading="Payment reminder", own="Reminder number: M-1", sum="Amount due"),
            "",
        ),
        (PAPER.format(heading="Delivery note", own="Delivery note number: L-1", sum="Total"), ""),
        (a_line(party="Birch GmbH"), "text/csv"),
        (a_line(party="Alder GmbH"), "text/csv"),
        (a_line(currency="USD"), "text/csv"),
        (a_line(amount="-150.00"), "text/csv"),
        (a_line(amount="20.00"), "text/csv"),
        (a_line(amount="20.00", party=""), "text/csv"),
        (a_line(purpose="Invoice 77"), "text/csv"),
        (a_line(purpose="Pending - invoice INV-77"), "text/csv"),
        (
            MAIL.format(subject="INV-77", text="We have not received your payment."),
            "message/rfc822",
        ),
        (MAIL.format(subject="INV-77", text="Once payment received, we ship."), "message/rfc822"),
    ],
)
@pytest.mark.parametrize("first", ["invoice", "other"])
async def test_references_and_contradictions_settle_nothing(
    text: str, media: str, first: str
) -> None:
    driver = make_driver()
    for each in ("invoice", "other") if first == "invoice" else ("other", "invoice"):
        if each == "invoice":
            await driver.ingest(BILL)
        else:
            await ingest_file(driver, text, media or "text/plain")

    assert await settled_types(driver) == []
    assert await owed(driver) == {"EUR": "100"}


CONFIRMED = (
    ("Zahlungsbestätigung", "Wir bestätigen Ihre Zahlung zur Rechnung INV-77", "Betrag"),
    ("Reçu de paiement", "Facture n° INV-77", "Montant"),
    ("Recibo de pago", "Factura: INV-77", "Total"),
    ("Ricevuta di pagamento", "Fattura n. INV-77", "Totale"),
    ("Betalingsbewijs", "Factuurnummer: INV-77", "Bedrag"),
    ("Potwierdzenie płatności", "Faktura: INV-77", "Kwota"),
    ("Recibo de pagamento", "Fatura: INV-77", "Total"),
    ("Betalningsbekräftelse", "Fakturanummer: INV-77", "Belopp"),
    ("Payment confirmation", "Invoice: INV-77", "Amount paid"),
    ("Receipt", "Invoice number: INV-77", "Total"),
    ("RECEIPT FOR INVOICE INV-77", "Thank you", "Amount paid"),
)


@pytest.mark.parametrize(("heading", "invoice", "total"), CONFIRMED)
async def test_a_payment_receipt_leaves_its_invoice_unchanged(
    heading: str, invoice: str, total: str
) -> None:
    driver = make_driver()
    bill = await driver.entity(**BILL)
    before = await driver.snapshot(bill)
    text = f"Alder\n{heading}\n{invoice}\nDate: 2024-03-12\n{total}: 40.00 EUR\n"
    await ingest_file(driver, text, "text/plain")

    assert await driver.snapshot(bill) == before
    assert await settled_types(driver) == [("receipt", "Alder Ltd")]
    assert await owed(driver) == {"EUR": "60"}


async def test_an_invoice_with_a_paid_stamp_is_paid() -> None:
    driver = make_driver()
    bill = "Alder Ltd\nInvoice\nInvoice number: INV-1\nInvoice date: 2024-03-01\nTotal: 9.00 EUR\n"
    await ingest_file(driver, f"{bill}PAID\n", "text/plain")
    assert await owed(driver) == {"EUR": "0"}
    await ingest_file(driver, bill.replace("INV-1", "INV-2"), "text/plain")
    assert await owed(driver) == {"EUR": "9"}


async def test_the_payee_is_paid_of_two_vendors_with_one_number() -> None:
    driver = make_driver()
    await driver.ingest({**PAYMENT, "invoice_reference": "1"})
    await driver.ingest({**BILL, "invoice_number": "1", "vendor_name": "Birch Ltd"})
    await driver.ingest({**BILL, "invoice_number": "1"})

    assert await settled_types(driver) == [("transaction", "Alder Ltd")]
    assert await owed(driver) == {"EUR": "100"}


async def test_a_customer_settles_the_invoice_of_its_vendor() -> None:
    driver = make_driver()
    await driver.ingest({**BILL, "vendor_name": "Lena Owner", "customer_name": "Carl GmbH"})
    await driver.ingest({**PAYMENT, "amount": 100, "merchant_name": "Carl GmbH"})

    assert await settled_types(driver) == [("transaction", "Lena Owner")]


@pytest.mark.parametrize("reference", ["RF18 5390 0754 7034", "RF18539007547034", "539007547034"])
async def test_a_creditor_reference_names_the_invoice(reference: str) -> None:
    driver = make_driver()
    await driver.ingest({**BILL, "payment_reference": "RF18 5390 0754 7034"})
    await driver.ingest(
        {**BILL, "invoice_number": "539007547034", "amount_due": 1, "vendor_name": "X"}
    )
    await driver.ingest({**PAYMENT, "invoice_reference": reference})

    assert await settled_types(driver) == [("transaction", "Alder Ltd")]


async def test_the_purpose_of_a_transfer_names_the_invoice() -> None:
    driver = make_driver()
    await driver.ingest({**BILL, "invoice_number": "RE-2024-0815"})
    transfer = {name: value for name, value in PAYMENT.items() if name != "invoice_reference"}
    await driver.ingest({**transfer, "description": "Rechnung RE-2024-0815"})
    await driver.ingest({**transfer, "date": "2024-04-10", "description": "Rent RE 50 EUR"})

    assert await settled_types(driver) == [("transaction", "Alder Ltd")]


async def test_a_corrected_reference_moves_its_edges() -> None:
    driver = make_driver()
    await driver.ingest(BILL, {**BILL, "invoice_number": "INV-78"})
    payment = await driver.entity(**PAYMENT)
    await driver.correct(payment, "invoice_reference", "INV-79")
    assert await settled_types(driver) == []
    await driver.correct(payment, "invoice_reference", "INV-78")
    assert await owed(driver) == {"EUR": "100"}
    assert await settled_types(driver) == [("transaction", "Alder Ltd")]


async def test_the_number_of_a_merged_invoice_is_settled_too() -> None:
    driver = make_driver()
    kept = await driver.entity(**BILL)
    copy = await driver.entity(**{**BILL, "invoice_number": "INV-77-B"})
    await driver.merge(copy, kept)
    await driver.ingest({**PAYMENT, "invoice_reference": "INV-77-B"})

    assert await settled_types(driver) == [("transaction", "Alder Ltd")]
    assert await owed(driver) == {"EUR": "0"}


@pytest.mark.parametrize("by", ["correction", "newer version"])
async def test_a_payment_settles_its_invoice_whatever_the_later_amount(by: str) -> None:
    driver = make_driver()
    await driver.ingest(PAYMENT)
    bill = await driver.entity(**BILL)
    for due, still in ((90, "0"), (120, "20"), (100, "0"), (170.5, "70.5")):
        if by == "correction":
            await driver.correct(bill, "amount_due", due)
        else:
            await driver.ingest({**BILL, "amount_due": due})
        assert await settled_types(driver) == [("transaction", "Alder Ltd")]
        assert await owed(driver) == {"EUR": still}


async def test_a_larger_invoice_is_settled_by_the_excess() -> None:
    for by in ("correction", "newer version"):
        driver = make_driver()
        bill = await driver.entity(**{**BILL, "amount_due": 90})
        await driver.ingest(PAYMENT)
        assert (await settled_types(driver), await owed(driver)) == ([], {"EUR": "90"})
        if by == "correction":
            await driver.correct(bill, "amount_due", 100)
        else:
            await driver.ingest(BILL)
        assert await settled_types(driver) == [("transaction", "Alder Ltd")]
        assert await owed(driver) == {"EUR": "0"}


@pytest.mark.parametrize(
    ("field", "value", "settles", "still"),
    [
        ("amount", -60, True, {"EUR": "40"}),
        ("amount", -130, True, {"EUR": "0"}),
        ("status", "pending", False, {"EUR": "100"}),
        ("kind", "refund", False, {"EUR": "100"}),
        ("currency", "USD", False, {"EUR": "100"}),
        ("merchant_name", "Birch GmbH", False, {"EUR": "100"}),
    ],
)
async def test_a_corrected_payment_is_judged_again(
    field: str, value: Any, settles: bool, still: dict[str, str]
) -> None:
    driver = make_driver()
    await driver.ingest(BILL)
    payment = await driver.entity(**{**PAYMENT, "transaction_id": "T1"})
    await driver.correct(payment, field, value)

    assert await settled_types(driver) == ([("transaction", "Alder Ltd")] if settles else [])
    assert await owed(driver) == still
    await driver.correct(payment, field, PAYMENT.get(field))
    assert await owed(driver) == {"EUR": "0"}


async def test_a_payment_covers_both_invoices_if_one_becomes_smaller() -> None:
    driver = make_driver()
    bill = await driver.entity(**BILL)
    await driver.ingest({**BILL, "invoice_number": "INV-78", "amount_due": 50})
    await driver.ingest({**PAYMENT, "invoice_reference": ["INV-77", "INV-78"], "amount": -150})
    await driver.correct(bill, "amount_due", 40)
    assert await owed(driver) == {"EUR": "0"}


@pytest.mark.parametrize("field", ["owed", "due", "outstanding"])
async def test_a_household_asks_what_it_still_owes(field: str) -> None:
    driver = make_driver()
    other = {**BILL, "vendor_name": "Birch Ltd", "invoice_number": "B-1", "amount_due": 50}
    dollars = {**BILL, "vendor_name": "Cedar Inc", "invoice_number": "C-1", "currency": "USD"}
    await driver.ingest(BILL, other, dollars)
    await driver.ingest(
        {**PAYMENT, "amount": -30}, {**PAYMENT, "amount": -20, "date": "2024-03-20"}
    )
    await driver.ingest({**PAYMENT, "date": "2024-03-21", "amount": -10, "status": "REVERTED"})
    await driver.ingest({**PAYMENT, "date": "2024-03-22", "amount": 5, "kind": "refund"})
    note = {"entity_type": "credit_note", "credit_note_number": "G-1", "vendor_name": "Alder Ltd"}
    await driver.ingest({**note, "amount": 15, "currency": "EUR", "invoice_reference": "INV-77"})
    paid = {"merchant_name": "Cedar Inc", "currency": "USD", "invoice_reference": "C-1"}
    await driver.ingest({**PAYMENT, **paid, "amount": -40})

    assert await owed(driver, field) == {"EUR": "85", "USD": "60"}
    only = [{"field": "vendor_name", "equals": "Alder Ltd"}]
    assert await owed(driver, field, filters=only) == {"EUR": "35"}


async def test_a_payment_in_bank_receipt_and_mail_counts_once() -> None:
    driver = make_driver()
    await driver.ingest(BILL, {**PAYMENT, "amount": -40})
    receipt = {"entity_type": "receipt", "receipt_number": "R-1", "merchant_name": "Alder Ltd"}
    named = {"currency": "EUR", "date_purchased": "2024-03-12", "invoice_reference": "INV-77"}
    await driver.ingest({**receipt, **named, "amount_total": 40})
    await ingest_file(driver, *FILES["a mail"][:2])
    assert await owed(driver) == {"EUR": "60"}
    await driver.ingest({**receipt, **named, "receipt_number": "R-2", "amount_total": 25})
    assert await owed(driver) == {"EUR": "35"}


async def test_a_returned_debit_is_owed_again() -> None:
    driver = make_driver()
    await driver.ingest(BILL, PAYMENT)
    assert await owed(driver) == {"EUR": "0"}
    await ingest_file(
        driver, a_line("Rücklastschrift Rechnung INV-77", amount="100.00"), "text/csv"
    )
    assert await owed(driver) == {"EUR": "100"}


async def test_a_payment_of_two_invoices_pays_both_or_neither() -> None:
    driver = make_driver()
    await driver.ingest(BILL, {**BILL, "invoice_number": "INV-78", "amount_due": 50})
    payment = {**PAYMENT, "invoice_reference": ["INV-77", "INV-78"]}
    known = await driver.entity(**{**payment, "amount": -150, "transaction_id": "T1"})
    assert await owed(driver) == {"EUR": "0"}
    await driver.correct(known, "amount", -120)
    assert await owed(driver) == {}
    assert await left_out(driver) == ["paid_amount_unknown"]


async def test_credits_without_invoice_or_amount_are_reported() -> None:
    driver = make_driver()
    await driver.ingest(BILL, {**BILL, "invoice_number": "INV-78", "status": "paid"})
    await driver.ingest({"entity_type": "credit_note", "credit_note_number": "G-1", "amount": 15})
    await ingest_file(driver, *FILES["a mail"][:2])

    assert await owed(driver) == {"EUR": "0"}
    assert sorted(await left_out(driver)) == ["no_invoice", "paid_amount_unknown"]


async def test_a_withdrawn_payment_settles_nothing() -> None:
    driver = make_driver()
    await driver.ingest(BILL)
    reply = await driver.ingest(PAYMENT)
    await driver.call("withdraw_source", user_id=driver.user, source_id=reply["source_id"])

    assert await owed(driver) == {"EUR": "100"}


async def test_total_paid_to_a_party_excludes_refunds() -> None:
    driver = make_driver()
    await ingest_file(
        driver,
        "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance\n"
        "CARD_PAYMENT,Current,2024-03-02,2024-03-02,Hotel,-80.00,0.00,EUR,COMPLETED,20.00\n"
        "CARD_PAYMENT,Current,2024-03-03,,Hotel,-80.00,0.00,EUR,REVERTED,\n"
        "CARD_REFUND,Current,2024-03-04,2024-03-04,Hotel,15.00,0.00,EUR,COMPLETED,35.00\n",
        "text/csv",
    )
    only = [{"field": "description", "equals": "Hotel"}]
    reply = await driver.call(
        "summarise_records", entity_type="transaction", field="amount", filters=only
    )

    assert [each["sum"] for each in reply["totals"]] == ["-65"]
