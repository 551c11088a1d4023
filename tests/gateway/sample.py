"""A small toolset for tests of the path: lamps that are lit, read, and fail on purpose."""

import asyncio
from collections.abc import Mapping
from typing import Any

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.documents.readers import LocalReader
from canonry.gateway.audit import Audit
from canonry.gateway.call import Gateway, GatewaySettings
from canonry.gateway.principal import Principal
from canonry.gateway.tool import (
    ANYONE,
    Arguments,
    Cached,
    CallTool,
    ErrorBody,
    Prompt,
    PromptArgument,
    Reply,
    Resource,
    Tool,
    Toolset,
)
from canonry.log.commits import Append, Draft
from canonry.log.entries import Made
from canonry.log.folding import item_key
from canonry.log.ports.ledger import Sealer
from canonry.log.ports.world import Clock
from canonry.stores.memory import (
    MemoryCatalog,
    MemoryDocuments,
    MemoryLedger,
    MemoryPlaces,
    MemoryState,
    MemoryStore,
    MemoryText,
)
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.testing.example_items import draft_of
from canonry.values.errors import (
    BrokenInvariant,
    CanonryError,
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    Unavailable,
)
from canonry.values.ids import Space, SpaceId, SpaceKind
from canonry.values.policy import Policy
from canonry.values.provenance import Authority

LAMP = "0f8fad5b-d9cb-469f-a165-70867728950e"
SECRET = "the password of the database is swordfish"
CODES: tuple[tuple[type[CanonryError], int], ...] = (
    (NotAllowed, -32001),
    (NotFound, -32002),
    (InvalidInput, -32003),
    (Conflict, -32004),
    (Unavailable, -32005),
)


def dialect(
    error: CanonryError, *, tool: str, caller: Caller | None, trace_id: str = ""
) -> ErrorBody:
    code = next((code for kind, code in CODES if isinstance(error, kind)), -32005)
    if isinstance(error, BrokenInvariant):
        data = {"error": "INTERNAL", **error.details}
        return ErrorBody(code=-32603, message=error.message, data=data)
    data = {"error": error.code, "tool": tool, **error.details}
    return ErrorBody(code=code, message=error.message, data=data)


def an_object(
    properties: Mapping[str, Any], required: tuple[str, ...] = (), **more: Any
) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), **more}


KEEPERS = frozenset({"Keeper"})
UUID = {"type": "string", "format": "uuid"}
LEVEL = {"type": "integer", "minimum": 0, "maximum": 100, "default": 50}
LIGHT = an_object(
    {
        "lamp_id": UUID,
        "level": LEVEL,
        "since": {"type": "string", "format": "date-time"},
        "authority": {"type": "string", "enum": ["source", "gm", "player", "system"]},
        "tags": an_object({"add": {"type": "array", "items": {"type": "string", "minLength": 1}}}),
        "note": {"type": "string"},
        "details": {"type": "object"},
    },
    ("lamp_id",),
)
LIT = an_object({"lamp_id": UUID, "level": {"type": "integer"}, "by": {"type": "string"}})


async def light(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    return {
        "lamp_id": arguments["lamp_id"],
        "level": arguments["level"],
        "by": caller.actor.agent_id,
    }


async def found(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    """Open the space that the lamp stands in, or change it, so that something is touched."""
    space, now = SpaceId(arguments["lamp_id"]), canon.clock.now()
    position = await canon.ledger.head_position(space)
    item = Space(
        id=space,
        kind=SpaceKind.UNIVERSE,
        name="a room",
        description="",
        parent=None,
        created_at=now,
        position=position + 1,
        changed_at=position + 1,
    )
    draft = Draft(
        id=caller.commit_id(space, canon.identities.new_id),
        space=space,
        actor=caller.actor,
        tool=caller.tool,
        entries=(Made(thing=draft_of(item)),),
    )
    await canon.ledger.append_drafts([Append(draft=draft, judged_at=position, reads=frozenset())])
    return {"position": await canon.ledger.head_position(space)}


async def look_at_lamp(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    return {"position": await canon.ledger.head_position(SpaceId(arguments["lamp_id"]))}


async def count(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    for step in range(3):
        await caller.progress(step + 1, 3, "counting")
    return {"counted": 3}


async def wait(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    await asyncio.Event().wait()
    return {}


async def pause(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    await asyncio.sleep(arguments["seconds"])
    return {"paused": True}


async def fail(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    raise ValueError(SECRET)


async def refuse(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    raise Conflict("lamp.broken", "this lamp is broken; take another", conflicts=[LAMP])


async def together(call: CallTool, arguments: Arguments) -> Reply:
    return {"replies": [await call(each["name"], each["arguments"]) for each in arguments["calls"]]}


async def impossible(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    raise AssertionError("a composed tool is never run")


def a_tool(name: str, run: Any, schema: Mapping[str, Any], **more: Any) -> Tool:
    values: dict[str, Any] = {
        "name": name,
        "title": name.capitalize(),
        "description": f"What {name} does.",
        "input_schema": schema,
        "output_schema": {"type": "object"},
        "roles": ANYONE,
        "run": run,
        "read_only": True,
        **more,
    }
    return Tool(**values)


ONE_LAMP = an_object({"lamp_id": UUID}, ("lamp_id",))
CALLS = an_object(
    {
        "calls": {
            "type": "array",
            "items": an_object(
                {"name": {"type": "string"}, "arguments": {"type": "object"}},
                ("name", "arguments"),
            ),
        }
    },
    ("calls",),
)


async def read_lamp(canon: Canon, caller: Caller, variables: Mapping[str, str]) -> str:
    if variables["lamp_id"] != LAMP:
        raise NotFound("lamp.unknown", "there is no such lamp", id=variables["lamp_id"])
    return f"lamp {variables['lamp_id']} read by {caller.actor.agent_type}"


LAMPS = Toolset(
    name="lamps",
    purpose="Lamps for tests",
    server_name="lamp-layer",
    contract_version="1.0.0",
    agent_types=frozenset({"Keeper", "Visitor"}),
    dialect=dialect,
    instructions="Look before you light.",
    tools=(
        a_tool("light", light, LIGHT, roles=KEEPERS, output_schema=LIT, read_only=False),
        a_tool("found", found, ONE_LAMP, roles=frozenset({"Keeper"}), read_only=False),
        a_tool("look_uncached", look_at_lamp, ONE_LAMP),
        a_tool(
            "look",
            look_at_lamp,
            ONE_LAMP,
            cached=Cached(
                seconds=lambda _, __: 60.0,
                depends_on=lambda arguments, _: frozenset({item_key(arguments["lamp_id"])}),
            ),
        ),
        a_tool("count", count, an_object({})),
        a_tool("wait", wait, an_object({})),
        a_tool("pause", pause, an_object({"seconds": {"type": "number"}}, ("seconds",))),
        a_tool("fail", fail, an_object({})),
        a_tool("refuse", refuse, an_object({})),
        a_tool("together", impossible, CALLS, compose=together, extension=True),
    ),
    resources=(
        Resource(
            uri_template="lamps://lamp/{lamp_id}",
            name="lamp",
            title="Lamp",
            description="One lamp.",
            mime_type="text/plain",
            roles=frozenset({"Keeper"}),
            read=read_lamp,
        ),
    ),
    prompts=(
        Prompt(
            name="keep",
            title="Keep the lamps",
            description="How to keep lamps.",
            roles=frozenset({"Keeper"}),
            arguments=(PromptArgument(name="room", description="Which room.", required=True),),
            render=lambda arguments: f"Keep the lamps of {arguments['room']}.",
        ),
    ),
)

KEEPER = Principal(
    agent_id="keeper-001", agent_type="Keeper", authorities=frozenset({Authority.GM})
)
GUEST = Principal(agent_id="visitor-001", agent_type="Visitor")
TRUSTED = Principal(trusted=True, authorities=frozenset(Authority))


def a_canon(clock: Clock | None = None) -> Canon:
    store, clock, identities = MemoryStore(), clock or HandClock(), CountingIdentities()
    return Canon(
        ledger=MemoryLedger(store, Sealer(clock, identities)),
        state=MemoryState(store),
        documents=MemoryDocuments(store),
        text=MemoryText(store),
        catalog=MemoryCatalog(store),
        places=MemoryPlaces(store),
        clock=clock,
        identities=identities,
        policy=Policy(),
        reader=LocalReader(),
    )


def a_gateway(
    *toolsets: Toolset,
    canon: Canon | None = None,
    settings: GatewaySettings | None = None,
    audit: Audit | None = None,
) -> Gateway:
    return Gateway(canon or a_canon(), toolsets or (LAMPS,), settings=settings, audit=audit)
