"""Tools that change worlds: builders' tools, ties, and proposals of agents."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.replies import Field, array, obj
from canonry.gateway.tables import present_arguments
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.log.items.proposals import Proposal
from canonry.readmodels.edges import Direction
from canonry.values.errors import InvalidInput
from canonry.world.domain.admission.schema import ID_PATTERN, POLICY_VERSION, envelope_schema
from canonry.world.domain.atlas import (
    AtlasPart,
    Exit,
    Happening,
    Item,
    Layer,
    Mover,
    Place,
    Realm,
    Route,
)
from canonry.world.toolset.contract import OVERSEERS
from canonry.world.toolset.shapes import (
    DONE,
    ID,
    KEY,
    TABLE,
    asked_tick,
    builders_tool,
    reading_tool,
    told,
)
from canonry.world.toolset.views import REALM, TIE
from canonry.world.usecases.building import (
    TieBetween,
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
    WantedProposals,
    enqueue_world_event,
    get_proposal,
    list_proposals,
    propose,
    withdraw_proposal,
)
from canonry.world.usecases.proposals.settling import decided
from canonry.world.usecases.worlds import BoundWorld, bound_world, world_at

TABLE.kinds["new_exits"] = array(TABLE.objects("new_exit", Exit)).but(maxItems=len(Direction))


def _part_tool(
    name: str,
    kind: Callable[..., AtlasPart],
    create: Callable[[Canon, Caller, BoundWorld, Any], Awaitable[str]] = create_part,
) -> Tool:
    """A tool that creates a part of the world under a key that the builder may choose."""
    return builders_tool(name, create, ID, lambda **fields: kind(**{"key": "", **fields}))


async def _record(canon: Canon, caller: Caller, world: BoundWorld, fields: Arguments) -> str:
    now = {"key": "", "description": "", "tick": world.now}
    return await create_part(canon, caller, world, Happening(**{**now, **fields}))


TABLE.kinds |= {
    "realm_told": Field({"$ref": "#/$defs/realm"}, REALM),
    "tie_told": Field({"$ref": "#/$defs/tie"}, TIE),
}
_CONTEXT: Final = TABLE.shape("realm_context")


async def _get_realm_context(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    tick = asked_tick(arguments)
    then = world_at(canon, await bound_world(canon, caller), tick)
    found = await get_realm_context(then, arguments["realmId"])
    return None if found is None else told(then, _CONTEXT(found))


TOOLS: Final[tuple[Tool, ...]] = (
    reading_tool("get-realm-context", _get_realm_context, _CONTEXT.schema),
    builders_tool("create-tie", create_tie, DONE, TieBetween),
    builders_tool("remove-tie", remove_tie, DONE, TieBetween),
    builders_tool("create-route", create_route, DONE, Route),
    builders_tool("remove-route", end_route, DONE, Route),
    _part_tool("create-location", Place),
    builders_tool(
        "create-exit",
        lambda canon, caller, world, new: create_exit(canon, caller, world, **new),
        DONE,
        lambda key, **way: {"key": key, "way": Exit(**way)},
    ),
    builders_tool(
        "remove-exit",
        lambda canon, caller, world, old: remove_exit(canon, caller, world, **old),
        DONE,
    ),
    _part_tool("create-realm", Realm),
    _part_tool("create-layer", Layer),
    _part_tool("create-character", Mover),
    _part_tool("create-player", Mover, partial(create_part, player=True)),
    builders_tool(
        "set-status",
        lambda canon, caller, world, new: set_status(canon, caller, world, **new),
        DONE,
        lambda key, **status: {"key": key, "status": status},
    ),
    _part_tool("create-item", Item),
    builders_tool("record-event", _record, ID),
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


async def _propose(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    sent = arguments.get("actionEnvelope")
    return _DECIDED(await propose(canon, caller, world, arguments["playerId"], sent))


async def _enqueue(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    decided = await enqueue_world_event(
        canon,
        caller,
        world,
        arguments["type"],
        arguments["payload"],
        key=arguments.get("idempotencyKey"),
        correlation=arguments.get("correlationId"),
        due=arguments.get("dueTick"),
    )
    return _DECIDED(decided)


def _only_by(caller: Caller) -> str | None:
    return None if caller.actor.agent_type in OVERSEERS else caller.actor.agent_id


async def _get(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    found = await get_proposal(canon, world, arguments["proposalId"], only_by=_only_by(caller))
    return None if found is None else _recorded(found)


_WANTED: Final = TABLE.readings(TABLE.tools["list-proposals"]["takes"])


async def _list(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    asked = present_arguments(_WANTED, arguments)
    cursor, limit = asked.pop("cursor", "0"), asked.pop("limit", PAGE)
    wanted = WantedProposals(**asked, only_by=_only_by(caller))
    if not (cursor.isascii() and cursor.isdigit()):
        raise InvalidInput("cursor.malformed", "take the nextCursor of a page", path="/cursor")
    found, following = await list_proposals(canon, world, wanted, limit=limit, start=int(cursor))
    return _PAGE(proposals=found, nextCursor=None if following is None else str(following))


async def _withdraw(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    named, reason = arguments["proposalId"], arguments["reason"]
    found = await withdraw_proposal(canon, caller, world, named, reason, only_by=_only_by(caller))
    return _recorded(found)


PROPOSALS_TOOLS: Final[tuple[Tool, ...]] = (
    replace(
        reading_tool("propose-action", _propose, _DECIDED.schema),
        input_schema=_PROPOSED,
        accepted_schema=_ACCEPTED,
    ),
    reading_tool("enqueue-world-event", _enqueue, _DECIDED.schema),
    reading_tool("get-proposal", _get, _RECORDED.schema),
    reading_tool("list-proposals", _list, _PAGE.schema),
    reading_tool("withdraw-proposal", _withdraw, _RECORDED.schema),
)
