"""The file host: where clients fetch the files that they were given a signed link to."""

from abc import abstractmethod
from typing import Protocol


class FileHost(Protocol):
    """Serves links of `canonry.records.domain.file_links` under an address that clients reach."""

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
