"""The how-tos that change the code, followed to the letter in one copy of the checkout.

A block of such a page that bears the name of a file creates it, and a `diff` edits it. All pages
are followed in the same copy, because the checks cost the same for one change as for four.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from tests.docs.markdown import ROOT, Block, blocks_of

PAGES: Final = ("add-a-tool", "add-a-rule", "add-a-backend", "add-a-toolset")
LEFT_OUT: Final = shutil.ignore_patterns(
    *(".git", ".venv*", ".pytest_cache", ".ruff_cache", ".hypothesis", "__pycache__"),
    *("node_modules", "site", "dist"),
)
"""Files that are no source; the cache of mypy is copied, because it saves most of its check."""
SECONDS: Final = 600
LINT: Final = "from importlinter.cli import lint_imports_command as lint; lint()"
META: Final = ("test_rules", "test_read_scope", "test_tidy", "test_vocabulary", "test_type_names")
"""The meta tests that read what a page adds; those of imports run as `lint-imports`."""


def changes_of(page: str) -> list[Block]:
    """The blocks of a page that create or edit files."""
    return [each for each in blocks_of(ROOT / "docs" / "how-to" / f"{page}.md") if each.file]


def edit_text(text: str, difference: str) -> str:
    """The text with the difference made; what it replaces must stand there once.

    Raises:
        AssertionError: it stands there never or several times.
    """
    lines = [(line[:1], line[1:]) for line in difference.splitlines(keepends=True)]
    before = "".join(line for sign, line in lines if sign != "+")
    after = "".join(line for sign, line in lines if sign != "-")
    assert text.count(before) == 1, f"stands there {text.count(before)} times:\n{before}"
    return text.replace(before, after)


def follow_page(page: str, folder: Path) -> list[str]:
    """Make the changes of a page, and return the names of the files that it creates or edits."""
    for block in changes_of(page):
        path = folder / block.file
        if block.language == "diff":
            path.write_text(
                edit_text(path.read_text(encoding="utf-8"), block.text), encoding="utf-8"
            )
        else:
            assert not path.exists(), f"{block}: the file is there already"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
    return sorted({block.file for block in changes_of(page)})


def run_python(folder: Path, *command: str) -> tuple[int, str]:
    """Run Python in the copy; its status, and what it says."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(folder / "src"), str(folder)))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return done.returncode, done.stdout


def yield_checks(python: list[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the parts of `make check` and of the tests; two run side by side."""
    quiet = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:slipcover")
    added = [each for each in python if "/test_" in each]
    meta = [f"tests/meta/{each}.py" for each in META]
    yield "reference", ("-m", "tests.docs.reference")
    yield "types", ("-m", "mypy", *python)
    yield "imports", ("-c", LINT)
    yield "format", ("-m", "ruff", "format", "--check", *python)
    yield "style", ("-m", "ruff", "check", *python)
    yield "tests", (*quiet, *added, "tests/toolsets/test_descriptions.py", *meta)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[int, str]]:
    """Return how each check ends in a copy of the checkout that follows all pages."""
    folder = tmp_path_factory.mktemp("how-tos") / "checkout"
    shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
    files = [file for page in PAGES for file in follow_page(page, folder)]
    python = sorted({each for each in files if each.endswith(".py")})
    with ThreadPoolExecutor(max_workers=2) as beside:
        jobs = {name: beside.submit(run_python, folder, *job) for name, job in yield_checks(python)}
    return {name: job.result() for name, job in jobs.items()}


@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize("check", [name for name, _ in yield_checks([])])
def test_the_checks_pass_after_following_the_pages(
    check: str, outcomes: Mapping[str, tuple[int, str]]
) -> None:
    status, said = outcomes[check]

    assert status == 0, said


@pytest.mark.parametrize("page", PAGES)
def test_each_page_makes_its_change_independently(page: str, tmp_path: Path) -> None:
    for block in changes_of(page):
        if block.language == "diff" and not (tmp_path / block.file).exists():
            (tmp_path / block.file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / block.file, tmp_path / block.file)

    files = follow_page(page, tmp_path)

    assert any(each.startswith("src/") for each in files)
    assert any(each.startswith("tests/") for each in files)
    assert any(each.startswith("changelog.d/") for each in files)


def test_an_edit_that_matches_nowhere_or_twice_is_refused() -> None:
    assert edit_text("a\nb\n", " a\n+c\n b\n") == "a\nc\nb\n"
    for text in ("b\n", "a\na\n"):
        with pytest.raises(AssertionError):
            edit_text(text, "-a\n+c\n")
