"""Calls as models write them: other names, one value for a list, limits, and what is refused."""

import re
from typing import Any

import anyio
import pytest

from canonry.assistant import CANON
from canonry.assistant.aliases import claim_by_kind, normalise_arguments
from canonry.values.json_values import decode_json
from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio
SCHEMAS = {tool.name: tool.input_schema for tool in CANON.tools}

READS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("find", {"query": "light"}, {"text": "light"}),
    ("find", {"q": "light", "kinds": "Facts"}, {"text": "light", "kinds": ["fact"]}),
    ("find", {"entity": "Odo", "kind": "fact"}, {"about": "Odo", "kinds": ["fact"]}),
    ("find", {"text": ["light"], "top_k": "3"}, {"text": "light", "limit": 3}),
    (
        "find",
        {"question": "light", "entity_type": "character"},
        {"text": "light", "type": "character"},
    ),
    ("get", {"name": "Odo Brand"}, {"of": "Odo Brand"}),
    ("get", {"id": ["Odo Brand"], "verbose": "true"}, {"of": "Odo Brand", "full": True}),
    ("why", {"item": "Odo Brand"}, {"of": "Odo Brand"}),
    (
        "timeline",
        {"since": "2025-01-01", "until": "2026-01-01"},
        {"from": "2025-01-01", "to": "2026-01-01"},
    ),
    ("changes", {"after": "2025-01-01"}, {"since": "2025-01-01"}),
    ("review", {"kind": "Duplicates"}, {"what": "duplicates"}),
    (
        "context",
        {"entity": "Odo", "query": "light?", "budget": 9},
        {"of": "Odo", "question": "light?", "tokens": 50},
    ),
    ("spaces", {"page_size": 2}, {"limit": 2}),
    ("find", {"text": ["light", "house"], "kinds": "all"}, {"text": "light\nhouse"}),
    (
        "find",
        {"q": "light", "kinds": "facts, events"},
        {"text": "light", "kinds": ["fact", "event"]},
    ),
    ("find", {"text": "", "about": "Odo"}, {"about": "Odo"}),
    ("get", {"of": "Odo", "full": "yes"}, {"of": "Odo", "full": True}),
    ("review", {"what": "everything"}, {}),
]
FACT = {"kind": "fact", "says": "Odo keeps the light"}
CLAIMS: list[tuple[Any, dict[str, Any]]] = [
    (
        {"kind": "update", "entity": "Odo", "description": "A keeper"},
        {"kind": "correction", "of": "Odo", "field": "description", "value": "A keeper"},
    ),
    (
        {"kind": "state", "entity": "Odo", "state": "drunk, tired"},
        {"kind": "state", "of": "Odo", "tags": ["drunk", "tired"]},
    ),
    ({"says": "Odo keeps the light", "confidence": 80}, FACT | {"confidence": 0.8}),
    (
        {"kind": "event", "title": "A storm", "description": "It hits the pier."},
        {"kind": "event", "says": "A storm", "more": "It hits the pier."},
    ),
    ({"name": "Tom", "type": "person"}, {"kind": "entity", "name": "Tom", "type": "person"}),
    ("Odo keeps the light", FACT),
    ({"statement": "Odo keeps the light"}, FACT),
    ({"type": "Fact", "text": "Odo keeps the light"}, FACT),
    (
        {"kind": "facts", "text": "x", "entities": "Odo"},
        {"kind": "fact", "says": "x", "about": ["Odo"]},
    ),
    (
        {"subject": "Odo", "predicate": "OWNS", "object": "Petrel"},
        {"kind": "relation", "from": "Odo", "type": "OWNS", "to": "Petrel"},
    ),
    (
        {"kind": "relationship", "source": "Odo", "relation_type": "OWNS", "target": "Petrel"},
        {"kind": "relation", "from": "Odo", "type": "OWNS", "to": "Petrel"},
    ),
    (
        {"kind": "state", "about": ["Odo"], "state": "ill"},
        {"kind": "state", "of": "Odo", "tags": ["ill"]},
    ),
    ({"entity": "Odo", "tags": "ill"}, {"kind": "state", "of": "Odo", "tags": ["ill"]}),
    (
        {"kind": "entity", "name": "Hilde", "type": "person", "medication": "warfarin"},
        {"kind": "entity", "name": "Hilde", "type": "person", "fields": {"medication": "warfarin"}},
    ),
    (
        {"kind": "entity", "name": "Hilde", "entity_type": "person", "description": "old"},
        {"kind": "entity", "name": "Hilde", "type": "person", "says": "old"},
    ),
    (
        {"kind": "event", "title": "The gale", "date": "2025-01-03", "participants": "Odo"},
        {"kind": "event", "says": "The gale", "when": "2025-01-03", "who": ["Odo"]},
    ),
    (
        {"entity": "Odo", "attribute": "age", "new_value": 9, "because": "x"},
        {"kind": "correction", "of": "Odo", "field": "age", "value": 9, "reason": "x"},
    ),
    (
        {"kind": "correction", "of": "Odo is old.", "says": "Odo is young.", "reason": "x"},
        {"kind": "correction", "of": "Odo is old.", "value": "Odo is young.", "reason": "x"},
    ),
    (
        {"kind": "retcon", "of": "Odo is old.", "says": "x"},
        {"kind": "retcon", "of": "Odo is old.", "reason": "x"},
    ),
]
OTHERS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "propose",
        {"claim": FACT, "source": "Harbour book"},
        {"claims": [FACT], "evidence": ["Harbour book"]},
    ),
    (
        "propose",
        {"facts": ["Odo keeps the light"], "quote": "so"},
        {"claims": [FACT], "said": "so"},
    ),
    (
        "propose",
        {"claims": '[{"kind": "fact", "says": "Odo keeps the light"}]'},
        {"claims": [FACT]},
    ),
    ("tell", {"content": "A letter", "name": "Letter"}, {"text": "A letter", "title": "Letter"}),
    (
        "tell",
        {
            "messages": ["Odo: Ahoy", {"speaker": "gm", "content": "Dusk"}],
            "scene": "Pier",
            "location": "Marrow",
        },
        {
            "turns": [{"by": "Odo", "text": "Ahoy"}, {"by": "gm", "text": "Dusk"}],
            "scene": "Pier",
            "place": "Marrow",
        },
    ),
    ("tell", {"text": "x", "audience": "gm"}, {"text": "x", "for": ["gm"]}),
    (
        "decide",
        {"action": "Approve", "id": "p", "comment": "fine"},
        {"verdict": "accept", "of": ["p"], "reason": "fine"},
    ),
    ("open", {"title": "Team", "description": "Us"}, {"name": "Team", "about": "Us"}),
]


@pytest.fixture(scope="module")
def driver() -> ToolDriver:
    made = make_driver()
    anyio.run(made.saltmere)
    return made


@pytest.mark.parametrize(("tool", "given", "canonical"), READS)
async def test_a_call_with_aliases_has_the_canonical_reply(
    driver: ToolDriver, tool: str, given: dict[str, Any], canonical: dict[str, Any]
) -> None:
    assert await driver.call(tool, **given) == await driver.call(tool, **canonical)


def read_tool(tool: str, given: dict[str, Any]) -> Any:
    return normalise_arguments(given, SCHEMAS[tool])


@pytest.mark.parametrize(("given", "canonical"), CLAIMS)
def test_a_claim_with_aliases_is_read_as_the_canonical_one(
    given: Any, canonical: dict[str, Any]
) -> None:
    (made,) = read_tool("propose", {"claims": [given]})["claims"]

    assert claim_by_kind(made) == canonical


@pytest.mark.parametrize(("tool", "given", "canonical"), OTHERS)
def test_aliased_arguments_are_read_as_the_canonical_ones(
    tool: str, given: dict[str, Any], canonical: dict[str, Any]
) -> None:
    assert read_tool(tool, given) == canonical


async def test_an_out_of_range_limit_is_clamped_and_the_reply_says_so(driver: ToolDriver) -> None:
    found = await driver.call("find", text="light", limit=100)

    assert found["found"] == (await driver.call("find", text="light", limit=50))["found"]
    assert found["hint"].startswith("/limit is 100; a page has 1 to 50 rows.")


@pytest.mark.parametrize("tool", [tool.name for tool in CANON.tools])
async def test_an_unknown_argument_error_shows_a_working_call(
    driver: ToolDriver, tool: str
) -> None:
    error = await driver.refused(tool, nonsense=1)

    found = re.search(rf"For example: {tool} (\{{.*\}})", error["message"])
    assert found is not None, error
    assert decode_json(found[1].encode()).keys() <= SCHEMAS[tool]["properties"].keys()


async def test_a_near_member_name_is_refused_and_not_kept_as_a_field(
    driver: ToolDriver,
) -> None:
    claim = {"kind": "entity", "name": "Hilde", "typ": "person"}

    assert "did you mean type?" in (await driver.refused("propose", claims=[claim]))["message"]
