"""Grade two sides by the statements that they make: `bench.contradictions.grader:grade`."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Final

from bench.contradictions.pairs import Side
from canonry.canon.judging.conflicts import Order, find_clash
from canonry.canon.judging.standing_statements import statements_of_properties
from canonry.language.reading.reading import read_statements
from canonry.language.texts.stems import with_parts
from canonry.log.items.proposals import Grade
from canonry.testing.example_items import an_entity
from canonry.values.ids import EntityId
from canonry.values.statements import Statement

_BRACKET: Final = re.compile(r" \(.*\)$")
"""A bracket that tells entities of one name apart."""


def names_of(*sides: Side) -> Mapping[str, str]:
    """Map the names of the sides' entities, and words that only one has, to ids.

    Of entities of one name, a side means the one that it is linked with: the first side counts.
    """
    linked = [one for side in reversed(sides) for one in side.entities]
    return with_parts({_BRACKET.sub("", one): f"{one}-1" for one in linked})


def _said(side: Side, other: Side) -> tuple[Statement, ...]:
    """Return what a side says in words and by its properties."""
    about = [an_entity(one, id=EntityId(f"{one}-1")) for one in side.entities]
    read = read_statements(side.statement, names_of(side, other))
    return (*read, *statements_of_properties(side.properties, about))


def grade(standing: Side, claim: Side) -> str | None:
    """Return the gravest grade of the two sides' statements; a change is no conflict."""
    held, said = _said(standing, claim), _said(claim, standing)
    order = _order(standing, claim)
    if order is Order.EARLIER:
        held, said, order = said, held, Order.LATER
    naming = partial(find_clash, order=order, name_of=_name_of)
    found = [naming(one, other) for one in held for other in said]
    grades = {clash.grade for clash in found if clash is not None and not clash.ends_earlier}
    if not grades:
        return None
    return Grade.CONTRADICTION if Grade.CONTRADICTION in grades else Grade.POSSIBLE


def _name_of(value: str) -> str:
    return _BRACKET.sub("", value.removesuffix("-1"))


def _order(standing: Side, claim: Side) -> Order:
    """Return the order of the two sides by their times, else by their scenes."""
    times = (standing.time, claim.time)
    if None in times or standing.time == claim.time:
        times = (str(standing.scene or 0).zfill(9), str(claim.scene or 0).zfill(9))
    one, other = (str(time) for time in times)
    if one == other:
        return Order.ONE
    return Order.LATER if other > one else Order.EARLIER
