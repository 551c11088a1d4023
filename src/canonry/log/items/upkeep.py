"""Upkeep: what somebody asks of who decides, a merge, a retcon or a correction of a field."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Merging:
    """Two entities are one: `kept` answers for `merged`."""

    kept: str
    merged: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retconning:
    """A thing never was."""

    thing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Correcting:
    """A field of an entity is otherwise: its name, its description or a property."""

    entity: str
    field: str
    value: Any


UpkeepAct: TypeAlias = Merging | Retconning | Correcting


def ids_of(asked: UpkeepAct) -> tuple[str, ...]:
    """The things that it is about."""
    match asked:
        case Merging():
            return (asked.kept, asked.merged)
        case Retconning():
            return (asked.thing,)
        case Correcting():
            return (asked.entity,)


def render_upkeep(asked: UpkeepAct, reason: str) -> dict[str, Any]:
    """The content of a proposal that asks for it; `reason` is why, in words."""
    does: dict[str, Any]
    match asked:
        case Merging():
            does = {"does": "merge", "from_entity_id": asked.merged, "to_entity_id": asked.kept}
        case Retconning():
            does = {"does": "retcon", "thing_id": asked.thing}
        case Correcting():
            does = {"does": "correction", "entity_id": asked.entity}
            does |= {"field": asked.field, "value": asked.value}
    return {**does, "reason": reason}


def read_upkeep(content: Mapping[str, Any]) -> UpkeepAct:
    """What the content of a proposal asks for."""
    match content:
        case {"does": "merge", "from_entity_id": merged, "to_entity_id": kept}:
            return Merging(kept=kept, merged=merged)
        case {"does": "retcon", "thing_id": thing}:
            return Retconning(thing=thing)
        case _:
            return Correcting(
                entity=content["entity_id"], field=content["field"], value=content["value"]
            )
