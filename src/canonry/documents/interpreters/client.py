"""An interpreter that asks the model of the client which made the call; it costs the server none.

The protocol cannot hold such an answer to a schema, so the schema is asked for in words.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from typing_extensions import override

from canonry.canon.ports.files import Reading
from canonry.documents.interpreters.answering import configuration_of
from canonry.documents.interpreters.prompt import (
    ANSWER_SCHEMA,
    INSTRUCTIONS,
    UnusableAnswer,
    interpretation,
    question,
)
from canonry.log.schemas.schemas import EntitySchema
from canonry.models.client_model import ClientModel
from canonry.models.endpoint import ModelEndpoint, failed
from canonry.records.domain.interpretations import Interpretation
from canonry.records.ports.interpreter import Interpreter

_TOKENS: Final = 8_192
_FENCE: Final = "```"
_SYSTEM: Final = (
    f"{INSTRUCTIONS}\nAnswer with JSON alone that satisfies this schema:\n"
    f"{json.dumps(ANSWER_SCHEMA, separators=(',', ':'))}"
)


class ClientInterpreter(Interpreter):
    """The client chooses the model; which one it was is told among the warnings."""

    def __init__(self, model: ClientModel) -> None:
        """Ask `model`."""
        self._model = model

    @property
    @override
    def provider(self) -> str:
        return "client"

    @override
    def configuration(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        return configuration_of(self.provider, ModelEndpoint(base_url="", model="client"), asked)

    @override
    async def interpret(
        self,
        reading: Reading,
        configuration: Mapping[str, Any],
        schemas: Sequence[EntitySchema],
    ) -> Interpretation:
        answer = await self._model.ask(
            system=_SYSTEM,
            question=question(reading, schemas),
            temperature=configuration["temperature"],
            tokens=_TOKENS,
        )
        try:
            said = json.loads(_unfenced(answer.text))
            found = await asyncio.to_thread(interpretation, said, reading, schemas)
        except (ValueError, RecursionError, UnusableAnswer) as error:
            raise failed("does not answer as it was asked") from error
        told = f"interpreted by {answer.model[:100]}"
        return replace(found, warnings=(*found.warnings, told))

    @override
    async def close(self) -> None:
        """Nothing is held open."""


def _unfenced(text: str) -> str:
    """The text without the fence of Markdown that models like to put around JSON."""
    bare = text.strip()
    fenced = len(bare) >= 2 * len(_FENCE) and bare.startswith(_FENCE) and bare.endswith(_FENCE)
    return bare[len(_FENCE) : -len(_FENCE)].removeprefix("json") if fenced else text
