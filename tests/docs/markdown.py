"""The documents as data: fenced blocks with their info string, inline code and links."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"(?ms)^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=indent)```\s*?$")
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"\]\(([^)\s]+)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block; `marks` are the words after the language, such as `run`."""

    path: Path
    line: int
    language: str
    marks: frozenset[str]
    text: str

    @property
    def file(self) -> str:
        """The file of the checkout that the block creates, or edits where it is a difference."""
        return next((mark[7:-1] for mark in self.marks if mark.startswith('title="')), "")

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT).as_posix()}:{self.line}"


def list_documents() -> list[Path]:
    """Every page that a reader may meet; past releases in the changelog are history."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def fenced_blocks(*languages: str) -> list[Block]:
    """The fenced blocks in one of `languages`, or all."""
    return [
        block
        for path in list_documents()
        for block in blocks_of(path)
        if not languages or block.language in languages
    ]


def blocks_of(path: Path) -> Iterator[Block]:
    """The fenced blocks of one page, without their indentation."""
    text = path.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        language, *marks = found["info"].split() or [""]
        indent = len(found["indent"])
        yield Block(
            path=path,
            line=text.count("\n", 0, found.start()) + 1,
            language=language,
            marks=frozenset(marks),
            text="".join(line[indent:] for line in found["text"].splitlines(keepends=True)),
        )


def prose_of(path: Path) -> str:
    """The page without its fenced blocks."""
    return FENCE.sub("", path.read_text(encoding="utf-8"))


def inline_code(path: Path) -> list[str]:
    """Return the texts between single backticks in the prose of one page."""
    return INLINE.findall(prose_of(path))


def links_of(path: Path) -> list[str]:
    """The targets of the links of one page, without anchors; other sites' are left out."""
    targets = (target.partition("#")[0] for target in LINK.findall(prose_of(path)))
    return [target for target in targets if target and "://" not in target]
