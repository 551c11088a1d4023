"""What can go wrong, sorted by what the caller may do about it; the code names the broken rule.

CanonryError
├── InvalidInput      the request is wrong; sending it again will not help
├── NotAllowed        this caller may not do this
├── NotFound          the thing named does not exist
├── Conflict          the canon stands against it; look again before retrying
├── NotSupported      this backend declares that it cannot do this
├── Unavailable       something did not answer in time; the same request may be sent again
└── BrokenInvariant   a defect of Canonry itself
"""

from typing import Any, ClassVar


class CanonryError(Exception):
    """Base of every error that Canonry raises on purpose.

    `code` is stable and lower-case with dots (`scene.completed`), `message` is for people and says
    what to do next, `details` are JSON values that help a program (ids, paths, limits).
    """

    retryable: ClassVar[bool] = False

    def __init__(self, code: str, message: str, **details: Any) -> None:
        """Keep personal data out of `message` and `details`: both reach logs."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.details: dict[str, Any] = details

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class InvalidInput(CanonryError):
    """The request is wrong; sending it again will not help. `details["path"]` names the spot."""


class NotAllowed(CanonryError):
    """This caller may not do this."""


class NotFound(CanonryError):
    """The thing named does not exist, or not for this caller."""


class Conflict(CanonryError):
    """The canon stands against the request; `details["conflicts"]` names the ids where known."""


class NotSupported(CanonryError):
    """This backend declares that it cannot do this."""


class Unavailable(CanonryError):
    """Something did not answer in time; the same request may be sent again."""

    retryable = True


class BrokenInvariant(CanonryError):
    """A defect of Canonry: something that must hold does not."""
