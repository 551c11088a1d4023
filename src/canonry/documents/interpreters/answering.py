"""An interpreter behind an endpoint, whichever protocol it speaks: what all of them share."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from canonry.canon.ports.files import Reading
from canonry.documents.interpreters.prompt import UnusableAnswer, interpretation, question
from canonry.log.schemas.schemas import EntitySchema
from canonry.models.endpoint import HELLO, Connection, ModelEndpoint, configuration_of, failed
from canonry.models.outside_services import OutsideService
from canonry.records.domain.interpretations import Interpretation
from canonry.records.ports.interpreter import Interpreter


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
