"""Tools that change worlds: builders' tools, ties, and proposals of agents."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.replies import Field, array, obj
from canonry.gateway.tool import Reply, Tool
from canonry.log.items.proposals import Proposal
from canonry.readmodels.edges import Direction
from canonry.values.errors import InvalidInput
from canonry.world.domain.admission.schema import ID_PATTERN, POLICY_VERSION, envelope_schema
from canonry.world.domain.atlas import AtlasPart, Exit, Happening, Item, Layer, Mover, Place, Realm
from canonry.world.toolset.shapes import DONE, ID, KEY, TABLE, world_tool
from canonry.world.toolset.views import REALM, TIE
from canonry.world.usecases.building import (
    create_exit,
    create_part,
    create_route,
    create_tie,
    end_route,
    remove_exit,
    remove_tie,
    set_status,
)
from canonry.world.usecases.contexts import get_realm_context
from canonry.world.usecases.proposals.admission import (
    enqueue_world_event,
    get_proposal,
    list_proposals,
    propose,
    withdraw_proposal,
)
from canonry.world.usecases.proposals.settling import decided
from canonry.world.usecases.worlds import BoundWorld

TABLE.kinds["new_exits"] = array(TABLE.objects("new_exit", Exit)).but(maxItems=len(Direction))


def _part_tool(name: str, kind: Callable[..., AtlasPart], **more: bool) -> Tool:
    """A tool that creates a part of the world under a key that the builder may choose."""

    async def create(canon: Canon, caller: Caller, world: BoundWorld, **fields: Any) -> str:
        part = kind(**{"key": "", **fields})
        return await create_part(canon, caller, world, part, **more)

    return world_tool(name, create, ID)


async def _record(canon: Canon, caller: Caller, world: BoundWorld, **fields: Any) -> str:
    now = {"key": "", "description": "", "tick": world.now}
    return await create_part(canon, caller, world, Happening(**{**now, **fields}))


TABLE.kinds |= {
    "realm_told": Field({"$ref": "#/$defs/realm"}, REALM),
    "tie_told": Field({"$ref": "#/$defs/tie"}, TIE),
}
TOOLS: Final[tuple[Tool, ...]] = (
    world_tool("get-realm-context", get_realm_context, "realm_context"),
    world_tool("create-tie", create_tie, DONE),
    world_tool("remove-tie", remove_tie, DONE),
    world_tool("create-route", create_route, DONE),
    world_tool("remove-route", end_route, DONE),
    _part_tool("create-location", Place),
    world_tool("create-exit", create_exit, DONE),
    world_tool("remove-exit", remove_exit, DONE),
    _part_tool("create-realm", Realm),
    _part_tool("create-layer", Layer),
    _part_tool("create-character", Mover),
    _part_tool("create-player", Mover, player=True),
    world_tool("set-status", set_status, DONE),
    _part_tool("create-item", Item),
    world_tool("record-event", _record, ID),
)


# Proposal tools. A refusal is a result. The envelope is advertised in full and judged by the first
# gate, not before.

PAGE: Final = 20

_DECIDED: Final = TABLE.shape(
    "decided",
    outcome=lambda each: "accepted" if each.accepted else "rejected",
    policyVersion=lambda _: POLICY_VERSION,
)
_RECORDED: Final = TABLE.shape("recorded")


def _recorded(proposal: Proposal) -> Reply:
    decision = proposal.decision
    return _RECORDED(
        decided(proposal),
        actionEnvelope=proposal.content.get("envelope"),
        proposedBy=proposal.proposed_by,
        decidedAt=proposal.created_at if decision is None else decision.decided_at,
    )


TABLE.kinds["recorded"] = Field(_RECORDED.schema, _recorded)
_PAGE: Final = TABLE.shape("page")


def _plain(schema: Any) -> Any:
    """A schema without titles, descriptions and nulls: names say enough, and each caller lists it.

    That null is as good as nothing holds for every argument.
    """
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    if "anyOf" in schema and schema.get("default", ...) is None:
        return _plain(schema["anyOf"][0])
    if schema.get("pattern") == ID_PATTERN:
        return {"type": "string", "format": "uuid"}
    named = isinstance(schema.get("type"), str) or "enum" in schema
    told = {"title", "description", "default"} if named else set()
    return {name: _plain(each) for name, each in schema.items() if name not in told}


_ENVELOPE, _DEFINITIONS = envelope_schema()
_PROPOSED: Final = {
    **obj({"playerId": KEY, "actionEnvelope": Field(_plain(_ENVELOPE))}),
    "$defs": {name: _plain(part) for name, part in _DEFINITIONS.items()},
}
_ACCEPTED: Final = obj({"playerId": KEY}, {"actionEnvelope": Field({})})


async def _list(
    canon: Canon,
    world: BoundWorld,
    only_by: str | None,
    cursor: str = "0",
    limit: int = PAGE,
    **wanted: Any,
) -> Reply:
    if not (cursor.isascii() and cursor.isdigit()):
        raise InvalidInput("cursor.malformed", "take the nextCursor of a page", path="/cursor")
    found, following = await list_proposals(
        canon, world, limit=limit, start=int(cursor), only_by=only_by, **wanted
    )
    return _PAGE(proposals=found, nextCursor=None if following is None else str(following))


PROPOSALS_TOOLS: Final[tuple[Tool, ...]] = (
    replace(
        world_tool("propose-action", propose, _DECIDED),
        input_schema=_PROPOSED,
        accepted_schema=_ACCEPTED,
    ),
    world_tool("enqueue-world-event", enqueue_world_event, _DECIDED),
    world_tool("get-proposal", get_proposal, TABLE.kinds["recorded"]),
    world_tool("list-proposals", _list, Field(_PAGE.schema)),
    world_tool("withdraw-proposal", withdraw_proposal, TABLE.kinds["recorded"]),
)
