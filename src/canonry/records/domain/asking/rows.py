"""Rows: the records of an account as their schemas show them, ready to be searched and summed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from canonry.language.texts.words import terms_of
from canonry.log.items.entities import Entity
from canonry.log.schemas.schemas import EntitySchema
from canonry.records.domain.shown import shown_by
from canonry.values.ids import EntityId

_DEPTH_MAX: Final = 32
"""As deep as the arguments of a call may be."""


@dataclass(frozen=True, slots=True)
class RecordRow:
    """A record; `unclear` names the fields of which something is said that is no value, and why.

    `said` has all words of its name and fields, each after a space.
    """

    id: EntityId
    entity_type: str
    order: tuple[int, str]
    fields: Mapping[str, Any]
    unclear: Mapping[str, str]
    said: str


def row_of(entity: Entity, schema: EntitySchema | None) -> RecordRow:
    """The row of an entity by the schema that rules it."""
    shown = shown_by(entity, schema)
    unclear = {
        (schema.canonical(name) if schema else None) or name: fragment.reason
        for name, fragment in shown.fragments.items()
    }
    texts = [entity.name, *(text for value in shown.fields.values() for text in texts_in(value))]
    texts += [text for each in shown.fragments.values() for text in texts_in(each.value)]
    return RecordRow(
        entity.id,
        entity.entity_type,
        (entity.created_at, entity.id),
        shown.fields,
        {name: reason for name, reason in unclear.items() if name not in shown.fields},
        words_in("\n".join(texts)),
    )


def words_in(text: str) -> str:
    """The words of a text, each after a space, so that a word is found where it begins."""
    return " " + " ".join(terms_of(text))


def sought(text: str) -> Sequence[str]:
    """The words that are looked for, as they stand in `words_in`."""
    return tuple(dict.fromkeys(f" {term}" for term in terms_of(text)))


def texts_in(value: Any, depth: int = 0) -> Iterator[str]:
    """The texts and figures in a value, however deep."""
    match value:
        case str():
            yield value
        case bool() | None:
            return
        case int() | float():
            yield str(value)
        case Mapping() if depth < _DEPTH_MAX:
            for part in value.values():
                yield from texts_in(part, depth + 1)
        case list() | tuple() if depth < _DEPTH_MAX:
            for part in value:
                yield from texts_in(part, depth + 1)
        case _:
            return
