"""Mail: the head of a message as a record, its text, and the files that are attached."""

from datetime import UTC
from email import policy
from email.message import Message
from email.parser import BytesParser
from email.utils import getaddresses, parsedate_to_datetime
from typing import Any, Final

from canonry.adapters.parsers.findings import Findings
from canonry.adapters.parsers.markup import read_html

_ADDRESSES_MAX: Final = 1_000


def parse(kind: str, data: bytes, found: Findings) -> None:
    """Read a message."""
    del kind
    message = BytesParser(policy=policy.default).parsebytes(data)
    fields: dict[str, Any] = {
        "subject": str(message.get("subject", "")).strip(),
        "message_id": str(message.get("message-id", "")).strip(" <>"),
        "in_reply_to": str(message.get("in-reply-to", "")).strip(" <>"),
        "sent_at": _instant(str(message.get("date", ""))),
        "attachments": [
            part.get_filename() or part.get_content_type() for part in message.iter_attachments()
        ],
    }
    for role in ("from", "to", "cc"):
        values = [str(value) for value in message.get_all(role, [])]
        fields[role] = [
            {"name": name.strip(), "email": address.strip().lower()}
            for name, address in getaddresses(values)[:_ADDRESSES_MAX]
            if "@" in address
        ]
    found.record("message", {key: value for key, value in fields.items() if value})
    for part in message.iter_attachments():
        _attach(part, found)
    body = message.get_body(preferencelist=("plain", "html"))
    if body is None:
        return
    text = str(body.get_content())
    if body.get_content_subtype() == "html":
        read_html(text, found)
    else:
        found.text(text)


def _attach(part: Message, found: Findings) -> None:
    """Hand on what is attached; a message within the message as the file that it would be."""
    media = part.get_content_type()
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
        found.attach(part.get_filename() or "", named, data)


def _instant(text: str) -> str | None:
    """RFC 3339 in UTC; None where no zone is given, or it is no date."""
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
