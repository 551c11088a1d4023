"""Visible text: what would steer a screen, hide or turn around the text beside it is spelled out.

Everything that is printed, drawn or logged passes through here. The spelling is the one that JSON
has for a character, so that JSON passes through and still says exactly the same.
"""

import re
from typing import Final

_UNSEEN: Final = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls but tab and line feed, those of one byte among them
    "\xad\u180e\u200b\u2060-\u2064\ufeff"  # takes no room; joiners stay, scripts need them
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # turns the direction of what follows
    "\u2028\u2029"  # ends a line for some who read it
    "\ud800-\udfff\ufff9-\uffff\U000e0000-\U000e007f"  # halves, annotations and tags
    "]"
)
_REPLACEMENTS: Final = "\ufffc\ufffd"
"""The signs for what cannot be shown, which can."""


def visible(text: str) -> str:
    """The text with each character that steers, hides or turns spelled out; idempotent."""
    return text if text.isascii() and text.isprintable() else _UNSEEN.sub(_spelled, text)


def visible_line(text: str) -> str:
    """The same in one line: line feeds and tabs are spelled out too."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def _spelled(match: re.Match[str]) -> str:
    if match[0] in _REPLACEMENTS:
        return match[0]
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))
