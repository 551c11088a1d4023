"""Winners: the observations of a field that stand under at least one merge policy.

They do not depend on the policy that is asked for, so that a schema may change its policy without
anything being folded again. Usually one observation wins in every order, and is the only element.

The element `""` is the last in time; `priority` and `specific` are there where another observation
wins in those orders. The items of arrays are elements of their own, as far as they are of the
highest priority present; corrections are never mixed with others, so that they keep no items.
"""

import json
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, Final

from canonry.values.snapshots import Elements, Held, by_priority, by_specificity, by_time

LAST: Final = ""
PRIORITY: Final = "priority"
SPECIFIC: Final = "specific"
ITEM: Final = "item:"

_ORDERS: Final[Mapping[str, Callable[[Held], Any]]] = {
    PRIORITY: by_priority,
    SPECIFIC: by_specificity,
}
_HASH_BYTES: Final = 12


def split(value: Any) -> dict[str, Any]:
    """The elements of one observed value."""
    if not isinstance(value, list | tuple):
        return {LAST: value}
    return {LAST: value, **{ITEM + _digest(item): item for item in value}}


def join(left: Elements, right: Elements) -> Elements:
    """The winners of all observations of both; the inputs are not changed."""
    one, other = left[LAST], right[LAST]
    if one == other and left == right:
        return left
    last = max(one, other, key=by_time)
    winners: dict[str, Held] = {LAST: last}
    for slot, order in _ORDERS.items():
        best = max(left.get(slot, one), right.get(slot, other), key=order)
        if best != last:
            winners[slot] = best
    return {**winners, **_items(left, right, winners.get(PRIORITY, last))}


def pick(elements: Elements, slot: str) -> Held:
    """The winner in the order of `slot`."""
    return elements.get(slot) or elements[LAST]


def items(elements: Elements) -> tuple[Held, ...]:
    """The items of arrays that stand, those seen last first."""
    found = [(name, held) for name, held in elements.items() if name.startswith(ITEM)]
    found.sort(key=lambda pair: pair[0])
    found.sort(key=lambda pair: by_time(pair[1])[:-1], reverse=True)
    return tuple(held for _, held in found)


def _items(left: Elements, right: Elements, leader: Held) -> Elements:
    """The items of both that are of the priority of `leader`, each by whom said it last."""
    if len(left) == 1 and len(right) == 1:
        return {}
    kept: dict[str, Held] = {}
    for name, held in (*left.items(), *right.items()):
        if name.startswith(ITEM) and held.rank[:2] == leader.rank[:2]:
            standing = kept.get(name)
            if standing is None or by_time(standing) < by_time(held):
                kept[name] = held
    return {} if leader.corrected else dict(sorted(kept.items()))


def _digest(item: Any) -> str:
    text = json.dumps(item, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=_HASH_BYTES).hexdigest()
