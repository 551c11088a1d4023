"""Revising: a frozen value with some fields replaced, as `dataclasses.replace` but much cheaper.

A fold revises a few things for every entry, so that this is where most of its time goes.
"""

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, Final, TypeAlias, TypeVar

T = TypeVar("T")
Put: TypeAlias = Callable[[Any, Any], None]
"""Fills one slot of a value, whose kind would not let it be filled by its name."""

_FEWEST: Final = 2
"""With fewer names `attrgetter` answers with a value instead of a tuple."""

_blank: Final = object.__new__
_put_named: Final = object.__setattr__


def revised(value: T, /, **changes: Any) -> T:
    """A copy of a frozen, slotted dataclass value in which `changes` are made."""
    kind: Any = type(value)
    put, fields_of = _shape(kind)
    made: T = _blank(kind)
    for put_one, field in zip(put, fields_of(value), strict=True):
        put_one(made, field)
    try:
        for name, field in changes.items():
            _put_named(made, name, field)
    except AttributeError as error:
        message = f"a {kind.__name__} has no such field"
        raise TypeError(message) from error
    return made


@cache
def _shape(kind: type[Any]) -> tuple[tuple[Put, ...], Callable[[Any], tuple[Any, ...]]]:
    names: tuple[str, ...] = kind.__dict__["__slots__"]
    if len(names) < _FEWEST:
        message = f"{kind.__name__} has too few fields to be revised"
        raise TypeError(message)
    if hasattr(kind, "__post_init__"):
        message = f"{kind.__name__} looks at its fields when it is made, so that it is not copied"
        raise TypeError(message)
    return tuple(kind.__dict__[name].__set__ for name in names), attrgetter(*names)
