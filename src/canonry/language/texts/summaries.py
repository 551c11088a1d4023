"""Summaries: what counts most of what came of something, told in the order in which it happened."""

from collections.abc import Sequence
from typing import Final, NamedTuple

_ENDS: Final = (".", "!", "?", "\u2026")


class Said(NamedTuple):
    """A statement, and how much it counts."""

    text: str
    weight: int


def digest(said: Sequence[Said], *, limit: int) -> str:
    """The statements in their order, as sentences; at most `limit` characters.

    Where there is no room for all, those that count most are kept, and of equal ones the later:
    how it ended is worth more than how it began. What is said twice is told once.
    """
    sentences = {_sentence(each.text): n for n, each in reversed([*enumerate(said)])}
    ranked = sorted(sentences, key=lambda one: (-said[sentences[one]].weight, -sentences[one]))
    kept: list[str] = []
    left = limit + 1
    for sentence in ranked:
        if 1 < len(sentence) + 1 <= left:
            kept.append(sentence)
            left -= len(sentence) + 1
    return " ".join(sorted(kept, key=sentences.__getitem__))


def _sentence(text: str) -> str:
    words = " ".join(text.split())
    return words if not words or words.endswith(_ENDS) else f"{words}."
