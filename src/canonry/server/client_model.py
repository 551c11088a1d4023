"""The model of the client behind the call that runs now, as its revision of the protocol offers it.

Up to 2025-11-25 the server asks while the client waits. From 2026-07-28 on no server asks anything:
the call ends with the question, and the client makes it again with the answer. The revision that
brought this also calls sampling deprecated, so that clients may stop offering it.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

import mcp_types as types
from mcp import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from typing_extensions import override

from canonry.models.speaker import ASKED, ClientAnswer, ClientModel
from canonry.server.greeting import RequestContext
from canonry.values.errors import NotSupported, Unavailable

_SAMPLING: Final = types.ClientCapabilities(sampling=types.SamplingCapability())


@dataclass(slots=True, kw_only=True)
class Exchange:
    """A request that is being answered: what its client has answered, and what it is asked.

    Nothing is kept between two requests: the name of a question follows from its words, so that
    an answer finds it in whichever process the call is made again.
    """

    context: RequestContext
    answers: Mapping[str, types.InputResponse] = field(default_factory=dict)
    asked: dict[str, types.InputRequest] = field(default_factory=dict)


_CALLING: Final[ContextVar[Exchange | None]] = ContextVar("calling", default=None)


class calling:  # noqa: N801 - reads as a statement, and costs every call a third of a generator
    """Within the block this is the request that is answered; after it nothing remembers it."""

    __slots__ = ("_exchange", "_token")

    def __init__(self, exchange: Exchange) -> None:
        """Nothing is set before the block is entered."""
        self._exchange = exchange

    def __enter__(self) -> None:
        self._token = _CALLING.set(self._exchange)

    def __exit__(self, *_: object) -> None:
        _CALLING.reset(self._token)


class SessionModel(ClientModel):
    """Puts the question to the client that waits for the answer to its call."""

    @override
    async def ask(
        self, *, system: str, question: str, temperature: float, tokens: int
    ) -> ClientAnswer:
        exchange = _CALLING.get()
        session = None if exchange is None else exchange.context.session
        if exchange is None or session is None or not session.check_client_capability(_SAMPLING):
            raise _no_model()
        prompt = types.SamplingMessage(
            role="user", content=types.TextContent(type="text", text=question)
        )
        request = types.CreateMessageRequest(
            params=types.CreateMessageRequestParams(
                messages=[prompt], system_prompt=system, temperature=temperature, max_tokens=tokens
            )
        )
        if exchange.context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return _said(_answered(exchange, request))
        if not session.can_send_request:
            raise _no_model()
        about = ServerMessageMetadata(related_request_id=exchange.context.request_id)
        try:
            return _said(
                await session.send_request(request, types.CreateMessageResult, metadata=about)
            )
        except MCPError as error:
            message = (
                "the client refused to ask its model; the file is kept and can be read again later"
            )
            raise Unavailable("interpretation.failed", message) from error


def _answered(exchange: Exchange, request: types.CreateMessageRequest) -> types.InputResponse:
    """The answer that came with the call.

    Raises:
        Unavailable: `interpretation.asked`, none did; the exchange has the question now.
    """
    words = request.model_dump_json(by_alias=True, exclude_none=True)
    name = f"model-{sha256(words.encode()).hexdigest()[:32]}"
    answer = exchange.answers.get(name)
    if answer is None:
        exchange.asked[name] = request
        raise Unavailable(ASKED, "the client is asked; call again with its model's answer")
    return answer


def _said(answer: types.InputResponse) -> ClientAnswer:
    one = answer.content if isinstance(answer, _ANSWERS) else None
    if isinstance(answer, _ANSWERS) and isinstance(one, types.TextContent):
        return ClientAnswer(text=one.text, model=answer.model)
    message = "the client's model answers with something that is no text"
    raise Unavailable("interpretation.failed", message)


_ANSWERS: Final = (types.CreateMessageResult, types.CreateMessageResultWithTools)


def _no_model() -> NotSupported:
    message = "this client offers no model of its own; choose another provider"
    return NotSupported("interpretation.no-client-model", message)
