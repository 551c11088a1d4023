"""No words of a caller of the world toolset reach logs, metrics or the texts of errors."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from canonry.gateway.tool import Tool
from canonry.world.toolset import WORLD
from tests.toolsets.world.kit import Isle, a_world, tied_isle

pytestmark = pytest.mark.anyio
CANARY = "Jane Roe of 12 Elm Street"
SPOILT: tuple[Any, ...] = (
    CANARY,
    f"{CANARY}\x00",
    f"{CANARY}\ud800",
    CANARY * 1_000,
    [CANARY],
    {CANARY: CANARY},
)


CHOSEN: Mapping[str, Mapping[str, Any]] = {
    "can-cast-here": {"spell": "Fire Bolt"},
    "generate-arc": {"constraints": {"locationIds": ["inn"]}},
    "lookup-rule": {"kind": "spell", "name": "Fire Bolt"},
    "roll-dice": {"expression": "2d6"},
    "enqueue-world-event": {
        "type": "World.Ambience.Requested",
        "payload": {"scopeKey": "loc:inn", "locationId": "inn"},
        "correlationId": "00000000-0000-4000-8000-000000000001",
        "dueTick": 60_000_000,
    },
    "get-proposal": {"proposalId": "00000000-0000-4000-8000-000000000001"},
    "list-proposals": {"since": "2025-01-15T00:00:00Z", "cursor": "0"},
    "create-exit": {"direction": "up", "requiresItem": "key"},
    "create-realm": {"scope": "LOCAL"},
    "create-tie": {"fromId": "inn", "tie": "member_of", "toRealmId": "mist"},
    "create-route": {"stopIds": ["inn", "yard"]},
    "get-fact-version": {"version": 1},
    "move": {"direction": "out"},
    "record-lore": {"type": "faction"},
    "remove-exit": {"direction": "out"},
    "remove-route": {"routeName": "The King's Road", "stopIds": ["inn", "yard"]},
    "remove-tie": {"fromId": "inn", "tie": "member_of", "toRealmId": "guild"},
    "transfer-item": {"fromHolderId": "ann"},
}
"""Arguments of a tool that are neither a name nor a text."""


def fitting_arguments(tool: Tool, isle: Isle) -> dict[str, Any]:
    """Arguments that say the canary wherever a text may say anything, and name what is there."""
    known: Mapping[str, Any] = {
        "locationId": isle.id("inn"),
        "fromLocationId": isle.id("inn"),
        "toLocationId": isle.id("yard"),
        "playerId": isle.id("ann"),
        "moverId": isle.id("ann"),
        "itemId": isle.id("cup"),
        "toHolderId": isle.id("cook"),
        "holderId": isle.id("cook"),
        "scope": "location",
        "scopeId": isle.id("inn"),
        "factId": "council",
        "fields": {"description": CANARY},
        "durationMs": 1_000,
        "fromTick": 0,
        "layerType": "weather",
        "realmType": "CITY",
    }
    known = {**known, **CHOSEN.get(tool.name, {})}
    if tool.name == "record-lore":
        known = {**known, "factId": CANARY}
    given = tool.input_schema["properties"]
    texts = {
        name: CANARY
        for name, schema in given.items()
        if schema.get("type") == "string" and "enum" not in schema and name != "teleportTo"
    }
    return texts | {name: value for name, value in known.items() if name in given}


@pytest.mark.parametrize("tool", WORLD.tools, ids=lambda tool: tool.name)
async def test_a_text_stays_between_caller_and_world(tool: Tool) -> None:
    isle = await a_world(tied_isle())
    lines: list[bytes] = []
    isle.gateway.audit.write_to(lines.append)
    role = "WorldBuilder" if "WorldBuilder" in tool.roles else min(tool.roles)
    result = fitting_arguments(tool, isle)
    if tool.name == "withdraw-proposal":
        event = {**CHOSEN["enqueue-world-event"], "idempotencyKey": CANARY}
        result["proposalId"] = (await isle.call("enqueue-world-event", "World", **event))[
            "proposalId"
        ]
        role = "World"
    held = (tool.accepted_schema if tool.extension else None) or tool.input_schema
    calls: list[dict[str, Any]] = [result, {**result, "remark": CANARY}]
    calls += [
        {**result, name: spoilt}
        for name, schema in held["properties"].items()
        for spoilt in SPOILT
        # The name of a property that is none is reported, so that it can be mended.
        if not (isinstance(spoilt, dict) and schema.get("additionalProperties") is False)
    ]

    assert (await isle.outcome(tool.name, result, role)).error is None
    for arguments in calls:
        outcome = await isle.outcome(tool.name, arguments, role)
        if outcome.error is not None:
            assert CANARY not in json.dumps(outcome.body), outcome.text
    refused = await isle.outcome(tool.name, result, CANARY)

    assert refused.error is not None
    lines.append(isle.gateway.audit.metrics.render_metrics().encode())
    assert len(lines) > len(calls)
    assert CANARY.encode() not in b"".join(lines)
