"""A personal assistant: documents and records come in, disagree, and are put right."""

from tests.toolsets.canon.playing import Session

INVOICE = """Invoice
Invoice number: INV-2041
Vendor: Acme Tools Ltd
Date: 2026-01-12
Due date: 2026-02-11
Total: 480.00 EUR
"""
MAIL = """From: Ann Lee <ann.lee@acme.example>
To: me@home.example
Subject: Our meeting
Date: Mon, 12 Jan 2026 09:00:00 +0000

My new number is +49 30 1234567.
"""


async def play_day(s: Session) -> None:
    # A person's own documents and records belong to the space 'account', which always exists.
    await s.done("spaces")
    await s.done("tell", title="invoice.txt", text=INVOICE)
    await s.done("tell", title="mail.eml", text=MAIL, mime_type="message/rfc822")
    await s.done(
        "tell",
        records=[
            {
                "type": "contact",
                "name": "Ann Lee",
                "email": "ann.lee@acme.example",
                "city": "Berlin",
            },
            {"type": "company", "name": "Acme Tools Ltd", "website": "https://acme.example"},
            {"type": "task", "title": "Pay INV-2041", "due_date": "2026-02-11"},
        ],
    )
    # Only the account holds anything, so calls that name no space use it.
    await s.done("find", text="who is at acme?")
    await s.done("get", of="INV-2041")
    await s.done("get", of="ann.lee@acme.example")
    # The same invoice again changes nothing; another source gives another total.
    await s.done("tell", title="invoice.txt", text=INVOICE)
    await s.done(
        "tell", records=[{"type": "invoice", "invoice_number": "INV-2041", "amount_due": 450.0}]
    )
    await s.done("why", of="INV-2041", limit=3)
    # The user corrects the total. The correction outranks all sources.
    await s.done(
        "propose",
        claims=[{"kind": "correction", "of": "INV-2041", "field": "amount_due", "value": 470.0}],
    )
    await s.done("why", of="INV-2041", field="amount_due")
    # The account takes a relation between records and a plain fact.
    await s.done(
        "propose",
        claims=[
            {"kind": "relation", "from": "Pay INV-2041", "type": "SETTLES", "to": "INV-2041"},
        ],
    )
    await s.done("propose", claims=[{"kind": "fact", "says": "Ann likes tea"}])
    # Two records of one person stay apart until somebody merges them.
    await s.done("tell", records=[{"type": "person", "name": "Ann Lee", "phone": "+49 30 1234567"}])
    await s.call("get", of="Ann Lee")
    pairs = await s.done("review", what="duplicates")
    pair = pairs["duplicates"][0]
    await s.done(
        "decide", verdict="merge", of=[pair["id"], pair["and"]], reason="The user says so."
    )
    await s.done("get", of="Ann Lee", full=True)
    # Read the dates, the latest changes and a brief.
    await s.done("timeline")
    await s.done("changes", limit=3)
    await s.done("context", question="What do I owe Acme?", tokens=250)
