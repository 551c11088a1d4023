"""A speaker behind an endpoint of the OpenAI protocol; whatever it answers may be anything."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from typing_extensions import override

from canonry.models.endpoint import HELLO, Connection, ModelEndpoint, bearer, failed
from canonry.models.outside_services import OutsideService
from canonry.models.speaker import ModelSpeech, SpeakingModel, ToolAsked
from canonry.values.json_values import decode_json

_ASKED_MAX: Final = 16
_TEXT_MAX: Final = 20_000
_NAME_MAX: Final = 200


class EndpointSpeaker(SpeakingModel):
    """Asks for chat completions with tools."""

    def __init__(
        self,
        endpoint: ModelEndpoint,
        temperature: float = 0.7,
        service: OutsideService | None = None,
    ) -> None:
        """Connect with the first request; `service` is what is known of the endpoint."""
        service = service or OutsideService("speaker")
        self._connection = Connection(endpoint, bearer(endpoint.key), service)
        self._temperature = temperature

    @override
    async def speak(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        model: str = "",
    ) -> ModelSpeech:
        own = self._connection.endpoint
        model = model or own.model
        body: dict[str, Any] = {
            "model": model,
            "temperature": self._temperature,
            "max_tokens": own.answer_tokens,
            "messages": list(messages),
        }
        if tools:
            body["tools"] = list(tools)
        probe = {"model": model, "max_tokens": 1, "messages": HELLO}
        answer = await self._connection.post("/chat/completions", body, probe)
        try:
            return _spoken(answer, model)
        except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise failed("does not answer as it was asked") from error

    @override
    async def close(self) -> None:
        await self._connection.close()


def _spoken(answer: Any, model: str) -> ModelSpeech:
    message = answer["choices"][0]["message"]
    usage = answer.get("usage") or {}
    text = message.get("content") or ""
    if not isinstance(text, str):
        raise TypeError(text)
    asked = tuple(_asked(each) for each in (message.get("tool_calls") or ())[:_ASKED_MAX])
    return ModelSpeech(
        text=text[:_TEXT_MAX],
        asked=asked,
        model=model,
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
    )


def _asked(call: Any) -> ToolAsked:
    function = call["function"]
    try:
        given = decode_json((function.get("arguments") or "{}").encode())
    except ValueError:
        given = {}
    return ToolAsked(
        id=str(call["id"])[:_NAME_MAX],
        name=str(function["name"])[:_NAME_MAX],
        arguments=given if isinstance(given, dict) else {},
    )


def _count(told: Any) -> int:
    return told if isinstance(told, int) and not isinstance(told, bool) and told >= 0 else 0
