"""Writing: a text as words to be compared, whatever was done to them so that nobody compares them.

Look-alikes, digits for letters, drawn-out and spaced-out letters are undone; what was written stays
beside it, and so does its place.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from canonry.language.texts.look_alikes import without_sightless

TEXT_MAX: Final = 20_000
"""So many characters are looked at: nobody says more at once."""
_TOKEN: Final = re.compile(
    r"(?:https?://|www\.)[^\s<>\"]{1,300}|</?(?:system|assistant|user)>|<\|[a-z_]{1,20}\|>"
    r"|discord\.gg/\w{1,40}|[^\W_]+(?:['\u2019\xad\u200b-\u200d\u2060\ufeff][^\W_]+)*(?:[@$!][^\W_]+)?"
)
_SPACED: Final = re.compile(r"(?<![^\W_])[^\W_](?:[ .\-_*][^\W_](?![^\W_])){2,60}")
_MARK: Final = re.compile(r"\A\s{0,20}(?:system|assistant)\s{0,3}:")
_LEET: Final = str.maketrans("013457@$!8", "oieastasib")
_DRAWN_OUT: Final = re.compile(r"(\w)\1{2,}")
_LINK: Final = ("http://", "https://", "www.", "discord.gg/")
_AGES: Final = {
    "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
    "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
}  # fmt: skip
_GROWN_UP: Final = 18


@dataclass(frozen=True, slots=True)
class WrittenWord:
    """A word in all forms in which it may be meant, and where it stands."""

    forms: frozenset[str]
    start: int
    end: int


def written(text: str) -> list[WrittenWord]:
    """The words of a text in order."""
    seen = text[:TEXT_MAX]
    spaced = [(m.start(), m.end()) for m in _SPACED.finditer(seen)]
    found: list[WrittenWord] = []
    at = 0
    for begin, end in [*spaced, (len(seen), len(seen))]:
        found += _words(seen, at, begin)
        if end > begin:
            joined = "".join(c for c in seen[begin:end] if c.isalnum())
            found.append(WrittenWord(_forms(joined), begin, end))
        at = end
    marked = _MARK.match(seen.casefold())
    if marked is not None and found:
        found[0] = WrittenWord(found[0].forms | {"#system"}, found[0].start, found[0].end)
    return _aged(found)


def _words(text: str, begin: int, end: int) -> Iterator[WrittenWord]:
    for match in _TOKEN.finditer(text, begin, end):
        told = match[0].casefold()
        if told.startswith(_LINK):
            yield WrittenWord(frozenset({"#link"}), match.start(), match.end())
        elif told.startswith("<"):
            yield WrittenWord(frozenset({"#system"}), match.start(), match.end())
        else:
            yield WrittenWord(_forms(match[0]), match.start(), match.end())


@lru_cache(maxsize=16_384)
def _forms(word: str) -> frozenset[str]:
    plain = _plain(word)
    forms = {word.casefold().replace("'", "").replace("\u2019", ""), plain}
    digits = [c for c in plain if not c.isalpha()]
    if digits and (len(digits) < len(plain) or plain == "1"):
        forms.add(plain.translate(_LEET))
    for each in tuple(forms):
        if _DRAWN_OUT.search(each):
            forms |= {_DRAWN_OUT.sub(r"\1", each), _DRAWN_OUT.sub(r"\1\1", each)}
    return frozenset(forms)


def _plain(word: str) -> str:
    """The word without accents and marks, its look-alikes as the letters that they look like."""
    told = word.replace("'", "").replace("\u2019", "")
    if told.isascii():
        return told.casefold()
    bare = unicodedata.normalize("NFKD", without_sightless(told))
    return "".join(_letter(c) for c in bare if not unicodedata.combining(c)).casefold()


_TWINS: Final = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u043a\u043c\u043d\u0442\u0432"
    "\u03b1\u03b5\u03bf\u03c1\u03c5\u03b9\u03ba\u03bd",
    "aeopcyxijskmhtb" + "aeopuikv",
)


def _letter(character: str) -> str:
    return character.casefold().translate(_TWINS)


def _aged(words: Sequence[WrittenWord]) -> list[WrittenWord]:
    """The words, with a mark on those that say that somebody is no adult."""
    found = list(words)
    for at, word in enumerate(words):
        age = _age(word)
        if age is None or age >= _GROWN_UP:
            continue
        after = frozenset[str]().union(*(each.forms for each in words[at + 1 : at + 3]))
        before = frozenset[str]().union(*(each.forms for each in words[max(0, at - 2) : at]))
        told = {"year", "years", "yo", "yr"} & after or (
            "of" in before and {"boy", "girl"} & before
        )
        if told:
            found[at] = WrittenWord(word.forms | {"#underage"}, word.start, word.end)
    return found


def _age(word: WrittenWord) -> int | None:
    for form in word.forms:
        if form in _AGES:
            return _AGES[form]
        if form.isdecimal() and len(form) <= len("17"):
            return int(form)
    return None
