"""Proposal tools: what agents propose, and what became of it; the gates decide.

A refusal is a result. The envelope is advertised in full and judged by the first gate, not before.
"""

from collections.abc import Mapping
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
from canonry.values.errors import InvalidInput
from canonry.values.moments import parse_instant
from canonry.world.domain.admission.kit import ORDER, POLICY_VERSION
from canonry.world.domain.admission.schema import ID_PATTERN, KEY_MAX, envelope_schema
from canonry.world.toolset.contract import extension_tool
from canonry.world.toolset.shapes import ANYTHING, KEY, PROSE, Request
from canonry.world.usecases.proposals.admission import (
    WantedProposals,
    enqueue_world_event,
    get_proposal,
    list_proposals,
    propose,
    withdraw_proposal,
)
from canonry.world.usecases.proposals.applying import EVENT_NAMES
from canonry.world.usecases.proposals.settling import decided
from canonry.world.usecases.worlds import bound_world

PROPOSERS: Final = frozenset({"Narrative", "Encounter", "World", "Planner"})
ENQUEUERS: Final = frozenset({"World", "Encounter"})
OVERSEERS: Final = frozenset({"World", "Canonicality"})
"""Who sees every proposal; others see their own."""
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
    """A proposal as its record tells of it."""
    decision = proposal.decision
    return _RECORDED(
        decided(proposal),
        actionEnvelope=proposal.content.get("envelope"),
        proposedBy=proposal.proposed_by,
        decidedAt=proposal.created_at if decision is None else decision.decided_at,
    )


_PAGE: Final = Shape(
    proposals=given(array(Field(_RECORDED.schema, _recorded))),
    nextCursor=nullable(given(TEXT)),
)


def _published() -> Schema:
    """What `propose-action` takes, with the definitions that an envelope refers to."""
    schema, parts = envelope_schema()
    asked = obj({"playerId": KEY, "actionEnvelope": Field(_plain(schema))})
    return {**asked, "$defs": {name: _plain(part) for name, part in parts.items()}}


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


_ASKED: Final = _published()
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
TOOLS: Final[tuple[Tool, ...]] = (
    extension_tool(
        "propose-action",
        "Propose what happens, on behalf of a player. Seven gates judge it: accepted, it is true; "
        "rejected, nothing is written, and the rejection says which rule and what would pass.",
        _propose,
        roles=PROPOSERS,
        takes=_ASKED,
        accepts=_ACCEPTED,
        gives=_DECIDED.schema,
        read_only=False,
    ),
    extension_tool(
        "enqueue-world-event",
        "Have an event of the closed list come about, now or at a tick. The payload has the "
        "parameters of its action and the scopeKey; it passes the same gates.",
        _enqueue,
        roles=ENQUEUERS,
        takes=obj(
            {
                "type": enum(*EVENT_NAMES).but(description="What comes about"),
                "payload": ANYTHING.but(
                    description="scopeKey (loc: or player: and an id) and the params of its action"
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
        "Tell what became of a proposal. Null: there is none of yours.",
        _get,
        roles=PROPOSERS | OVERSEERS,
        takes=obj(_NAMED),
        gives=_RECORDED.schema,
        null=True,
    ),
    extension_tool(
        "list-proposals",
        "List proposals in the order in which they came, refused ones too.",
        _list,
        roles=PROPOSERS | OVERSEERS,
        takes=obj(
            {},
            {
                **_WANTED.optional,
                "limit": INTEGER.but(minimum=1, maximum=PAGE_MAX),
                "cursor": KEY,
            },
        ),
        gives=_PAGE.schema,
    ),
    extension_tool(
        "withdraw-proposal",
        "Take back what is scheduled and not due yet.",
        _withdraw,
        roles=PROPOSERS | OVERSEERS,
        takes=obj({**_NAMED, "reason": PROSE.but(pattern=r"\S")}),
        gives=_RECORDED.schema,
        read_only=False,
        destructive=True,
    ),
)
