"""A driver to test the canon toolset at: real calls through the real gateway, over memory."""

from dataclasses import dataclass
from typing import Any

import jsonschema_rs

from canonry.app.compose import compose_memory
from canonry.assistant import CANON
from canonry.canon.session.caller import LastUsed
from canonry.canon.session.canon import Canon
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.gateway.replies import Result
from canonry.narrative.toolset import NARRATIVE
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.values.ids import SpaceId

REPLIES = {tool.name: jsonschema_rs.validator_for(dict(tool.output_schema)) for tool in CANON.tools}
"""Every reply satisfies the schema of its tool, which the reference shows."""

HARBOUR = "Odo Brand keeps the light at Marrow. Ilsa Vane sails the Petrel."
WHO = [
    {"kind": "entity", "name": "Odo Brand", "type": "character", "tags": ["alive"]},
    {"kind": "entity", "name": "Ilsa Vane", "type": "character", "tags": ["alive"]},
    {"kind": "entity", "name": "Marrow Lighthouse", "type": "location"},
    {"kind": "relation", "from": "Odo Brand", "type": "LOCATED_IN", "to": "Marrow Lighthouse"},
    {"kind": "fact", "says": "Odo Brand keeps the light at Marrow", "about": ["Odo Brand"]},
]


@dataclass
class ToolDriver:
    """A canon with its gateway, and one caller of an agent type, `Solo` as on one's own machine."""

    canon: Canon
    gateway: Gateway
    clock: HandClock
    agent: str = "Solo"
    user: str | None = None
    spaces: frozenset[SpaceId] | None = None
    world: SpaceId | None = None
    characters: frozenset[str] = frozenset()
    last_used: LastUsed | None = None
    """The memory of the connection; without one, each call comes over a connection of its own."""

    async def outcome(self, tool_: str, arguments: dict[str, Any]) -> Result:
        """Return the result of a call, be it a reply or an error."""
        principal = Principal(
            agent_id=self.agent.lower(),
            agent_type=self.agent,
            user=self.user,
            spaces=self.spaces,
            world=self.world,
            characters=self.characters,
            authorities=None,
            last_used=self.last_used,
        )
        result = await self.gateway.call(tool_, arguments, principal)
        if result.error is None and tool_ in REPLIES:
            problems = [
                f"{e.instance_path}: {e.message}" for e in REPLIES[tool_].iter_errors(result.body)
            ]
            assert not problems, (tool_, problems)
        return result

    async def call(self, tool_: str, **arguments: Any) -> dict[str, Any]:
        """The reply of a call that succeeds."""
        result = await self.outcome(tool_, arguments)
        assert result.error is None, result.text
        return dict(result.body)

    async def refused(self, tool_: str, **arguments: Any) -> dict[str, Any]:
        """The error of a call that fails; nothing may have been written."""
        before = await self.heads()
        result = await self.outcome(tool_, arguments)
        assert result.error is not None, f"not refused: {result.text}"
        assert await self.heads() == before, "a refused call has written something"
        return dict(result.body["error"])

    async def heads(self) -> list[tuple[str, int]]:
        """Return the position of every log."""
        return [(h.space, h.position) for h in await self.canon.ledger.list_heads(limit=500)]

    async def saltmere(self) -> str:
        """A space with people, a place, what ties them and what is so; its id."""
        made = await self.call("open", name="Saltmere", about="A harbour in a game")
        await self.call("tell", title="Harbour book", text=HARBOUR, space="Saltmere")
        await self.call("propose", claims=WHO, evidence=["Harbour book"], space="Saltmere")
        return str(made["id"])


def make_driver(agent: str = "Solo", beside: ToolDriver | None = None, **more: Any) -> ToolDriver:
    """A driver with nothing on it, or another caller at the same canon."""
    if beside is not None:
        return ToolDriver(beside.canon, beside.gateway, beside.clock, agent, **more)
    clock = HandClock()
    canon = compose_memory(clock=clock, identities=CountingIdentities())
    return ToolDriver(canon, Gateway(canon, [CANON, NARRATIVE]), clock, agent, **more)
