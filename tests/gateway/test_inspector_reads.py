"""Showing what a tool tells to hosts that draw it: the path is that of the tool, step by step."""

from typing import Any

import pytest

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.call import GatewaySettings
from canonry.gateway.limits import Limits
from canonry.gateway.tool import Arguments, Reply
from tests.gateway.sample import GUEST, KEEPER, a_gateway

pytestmark = pytest.mark.anyio


class Seen:
    """A value that no JSON could hold."""


async def look_up(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    assert canon.audience_view is not None, "the canon was narrowed for the caller"
    return (Seen(), caller.actor.agent_id, dict(arguments))


async def code_of(name: str, principal: Any, **more: Any) -> str:
    outcome = await a_gateway(**more).run_as_tool(name, look_up, {}, principal)
    assert outcome.error is not None
    return str(outcome.error.data["error"])


async def test_a_read_gives_any_value_to_a_permitted_caller() -> None:
    outcome = await a_gateway().run_as_tool("count", look_up, {"any": 1}, GUEST)

    assert outcome.error is None
    value, agent, arguments = outcome.body
    assert isinstance(value, Seen)
    assert (agent, arguments, outcome.text) == (GUEST.agent_id, {"any": 1}, "")


async def test_an_unauthorized_caller_is_shown_nothing_of_a_tool() -> None:
    gateway = a_gateway()
    reading = [o.item.name for o in gateway.catalogue.tools.values() if o.read_only]
    for name in reading:
        offered = gateway.offers_for([gateway.catalogue.tools[name]], GUEST)
        outcome = await gateway.run_as_tool(name, look_up, {}, GUEST)
        assert (outcome.error is None) is bool(offered), name


async def test_a_writing_tool_runs_only_for_a_permitted_caller() -> None:
    assert (await a_gateway().run_as_tool("found", look_up, {}, KEEPER)).error is None
    assert await code_of("found", GUEST) == "authority.denied"


async def test_a_missing_tool_shows_nothing() -> None:
    assert await code_of("nothing", KEEPER) == "UNKNOWN_TOOL"


async def test_reads_count_against_the_rate_of_the_caller() -> None:
    gateway = a_gateway(settings=GatewaySettings(limits=Limits(per_minute=2)))
    for _ in range(2):
        assert (await gateway.run_as_tool("count", look_up, {}, GUEST)).error is None

    assert (await gateway.run_as_tool("count", look_up, {}, GUEST)).error is not None


async def test_a_defect_of_a_read_reveals_nothing() -> None:
    async def broken(*_: object) -> Reply:
        raise RuntimeError("secret words")

    outcome = await a_gateway().run_as_tool("count", broken, {}, GUEST)

    assert outcome.error is not None
    assert "secret" not in outcome.text
