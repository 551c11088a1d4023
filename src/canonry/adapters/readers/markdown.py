"""Markdown: cut at its headings, as CommonMark sees them; the text stays as it was written."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from canonry.domain.excerpts import Part

PATH: Final = " > "
"""Stands between the headings that lead to a section."""

_PREAMBLE: Final = re.compile(r"\A---[^\S\n]*\n(.*?\n)(?:---|\.\.\.)[^\S\n]*(?:\n|\Z)", re.DOTALL)
_MARKUP: Final = re.compile(r"[*`]+|!?\[([^\]]*)\]\([^)]*\)")


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


def _headings(text: str) -> Iterator[tuple[int, int, int, str]]:
    """(line of the heading, line after it, level, title) of each heading that is not nested."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - a server that ingests nothing needs it not

    tokens = MarkdownIt("commonmark").disable("inline").parse(text)
    for token, inner in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            title = _MARKUP.sub(lambda found: found[1] or "", inner.content)
            yield (*token.map, int(token.tag[1:]), " ".join(title.split()))  # type: ignore[misc]
