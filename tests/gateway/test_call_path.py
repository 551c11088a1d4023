"""Tools, composed tools, resources and prompts take one path: no bound and no line is skipped."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
import pytest

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.audit import Audit
from canonry.gateway.call import Gateway, GatewaySettings
from canonry.gateway.limits import Limits, PublishedRate
from canonry.gateway.principal import AGENT_META, Principal
from canonry.gateway.tool import Arguments, Cached, Prompt, Reply, Resource
from canonry.values.ids import SpaceId
from tests.gateway.sample import (
    CALLS,
    GUEST,
    KEEPER,
    LAMP,
    LAMPS,
    a_gateway,
    a_tool,
    an_object,
    together,
)

pytestmark = pytest.mark.anyio

LONG = an_object({"length": {"type": "integer"}}, ("length",))
KEPT = Cached(seconds=lambda _, __: 60.0, depends_on=lambda _, __: frozenset({"long"}))
SHORT = GatewaySettings(limits=Limits(reply=1000))


async def return_text(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    return {"text": "x" * int(arguments["length"])}


async def read_page(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    if variables["length"] == "forever":
        await asyncio.Event().wait()
    return "x" * int(variables["length"])


LONG_WINDED = replace(
    LAMPS,
    tools=(
        a_tool("tell", return_text, LONG),
        a_tool("tell_cached", return_text, LONG, cached=KEPT),
        a_tool("write", return_text, LONG, read_only=False),
        a_tool("together", return_text, CALLS, compose=together, read_only=False),
        *(tool for tool in LAMPS.tools if tool.name in {"count", "wait", "pause"}),
    ),
    resources=(
        Resource(
            uri_template="pages://page/{length}",
            name="page",
            title="Page",
            description="A page of so many characters.",
            mime_type="text/plain",
            roles=frozenset({"Keeper"}),
            read=read_page,
        ),
    ),
    prompts=(
        Prompt(
            name="long",
            title="Long",
            description="A long prompt.",
            roles=frozenset({"Keeper"}),
            arguments=(),
            render=lambda _: "x" * 1001,
        ),
    ),
)


def code_of(result: Any) -> str | None:
    return None if result.error is None else result.error.data["error"]


def lines_of(lines: list[bytes]) -> list[tuple[str, str, str]]:
    records = [orjson.loads(line) for line in lines]
    return [(each["event"], each["name"], each["outcome"]) for each in records]


@pytest.mark.parametrize("name", ["tell", "tell_cached"])
async def test_an_oversized_reply_is_refused_whether_cacheable_or_not(
    name: str,
) -> None:
    gateway = a_gateway(LONG_WINDED, settings=SHORT)
    for _ in range(2):
        assert code_of(await gateway.call(name, {"length": 1001}, KEEPER)) == "limits.reply"
    assert code_of(await gateway.call(name, {"length": 900}, KEEPER)) is None


async def test_an_oversized_resource_or_prompt_is_refused() -> None:
    gateway = a_gateway(LONG_WINDED, settings=SHORT)
    _, page = await gateway.read_resource("pages://page/1001", KEEPER)
    assert code_of(page) == "limits.reply"
    _, page = await gateway.read_resource("pages://page/1000", KEEPER)
    assert page.text == "x" * 1000
    _, prompt = await gateway.get_prompt("long", {}, KEEPER)
    assert code_of(prompt) == "limits.reply"


async def test_a_composed_reply_stays_within_the_bound_and_names_omissions() -> None:
    gateway = a_gateway(LONG_WINDED, settings=SHORT)
    calls = [{"name": "tell", "arguments": {"length": 300}}] * 50
    result = await gateway.call("together", {"calls": calls}, KEEPER)
    replies = result.body["replies"]
    assert [len(each.get("text", "")) for each in replies[:4]] == [300, 300, 300, 0]
    assert {each["error"]["data"]["error"] for each in replies[3:]} == {"limits.reply"}


async def test_no_part_of_a_composed_call_runs_if_its_reply_would_not_fit() -> None:
    lines: list[bytes] = []
    gateway = a_gateway(LONG_WINDED, settings=SHORT, audit=Audit(lines.append))
    calls = [{"name": "write", "arguments": {"length": 1200}}] * 3
    replies = (await gateway.call("together", {"calls": calls}, KEEPER)).body["replies"]
    assert len(replies[0]["text"]) == 1200, "what was written must not be told as refused"
    assert [each["error"]["data"]["error"] for each in replies[1:]] == ["limits.reply"] * 2
    assert lines_of(lines) == [
        ("call", "write", "ok"),
        ("call", "write", "limits.reply"),
        ("call", "write", "limits.reply"),
        ("call", "together", "ok"),
    ]


async def test_a_cancelled_resource_read_is_audited_as_cancelled() -> None:
    lines: list[bytes] = []
    gateway = a_gateway(LONG_WINDED, audit=Audit(lines.append))
    task = asyncio.create_task(gateway.read_resource("pages://page/forever", KEEPER))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert lines_of(lines) == [("resource", "page", "cancelled")]


async def test_a_missing_name_is_audited_whatever_its_kind() -> None:
    lines: list[bytes] = []
    gateway = a_gateway(audit=Audit(lines.append))
    await gateway.call("nothing", {}, KEEPER)
    await gateway.read_resource("lamps://nothing", KEEPER)
    await gateway.get_prompt("nothing", {}, KEEPER)
    assert lines_of(lines) == [
        ("call", "(unknown)", "tool.unknown"),
        ("resource", "(unknown)", "resource.unknown"),
        ("prompt", "(unknown)", "prompt.unknown"),
    ]
    assert b"nothing" not in b"".join(lines)


async def test_a_cached_reply_belongs_to_the_world_it_was_read_for() -> None:
    async def named(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
        return {"world": caller.world}

    tool = a_tool("named", named, an_object({}), cached=KEPT)
    gateway = a_gateway(replace(LAMPS, tools=(tool,)))
    for world in ("middle-earth", "arda", "middle-earth"):
        principal = replace(KEEPER, world=SpaceId(world))
        assert (await gateway.call("named", {}, principal)).body == {"world": world}


async def codes(gateway: Gateway, *calls: tuple[Principal, str | None]) -> list[str | None]:
    found = []
    for principal, agent_id in calls:
        meta = None if agent_id is None else {AGENT_META: {"agent_id": agent_id}}
        found.append(code_of(await gateway.call("count", {}, principal, meta)))
    return found


async def test_a_client_that_varies_its_agent_gets_no_more_calls() -> None:
    settings = GatewaySettings(limits=Limits(per_minute=2))
    token_user = replace(KEEPER, user="6f1c2f0e-0000-5000-8000-000000000001")
    tries = [(token_user, f"keeper-001/{number}") for number in range(4)]
    expected = [None, None, "limits.rate", "limits.rate"]
    assert await codes(a_gateway(settings=settings), *tries) == expected
    trusted = replace(token_user, trusted=True)
    tries = [(trusted, f"agent-{number}") for number in range(4)]
    assert await codes(a_gateway(settings=settings), *tries) == expected


async def test_separately_authenticated_callers_are_counted_separately() -> None:
    settings = GatewaySettings(limits=Limits(per_minute=1))
    one, other = replace(KEEPER, user="one"), replace(KEEPER, user="other")
    tries = [(one, None), (other, None), (replace(one, agent_id="second"), None), (one, None)]
    found = await codes(a_gateway(settings=settings), *tries)
    assert found == [None, None, None, "limits.rate"]


async def test_resources_and_prompts_count_as_calls() -> None:
    gateway = a_gateway(settings=GatewaySettings(limits=Limits(per_minute=1)))
    assert (await gateway.get_prompt("keep", {"room": "hall"}, KEEPER))[1].error is None
    _, result = await gateway.read_resource(f"lamps://lamp/{LAMP}", KEEPER)
    assert code_of(result) == "limits.rate"


async def test_toolset_rates_count_every_call_of_a_client() -> None:
    published = replace(LAMPS, rates=(PublishedRate(calls=60, seconds=60.0),))
    enforced = a_gateway(published, settings=GatewaySettings(published_rates=True))
    found = [code_of(await enforced.call("count", {}, KEEPER)) for _ in range(61)]
    assert found == [None] * 60 + ["limits.rate"]
    assert code_of(await enforced.call("count", {}, GUEST)) is None
    free = a_gateway(published)
    assert {code_of(await free.call("count", {}, KEEPER)) for _ in range(61)} == {None}


async def test_every_line_identifies_its_caller_by_a_pseudonym() -> None:
    lines: list[bytes] = []
    gateway = a_gateway(audit=Audit(lines.append))
    token_user = replace(KEEPER, agent_id="jane.roe", user="6f1c2f0e-0000-5000-8000-000000000001")
    await gateway.call("count", {}, token_user)
    await gateway.read_resource(f"lamps://lamp/{LAMP}", token_user)
    await gateway.call("count", {}, GUEST)
    first, second, third = (orjson.loads(line)["caller"] for line in lines)
    assert first == second != third
    assert b"jane" not in b"".join(lines)
    assert b"6f1c2f0e" not in b"".join(lines)


@pytest.mark.parametrize("own", [120.0, None])
async def test_no_tool_exceeds_the_deadline_of_the_operator(
    own: float | None,
) -> None:
    tool = next(tool for tool in LAMPS.tools if tool.name == "wait")
    patient = replace(LAMPS, tools=(replace(tool, limits=Limits(seconds=own, any_number=True)),))
    gateway = a_gateway(patient, settings=GatewaySettings(limits=Limits(seconds=0.01)))
    assert code_of(await gateway.call("wait", {}, KEEPER)) == "call.deadline"


async def test_a_tool_keeps_its_own_shorter_deadline() -> None:
    tool = next(tool for tool in LAMPS.tools if tool.name == "wait")
    hasty = replace(LAMPS, tools=(replace(tool, limits=Limits(seconds=0.01)),))
    assert code_of(await a_gateway(hasty).call("wait", {}, KEEPER)) == "call.deadline"
