"""Quantities: how much of a thing its owners have, where that is counted.

What is counted can have several owners at once, each with a part; what is not has one.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final

from canonry.log.items.facts import Relation

QUANTITY: Final = "quantity"


def counted(properties: Mapping[str, Any]) -> bool:
    """Whether an ownership says how much."""
    value = properties.get(QUANTITY)
    return isinstance(value, int | float) and not isinstance(value, bool)


def amount_of(relation: Relation) -> Decimal:
    """How much an ownership says, by the digits that were told; nothing where it says none."""
    return exact(relation.properties[QUANTITY]) if counted(relation.properties) else Decimal()


def exact(value: float) -> Decimal:
    """The number by its shortest digits: a tenth is a tenth."""
    return Decimal(str(value))


def total_of(relations: Iterable[Relation]) -> Decimal:
    """What the ownerships come to together."""
    return sum(map(amount_of, relations), Decimal())


def plain(amount: Decimal) -> int | float:
    """The number as it is told: whole where it is whole."""
    return int(amount) if amount == amount.to_integral_value() else float(amount)
