"""The files that a newcomer and a release rely on are there and mean what they say."""

import re
import subprocess
import sys
import tomllib
from collections import Counter

from tests.meta.tree import PACKAGE, ROOT

FRAGMENT = re.compile(r"(\+[a-z0-9-]+|\d+)\.([a-z]+)(\.\d+)?\.md")
FRAGMENTS = [path for path in (ROOT / "changelog.d").glob("*.md") if path.name != "README.md"]


def test_every_changelog_fragment_has_a_kind_and_a_sentence() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    kinds = {kind["directory"] for kind in settings["tool"]["towncrier"]["type"]}
    named = {path: FRAGMENT.fullmatch(path.name) for path in FRAGMENTS}

    misnamed = [path.name for path, found in named.items() if not found or found[2] not in kinds]
    assert misnamed == [], "name it <issue>.<kind>.md or +<word>.<kind>.md"
    unended = [
        path.name
        for path in FRAGMENTS
        if not path.read_text(encoding="utf-8").rstrip().endswith(".")
    ]
    assert unended == [], "a fragment ends with a full stop"


def test_the_changelog_compiles() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "0"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_the_readme_has_its_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    assert re.search(r"(?m)^make demo\b", readme)
    assert re.search(r"(?m)^make test\b", readme)


def test_ci_runs_what_the_readme_says() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    assert re.search(r"(?m)^make test\b", script)
    assert re.search(r"(?m)^make check\b", script)


def test_the_glossary_explains_a_word_once_and_says_where() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    words = [word for word, *_ in rows if word != "word"]
    places = [place for row in rows for place in re.findall(r"`([a-z_/]+(?:/|\.py))`", row[-1])]

    assert [word for word, times in Counter(words).items() if times > 1] == []
    assert len(places) > 100
    assert [place for place in places if not (PACKAGE / place).exists()] == []


DECISIONS = ({"Question", "Decision", "Why"}, {"Context", "Decision", "Consequences"})
"""The parts that a decision has; pages written from now on have the second ones."""


def test_every_decision_follows_the_template() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))

    assert pages
    for number, path in enumerate(pages, 1):
        text = path.read_text(encoding="utf-8")
        assert path.name.startswith(f"{number:04}-"), f"{path.name}: numbers follow each other"
        assert text.startswith(f"# {number}. "), path.name
        parts = re.findall(r"^\*\*([^*]+)\.\*\*", text, re.MULTILINE)
        assert any(set(parts) >= each for each in DECISIONS), f"{path.name} has {parts}"
