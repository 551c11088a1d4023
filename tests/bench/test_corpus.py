"""240 true statements of daily life, work and games, with 20 planted contradictions among them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.contradictions.pairs import FOLDER
from tests.toolsets.canon.kit import make_driver

pytestmark = pytest.mark.anyio

FOUND_AT_LEAST, FALSE_AT_MOST = 16, 0.03
CORPUS = FOLDER / "corpus.txt"
AT_ONCE = 40


@dataclass(frozen=True)
class Corpus:
    """Names by type, the true statements, and those that contradict one of them."""

    names: dict[str, str]
    true: tuple[str, ...]
    planted: tuple[str, ...]


def read_corpus(path: Path = CORPUS) -> Corpus:
    """The corpus of a file."""
    lines = [line for line in path.read_text("utf-8").splitlines() if not line.startswith("#")]
    named = [line.removeprefix(": ").split() for line in lines if line.startswith(":")]
    return Corpus(
        names={name: kind for kind, *names in named for name in names},
        true=tuple(line for line in lines if line[:1] not in {":", "!"}),
        planted=tuple(line.removeprefix("! ") for line in lines if line.startswith("!")),
    )


def call_batches(statements: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The statements of each call."""
    for start in range(0, len(statements), AT_ONCE):
        yield statements[start : start + AT_ONCE]


async def find_noticed(corpus: Corpus) -> tuple[list[str], list[str]]:
    """The true statements that are called a conflict, and the planted ones that are noticed."""
    driver = make_driver()
    await driver.call("open", name="Harlow and around", about="A town")
    entities = [
        {"kind": "entity", "name": name, "type": kind} for name, kind in corpus.names.items()
    ]
    await driver.call("propose", said="These are all.", claims=entities)
    found: list[list[str]] = []
    for part in (corpus.true, corpus.planted):
        flagged: list[str] = []
        found.append(flagged)
        for some in call_batches(part):
            claims = [{"kind": "fact", "says": statement} for statement in some]
            reply = await driver.call("propose", said="So it is.", claims=claims)
            for statement, verdict in zip(some, reply["verdicts"], strict=True):
                plain = verdict["verdict"] == "accepted" and not verdict.get("against")
                flagged += [] if plain and not verdict.get("ends") else [statement]
    return found[0], found[1]


async def test_planted_contradictions_are_found_and_true_statements_pass() -> None:
    corpus = read_corpus()
    false, found = await find_noticed(corpus)

    assert (len(corpus.true), len(corpus.planted)) == (240, 20)
    assert len(found) >= FOUND_AT_LEAST, sorted({*corpus.planted} - {*found})
    assert len(false) <= FALSE_AT_MOST * len(corpus.true), false
