"""Answers of a language model: what of them the document says, and where they go beyond the rules.

A model's word counts where its quote stands in the document and can be read as the value in one way
only. What the rules have read stands; an answer fills what they left open.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from canonry.documents.extraction.bills import mismatches
from canonry.records.domain.interpretations import Found, Interpretation, Unread
from canonry.records.notation.numbers import currency_in, mark_in, number_in
from canonry.values.calendar_dates import date_in, order_in
from canonry.values.json_values import folded

MODEL: Final = "model"
"""The reason of what a model said."""

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d(?:T.*)?")
_NUMBERS: Final = re.compile(r"\d[\d.,' \xa0\u202f]*")
_CENT: Final = 0.011
_SUMS: Final = ("subtotal", "tax_amount", "amount_due", "amount_total", "amount")


class Document:
    """A document that quotes are looked for in."""

    def __init__(self, text: str) -> None:
        """Look at the text once."""
        self._plain = _spaced(text)
        self._order = order_in(text)
        self._mark = mark_in(text)

    def doubt(self, value: Any, quote: str) -> str:
        """Why the document does not say this value in these words; empty where it does."""
        plain = _spaced(quote)
        if not plain or plain not in self._plain:
            return "the quote does not stand in the document"
        values = value if isinstance(value, list) else [value]
        said = all(self._says(each, quote, plain) for each in values)
        return "" if said else "the quote does not say this value, or could be read in another way"

    def _says(self, value: Any, quote: str, plain: str) -> bool:
        match value:
            case bool():
                return True
            case int() | float():
                numbers = (number_in(each, self._mark) for each in _NUMBERS.findall(quote))
                known = (n.value for n in numbers if n is not None and n.value is not None)
                return any(abs(float(each) - abs(value)) < _CENT for each in known)
            case str() if _DATE.fullmatch(value):
                seen = date_in(quote, self._order)
                return seen is not None and (seen.value or "")[:10] == value[:10]
            case str():
                return _spaced(value) in plain or currency_in(quote) == value
            case _:
                return False


def completed(ruled: Interpretation, said: Interpretation) -> Interpretation:
    """What the rules found, with what a model found beyond it."""
    entities = list(ruled.entities)
    free = set(range(len(entities)))
    for each in said.entities:
        place = _same(each, entities, free)
        if place is not None:
            free.discard(place)
            entities[place] = _filled(entities[place], each)
        elif _is_only_note(entities, each):
            entities[0] = replace(each, refers_to=entities[0].refers_to)
            free.discard(0)
        elif not any(one.entity_type == each.entity_type and one.row for one in entities):
            entities.append(each)
    checked = tuple(_balanced(each) for each in entities)
    warnings = tuple(dict.fromkeys((*ruled.warnings, *said.warnings)))
    return replace(ruled, entities=checked, warnings=warnings)


def _same(said: Found, entities: Sequence[Found], free: set[int]) -> int | None:
    """The entity that a model speaks of too: one with most of its words, or the only of its type.

    What contradicts the rules everywhere is another entity.
    """
    alike = [i for i in sorted(free) if entities[i].entity_type == said.entity_type]
    agreeing = {i: _agreement(entities[i].fields, said.fields) for i in alike}
    best = max(alike, key=lambda i: agreeing[i][0], default=None)
    if best is None:
        return None
    agree, differ = agreeing[best]
    return best if agree > 0 or (len(alike) == 1 and not differ) else None


def _agreement(ruled: Mapping[str, Any], said: Mapping[str, Any]) -> tuple[int, int]:
    both = ruled.keys() & said.keys()
    agree = sum(1 for name in both if _spaced(str(ruled[name])) == _spaced(str(said[name])))
    return agree, len(both) - agree


def _filled(ruled: Found, said: Found) -> Found:
    fields = {**said.fields, **ruled.fields}
    unread = {**said.unread, **ruled.unread}
    new = [name for name in said.fields if name not in ruled.fields]
    reasons = (*ruled.reasons, *(f"{MODEL}: {name}" for name in new))
    open_ = {name: each for name, each in unread.items() if name not in fields}
    return replace(ruled, fields=fields, unread=open_, reasons=reasons)


def _is_only_note(entities: Sequence[Found], said: Found) -> bool:
    """Whether the rules saw a text and no more, and the model knows what it is."""
    note = entities[0].entity_type == "note" if entities else False
    return note and len(entities) == 1 and said.entity_type != "note" and bool(said.fields)


def _balanced(found: Found) -> Found:
    """An entity without what a model said of its sums where these do not add up."""
    reason = next(mismatches(found), "")
    if not reason:
        return found
    whole = MODEL in found.reasons
    said = [name for name in _SUMS if name in found.fields]
    doubted = [name for name in said if whole or f"{MODEL}: {name}" in found.reasons]
    unread = {name: Unread(value=found.fields[name], reason=reason) for name in doubted}
    kept = {name: value for name, value in found.fields.items() if name not in unread}
    return replace(found, fields=kept, unread={**found.unread, **unread})


def _spaced(text: str) -> str:
    return " ".join(folded(text).split())
