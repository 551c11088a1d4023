"""What the documents name exists: commands, options, make targets, settings, files and links."""

import re
from functools import cache
from pathlib import Path

import pytest
from click import Command, Context, Group, Option

from canonry.app.setting_table import SETTINGS
from canonry.cli import main
from tests.docs.markdown import ROOT, blocks, documents, inline_code, links

FOLDERS = ("src/", "tests/", "docs/", "bench/", "requirements/", "changelog.d/", ".ci/")
"""Where a path that begins with one of these must exist, from the checkout's root."""
INNER = tuple(f"{path.name}/" for path in (ROOT / "src" / "canonry").iterdir() if path.is_dir())
"""Packages: a path that begins with one of these is meant inside the package."""
PLACEHOLDER = re.compile(r"[<>{}*…]|\.\.\.|YYYY|NNNN")
COMMAND = re.compile(r"(?m)(?:^|[\s;|&(])(canonry(?: +[^\n|;&>#]*)?)")
MAKE = re.compile(r"(?m)^(?:\$ )?make ([a-z]+)\b|`make ([a-z]+)\b")


def page(path: Path) -> str:
    """How a failure names a document."""
    return path.relative_to(ROOT).as_posix()


def shown_commands() -> list[str]:
    """Every `canonry …` line of code blocks and inline code, continuation lines joined."""
    texts = [block.text for block in blocks("bash", "console")]
    texts += [code for path in documents() for code in inline_code(path)]
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
            break
        found = command.get_command(context, words.pop(0))
        assert found is not None, line
        command = found
    return command, words


def options(command: Command) -> set[str]:
    """Every spelling of every option that `command` takes."""
    spelled = [
        name
        for parameter in command.params
        if isinstance(parameter, Option)
        for name in (*parameter.opts, *parameter.secondary_opts)
    ]
    return {"--help", "--version", *spelled}


@pytest.mark.parametrize("line", shown_commands())
def test_a_shown_command_exists_with_its_options(line: str) -> None:
    command, words = command_named(line)

    if isinstance(command, Group):
        assert not [word for word in words if re.fullmatch(r"[a-z][a-z-]*", word)], (
            "no such command"
        )
    used = {word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)}
    assert not used - options(command)


def test_the_documents_show_commands() -> None:
    assert shown_commands()


@pytest.mark.parametrize("path", documents(), ids=page)
def test_named_make_targets_exist(path: Path) -> None:
    targets = set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
    named = {one or two for one, two in MAKE.findall(path.read_text(encoding="utf-8"))}

    assert not named - targets


@pytest.mark.parametrize("path", documents(), ids=page)
def test_named_files_exist(path: Path) -> None:
    missing = []
    for code in inline_code(path):
        if PLACEHOLDER.search(code) or " " in code:
            continue
        if code.startswith(FOLDERS) and not (ROOT / code).exists():
            missing.append(code)
        if code.startswith(INNER) and not (ROOT / "src" / "canonry" / code).exists():
            missing.append(code)

    assert not missing


@pytest.mark.parametrize("path", documents(), ids=page)
def test_links_lead_somewhere(path: Path) -> None:
    assert not [target for target in links(path) if not (path.parent / target).exists()]


@pytest.mark.parametrize("path", documents(), ids=page)
def test_named_settings_exist(path: Path) -> None:
    source = "\n".join(
        file.read_text(encoding="utf-8")
        for folder in ("src", "tests")
        for file in (ROOT / folder).rglob("*.py")
    )
    named = set(re.findall(r"\bCANONRY_[A-Z_]+\b", path.read_text(encoding="utf-8")))
    known = set(re.findall(r"\bCANONRY_[A-Z_]+\b", source)) | {row.variable for row in SETTINGS}

    assert not named - known
