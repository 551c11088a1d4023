"""Rewrites of a text by many patterns, of which few meet it: letters of theirs find these."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from operator import methodcaller
from typing import Any, Final

_FORM_PART: Final = re.compile(
    r"\((?:\?(?:[:=!]|<[=!]))?|\[\^?\]?(?:\\.|[^\]\\]){0,80}\]|\\x[0-9a-f]{2}|\\.|\{[\d,]*\}|[?*+]\??|."
)
"""The parts of a pattern: openings of groups, classes, escapes, repetitions, and characters."""

_SIZE: Final = 3  # the number of letters by which a pattern is found


class Lazy(dict[str, Any]):
    """Members that are made when they are first asked for: bench compare, start."""

    def __init__(self, make: Callable[[str], object]) -> None:
        """Take what makes a member from its name."""
        self.make = make

    def __missing__(self, key: str) -> Any:
        return self.setdefault(key, self.make(key))


PATTERNS: Final = Lazy(lambda pattern: re.compile(pattern))  # noqa: PLW0108 - the tests look here


class Rewrites:
    """Patterns and their replacements, in order; only those are tried that a text can match."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Choose rare letters of each pattern; `sub` would read a text as a template each time."""
        self.rows = [(old, methodcaller("expand", new)) for old, new in pairs]
        self.texts = [texts_in(old) for old, _new in pairs]
        count = Counter(part for each in self.texts for text in each for part in _letters_of(text))
        self._found: defaultdict[str, list[int]] = defaultdict(list)
        for number, texts in enumerate(self.texts):
            keys = {min(_letters_of(e), key=lambda one: (count[one], one)) for e in texts}
            for key in {""} if "" in keys else keys:
                self._found[key].append(number)

    def apply(self, text: str) -> str:
        """Return the text after all rewrites, each on the result of those before it."""
        todo, number = self._rows_met(text, -1), -1
        while (number := next(todo, -1)) >= 0:
            before, (old, new) = text, self.rows[number]
            text = PATTERNS[old].sub(new, text)
            todo = todo if text == before else self._rows_met(text, number)
        return text

    def _rows_met(self, text: str, done: int) -> Iterator[int]:
        met = {n for key in ("", *_letters_of(text)) for n in self._found.get(key, ())}
        return iter(sorted(n for n in met if n > done))


def texts_in(pattern: str) -> frozenset[str]:
    """Return texts of which each match of a pattern contains one, by its form."""
    return _read_group(iter(_FORM_PART.findall(pattern)))


def _read_group(parts: Iterator[str]) -> frozenset[str]:
    """Return the best texts of each branch of a group, and read it to its end."""
    branches, found, run, last = list[frozenset[str]](), list[frozenset[str]](), "", ""
    for part in parts:
        if part == ")":
            break
        if part[0] == "(":
            inner = _read_group(parts)
            if part in {"(", "(?:"}:  # what stands around a match need not be in it
                found, run, last = [*found, frozenset({run}), inner], "", "()"
        elif part == "|":
            branches, found, run = [*branches, _best_of([*found, frozenset({run})])], [], ""
        elif part in {"^", "$", r"\b", r"\B"}:
            continue
        elif part[:2] == r"\x" or (part[0] == "\\" and not part[1].isalnum()):
            run, last = (
                run + (part[1:] if part[1] != "x" else chr(int(f"0{part[1:]}", 0))),
                part[-1],
            )
        elif part[0] not in ".?*+{[\\":
            run, last = run + part, part
        else:
            if part[0] in "?*{":  # the last one need not be there
                found, run = (found[:-1], run) if last == "()" else (found, run[: -len(last)])
            found, run, last = [*found, frozenset({run})], "", ""
    return frozenset().union(*branches, _best_of([*found, frozenset({run})]))


def _best_of(found: Sequence[frozenset[str]]) -> frozenset[str]:
    """Return the texts whose shortest one is the longest, and the fewest of these."""
    return max(found, key=lambda texts: (min(len(e.strip()) for e in texts), -len(texts)))


def _letters_of(text: str) -> set[str]:
    """Return all runs of letters by which patterns are found; "" for a text that is too short."""
    return {text[at : at + _SIZE] for at in range(len(text) - _SIZE + 1)} or {""}
