"""Cases: one file each, what is truly in it, and whether it is kept apart from development."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A file and the entities that it truly speaks of.

    Each of `truth` has `entity_type` and fields. A tuple holds the values that are all right, a
    list several values whose order does not matter, and None says that there must be no value.
    `group` is the kind of document, whose aim it counts for. If you work on the rules, do not look
    into a case that is `kept`.
    """

    group: str
    name: str
    file_name: str
    data: bytes
    truth: Sequence[Mapping[str, Any]]
    kept: bool
    mime_type: str = ""
