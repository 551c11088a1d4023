"""Markdown: cut at its headings, as CommonMark sees them; the text stays as it was written."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Final, TypeAlias

from canonry.language.texts.excerpts import Part

_Heading: TypeAlias = tuple[int, int, int, str]
"""The line of a heading, the line after it, its level, and its title."""

PATH: Final = " > "
"""Stands between the headings that lead to a section."""

_PREAMBLE: Final = re.compile(r"\A---[^\S\n]*\n(.*?\n)(?:---|\.\.\.)[^\S\n]*(?:\n|\Z)", re.DOTALL)
# No bracket within brackets, so that a line of brackets is read once and not once from each.
_MARKUP: Final = re.compile(r"[*`]+|!?\[([^\[\]]*)\]\([^()]*\)")
_MARKER: Final = re.compile(r"^[^\S\n]*(?:>|(?:[-*+]|\d{1,9}[.)])[^\S\n])", re.MULTILINE)
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")

TITLE_MAX: Final = 300
"""Longer titles are cut: each stands with every section below it."""

LINES_MAX: Final = 100_000
MARKERS_MAX: Final = 20_000
"""A document of more lines, or of more items and quotations, is cut at its plain headings alone:
the parser takes ten seconds for a megabyte of nothing but list items."""


def sections(text: str) -> Sequence[Part]:
    """The sections in order, each with its own heading; what stands before the first has none.

    A heading without text of its own stands with the section that follows it.
    """
    parts = []
    preamble = _PREAMBLE.match(text)
    if preamble:
        parts.append(Part(text=preamble[1].strip()))
        text = text[preamble.end() :]
    lines = text.split("\n")
    path: list[tuple[int, str]] = []
    headings = [(0, 0, 0, ""), *_headings(text)]
    ends = [*(first for first, *_ in headings[1:]), len(lines)]
    waiting: list[str] = []
    for (first, body, level, title), end in zip(headings, ends, strict=True):
        if level:
            path = [*(each for each in path if each[0] < level), (level, title)]
        waiting.append("\n".join(lines[first:end]).strip())
        if not any(line.strip() for line in lines[body:end]) and end < len(lines):
            continue
        text = "\n\n".join(each for each in waiting if each)
        waiting.clear()
        parts.append(Part(text=text, section=PATH.join(t for _, t in path if t) or None))
    return [part for part in parts if part.text]


def _headings(text: str) -> Iterator[_Heading]:
    """Each heading that is not nested in something else."""
    if text.count("\n") > LINES_MAX or _has_more(_MARKER, text, MARKERS_MAX):
        yield from _plain_headings(text)
        return
    from markdown_it import MarkdownIt  # noqa: PLC0415 - a server that ingests nothing needs it not

    tokens = MarkdownIt("commonmark").disable("inline").parse(text)
    for token, inner in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            first, body = token.map
            yield first, body, int(token.tag[1:]), _title(inner.content)


def _has_more(pattern: re.Pattern[str], text: str, most: int) -> bool:
    return next(islice(pattern.finditer(text), most, None), None) is not None


def _plain_headings(text: str) -> Iterator[_Heading]:
    """The headings with number signs outside of fenced code."""
    fence = ""
    for number, line in enumerate(text.split("\n")):
        found = _FENCE.match(line)
        if found and (not fence or found[1].startswith(fence)):
            fence = "" if fence else found[1]
        elif not fence and (heading := _HEADING.match(line)):
            title = line[heading.end() :].strip().rstrip("#")
            yield number, number + 1, len(heading[1]), _title(title)


def _title(text: str) -> str:
    plain = _MARKUP.sub(lambda found: found[1] or "", text)
    return " ".join(plain[: 4 * TITLE_MAX].split())[:TITLE_MAX]
