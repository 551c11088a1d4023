"""Borne keys: everything that leads to an entity, and what each of it is to the entity today.

A key is `current` if the snapshot says it, `shadowed` if only what the entity or somebody merged
into it says alone does, and `former` if nobody says it any longer.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from canonry.log.items.entities import Entity, alone
from canonry.log.schemas.identifiers import KEY_MARK, LOOK_MARK, found_under, texts_in
from canonry.log.schemas.identity_keys import BETWEEN, KeyReader, rule_of
from canonry.log.schemas.narrative_fields import NAME
from canonry.log.schemas.schemas import EntitySchema
from canonry.records.domain.shown import shown_by
from canonry.values.ids import EntityId


class KeyStatus(StrEnum):
    """What a key is to the entity to which it leads."""

    CURRENT = "current"
    SHADOWED = "shadowed"
    FORMER = "former"


@dataclass(frozen=True, slots=True, kw_only=True)
class BorneKey:
    """A text that leads to an entity, who bears it, and by which rule if it tells some apart."""

    key: str
    rule: str | None
    status: KeyStatus
    entity_id: EntityId


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """An entity and those merged into it, with what names them today: together, and each alone."""

    members: Sequence[Entity]
    together: frozenset[str]
    apart: frozenset[str]

    def status(self, text: str) -> KeyStatus:
        """What a text is to them, that one of them bears."""
        if text in self.together:
            return KeyStatus.CURRENT
        return KeyStatus.SHADOWED if text in self.apart else KeyStatus.FORMER

    def keys(self) -> list[BorneKey]:
        """Each of their keys once, the current ones first; keys of several fields are not told."""
        found: dict[str, BorneKey] = {}
        for entity in self.members:
            for text in sorted(entity.borne):  # those that are keys by a rule before the others
                said = found_under(text)
                if text.startswith(LOOK_MARK) or BETWEEN in text:
                    continue
                rule = rule_of(text[1:]) if text.startswith(KEY_MARK) else None
                key = BorneKey(key=said, rule=rule, status=self.status(said), entity_id=entity.id)
                if said not in found or (rule is not None and found[said].rule is None):
                    found[said] = key
        order = list(KeyStatus)
        return sorted(found.values(), key=lambda k: (order.index(k.status), k.rule or "~", k.key))


def family(root: Entity, members: Iterable[Entity], schemas: Mapping[str, EntitySchema]) -> Family:
    """The entity with those merged into it, as the schemas of their types show them."""
    everybody = (root, *members)
    called = frozenset(map(found_under, texts_in(root.entity_type, {NAME: root.name}, None)))
    return Family(
        members=everybody,
        together=_found_today(root, schemas) | called,
        apart=frozenset[str]().union(*(_found_today(alone(e), schemas) for e in everybody)),
    )


def names_today(
    entity: Entity,
    schema: EntitySchema | None,
    instead: Mapping[str, Any] = MappingProxyType({}),
) -> frozenset[str]:
    """What the snapshot names the entity by, as entities bear it; `instead` of what it says."""
    shown = shown_by(entity, schema)
    fields = {name: each.value for name, each in shown.fragments.items()}
    keys = None if schema is None else KeyReader(schema)
    return texts_in(entity.entity_type, {**fields, **shown.fields, **instead}, keys)


def _found_today(entity: Entity, schemas: Mapping[str, EntitySchema]) -> frozenset[str]:
    return frozenset(map(found_under, names_today(entity, schemas.get(entity.entity_type))))
