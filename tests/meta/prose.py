"""The prose of the project: pages, docstrings, comments, and the texts of replies and errors."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LOGS = frozenset({"debug", "info", "warning", "error", "exception", "critical"})
QUERY = re.compile(
    r"\b(SELECT|FROM|WHERE|INSERT|UPDATE|DELETE|CREATE|MATCH|MERGE|UNWIND|RETURN|PRAGMA|ALTER"
    r"|VALUES|JOIN|COMMIT|ORDER BY)\b"
)
PATTERN = re.compile(r"\(\?[:=!<P]|\\[bsdw]|</?\w+[ >]|\{\{")
WORD = re.compile(r"(?<![\w-])[A-Za-z][a-z'-]*(?!\w)")
JOINING = re.compile(
    r"\b(the|an?|is|are|was|of|to|in|on|by|for|with|not|no|it|this|that|and|or|has|have|its|be"
    r"|from)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A text that a module writes for a person or a model; an … stands for a value."""

    line: int
    text: str
    is_log: bool


def yield_messages(path: Path) -> Iterator[Message]:
    """Yield the prose among the strings of a module: no docstrings, queries, patterns or words."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    left = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    logs = set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "split":
                left.add(id(node.func.value))
            elif node.func.attr in LOGS and node.args:
                logs.add(id(node.args[0]))
    for node, text in yield_strings(tree):
        if id(node) not in left and _is_prose(text):
            yield Message(line=node.lineno, text=text, is_log=id(node) in logs)


def yield_docstrings(path: Path) -> Iterator[str]:
    """Yield each docstring of a module, and each text below an attribute."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)


def yield_comments(path: Path) -> Iterator[str]:
    """Yield each block of comment lines of a module as one text."""
    block: list[str] = []
    last = 0
    with io.BytesIO(path.read_bytes()) as source:
        for token in tokenize.tokenize(source.readline):
            if token.type == tokenize.COMMENT:
                if block and token.start[0] != last + 1:
                    yield " ".join(block)
                    block = []
                block.append(token.string.lstrip("# "))
                last = token.start[0]
    if block:
        yield " ".join(block)


def yield_paragraphs(text: str) -> Iterator[str]:
    """Yield each paragraph, list item or row of a page or docstring, without code and links."""
    text = re.sub(r"(?ms)^( *)(```|~~~).*?^\1\2", "", text)
    text = re.sub(r"(?s)`+[^`]+`+", "x", text)
    text = re.sub(r"<[^>\n]*>", "", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*[-*|#>\d])", text):
        yield re.sub(r"\s+", " ", paragraph).strip(" #*->|")


def yield_strings(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    match node:
        case ast.JoinedStr(values=parts):
            shown = (part.value if isinstance(part, ast.Constant) else "…" for part in parts)
            yield node, "".join(map(str, shown))
            for part in parts:
                if isinstance(part, ast.FormattedValue):
                    yield from yield_strings(part.value)
        case ast.Constant(value=str(text)):
            yield node, text
        case _:
            for child in ast.iter_child_nodes(node):
                yield from yield_strings(child)


def _is_prose(text: str) -> bool:
    return (
        " " in text
        and len(WORD.findall(text)) > 2
        and JOINING.search(text.lower()) is not None
        and not QUERY.search(text)
        and not PATTERN.search(text)
    )
