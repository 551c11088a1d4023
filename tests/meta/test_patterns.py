"""No pattern takes more than linear time, however a stranger writes what it reads.

The interpreter holds its lock while a pattern runs, so that a slow one stops the whole server and
no deadline can end it.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from canonry.language.reading import rewriting, tokens
from tests.meta.patterns import (
    Found,
    cpu_seconds,
    hard_texts,
    has_repetition,
    parse_pattern,
    patterns_in,
    repeats_repetitions,
    sample_of,
    strays_in,
    text_of,
)
from tests.meta.tree import PACKAGE, python_files, relative_path

SHORT = (24, 240)
"""Lengths that keep a cubic pattern from running for minutes over the long text."""

CLOSE = (12, 18, 24, 32, 40, 50, 60, 72, 86, 100, 120, 145, 170, 200, 240, 290, 350, 420, 500)
"""Lengths for what repeats repetitions, whose time may double with every few characters."""

LENGTH = 2_000
SUSPECT = 0.003
"""Seconds for so many characters from which on it is looked how the time grows: a hundred times
what a linear pattern takes, a tenth of what a quadratic one does. No short text takes as long."""

TOGETHER = 48
"""So many texts are timed together; each is looked at where all together take too long for one."""

DEAR = 0.03
"""So many seconds for so few characters are too many, however they grow."""

FACTOR = 4
GROWTH_MAX = 8.0
"""Over a text four times as long a linear pattern takes four times as long, a quadratic sixteen."""

FILES = python_files("src/canonry")
PACKAGES = sorted({path.relative_to(PACKAGE).parts[0] for path in FILES})


@cache
def patterns_of(path: Path) -> list[Found]:
    """The patterns of a module; each is read once."""
    return list(patterns_in(path))


def superlinear(pattern: re.Pattern[Any], uses: tuple[str, ...]) -> str | None:
    """A use and a text by which a pattern takes more than linear time, if there is one.

    Without a repetition, an attempt takes no more time in a longer text.
    """
    if not has_repetition(pattern):
        return None
    lengths = (*(CLOSE if repeats_repetitions(pattern) else SHORT), LENGTH)
    hard = list(hard_texts(pattern))
    for start in range(0, len(hard), TOGETHER):
        group = hard[start : start + TOGETHER]
        texts = [[text_of(parts, length, pattern.pattern) for parts in group] for length in lengths]
        for use in uses:
            if all(cpu_seconds(use, pattern, *some) <= SUSPECT for some in texts):
                continue
            for parts in group:
                if (slow := superlinear_over(parts, use, pattern, lengths)) is not None:
                    return slow
    return None


def superlinear_over(
    parts: tuple[str, str, str], use: str, pattern: re.Pattern[Any], lengths: tuple[int, ...]
) -> str | None:
    """Return the complaint about a pattern that takes superlinear time over these parts."""
    for length in lengths:
        text = text_of(parts, length, pattern.pattern)
        if cpu_seconds(use, pattern, text) > SUSPECT:
            break
    else:
        return None
    seconds = cpu_seconds(use, pattern, text, tries=3)
    if seconds > SUSPECT and (
        length < LENGTH or seconds > DEAR or time_longer(use, pattern, parts) > GROWTH_MAX * seconds
    ):
        return f"{use} over {parts!r}: {seconds * 1000:.0f} ms for {length} characters"
    return None


def time_longer(use: str, pattern: re.Pattern[Any], parts: tuple[str, str, str]) -> float:
    """Return the seconds that a text of four times the length takes."""
    return cpu_seconds(use, pattern, text_of(parts, FACTOR * LENGTH, pattern.pattern))


def is_accused(found: Found) -> bool:
    """Return whether a pattern is slow in each attempt; a busy machine slows down some."""
    return all(superlinear(found.pattern, found.uses) is not None for _ in range(3))


@pytest.mark.parametrize("package", PACKAGES)
def test_every_pattern_takes_linear_time(package: str) -> None:
    slow = {
        found.where: superlinear(found.pattern, found.uses)
        for path in FILES
        if path.relative_to(PACKAGE).parts[0] == package
        for found in patterns_of(path)
        if is_accused(found)
    }

    assert slow == {}


@pytest.mark.parametrize("code", list(tokens._DATA))
def test_each_match_of_a_rewrite_contains_one_of_its_texts(code: str) -> None:
    sets = tokens._REWRITES[code].values()
    rows = [row for each in sets for row in zip(each.texts, each.rows, strict=True)]
    found = [(texts, rewriting.PATTERNS[old]) for texts, (old, _new) in rows]
    read = [(texts, pattern, sample_of(parse_pattern(pattern))) for texts, pattern in found]
    matched = [one for one in read if one[1].search(one[2])]

    assert len(matched) > len(read) / 4
    assert [(p.pattern, s) for texts, p, s in matched if not any(e in s for e in texts)] == []
    assert sum(min(map(len, texts)) > 2 for texts, _pattern in found) > len(found) * 0.9


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (r"\bfree of charge\b", {"free of charge"}),
        (r"\b(?:was|were) killed by (?:an? )?\w+", {" killed by "}),
        (r"^(@\d+@) paid( once)? for (?=it)", {" paid"}),
        (r"caught|contracted", {"caught", "contracted"}),
        (r"(?:was|got) (?:lost|stolen)?\d", {"was", "got"}),
        (r"(?:is|was) (?:lost|stolen)", {"lost", "stolen"}),
        (r"(?<!never )taken(?! aback)", {"taken"}),
        (r"colou?rs? are[)(|] \(red\)", {" (red)"}),
        (r"ab{2,3}c+d", {"a"}),
        (r"(?:cost|price)s \(?net\)?", {"cost", "price"}),
        (r"(?:cost|price) \(?net", {"cost", "price"}),
        (r"[a-z]*\d|x", {"", "x"}),
    ],
)
def test_each_match_of_a_pattern_contains_one_of_its_texts(pattern: str, texts: set[str]) -> None:
    assert rewriting.texts_in(pattern) == texts


def test_a_rewrite_sees_the_result_of_those_before_it() -> None:
    rewrites = rewriting.Rewrites([("gave up", "stopped"), ("stopped (.)", r"ended \1")])

    assert rewrites.apply("Ana gave up tea") == "Ana ended tea"
    assert rewrites.apply("Ana drinks tea") == "Ana drinks tea"


def test_patterns_are_compiled_at_the_top_of_a_module() -> None:
    strays = {relative_path(path): found for path in FILES if (found := list(strays_in(path)))}

    assert strays == {}, "compile each once under a name, so that it is proven linear"


def test_every_module_that_matches_patterns_is_checked() -> None:
    text = {path for path in FILES if "re.compile(" in path.read_text(encoding="utf-8")}
    looked_at = {path for path in FILES if patterns_of(path)}

    assert looked_at == text
    assert PACKAGE in next(iter(text)).parents
    assert sum(len(patterns_of(path)) for path in FILES) >= len(text)


@pytest.mark.parametrize(
    ("expression", "use"),
    [
        (r"[^\s@<>,;:\"()]+@[^\s@<>,;:\"()]+\.[^\s@<>,;:\"().]+", "findall"),
        (r"\s*[,;\n]\s*", "split"),
        (r"(?:(?:a|b)+,?)+!", "fullmatch"),
        (r"(.+?)\s*[:\t]\s*(.*\d.*)", "match"),
        (r"```(?:json)?\s*(.*?)\s*```\s*", "search"),
        (r"(?s)\s*(?:<!--.*?-->\s*)*<html\b", "match"),
    ],
)
def test_nonlinear_patterns_are_found(expression: str, use: str) -> None:
    assert superlinear(re.compile(expression), (use,)) is not None


@pytest.mark.parametrize(
    "expression", [r"a{2}", r"(?:x[ab]+)?", r"(?=a*)b", r"(a)(?(1)b+|c)", r"(?!a{,9})b"]
)
def test_every_repetition_of_a_pattern_is_found(expression: str) -> None:
    assert has_repetition(re.compile(expression))
    assert not has_repetition(re.compile(r"a|(?:b?c)?|(?=d)[ef]"))


@pytest.mark.parametrize("expression", [r"\s+", r"[^.!?\n]+[.!?]*", r"(?<!\d)\d+x", r"a{1,64}@"])
def test_linear_patterns_are_accepted(expression: str) -> None:
    assert superlinear(re.compile(expression), ("findall", "search", "fullmatch")) is None
