"""`decide` asks the user of a client that shows forms for a reason or for one of several items."""

from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, MCPError

from canonry.server.binding import bind_gateway
from canonry.server.options import ServerOptions
from tests.inspector.kit import Harbour, a_harbour, principal_of
from tests.said import said

pytestmark = pytest.mark.anyio


@dataclass
class User:
    """Somebody who fills in forms; `says` are the answers in turn, None declines."""

    says: list[str | None]
    asked: list[types.ElicitRequestFormParams] = field(default_factory=list)

    async def __call__(self, context: Any, params: Any) -> types.ElicitResult:
        del context
        self.asked.append(params)
        text = self.says.pop(0)
        if text == "fail":
            raise MCPError(-1, "private words")
        if text is None:
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content={"answer": text})


@pytest.fixture
async def harbour() -> Harbour:
    return await a_harbour(world=False)


async def decide(harbour: Harbour, user: User | None, mode: Any, **arguments: Any) -> Any:
    desk = harbour.desk
    server = bind_gateway(desk.gateway, lambda: principal_of(desk), ServerOptions())
    async with Client(server, mode=mode, elicitation_callback=user) as client:
        return said(await client.call_tool("decide", arguments))


async def ghost(harbour: Harbour) -> str:
    rows = (await harbour.desk.call("review", space=harbour.space, limit=50))["waiting"]
    return next(str(row["id"]) for row in rows if "ghost" in row["says"])


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_missing_reason_is_asked_for_and_recorded(harbour: Harbour, mode: str) -> None:
    user, proposal = User(["Nobody saw it"]), await ghost(harbour)

    told = await decide(harbour, user, mode, verdict="reject", of=[proposal])

    assert "error" not in told
    assert user.asked[0].message == "Give in /reason why the proposal is wrong."
    why = await harbour.desk.call("why", of=proposal)
    assert "Nobody saw it" in str(why)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_one_of_several_candidates_is_chosen_under_another_name_of_the_argument(
    harbour: Harbour, mode: str
) -> None:
    odo = harbour.ids["Odo Brand"]
    user = User([f"Odo Brand (character {odo})"])
    wrong = {"verdict": "retcon", "id": "Odo", "space": harbour.space}

    told = await decide(harbour, user, mode, reason="It was a dream", **wrong)

    assert "error" not in told
    choices = user.asked[0].requested_schema["properties"]["answer"]["enum"]
    assert [each.partition(" (")[0] for each in choices] == ["Odo Brand", "Odo Brandt"]
    assert (await harbour.desk.call("get", of=odo))["level"] == "retconned"


async def test_a_call_asks_once(harbour: Harbour) -> None:
    user = User([f"Odo Brand (character {harbour.ids['Odo Brand']})"])

    told = await decide(harbour, user, "legacy", verdict="retcon", of=["Odo"], space=harbour.space)

    assert told["error"]["details"]["reason"] == "decide.reason"
    assert len(user.asked) == 1


@pytest.mark.parametrize("answer", [None, "", "fail"])
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_who_gives_no_answer_gets_the_plain_error(
    harbour: Harbour, mode: str, answer: str | None
) -> None:
    proposal = await ghost(harbour)
    if answer == "fail" and mode != "legacy":
        pytest.skip("the client raises its own error and never repeats the call")

    told = await decide(harbour, User([answer] * 4), mode, verdict="reject", of=[proposal])
    plain = await decide(harbour, None, mode, verdict="reject", of=[proposal])

    assert told["error"]["details"]["reason"] == "decide.reason"
    assert plain == told
    assert (await harbour.desk.call("get", of=proposal))["status"] == "pending"


async def test_what_no_answer_mends_is_not_asked(harbour: Harbour) -> None:
    user = User([])

    told = await decide(harbour, user, "legacy", verdict="end", of=["Nobody"], space=harbour.space)

    assert told["error"]["code"] == "NOT_FOUND"
    assert user.asked == []
