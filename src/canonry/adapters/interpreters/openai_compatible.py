"""An interpreter behind any endpoint that speaks the OpenAI protocol for chat completions."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

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


class OpenAICompatibleInterpreter(Interpreter):
    """Asks for an answer that satisfies a JSON schema, and checks that it does."""

    def __init__(self, endpoint: ModelEndpoint) -> None:
        """Connect with the first request."""
        key = endpoint.key
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._connection = Connection(endpoint, headers)

    @property
    @override
    def provider(self) -> str:
        return "openai"

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
            "/chat/completions",
            {
                "model": configuration["model_id"],
                "temperature": configuration["temperature"],
                "max_tokens": self._connection.endpoint.answer_tokens,
                "messages": [
                    {"role": "system", "content": INSTRUCTIONS},
                    {"role": "user", "content": question(reading, schemas)},
                ],
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "entities", "strict": True, "schema": ANSWER_SCHEMA},
                },
            },
        )
        try:
            text = answer["choices"][0]["message"]["content"]
            return interpretation(json.loads(text), reading)
        except (LookupError, TypeError, ValueError, RecursionError, UnusableAnswer) as error:
            raise failed("does not answer as it was asked") from error

    @override
    async def close(self) -> None:
        await self._connection.close()
