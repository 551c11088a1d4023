"""Chats from exports of ChatGPT, Claude, Slack, Telegram and WhatsApp.

Each conversation is an entity by its own id, and each message is one with its author and time. A
message names its conversation.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from canonry.canon.ports.files import Record
from canonry.documents.extraction.agreements import shorten_text
from canonry.documents.extraction.kinds import TABLES
from canonry.documents.parsers.findings import keep_rest
from canonry.records.domain.interpretations import RECORDS_MAX, FoundEntity
from canonry.values.calendar_dates import DayOrder, find_day_order, read_day
from canonry.values.file_texts import first_texts, leaves_of, unused_texts

_SILENT: Final = frozenset(TABLES["chats"]["silent"].split())
"""Members of a message's content that are no text of its author."""

_MESSAGE_PATHS: Final[dict[str, str]] = TABLES["chats"]["message"]
_ABOUT: Final[dict[str, str]] = TABLES["chats"]["conversation"]
_FILES: Final = TABLES["chats"]["files"].split()
_EMPTY: Final = TABLES["chats"]["empty"].split()
_TIMES: Final = frozenset(f"{_MESSAGE_PATHS['at']} {_ABOUT['began']}".split())
_FRAME: Final = frozenset(TABLES["chats"]["frame"].split())
_SPOKEN: Final = frozenset({"from", "actor"})
_TS: Final = re.compile(r"\d{9,10}\.\d{1,6}")
_SECONDS: Final = re.compile(r"\d{9,10}(?:\.\d{1,7})?")
_LINE: Final = re.compile(
    r"(?!\[\d{4}-[^,]*\])\u200e?"
    r"\[?(\d{1,4}[./-]\d{1,2}[./-]\d{2,4}),? (\d{1,2}[:.]\d{2}(?:[:.]\d{2})?)"
    r"(?:[ \u202f]?([AaPp])\.?[Mm]\.?)?(?:\]| -) (?:([^:\n]{1,60}): )?(.*)"
)
"""A line with a time in brackets or before a dash, which logs and plans do not have."""

_LINES_MIN: Final = 2
_NOON: Final = 12
_DAY: Final = 10
_CLOCK: Final = re.compile("[:.]")
_cached_day: Final = lru_cache(4_096)(read_day)  # many messages have one day


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """A message; `at` is its time as given."""

    id: str
    author: str
    text: str
    at: str
    rest: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Conversation:
    """A conversation with its messages in order."""

    id: str
    title: str
    messages: Sequence[ChatMessage]
    participants: Sequence[str] = ()
    began: str = ""
    changed: str = ""
    rest: Mapping[str, Any] = field(default_factory=dict[str, Any])


def extract_chats(records: Sequence[Record], name: str, notes: list[str]) -> Iterator[FoundEntity]:
    """Yield the conversations and messages in records; nothing if they are no export of chats.

    Notes tell how many messages have no text, and how much of the file is no chat.
    """
    found = [list(_find_conversations(record.fields)) for record in records]
    chats = list(chain.from_iterable(found))
    whole = [record.fields for record in records if "chats" in record.fields]
    others = [n for each in whole for n in each if n != "chats" and isinstance(each[n], Mapping)]
    if chats and (others_count := sum(not each for each in found) + len(others)):
        notes.append(f"{others_count} objects of the file that are no conversations were left out.")
    if silent := sum(not _has_content(spoken) for chat in chats for spoken in chat.messages):
        notes.append(f"{silent} messages without text were left out.")
    if not chats and records and all(_is_slack(record.fields) for record in records):
        spoken = [_read_message(record.fields) for record in records]
        chats = [_Conversation(id=name, title=name.rpartition(".")[0] or name, messages=spoken)]
    yield from _conversation_entities(chats)


def extract_chat_lines(text: str, name: str) -> Iterator[FoundEntity]:
    """Yield the conversation in a text of WhatsApp; nothing if it is none."""
    if messages := list(messages_in(lambda: text.split("\n"))):
        title = name.rpartition(".")[0] or name or "Chat"
        yield from _conversation_entities([_Conversation(id=title, title=title, messages=messages)])


def messages_in(lines: Callable[[], Iterable[str]]) -> Iterator[ChatMessage]:
    """Yield the messages in the lines of a text of WhatsApp; nothing if it is none.

    The lines are read two times, first for the order of day and month. Several messages of one
    person in a minute keep their numbers in any export of the chat.
    """
    days: dict[str, None] = {}
    authored, first = 0, _LINES_MIN + 1
    for index, (head, _) in enumerate(map(_split_head, lines())):
        if head is not None:
            first = min(first, index)
            authored += bool(head[4])
            days[head[1]] = None
    if first > _LINES_MIN or authored < _LINES_MIN:
        return
    order, seen = find_day_order("\n".join(days)), Counter[str]()
    at, author, text_lines = "", "", list[str]()
    for head, line in chain(map(_split_head, lines()), ((None, None),)):
        if text_lines and (head or line is None) and (text := "\n".join(text_lines)).strip():
            seen[f"{at} {author}"] += 1
            number = seen[f"{at} {author}"]
            yield ChatMessage(id=f"{at} {author} {number}", author=author, text=text, at=at)
        if head is not None:
            before, at = at, _local_time(head[1], head[2], head[3] or "", order)
            author, text_lines = head[4] or "", [head[5]]
            if at[:_DAY] != before[:_DAY]:  # a clock may be set back, but not by a day
                kept = (at[:_DAY], before[:_DAY])
                seen = Counter({name: n for name, n in seen.items() if name.startswith(kept)})
        elif text_lines and line is not None:
            text_lines.append(line)


def _split_head(line: str) -> tuple[re.Match[str] | None, str]:
    """Return the head of a message, if a line has one, and the line."""
    bare = line.replace("\u200e", "").removesuffix("\n")
    return _LINE.fullmatch(bare), bare


def _conversation_entities(chats: Sequence[_Conversation]) -> Iterator[FoundEntity]:
    """Yield the conversations, then their messages, which refer to them if there are not many."""
    few = sum(len(chat.messages) + 1 for chat in chats) <= RECORDS_MAX
    for chat in chats:
        authors = (message.author for message in chat.messages if message.author)
        fields = {
            "conversation_id": chat.id,
            "title": chat.title,
            "created_date": _format_instant(chat.began),
            "updated_date": _format_instant(chat.changed),
            "participants": list(dict.fromkeys((*chat.participants, *authors))),
            **chat.rest,
        }
        yield _make_entity("conversation", fields, _format_instant(chat.changed))
    for index, chat in enumerate(chats):
        seen: Counter[str] = Counter()
        for message in chat.messages:
            if not _has_content(message):
                continue
            sent, spoken = _format_instant(message.at), f"{message.at} {message.author}"
            seen[spoken] += 1  # several in a minute keep their numbers in any export of the chat
            fields = {
                "message_id": f"{chat.id}/{message.id or f'{spoken} {seen[spoken]}'}",
                "conversation_id": chat.id,
                "title": ", ".join(filter(None, (message.author, sent or str(message.at or "")))),
                "author": message.author,
                "content": shorten_text(message.text.strip()),
                "sent_at": sent or (message.at if not _SECONDS.fullmatch(message.at) else None),
            }
            fields |= {f"other_{n}" if n in fields else n: v for n, v in message.rest.items()}
            yield _make_entity("message", fields, sent, refers_to=(index,) if few else ())


def _make_entity(
    kind: str, fields: Mapping[str, Any], seen_at: str | None, refers_to: tuple[int, ...] = ()
) -> FoundEntity:
    kept = {name: value for name, value in fields.items() if value not in (None, "", [])}
    return FoundEntity(
        entity_type=kind,
        fields=kept,
        refers_to=refers_to,
        reasons=("export of chats",),
        seen_at=seen_at,
    )


def _find_conversations(fields: Mapping[str, Any]) -> Iterator[_Conversation]:
    """Yield the conversations in an object of an export."""
    whole = fields.get("chats")
    if isinstance(whole, Mapping) and isinstance(whole.get("list"), list):
        for each in whole["list"]:
            yield from _find_conversations(each) if isinstance(each, Mapping) else ()
        return
    for named in ("mapping", "chat_messages", "messages"):
        if isinstance(inner := fields.get(named), list | Mapping):
            parts = [*(inner.values() if isinstance(inner, Mapping) else inner)]
            nodes = (isinstance(each, Mapping) and "message" in each for each in parts)
            empty = named != "messages" and all(nodes)
            if named == "mapping":  # the tree of a chat is in no order
                parts = [each.get("message") for each in parts if isinstance(each, Mapping)]
            objects = [each for each in parts if isinstance(each, Mapping)]
            if named == "messages":
                objects = [e for e in objects if "date" in e and not e.keys().isdisjoint(_SPOKEN)]
            messages = list(map(_read_message, sorted(objects, key=_created_at)))
            about, rest = _read_paths({n: v for n, v in fields.items() if n != named}, _ABOUT)
            if about["id"] and (messages or empty):
                known = fields.get("participants")  # all of them, also in a part of a chat
                known = known if isinstance(known, list) else []
                times = [each.at for each in messages] or [""]
                yield _Conversation(
                    participants=[each for each in known if isinstance(each, str)],
                    id=about["id"],
                    title=about["title"] or about["id"],
                    messages=messages,
                    began=about["began"] or times[0],
                    changed=about["changed"] or times[-1],
                    rest=rest,
                )
            return


def _created_at(message: Mapping[str, Any]) -> float:
    at = message.get("create_time")
    return at if isinstance(at, int | float) else 0


def _read_message(message: Mapping[str, Any]) -> ChatMessage:
    """Read a message of any program; its other values are kept under their paths."""
    own = "".join(_content_texts(message.get("text"))) or "\n".join(
        _content_texts(message.get("content"))
    )
    file_names = (text for path, text in leaves_of(message) if path in _FILES)
    text = "\n".join((own or str(message.get("action") or ""), *file_names))
    about, rest = _read_paths(message, _MESSAGE_PATHS, text)
    return ChatMessage(**about, text=text, rest=rest)


def _read_paths(
    value: Mapping[str, Any], paths: Mapping[str, str], text: str = ""
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the text for each name, and the texts without one under their paths."""
    leaves = [each for each in leaves_of(value) if each[0] not in _FRAME]
    about, rest = first_texts(leaves, paths), dict[str, Any]()
    others = (each for each in leaves if each[0] not in _TIMES)
    for path, other in unused_texts(others, (text, *about.values(), *_EMPTY)):
        keep_rest(rest, path, other)
    return about, rest.get("rest", {})


def _has_content(message: ChatMessage) -> bool:
    """Return whether a message has a text, or a part such as a picture."""
    return bool(message.text.strip() or message.rest)


def _is_slack(fields: Mapping[str, Any]) -> bool:
    own = any(fields.get(name) for name in ("user", "bot_id", "username"))
    return own and "text" in fields and bool(_TS.fullmatch(str(fields.get("ts", ""))))


def _content_texts(content: Any) -> Iterator[str]:
    """Yield the texts in the content of a message, at any depth."""
    return (text for path, text in leaves_of(content) if path.rpartition("/")[2] not in _SILENT)


def _format_instant(at: str) -> str | None:
    """Return a time in RFC 3339, from seconds or from a text with a time zone."""
    try:
        seconds = _SECONDS.fullmatch(at)
        when = datetime.fromtimestamp(float(at), UTC) if seconds else datetime.fromisoformat(at)
    except (ValueError, OverflowError, OSError):
        return None
    return None if when.tzinfo is None else when.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _local_time(date: str, time: str, half: str, order: DayOrder | None) -> str:
    """Return a date and time in ISO 8601 without a zone, or as written if the day is unclear."""
    seen = _cached_day(date, order)
    hour, *rest = _CLOCK.split(time)
    if half:
        hour = str(int(hour) % _NOON + (_NOON if half in "pP" else 0))
    if seen is None or seen.value is None:
        return f"{date}, {time} {half}".strip()
    return f"{seen.value}T{':'.join((hour.zfill(2), *rest))}"
