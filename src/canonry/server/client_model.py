"""The model of the client behind the call that runs now, as the revisions with sampling offer it.

From 2026-07-28 on a server asks nothing while it answers, and sampling is deprecated: there a
client's model is not asked.
"""

from contextvars import ContextVar
from typing import Final

import mcp_types as types
from mcp import MCPError
from mcp.shared.message import ServerMessageMetadata
from typing_extensions import override

from canonry.domain.errors import NotSupported, Unavailable
from canonry.ports.client_model import ClientAnswer, ClientModel
from canonry.server.greeting import Context

CALLING: Final[ContextVar[Context | None]] = ContextVar("calling", default=None)
"""The request that is answered in this task."""


class SessionModel(ClientModel):
    """Sends the question to the client that waits for the answer to its call."""

    @override
    async def ask(
        self, *, system: str, question: str, temperature: float, tokens: int
    ) -> ClientAnswer:
        context = CALLING.get()
        session = None if context is None else context.session
        wanted = types.ClientCapabilities(sampling=types.SamplingCapability())
        if (
            context is None
            or session is None
            or not session.can_send_request
            or not session.check_client_capability(wanted)
        ):
            message = "this client offers no model of its own; choose another provider"
            raise NotSupported("interpretation.no-client-model", message)
        said = types.SamplingMessage(
            role="user", content=types.TextContent(type="text", text=question)
        )
        request = types.CreateMessageRequest(
            params=types.CreateMessageRequestParams(
                messages=[said], system_prompt=system, temperature=temperature, max_tokens=tokens
            )
        )
        about = ServerMessageMetadata(related_request_id=context.request_id)
        try:
            answer = await session.send_request(request, types.CreateMessageResult, metadata=about)
        except MCPError as error:
            message = "the client refused to ask its model; the file is kept, reinterpret it later"
            raise Unavailable("interpretation.failed", message) from error
        content = answer.content
        if not isinstance(content, types.TextContent):
            message = "the client's model answers with something that is no text"
            raise Unavailable("interpretation.failed", message)
        return ClientAnswer(text=content.text, model=answer.model)
