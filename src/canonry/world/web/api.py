"""The pages for programs beside the protocol: dialogues, proposals, templates and costs."""

import asyncio
import contextlib
import json
import math
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.telemetry_names import EventName, ModelPurpose
from canonry.gateway.audit import AuditLine
from canonry.gateway.call import Gateway
from canonry.gateway.principal import CORRELATION_META, Principal, caller_for, require_role
from canonry.recall.usecases.search_by_meaning import RecallServices
from canonry.values.errors import CanonryError, InvalidInput, NotAllowed, NotFound, Unavailable
from canonry.values.ids import SpaceId
from canonry.values.moments import Instant, parse_instant, render_instant
from canonry.world.domain.prompts.templates import find_template, list_templates
from canonry.world.models.services import HOUR, WorldServices, count_event, usage_report
from canonry.world.usecases import dialogue
from canonry.world.usecases.worlds import BoundWorld, bound_world, visible_worlds

PATH: Final = "/api/npc/dialogue"
ROLE: Final = "Narrative"
TOOLS: Final = (
    "get-location-context",
    "get-player-context",
    "get-atmosphere",
    "get-spatial-context",
    "get-recent-events",
    "get-canonical-fact",
    "search-lore",
    "lookup-rule",
    "search-rules",
)
"""Tools that a character may call; all are read-only."""
_BY_MEANING: Final = frozenset({"search-lore"})
_MEANING_SHARE: Final = 0.2
"""Of the deadline a search by meaning has so much, before words have to do."""
_BODY_MAX: Final = 64 * 1024  # read before anything is known of the caller
_FIELDS: Final = ("playerId", "npcId", "inputText", "correlationId")
_NAME_MAX: Final = 200  # longer names are no ids
_TOOL: Final = "npc-dialogue"
_NO_TEXT: Final = re.compile("[\0\ud800-\udfff]")
_LATER: Final = frozenset({"deadline", "tools.failed", "interpretation.failed", "model.unreadable"})
_PENDING_MAX: Final = 32  # bounds the models' work that nobody waits for
_PATIENCE: Final = 60.0  # nobody waits: a slow model may finish
_STATUS: Final = ((InvalidInput, 400), (NotAllowed, 403), (NotFound, 404), (Unavailable, 503))

WhoAsks = Callable[[Request], Awaitable[Principal | None]]
"""Returns the principal of a request; None if it has no access."""


@dataclass(slots=True)
class DialoguePages:
    """The turns of a server: one at a time for each request, and what is done after some.

    The gateway serves the world toolset alone. `identify` returns the principal of the request
    that is served; a character has `seconds` to answer.
    """

    gateway: Gateway
    identify: Callable[[], Principal]
    known: WhoAsks
    seconds: float
    later: set[asyncio.Task[bool]] = field(default_factory=set)
    resumed: set[SpaceId] = field(default_factory=set)

    def open_routes(self) -> Sequence[Route]:
        """The route under which players speak."""
        return (Route(PATH, self.answer_player, methods=["POST"]),)

    async def answer_player(self, request: Request) -> Response:
        """Answer what a player says to a character."""
        begin = time.monotonic()
        principal = await self.known(request)
        if principal is None:
            headers = {"WWW-Authenticate": "Bearer"}
            message = "The token is missing. Send the header `Authorization: Bearer TOKEN`."
            return _error_response(401, "identity.missing", message, headers)
        line = AuditLine(kind="call", name=_TOOL)
        try:
            utterance = await _read_utterance(request)
            (toolset,) = self.gateway.catalogue.toolsets
            caller = caller_for(toolset, _TOOL, frozenset((ROLE,)), principal)
            if caller.actor.agent_type != ROLE:
                raise NotAllowed("role.denied", f"Only the role {ROLE} can let characters speak.")
            turn = await self._take_turn(caller, principal, utterance)
        except CanonryError as error:
            line.code = error.code
            status = next((code for kind, code in _STATUS if isinstance(error, kind)), 409)
            return _error_response(status, error.code, error.message)
        finally:
            self.gateway.audit.record_call(line, time.monotonic() - begin)
        reply: dict[str, Any] = {
            "reply": turn.reply,
            "fallback": turn.is_fallback,
            "toolCalls": list(turn.tool_calls),
            "proposals": [each.proposal for each in turn.changes if each.proposal],
            "correlationId": utterance.correlation_id,
            "latencyMs": round((time.monotonic() - begin) * 1000),
        }
        refused = [_refusal_json(each) for each in turn.changes if each.refused]
        if refused:
            reply["refused"] = refused
        return JSONResponse(reply)

    async def _take_turn(
        self, caller: Caller, principal: Principal, utterance: dialogue.PlayerUtterance
    ) -> dialogue.DialogueTurn:
        canon = self.gateway.canon.for_viewer(caller.viewer)
        world = await bound_world(canon, caller)
        speaking = Principal(
            agent_id=principal.agent_id,
            agent_type=ROLE,
            user=principal.user,
            spaces=principal.spaces,
            world=world.space,
            authorities=frozenset(),
            characters=principal.characters,
        )
        voices = dialogue.Voices(
            speaker=canon.find_service(WorldServices).speaker,
            tools=self._tool_schemas(),
            look_up=partial(self._look_up, speaking),
            propose=partial(self._propose_change, speaking, utterance.correlation_id),
            seconds=self.seconds,
        )
        waiting = await self._left_behind(canon, world)
        turn = await dialogue.take_turn(canon, caller, world, utterance, voices)
        if turn.reason in _LATER:
            waiting = [*waiting, utterance]
        calmly = replace(voices, seconds=_PATIENCE)
        for each in waiting[: _PENDING_MAX - len(self.later)]:
            task = asyncio.create_task(dialogue.retry_answer(canon, caller, world, each, calmly))
            self.later.add(task)
            task.add_done_callback(self._note_done)
        return turn

    async def _left_behind(
        self, canon: Canon, world: BoundWorld
    ) -> Sequence[dialogue.PlayerUtterance]:
        """Repeat the fallbacks of an earlier process; runs once for each world."""
        if world.space in self.resumed or canon.find_service(WorldServices).speaker is None:
            return ()
        self.resumed.add(world.space)
        since = Instant(canon.clock.now() - HOUR)
        return await dialogue.find_unanswered(canon, world, _LATER, since)

    def _note_done(self, task: asyncio.Task[bool]) -> None:
        self.later.discard(task)
        failed = task.cancelled() or task.exception() is not None
        code = "internal" if failed else "ok" if task.result() else "dialogue.not-enriched"
        self.gateway.audit.record_call(
            AuditLine(kind="call", name="npc-dialogue-later", code=code), 0.0
        )

    async def close(self) -> None:
        """End what is still being done."""
        for task in tuple(self.later):
            task.cancel()
        await asyncio.gather(*self.later, return_exceptions=True)

    async def _propose_change(
        self, speaking: Principal, correlation_id: str, arguments: Mapping[str, Any]
    ) -> Any:
        meta = {CORRELATION_META: correlation_id}
        return (await self.gateway.call("propose-action", arguments, speaking, meta)).body

    async def _look_up(self, speaking: Principal, name: str, arguments: Mapping[str, Any]) -> Any:
        gateway, given = self.gateway, dict(arguments)
        if name in _BY_MEANING and gateway.canon.find_service(RecallServices).recall is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.seconds * _MEANING_SHARE):
                    return (await gateway.call(name, given, speaking)).body
            gateway = gateway.with_word_search()
        return (await gateway.call(name, given, speaking)).body

    def _tool_schemas(self) -> list[Mapping[str, Any]]:
        found = (self.gateway.catalogue.tools.get(name) for name in TOOLS)
        return [
            {
                "type": "function",
                "function": {
                    "name": offer.item.name,
                    "description": offer.item.description,
                    "parameters": dict(offer.item.input_schema),
                },
            }
            for offer in found
            if offer is not None and offer.item.read_only and ROLE in offer.item.roles
        ]


def _refusal_json(change: dialogue.ImpliedChange) -> Mapping[str, Any]:
    details = {"proposalId": change.proposal, "gate": change.gate, "rule": change.rule}
    named = {name: value for name, value in details.items() if value}
    return {"change": change.number, **named, "reason": change.refused}


async def _read_body(request: Request, most: int) -> bytes | None:
    """Return the body of a request; None if it is too large."""
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > most:
            return None
    return bytes(content)


async def _read_utterance(request: Request) -> dialogue.PlayerUtterance:
    content = await _read_body(request, _BODY_MAX)
    if content is None:
        message = f"A request has at most {_BODY_MAX} bytes."
        raise InvalidInput("request.too-large", message, path="")
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("request.malformed", "Send a JSON object.", path="") from error
    if not isinstance(body, dict) or set(body) != set(_FIELDS):
        message = f"Send a JSON object with exactly {', '.join(_FIELDS)}."
        raise InvalidInput("request.malformed", message, path="")
    for name in _FIELDS:
        value = body[name]
        named = name == "inputText" or (isinstance(value, str) and 0 < len(value) <= _NAME_MAX)
        odd = isinstance(value, str) and _NO_TEXT.search(value)
        if not isinstance(value, str) or not named or odd:
            raise InvalidInput("request.malformed", f"{name} must be a text.", path=f"/{name}")
    return dialogue.PlayerUtterance(
        player=body["playerId"],
        npc=body["npcId"],
        text=body["inputText"],
        correlation_id=body["correlationId"],
    )


# The pages for programs beside the protocol. They are served with the world toolset. Proposals
# take the path of every call; templates and sums are for whoever makes or oversees proposals, and
# none of them is stated over the protocol.

BODY_MAX: Final = 256 * 1024  # larger than an envelope, so that its own error names the limit
_STATUS_OF_CODES: Final = {
    "UNAUTHORIZED": 403,
    "NOT_FOUND": 404,
    "CONFLICT": 409,
    "RATE_LIMITED": 429,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 503,
    "INTERNAL_ERROR": 500,
}
READERS: Final = frozenset(
    {"Narrative", "Encounter", "World", "Planner", "Canonicality", "Telemetry"}
)
"""The agent types that may read prompt templates and sums: those that see proposals, and one."""
_GATES: Final = {"schema": 400, "rate": 429, "audit": 503}


ProgramPage = Callable[[Request, Caller], Awaitable[Response]]


class WorldRoutes(DialoguePages):
    """The routes of the world toolset, as `canonry.server.pages.ToolsetRoutes` describes them."""

    def guarded_routes(self) -> Sequence[Route]:
        """The pages for programs."""
        return [
            Route("/proposals", self._post_proposal, methods=["POST"]),
            Route("/proposals/{id}", self._get_proposal),
            Route("/prompts", self._for_readers(self._list_prompts)),
            Route("/prompts/{id}", self._for_readers(self._get_prompt)),
            Route("/telemetry/ai-usage", self._for_readers(self._get_usage)),
        ]

    def _for_readers(self, page: ProgramPage) -> Callable[[Request], Awaitable[Response]]:
        """Return the page if the caller has a role and a world to read."""

        async def answer_request(request: Request) -> Response:
            path = request.url.path
            (toolset,) = self.gateway.catalogue.toolsets
            try:
                caller = caller_for(toolset, path, READERS, self.identify())
                require_role(toolset, path, READERS, caller)
                await self._require_world(caller)
            except CanonryError as error:
                return _error_response(
                    403 if isinstance(error, NotAllowed) else 503, error.code, error.message
                )
            return await page(request, caller)

        return answer_request

    async def _require_world(self, caller: Caller) -> None:
        spaces = _spaces_of(caller)
        if spaces is None or await visible_worlds(
            self.gateway.canon, replace(caller, spaces=spaces)
        ):
            return
        message = "This caller may read no world. Grant one by the claim spaces or by --spaces."
        raise NotAllowed("world.not-granted", message)

    async def _post_proposal(self, request: Request) -> Response:
        body = await _read_body(request, BODY_MAX)
        if body is None:
            return _error_response(413, "body.too-large", f"A body has at most {BODY_MAX} bytes.")
        try:
            sent = json.loads(body)
        except (ValueError, RecursionError):
            return _error_response(400, "body.not-json", "Send a JSON object.")
        return await self._call_tool("propose-action", sent)

    async def _get_proposal(self, request: Request) -> Response:
        return await self._call_tool("get-proposal", {"proposalId": request.path_params["id"]})

    async def _call_tool(self, tool: str, arguments: Any) -> Response:
        result = await self.gateway.call(tool, arguments, self.identify())
        body = result.body
        if result.error is not None:
            error = body["error"]
            wait = error.get("details", {}).get("retry_after")
            return _json_response(body, _STATUS_OF_CODES.get(error["code"], 400), wait)
        if body is None:
            return _error_response(404, "proposal.unknown", "You have no proposal with this id.")
        rejection = body.get("rejection")
        if rejection is None or tool == "get-proposal":
            return _json_response(body, 200)
        wait = rejection.get("retryAfterMs")
        seconds = None if wait is None else wait / 1_000
        return _json_response(body, _GATES.get(rejection["gate"], 200), seconds)

    async def _list_prompts(self, request: Request, _: Caller) -> Response:
        found = list_templates(request.query_params.get("tag"))
        shown = [
            {"id": t.id, "version": t.version, "name": t.name, "hash": t.content_hash}
            for t in found
        ]
        return _json_response({"prompts": shown}, 200)

    async def _get_prompt(self, request: Request, _: Caller) -> Response:
        found = find_template(request.path_params["id"], request.query_params.get("version"))
        if found is None:
            return _error_response(404, "prompt.unknown", "GET /api/prompts lists them")
        count_event(self.gateway.canon, EventName.TEMPLATE_READ)
        tag = {"ETag": f'"{found.content_hash}"'}
        if f'"{found.content_hash}"' in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=tag)
        return JSONResponse({**found.to_json(), "hash": found.content_hash}, headers=tag)

    async def _get_usage(self, request: Request, caller: Caller) -> Response:
        asked, canon = request.query_params, self.gateway.canon
        try:
            since = parse_instant(asked["since"], path="since") if "since" in asked else Instant(0)
            purpose = ModelPurpose(asked["purpose"]) if "purpose" in asked else None
            event = EventName(asked["eventType"]) if "eventType" in asked else None
        except (InvalidInput, ValueError):
            known = ", ".join(ModelPurpose)
            message = (
                f"since is an instant as of RFC 3339, purpose one of {known}, and eventType the "
                "name of an event, as the report has them"
            )
            return _error_response(400, "query.malformed", message)
        await dialogue.recount_usage(canon.with_all_audiences)
        telemetry, now = canon.find_service(WorldServices).telemetry, canon.clock.now()
        began = telemetry.began
        rows = usage_report(telemetry, since, purpose, _spaces_of(caller))
        report = {
            "until": render_instant(now),
            # Each process counts unrecorded values, such as calls, from zero.
            "callsSince": render_instant(now if began is None else began),
            "usage": [row for row in rows if event is None or row["eventType"] == event],
        }
        return _json_response(report, 200)


def _spaces_of(caller: Caller) -> frozenset[SpaceId] | None:
    """Return the spaces whose totals the caller may read."""
    if caller.world is None:
        return caller.spaces
    own = frozenset((caller.world,))
    return own if caller.spaces is None else own & caller.spaces


def _json_response(body: Any, status: int, wait: float | None = None) -> Response:
    headers = {} if wait is None else {"Retry-After": str(max(1, math.ceil(wait)))}
    return JSONResponse(body, status, headers=headers)


def _error_response(
    status: int, code: str, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    return JSONResponse({"error": {"code": code, "message": message}}, status, headers)
