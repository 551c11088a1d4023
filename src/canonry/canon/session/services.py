"""Services: values that packages above the canon keep with it, one of each type."""

from typing import Any, TypeVar

S = TypeVar("S")


class Services:
    """Finds a service by its type; makes the default of a type that nobody has put in.

    Copies made with `put` share every other service, so that counts and caches stay the same.
    """

    __slots__ = ("_by_type",)

    def __init__(self) -> None:
        """Start without any service."""
        self._by_type: dict[type, Any] = {}

    def get(self, kind: type[S]) -> S:
        """The service of this type; `kind()` becomes it where there is none."""
        found = self._by_type.get(kind)
        if found is None:
            found = self._by_type.setdefault(kind, kind())
        service: S = found
        return service

    async def close(self) -> None:
        """Close each service that can be closed."""
        for service in self._by_type.values():
            if (close := getattr(service, "close", None)) is not None:
                await close()

    def put(self, service: Any, kind: type | None = None) -> "Services":
        """A copy with this service, found by `kind`, which is its own type by default."""
        copied = Services()
        copied._by_type.update(self._by_type)
        copied._by_type[kind or type(service)] = service
        return copied
