"""Explain a snapshot: for each field its policy, what was said of it, and why one word stands."""

from dataclasses import dataclass
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.log.schemas.narrative_fields import PROPERTY_PREFIX, policy_of
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.records.usecases.read_snapshot import SnapshotRead, read_snapshot
from canonry.records.usecases.trace_field import field_named, no_field
from canonry.values.merge import HIGHEST_PRIORITY, LAST_WRITE, MERGE_ARRAY, MOST_SPECIFIC
from canonry.values.observations import Observation

CORRECTED: Final = "a correction goes before everything else"
_REASONS: Final = {
    LAST_WRITE.name: "what was seen last stands",
    HIGHEST_PRIORITY.name: "what has the highest priority stands, of several what was seen last",
    MOST_SPECIFIC.name: "what is most specific stands, then what has the highest priority",
    MERGE_ARRAY.name: "the items of the highest priority present stand, each once",
    "latest": "what was recorded last stands",
    "names": "the name that was recorded last stands",
    "tag_set": "each tag holds or not by what was recorded last of it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What one observation says of a field, and whether that stands."""

    observation: Observation
    value: Any
    wins: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldExplained:
    """A field with every word that was said of it, the newest first."""

    field: str
    value: Any
    policy: str
    reason: str
    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotExplained:
    """All fields, or the one that was asked for; `truncated`: older observations are left out."""

    read: SnapshotRead
    fields: tuple[FieldExplained, ...]
    truncated: bool


async def explain_snapshot(
    canon: Canon,
    caller: Caller,
    entity_id: str,
    field: str | None = None,
    *,
    unread: bool = False,
) -> SnapshotExplained:
    """Why the entity is shown as it is; `unread`: also what its schema has no place for.

    Raises:
        NotFound: `entity.unknown` or `field.unknown`.
    """
    read = await read_snapshot(canon, caller, entity_id)
    values = {n: each.value for n, each in read.shown.fragments.items()} if unread else {}
    values |= read.shown.fields
    names = sorted(values) if field is None else [field_named(read, field)]
    if field in values:
        names = [field]
    if field is not None and names[0] not in values:
        raise no_field(values)
    ids = (read.entity.id, *read.entity.members)
    page = await canon.state.observations_newest(ids, limit=PAGE_MAX, offset=0)
    return SnapshotExplained(
        read=read,
        fields=tuple(_explained(read, name, values[name], page.items) for name in names),
        truncated=page.total > len(page.items),
    )


def _explained(read: SnapshotRead, name: str, shown: Any, seen: Any) -> FieldExplained:
    winners = frozenset(read.shown.sources.get(name, ()))
    if name not in read.shown.fields:
        winners = frozenset({read.shown.fragments[name].observation})
    key = name if read.schema is None and name in read.entity.snapshot else PROPERTY_PREFIX + name
    policy = policy_of(key) if read.schema is None else read.schema.policy(name)
    aliases = {name}
    if read.schema is not None and (spec := read.schema.field(name)) is not None:
        aliases |= set(spec.aliases)
    words = []
    for each in seen:
        if key in each.fields:
            value = each.fields[key]
        else:
            kept = [f.value for alias, f in each.fragments.items() if alias in aliases]
            if not kept:
                continue
            value = kept[0]
        words.append(Word(observation=each, value=value, wins=each.id in winners))
    corrected = any(word.wins and word.observation.correction for word in words)
    return FieldExplained(
        field=name,
        value=shown,
        policy=policy.name,
        reason=CORRECTED if corrected else _REASONS[policy.name],
        words=tuple(words),
    )
