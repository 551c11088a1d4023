"""Lists: what a file writes into one place becomes the items that the field of its type holds.

Records that are handed over as data are taken as they are; only files have no other way to write a
list than commas.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from canonry.documents.extraction.writings.agreements import BETWEEN
from canonry.log.schemas.schemas import EntitySchema, FieldType
from canonry.records.domain.interpretations import Found
from canonry.records.notation.parties import parties_in

_NAMED: Final = frozenset({"parties", "companies"})
_APART: Final = re.compile(r"[,;\n]")
_WORDS: Final = frozenset({"tags", "files", *_NAMED})
"""Fields whose items are names or words, so that a comma divides them."""


def with_lists(found: Iterable[Found], schemas: Sequence[EntitySchema]) -> Iterator[Found]:
    """The entities, with lists where their types have them."""
    known = {schema.entity_type: schema for schema in schemas}
    return (
        each
        if each.entity_type not in known
        else replace(each, fields=_divided(known[each.entity_type], each.fields))
        for each in found
    )


def _divided(schema: EntitySchema, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    divided = dict(fields)
    for name, value in fields.items():
        canonical = schema.canonical(name)
        spec = None if canonical is None else schema.field(canonical)
        if spec is not None and spec.type is FieldType.ARRAY and isinstance(value, str):
            divided[name] = items_in(spec.name, value)
    return divided


def items_in(name: str, text: str) -> list[Any]:
    """The items that a text says of the field `name`."""
    if text.startswith("[") and text.endswith("]"):
        try:
            written: list[Any] = json.loads(text)
        except ValueError:
            pass
        else:
            return written
    if name in _NAMED:
        divided = [each for each in text.split(BETWEEN) if each]
        return divided if len(divided) > 1 else _names(text)
    if name in _WORDS:
        bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
        parts = map(str.strip, _APART.split(bare))
        return list(dict.fromkeys(part for part in parts if part)) or [text]
    return [text]


def _names(text: str) -> list[Any]:
    return list(parties_in(text)) or [text]
