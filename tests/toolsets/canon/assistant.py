"""A personal assistant: documents and records come in, disagree, and are put right."""

from tests.toolsets.canon.playing import Session

TITLE = "Keep your own records: a personal assistant"
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


async def play(s: Session) -> None:
    s.say("A person's own documents and records need no space to be opened: they have 'account'.")
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
    s.say("From now on the account is the only space that holds anything, so it is meant.")
    await s.done("find", text="who is at acme?")
    await s.done("get", of="INV-2041")
    await s.done("get", of="ann.lee@acme.example")
    s.say("The same invoice again changes nothing; another source says another total.")
    await s.done("tell", title="invoice.txt", text=INVOICE)
    await s.done(
        "tell", records=[{"type": "invoice", "invoice_number": "INV-2041", "amount_due": 450.0}]
    )
    await s.done("why", of="INV-2041", limit=3)
    s.say("The user looks at the paper and says what is right. That stands, whatever sources say.")
    await s.done(
        "propose",
        claims=[{"kind": "correction", "of": "INV-2041", "field": "amount_due", "value": 470.0}],
    )
    await s.done("why", of="INV-2041", field="amount_due")
    s.say("A relation between records, and a claim that has no place among them.")
    await s.done(
        "propose",
        claims=[
            {"kind": "relation", "from": "Pay INV-2041", "type": "SETTLES", "to": "INV-2041"},
        ],
    )
    await s.call("propose", claims=[{"kind": "fact", "says": "Ann likes tea"}])
    s.say("Two records of one person are told apart until somebody says that they are one.")
    await s.done("tell", records=[{"type": "person", "name": "Ann Lee", "phone": "+49 30 1234567"}])
    await s.call("get", of="Ann Lee")
    pairs = await s.done("review", what="duplicates")
    pair = pairs["duplicates"][0]
    await s.done(
        "decide", verdict="merge", of=[pair["id"], pair["and"]], reason="The user says so."
    )
    await s.done("get", of="Ann Lee", full=True)
    s.say("What the dates say, what was kept of late, and a brief.")
    await s.done("timeline")
    await s.done("changes", limit=3)
    await s.done("context", question="What do I owe Acme?", tokens=250)
