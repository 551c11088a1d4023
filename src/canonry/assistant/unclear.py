"""Unclear values of the account: what can be read in several ways, and the word that settles it."""

from typing import Final

from canonry.assistant.desk import Desk, Wanted
from canonry.assistant.rows import Row, fitted
from canonry.gateway.tool import Arguments
from canonry.log.items.sources import Source
from canonry.records.notation.reviewing import NOTATIONS
from canonry.records.usecases.review.list_unclear import list_unclear
from canonry.records.usecases.review.settle_values import settle_values
from canonry.values.errors import InvalidInput, NotSupported

_HINT: Final = "decide read: of=[document], field, other=the name of the reading that is meant"


async def unclear_values(desk: Desk, page: Wanted) -> Row:
    """What waits for a word, by document and field.

    Raises:
        NotSupported: `space.no-readings`.
    """
    _require_readings(desk, "/what")
    found, _ = await list_unclear(desk.canon, desk.caller)
    rows: list[Row] = [
        {
            "document": each.source_id,
            "type": each.entity_type,
            "field": each.name,
            "count": each.count,
            "of": each.examples[0].entity.name,
            "says": each.examples[0].unclear.fragment.value,
            "read_as": each.examples[0].unclear.readings,
        }
        for each in found[page.offset : page.offset + page.limit]
    ]
    return fitted(rows, page, len(found), "unclear") | {"hint": _HINT}


async def read_values(desk: Desk, named: str, arguments: Arguments) -> Row:
    """Read all unclear values of a field of a document in the way that `other` names.

    Raises:
        NotSupported: `space.no-readings`.
        InvalidInput: `decide.read-as`.
    """
    _require_readings(desk, "/verdict")
    document = await desk.thing(named, Source, path="/of/0")
    field, notation = arguments.get("field"), arguments.get("other")
    if field is None or notation not in NOTATIONS:
        message = "name the /field of the document, and in /other one of its read_as in review"
        raise InvalidInput("decide.read-as", message, path="/field" if field is None else "/other")
    done = await settle_values(
        desk.canon, desk.caller, None, source_id=document.id, name=field, notation=notation
    )
    return {"id": document.id, "settled": done.settled, "left": done.left}


def _require_readings(desk: Desk, path: str) -> None:
    if not desk.is_account:
        message = "only documents and records of your account have unclear values: space 'account'"
        raise NotSupported("space.no-readings", message, path=path)
