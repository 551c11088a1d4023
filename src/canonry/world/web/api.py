"""The pages for programs beside the protocol: proposals, prompt templates, and what models cost.

They are served with the world toolset. Proposals take the path of every call; templates and sums
are for whoever makes or oversees proposals, and none of them is told over the protocol.
"""

import json
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from canonry.canon.session.ai_words import EventName, ModelPurpose
from canonry.canon.session.caller import Caller
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal, authorize, caller_for
from canonry.values.errors import CanonryError, InvalidInput, NotAllowed
from canonry.values.ids import SpaceId
from canonry.values.moments import Instant, parse_instant, render_instant
from canonry.world.domain.prompts.templates import find_template, list_templates
from canonry.world.models.services import WorldServices, count_event
from canonry.world.models.telemetry import usage_report
from canonry.world.usecases.recounting import recount_usage
from canonry.world.usecases.worlds import worlds_seen
from canonry.world.web.dialogue import Dialogues, WhoAsks

BODY_MAX: Final = 256 * 1024
_STATUS: Final = {
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


class WorldRoutes:
    """The routes of the world toolset, as `canonry.server.pages.ToolsetRoutes` describes them."""

    def __init__(
        self, gateway: Gateway, identify: Callable[[], Principal], ask: WhoAsks, seconds: float
    ) -> None:
        """Serve only the world toolset; a character has `seconds` to answer."""
        self._gateway = gateway
        (self._toolset,) = gateway.catalogue.toolsets
        self._identify = identify
        self.dialogues = Dialogues(gateway, ask, seconds=seconds)

    def open_routes(self) -> Sequence[Route]:
        """The route under which players speak."""
        return (self.dialogues.route(),)

    async def close(self) -> None:
        """End what is done after turns."""
        await self.dialogues.close()

    def guarded_routes(self) -> Sequence[Route]:
        """The pages for programs."""
        return [
            Route("/proposals", self._propose, methods=["POST"]),
            Route("/proposals/{id}", self._proposal),
            Route("/prompts", self._for_readers(self._prompts)),
            Route("/prompts/{id}", self._for_readers(self._prompt)),
            Route("/telemetry/ai-usage", self._for_readers(self._usage)),
        ]

    def _for_readers(self, page: ProgramPage) -> Callable[[Request], Awaitable[Response]]:
        """The page, for whoever has a role to read it in and a world to read it of."""

        async def answer(request: Request) -> Response:
            path = request.url.path
            try:
                caller = caller_for(self._toolset, path, READERS, self._identify())
                authorize(self._toolset, path, READERS, caller)
                await self._require_world(caller)
            except CanonryError as error:
                return _wrong(
                    403 if isinstance(error, NotAllowed) else 503, error.code, error.message
                )
            return await page(request, caller)

        return answer

    async def _require_world(self, caller: Caller) -> None:
        spaces = _spaces_of(caller)
        if spaces is None or await worlds_seen(self._gateway.canon, replace(caller, spaces=spaces)):
            return
        message = "this caller may see no world: grant it one by the claim spaces or by --spaces"
        raise NotAllowed("world.not-granted", message)

    async def _propose(self, request: Request) -> Response:
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > BODY_MAX:
                return _wrong(413, "body.too-large", f"a body has at most {BODY_MAX} bytes")
        try:
            sent = json.loads(body)
        except (ValueError, RecursionError):
            return _wrong(400, "body.not-json", "send a JSON object")
        return await self._call("propose-action", sent)

    async def _proposal(self, request: Request) -> Response:
        return await self._call("get-proposal", {"proposalId": request.path_params["id"]})

    async def _call(self, tool: str, arguments: Any) -> Response:
        result = await self._gateway.call(tool, arguments, self._identify())
        body = result.body
        if result.error is not None:
            error = body["error"]
            wait = error.get("details", {}).get("retry_after")
            return _told(body, _STATUS.get(error["code"], 400), wait)
        if body is None:
            return _wrong(404, "proposal.unknown", "there is no such proposal of yours")
        rejection = body.get("rejection")
        if rejection is None or tool == "get-proposal":
            return _told(body, 200)
        wait = rejection.get("retryAfterMs")
        seconds = None if wait is None else wait / 1_000
        return _told(body, _GATES.get(rejection["gate"], 200), seconds)

    async def _prompts(self, request: Request, _: Caller) -> Response:
        found = list_templates(request.query_params.get("tag"))
        told = [{"id": t.id, "version": t.version, "name": t.name, "hash": t.hash} for t in found]
        return _told({"prompts": told}, 200)

    async def _prompt(self, request: Request, _: Caller) -> Response:
        found = find_template(request.path_params["id"], request.query_params.get("version"))
        if found is None:
            return _wrong(404, "prompt.unknown", "GET /api/prompts lists them")
        count_event(self._gateway.canon, EventName.TEMPLATE_READ)
        tag = {"ETag": f'"{found.hash}"'}
        if f'"{found.hash}"' in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=tag)
        return JSONResponse({**found.told(), "hash": found.hash}, headers=tag)

    async def _usage(self, request: Request, caller: Caller) -> Response:
        asked, canon = request.query_params, self._gateway.canon
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
            return _wrong(400, "query.malformed", message)
        await recount_usage(canon.whole)
        telemetry, now = canon.service(WorldServices).telemetry, canon.clock.now()
        began = telemetry.began
        rows = usage_report(telemetry, since, purpose, _spaces_of(caller))
        told = {
            "until": render_instant(now),
            # What is not recorded, such as calls, is counted anew by each process.
            "callsSince": render_instant(now if began is None else began),
            "usage": [row for row in rows if event is None or row["eventType"] == event],
        }
        return _told(told, 200)


def _spaces_of(caller: Caller) -> frozenset[SpaceId] | None:
    """The spaces whose sums the caller may read, of its world alone where it is bound to one."""
    if caller.world is None:
        return caller.spaces
    own = frozenset((caller.world,))
    return own if caller.spaces is None else own & caller.spaces


def _told(body: Any, status: int, wait: float | None = None) -> Response:
    headers = {} if wait is None else {"Retry-After": str(max(1, math.ceil(wait)))}
    return JSONResponse(body, status, headers=headers)


def _wrong(status: int, code: str, message: str) -> Response:
    return JSONResponse({"error": {"code": code, "message": message}}, status)
