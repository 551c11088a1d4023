"""Interpret a source: read its file and ask an interpreter; what comes of it is not canon yet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from canonry.domain.errors import BrokenInvariant, CanonryError, InvalidInput, Unavailable
from canonry.domain.truth.files import FileHint
from canonry.domain.truth.interpretations import Interpretation
from canonry.domain.vocabularies.schemas import EntitySchema
from canonry.ports.client_model import ASKED
from canonry.ports.interpreter import Interpreter
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.truth.store_file import filing_of
from canonry.usecases.truth.tell_source import require_bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """Who will interpret, with the whole configuration that a run's id and record rest on."""

    interpreter: Interpreter
    configuration: Mapping[str, Any]


def plan_run(canon: Canon, asked: Mapping[str, Any] | None = None) -> PlannedRun:
    """The interpreter that `asked` names, or the one of the settings.

    Raises:
        InvalidInput: `interpretation.provider` or `interpretation.configuration`.
    """
    filing = filing_of(canon)
    wanted = dict(asked or {})
    provider = str(wanted.get("provider") or filing.provider)
    interpreter = filing.interpreters.get(provider)
    if interpreter is None:
        known = ", ".join(sorted(filing.interpreters))
        message = f"there is no interpreter of this provider here; known are {known}"
        raise InvalidInput(
            "interpretation.provider", message, path="/interpretation_config/provider"
        )
    return PlannedRun(interpreter=interpreter, configuration=interpreter.configuration(wanted))


async def interpret_file(
    canon: Canon, run: PlannedRun, data: bytes, hint: FileHint, schemas: Sequence[EntitySchema]
) -> Interpretation:
    """The entities that a file speaks of.

    Raises:
        Unavailable: `interpretation.failed`; `reason` has the code of what went wrong, and the
            file is as it was. `interpretation.asked`, as the client's model says.
    """
    try:
        reading = await canon.reader.examine(data, hint)
        found = await run.interpreter.interpret(reading, run.configuration, schemas)
        require_bounds(found.entities, at="")
    except BrokenInvariant:
        raise
    except CanonryError as error:
        if error.code in {"interpretation.failed", ASKED}:
            raise
        message = f"the file is kept, but could not be interpreted: {error.message}"
        raise Unavailable("interpretation.failed", message, cause=error.code) from error
    return found
