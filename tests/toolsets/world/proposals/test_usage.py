"""Usage of models is counted again after a restart; calls are counted by outcome."""

from typing import Any

import pytest

from canonry.canon.session.canon import Canon
from canonry.canon.session.telemetry_names import EventName
from canonry.gateway.call import Gateway, GatewaySettings
from canonry.gateway.principal import Principal
from canonry.values.moments import Instant
from canonry.world.models.services import Telemetry, WorldServices, usage_report
from canonry.world.toolset import WORLD
from canonry.world.usecases.dialogue import recount_usage
from tests.toolsets.world.proposals.adversarial import (
    DRIP,
    GO,
    change_parameters,
    make_envelope,
    make_generation,
)
from tests.toolsets.world.proposals.kit import send_proposal, the_isle, with_new_ids

pytestmark = pytest.mark.anyio
RECORDED = {"Agent.Proposal.Accepted", "Agent.Proposal.Rejected", "Agent.Proposal.Applied"}
BY_AI: dict[str, Any] = {"actor": {"kind": "ai"}, "generation": make_generation()}


def report_usage(canon: Canon) -> list[Any]:
    """The rows about what is recorded."""
    rows = usage_report(canon.find_service(WorldServices).telemetry, Instant(0))
    return [row for row in rows if row["eventType"] in RECORDED]


async def test_proposal_costs_are_recounted_from_their_records() -> None:
    isle = await the_isle()
    reply = await send_proposal(isle, with_new_ids(make_envelope(DRIP, **BY_AI)))
    assert reply["outcome"] == "accepted", reply
    flat = change_parameters(DRIP, layerContent="A new door appears to the north.")
    assert (await send_proposal(isle, with_new_ids(make_envelope(flat, **BY_AI))))[
        "outcome"
    ] == "rejected"
    assert (await send_proposal(isle, {"proposalId": 7}))["outcome"] == "rejected"
    assert (await send_proposal(isle, with_new_ids(make_envelope(GO))))["outcome"] == "accepted"
    live = report_usage(isle.canon)
    assert [row["promptTokens"] for row in live if row["model"]] == [200, 200]

    canon = isle.canon.revise_service(WorldServices, telemetry=Telemetry())
    await recount_usage(canon)
    await recount_usage(canon)

    assert report_usage(canon) == live


async def test_costs_counted_by_this_process_are_not_recounted() -> None:
    isle = await the_isle()
    await send_proposal(isle, with_new_ids(make_envelope(DRIP)))
    live = report_usage(isle.canon)

    await recount_usage(isle.canon)

    assert report_usage(isle.canon) == live


async def test_calls_are_counted_by_outcome() -> None:
    isle = await the_isle()
    gateway = Gateway(isle.canon, (WORLD,), settings=GatewaySettings(published_rates=True))
    canon = isle.canon.revise_service(WorldServices, telemetry=Telemetry())
    gateway.canon = canon

    async def call(tool: str, role: str, **arguments: Any) -> None:
        principal = Principal(agent_id="a", agent_type=role, world=isle.world)
        await gateway.call(tool, arguments, principal)

    await call("health", "Narrative")
    await call("health", "Safety")
    await call("search-lore", "Narrative")
    for _ in range(10):
        await call("health", "Narrative")

    counts = {
        row["eventType"]: row["count"]
        for row in usage_report(canon.find_service(WorldServices).telemetry, Instant(0))
    }
    assert counts[EventName.TOOL_INVOKED] == 13
    assert counts[EventName.TOOL_DENIED] == 1
    assert counts[EventName.TOOL_ALLOWED] == 12
    assert counts[EventName.TOOL_FAILED] == 1
    assert counts[EventName.TOOL_THROTTLED] >= 1
