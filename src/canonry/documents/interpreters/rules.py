"""The interpreter of rules: deterministic, on this machine, and the one that is taken unasked."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from typing_extensions import override

from canonry.canon.ports.files import Reading
from canonry.documents.extraction import RULES_VERSION
from canonry.log.schemas.schemas import EntitySchema
from canonry.records.domain.interpretations import Interpretation
from canonry.records.ports.interpreter import Interpreter
from canonry.values.errors import InvalidInput

_ASKED: Final = ("model_id", "temperature", "prompt_hash", "code_version", "feature_flags")

_UNTYPED: Final = "entity_type"
"""Of which type rows are that name none and fit none: whoever brings the file may say it."""

_NAME_MAX: Final = 200


class RulesInterpreter(Interpreter):
    """Runs in a thread, as a long table takes a while."""

    provider = "rules"

    @override
    def configuration(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        if asked.get("provider", "rules") != "rules":
            message = "this configuration is for another interpreter"
            path = "/interpretation_config/provider"
            raise InvalidInput("interpretation.configuration", message, path=path)
        told: dict[str, Any] = {
            "provider": "rules",
            "model_id": "rules",
            "temperature": 0,
            "prompt_hash": "",
            "code_version": RULES_VERSION,
        }
        # What was asked for beyond that decides nothing, but makes it another run.
        others = {
            name: asked[name]
            for name in _ASKED
            if asked.get(name) is not None and asked[name] != told.get(name)
        }
        if (named := asked.get(_UNTYPED)) is not None:
            if not isinstance(named, str) or not 0 < len(named) <= _NAME_MAX or not named.strip():
                message = f"entity_type is a word of 1 to {_NAME_MAX} characters"
                path = f"/interpretation_config/{_UNTYPED}"
                raise InvalidInput("interpretation.configuration", message, path=path)
            told[_UNTYPED] = named
        return {**told, "asked": others} if others else told

    @override
    async def interpret(
        self,
        reading: Reading,
        configuration: Mapping[str, Any],
        schemas: Sequence[EntitySchema],
    ) -> Interpretation:
        from canonry.documents.extraction.rules import interpret  # noqa: PLC0415 - rarely needed

        untyped = str(configuration.get(_UNTYPED, ""))
        return await asyncio.to_thread(interpret, reading, schemas, untyped=untyped)

    @override
    async def close(self) -> None:
        """Nothing is held open."""
