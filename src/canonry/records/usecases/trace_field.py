"""Trace a field: from the snapshot to the observations, the sources and the files behind it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.items.sources import Source
from canonry.records.usecases.read_snapshot import SnapshotRead, read_snapshot
from canonry.values.errors import NotFound
from canonry.values.observations import Observation
from canonry.values.time import Instant

_NAMED: Final = 20
"""So many of the names that there are stand in an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a value comes from: a source, or whatever else was cited, or the word alone."""

    id: str
    created_at: Instant
    source: Source | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedField:
    """A field's value and who said it, the newest first; `origins` has one for each of them."""

    entity: Entity
    field: str
    value: Any
    observations: tuple[Observation, ...]
    origins: tuple[Origin, ...]


async def trace_field(canon: Canon, caller: Caller, entity_id: str, field: str) -> TracedField:
    """Everything that a field of the current snapshot rests on.

    Raises:
        NotFound: `entity.unknown` or `field.unknown`.
    """
    read = await read_snapshot(canon, caller, entity_id)
    name = field_named(read, field)
    credited = read.shown.sources.get(name, ())
    found = await canon.within(read.entity.space).things(credited)
    seen = tuple(each for i in credited if isinstance(each := found.get(i), Observation))
    if name not in read.shown.fields or not seen:
        raise no_field(read.shown.fields)
    return TracedField(
        entity=read.entity,
        field=name,
        value=read.shown.fields[name],
        observations=seen,
        origins=await origins_of(canon, seen),
    )


def field_named(read: SnapshotRead, field: str) -> str:
    """The field that a name or alias means."""
    known = None if read.schema is None else read.schema.canonical(field)
    return known or field


def no_field(known: Iterable[str]) -> NotFound:
    """The error for a field of which the snapshot says nothing, with those that it has."""
    names = ", ".join(sorted(known)[:_NAMED]) or "no field at all"
    message = f"the snapshot has no such field; it has {names}"
    return NotFound("field.unknown", message, kind="field", path="/field")


async def origins_of(canon: Canon, seen: Iterable[Observation]) -> tuple[Origin, ...]:
    """What each observation was read from."""
    observations = tuple(seen)
    cited = {e.ref for each in observations for e in each.evidence[:1]}
    found = await canon.within(*{each.space for each in observations}).things(cited)
    return tuple(_origin(each, found) for each in observations)


def _origin(observation: Observation, found: Mapping[str, Thing]) -> Origin:
    cited = observation.source_id or next((e.ref for e in observation.evidence), None)
    thing = None if cited is None else found.get(cited)
    at = getattr(thing, "created_at", None) or getattr(thing, "timestamp", None)
    return Origin(
        id=observation.id if cited is None else cited,
        created_at=at if at is not None else observation.recorded_at,
        source=thing if isinstance(thing, Source) else None,
    )
