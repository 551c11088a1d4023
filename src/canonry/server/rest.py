"""Serve every tool as a REST API on the path of every call, with errors as problems."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

import orjson
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send
from typing_extensions import override

from canonry.gateway.call import Gateway
from canonry.gateway.principal import AGENT_META, KEY_META, Principal, require_complete
from canonry.server.binding import tool_entry
from canonry.server.middleware import InFlight, RequestBodies, replay_body, throttle_app
from canonry.server.openapi import Listed, openapi_of
from canonry.values.data_files import read_toml
from canonry.values.errors import CanonryError, InvalidInput

_PROBLEMS: Final = read_toml(__package__, "problems.toml")
PROBLEM_TYPE: Final = "application/problem+json"
_TYPES: Final = "https://canonry.dev/docs/reference/messages/#"
_NEVER_KEPT: Final = {"Cache-Control": "no-store"}
Bodies = tuple[int, InFlight]
"""The most bytes of one body, and those of all bodies in flight."""


class RestApi:
    """The tools of a gateway as a REST API, for requests whose host and token were accepted."""

    def __init__(
        self, gateway: Gateway, identify: Callable[[], Principal], bodies: Bodies, *, bearer: bool
    ) -> None:
        """Take the bounds of `bodies`; `identify` returns the principal of the current request.

        `bearer` says whether the server wants tokens.
        """
        self._gateway = gateway
        self._identify = identify
        self._bodies = bodies
        self._bearer = bearer
        offers = gateway.catalogue.tools.values()
        self._entries: list[Listed] = [(e, tool_entry(e.item, e.toolset)) for e in offers]

    def make_app(self, guards: Sequence[Middleware]) -> Starlette:
        """Return the application behind `guards`, which check the host and the token."""
        return Starlette(
            routes=[
                Route("/tools", self._list_tools),
                Route("/tools/{name}", self._call_tool, methods=["POST"]),
                Route("/openapi.json", self._describe_api),
            ],
            middleware=[
                *guards,
                Middleware(throttle_app, self._gateway, self._identify),
                Middleware(_Bodies, *self._bodies),
            ],
            exception_handlers={CanonryError: _error_response},
        )

    def _offered_tools(self, request: Request) -> list[Listed]:
        """Return the caller's tools as MCP lists them.

        Raises:
            NotAllowed: `identity.missing`.
        """
        principal = self._identify()
        require_complete(principal)
        every = (offer for offer, _ in self._entries)
        own = set(map(id, self._gateway.offers_for(every, principal, _meta_in(request.headers))))
        return [each for each in self._entries if id(each[0]) in own]

    async def _list_tools(self, request: Request) -> Response:
        tools = [entry for _, entry in self._offered_tools(request)]
        return JSONResponse({"tools": tools}, headers=_NEVER_KEPT)

    async def _describe_api(self, request: Request) -> Response:
        document = openapi_of(self._offered_tools(request), bearer=self._bearer)
        return JSONResponse(document, headers=_NEVER_KEPT)

    async def _call_tool(self, request: Request) -> Response:
        arguments = _read_arguments(request.headers, await request.body())
        name, meta = request.path_params["name"], _meta_in(request.headers)
        outcome = await self._gateway.call(name, arguments, self._identify(), meta)
        if outcome.error is not None and outcome.cause is not None:
            return _problem_response(outcome.cause, outcome.error.data)
        headers = dict(_NEVER_KEPT)
        if outcome.meta:
            headers["Canonry-Notes"] = json.dumps(outcome.meta, separators=(",", ":"))
        return Response(outcome.text, media_type="application/json", headers=headers)


class _Bodies(RequestBodies):
    """Gathers bodies within the bounds of MCP; they are no messages of that protocol."""

    @override
    async def _hand_on(
        self, waiting: list[bytes], scope: Scope, receive: Receive, send: Send
    ) -> None:
        await self.app(scope, replay_body(waiting, receive), send)


def _error_response(_: Request, error: Exception) -> Response:
    assert isinstance(error, CanonryError)  # noqa: S101 - registered for these alone
    return _problem_response(error, error.details)


def _read_arguments(headers: Headers, body: bytes) -> Any:
    """Return the arguments in a body; an empty body has none.

    Raises:
        InvalidInput: `body.media-type` or `body.not-json`.
    """
    if not body:
        return None
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # a form of a foreign page can send other types unasked
        message = "Send the arguments with the header `Content-Type: application/json`."
        raise InvalidInput("body.media-type", message, path="")
    try:
        arguments = json.loads(body)
    except (ValueError, RecursionError) as error:
        message = 'The body is not JSON. Send the arguments as an object: {"limit": 10}'
        raise InvalidInput("body.not-json", message, path="") from error
    return [] if arguments is None else arguments  # null is no object


def _meta_in(headers: Headers) -> dict[str, Any]:
    """Return what an MCP client would send in `_meta`."""
    meta: dict[str, Any] = {}
    key, agent = headers.get("idempotency-key"), headers.get("canonry-agent")
    if key is not None:
        meta[KEY_META] = key.removeprefix('"').removesuffix('"')  # drafts of the header quote it
    if agent is not None:
        try:
            meta[AGENT_META] = json.loads(agent)
        except (ValueError, RecursionError):
            meta[AGENT_META] = agent  # the gateway refuses it
    return meta


def _problem_response(error: CanonryError, details: Mapping[str, Any]) -> Response:
    classes = _PROBLEMS["classes"]
    kind = next(each.__name__ for each in type(error).__mro__ if each.__name__ in classes)
    status = _PROBLEMS["codes"].get(error.code, classes[kind]["status"])
    body = {
        "type": _TYPES + kind.lower(),
        "title": classes[kind]["title"],
        "status": status,
        "detail": error.message,
        "code": error.code,
        "retryable": error.retryable,
        "details": details,
    }
    headers = dict(_NEVER_KEPT)
    if (wait := error.details.get("retry_after")) is not None:
        headers["Retry-After"] = str(max(1, math.ceil(wait)))
    content = orjson.dumps(body, default=str)
    return Response(content, status, media_type=PROBLEM_TYPE, headers=headers)


def as_problems(send: Send) -> Send:
    """Return a `send` that turns the errors of guards and routers into problems.

    They answer at once with text, or with the JSON of OAuth. The status and other headers stay.
    """
    begun: Message | None = None

    async def send_problem(message: Message) -> None:
        nonlocal begun
        if message["type"] == "http.response.start":
            begun = message
            return
        if begun is not None:
            headers, status = MutableHeaders(scope=begun), begun["status"]
            if status >= HTTPStatus.BAD_REQUEST and headers.get("content-type") != PROBLEM_TYPE:
                message = {**message, "body": _plain_problem(status, message.get("body", b""))}
                headers["content-type"] = PROBLEM_TYPE
                headers["content-length"] = str(len(message["body"]))
            await send(begun)
            begun = None
        await send(message)

    return send_problem


def _plain_problem(status: int, content: bytes) -> bytes:
    detail = content.decode().strip()
    with suppress(ValueError, TypeError, LookupError):
        detail = json.loads(detail)["error_description"]
    title = HTTPStatus(status).phrase
    return orjson.dumps({"type": "about:blank", "title": title, "status": status, "detail": detail})
