"""Showing what a tool tells to hosts that draw it: the path is that of the tool, step by step."""

from typing import Any

import pytest

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.call import GatewaySettings
from canonry.gateway.limits import Limits
from canonry.gateway.tool import Arguments, Reply
from tests.gateway.sample import KEEPER, VISITOR, a_gateway

pytestmark = pytest.mark.anyio


class Seen:
    """A value that no JSON could hold."""


async def look_on(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    assert canon.audience_view is not None, "the canon was narrowed for the caller"
    return (Seen(), caller.actor.agent_id, dict(arguments))


async def code_of(name: str, principal: Any, **more: Any) -> str:
    outcome = await a_gateway(**more).run_as_tool(name, look_on, {}, principal)
    assert outcome.error is not None
    return str(outcome.error.data["error"])


async def test_a_look_gives_any_value_to_who_may_call_the_tool() -> None:
    outcome = await a_gateway().run_as_tool("count", look_on, {"any": 1}, VISITOR)

    assert outcome.error is None
    value, agent, arguments = outcome.body
    assert isinstance(value, Seen)
    assert (agent, arguments, outcome.text) == (VISITOR.agent_id, {"any": 1}, "")


async def test_who_may_not_call_a_tool_is_shown_nothing_of_it() -> None:
    gateway = a_gateway()
    reading = [o.item.name for o in gateway.catalogue.tools.values() if o.read_only]
    for name in reading:
        offered = gateway.offers_for([gateway.catalogue.tools[name]], VISITOR)
        outcome = await gateway.run_as_tool(name, look_on, {}, VISITOR)
        assert (outcome.error is None) is bool(offered), name


async def test_a_tool_that_writes_is_done_for_who_may_call_it_alone() -> None:
    assert (await a_gateway().run_as_tool("found", look_on, {}, KEEPER)).error is None
    assert await code_of("found", VISITOR) == "authority.denied"


async def test_a_tool_that_is_not_there_shows_nothing() -> None:
    assert await code_of("nothing", KEEPER) == "UNKNOWN_TOOL"


async def test_looks_count_against_the_rate_of_the_caller() -> None:
    gateway = a_gateway(settings=GatewaySettings(limits=Limits(per_minute=2)))
    for _ in range(2):
        assert (await gateway.run_as_tool("count", look_on, {}, VISITOR)).error is None

    assert (await gateway.run_as_tool("count", look_on, {}, VISITOR)).error is not None


async def test_a_defect_of_a_look_says_nothing_of_itself() -> None:
    async def broken(*_: object) -> Reply:
        raise RuntimeError("secret words")

    outcome = await a_gateway().run_as_tool("count", broken, {}, VISITOR)

    assert outcome.error is not None
    assert "secret" not in outcome.text
