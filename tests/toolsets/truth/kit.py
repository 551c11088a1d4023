"""A driver to test the truth tools at: real calls through the real gateway, over memory."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jsonschema_rs

from canonry.app.compose import compose_memory
from canonry.canon.session.canon import Canon
from canonry.gateway.call import Gateway, GatewaySettings
from canonry.gateway.principal import Principal
from canonry.gateway.replies import Result
from canonry.log.items.sources import DEFAULT_USER
from canonry.records.toolset import EXACT, TRUTH
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.values.ids import is_uuid
from canonry.values.moments import SECOND, parse_instant

ANN = DEFAULT_USER
BOB = "11111111-1111-4111-8111-111111111111"
NOWHERE = "ffffffff-0000-4000-8000-00000000dead"
"""An id that names nothing."""


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
    for tool, listed in zip(EXACT, TRUTH.tools, strict=True)
}
"""Every reply satisfies the exact schema of its tool and the one that is listed."""

NAMES = {alias: tool.name for tool in TRUTH.tools for alias in (tool.name, *tool.aliases)}


@dataclass
class ToolDriver:
    """One user's way to a canon; every reply is checked against its tool's output schema."""

    canon: Canon
    gateway: Gateway
    clock: HandClock
    user: str = ANN

    def of(self, user: str) -> "ToolDriver":
        """Another user's way to the same canon."""
        return replace(self, user=user)

    async def outcome(self, tool: str, arguments: Mapping[str, Any]) -> Result:
        """Return the result of a call, be it a reply or an error."""
        principal = Principal(agent_id="desk", user=self.user)
        outcome = await self.gateway.call(tool, arguments, principal)
        if outcome.error is None:
            problems = [
                f"{error.instance_path}: {error.message}"
                for reply in REPLIES[NAMES[tool]]
                for error in reply.iter_errors(outcome.body)
            ]
            assert not problems, (tool, problems)
        return outcome

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The reply of a call that succeeds."""
        outcome = await self.outcome(tool, arguments)
        assert outcome.error is None, outcome.text
        return dict(outcome.body)

    async def refused(self, tool: str, code: str, **arguments: Any) -> dict[str, Any]:
        """The error of a call that is refused with `code`; nothing may have been written."""
        before = await self.heads()
        outcome = await self.outcome(tool, arguments)
        assert outcome.error is not None, f"not refused: {outcome.text}"
        error: dict[str, Any] = outcome.body["error"]
        assert error["code"] == code, outcome.text
        assert await self.heads() == before, "a refused call has written something"
        return error

    async def heads(self) -> list[tuple[str, int]]:
        """Return the position of every log."""
        return [(h.space, h.position) for h in await self.canon.ledger.list_heads(limit=500)]

    def wait(self, seconds: int = 60) -> None:
        """Let time pass."""
        self.clock.move_by(seconds * SECOND)

    async def ingest(self, *records: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """Hand records over, a minute after whatever was before."""
        self.wait()
        return await self.call(
            "ingest", user_id=self.user, entities=list(map(dict, records)), **more
        )

    async def entity(self, entity_type: str, **fields: Any) -> str:
        """The id of the entity that a record is about."""
        reply = await self.ingest({"entity_type": entity_type, **fields})
        return str(reply["entities"][0]["entity_id"])

    async def snapshot(self, entity_id: str, **more: Any) -> dict[str, Any]:
        """The current fields of an entity."""
        reply = await self.call("get_entity_snapshot", entity_id=entity_id, **more)
        return dict(reply["snapshot"])

    async def correct(self, entity_id: str, field: str, value: Any, **more: Any) -> dict[str, Any]:
        """Correct a field, a minute later."""
        self.wait()
        entity = await self.call("get_entity_snapshot", entity_id=entity_id)
        arguments = {"entity_type": entity["entity_type"], **more}
        return await self.call(
            "correct", user_id=self.user, entity_id=entity_id, field=field, value=value, **arguments
        )

    async def relate(self, from_id: str, rel_type: str, to_id: str, **more: Any) -> dict[str, Any]:
        """Let an edge stand."""
        return await self.call(
            "create_relationship",
            relationship_type=rel_type,
            source_entity_id=from_id,
            target_entity_id=to_id,
            **more,
        )

    async def merge(self, from_id: str, to_id: str, **more: Any) -> dict[str, Any]:
        """Let one entity answer for another."""
        return await self.call(
            "merge_entities", user_id=self.user, from_entity_id=from_id, to_entity_id=to_id, **more
        )


def make_driver(
    canon: Canon | None = None, *, settings: GatewaySettings | None = None
) -> ToolDriver:
    """A canon in which nothing has happened yet."""
    clock = HandClock()
    canon = canon or compose_memory(clock=clock, identities=CountingIdentities())
    return ToolDriver(canon=canon, gateway=Gateway(canon, (TRUTH,), settings=settings), clock=clock)


def an_invoice(number: str = "INV-9", **fields: Any) -> dict[str, Any]:
    """A record of an invoice."""
    return {"entity_type": "invoice", "invoice_number": number, "amount_due": 100, **fields}
