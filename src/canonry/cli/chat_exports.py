"""Exports of chats that are read value by value, so that one of any length takes little memory."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final, TextIO

from canonry.values.errors import InvalidInput

_READ: Final = 1 << 20
"""Characters that are read at a time."""

_PART: Final = 2_000
"""The most messages of a part, which keeps it below the limit of characters of a file."""

_MESSAGES: Final = frozenset({"mapping", "chat_messages", "messages"})
_AUTHORS: Final = ("from", "actor", "sender", "author")
_SIGN: Final = re.compile(r"[^\s,:]")
_DECODER: Final = json.JSONDecoder()


def parts_of(path: Path, name: str = "") -> Iterator[bytes]:
    """Yield the content of a file; a large export by conversations, and long ones in parts."""
    read = []
    if path.suffix.lower() == ".txt" and path.stat().st_size >= _READ:
        for part in _texts_in(path, (name or path.name).rpartition(".")[0]):
            read.append(True)
            yield json.dumps(part, ensure_ascii=False).encode()
    if path.suffix.lower() == ".json" and path.stat().st_size >= _READ:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            export = _Export(file)
            export.take("[")
            while export.take("{"):
                read.append(False)
                for part in export.conversation():
                    read[-1] = True
                    yield json.dumps([part], ensure_ascii=False).encode()
    if not all(read) or not read:  # such as messages of Slack, which are one conversation
        yield path.read_bytes()


def _texts_in(path: Path, title: str) -> Iterator[Mapping[str, Any]]:
    """Yield the messages in a text of WhatsApp in parts; nothing if it is none."""
    from canonry.documents.extraction.chats import messages_in  # noqa: PLC0415 - may be missing

    def lines() -> Iterator[str]:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            yield from file

    authors = dict.fromkeys(each.author for each in messages_in(lines) if each.author)
    about = {"id": title, "name": title, "participants": list(authors)}
    said = (
        {"id": e.id, "from" if e.author else "actor": e.author, "date": e.at, "text": e.text}
        for e in messages_in(lines)
    )
    while items := list(islice(said, _PART)):
        yield {**about, "messages": items}


class _Export:
    """An export in JSON, and the position up to which it is read."""

    def __init__(self, file: TextIO) -> None:
        self._file, self._text, self._at = file, "", 0

    def take(self, signs: str) -> str:
        """Pass over the next sign if it is one of these, and return it."""
        while not (seen := _SIGN.search(self._text, self._at)):
            if not self._more():
                return ""
        self._at = seen.end() if seen[0] in signs else seen.start()
        return seen[0] if seen[0] in signs else ""

    def value(self) -> Any:
        """Read the next value, which must be whole."""
        self.take("")
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except ValueError as error:
                if not self._more():
                    message = "The export ends within a conversation. Download it again."
                    raise InvalidInput("document.damaged", message) from error
            else:
                if end < len(self._text) or not self._more():  # a number could go on
                    self._at = end
                    return value

    def conversation(self) -> Iterator[Mapping[str, Any]]:
        """Yield an object in parts of its messages, or its chats; nothing if it has neither."""
        about: dict[str, Any] = {}
        named = begin = ""
        with TemporaryFile("w+", encoding="utf-8") as kept:
            while not self.take("}"):
                name = self.value()
                about[name] = None
                if name in _MESSAGES and (begin := self.take("[{")):
                    named = name
                    while not self.take("]}"):
                        key = self.value() if begin == "{" else ""
                        kept.write(json.dumps((key, self.value())) + "\n")
                elif name == "chats" and self.take("{"):
                    for part in self.conversation():
                        yield {**about, **part}
                        about = {}
                elif name == "list" and self.take("["):
                    while self.take("{"):
                        yield from ({"chats": {"list": [part]}} for part in self.conversation())
                    self.take("]")
                else:
                    about[name] = self.value()
            for items, shared in _divided(kept, about) if named else ():
                inner = dict(items) if begin == "{" else [item for _, item in items]
                yield {**about, named: inner, **shared}

    def _more(self) -> bool:
        rest = self._text[self._at :]
        more = self._file.read(max(_READ, len(rest)))
        self._text, self._at = rest + more, 0
        return bool(more)


def _divided(
    kept: TextIO, about: Mapping[str, Any]
) -> Iterator[tuple[list[tuple[str, Any]], Mapping[str, Any]]]:
    """Yield messages in parts; each part of several has all authors, and the times of the chat."""
    authors: dict[str, None] = {}
    times: list[Any] = []
    kept.seek(0)
    number = 0
    for number, line in enumerate(kept, 1):  # noqa: B007
        author, at = _spoken(json.loads(line)[1])
        authors |= {author: None} if author else {}
        times = [*times[:1], at] if at else times
    shared: dict[str, Any] = {}
    if number > _PART:
        shared = {"participants": list(authors)}
        if times and about.keys().isdisjoint({"create_time", "created_at"}):
            shared |= {"create_time": times[0], "update_time": times[-1]}
    kept.seek(0)
    yield [json.loads(line) for line in islice(kept, _PART)], shared
    while items := [json.loads(line) for line in islice(kept, _PART)]:
        yield items, shared


def _spoken(item: Any) -> tuple[str, Any]:
    """Return the author and the time of a message."""
    said = item.get("message") or item if isinstance(item, dict) else {}
    author = next((said[name] for name in _AUTHORS if said.get(name)), "")
    unix = str(said.get("date_unixtime", ""))
    role = author.get("role", "") if isinstance(author, dict) else author
    return str(role), int(unix) if unix.isdigit() else said.get("date")
