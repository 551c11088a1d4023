"""Entries about records: what was said of an entity is said no longer, and the log keeps it."""

from dataclasses import dataclass

from canonry.values.ids import EntityId, ObservationId


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysDisowned:
    """These were never keys of the entity, as it bears them: they lead to it no longer."""

    entity_id: EntityId
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """What only a source said is taken back, as if nobody had brought it; the log keeps it."""

    targets: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityRetold:
    """The entity is what `standing` observations say and no others; `family` are its merged ones.

    Those are whoever answers for it and all that one answers for.
    """

    entity_id: EntityId
    standing: tuple[ObservationId, ...]
    family: tuple[EntityId, ...] = ()
