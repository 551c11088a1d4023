"""An interpreter behind an endpoint that speaks the Anthropic protocol for messages."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from typing_extensions import override

from canonry.adapters.interpreters.endpoint import (
    Connection,
    ModelEndpoint,
    configuration_of,
    failed,
)
from canonry.adapters.interpreters.prompt import (
    ANSWER_SCHEMA,
    INSTRUCTIONS,
    UnusableAnswer,
    interpretation,
    question,
)
from canonry.domain.files import Reading
from canonry.domain.interpretations import Interpretation
from canonry.domain.schemas import EntitySchema
from canonry.ports.interpreter import Interpreter

_VERSION: Final = "2023-06-01"
_TOOL: Final = "record_entities"


class AnthropicInterpreter(Interpreter):
    """Asks for one call of a tool whose input satisfies a JSON schema, and checks that."""

    def __init__(self, endpoint: ModelEndpoint) -> None:
        """Connect with the first request."""
        headers = {"anthropic-version": _VERSION}
        if endpoint.key is not None:
            headers["x-api-key"] = endpoint.key
        self._connection = Connection(endpoint, headers)

    @property
    @override
    def provider(self) -> str:
        return "anthropic"

    @override
    def configuration(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        return configuration_of(self.provider, self._connection.endpoint, asked)

    @override
    async def interpret(
        self,
        reading: Reading,
        configuration: Mapping[str, Any],
        schemas: Sequence[EntitySchema],
    ) -> Interpretation:
        answer = await self._connection.post(
            "/messages",
            {
                "model": configuration["model_id"],
                "temperature": configuration["temperature"],
                "max_tokens": self._connection.endpoint.answer_tokens,
                "system": INSTRUCTIONS,
                "messages": [{"role": "user", "content": question(reading, schemas)}],
                "tools": [
                    {
                        "name": _TOOL,
                        "description": "Record the entities that the document states.",
                        "input_schema": ANSWER_SCHEMA,
                    }
                ],
                "tool_choice": {"type": "tool", "name": _TOOL},
            },
        )
        try:
            called = next(each for each in answer["content"] if each.get("type") == "tool_use")
            return interpretation(called["input"], reading)
        except (LookupError, TypeError, AttributeError, StopIteration, UnusableAnswer) as error:
            raise failed("does not answer as it was asked") from error

    @override
    async def close(self) -> None:
        await self._connection.close()
