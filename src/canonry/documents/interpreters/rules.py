"""The default interpreter: deterministic rules on this machine."""

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
"""The member of a configuration with the type of rows that have none and fit none."""

_NAME_MAX: Final = 200  # longer types are no names; keys repeat them


class RulesInterpreter(Interpreter):
    """Interprets files by rules, in a thread because long tables take time."""

    provider = "rules"

    @override
    def complete_configuration(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        if asked.get("provider", "rules") != "rules":
            message = "This configuration is for another interpreter. Set `provider` to rules."
            path = "/interpretation_config/provider"
            raise InvalidInput("interpretation.configuration", message, path=path)
        complete: dict[str, Any] = {
            "provider": "rules",
            "model_id": "rules",
            "temperature": 0,
            "prompt_hash": "",
            "code_version": RULES_VERSION,
        }
        # Other requested values have no effect, but they make a different run.
        others = {
            name: asked[name]
            for name in _ASKED
            if asked.get(name) is not None and asked[name] != complete.get(name)
        }
        if (named := asked.get(_UNTYPED)) is not None:
            if not isinstance(named, str) or not 0 < len(named) <= _NAME_MAX or not named.strip():
                message = f"`entity_type` must have 1 to {_NAME_MAX} characters."
                path = f"/interpretation_config/{_UNTYPED}"
                raise InvalidInput("interpretation.configuration", message, path=path)
            complete[_UNTYPED] = named
        return {**complete, "asked": others} if others else complete

    @override
    async def interpret_reading(
        self, reading: Reading, configuration: Mapping[str, Any], schemas: Sequence[EntitySchema]
    ) -> Interpretation:
        from canonry.documents.extraction.rules import interpret_reading  # noqa: PLC0415 - rarely needed

        untyped = str(configuration.get(_UNTYPED, ""))
        return await asyncio.to_thread(interpret_reading, reading, schemas, untyped=untyped)

    @override
    async def close(self) -> None:
        """Do nothing: there are no connections."""
