"""Interpretations: which entities an interpreter finds in a file, before a schema has judged them.

Nothing here is canon: fields are as the interpreter read them, and `unread` keeps what it saw and
would not decide, so that nothing of a document is lost to a guess.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A value that is kept as it stands, and why it was not taken as its field."""

    value: Any
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An entity that a document speaks of.

    `row` is its place in a table or list, where it comes from one: two rows are two entities unless
    their identity says otherwise. `occurrence` counts rows that say the same, so that those without
    a key of their own stay two as well. `refers_to` are the places of other entities in the same
    interpretation; `reasons` say what made it this type.
    """

    entity_type: str
    fields: Mapping[str, Any]
    unread: Mapping[str, Unread] = field(default_factory=dict[str, Unread])
    row: int | None = None
    occurrence: int = 1
    refers_to: tuple[int, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpretation:
    """What one run of an interpreter says of one file."""

    entities: tuple[Found, ...]
    warnings: tuple[str, ...] = ()
