"""Revising: a frozen value with some fields replaced, as `dataclasses.replace` but much cheaper.

A fold revises a few things for every entry, so that this is where most of its time goes.
"""

from collections.abc import Callable
from dataclasses import fields
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
    _, put, fields_of = _shape(kind)
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


def spread(value: Any) -> dict[str, Any]:
    """The fields of such a value by their names."""
    kind: Any = type(value)
    names, _, fields_of = _shape(kind)
    return dict(zip(names, fields_of(value), strict=True))


def narrowed(kind: type[T], value: T, /, **changes: Any) -> T:
    """What a `kind` knows of `value`, which knows more, with `changes`."""
    names, *_ = _shape(kind)  # type: ignore[arg-type] # a type is hashable
    known = {name: getattr(value, name) for name in names}
    return kind(**known | changes)


@cache
def _shape(
    kind: type[Any],
) -> tuple[tuple[str, ...], tuple[Put, ...], Callable[[Any], tuple[Any, ...]]]:
    names = tuple(each.name for each in fields(kind))
    if len(names) < _FEWEST:
        message = f"{kind.__name__} has too few fields to be revised"
        raise TypeError(message)
    if hasattr(kind, "__post_init__"):
        message = f"{kind.__name__} looks at its fields when it is made, so that it is not copied"
        raise TypeError(message)
    return names, tuple(getattr(kind, name).__set__ for name in names), attrgetter(*names)
