"""Tools that change worlds: builders' tools, ties, and proposals of agents."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.replies import (
    BOOLEAN,
    COUNT,
    INSTANT,
    INTEGER,
    TEXT,
    UUID,
    Field,
    Shape,
    array,
    enum,
    given,
    nullable,
    obj,
    optional,
)
from canonry.gateway.tool import Arguments, Reply, Schema, Tool
from canonry.log.items.proposals import Proposal
from canonry.log.schemas.world_types import (
    ActorKind,
    LayerType,
    RealmScope,
    RealmType,
    TerrainType,
    Tie,
    WorldType,
)
from canonry.readmodels.edges import Direction
from canonry.values.errors import InvalidInput
from canonry.values.moments import parse_instant
from canonry.world.domain.admission.schema import (
    ID_PATTERN,
    KEY_MAX,
    ORDER,
    POLICY_VERSION,
    envelope_schema,
)
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
from canonry.world.toolset.contract import READERS, extension_tool, with_nulls, with_texts
from canonry.world.toolset.shapes import (
    ANYTHING,
    DONE,
    ID,
    KEY,
    KEYS,
    NAME,
    POSITIVE,
    PROSE,
    TICK,
    Request,
    asked_tick,
    builders_tool,
    told,
    word,
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
from canonry.world.usecases.proposals.settling import EVENT_NAMES, decided
from canonry.world.usecases.worlds import BoundWorld, bound_world, world_at


def _listed(name: str, value: str, schema: Schema) -> Field:
    """Values by name; errors do not repeat these names."""
    each = obj({name: NAME, value: Field(schema)})
    return Field(
        {"type": "array", "items": each, "maxItems": 100},
        lambda told: {one[name]: one[value] for one in told},
    )


_EXIT: Final = Request(
    Exit,
    {"direction": word(Direction), "toLocationId": KEY.of("to")},
    {
        "description": PROSE,
        "travelDurationMs": COUNT.of("travel_ms"),
        "oneWay": BOOLEAN.of("one_way"),
        "hidden": BOOLEAN,
        "blocked": PROSE,
        "requiresItem": KEY.of("requires"),
        "opensAtTick": COUNT.of("opens"),
        "everyTicks": POSITIVE.of("every"),
        "lastingTicks": POSITIVE.of("lasting"),
    },
)
_EXITS: Final = array(Field(_EXIT.schema, _EXIT.read)).but(maxItems=len(Direction))
_FROM: Final = {"fromLocationId": KEY.of("key")}
_STATUS: Final = {
    "alive": BOOLEAN,
    "present": BOOLEAN,
    "conditions": _listed("condition", "untilTick", {"type": ["integer", "null"], "minimum": 0}),
    "resources": _listed("resource", "amount", {"type": "integer", "minimum": 0}),
}
_MOVER: Final = (
    {"name": NAME, "locationId": KEY.of("location")},
    {"description": PROSE, "tags": KEYS, "attributes": ANYTHING, **_STATUS},
)


def _part_tool(
    name: str,
    description: str,
    kind: Callable[..., AtlasPart],
    required: Mapping[str, Field],
    optional: Mapping[str, Field],
    *,
    create: Callable[[Canon, Caller, BoundWorld, AtlasPart], Awaitable[str]] = create_part,
) -> Tool:
    """A tool that creates a part of the world under a key that the builder may choose."""
    request = Request(partial(kind, key=""), required, {"key": KEY, **optional})
    return builders_tool(name, description, request, create, ID)


async def _record(canon: Canon, caller: Caller, world: BoundWorld, fields: Arguments) -> str:
    now = {"key": "", "description": "", "tick": world.now}
    return await create_part(canon, caller, world, Happening(**{**now, **fields}))


_ASKED: Final = obj({"realmId": KEY}, {"tick": TICK})
_TIE_BETWEEN: Final = Request(
    TieBetween,
    {"fromId": KEY.of("start"), "tie": word(Tie).of("kind"), "toRealmId": KEY.of("realm")},
)
_ROUTE: Final = Request(
    Route,
    {
        "routeName": NAME.of("name"),
        "stopIds": array(KEY).but(minItems=2, maxItems=100).by(tuple).of("stops"),
    },
    {"oneWay": BOOLEAN.of("one_way")},
)
_REALM: Final = Field({"$ref": "#/$defs/realm"}, REALM)
_PARTS: Final = array(
    Shape(id=TEXT, name=TEXT, kind=enum(WorldType.REALM, WorldType.LOCATION).of("entity_type"))
)
_CONTEXT: Final = Shape(
    tick=INTEGER,
    realm=_REALM,
    around=array(_REALM),
    ties=array(Field({"$ref": "#/$defs/tie"}, TIE)),
    inside=_PARTS,
    members=_PARTS,
    complete=BOOLEAN,
)


async def _get_realm_context(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    tick = asked_tick(arguments)
    then = world_at(canon, await bound_world(canon, caller), tick)
    found = await get_realm_context(then, arguments["realmId"])
    return None if found is None else told(then, _CONTEXT(found))


TOOLS: Final[tuple[Tool, ...]] = (
    extension_tool(
        "get-realm-context",
        "Get a realm with the realms around it, its contents, its members and its ties "
        "(borders, vassals, allies, wars). null: no such realm.",
        _get_realm_context,
        roles=READERS,
        takes=_ASKED,
        accepts=with_texts(with_nulls(_ASKED)),
        gives=_CONTEXT.schema,
        null=True,
    ),
    builders_tool(
        "create-tie",
        "Tie a realm to another realm, or make a location a member of a realm.",
        _TIE_BETWEEN,
        create_tie,
        DONE,
    ),
    builders_tool(
        "remove-tie",
        "End a tie of a realm or location. Its history stays.",
        _TIE_BETWEEN,
        remove_tie,
        DONE,
    ),
    builders_tool(
        "create-route",
        "Create a named route through several locations, in both directions unless oneWay is true.",
        _ROUTE,
        create_route,
        DONE,
    ),
    builders_tool(
        "remove-route",
        "End a named route. Give the same stops as in create-route. Its history stays.",
        _ROUTE,
        end_route,
        DONE,
    ),
    _part_tool(
        "create-location",
        "Create a location with its realms and its exits to existing locations.",
        Place,
        {"name": NAME, "description": PROSE},
        {
            "terrain": word(TerrainType),
            "tags": KEYS,
            "realmIds": KEYS.of("realms"),
            "memberOfIds": KEYS.of("member_of"),
            "exits": _EXITS,
        },
    ),
    builders_tool(
        "create-exit",
        "Create an exit between two locations, and the way back unless oneWay is true.",
        Request(
            lambda key, **way: {"key": key, "way": Exit(**way)},
            {**_FROM, **_EXIT.required},
            _EXIT.optional,
        ),
        lambda canon, caller, world, new: create_exit(canon, caller, world, **new),
        DONE,
    ),
    builders_tool(
        "remove-exit",
        "End an exit and its way back. Their history stays.",
        Request(dict, {**_FROM, "direction": word(Direction)}),
        lambda canon, caller, world, old: remove_exit(canon, caller, world, **old),
        DONE,
    ),
    _part_tool(
        "create-realm",
        "Create a realm (a region, power, weather zone or network) with its ties to other realms.",
        Realm,
        {
            "name": NAME,
            "realmType": word(RealmType).of("realm_type"),
            "scope": word(RealmScope).but(description="Extent of the realm"),
        },
        {
            "description": PROSE,
            "narrativeTags": KEYS.of("narrative_tags"),
            "withinIds": KEYS.of("within"),
            "memberOfIds": KEYS.of("member_of"),
            "bordersIds": KEYS.of("borders"),
            "vassalOfIds": KEYS.of("vassal_of"),
            "alliedWithIds": KEYS.of("allied_with"),
            "atWarWithIds": KEYS.of("at_war_with"),
        },
    ),
    _part_tool(
        "create-layer",
        "Add weather, light, mood or other text to a location or realm for a span of time.",
        Layer,
        {
            "scopeId": KEY.of("scope").but(description="Location or realm: id or key"),
            "layerType": word(LayerType).of("layer_type"),
            "value": PROSE,
            "fromTick": INTEGER.of("from_tick"),
        },
        {
            "toTick": INTEGER.of("to_tick"),
            "everyTicks": POSITIVE.of("every"),
            "lastingTicks": POSITIVE.of("lasting"),
        },
    ),
    _part_tool("create-character", "Create a character at a location.", Mover, *_MOVER),
    _part_tool(
        "create-player",
        "Create a player at a location.",
        Mover,
        *_MOVER,
        create=partial(create_part, player=True),
    ),
    builders_tool(
        "set-status",
        "Set whether a player or character is alive and present, and their conditions and "
        "resources. Values that you leave out stay.",
        Request(
            lambda key, **status: {"key": key, "status": status},
            {"moverId": KEY.of("key")},
            _STATUS,
        ),
        lambda canon, caller, world, new: set_status(canon, caller, world, **new),
        DONE,
    ),
    _part_tool(
        "create-item",
        "Create an item held by a player or character, or lying at a location.",
        Item,
        {"name": NAME, "itemType": NAME.of("item_type"), "holderId": KEY.of("holder")},
        {"quantity": POSITIVE, "description": PROSE},
    ),
    builders_tool(
        "record-event",
        "Record an event at a location or with participants.",
        Request(
            dict,
            {"eventType": NAME.of("event_type")},
            {
                "description": PROSE,
                "tick": INTEGER,
                "locationId": KEY.of("location"),
                "participantIds": KEYS.of("participants"),
                "actorKind": word(ActorKind).of("actor_kind"),
            },
        ),
        _record,
        ID,
    ),
)


# Proposal tools. A refusal is a result. The envelope is advertised in full and judged by the first
# gate, not before.

PROPOSERS: Final = frozenset({"Narrative", "Encounter", "World", "Planner"})
ENQUEUERS: Final = frozenset({"World", "Encounter"})
OVERSEERS: Final = frozenset({"World", "Canonicality"})
"""The agent types that see every proposal; others see their own."""
PAGE: Final = 20
PAGE_MAX: Final = 100

_REJECTION: Final = Shape(
    gate=enum(*ORDER),
    gateIndex=INTEGER.of("gate_index"),
    rule=TEXT,
    reason=TEXT,
    path=optional(TEXT),
    admissible=optional(TEXT),
    transient=BOOLEAN,
    retryAfterMs=optional(COUNT.of("retry_after_ms")),
)
_DECIDED: Final = Shape(
    outcome=enum("accepted", "rejected").of(
        lambda each: "accepted" if each.accepted else "rejected"
    ),
    proposalId=TEXT.of("proposal_id"),
    correlationId=TEXT.of("correlation_id"),
    duplicateOf=optional(TEXT.of("duplicate_of")),
    commitId=optional(TEXT.of("commit_id")),
    eventIds=optional(array(TEXT).of(lambda each: each.event_ids or None)),
    dueTick=optional(INTEGER.of("due_tick")),
    withdrawn=optional(TEXT),
    rejection=optional(Field(_REJECTION.schema, _REJECTION)),
    gatesPassed=array(enum(*ORDER)).of("gates_passed"),
    policyVersion=TEXT.of(lambda _: POLICY_VERSION),
)
_RECORDED: Final = Shape(
    **_DECIDED.fields,
    actionEnvelope=optional(given(Field({}))),
    proposedBy=given(TEXT),
    decidedAt=given(INSTANT),
)


def _recorded(proposal: Proposal) -> Reply:
    decision = proposal.decision
    return _RECORDED(
        decided(proposal),
        actionEnvelope=proposal.content.get("envelope"),
        proposedBy=proposal.proposed_by,
        decidedAt=proposal.created_at if decision is None else decision.decided_at,
    )


_PAGE: Final = Shape(
    proposals=given(array(Field(_RECORDED.schema, _recorded))), nextCursor=nullable(given(TEXT))
)


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


_WANTED: Final = Request(
    WantedProposals,
    {},
    {
        "playerId": KEY.of("player"),
        "actorId": KEY.of("actor"),
        "outcome": enum("accepted", "rejected")
        .of("accepted")
        .by(lambda outcome: outcome == "accepted"),
        "since": INSTANT.by(partial(parse_instant, path="/since")),
    },
)


async def _list(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    wanted = replace(_WANTED.read(arguments), only_by=_only_by(caller))
    cursor = arguments.get("cursor", "0")
    if not (cursor.isascii() and cursor.isdigit()):
        raise InvalidInput("cursor.malformed", "take the nextCursor of a page", path="/cursor")
    found, following = await list_proposals(
        canon, world, wanted, limit=arguments.get("limit", PAGE), start=int(cursor)
    )
    return _PAGE(proposals=found, nextCursor=None if following is None else str(following))


async def _withdraw(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    named, reason = arguments["proposalId"], arguments["reason"]
    found = await withdraw_proposal(canon, caller, world, named, reason, only_by=_only_by(caller))
    return _recorded(found)


_NAMED: Final = {"proposalId": UUID}
PROPOSALS_TOOLS: Final[tuple[Tool, ...]] = (
    extension_tool(
        "propose-action",
        "Propose an action for a player. If all seven gates accept it, it happens. If one "
        "rejects it, nothing is written, and the reply names the rule and what would pass.",
        _propose,
        roles=PROPOSERS,
        takes=_PROPOSED,
        accepts=_ACCEPTED,
        gives=_DECIDED.schema,
        read_only=False,
    ),
    extension_tool(
        "enqueue-world-event",
        "Schedule a world event now or at a tick. The payload has the parameters of the action"
        " and scopeKey. It passes the same gates as propose-action.",
        _enqueue,
        roles=ENQUEUERS,
        takes=obj(
            {
                "type": enum(*EVENT_NAMES).but(description="Kind of event"),
                "payload": ANYTHING.but(
                    description="scopeKey (loc:<id> or player:<id>), and the params of the action"
                ),
            },
            {
                "idempotencyKey": TEXT.but(minLength=1, maxLength=KEY_MAX),
                "correlationId": UUID,
                "dueTick": COUNT,
            },
        ),
        gives=_DECIDED.schema,
        read_only=False,
    ),
    extension_tool(
        "get-proposal",
        "Get the outcome of one of your proposals. null: you have no such proposal.",
        _get,
        roles=PROPOSERS | OVERSEERS,
        takes=obj(_NAMED),
        gives=_RECORDED.schema,
        null=True,
    ),
    extension_tool(
        "list-proposals",
        "List proposals, including rejected ones, oldest first.",
        _list,
        roles=PROPOSERS | OVERSEERS,
        takes=obj(
            {},
            {**_WANTED.optional, "limit": INTEGER.but(minimum=1, maximum=PAGE_MAX), "cursor": KEY},
        ),
        gives=_PAGE.schema,
    ),
    extension_tool(
        "withdraw-proposal",
        "Withdraw a scheduled proposal that is not yet due.",
        _withdraw,
        roles=PROPOSERS | OVERSEERS,
        takes=obj({**_NAMED, "reason": PROSE.but(pattern=r"\S")}),
        gives=_RECORDED.schema,
        read_only=False,
        destructive=True,
    ),
)
