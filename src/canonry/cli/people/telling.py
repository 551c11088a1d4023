"""Telling: the reply of a tool as lines for a person, whatever the tool; names stand out."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from canonry.cli.screen import Styled, tell
from canonry.language.texts.visible import visible, visible_line

_TITLES: Final = ("name", "says", "claim", "field", "value", "when", "proposal", "id")
"""What a row is headed by: the first of these that it has."""
_BESIDE: Final = ("how", "verdict", "status", "kind", "type")
"""What stands beside it."""
_LAST: Final = ("id",)
_COLOURS: Final = {
    "accepted": "green",
    "new": "green",
    "rejected": "red",
    "retconned": "red",
    "needs review": "yellow",
    "waits": "yellow",
}
_STEP: Final = "  "


def tell_reply(reply: Mapping[str, Any]) -> None:
    """The whole reply: its rows, then what is said of them all."""
    last = {name: reply[name] for name in ("hint", "next") if name in reply}
    body = {name: value for name, value in reply.items() if name not in last}
    if "kind" in body:
        _tell_row(body, "")
    else:
        for name, value in body.items():
            if _is_rows(value):
                for row in value:
                    _tell_row(row, "")
            else:
                _tell_member(name, value, "")
    if "hint" in last:
        tell(("dim", visible_line(last["hint"])))
    if "next" in last:
        tell(("dim", f"more with --cursor {visible_line(last['next'])}"))


def _tell_row(row: Mapping[str, Any], lead: str) -> None:
    title = next((name for name in _TITLES if name in row), "")
    parts: list[Styled] = [lead, ("bold", _plain(row.get(title, "-")))]
    beside = [name for name in _BESIDE if name in row and name != title]
    if row.get("kind") == "entity" and "type" in row:
        beside.remove("kind")  # its type says more
    for name in beside:
        word = _plain(row[name])
        parts += ["  ", (_COLOURS.get(word, "dim"), word)]
    if tags := row.get("tags"):
        parts.append(f"  [{_plain(tags)}]")
    tell(*parts)
    told = {title, "tags", "kind", *beside, *_LAST}
    if title == "name" and (says := row.get("says")):
        _tell_text(says, lead + _STEP)
        told.add("says")
    for name, value in row.items():
        if name not in told:
            _tell_member(name, value, lead + _STEP)
    for name in _LAST:
        if name in row and name != title:
            tell(lead + _STEP, ("dim", _plain(row[name])))


def _tell_member(name: str, value: Any, lead: str) -> None:
    label: Styled = ("cyan", visible_line(name.replace("_", " ")))
    if _is_rows(value):
        tell(lead, label)
        for row in value:
            _tell_row(row, lead + _STEP)
    elif isinstance(value, Mapping):
        tell(lead, label)
        for inner, each in value.items():
            _tell_member(inner, each, lead + _STEP)
    elif isinstance(value, str) and "\n" in value:
        tell(lead, label)
        _tell_text(value, lead + _STEP)
    else:
        tell(lead, label, f"  {_plain(value)}")


def _tell_text(text: str, lead: str) -> None:
    """Every line begins with `lead`, which is never empty, so that none is taken for ours."""
    for line in text.split("\n"):
        tell(lead, visible(line))


def _is_rows(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and bool(value)
        and all(isinstance(each, Mapping) for each in value)
    )


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_plain, value)) or "none"
    return visible_line(str(value))
