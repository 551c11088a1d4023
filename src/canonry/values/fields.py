"""Read fields of JSON, and revise frozen values."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from operator import attrgetter
from typing import Any, Final, NewType, TypeAlias, TypeVar

from canonry.values.errors import InvalidInput
from canonry.values.ids import is_uuid
from canonry.values.moments import Instant, parse_instant

Reference = NewType("Reference", str)
"""An item's id, `proposal:<id>` of a proposal that creates it, or a name like `$hero`."""

PROPOSAL_PREFIX: Final = "proposal:"
LIST_MAX: Final = 200  # bounds the work of one item of a proposal
_DECLARED: Final = re.compile(r"\$[A-Za-z0-9_.-]{1,64}")


ReadTime: TypeAlias = Callable[[str, str], Instant]
"""Reads a time from (text, path); raises InvalidInput with a code `time.*`."""


def read_plain_time(text: str, path: str) -> Instant:
    """Read an RFC 3339 date-time.

    Raises:
        InvalidInput: `time.malformed` or `time.out-of-range`.
    """
    return parse_instant(text, path=path)


def is_plain_time(text: str) -> bool:
    """Return whether the text can be read without a calendar."""
    try:
        read_plain_time(text, "")
    except InvalidInput as error:
        return error.code != "time.malformed"
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The members of an object; each method takes the names that a member may have.

    `aliases` are further names of members, `times` reads times. A member that is null counts as
    missing. All methods raise InvalidInput with the `path`.
    """

    values: Mapping[str, Any]
    path: str
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    times: ReadTime = read_plain_time

    def path_of(self, name: str) -> str:
        """Return the path of a member."""
        return f"{self.path}/{name}"

    def find_member(self, *names: str) -> tuple[str, Any]:
        """Return the name and value of a member; the value is None if it is missing.

        Raises:
            InvalidInput: `content.repeats`, it came under two names.
        """
        present: list[str] = []
        for name in names:
            for each in (name, *self.aliases.get(name, ())):
                if self.values.get(each) is not None and each not in present:
                    present.append(each)
        if len(present) > 1:
            first, second = (self.path_of(present[index]) for index in (1, 0))
            message = f"{first} and {second} mean the same. Keep one."
            raise InvalidInput("content.repeats", message, path=self.path_of(present[1]))
        return (present[0], self.values[present[0]]) if present else (names[0], None)

    def read_text(self, *names: str, limit: int) -> str:
        """Return a text that is not empty.

        Raises:
            InvalidInput: `content.missing`, `content.wrong-type`, `text.empty`, `text.too-long`.
        """
        found = self.optional_text(*names, limit=limit)
        if found is None:
            raise missing_member(self.path_of(names[0]))
        return found

    def optional_text(self, *names: str, limit: int, empty: bool = False) -> str | None:
        """Return a text that may be missing; `empty` also allows an empty one."""
        name, value = self.find_member(*names)
        if value is None:
            return None
        text: str = check_type(value, str, self.path_of(name), "a text")
        if not empty and not text.strip():
            message = f"{self.path_of(name)} is empty. Give a text."
            raise InvalidInput("text.empty", message, path=self.path_of(name))
        if len(text) > limit:
            message = f"{self.path_of(name)} has {len(text)} characters; the limit is {limit}."
            raise InvalidInput("text.too-long", message, path=self.path_of(name), limit=limit)
        return text

    def read_reference(self, *names: str) -> Reference:
        """Return a required reference.

        Raises:
            InvalidInput: `content.missing` or `content.reference-malformed`.
        """
        found = self.optional_reference(*names)
        if found is None:
            raise missing_member(self.path_of(names[0]))
        return found

    def optional_reference(self, *names: str) -> Reference | None:
        """Return a reference that may be missing."""
        name, value = self.find_member(*names)
        return None if value is None else reference_of(value, self.path_of(name))

    def read_references(self, *names: str) -> tuple[Reference, ...]:
        """Return a list of references, each once."""
        name, items = self._read_items(*names)
        found = [reference_of(one, f"{self.path_of(name)}/{i}") for i, one in enumerate(items)]
        return tuple(dict.fromkeys(found))

    def read_texts(self, *names: str, limit: int) -> tuple[str, ...]:
        """Return a list of short texts, each once and sorted."""
        name, items = self._read_items(*names)
        found = set()
        for index, item in enumerate(items):
            one = Fields(values={str(index): item}, path=self.path_of(name))
            found.add(one.read_text(str(index), limit=limit).strip())
        return tuple(sorted(found))

    def read_instant(self, *names: str) -> Instant | None:
        """Return a time that may be missing."""
        name, value = self.find_member(*names)
        if value is None:
            return None
        return self.times(check_type(value, str, self.path_of(name), "a time"), self.path_of(name))

    def read_integer(self, *names: str, low: int, high: int) -> int | None:
        """Return a whole number that may be missing.

        Raises:
            InvalidInput: `content.out-of-range`.
        """
        name, value = self.find_member(*names)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            message = f"{self.path_of(name)} must be a whole number from {low} to {high}."
            raise InvalidInput("content.out-of-range", message, path=self.path_of(name))
        return value

    def read_object(self, *names: str) -> Mapping[str, Any]:
        """Return an object; an empty one if it is missing."""
        name, value = self.find_member(*names)
        if value is None:
            return {}
        return dict(sorted(check_type(value, dict, self.path_of(name), "an object").items()))

    def read_list(self, *names: str) -> Sequence[Any]:
        """Return a list of any values; an empty one if it is missing.

        Raises:
            InvalidInput: `content.wrong-type` or `list.too-long`.
        """
        return self._read_items(*names)[1]

    def _read_items(self, *names: str) -> tuple[str, Sequence[Any]]:
        name, value = self.find_member(*names)
        items = check_type(
            value if value is not None else [], list | tuple, self.path_of(name), "a list"
        )
        if len(items) > LIST_MAX:
            message = f"{self.path_of(name)} has {len(items)} items; the limit is {LIST_MAX}."
            raise InvalidInput("list.too-long", message, path=self.path_of(name), limit=LIST_MAX)
        return name, items


def reference_of(value: Any, path: str) -> Reference:
    """Read a reference.

    Raises:
        InvalidInput: `content.reference-malformed`.
    """
    if isinstance(value, str):
        text = value.strip()
        if _DECLARED.fullmatch(text):
            return Reference(text)
        if is_uuid(text.removeprefix(PROPOSAL_PREFIX)):
            return Reference(text.lower())
    message = f"{path} must be the id of an item, proposal:<id> of a proposal, or $name."
    raise InvalidInput("content.reference-malformed", message, path=path)


def check_type(value: Any, kind: Any, path: str, what: str) -> Any:
    """Return the value if it has that type.

    Raises:
        InvalidInput: `content.wrong-type`.
    """
    if not isinstance(value, kind):
        raise InvalidInput("content.wrong-type", f"{path} must be {what}.", path=path)
    return value


def missing_member(path: str) -> InvalidInput:
    """Return the error for a missing required member."""
    return InvalidInput("content.missing", f"{path} is missing. Add it.", path=path)


# Revising: a copy of a frozen value with some fields replaced.
#
# This is much cheaper than `dataclasses.replace`. A fold revises a few items for every entry and
# spends most of its time here.

T = TypeVar("T")
Put: TypeAlias = Callable[[Any, Any], None]
"""Sets one slot of a value whose type forbids setting attributes."""

_FEWEST: Final = 2  # with fewer names `attrgetter` returns a value instead of a tuple

_blank: Final = object.__new__
_put_named: Final = object.__setattr__


def with_changes(value: T, /, **changes: Any) -> T:
    """Return a copy of a frozen, slotted dataclass value with `changes`."""
    kind: Any = type(value)
    _, put, fields_of = _field_access(kind)
    made: T = _blank(kind)
    for put_one, kept in zip(put, fields_of(value), strict=True):
        put_one(made, kept)
    try:
        for name, changed in changes.items():
            _put_named(made, name, changed)
    except AttributeError as error:
        message = f"{kind.__name__} has no such field: {name}"
        raise TypeError(message) from error
    return made


def field_values(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass value by name."""
    kind: Any = type(value)
    names, _, fields_of = _field_access(kind)
    return dict(zip(names, fields_of(value), strict=True))


def narrow_to(kind: type[T], value: T, /, **changes: Any) -> T:
    """Return the fields of `value` that `kind` has, as a `kind`, with `changes`."""
    names, *_ = _field_access(kind)  # type: ignore[arg-type] # a type is hashable
    known = {name: getattr(value, name) for name in names}
    return kind(**known | changes)


@cache  # a record's write asks 10 times: bench compare, bulk
def _field_access(
    kind: type[Any],
) -> tuple[tuple[str, ...], tuple[Put, ...], Callable[[Any], tuple[Any, ...]]]:
    names = tuple(each.name for each in fields(kind))
    if len(names) < _FEWEST:
        message = f"{kind.__name__} has too few fields to be revised"
        raise TypeError(message)
    if hasattr(kind, "__post_init__"):
        message = f"{kind.__name__} has a __post_init__, which a copy would skip"
        raise TypeError(message)
    return names, tuple(getattr(kind, name).__set__ for name in names), attrgetter(*names)
