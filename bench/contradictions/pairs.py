"""Labelled pairs of statements, as they stand in `pairs.jsonl`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
FILE = FOLDER / "pairs.jsonl"
SETS: Mapping[str, Sequence[Path]] = {
    "pairs": (FILE,),
    "statements": (FOLDER / "statements.jsonl", FOLDER / "statements_kept.jsonl"),
    "everyday": (FOLDER / "everyday.jsonl", FOLDER / "everyday_kept.jsonl"),
    "classes": (FOLDER / "classes.jsonl", FOLDER / "classes_kept.jsonl"),
    "spoken": (FOLDER / "spoken.jsonl", FOLDER / "spoken_kept.jsonl"),
    "varied": (FOLDER / "varied.jsonl", FOLDER / "varied_kept.jsonl"),
}
"""The files of each set of pairs; of all but the first, the kept half has a file of its own."""

ENGLISH = "en"
SIDE_MEMBERS = frozenset(
    {"statement", "entities", "fact_type", "properties", "time", "until", "scene"}
)
PAIR_MEMBERS = frozenset({"id", "half", "kind", "label", "hard", "canon", "claim"})
OPTIONAL_MEMBERS = frozenset({"language", "change"})


class Label(StrEnum):
    """The relation of two statements, as a careful reader judges it."""

    CONTRADICTION = "contradiction"
    POSSIBLE = "possible"
    COMPATIBLE = "compatible"


class Half(StrEnum):
    """The purpose of a pair: development or report."""

    DEVELOP = "develop"
    KEPT = "kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two statements; `README.md` says what its members mean."""

    statement: str
    entities: tuple[str, ...] = ()
    fact_type: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)
    time: str | None = None
    until: str | None = None
    scene: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A standing statement, a claim, and the grade that the claim deserves."""

    id: str
    half: Half
    kind: str
    label: Label
    hard: bool
    canon: Side
    claim: Side
    language: str = ENGLISH
    change: bool = False


def read_pairs(text: str | None = None) -> Sequence[Pair]:
    """The pairs of the file, or of `text` in its form.

    Raises:
        ValueError: a line is no pair; the message names it.
    """
    lines = (FILE.read_text("utf-8") if text is None else text).splitlines()
    return [_pair(number, json.loads(line)) for number, line in enumerate(lines, start=1)]


def read_set(name: str) -> Sequence[Pair]:
    """The pairs of the set that `SETS` has under this name, its files in order."""
    return [pair for file in SETS[name] for pair in read_pairs(file.read_text("utf-8"))]


def _pair(number: int, stated: Mapping[str, Any]) -> Pair:
    unknown = sorted(stated.keys() - PAIR_MEMBERS - OPTIONAL_MEMBERS)
    missing = sorted(PAIR_MEMBERS - stated.keys())
    flags = (stated.get("hard"), stated.get("change", False))
    if unknown or missing or not all(isinstance(flag, bool) for flag in flags):
        raise ValueError(
            f"line {number}: unknown {unknown}, missing {missing}, or hard or change is no boolean"
        )
    return Pair(
        id=stated["id"],
        half=Half(stated["half"]),
        kind=stated["kind"],
        label=Label(stated["label"]),
        hard=stated["hard"],
        canon=_side(number, stated["canon"]),
        claim=_side(number, stated["claim"]),
        language=stated.get("language", ENGLISH),
        change=stated.get("change", False),
    )


def _side(number: int, stated: Mapping[str, Any]) -> Side:
    unknown = sorted(stated.keys() - SIDE_MEMBERS)
    silent = not stated.get("statement", "").strip()
    if unknown or silent or not isinstance(stated.get("scene", 0), int):
        message = f"unknown {unknown}, no statement, or scene is no number"
        raise ValueError(f"line {number}: a side has {message}")
    return Side(**{**stated, "entities": tuple(stated.get("entities", ()))})
