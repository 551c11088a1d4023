"""Outlook: a message saved as MSG, read as any other message."""

from typing import Any, Final

from oxmsg import Message
from oxmsg.domain import constants as pids

from canonry.documents.parsers.findings import Findings
from canonry.documents.parsers.mail import addresses, instant, keep, threaded

_ROLES: Final = {1: "to", 2: "cc"}


def parse(kind: str, data: bytes, found: Findings) -> None:
    """Read a message."""
    del kind
    message = Message.load(data)
    head: dict[str, Any] = {"subject": (message.subject or "").strip()}
    said = message.properties.str_prop_value
    head |= threaded(
        *(
            said(pid) or ""
            for pid in (
                pids.PID_INTERNET_MESSAGE_ID,
                pids.PID_IN_REPLY_TO_ID,
                pids.PID_INTERNET_REFERENCES,
            )
        )
    )
    head["sent_at"] = instant(message.sent_date)
    head["from"] = addresses([message.sender] if message.sender else [])
    for person in message.recipients:
        role = person.properties.int_prop_value(pids.PID_RECIPIENT_TYPE) or 1
        head.setdefault(_ROLES.get(role, "bcc"), []).extend(_people(person))
    files = [each for each in message.attachments if each.file_bytes]
    head["attachments"] = [each.file_name or "" for each in files]
    if not message.body and message.html_body:
        place = keep(head, message.html_body, found, html=True)
    else:
        place = keep(head, message.body or "", found)
    for each in files:
        found.member(each.file_name or "", each.mime_type or "", each.file_bytes or b"", place)


def _people(recipient: Any) -> list[dict[str, str]]:
    smtp = recipient.properties.str_prop_value(pids.PID_SMTP_ADDRESS)
    mail = (smtp or recipient.email_address or "").strip().lower()
    name = (recipient.name or "").strip()
    return [{"name": "" if name.lower() == mail else name, "email": mail}] if "@" in mail else []
