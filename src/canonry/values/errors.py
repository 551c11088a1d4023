"""Errors, sorted by what a caller can do about them. The code names the broken rule.

CanonryError
├── InvalidInput      the request is wrong; change it, because a retry fails again
├── NotAllowed        the caller lacks the permission
├── NotFound          the item does not exist
├── Conflict          canon contradicts the request; read it again before a retry
├── NotSupported      the backend cannot do this
├── Unavailable       a service did not answer in time; retry the same request
└── BrokenInvariant   a defect of Canonry itself
"""

from typing import Any, ClassVar


class CanonryError(Exception):
    """Base of every error that Canonry raises on purpose.

    `code` is stable and lower-case with dots (`scene.completed`), `message` tells a person
    what to do next, `details` are JSON values for a program (ids, paths, limits).
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
    """The request is wrong; a retry fails again. `details["path"]` locates the error."""


class NotAllowed(CanonryError):
    """The caller lacks the permission."""


class NotFound(CanonryError):
    """The item does not exist, or this caller may not see it."""


class Conflict(CanonryError):
    """Canon contradicts the request; `details["conflicts"]` has the known ids."""


class NotSupported(CanonryError):
    """The backend does not support the operation."""


class Unavailable(CanonryError):
    """A service did not answer in time; you can retry the same request."""

    retryable = True


class BrokenInvariant(CanonryError):
    """A defect of Canonry or of its stored data."""
