"""Parsers of mail (EML, MBOX, MSG): each message becomes a record; attachments are members."""

import re
from datetime import UTC, datetime
from email import policy
from email.message import Message, MIMEPart
from email.parser import BytesParser
from email.utils import getaddresses, parsedate_to_datetime
from html import escape
from typing import Any, Final

from canonry.documents.parsers.findings import NAMES, Fault, Findings, keep_rest
from canonry.documents.parsers.markup import read_page
from canonry.values.file_texts import TextsByPath, split_words, unused_texts

_ADDRESSES_MAX: Final = 1_000  # against a header that names a whole directory
_MESSAGES_MAX: Final = 10_000  # bounds the time and memory for a mailbox
_CUT: Final = re.compile(
    rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\r\n]{1,300}\r?\n(?=[!-9;-~]{1,80}:)"
)
_QUOTED: Final = re.compile(rb"(?m)^>(>*From )")
_ROLES: Final = {1: "to", 2: "cc"}
_READ: Final = frozenset(NAMES["mail"]["read"].split())
_TRANSPORT: Final = tuple(NAMES["mail"]["transport"].split())
_IDS: Final = re.compile(r"<([^<>\s]{1,500})>")


def read_mbox(data: bytes, found: Findings) -> None:
    """Read all messages of a mailbox."""
    cuts = list(_CUT.finditer(data))
    if len(cuts) > _MESSAGES_MAX:
        raise Fault("cells")
    ends = [*(each.start() for each in cuts[1:]), len(data)]
    for cut, end in zip(cuts, ends, strict=True):
        read_eml(_QUOTED.sub(rb"\1", data[cut.end() : end]), found)


def _parse_addresses(values: list[str]) -> list[dict[str, str]]:
    """Return names and mail addresses, in the order of the head."""
    return [
        {"name": name.strip(), "email": address.strip().lower()}
        for name, address in getaddresses(values)[:_ADDRESSES_MAX]
        if "@" in address
    ]


def _format_instant(date_time: datetime | None) -> str | None:
    """Format an instant as RFC 3339 in UTC; None without a time zone."""
    if date_time is None or date_time.tzinfo is None:
        return None
    return date_time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _thread_ids(own: str, reply: str, references: str) -> dict[str, str]:
    """Return a message's id, the message that it answers, and the first of its thread."""
    answered = _IDS.findall(reply)
    before = [*_IDS.findall(references), *answered]
    found = {"message_id": own.strip(" <>\t"), "in_reply_to": answered[0] if answered else ""}
    return {**found, "thread_id": before[0] if before else found["message_id"]}


def _add_message(
    head: dict[str, Any], body: str, found: Findings, others: TextsByPath, *, html: bool = False
) -> int:
    """Add a message with its text and other values; return the index of its record."""
    inner = Findings(found.bounds)
    if html:
        read_page(body, inner)
    else:
        inner.add_text(body)
    text = "\n".join(text for _, _, text in inner.to_json()["parts"])
    for name, value in unused_texts(others, (*map(str, head.values()), text)):
        keep_rest(head, name, value)
    fields = {key: value for key, value in {**head, "text": text}.items() if value}
    for name, rows in inner.to_json()["tables"]:
        found.add_table(rows, name=name)
    found.add_text(text)
    return found.add_record("message", fields)


def read_eml(data: bytes, found: Findings) -> None:
    """Read a message."""
    message = BytesParser(policy=policy.default).parsebytes(data)
    files = list(message.iter_attachments())
    head: dict[str, Any] = {
        "subject": str(message.get("subject", "")).strip(),
        **_thread_ids(
            *(str(message.get(name, "")) for name in ("message-id", "in-reply-to", "references"))
        ),
        **_read_date(
            next((str(v).strip() for n, v in message.raw_items() if n.lower() == "date"), "")
        ),
        "attachments": [part.get_filename() or part.get_content_type() for part in files],
    }
    for role in ("from", "to", "cc", "bcc", "reply-to"):
        addresses = _parse_addresses([str(value) for value in message.get_all(role, [])])
        head[role.replace("-", "_")] = addresses
    body = message.get_body(preferencelist=("plain", "html"))
    text = "" if body is None else _read_body(body, found)
    html = body is not None and body.get_content_subtype() == "html"
    apart = {id(part) for file in files for part in file.walk()}
    for group in message.walk():
        parts = list(group.walk())
        if group.get_content_subtype() == "alternative" and body in parts:
            apart |= set(map(id, parts))  # the same text in other forms
    more = [part for part in message.walk() if part is not body and id(part) not in apart]
    for part in more:  # such as a text below an attachment
        if part.get_content_type() == "text/plain":
            part_text = _read_body(part, found)
            text = f"{text}<pre>{escape(part_text)}</pre>" if html else f"{text}\n{part_text}"
    others = [(n, str(v)) for n, v in message.items() if n.lower() not in _READ]
    kept = [each for each in others if not each[0].lower().startswith(_TRANSPORT)]
    if len(kept) < len(others):
        found.add_note("Lines about the transport of messages were not read.")
    record = _add_message(head, text, found, kept, html=html)
    for part in more:
        if part.get_content_type() == "text/html":
            _add_attachment(part, found, record, "text.html")
    for part in files:
        _add_attachment(part, found, record)


def _read_body(body: MIMEPart, found: Findings) -> str:
    try:
        return str(body.get_content())
    except (LookupError, UnicodeError):
        found.add_note("A message names an unknown charset. Its text may have errors.")
        payload = body.get_payload(decode=True)
        return payload.decode("utf-8", "replace") if isinstance(payload, bytes) else ""


def _add_attachment(part: Message, found: Findings, record: int, name: str = "") -> None:
    """Add an attachment as a member; a forwarded message becomes an EML file."""
    media = part.get_content_type()
    if media.startswith("image/") and part.get("content-id") is not None:
        found.add_note("Pictures within the text of messages, such as logos, were not read.")
        return
    if media == "message/rfc822":
        inner = part.get_payload()
        first = inner[0] if isinstance(inner, list) and inner else None
        data = first.as_bytes() if isinstance(first, Message) else b""
    else:
        payload = part.get_payload(decode=True)
        data = payload if isinstance(payload, bytes) else b""
    if data:
        charset = part.get_content_charset()
        named = f"{media}; charset={charset}" if charset and media.startswith("text/") else media
        found.add_member(name or part.get_filename() or "", named, data, record)


def _read_date(text: str) -> dict[str, Any]:
    """Read the date of a head; `-0000` is UTC at an unknown place, by RFC 5322."""
    try:
        date_time = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return {"unread": {"sent_at": [text, "the date is malformed"]}} if text else {}
    if date_time.tzinfo is None and text.endswith(("-0000", "Z")):
        date_time = date_time.replace(tzinfo=UTC)
    if (sent := _format_instant(date_time)) is None:
        return {"unread": {"sent_at": [text, "the date has no time zone"]}}
    return {"sent_at": sent}


def read_msg(data: bytes, found: Findings) -> None:
    """Read a message of Outlook."""
    from oxmsg import Message as OutlookMessage  # noqa: PLC0415 - needed for MSG only
    from oxmsg.domain import constants as pids  # noqa: PLC0415 - as above

    message = OutlookMessage.load(data)
    head: dict[str, Any] = {"subject": (message.subject or "").strip()}
    get_text = message.properties.str_prop_value
    head |= _thread_ids(
        get_text(pids.PID_INTERNET_MESSAGE_ID) or "",
        get_text(pids.PID_IN_REPLY_TO_ID) or "",
        get_text(pids.PID_INTERNET_REFERENCES) or "",
    )
    head["sent_at"] = _format_instant(message.sent_date)
    head["from"] = _parse_addresses([message.sender] if message.sender else [])
    for person in message.recipients:
        role = person.properties.int_prop_value(pids.PID_RECIPIENT_TYPE) or 1
        smtp = person.properties.str_prop_value(pids.PID_SMTP_ADDRESS)
        mail = (smtp or person.email_address or "").strip().lower()
        name = (person.name or "").strip()
        people = [{"name": "" if name.lower() == mail else name, "email": mail}]
        head.setdefault(_ROLES.get(role, "bcc"), []).extend(people if "@" in mail else [])
    files = [each for each in message.attachments if each.file_bytes]
    head["attachments"] = [each.file_name or "" for each in files]
    body = message.body or message.html_body or ""
    every = ((split_words(e.name.removeprefix("PidTag")), e.value) for e in message.properties)
    other_texts = [(n, value) for n, value in every if isinstance(value, str) and n not in _READ]
    record = _add_message(
        head, body, found, other_texts, html=not message.body and bool(message.html_body)
    )
    for each in files:
        found.add_member(each.file_name or "", each.mime_type or "", each.file_bytes or b"", record)
