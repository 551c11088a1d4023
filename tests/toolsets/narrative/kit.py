"""A world to test the narrative tools in: real calls through the real gateway, over memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs

from canonry.app.compose import compose_memory
from canonry.canon.session.canon import Canon
from canonry.gateway.call import Gateway
from canonry.gateway.principal import KEY_META, Principal
from canonry.gateway.replies import Result
from canonry.narrative.toolset import EXACT, NARRATIVE
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.values.ids import SpaceId, is_uuid
from canonry.values.moments import parse_instant
from canonry.values.policy import Policy
from canonry.values.provenance import Authority

NOWHERE = "ffffffff-0000-4000-8000-00000000dead"
"""An id that names nothing."""

SIX_CODES = frozenset(range(-32006, -32000))


def _is_instant(text: str) -> bool:
    parse_instant(text)
    return True


REPLIES = {
    tool.name: [
        jsonschema_rs.validator_for(
            dict(each.output_schema),
            formats={"uuid": is_uuid, "date-time": _is_instant},
            validate_formats=True,
        )
        for each in (tool, listed)
    ]
    for tool, listed in zip(EXACT, NARRATIVE.tools, strict=True)
}
"""Every reply satisfies the exact schema of its tool and the one that is listed."""


def a_principal(
    agent: str | None,
    *,
    spaces: frozenset[SpaceId] | None = None,
    authorities: frozenset[Authority] = frozenset(Authority),
) -> Principal:
    """Somebody who is bound to the agent type `agent`."""
    name = None if agent is None else f"{agent.lower()}-001"
    return Principal(agent_id=name, agent_type=agent, spaces=spaces, authorities=authorities)


@dataclass
class World:
    """A canon with its gateway; every reply is checked against its tool's output schema."""

    canon: Canon
    gateway: Gateway
    clock: HandClock
    universe_id: str = ""
    source_id: str = ""
    spaces: frozenset[SpaceId] | None = None
    authorities: frozenset[Authority] = field(default_factory=lambda: frozenset(Authority))

    async def outcome(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        agent: str | None = "CanonKeeper",
        key: str | None = None,
    ) -> Result:
        """Return the result of a call, be it a reply or an error."""
        principal = a_principal(agent, spaces=self.spaces, authorities=self.authorities)
        meta = None if key is None else {KEY_META: key}
        outcome = await self.gateway.call(tool, arguments, principal, meta)
        if outcome.error is None:
            problems = [
                f"{error.instance_path}: {error.message}"
                for reply in REPLIES[tool]
                for error in reply.iter_errors(outcome.body)
            ]
            assert not problems, (tool, problems)
        return outcome

    async def call(
        self, tool: str, agent: str = "CanonKeeper", key: str | None = None, **arguments: Any
    ) -> dict[str, Any]:
        """The reply of a call that succeeds."""
        outcome = await self.outcome(tool, arguments, agent=agent, key=key)
        assert outcome.error is None, outcome.text
        return dict(outcome.body)

    async def refused(
        self, tool: str, agent: str | None = "CanonKeeper", *, code: int, **arguments: Any
    ) -> dict[str, Any]:
        """The data of a call that is refused with `code`; nothing may have been written."""
        before = await self.heads()
        outcome = await self.outcome(tool, arguments, agent=agent)
        assert outcome.error is not None, f"not refused: {outcome.text}"
        assert outcome.error.code == code, outcome.text
        assert await self.heads() == before, "a refused call has written something"
        return dict(outcome.error.data)

    async def heads(self) -> list[tuple[str, int]]:
        """Return the position of every log."""
        return [(h.space, h.position) for h in await self.canon.ledger.list_heads(limit=500)]

    @property
    def evidence(self) -> list[str]:
        """References to the world's first source."""
        return [f"source:{self.source_id}"]

    async def entity(self, name: str, **more: Any) -> str:
        """A new entity of this world; by default a character."""
        arguments: dict[str, Any] = {
            "entity_class": "EntityInstance",
            "universe_id": self.universe_id,
            "name": name,
            "entity_type": "character",
            "description": f"This is {name}.",
            "properties": {},
            "confidence": 1.0,
            "authority": "gm",
            "evidence_refs": self.evidence,
            **more,
        }
        reply = await self.call("neo4j_create_entity", **arguments)
        return str(reply["entity_id"])

    async def fact(self, statement: str, *entities: str, **more: Any) -> str:
        """A new fact about `entities`."""
        reply = await self.call(
            "neo4j_create_fact", **self.backed(statement=statement, entities=entities, **more)
        )
        return str(reply["fact_id"])

    async def event(self, title: str, *entities: str, **more: Any) -> str:
        """A new event in which `entities` took part."""
        arguments = {"title": title, "description": f"{title}.", **more}
        reply = await self.call("neo4j_create_event", **self.backed(entities=entities, **arguments))
        return str(reply["event_id"])

    async def relation(self, from_id: str, rel_type: str, to_id: str, **more: Any) -> str:
        """A new relation."""
        reply = await self.call(
            "neo4j_create_relationship",
            from_entity_id=from_id,
            rel_type=rel_type,
            to_entity_id=to_id,
            **more,
        )
        return str(reply["relationship_id"])

    async def story(self, title: str = "A story", **more: Any) -> str:
        """A new story of this world; by default a campaign."""
        arguments = {"universe_id": self.universe_id, "story_type": "campaign", **more}
        reply = await self.call("neo4j_create_story", title=title, **arguments)
        return str(reply["story_id"])

    def backed(self, *, entities: tuple[str, ...], **more: Any) -> dict[str, Any]:
        """The arguments that facts and events share."""
        return {
            "universe_id": self.universe_id,
            "involved_entity_ids": list(entities),
            "confidence": 1.0,
            "authority": "gm",
            "evidence_refs": self.evidence,
            **more,
        }

    async def another_universe(self, name: str = "Elsewhere") -> "World":
        """A second universe over the same canon, with a source of its own."""
        other = World(canon=self.canon, gateway=self.gateway, clock=self.clock)
        await other.begin(name)
        return other

    async def begin(self, name: str) -> None:
        """Open a universe and register the first source of it."""
        made = await self.call("neo4j_create_universe", name=name)
        self.universe_id = made["universe_id"]
        source = await self.call(
            "neo4j_create_source",
            universe_id=self.universe_id,
            doc_id="book-1",
            title="The First Book",
            source_type="lore",
            canon_level="authoritative",
        )
        self.source_id = source["source_id"]


def an_empty_world(policy: Policy | None = None) -> World:
    """A canon in which nothing has happened yet."""
    clock = HandClock()
    canon = compose_memory(clock=clock, identities=CountingIdentities(), policy=policy)
    return World(canon=canon, gateway=Gateway(canon, (NARRATIVE,)), clock=clock)


async def a_world(policy: Policy | None = None) -> World:
    """A universe with one source."""
    world = an_empty_world(policy)
    await world.begin("Middle-earth")
    return world
