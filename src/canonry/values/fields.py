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
"""A thing by its id, by `proposal:<id>` of a proposal that makes it, or by a name like `$hero`."""

PROPOSAL_PREFIX: Final = "proposal:"
LIST_MAX: Final = 200
_DECLARED: Final = re.compile(r"\$[A-Za-z0-9_.-]{1,64}")


ReadTime: TypeAlias = Callable[[str, str], Instant]
"""When a text says, in a member at a path; raises InvalidInput with a code `time.*`."""


def plain_time(text: str, path: str) -> Instant:
    """What an RFC 3339 date-time says.

    Raises:
        InvalidInput: `time.malformed` or `time.out-of-range`.
    """
    return parse_instant(text, path=path)


def is_plain_time(text: str) -> bool:
    """Whether no calendar is needed to read it."""
    try:
        plain_time(text, "")
    except InvalidInput as error:
        return error.code != "time.malformed"
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The members of an object; each method takes the names under which a member may come.

    `aliases` are further names of members, `times` reads what says when. A member that is null
    counts as missing. All methods raise InvalidInput with the `path`.
    """

    values: Mapping[str, Any]
    path: str
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    times: ReadTime = plain_time

    def at(self, name: str) -> str:
        """The path of a member."""
        return f"{self.path}/{name}"

    def find(self, *names: str) -> tuple[str, Any]:
        """The name under which the member came, and its value; None where it is missing.

        Raises:
            InvalidInput: `content.repeats`, it came under two names.
        """
        present: list[str] = []
        for name in names:
            for each in (name, *self.aliases.get(name, ())):
                if self.values.get(each) is not None and each not in present:
                    present.append(each)
        if len(present) > 1:
            message = f"{self.at(present[1])} says the same as {self.at(present[0])}; keep one"
            raise InvalidInput("content.repeats", message, path=self.at(present[1]))
        return (present[0], self.values[present[0]]) if present else (names[0], None)

    def text(self, *names: str, limit: int) -> str:
        """A text that says something.

        Raises:
            InvalidInput: `content.missing`, `content.wrong-type`, `text.empty`, `text.too-long`.
        """
        found = self.optional_text(*names, limit=limit)
        if found is None:
            raise missing(self.at(names[0]))
        return found

    def optional_text(self, *names: str, limit: int, empty: bool = False) -> str | None:
        """The same, where it may be missing; `empty` allows a text without words."""
        name, value = self.find(*names)
        if value is None:
            return None
        text: str = typed(value, str, self.at(name), "a text")
        if not empty and not text.strip():
            raise InvalidInput(
                "text.empty", f"{self.at(name)} is empty; say something", path=self.at(name)
            )
        if len(text) > limit:
            message = f"{self.at(name)} has {len(text)} characters; the limit is {limit}"
            raise InvalidInput("text.too-long", message, path=self.at(name), limit=limit)
        return text

    def reference(self, *names: str) -> Reference:
        """A reference that must be there.

        Raises:
            InvalidInput: `content.missing` or `content.reference-malformed`.
        """
        found = self.optional_reference(*names)
        if found is None:
            raise missing(self.at(names[0]))
        return found

    def optional_reference(self, *names: str) -> Reference | None:
        """A reference that may be missing."""
        name, value = self.find(*names)
        return None if value is None else reference_of(value, self.at(name))

    def references(self, *names: str) -> tuple[Reference, ...]:
        """A list of references, each once."""
        name, items = self._list(*names)
        found = [reference_of(one, f"{self.at(name)}/{i}") for i, one in enumerate(items)]
        return tuple(dict.fromkeys(found))

    def texts(self, *names: str, limit: int) -> tuple[str, ...]:
        """A list of short texts, each once and sorted."""
        name, items = self._list(*names)
        found = set()
        for index, item in enumerate(items):
            one = Fields(values={str(index): item}, path=self.at(name))
            found.add(one.text(str(index), limit=limit).strip())
        return tuple(sorted(found))

    def instant(self, *names: str) -> Instant | None:
        """A time that may be missing."""
        name, value = self.find(*names)
        if value is None:
            return None
        return self.times(typed(value, str, self.at(name), "a time"), self.at(name))

    def whole(self, *names: str, low: int, high: int) -> int | None:
        """A whole number that may be missing.

        Raises:
            InvalidInput: `content.out-of-range`.
        """
        name, value = self.find(*names)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            message = f"{self.at(name)} is a whole number between {low} and {high}"
            raise InvalidInput("content.out-of-range", message, path=self.at(name))
        return value

    def mapping(self, *names: str) -> Mapping[str, Any]:
        """An object; an empty one where it is missing."""
        name, value = self.find(*names)
        if value is None:
            return {}
        return dict(sorted(typed(value, dict, self.at(name), "an object").items()))

    def listed(self, *names: str) -> Sequence[Any]:
        """A list of anything; an empty one where it is missing.

        Raises:
            InvalidInput: `content.wrong-type` or `list.too-long`.
        """
        return self._list(*names)[1]

    def _list(self, *names: str) -> tuple[str, Sequence[Any]]:
        name, value = self.find(*names)
        items = typed(value if value is not None else [], list | tuple, self.at(name), "a list")
        if len(items) > LIST_MAX:
            message = f"{self.at(name)} has {len(items)} items; the limit is {LIST_MAX}"
            raise InvalidInput("list.too-long", message, path=self.at(name), limit=LIST_MAX)
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
    message = f"{path} names a thing: write its id, proposal:<id> of its proposal, or $name"
    raise InvalidInput("content.reference-malformed", message, path=path)


def typed(value: Any, kind: Any, path: str, what: str) -> Any:
    """The value, if it is of that kind.

    Raises:
        InvalidInput: `content.wrong-type`.
    """
    if not isinstance(value, kind):
        raise InvalidInput("content.wrong-type", f"{path} is {what}", path=path)
    return value


def missing(path: str) -> InvalidInput:
    """The error for a member that must be there."""
    return InvalidInput("content.missing", f"{path} is missing; it is required", path=path)


# Revising: a frozen value with some fields replaced, as `dataclasses.replace` but much cheaper.
#
# A fold revises a few things for every entry, so that this is where most of its time goes.

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
    for put_one, kept in zip(put, fields_of(value), strict=True):
        put_one(made, kept)
    try:
        for name, changed in changes.items():
            _put_named(made, name, changed)
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
