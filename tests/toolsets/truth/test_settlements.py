"""Payments settle the invoices that they name, and sums of what is still owed follow them."""

import base64
from typing import Any

import pytest

from tests.toolsets.truth.kit import Desk, a_desk

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


async def bring(desk: Desk, text: str, media: str) -> None:
    desk.wait()
    content = base64.b64encode(text.encode()).decode()
    await desk.call("ingest", user_id=desk.user, file_content=content, mime_type=media)


def a_line(purpose: str = "Invoice INV-77", **said: str) -> str:
    usual = {"amount": "-100.00", "currency": "EUR", "party": "Alder"}
    return LINES.format(purpose=purpose, **{**usual, **said})


async def settled(desk: Desk) -> list[tuple[str, str]]:
    """The types of what settles an invoice, and the vendors of the invoices."""
    found = []
    for entity in (await desk.call("retrieve_entities"))["entities"]:
        edges = await desk.call(
            "list_relationships",
            entity_id=entity["id"],
            direction="outbound",
            relationship_type="SETTLES",
        )
        for each in edges["relationships"]:
            invoice = await desk.snapshot(each["target_entity_id"])
            found.append((entity["entity_type"], invoice["vendor_name"]))
    return sorted(found)


async def owed(desk: Desk, field: str = "owed", **more: Any) -> dict[str | None, str]:
    reply = await desk.call("summarise_records", entity_type="invoice", field=field, **more)
    assert reply["field"] == "owed"
    return {each["group"]["currency"]: each["sum"] for each in reply["totals"]}


async def left_out(desk: Desk) -> list[str]:
    reply = await desk.call("summarise_records", entity_type="invoice", field="owed")
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
async def test_a_payment_settles_the_invoice_that_it_names(name: str, first: str) -> None:
    desk = a_desk()
    text, media, entity_type = FILES[name]
    if first == "invoice":
        await desk.ingest(BILL)
    await bring(desk, text, media)
    if first == "payment":
        assert (await desk.call("retrieve_entities", entity_type="invoice"))["total"] == 0
        await desk.ingest(BILL)

    assert await settled(desk) == [(entity_type, "Alder Ltd")]
    assert (await desk.call("retrieve_entities", entity_type="invoice"))["total"] == 1


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
async def test_what_only_refers_or_contradicts_settles_nothing(
    text: str, media: str, first: str
) -> None:
    desk = a_desk()
    for each in ("invoice", "other") if first == "invoice" else ("other", "invoice"):
        if each == "invoice":
            await desk.ingest(BILL)
        else:
            await bring(desk, text, media or "text/plain")

    assert await settled(desk) == []
    assert await owed(desk) == {"EUR": "100"}


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
async def test_the_receipt_of_a_payment_leaves_its_invoice_as_it_is(
    heading: str, invoice: str, total: str
) -> None:
    desk = a_desk()
    bill = await desk.entity(**BILL)
    before = await desk.snapshot(bill)
    text = f"Alder\n{heading}\n{invoice}\nDate: 2024-03-12\n{total}: 40.00 EUR\n"
    await bring(desk, text, "text/plain")

    assert await desk.snapshot(bill) == before
    assert await settled(desk) == [("receipt", "Alder Ltd")]
    assert await owed(desk) == {"EUR": "60"}


async def test_an_invoice_with_a_stamp_is_paid() -> None:
    desk = a_desk()
    bill = "Alder Ltd\nInvoice\nInvoice number: INV-1\nInvoice date: 2024-03-01\nTotal: 9.00 EUR\n"
    await bring(desk, f"{bill}PAID\n", "text/plain")
    assert await owed(desk) == {"EUR": "0"}
    await bring(desk, bill.replace("INV-1", "INV-2"), "text/plain")
    assert await owed(desk) == {"EUR": "9"}


async def test_of_two_vendors_with_one_number_the_payee_is_paid() -> None:
    desk = a_desk()
    await desk.ingest({**PAYMENT, "invoice_reference": "1"})
    await desk.ingest({**BILL, "invoice_number": "1", "vendor_name": "Birch Ltd"})
    await desk.ingest({**BILL, "invoice_number": "1"})

    assert await settled(desk) == [("transaction", "Alder Ltd")]
    assert await owed(desk) == {"EUR": "100"}


async def test_a_customer_settles_the_invoice_of_its_vendor() -> None:
    desk = a_desk()
    await desk.ingest({**BILL, "vendor_name": "Lena Owner", "customer_name": "Carl GmbH"})
    await desk.ingest({**PAYMENT, "amount": 100, "merchant_name": "Carl GmbH"})

    assert await settled(desk) == [("transaction", "Lena Owner")]


@pytest.mark.parametrize("reference", ["RF18 5390 0754 7034", "RF18539007547034", "539007547034"])
async def test_a_creditor_reference_names_the_invoice(reference: str) -> None:
    desk = a_desk()
    await desk.ingest({**BILL, "payment_reference": "RF18 5390 0754 7034"})
    await desk.ingest(
        {**BILL, "invoice_number": "539007547034", "amount_due": 1, "vendor_name": "X"}
    )
    await desk.ingest({**PAYMENT, "invoice_reference": reference})

    assert await settled(desk) == [("transaction", "Alder Ltd")]


async def test_the_purpose_of_a_recorded_transfer_names_the_invoice() -> None:
    desk = a_desk()
    await desk.ingest({**BILL, "invoice_number": "RE-2024-0815"})
    transfer = {name: value for name, value in PAYMENT.items() if name != "invoice_reference"}
    await desk.ingest({**transfer, "description": "Rechnung RE-2024-0815"})
    await desk.ingest({**transfer, "date": "2024-04-10", "description": "Rent RE 50 EUR"})

    assert await settled(desk) == [("transaction", "Alder Ltd")]


async def test_a_corrected_reference_takes_its_edges_along() -> None:
    desk = a_desk()
    await desk.ingest(BILL, {**BILL, "invoice_number": "INV-78"})
    payment = await desk.entity(**PAYMENT)
    await desk.correct(payment, "invoice_reference", "INV-79")
    assert await settled(desk) == []
    await desk.correct(payment, "invoice_reference", "INV-78")
    assert await owed(desk) == {"EUR": "100"}
    assert await settled(desk) == [("transaction", "Alder Ltd")]


async def test_a_number_of_an_invoice_that_was_merged_is_settled_too() -> None:
    desk = a_desk()
    kept = await desk.entity(**BILL)
    copy = await desk.entity(**{**BILL, "invoice_number": "INV-77-B"})
    await desk.merge(copy, kept)
    await desk.ingest({**PAYMENT, "invoice_reference": "INV-77-B"})

    assert await settled(desk) == [("transaction", "Alder Ltd")]
    assert await owed(desk) == {"EUR": "0"}


@pytest.mark.parametrize("by", ["correction", "newer version"])
async def test_a_payment_settles_its_invoice_whatever_its_amount_turns_out_to_be(by: str) -> None:
    desk = a_desk()
    await desk.ingest(PAYMENT)
    bill = await desk.entity(**BILL)
    for due, still in ((90, "0"), (120, "20"), (100, "0"), (170.5, "70.5")):
        if by == "correction":
            await desk.correct(bill, "amount_due", due)
        else:
            await desk.ingest({**BILL, "amount_due": due})
        assert await settled(desk) == [("transaction", "Alder Ltd")]
        assert await owed(desk) == {"EUR": still}


async def test_an_invoice_that_turns_out_to_be_larger_is_settled_by_what_exceeded_it() -> None:
    for by in ("correction", "newer version"):
        desk = a_desk()
        bill = await desk.entity(**{**BILL, "amount_due": 90})
        await desk.ingest(PAYMENT)
        assert (await settled(desk), await owed(desk)) == ([], {"EUR": "90"})
        if by == "correction":
            await desk.correct(bill, "amount_due", 100)
        else:
            await desk.ingest(BILL)
        assert await settled(desk) == [("transaction", "Alder Ltd")]
        assert await owed(desk) == {"EUR": "0"}


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
    desk = a_desk()
    await desk.ingest(BILL)
    payment = await desk.entity(**{**PAYMENT, "transaction_id": "T1"})
    await desk.correct(payment, field, value)

    assert await settled(desk) == ([("transaction", "Alder Ltd")] if settles else [])
    assert await owed(desk) == still
    await desk.correct(payment, field, PAYMENT.get(field))
    assert await owed(desk) == {"EUR": "0"}


async def test_a_payment_of_two_invoices_covers_both_if_one_turns_out_to_be_smaller() -> None:
    desk = a_desk()
    bill = await desk.entity(**BILL)
    await desk.ingest({**BILL, "invoice_number": "INV-78", "amount_due": 50})
    await desk.ingest({**PAYMENT, "invoice_reference": ["INV-77", "INV-78"], "amount": -150})
    await desk.correct(bill, "amount_due", 40)
    assert await owed(desk) == {"EUR": "0"}


@pytest.mark.parametrize("field", ["owed", "due", "outstanding"])
async def test_a_household_asks_what_it_still_owes(field: str) -> None:
    desk = a_desk()
    other = {**BILL, "vendor_name": "Birch Ltd", "invoice_number": "B-1", "amount_due": 50}
    dollars = {**BILL, "vendor_name": "Cedar Inc", "invoice_number": "C-1", "currency": "USD"}
    await desk.ingest(BILL, other, dollars)
    await desk.ingest({**PAYMENT, "amount": -30}, {**PAYMENT, "amount": -20, "date": "2024-03-20"})
    await desk.ingest({**PAYMENT, "date": "2024-03-21", "amount": -10, "status": "REVERTED"})
    await desk.ingest({**PAYMENT, "date": "2024-03-22", "amount": 5, "kind": "refund"})
    note = {"entity_type": "credit_note", "credit_note_number": "G-1", "vendor_name": "Alder Ltd"}
    await desk.ingest({**note, "amount": 15, "currency": "EUR", "invoice_reference": "INV-77"})
    paid = {"merchant_name": "Cedar Inc", "currency": "USD", "invoice_reference": "C-1"}
    await desk.ingest({**PAYMENT, **paid, "amount": -40})

    assert await owed(desk, field) == {"EUR": "85", "USD": "60"}
    only = [{"field": "vendor_name", "equals": "Alder Ltd"}]
    assert await owed(desk, field, filters=only) == {"EUR": "35"}


async def test_a_payment_that_bank_receipt_and_mail_tell_counts_once() -> None:
    desk = a_desk()
    await desk.ingest(BILL, {**PAYMENT, "amount": -40})
    receipt = {"entity_type": "receipt", "receipt_number": "R-1", "merchant_name": "Alder Ltd"}
    named = {"currency": "EUR", "date_purchased": "2024-03-12", "invoice_reference": "INV-77"}
    await desk.ingest({**receipt, **named, "amount_total": 40})
    await bring(desk, *FILES["a mail"][:2])
    assert await owed(desk) == {"EUR": "60"}
    await desk.ingest({**receipt, **named, "receipt_number": "R-2", "amount_total": 25})
    assert await owed(desk) == {"EUR": "35"}


async def test_money_of_a_returned_debit_is_owed_again() -> None:
    desk = a_desk()
    await desk.ingest(BILL, PAYMENT)
    assert await owed(desk) == {"EUR": "0"}
    await bring(desk, a_line("Rücklastschrift Rechnung INV-77", amount="100.00"), "text/csv")
    assert await owed(desk) == {"EUR": "100"}


async def test_one_payment_of_two_invoices_pays_both_or_neither_surely() -> None:
    desk = a_desk()
    await desk.ingest(BILL, {**BILL, "invoice_number": "INV-78", "amount_due": 50})
    payment = {**PAYMENT, "invoice_reference": ["INV-77", "INV-78"]}
    known = await desk.entity(**{**payment, "amount": -150, "transaction_id": "T1"})
    assert await owed(desk) == {"EUR": "0"}
    await desk.correct(known, "amount", -120)
    assert await owed(desk) == {}
    assert await left_out(desk) == ["paid_amount_unknown"]


async def test_what_lowers_no_known_invoice_and_what_has_no_amount_is_reported() -> None:
    desk = a_desk()
    await desk.ingest(BILL, {**BILL, "invoice_number": "INV-78", "status": "paid"})
    await desk.ingest({"entity_type": "credit_note", "credit_note_number": "G-1", "amount": 15})
    await bring(desk, *FILES["a mail"][:2])

    assert await owed(desk) == {"EUR": "0"}
    assert sorted(await left_out(desk)) == ["no_invoice", "paid_amount_unknown"]


async def test_a_withdrawn_payment_settles_nothing() -> None:
    desk = a_desk()
    await desk.ingest(BILL)
    reply = await desk.ingest(PAYMENT)
    await desk.call("withdraw_source", user_id=desk.user, source_id=reply["source_id"])

    assert await owed(desk) == {"EUR": "100"}


async def test_how_much_was_paid_to_somebody_is_what_was_booked_without_refunds() -> None:
    desk = a_desk()
    await bring(
        desk,
        "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance\n"
        "CARD_PAYMENT,Current,2024-03-02,2024-03-02,Hotel,-80.00,0.00,EUR,COMPLETED,20.00\n"
        "CARD_PAYMENT,Current,2024-03-03,,Hotel,-80.00,0.00,EUR,REVERTED,\n"
        "CARD_REFUND,Current,2024-03-04,2024-03-04,Hotel,15.00,0.00,EUR,COMPLETED,35.00\n",
        "text/csv",
    )
    only = [{"field": "description", "equals": "Hotel"}]
    reply = await desk.call(
        "summarise_records", entity_type="transaction", field="amount", filters=only
    )

    assert [each["sum"] for each in reply["totals"]] == ["-65"]
