"""Prose is plain: no sentence has "who" or "what" as its subject, and words are the field's."""

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.meta.prose import yield_comments, yield_docstrings, yield_messages, yield_paragraphs
from tests.meta.tree import PACKAGE, ROOT, python_files, relative_path

SUBJECT = re.compile(
    r"(?:^|(?<=[.!?:;]\s))(?:And |But |Then |So )?"
    r"(?:Who|Whoever|Whose|Whom|What|Whatever|Whichever|That which|Those who|Where nobody)\b"
    r"(?![^.!?]*\?)"
)
"""A sentence that begins with a pronoun and is no question."""

REPLACED = re.compile(
    r"\b(?:bearers?(?! tokens?)|borne|desks?|fallen|foresee\w*|foretell\w*|halls?|heirs?|mended"
    r"|owed|polyglot|rivals?|shelf|shelves|hereby|thereby|whereby|things?|upkeep|upkept|veil\w*"
    r"|visitors?)\b",
    re.IGNORECASE,
)
"""A word that `docs/glossary.md` replaces by the field's word."""

NAMED = re.compile(
    r"(?:bearer|borne|desk|door|fallen|foreseen|foretell|hall|heir|mended|polyglot|rival|shel(?:f|ve)"
    r"|sight|telling|tell|thing|told|untold|upkeep|upkept|veil|visitor)s?",
    re.IGNORECASE,
)
"""Words that no function, class, parameter or variable has in its name."""

AMBIGUOUS = re.compile(r"looked|looks|ways?", re.IGNORECASE)
"""Words of several meanings, which no name in the package has."""

BOUND = re.compile(
    r"(?m)^ *(?:(?:async )?def|class) (\w+)|^ *(?:async )?for ([\w, ]+) in "
    r"|^ *(\w+(?:, \w+)*)(?:: .*)? = |\bas (\w+)\b|[(,] ?(\w+): |^ +(\w+): "
)
"""A name in a text of code where it is likely bound, found faster than by parsing."""

STORED = frozenset(
    {
        # Fields of entries, items and schemas, which logs store by these names.
        *("borne", "fallen", "thing", "thing_id", "told", "told_apart_by", "told_at", "veils"),
        "one_way",
        # A rule, which settings and rulings name.
        "event_told_before",
        # A kind of proposals, an argument of a published tool, and the function of a command.
        *("UPKEEP", "tell", "tell_words"),
    }
)
"""Names of stored or published data."""

TOKENS = re.compile(r"bearer", re.IGNORECASE)
"""A token of HTTP, in the package `server` and its settings."""

TEXTS = ("prompts.toml", "rules.toml", "settings.toml", "tools.toml")
"""Data files with texts that a person or a model reads."""

EXCEPTIONS: dict[str, tuple[str, ...]] = {
    # Each decision ends with a paragraph of this heading.
    "docs/decisions/": ("What would change it.",),
    # Titles that are stored, and a value of an option.
    "": ("What was said", "What is played", "--to polyglot"),
    # The prompt of a language model, whose digest is stored with what the model found.
    "src/canonry/documents/": ("What stands between the marks", "could mean two things"),
    "docs/reference/messages.md": ("What stands between the marks", "could mean two things"),
}
"""The beginning of a path -> what stands there for a reason."""


def texts_in(value: Any) -> Iterator[str]:
    """Yield every text in a value of a data file, however deep it lies."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from texts_in(each)


def passages_of(path: Path) -> Iterator[str]:
    """Yield every text of a file that a person or a model reads."""
    if path.suffix == ".md":
        yield from yield_paragraphs(path.read_text(encoding="utf-8"))
        return
    if path.suffix == ".toml":
        for text in texts_in(tomllib.loads(path.read_text(encoding="utf-8"))):
            yield from yield_paragraphs(text)
        return
    for text in (
        *yield_docstrings(path),
        *yield_comments(path),
        *(each.text for each in yield_messages(path)),
    ):
        yield from yield_paragraphs(text)


def old_style(name: str, passages: Iterator[str]) -> list[str]:
    """Return what is refused in the passages of the file `name`, each with the words around it."""
    allowed = [
        each for lead, texts in EXCEPTIONS.items() if name.startswith(lead) for each in texts
    ]
    left = re.compile("|".join(map(re.escape, allowed)) or "(?!)")
    return [
        f"{name}: …{text[max(0, hit.start() - 30) : hit.end() + 60]}…"
        for text in (left.sub("", passage) for passage in passages)
        for pattern in (SUBJECT, REPLACED)
        for hit in pattern.finditer(text)
    ]


def names_in(tree: ast.AST) -> Iterator[str]:
    """Yield the names of the functions, classes, parameters and variables of a module."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.arg():
                yield node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.id
            case ast.MatchAs(name=str(name)):
                yield name
            case _:
                pass


def old_names(tree: ast.AST, *patterns: re.Pattern[str]) -> list[str]:
    """Return the names that use a word of the house; a stored name is none."""
    words = {name: re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name) for name in names_in(tree)}
    return sorted(
        name
        for name, parts in words.items()
        if name not in STORED
        and any(pattern.fullmatch(part) for pattern in patterns for part in parts)
    )


def uses_old_name(text: str) -> bool:
    """Return whether a text of code is likely to bind a name with a word of the house."""
    names = {hit[hit.lastindex] for hit in BOUND.finditer(text) if hit.lastindex}
    return any(map(NAMED.fullmatch, re.findall(r"[A-Z]?[a-z]+|[A-Z]+", " ".join(names))))


def prose_files(part: str) -> list[Path]:
    """Return the files of a package, or all pages."""
    if part != "pages":
        texts = (each for name in TEXTS for each in (PACKAGE / part).rglob(name))
        return [*python_files(f"src/canonry/{part}"), *texts]
    pages = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "changelog.d").glob("*.md"),
    ]
    return sorted(pages)


PARTS = [
    "pages",
    *sorted(each.name for each in PACKAGE.iterdir() if (each / "__init__.py").exists()),
]


@pytest.mark.parametrize("part", PARTS)
def test_prose_is_plain(part: str) -> None:
    found = [
        each
        for path in prose_files(part)
        for each in old_style(relative_path(path), passages_of(path))
    ]

    assert found == [], "CONTRIBUTING.md says how to write"


@pytest.mark.parametrize("part", PARTS[1:])
def test_names_use_the_words_of_the_field(part: str) -> None:
    found = {
        relative_path(path): names
        for path in python_files(f"src/canonry/{part}")
        if (names := old_names(ast.parse(path.read_text(encoding="utf-8")), NAMED, AMBIGUOUS))
    }
    if part in {"server", "cli"}:
        found = {
            path: left
            for path, names in found.items()
            if (left := [each for each in names if not TOKENS.search(each)])
        }

    assert found == {}, "docs/glossary.md has the words"


def test_names_in_tests_use_the_words_of_the_field() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in python_files("tests", "bench")}
    found = {
        relative_path(path): names
        for path, text in texts.items()
        if uses_old_name(text)
        and (
            names := [each for each in old_names(ast.parse(text), NAMED) if not TOKENS.search(each)]
        )
    }

    assert found == {}, "docs/glossary.md has the words"


def test_an_old_name_is_found() -> None:
    text = "def untold(thing_id, words): ...\nclass ShelfRow: ...\nrival = always = one_way = 1"
    tree = ast.parse(f"{text}\ndef find_way(): ...")

    assert old_names(tree, NAMED) == ["ShelfRow", "rival", "untold"]
    assert old_names(tree, AMBIGUOUS) == ["find_way"]
    assert uses_old_name(text)
    assert not uses_old_name("def untoward(words): ...")


@pytest.mark.parametrize(
    "text",
    [
        "Who is bound to a contract serves that instead.",
        "It starts. What nobody claims is kept.",
        "- Whatever is left over is dropped.",
        "A thing is kept.",
        "This is the desk of a caller.",
    ],
)
def test_the_old_style_is_found(text: str) -> None:
    assert len(old_style("page.md", yield_paragraphs(text))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "What does it cost?",
        "See `what_holds`, and ask who may read it.",
        "```\nWhat is in a block is no prose.\n```\nPrint it.",
        "Send a bearer token.",
    ],
)
def test_plain_prose_passes(text: str) -> None:
    assert old_style("page.md", yield_paragraphs(text)) == []
