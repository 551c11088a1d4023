"""Commands, options, make targets, settings, files and links in the documents exist."""

import re
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path

from click import Command, Context, Group, Option

from canonry.app.settings import SETTINGS
from canonry.cli import main
from tests.docs.markdown import ROOT, fenced_blocks, inline_code, links_of, list_documents
from tests.meta.tree import python_files

FOLDERS = ("src/", "tests/", "docs/", "bench/", "requirements/", "changelog.d/", ".ci/")
"""Paths that begin with one of these must exist, from the root of the checkout."""
INNER = tuple(f"{path.name}/" for path in (ROOT / "src" / "canonry").iterdir() if path.is_dir())
"""Packages: a path that begins with one of these is meant inside the package."""
PLACEHOLDER = re.compile(r"[<>{}*…]|\.\.\.|YYYY|NNNN")
COMMAND = re.compile(r"(?m)(?:^|[\s;|&(])(canonry(?: +[^\n|;&>#]*)?)")
MAKE = re.compile(r"(?m)^(?:\$ )?make ([a-z-]+)\b|`make ([a-z-]+)\b")
SETTING = re.compile(r"\bCANONRY_[A-Z_]+\b")


def pages_with(unknown: Callable[[Path], Collection[str]]) -> dict[str, Collection[str]]:
    """Return the names in each document that do not exist, by its path."""
    found = {path.relative_to(ROOT).as_posix(): unknown(path) for path in list_documents()}
    return {page: names for page, names in found.items() if names}


def shown_commands() -> list[str]:
    """Every `canonry …` line of code blocks and inline code, continuation lines joined."""
    texts = [block.text for block in fenced_blocks("bash", "console")]
    texts += [code for path in list_documents() for code in inline_code(path)]
    joined = [text.replace("\\\n", " ") for text in texts]
    return sorted({found.strip() for text in joined for found in COMMAND.findall(text)})


@cache
def command_named(line: str) -> tuple[Command, list[str]]:
    """The click command that a line calls, and the words that are left for it before any `--`."""
    command: Command = main
    words = line.split(" -- ", maxsplit=1)[0].split()[1:]
    while words and isinstance(command, Group):
        context = Context(command)
        if words[0] not in command.list_commands(context):
            if (default := getattr(command, "default", None)) is None:
                break
            words.insert(0, default)
        found = command.get_command(context, words.pop(0))
        assert found is not None, line
        command = found
    return command, words


def options_of(command: Command) -> set[str]:
    """Every spelling of every option that `command` takes."""
    spelled = [
        name
        for parameter in command.params
        if isinstance(parameter, Option)
        for name in (*parameter.opts, *parameter.secondary_opts)
    ]
    return {"--help", "--version", *spelled}


def unknown_words(line: str) -> set[str]:
    """The commands and options of a shown line that do not exist."""
    command, words = command_named(line)
    used = {word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)}
    further = {word for word in words if re.fullmatch(r"[a-z][a-z-]*", word)}
    return (used - options_of(command)) | (further if isinstance(command, Group) else set())


def test_every_shown_command_exists_with_its_options() -> None:
    lines = shown_commands()

    assert lines
    assert {line: words for line in lines if (words := unknown_words(line))} == {}


def test_named_make_targets_exist() -> None:
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))

    def named(path: Path) -> set[str]:
        return {one or two for one, two in MAKE.findall(path.read_text(encoding="utf-8"))}

    assert pages_with(lambda path: named(path) - targets) == {}


def test_named_files_exist() -> None:
    def missing(path: Path) -> list[str]:
        codes = [code for code in inline_code(path) if not PLACEHOLDER.search(code)]
        return [
            code
            for code in codes
            if " " not in code
            and (
                (code.startswith(FOLDERS) and not (ROOT / code).exists())
                or (code.startswith(INNER) and not (ROOT / "src" / "canonry" / code).exists())
            )
        ]

    assert pages_with(missing) == {}


def test_links_have_a_target() -> None:
    assert (
        pages_with(
            lambda path: [each for each in links_of(path) if not (path.parent / each).exists()]
        )
        == {}
    )


def test_named_settings_exist() -> None:
    known = {row.variable for row in SETTINGS}
    for file in python_files("src", "tests"):
        known.update(SETTING.findall(file.read_text(encoding="utf-8")))

    assert pages_with(lambda p: set(SETTING.findall(p.read_text(encoding="utf-8"))) - known) == {}
