"""Ports: interpreters of files and hosts of links."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from canonry.canon.ports.files import Reading
from canonry.log.schemas.schemas import EntitySchema
from canonry.records.domain.interpretations import Interpretation


class Interpreter(Protocol):
    """Reads entities out of what a document reader found; it writes nothing and knows no canon."""

    provider: str
    """The name under which a configuration asks for it."""

    @abstractmethod
    def configuration(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """All that decides the outcome, as a run records it: `asked` completed and normalised.

        It names at least `provider`, `model_id`, `temperature`, `prompt_hash` and `code_version`.
        Equal configurations of the same file are the same run. What cannot be chosen, such as the
        version of the code that will run, is told as it is and not as it was asked.

        Raises:
            InvalidInput: `interpretation.configuration`, with `path`.
        """

    @abstractmethod
    async def interpret(
        self,
        reading: Reading,
        configuration: Mapping[str, Any],
        schemas: Sequence[EntitySchema],
    ) -> Interpretation:
        """The entities in the order in which the file speaks of them.

        `configuration` is one that `configuration` gave. Types beyond `schemas` may be found too.

        Raises:
            InvalidInput: `document.too-large`, the file holds more records than one commit takes.
            Unavailable: `interpretation.failed`, the model did not answer, or not as it was asked.
        """

    @abstractmethod
    async def close(self) -> None:
        """Let go of connections."""


class FileHost(Protocol):
    """Serves links of `canonry.records.usecases.services` under an address that clients reach."""

    @abstractmethod
    async def address(self) -> str:
        """The address before the path of a link, such as `http://127.0.0.1:8000`.

        A host that is not running yet starts.

        Raises:
            Unavailable: `file.signing-failed`, it cannot start.
        """

    @abstractmethod
    async def close(self) -> None:
        """Stop serving, if it is this host that serves."""
