"""An interpreter behind an endpoint, whichever protocol it speaks: what all of them share."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from typing_extensions import override

from canonry.canon.ports.files import Reading
from canonry.documents.interpreters.prompt import (
    CODE_VERSION,
    PROMPT_HASH,
    UnusableAnswer,
    interpretation,
    question,
)
from canonry.log.schemas.schemas import EntitySchema
from canonry.models.endpoint import HELLO, Connection, ModelEndpoint, failed
from canonry.models.outside_services import OutsideService
from canonry.records.domain.interpretations import Interpretation
from canonry.records.ports.interpreter import Interpreter
from canonry.values.errors import InvalidInput

_HOTTEST: Final = 2.0
_NAME_MAX: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProtocol:
    """How a protocol names the key, words a question and carries the answer.

    `headers` takes the key, `body` the words of the question; `said` finds what the model said in
    an answer, which may be anything, and raises what looking into it raises.
    """

    provider: str
    path: str
    headers: Callable[[str | None], Mapping[str, str]]
    body: Callable[[str], Mapping[str, Any]]
    said: Callable[[Any], Any]


class EndpointInterpreter(Interpreter):
    """Asks for an answer that satisfies a JSON schema, and checks that it does."""

    def __init__(
        self,
        protocol: ModelProtocol,
        endpoint: ModelEndpoint,
        service: OutsideService | None = None,
    ) -> None:
        """Connect with the first request; `service` is what is known of the endpoint."""
        self._protocol = protocol
        service = service or OutsideService("interpreter")
        self._connection = Connection(endpoint, protocol.headers(endpoint.key), service)

    @property
    @override
    def provider(self) -> str:
        return self._protocol.provider

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
            self._protocol.path,
            {
                "model": configuration["model_id"],
                "temperature": configuration["temperature"],
                "max_tokens": self._connection.endpoint.answer_tokens,
                **self._protocol.body(question(reading, schemas)),
            },
            {"model": configuration["model_id"], "max_tokens": 1, "messages": HELLO},
        )
        try:
            said = self._protocol.said(answer)
            return await asyncio.to_thread(interpretation, said, reading, schemas)
        except _UNUSABLE as error:
            raise failed("does not answer as it was asked") from error

    @override
    async def close(self) -> None:
        await self._connection.close()


_UNUSABLE = (
    *(LookupError, TypeError, AttributeError, ValueError, RecursionError, StopIteration),
    UnusableAnswer,
)


def configuration_of(
    provider: str, endpoint: ModelEndpoint, asked: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The configuration of a model, with the model and temperature that were asked for.

    Raises:
        InvalidInput: `interpretation.configuration`.
    """
    model = asked.get("model_id") or endpoint.model
    temperature = asked.get("temperature", 0)
    temperature = 0 if temperature is None else temperature
    if not isinstance(model, str) or not 0 < len(model) <= _NAME_MAX:
        raise _malformed("model_id", f"must be 1 to {_NAME_MAX} characters")
    if isinstance(temperature, bool) or not isinstance(temperature, int | float):
        raise _malformed("temperature", "must be a number")
    if not 0 <= temperature <= _HOTTEST:
        raise _malformed("temperature", f"must be 0 to {_HOTTEST:g}")
    return {
        "provider": provider,
        "model_id": model,
        "temperature": temperature,
        "prompt_hash": PROMPT_HASH,
        "code_version": CODE_VERSION,
    }


def _malformed(name: str, what: str) -> InvalidInput:
    path = f"/interpretation_config/{name}"
    return InvalidInput("interpretation.configuration", f"{name} {what}", path=path)
