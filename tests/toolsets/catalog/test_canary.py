"""No words of a caller reach logs, metrics or the texts of errors."""

import json
from typing import Any

import pytest

from canonry.app.compose import compose_memory
from canonry.catalog.operator import OPERATOR
from canonry.catalog.toolset import CATALOG
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.gateway.tool import Tool
from canonry.testing.clocks import CountingIdentities, HandClock
from tests.toolsets.catalog.kit import LAB, hostile_names, import_rows, make_uuid

pytestmark = pytest.mark.anyio
CANARY = "Jane Roe of 12 Elm Street"
TOOLS = (*CATALOG.tools, *OPERATOR.tools)
FITTING: dict[str, Any] = {
    "projectId": LAB,
    "entityId": make_uuid(1),
    "relationId": make_uuid(1),
    "entityType": "guide",
    "query": CANARY,
    "title": CANARY,
    "name": CANARY,
    "slug": CANARY,
    "url": CANARY,
    "operatorIntent": CANARY,
    "sourceType": "other",
    "action": "archive",
    "reason": CANARY,
}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
async def test_a_text_stays_between_caller_and_store(tool: Tool) -> None:
    canon = compose_memory(clock=HandClock(), identities=CountingIdentities())
    await import_rows(canon, hostile_names())
    gateway = Gateway(canon, (CATALOG, OPERATOR))
    lines: list[bytes] = []
    gateway.audit.write_to(lines.append)
    keeper = Principal(agent_id="keeper", agent_type="Operator")
    known = tool.input_schema["properties"]
    fitting = {name: value for name, value in FITTING.items() if name in known}
    calls: list[dict[str, Any]] = [fitting, {**fitting, "remark": CANARY}]
    calls += [
        {**fitting, name: spoilt}
        for name in known
        for spoilt in (CANARY, f"{CANARY}\0", [CANARY], {"x": CANARY}, CANARY * 10_000)
    ]

    for arguments in calls:
        outcome = await gateway.call(tool.name, arguments, keeper)
        if outcome.error is not None:
            assert CANARY not in json.dumps(outcome.body, default=str), outcome.text

    lines.append(gateway.audit.metrics.render_metrics().encode())
    assert len(lines) > len(calls)
    assert CANARY.encode() not in b"".join(lines)
