"""Records of an account as a model reads them: typed fields, and beside them the raw ones."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from canonry.assistant.desk import Desk
from canonry.canon.session.account import account_of
from canonry.language.texts.stems import stems_of
from canonry.log.items.entities import Entity
from canonry.log.schemas.narrative import DESCRIPTION
from canonry.readmodels.keywords import sought_in
from canonry.records.domain.asking import sought, texts_in, words_in
from canonry.records.domain.shown import Shown, shown_by
from canonry.records.usecases.asking import excerpt_of, own_records
from canonry.records.usecases.records import EntityQuery, list_entities
from canonry.records.usecases.schemas_in_force import schema_of, schemas_for
from canonry.records.usecases.services import ROWS_MAX
from canonry.values.json_values import encode_json

_UNKNOWN: Final = frozenset({"unknown_field", "not_in_schema"})
_MATCHES: Final = 5
"""So many fields of a record are shown that say what was looked for."""


def why_raw(reason: str) -> str:
    """Why a field is raw, in words."""
    plain = reason.replace("-", "_")
    return "unknown to the schema" if plain in _UNKNOWN else plain.replace("_", " ")


def raw_fields(shown: Shown) -> dict[str, Any]:
    """The fields that the schema has no place for, each with the reason."""
    return {
        name: {"value": each.value, "because": why_raw(each.reason)}
        for name, each in shown.fragments.items()
        if name != DESCRIPTION
    }


def described(shown: Shown) -> str:
    """What a record says of itself in words, whether or not its schema has a field for that."""
    raw = shown.fragments.get(DESCRIPTION)
    said = shown.fields.get(DESCRIPTION, None if raw is None else raw.value)
    return said if isinstance(said, str) else ""


async def records_saying(desk: Desk, text: str, limit: int) -> list[Entity]:
    """The records that have every word of the text in a field or in its name, the newest first.

    The index of words leaves out what nobody looks for in a world, such as a no or a version. Of
    an account that is too large to be kept in memory nothing is found so.
    """
    every = await list_entities(
        desk.canon, desk.caller, account_of(desk.caller).user_id, EntityQuery(limit=1, offset=0)
    )
    if every.total > ROWS_MAX:
        return []
    words, table = sought(text), await own_records(desk.canon, desk.caller)
    found: list[str] = []
    for row in reversed(table.ordered if words else ()):
        if len(found) == limit:
            break
        missing = [word for word in words if word not in row.said]
        if missing:
            names = words_in(" ".join((*row.fields, *row.unclear)).replace("_", " "))
            missing = [word for word in missing if word not in names]
        if not missing:
            found.append(row.id)
    seen = await desk.canon.within(desk.space.id).things(found)
    return [each for i in found if isinstance(each := seen.get(i), Entity)]


async def fields_saying(
    desk: Desk, text: str, entities: Sequence[Entity]
) -> Mapping[str, Mapping[str, str]]:
    """For each record the fields that say a word of the text, as far as they say it."""
    account, stems = account_of(desk.caller), frozenset(sought_in(text).stems)
    schemas = await schemas_for(desk.canon, account, entities)
    found: dict[str, Mapping[str, str]] = {}
    for entity in entities:
        shown = shown_by(entity, schema_of(schemas, account, entity))
        values = {n: each.value for n, each in shown.fragments.items()} | dict(shown.fields)
        said = {
            name: "; ".join(texts_in(each)) or encode_json(each).decode()
            for name, each in values.items()
        }
        hits = {
            name: excerpt_of(
                each, next((w.strip() for w in sought(text) if w in words_in(each)), "")
            )
            for name, each in said.items()
            if not stems.isdisjoint(stems_of(f"{name.replace('_', ' ')} {each}"))
        }
        found[entity.id] = dict(list(hits.items())[:_MATCHES])
    return found
