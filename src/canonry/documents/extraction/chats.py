"""Chats from exports of ChatGPT, Claude, Slack, Telegram and WhatsApp.

Each conversation is an entity by its own id, and each message is one with its author and time. A
message names its conversation.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Final

from canonry.canon.ports.files import Record
from canonry.documents.extraction.writings import shortened
from canonry.records.domain.interpretations import RECORDS_MAX, Found
from canonry.values.calendar_dates import DayOrder, day_in, order_in

_SILENT: Final = frozenset({"content_type", "asset_pointer", "type", "model_slug", "language"})
"""Members of a message's content that are no text of its author."""

_FILES: Final = ("extracted_content", "file_name")
_TS: Final = re.compile(r"\d{9,10}\.\d{1,6}")
_LINE: Final = re.compile(
    r"(?!\[\d{4}-[^,]*\])\u200e?"
    r"\[?(\d{1,4}[./-]\d{1,2}[./-]\d{2,4}),? (\d{1,2}[:.]\d{2}(?:[:.]\d{2})?)"
    r"(?:[ \u202f]?([AaPp])\.?[Mm]\.?)?(?:\]| -) (?:([^:\n]{1,60}): )?(.*)"
)
"""A line with a time in brackets or before a dash, which logs and plans do not have."""

_LINES_MIN: Final = 2
_NOON: Final = 12
_CLOCK: Final = re.compile("[:.]")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message:
    """A message; `at` is its time as given."""

    id: str
    author: str
    text: str
    at: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class _Conversation:
    """A conversation with its messages in order."""

    id: str
    title: str
    messages: Sequence[_Message]
    participants: Sequence[str] = ()
    began: Any = None
    changed: Any = None


def of_chats(records: Sequence[Record], name: str, notes: list[str]) -> Iterator[Found]:
    """Yield the conversations and messages in records; nothing if they are no export of chats.

    Notes tell how many messages have no text, and how much of the file is no chat.
    """
    found = [list(_chats(record.fields)) for record in records]
    chats = list(chain.from_iterable(found))
    whole = [record.fields for record in records if "chats" in record.fields]
    others = [n for each in whole for n in each if n != "chats" and isinstance(each[n], Mapping)]
    if chats and (beside := sum(not each for each in found) + len(others)):
        notes.append(f"{beside} objects of the file that are no conversations were left out.")
    if silent := sum(not said.text.strip() for chat in chats for said in chat.messages):
        notes.append(f"{silent} messages without text, such as pictures, were left out.")
    if not chats and records and all(_is_slack(record.fields) for record in records):
        said = [_slack(record.fields) for record in records]
        chats = [_Conversation(id=name, title=name.rpartition(".")[0] or name, messages=said)]
    yield from _found(chats)


def of_lines(text: str, name: str) -> Iterator[Found]:
    """Yield the conversation in a text of WhatsApp; nothing if it is none."""
    lines = text.replace("\u200e", "").split("\n")
    heads = [_LINE.fullmatch(line) for line in lines]
    first = next((place for place, head in enumerate(heads) if head), None)
    said_by = sum(1 for head in heads if head and head[4])
    if first is None or first > _LINES_MIN or said_by < _LINES_MIN:
        return
    order = order_in("\n".join(head[1] for head in heads if head))
    messages: list[_Message] = []
    for line, head in zip(lines, heads, strict=True):
        if head is not None:
            at = _local(head[1], head[2], head[3] or "", order)
            messages.append(_Message(id="", author=head[4] or "", text=head[5], at=at))
        elif messages:
            last = messages[-1]
            messages[-1] = replace(last, text=f"{last.text}\n{line}")
    title = name.rpartition(".")[0] or name or "Chat"
    yield from _found([_Conversation(id=title, title=title, messages=messages)])


def _found(chats: Sequence[_Conversation]) -> Iterator[Found]:
    """Yield the conversations, then their messages, which refer to them if there are not many."""
    few = sum(len(chat.messages) + 1 for chat in chats) <= RECORDS_MAX
    for chat in chats:
        authors = (said.author for said in chat.messages if said.author)
        fields = {
            "conversation_id": chat.id,
            "title": chat.title,
            "created_date": _instant(chat.began),
            "updated_date": _instant(chat.changed),
            "participants": list(dict.fromkeys((*chat.participants, *authors))),
        }
        yield _entity("conversation", fields, _instant(chat.changed))
    for place, chat in enumerate(chats):
        seen: Counter[str] = Counter()
        for said in chat.messages:
            if not said.text.strip():
                continue
            sent, spoken = _instant(said.at), f"{said.at} {said.author}"
            seen[spoken] += 1  # several in a minute keep their numbers in any export of the chat
            fields = {
                "message_id": f"{chat.id}/{said.id or f'{spoken} {seen[spoken]}'}",
                "conversation_id": chat.id,
                "title": ", ".join(filter(None, (said.author, sent or str(said.at or "")))),
                "author": said.author,
                "content": shortened(said.text.strip()),
                "sent_at": sent or (said.at if isinstance(said.at, str) else None),
            }
            yield _entity("message", fields, sent, refers_to=(place,) if few else ())


def _entity(
    kind: str, fields: Mapping[str, Any], seen_at: str | None, refers_to: tuple[int, ...] = ()
) -> Found:
    kept = {name: value for name, value in fields.items() if value not in (None, "", [])}
    return Found(
        entity_type=kind,
        fields=kept,
        refers_to=refers_to,
        reasons=("export of chats",),
        seen_at=seen_at,
    )


def _chats(fields: Mapping[str, Any]) -> Iterator[_Conversation]:
    """Yield the conversations in an object of an export."""
    whole = fields.get("chats")
    if isinstance(whole, Mapping) and isinstance(whole.get("list"), list):
        for each in whole["list"]:
            yield from _chats(each) if isinstance(each, Mapping) else ()
        return
    for named, read in _READERS.items():
        if isinstance(fields.get(named), list | Mapping):
            messages = list(read(fields))
            ids = ("conversation_id", "uuid", "id")
            given = next((str(fields[name]) for name in ids if fields.get(name)), "")
            title = str(fields.get("title") or fields.get("name") or "")
            inner = fields[named]
            parts = inner.values() if isinstance(inner, Mapping) else inner
            nodes = (isinstance(each, Mapping) and "message" in each for each in parts)
            empty = named != "messages" and all(nodes)
            if given and (messages or empty):
                began = fields.get("create_time") or fields.get("created_at")
                changed = fields.get("update_time") or fields.get("updated_at")
                last = messages[-1].at if messages else None
                known = fields.get("participants")  # all of them, also in a part of a chat
                known = known if isinstance(known, list) else []
                yield _Conversation(
                    participants=[each for each in known if isinstance(each, str)],
                    id=given,
                    title=title or given,
                    messages=messages,
                    began=began or (messages[0].at if messages else None),
                    changed=changed or last,
                )
            return


def _chatgpt(fields: Mapping[str, Any]) -> Iterator[_Message]:
    nodes = fields["mapping"].values() if isinstance(fields["mapping"], Mapping) else ()
    said = [node.get("message") for node in nodes if isinstance(node, Mapping)]
    messages = [each for each in said if isinstance(each, Mapping)]
    for each in sorted(messages, key=_created):
        author, at = each.get("author"), each.get("create_time")
        role = str(author.get("role", "")) if isinstance(author, Mapping) else ""
        text = "\n".join(_texts(each.get("content")))
        yield _Message(id=str(each.get("id", "")), author=role, text=text, at=at)


def _created(message: Mapping[str, Any]) -> float:
    at = message.get("create_time")
    return at if isinstance(at, int | float) else 0


def _claude(fields: Mapping[str, Any]) -> Iterator[_Message]:
    for each in fields["chat_messages"]:
        if isinstance(each, Mapping):
            given = (each.get(name) for name in ("attachments", "files"))
            files = [file for some in given if isinstance(some, list) for file in some]
            told = (f.get(name) for f in files if isinstance(f, Mapping) for name in _FILES)
            beside = [str(text) for text in told if text]
            own = str(each.get("text") or "") or "\n".join(_texts(each.get("content")))
            author, at = str(each.get("sender", "")), each.get("created_at")
            text = "\n".join((own, *beside))
            yield _Message(id=str(each.get("uuid", "")), author=author, text=text, at=at)


def _telegram(fields: Mapping[str, Any]) -> Iterator[_Message]:
    for each in fields["messages"]:
        if isinstance(each, Mapping) and ("from" in each or "actor" in each) and "date" in each:
            text = "".join(_texts(each.get("text"))) or str(each.get("action") or "")
            author = str(each.get("from") or each.get("actor") or "")
            seconds = each.get("date_unixtime")
            at = int(str(seconds)) if str(seconds).isdigit() else each["date"]
            yield _Message(id=str(each.get("id", "")), author=author, text=text, at=at)


_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Iterator[_Message]]]] = {
    "mapping": _chatgpt,
    "chat_messages": _claude,
    "messages": _telegram,
}
"""The member of a conversation by which its program is recognized."""


def _is_slack(fields: Mapping[str, Any]) -> bool:
    own = any(fields.get(name) for name in ("user", "bot_id", "username"))
    return own and "text" in fields and bool(_TS.fullmatch(str(fields.get("ts", ""))))


def _slack(fields: Mapping[str, Any]) -> _Message:
    profile = fields.get("user_profile")
    named = profile.get("real_name") if isinstance(profile, Mapping) else None
    author = named or fields.get("username") or fields.get("user") or fields.get("bot_id")
    ts, text = str(fields["ts"]), "\n".join(_texts(fields["text"]))
    return _Message(id=ts, author=str(author), text=text, at=float(ts))


def _texts(content: Any) -> Iterator[str]:
    """Yield the texts in the content of a message, at any depth."""
    match content:
        case str():
            yield content
        case list():
            for each in content:
                yield from _texts(each)
        case dict():
            for name, each in content.items():
                yield from _texts(each) if name not in _SILENT else ()
        case _:
            pass


def _instant(at: Any) -> str | None:
    """Return a time in RFC 3339, from seconds or from a text with a time zone."""
    try:
        moment = datetime.fromisoformat(at) if isinstance(at, str) else None
        moment = datetime.fromtimestamp(at, UTC) if isinstance(at, int | float) else moment
    except (ValueError, OverflowError, OSError):
        return None
    if moment is None or moment.tzinfo is None:
        return None
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _local(date: str, time: str, half: str, order: DayOrder | None) -> str:
    """Return a date and time in ISO 8601 without a zone, or as written if the day is unclear."""
    seen = day_in(date, order)
    hour, *rest = _CLOCK.split(time)
    if half:
        hour = str(int(hour) % _NOON + (_NOON if half in "pP" else 0))
    if seen is None or seen.value is None:
        return f"{date}, {time} {half}".strip()
    return f"{seen.value}T{':'.join((hour.zfill(2), *rest))}"
