"""Edits of a JSON text in place; other content and comments stay."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_STRING: Final = r'"(?:\\.|[^"\\])*"?'
_LETTER: Final = re.compile(r"[^\n]")
_COMMENTS: Final = re.compile(rf"{_STRING}|//[^\n]*|/\*(?:.*?\*/|.*)", re.DOTALL)
_LAST_COMMAS: Final = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    """The positions of a member of an object, from its key to the end of its value."""

    key: str
    begin: int
    value: int
    end: int


def read(text: str) -> Any:
    """Parse the text; comments and trailing commas are allowed.

    Raises:
        ValueError: it is not JSON.
    """
    return json.loads(_blank_comments(text)) if text.strip() else {}


def put(text: str, path: tuple[str, ...], value: Mapping[str, Any]) -> str:
    """Return the text with `value` at `path`; missing objects are added.

    Raises:
        ValueError: it is not JSON, or `path` leads through a value that is no object.
    """
    text = text if text.strip() else "{}\n"
    plain = _blank_comments(text)
    json.loads(plain)
    at = _object_start(plain, 0)
    for depth, key in enumerate(path):
        members = _list_members(plain, at)
        found = next((each for each in members if each.key == key), None)
        rest = path[depth + 1 :]
        indent = "  " * (depth + 1)
        if found is None:
            for inner in reversed(rest):
                value = {inner: value}
            tail = "," if members else f"\n{'  ' * depth}"
            added = f"\n{indent}{json.dumps(key)}: {_dump_value(value, indent)}{tail}"
            return text[: at + 1] + added + text[at + 1 :]
        if not rest:
            return text[: found.value] + _dump_value(value, indent) + text[found.end :]
        at = _object_start(plain, found.value)
    message = "the path is empty"
    raise ValueError(message)


def drop(text: str, path: tuple[str, ...]) -> str:
    """Return the text without the member at `path` and the objects left empty.

    Raises:
        ValueError: it is not JSON.
    """
    plain = _blank_comments(text) if text.strip() else "{}"
    json.loads(plain)
    at, crumbs = _object_start(plain, 0), []
    for key in path:
        if plain[at] != "{":
            return text
        members = _list_members(plain, at)
        found = next((each for each in members if each.key == key), None)
        if found is None:
            return text
        crumbs.append((found, len(members)))
        at = found.value
    while len(crumbs) > 1 and crumbs[-1][1] == 1:
        crumbs.pop()
    return _cut_member(text, plain, *crumbs[-1])


def _cut_member(text: str, plain: str, member: _Member, siblings: int) -> str:
    begin = len(text[: member.begin].rstrip())
    end = member.end
    after = _skip_space(plain, end)
    if plain[after] == ",":
        end = after + 1
    elif plain[begin - 1] == ",":
        begin -= 1
    if siblings == 1:
        end += len(text[end:]) - len(text[end:].lstrip())
    return text[:begin] + text[end:]


def _blank_comments(text: str) -> str:
    """Replace comments and trailing commas by spaces, which keeps all positions."""
    plain = _COMMENTS.sub(lambda m: _LETTER.sub(" ", m[0]) if m[0][0] == "/" else m[0], text)
    return _LAST_COMMAS.sub(lambda m: " " if m[0] == "," else m[0], plain)


def _skip_space(plain: str, at: int) -> int:
    while at < len(plain) and plain[at].isspace():
        at += 1
    return at


def _object_start(plain: str, at: int) -> int:
    at = _skip_space(plain, at)
    if plain[at] != "{":
        message = "an object is expected where it has another value"
        raise ValueError(message)
    return at


def _list_members(plain: str, at: int) -> list[_Member]:
    found = []
    at = _skip_space(plain, at + 1)
    while plain[at] != "}":
        key, after = _DECODER.raw_decode(plain, at)
        value = _skip_space(plain, _skip_space(plain, after) + 1)
        _, end = _DECODER.raw_decode(plain, value)
        found.append(_Member(key=key, begin=at, value=value, end=end))
        at = _skip_space(plain, end)
        if plain[at] == ",":
            at = _skip_space(plain, at + 1)
    return found


def _dump_value(value: Mapping[str, Any], indent: str) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False).replace("\n", f"\n{indent}")
