"""The pages for programs: proposals, prompt templates and sums, and the rate over HTTP."""

from dataclasses import replace
from typing import Any

import httpx2
import pytest

from canonry.gateway.call import Gateway, GatewaySettings
from canonry.gateway.principal import Principal
from canonry.narrative.toolset import NARRATIVE
from canonry.server.http import http_app
from canonry.server.options import ServerOptions
from canonry.testing.clocks import HandClock
from canonry.values.ids import SpaceId
from canonry.values.moments import SECOND, Instant
from canonry.world.domain.prompts.templates import find_template
from canonry.world.models.services import Telemetry, WorldServices, usage_report
from canonry.world.toolset import WORLD
from canonry.world.usecases.dialogue import recount_usage
from tests.server.lamp_process import ENVELOPE, MODERN
from tests.server.test_worlds import ACCEPT, run_app
from tests.toolsets.world.kit import an_isle, brought_in
from tests.toolsets.world.proposals.adversarial import DRIP, GO, make_envelope, make_generation
from tests.toolsets.world.proposals.kit import the_isle, with_new_ids, with_true_hashes

pytestmark = pytest.mark.anyio
NARRATOR = Principal(agent_id="n", agent_type="Narrative")


def make_client(app: Any) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=app), base_url="http://127.0.0.1:8000"
    )


def app_of(gateway: Gateway) -> Any:
    return http_app(gateway, NARRATOR, server_options=ServerOptions())


async def test_a_proposal_over_http_is_answered_with_the_code_of_its_gate() -> None:
    isle = await the_isle()
    async with make_client(app_of(isle.gateway)) as http:

        async def post(sent: Any) -> Any:
            body = {"playerId": "ann", "actionEnvelope": sent}
            return await http.post("/api/proposals", json=body)

        admitted = await post(make_envelope(GO))
        malformed = await post({})
        refused = await post(with_new_ids(make_envelope(GO, GO)))
        dear = make_generation(promptTokens=60_000)
        sent = await with_true_hashes(
            isle, make_envelope(DRIP, actor={"kind": "ai"}, generation=dear)
        )
        late = await post(with_new_ids(sent))
        no_json = await http.post("/api/proposals", content=b"{")
        too_large = await http.post("/api/proposals", content=b" " * 300_000)
        found = await http.get(f"/api/proposals/{admitted.json()['proposalId']}")
        unknown = await http.get("/api/proposals/00000000-0000-4000-8000-ffffffffffff")

    assert (admitted.status_code, admitted.json()["outcome"]) == (200, "accepted")
    assert malformed.status_code == 400
    assert refused.status_code == 200
    assert refused.json()["rejection"]["gate"] == "invariants"
    assert late.status_code == 429
    assert int(late.headers["Retry-After"]) >= 1
    assert (no_json.status_code, too_large.status_code) == (400, 413)
    assert found.json()["commitId"] == admitted.json()["commitId"]
    assert unknown.status_code == 404


async def test_a_role_that_may_not_propose_may_not_over_http_either() -> None:
    isle = await the_isle()
    app = http_app(
        isle.gateway, Principal(agent_id="s", agent_type="Safety"), server_options=ServerOptions()
    )
    async with make_client(app) as http:
        body = {"playerId": "ann", "actionEnvelope": make_envelope(GO)}
        assert (await http.post("/api/proposals", json=body)).status_code == 403


async def test_templates_are_listed_once_with_their_hash() -> None:
    isle = await the_isle()
    template = find_template("ambience")
    assert template is not None
    async with make_client(app_of(isle.gateway)) as http:
        listed = (await http.get("/api/prompts", params={"tag": "layer"})).json()["prompts"]
        found = await http.get("/api/prompts/ambience")
        known = await http.get(
            "/api/prompts/ambience", headers={"If-None-Match": found.headers["ETag"]}
        )
        none = await http.get("/api/prompts/ambience", params={"version": "0.0.1"})

    assert [(each["id"], each["hash"]) for each in listed] == [("ambience", template.content_hash)]
    assert found.json()["hash"] == template.content_hash
    assert found.json()["template"] == template.template
    assert (known.status_code, known.content) == (304, b"")
    assert none.status_code == 404


async def test_model_costs_are_reported_as_sums() -> None:
    isle = await the_isle()
    made = await with_true_hashes(
        isle, make_envelope(DRIP, actor={"kind": "ai"}, generation=make_generation())
    )
    async with make_client(app_of(isle.gateway)) as http:
        for sent in (made, {"secret": "of Jane Roe"}):
            await http.post("/api/proposals", json={"playerId": "ann", "actionEnvelope": sent})
        usage = (await http.get("/api/telemetry/ai-usage")).json()["usage"]
        some = await http.get("/api/telemetry/ai-usage", params={"purpose": "ambience"})
        later = await http.get("/api/telemetry/ai-usage", params={"since": "2030-01-01T00:00:00Z"})
        wrong = await http.get("/api/telemetry/ai-usage", params={"purpose": "mischief"})
        named = {"eventType": "Agent.Proposal.Rejected"}
        refused = await http.get("/api/telemetry/ai-usage", params=named)
        nameless = await http.get("/api/telemetry/ai-usage", params={"eventType": "Jane.Roe"})

    rows = {(each["purpose"], each["eventType"]): each for each in usage}
    reported = rows["ambience", "Agent.Proposal.Accepted"]
    assert (reported["model"], reported["count"]) == ("small-1", 1)
    assert (reported["promptTokens"], reported["completionTokens"]) == (200, 60)
    assert reported["outcomes"] == {"accepted": 1}
    assert rows[None, "Agent.Proposal.Rejected"]["rejections"] == {"schema:schema.unknown-field": 1}
    assert [each["purpose"] for each in some.json()["usage"]] == ["ambience"]
    assert later.json()["usage"] == []
    assert wrong.status_code == nameless.status_code == 400
    assert [each["eventType"] for each in refused.json()["usage"]] == ["Agent.Proposal.Rejected"]
    assert refused.json()["callsSince"] <= refused.json()["until"]
    assert "Jane" not in str(usage) + nameless.text


async def test_without_the_world_toolset_these_pages_do_not_exist() -> None:
    isle = await the_isle()
    app = app_of(Gateway(isle.canon, (NARRATIVE,)))
    async with make_client(app) as http:
        assert (await http.get("/api/prompts")).status_code == 404


async def test_a_caller_beyond_the_rate_gets_429_with_retry_after() -> None:
    clock = HandClock()
    isle = await the_isle(clock)
    settings = GatewaySettings(published_rates=True)
    app = app_of(Gateway(isle.canon, (WORLD,), settings=settings))
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "health", "arguments": {}, "_meta": ENVELOPE},
    }
    headers = {
        **ACCEPT,
        "mcp-protocol-version": MODERN,
        "mcp-method": "tools/call",
        "mcp-name": "health",
    }
    async with run_app(app), make_client(app) as http:

        async def status() -> int:
            answer = await http.post("/mcp/world", json=call, headers=headers)
            if answer.status_code == 429:
                assert int(answer.headers["Retry-After"]) >= 1
            return int(answer.status_code)

        first = [await status() for _ in range(12)]
        clock.move_by(SECOND // 2)
        half = await status()
        clock.move_by(SECOND // 2)
        second = [await status() for _ in range(11)]

    assert first == [200] * 10 + [429] * 2
    assert half == 429
    assert second == [200] * 10 + [429]


async def test_sums_cover_only_spaces_visible_to_the_caller() -> None:
    isle = await the_isle()
    other = await brought_in(isle.canon, replace(an_isle(), name="Other"))
    body = {"playerId": "ann", "actionEnvelope": make_envelope(GO)}
    path = "/api/telemetry/ai-usage"

    async def usage(principal: Principal) -> tuple[int, dict[str, int]]:
        app = http_app(isle.gateway, principal, server_options=ServerOptions())
        async with make_client(app) as http:
            answer = await http.get(path)
        rows = answer.json().get("usage", ())
        return answer.status_code, {each["eventType"]: each["count"] for each in rows}

    bound = replace(NARRATOR, world=isle.world, spaces=frozenset({isle.world}))
    async with make_client(http_app(isle.gateway, bound, server_options=ServerOptions())) as http:
        assert (await http.post("/api/proposals", json=body)).json()["outcome"] == "accepted"

    own = {"Agent.Proposal.Accepted": 1, "Agent.Proposal.Applied": 1}
    stranger = frozenset({SpaceId(other.world_id)})
    assert await usage(bound) == (200, own)
    assert await usage(replace(NARRATOR, world=isle.world)) == (200, own)
    assert await usage(replace(NARRATOR, spaces=stranger)) == (200, {})
    assert await usage(replace(NARRATOR, world=SpaceId(other.world_id))) == (200, {})
    nothing = replace(NARRATOR, spaces=stranger, world=isle.world)
    assert (await usage(nothing))[0] == 403
    status, whole = await usage(NARRATOR)
    assert (status, own.items() <= whole.items(), "MCP.Tool.Invoked" in whole) == (200, True, True)


async def test_sums_recounted_after_a_restart_stay_separate_by_space() -> None:
    isle = await the_isle()
    await isle.call("propose-action", "Narrative", playerId="ann", actionEnvelope=make_envelope(GO))
    again = isle.canon.revise_service(WorldServices, telemetry=Telemetry())
    await recount_usage(again)

    assert [
        each["count"]
        for each in usage_report(
            again.find_service(WorldServices).telemetry, Instant(0), None, {isle.world}
        )
    ]
    assert (
        usage_report(
            again.find_service(WorldServices).telemetry, Instant(0), None, {SpaceId("elsewhere")}
        )
        == []
    )
