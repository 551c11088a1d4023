"""Worlds by path: a request to `/mcp/world/{id}` is about that world; nobody sees more by it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Final

from canonry.gateway.principal import Principal
from canonry.values.ids import SpaceId, is_uuid

PATH: Final = "/mcp/world"
_NAMED: Final[ContextVar[SpaceId | None]] = ContextVar("world", default=None)


def world_in(path: str) -> SpaceId | None:
    """The world that a path names, if it does."""
    folder, _, name = path.rpartition("/")
    return SpaceId(name.lower()) if folder == PATH and is_uuid(name) else None


@contextmanager
def about(world: SpaceId) -> Iterator[None]:
    """Within the block requests are about this world."""
    token = _NAMED.set(world)
    try:
        yield
    finally:
        _NAMED.reset(token)


def narrowed(principal: Principal) -> Principal:
    """The principal as bound to the world that the request names.

    Whoever is bound to another world already sees nothing through this path.
    """
    named = _NAMED.get()
    if named is None:
        return principal
    if principal.world not in {None, named}:
        return replace(principal, world=named, spaces=frozenset())
    return replace(principal, world=named)
