"""Mail: each message of a file as a record with its head and its text, and the files attached."""

import re
from datetime import UTC, datetime
from email import policy
from email.message import Message, MIMEPart
from email.parser import BytesParser
from email.utils import getaddresses, parsedate_to_datetime
from typing import Any, Final

from canonry.documents.parsers.findings import Fault, Findings
from canonry.documents.parsers.markup import read_html

_ADDRESSES_MAX: Final = 1_000
_MESSAGES_MAX: Final = 10_000
_CUT: Final = re.compile(
    rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\r\n]{1,300}\r?\n(?=[!-9;-~]{1,80}:)"
)
_QUOTED: Final = re.compile(rb"(?m)^>(>*From )")
_IDS: Final = re.compile(r"<([^<>\s]{1,500})>")


def parse(kind: str, data: bytes, found: Findings) -> None:
    """Read a message, or all messages of a mailbox."""
    if kind != "mbox":
        _read(data, found)
        return
    cuts = list(_CUT.finditer(data))
    if len(cuts) > _MESSAGES_MAX:
        raise Fault("cells")
    ends = [*(each.start() for each in cuts[1:]), len(data)]
    for cut, end in zip(cuts, ends, strict=True):
        _read(_QUOTED.sub(rb"\1", data[cut.end() : end]), found)


def addresses(values: list[str]) -> list[dict[str, str]]:
    """Names and addresses of mail, in the order of the head."""
    return [
        {"name": name.strip(), "email": address.strip().lower()}
        for name, address in getaddresses(values)[:_ADDRESSES_MAX]
        if "@" in address
    ]


def instant(moment: datetime | None) -> str | None:
    """RFC 3339 in UTC; None where no zone is given."""
    if moment is None or moment.tzinfo is None:
        return None
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def threaded(own: str, reply: str, references: str) -> dict[str, str]:
    """What a message's head says of its conversation: the message answered, and the first one."""
    answered = _IDS.findall(reply)
    before = [*_IDS.findall(references), *answered]
    found = {"message_id": own.strip(" <>\t"), "in_reply_to": answered[0] if answered else ""}
    return {**found, "thread_id": before[0] if before else found["message_id"]}


def keep(head: dict[str, Any], body: str, found: Findings, *, html: bool = False) -> int:
    """Keep a message with its text; the place of its record."""
    inner = Findings(found.bounds)
    if html:
        read_html(body, inner)
    else:
        inner.text(body)
    text = "\n".join(text for _, _, text in inner.said()["parts"])
    fields = {key: value for key, value in {**head, "text": text}.items() if value}
    for name, rows in inner.said()["tables"]:
        found.table(rows, name=name)
    found.text(text)
    return found.record("message", fields)


def _read(data: bytes, found: Findings) -> None:
    message = BytesParser(policy=policy.default).parsebytes(data)
    files = list(message.iter_attachments())
    head: dict[str, Any] = {
        "subject": str(message.get("subject", "")).strip(),
        **threaded(
            *(str(message.get(name, "")) for name in ("message-id", "in-reply-to", "references"))
        ),
        "sent_at": _sent(str(message.get("date", ""))),
        "attachments": [part.get_filename() or part.get_content_type() for part in files],
    }
    for role in ("from", "to", "cc"):
        head[role] = addresses([str(value) for value in message.get_all(role, [])])
    body = message.get_body(preferencelist=("plain", "html"))
    text = "" if body is None else _text(body, found)
    html = body is not None and body.get_content_subtype() == "html"
    place = keep(head, text, found, html=html)
    for part in files:
        _attach(part, found, place)


def _text(body: MIMEPart, found: Findings) -> str:
    try:
        return str(body.get_content())
    except (LookupError, UnicodeError):
        found.note("the charset that a message names is unknown, so its text may be misread")
        payload = body.get_payload(decode=True)
        return payload.decode("utf-8", "replace") if isinstance(payload, bytes) else ""


def _attach(part: Message, found: Findings, record: int) -> None:
    """Hand on what is attached; a message within the message as the file that it would be."""
    media = part.get_content_type()
    if media.startswith("image/") and part.get("content-id") is not None:
        return  # a picture that its text shows, such as a logo
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
        found.member(part.get_filename() or "", named, data, record)


def _sent(text: str) -> str | None:
    try:
        return instant(parsedate_to_datetime(text))
    except (ValueError, OverflowError):
        return None
