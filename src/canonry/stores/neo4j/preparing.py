"""Preparing a graph: the constraints and indexes that it is written by, where they are missing.

Labels with a line before them say where the graph stands; the others are for people.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from canonry.stores.neo4j.faults import newer

AskGraph: TypeAlias = Callable[[str, Mapping[str, Any] | None], Awaitable[list[list[Any]]]]

FORMAT: Final = 2
"""The form of nodes and edges; of form 1 there are nodes beside, by which it answered questions."""

_UNIQUE: Final = (
    ("Thing", "store", "id"),
    ("_Cursor", "store", "space"),
    ("_Store", "store"),
)
_FOUND_BY: Final = (
    ("Thing", "store", "space", "kind"),
    ("Entity", "name"),
    ("Fact", "name"),
    ("Event", "name"),
)
_KNOWN: Final = "SHOW INDEXES YIELD name WHERE name STARTS WITH 'canonry_' RETURN name"
_FORMAT: Final = "MERGE (s:_Store {store: $store}) ON CREATE SET s.format = $format RETURN s.format"
_BESIDE: Final = """
MATCH (n:_Date|_Row|_Run|_Text|_Version) WHERE n.store = $store
WITH n LIMIT 10000 DELETE n RETURN count(n)
"""
_RAISED: Final = "MATCH (s:_Store {store: $store}) SET s.format = $format"
LABELS: Final = tuple(dict.fromkeys(label for label, *_ in _UNIQUE))
"""Every node bears one of these."""


async def prepared(ask: AskGraph) -> None:
    """Let the graph have what it is written by, and nothing that only former versions need.

    Raises:
        BrokenInvariant: `store.newer`.
    """
    wanted = dict([*map(_constraint, _UNIQUE), *map(_index, _FOUND_BY)])
    known = {row[0] for row in await ask(_KNOWN, None)}
    missing = [statement for name, statement in wanted.items() if name not in known]
    for statement in missing:
        await ask(statement, None)
    if missing:
        await ask("CALL db.awaitIndexes(60)", None)
    ((found,),) = await ask(_FORMAT, {"format": FORMAT})
    if found > FORMAT:
        raise newer()
    if found < FORMAT:
        while await ask(_BESIDE, None) != [[0]]:
            pass
        await ask(_RAISED, {"format": FORMAT})


def _constraint(told: Sequence[str]) -> tuple[str, str]:
    name, label, fields = _named(told)
    made = f"CREATE CONSTRAINT {name} IF NOT EXISTS FOR (n:{label}) REQUIRE ({fields}) IS UNIQUE"
    return name, made


def _index(told: Sequence[str]) -> tuple[str, str]:
    name, label, fields = _named(told)
    return name, f"CREATE INDEX {name} IF NOT EXISTS FOR (n:{label}) ON ({fields})"


def _named(told: Sequence[str]) -> tuple[str, str, str]:
    label, *names = told
    name = "_".join(("canonry", label.strip("_").lower(), *names))
    return name, label, ", ".join(f"n.{each}" for each in names)
