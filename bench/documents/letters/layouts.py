"""Layouts: how documents of each kind look, for the phrases of any language, with their truth."""

import random
import tomllib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from bench.documents.case import Case
from bench.documents.letters.hand import Hand

_BOOKS: Final = Path(__file__).with_name("books")
Truth = list[dict[str, Any]]
Document = tuple[str, bytes, Truth]
"""The end of a file's name, its content, and what is true in it."""


def laid_out() -> Iterator[Case]:
    """One document of each layout in each language."""
    for path in sorted(_BOOKS.glob("*.toml")):
        book = tomllib.loads(path.read_text(encoding="utf-8"))
        for name, layout in _LAYOUTS.items():
            called = f"{path.stem}-{name}"
            hand = Hand(code=path.stem, book=book, chance=random.Random(called))  # noqa: S311
            ending, data, truth = layout(hand)
            yield Case(
                group=name.partition("-")[0],
                name=called,
                file_name=f"{called}.{ending}",
                data=data,
                truth=truth,
                kept=False,
            )


def _mail(hand: Hand) -> Document:
    sender, receiver = hand.people(2)
    subject, day = hand.one("mail", "subjects"), hand.day()
    message = EmailMessage()
    message["From"] = f"{sender} <{_address(sender)}>"
    message["To"] = f"{receiver} <{_address(receiver)}>"
    message["Subject"] = subject
    message["Date"] = f"{day:%d %b %Y} 09:15:00 +0000"
    message["Message-ID"] = f"<{hand.chance.randrange(10**9)}@post.example>"
    body = (hand.said("mail", "greeting"), hand.said("mail", "body"), hand.said("mail", "closing"))
    message.set_content("\n\n".join((*body, sender)))
    truth: Truth = [
        {"entity_type": "message", "title": subject, "sent_at": f"{day.isoformat()}T09:15:00Z"},
        {"entity_type": "contact", "name": sender, "email": _address(sender)},
        {"entity_type": "contact", "name": receiver, "email": _address(receiver)},
    ]
    return "eml", message.as_bytes(), truth


def _address(name: str) -> str:
    plain = name.lower().encode("ascii", "ignore").decode().split()
    return f"{plain[0]}.{plain[-1]}@post.example"


def _minutes(hand: Hand) -> Document:
    title, day, again = hand.one("minutes", "titles"), hand.day(), hand.day()
    people, due = hand.people(3), day + timedelta(days=12)
    first, second = hand.book["minutes"]["tasks"]
    listed = "\n".join(f"- {name}" for name in people)
    who = f"{hand.one('minutes', 'attendees')}:\n{listed}"
    if hand.chance.random() < 0.5:
        who = f"{hand.one('minutes', 'attendees')}: {', '.join(people)}"
    by = f"{hand.one('minutes', 'by')} {hand.any(due)}"
    tasks = f"- {people[0]}: {first} ({by})\n- {people[1]}: {second}"
    topics = "\n".join(f"{n}. {each}" for n, each in enumerate(hand.book["minutes"]["topics"], 1))
    text = "\n\n".join(
        (
            f"# {title}" if hand.chance.random() < 0.5 else title,
            f"{hand.one('minutes', 'date')}: {hand.any(day)}\n{who}",
            f"{hand.one('minutes', 'agenda')}:\n{topics}",
            f"{hand.one('minutes', 'decisions')}:\n- {hand.said('minutes', 'decision')}",
            f"{hand.one('minutes', 'actions')}:\n{tasks}",
            f"{hand.one('minutes', 'next')}: {hand.any(again)}",
        )
    )
    truth: Truth = [
        {"entity_type": "note", "title": title, "created_date": day.isoformat()},
        *({"entity_type": "person", "name": name} for name in people),
        {
            "entity_type": "task",
            "title": first,
            "assignee": people[0],
            "due_date": due.isoformat(),
        },
        {"entity_type": "task", "title": second, "assignee": people[1], "due_date": None},
        {"entity_type": "event", "start_date": again.isoformat()},
    ]
    return "txt", text.encode(), truth


def _service(hand: Hand) -> Document:
    title, number = hand.one("contract", "titles"), hand.number()
    parties = [hand.company(), hand.people(1)[0]]
    start = hand.day()
    end, signed = start + timedelta(days=365), start - timedelta(days=9)
    written, amount = hand.amount()
    text = "\n".join(
        (
            title,
            "",
            f"{hand.one('contract', 'number')}: {number}",
            f"{hand.one('contract', 'parties')}: {parties[0]}; {parties[1]}",
            f"{hand.one('contract', 'effective')}: {hand.any(start)}",
            f"{hand.one('contract', 'expiration')}: {hand.any(end)}",
            f"{hand.one('contract', 'fee')}: {written}",
            "",
            hand.said("contract", "clause"),
            "",
            f"{hand.one('contract', 'signed')}: {hand.any(signed)}",
        )
    )
    truth: Truth = [
        {
            "entity_type": "contract",
            "name": title,
            "contract_number": number,
            "parties": parties,
            "effective_date": start.isoformat(),
            "expiration_date": end.isoformat(),
            "signed_date": signed.isoformat(),
            "amount": amount,
        }
    ]
    return "txt", text.encode(), truth


def _employment(hand: Hand) -> Document:
    title, company, person = hand.said("contract", "employment"), hand.company(), hand.people(1)[0]
    start = hand.day()
    between = hand.said("contract", "between").format(a=company, b=person)
    text = "\n\n".join(
        (
            title.upper() if hand.chance.random() < 0.3 else title,
            between,
            f"{hand.one('contract', 'effective')}: {hand.any(start)}",
            hand.said("contract", "clause"),
        )
    )
    truth: Truth = [
        {
            "entity_type": "contract",
            "name": title,
            "parties": [company, person],
            "effective_date": start.isoformat(),
        }
    ]
    return "txt", text.encode(), truth


def _lease(hand: Hand) -> Document:
    title, number = hand.said("lease", "title"), hand.number()
    landlord, tenant = hand.company(), hand.people(1)[0]
    start = hand.day()
    written, rent = hand.amount()
    rows = (
        (hand.one("lease", "landlord"), landlord),
        (hand.one("lease", "tenant"), tenant),
        (hand.one("lease", "property"), f"{hand.book['street']}, {hand.book['city']}"),
        (hand.one("lease", "start"), hand.any(start)),
        (hand.one("lease", "rent"), written),
    )
    lines = "\n".join(f"{label}: {value}" for label, value in rows)
    head = f"{title}\n{hand.one('contract', 'number')}: {number}"
    text = f"{head}\n\n{lines}\n\n{hand.said('lease', 'clause')}\n"
    truth: Truth = [
        {
            "entity_type": "contract",
            "name": title,
            "contract_number": number,
            "parties": [landlord, tenant],
            "effective_date": start.isoformat(),
            "amount": rent,
            "currency": hand.book["currency"],
        }
    ]
    return "txt", text.encode(), truth


def _agency(hand: Hand) -> Document:
    subject, day, name = hand.one("office", "subjects"), hand.day(), hand.people(1)[0]
    place = f"{hand.book['agency']}\n{hand.book['street']}\n{hand.book['city']}"
    dated = f"{hand.one('office', 'date')}: {hand.any(day)}"
    if hand.chance.random() < 0.4:
        dated = f"{hand.book['city']}, {hand.long(day)}"
    about = f"{hand.one('office', 'subject')}: {subject}"
    text = "\n".join(
        (
            place,
            "",
            name,
            "",
            f"{hand.one('office', 'reference')}: {hand.number()}",
            dated,
            "",
            about,
            "",
            hand.said("office", "body").format(name=name.split()[-1]),
            "",
            hand.said("office", "closing"),
        )
    )
    truth: Truth = [
        {"entity_type": "note", "title": subject, "created_date": day.isoformat()},
    ]
    return "txt", text.encode(), truth


def _ticket(hand: Hand) -> Document:
    day, number = hand.day(), hand.number()
    start, end = hand.book["ticket"]["places"]
    person = hand.people(1)[0]
    text = "\n".join(
        (
            hand.one("ticket", "titles"),
            "",
            f"{hand.one('ticket', 'booking')}: {number}",
            f"{hand.one('ticket', 'passenger')}: {person}",
            f"{hand.one('ticket', 'from')}: {start}",
            f"{hand.one('ticket', 'to')}: {end}",
            f"{hand.one('ticket', 'date')}: {hand.any(day)}",
        )
    )
    truth: Truth = [
        {
            "entity_type": "event",
            "start_date": day.isoformat(),
            "booking_reference": number,
        }
    ]
    return "txt", text.encode(), truth


def _appointment(hand: Hand) -> Document:
    day, person = hand.day(), hand.people(1)[0]
    title = hand.one("appointment", "titles")
    subject, place = hand.said("appointment", "subject"), hand.said("appointment", "place")
    text = "\n".join(
        (
            title,
            "",
            f"{hand.one('office', 'subject')}: {subject}",
            f"{hand.one('appointment', 'when')}: {hand.long(day)}, 10:30",
            f"{hand.one('appointment', 'where')}: {place}",
            "",
            hand.said("office", "closing"),
            person,
        )
    )
    truth: Truth = [
        {
            "entity_type": "event",
            "title": subject,
            "start_date": day.isoformat(),
            "location": place,
        }
    ]
    return "txt", text.encode(), truth


def _utility(hand: Hand) -> Document:
    number, start, person = hand.number(), hand.day(), hand.people(1)[0]
    company, title = str(hand.book["companies"][2]), hand.said("utility", "title")
    text = "\n".join(
        (
            company,
            hand.book["street"],
            "",
            person,
            "",
            title,
            "",
            f"{hand.one('utility', 'customer_number')}: {hand.chance.randrange(10**6, 10**7)}",
            f"{hand.one('utility', 'contract_number')}: {number}",
            f"{hand.one('utility', 'start')}: {hand.any(start)}",
            "",
            hand.said("utility", "body"),
        )
    )
    truth: Truth = [
        {
            "entity_type": "contract",
            "contract_number": number,
            "effective_date": start.isoformat(),
        }
    ]
    return "txt", text.encode(), truth


def _note(hand: Hand) -> Document:
    title = hand.one("note", "titles")
    lines = list(hand.book["note"]["lines"])
    hand.chance.shuffle(lines)
    text = "\n".join((title, "", *(f"- {line}" for line in lines)))
    truth: Truth = [{"entity_type": "note", "title": title, "created_date": None}]
    return "txt", text.encode(), truth


def _calendar(hand: Hand) -> Document:
    day, subject = hand.day(), hand.said("appointment", "subject")
    zone = hand.chance.choice(("W. Europe Standard Time", "Romance Standard Time"))
    lines = (
        "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//x\nBEGIN:VEVENT\nUID:1",
        f"SUMMARY:{subject}\nDTSTART;TZID={zone}:{day:%Y%m%d}T103000",
        f"LOCATION:{hand.said('appointment', 'place').replace(',', chr(92) + ',')}",
        "END:VEVENT\nEND:VCALENDAR\n",
    )
    truth: Truth = [
        {
            "entity_type": "event",
            "title": subject,
            "location": hand.said("appointment", "place"),
            "start_date": _utc(day),
        }
    ]
    return "ics", "\n".join(lines).encode(), truth


def _utc(day: date) -> str:
    """Half past ten in the middle of Europe."""
    moment = datetime(day.year, day.month, day.day, 10, 30, tzinfo=ZoneInfo("Europe/Paris"))
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


_LAYOUTS: Final[Mapping[str, Callable[[Hand], Document]]] = {
    "mail": _mail,
    "minutes": _minutes,
    "contract-service": _service,
    "contract-employment": _employment,
    "contract-lease": _lease,
    "contract-utility": _utility,
    "letter-agency": _agency,
    "event-ticket": _ticket,
    "event-appointment": _appointment,
    "event-calendar": _calendar,
    "note": _note,
}
