"""Clients that make types of output schemas pass replies on whole: mcpo, which Open WebUI uses."""

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cli.run import run_canonry
from tests.clients.test_clients import HERE, PYTHONS, run_program

SPACE: Final = "00000000-0000-4000-8000-000000000009"
USER: Final = "00000000-0000-0000-0000-000000000000"
ENVELOPE: Final = {
    "proposalId": SPACE,
    "version": 1,
    "issuedUtc": "2026-01-01T00:00:00Z",
    "actor": {"kind": "player"},
    "correlationId": SPACE,
    "idempotencyKey": "once",
    "proposedActions": [
        {
            "actionType": "Mover.Move",
            "scopeKey": "loc:nowhere",
            "params": {"moverId": "nobody", "direction": "north"},
        }
    ],
}
CALLS: Final[dict[str, list[list[Any]]]] = {
    "canon": [
        ["open", {"name": "Saltmere", "about": "A harbour"}],
        ["tell", {"title": "Book", "text": "Odo keeps the light.", "space": "Saltmere"}],
        [
            "propose",
            {
                "claims": [
                    {"kind": "entity", "name": "Odo", "type": "character", "tags": ["alive"]},
                    {"kind": "fact", "says": "Odo keeps the light", "about": ["Odo"]},
                ],
                "evidence": ["Book"],
                "space": "Saltmere",
            },
        ],
        ["get", {"of": "Odo"}],
        ["why", {"of": "Odo"}],
        ["find", {"text": "light"}],
        ["context", {"of": "Odo"}],
    ],
    "narrative": [
        ["neo4j_create_universe", {"name": "Saltmere", "description": "A harbour"}],
        [
            "neo4j_create_source",
            {
                "universe_id": "$universe_id",
                "doc_id": "book",
                "title": "Book",
                "source_type": "lore",
                "canon_level": "authoritative",
            },
        ],
        [
            "neo4j_create_entity",
            {
                "universe_id": "$universe_id",
                "name": "Odo",
                "entity_class": "EntityInstance",
                "entity_type": "character",
                "description": "He keeps the light.",
                "properties": {"age": 61, "keys": ["brass", "iron"]},
                "confidence": 1,
                "authority": "gm",
                "evidence_refs": ["source:$source_id"],
            },
        ],
        ["neo4j_get_entity", {"entity_id": "$entity_id"}],
        ["neo4j_query_entities", {"universe_id": "$universe_id"}],
        ["neo4j_explain", {"id": "$entity_id"}],
        ["neo4j_get_universe", {"universe_id": "$universe_id"}],
    ],
    "world": [
        ["health", {}],
        ["propose-action", {"playerId": "nobody", "actionEnvelope": ENVELOPE}],
        ["list-exits", {"locationId": "nowhere"}],
    ],
    "truth": [
        ["retrieve_entities", {"user_id": USER}],
        ["list_entity_types", {"user_id": USER}],
        ["list_entity_schemas", {"user_id": USER}],
    ],
}

STARTED_AS: Final = {"narrative": "CanonKeeper", "world": "Narrative"}


def without_nulls(value: Any) -> Any:
    """Return a value without its nulls, which mcpo leaves out by its own choice."""
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("toolset", CALLS)
def test_mcpo_returns_every_member_of_a_reply(toolset: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "canonry.cli", "serve", "--toolsets", toolset]
    command += ["--data", str(tmp_path / "data")]
    if toolset in STARTED_AS:
        command += ["--agent-type", STARTED_AS[toolset]]
    if toolset == "world":
        made = run_canonry("world", "demo", "--data", str(tmp_path / "data"))
        command += ["--world", re.findall(r"--world (\S+)", made.stdout)[0]]
    asked = json.dumps({"command": command, "calls": CALLS[toolset]})

    done = run_program([PYTHONS[1], HERE / "programs" / "mcpo_types.py", asked], tmp_path)

    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout.splitlines()[-1])["results"]
    for (name, _), result in zip(CALLS[toolset], results, strict=True):
        assert "error" not in result["sent"], name
        assert without_nulls(result["passed_on"]) == without_nulls(result["sent"]), name
