"""Ports: interpreters of files and hosts of links."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from canonry.canon.ports.files import Reading
from canonry.log.schemas.schemas import EntitySchema
from canonry.records.domain.interpretations import Interpretation


class Interpreter(Protocol):
    """Finds entities in the reading of a document. It writes nothing and does not use the canon."""

    provider: str
    """The name of the interpreter in a configuration."""

    @abstractmethod
    def complete_configuration(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return `asked` completed and normalised: everything that decides the outcome.

        It has at least `provider`, `model_id`, `temperature`, `prompt_hash` and `code_version`.
        Equal configurations of a file are the same run. Values that cannot be chosen, such as the
        version of the code, are the actual ones.

        Raises:
            InvalidInput: `interpretation.configuration`, with `path`.
        """

    @abstractmethod
    async def interpret_reading(
        self, reading: Reading, configuration: Mapping[str, Any], schemas: Sequence[EntitySchema]
    ) -> Interpretation:
        """Find the entities of a file, in the order of the file.

        `configuration` comes from the method of that name. Types beyond `schemas` are possible.

        Raises:
            InvalidInput: `document.too-large`, the file holds more records than one commit takes.
            Unavailable: `interpretation.failed`, the model's reply is missing or malformed.
        """

    @abstractmethod
    async def close(self) -> None:
        """Close connections."""


class FileHost(Protocol):
    """Serves links of `canonry.records.usecases.files` under an address that clients reach."""

    @abstractmethod
    async def link_address(self) -> str:
        """Return the address before the path of a link, such as `http://127.0.0.1:8000`.

        Start the host if it is not running.

        Raises:
            Unavailable: `file.signing-failed`, it cannot start.
        """

    @abstractmethod
    async def close(self) -> None:
        """Stop the host if this object started it."""
