"""Review unclear values: list, locate and settle them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from canonry.canon.ports.files import FileHint, Reading
from canonry.canon.session.account import Account, account_of, require_account, within_account
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change, found_by
from canonry.canon.session.lookup import require
from canonry.canon.session.paging import every_item, every_match
from canonry.language.texts.sentences import Box
from canonry.log.entries import Entry, Made
from canonry.log.folding import thing_key
from canonry.log.items.entities import Entity
from canonry.log.items.sources import Source, SourceType, correction_id_of
from canonry.log.schemas.narrative import PROPERTY_PREFIX
from canonry.log.schemas.truth_types import type_named
from canonry.log.schemas.typed_records import Converted, convert
from canonry.readmodels.ports.state import EntityQuery
from canonry.records.domain.shown import shown_by
from canonry.records.notation.labels import WrittenPlace, places_of
from canonry.records.notation.numbers import NOTATIONS, Unclear, unclear_in
from canonry.records.usecases.files import filing_of
from canonry.records.usecases.record_source import source_of_words
from canonry.records.usecases.schemas_in_force import schema_of, schemas_for
from canonry.records.usecases.snapshots import TracedField, trace_field
from canonry.values.errors import CanonryError, InvalidInput, NotFound
from canonry.values.ids import NewId, SourceId
from canonry.values.json_values import canonical_json
from canonry.values.observations import (
    PRIORITY_CORRECTION,
    SPECIFICITY_STATED,
    Dated,
    Observation,
    ObservationDraft,
)
from canonry.values.provenance import Authority, Evidence, EvidenceKind

LOOKED_AT_MAX: Final = 10_000
"""So many entities are looked through for what is unclear."""

EXAMPLES_MAX: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """A value of an entity that is open, and the observation that has it."""

    entity: Entity
    unclear: Unclear
    observation: Observation
    schema_version: str


@dataclass(slots=True, kw_only=True)
class OpenField:
    """The open values of one field that one source gave, with the first of them."""

    source_id: SourceId | None
    entity_type: str
    name: str
    reason: str
    count: int = 0
    examples: list[Open] = field(default_factory=list)


async def list_unclear(
    canon: Canon, caller: Caller, entity_type: str | None = None
) -> tuple[Sequence[OpenField], bool]:
    """What waits for a word, by source and field; and whether there were more entities."""
    account = account_of(caller)
    named = None if entity_type is None else type_named(entity_type)
    query = EntityQuery(spaces=frozenset((account.space,)), entity_type=named)
    entities: list[Entity] = []
    async for each in every_match(canon.state.entities, query):
        if len(entities) == LOOKED_AT_MAX:
            return _grouped(await open_in(canon, account, entities)), True
        entities.append(each)
    return _grouped(await open_in(canon, account, entities)), False


def _grouped(found: Sequence[Open]) -> Sequence[OpenField]:
    groups: dict[tuple[str, str, str], OpenField] = {}
    for each in found:
        source, kind = each.observation.source_id, each.entity.entity_type
        name = each.unclear.spec.name
        group = groups.setdefault(
            (str(source), kind, name),
            OpenField(
                source_id=source,
                entity_type=kind,
                name=name,
                reason=each.unclear.fragment.reason,
            ),
        )
        group.count += 1
        if len(group.examples) < EXAMPLES_MAX:
            group.examples.append(each)
    return [groups[key] for key in sorted(groups)]


async def open_in(canon: Canon, account: Account, entities: Sequence[Entity]) -> list[Open]:
    """The open values of entities, each with the observation that has it."""
    schemas = await schemas_for(canon, account, entities)
    waiting: list[tuple[Entity, Unclear, str]] = []
    for entity in entities:
        schema = schema_of(schemas, account, entity)
        if schema is not None:
            shown = shown_by(entity, schema)
            if shown.fragments:
                unclear = unclear_in(shown, schema)
                waiting += [(entity, each, schema.version) for each in unclear]
    ids = {each.fragment.observation for _, each, _ in waiting}
    seen = await canon.within(account.space).things(ids) if ids else {}
    return [
        Open(entity=entity, unclear=each, observation=observation, schema_version=version)
        for entity, each, version in waiting
        if isinstance(observation := seen.get(each.fragment.observation), Observation)
    ]


async def locate_value(
    canon: Canon, caller: Caller, traced: TracedField
) -> tuple[WrittenPlace, ...]:
    """The places of a field's value in the file that the first of its origins is.

    A file that is gone, or that can no longer be read, has none.
    """
    source, seen = traced.origins[0].source, traced.observations[0]
    reading = None if source is None else await reading_of(canon, caller, source)
    if reading is None:
        return ()
    fields = {name.removeprefix(PROPERTY_PREFIX): v for name, v in seen.fields.items()}
    return places_of(reading, fields, traced.value)


async def reading_of(canon: Canon, caller: Caller, source: Source) -> Reading | None:
    """What the file that is a source of the caller's says, if it is there and can be read."""
    try:
        data, hint = await _bytes_of(canon, caller, source)
        return await canon.reader.examine(data, hint)
    except CanonryError:
        return None


async def picture_of(
    canon: Canon, caller: Caller, source: Source, page: int, boxes: Sequence[Box]
) -> bytes:
    """A page of the caller's own PDF as a picture, PNG, with these boxes marked.

    Raises:
        NotFound: `file.unknown`, it is no file or its bytes are gone.
        InvalidInput: as `DocumentReader.picture`.
        Unavailable: as `DocumentReader.picture`.
    """
    data, hint = await _bytes_of(canon, caller, source)
    return await canon.reader.picture(data, hint, page, boxes)


async def _bytes_of(canon: Canon, caller: Caller, source: Source) -> tuple[bytes, FileHint]:
    if not source.files or source.content_hash is None:
        message = "this source has no file; what was told as text or records has none"
        raise NotFound("file.unknown", message, kind="file")
    blobs = filing_of(canon).blobs_of(account_of(caller).user_id)
    data = await blobs.get(source.content_hash)
    return data, FileHint(mime_type=source.mime_type or "", name=source.file_name or "")


async def locate_field(
    canon: Canon, caller: Caller, entity_id: str, field: str
) -> tuple[WrittenPlace, ...]:
    """The places of the value that an entity shows in a field; none where nobody is credited."""
    try:
        traced = await trace_field(canon, caller, entity_id, field)
    except NotFound:
        return ()
    return await locate_value(canon, caller, traced)


# Settle values: one word says how all unclear values of a field in a source are read.
#
# It is a correction of the user's, and what the source said stands beside it.


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """How many values were settled, and how many of the field could not be read that way."""

    settled: int
    left: int


async def settle_values(
    canon: Canon, caller: Caller, user_id: str | None, *, source_id: str, name: str, notation: str
) -> Settled:
    """Read all open values of a field that a source gave by this notation, and let them stand.

    Raises:
        InvalidInput: `user.mismatch` or `review.notation`.
        NotFound: `source.unknown`.
    """
    account, inner = require_account(caller, user_id), within_account(caller)
    if notation not in NOTATIONS:
        message = f"a value is read by one of {', '.join(NOTATIONS)}"
        raise InvalidInput("review.notation", message, path="/read_as")
    given = await require(canon, inner, Source, source_id)

    async def prepare(new_id: NewId) -> Change[Settled]:
        del new_id  # the ids follow from what is said
        about = await _about(canon, account, given)
        waiting = [
            each
            for each in await open_in(canon, account, about)
            if each.unclear.spec.name == name and each.observation.source_id == given.id
        ]
        fitting = [each for each in waiting if notation in each.unclear.readings]
        reads = frozenset(map(thing_key, (given.id, *(each.id for each in about))))
        done = Settled(settled=len(fitting), left=len(waiting) - len(fitting))
        entries = tuple(_entries(account, given, fitting, name, notation)) if fitting else ()
        return Change(entries=entries, reads=reads, found=done)

    receipt = await commit_change(canon, inner, account.space, prepare)
    found = await found_by(receipt, prepare)
    settled = len(receipt.made(ObservationDraft))
    return found if receipt.found is not None else replace(found, settled=settled)


async def _about(canon: Canon, account: Account, given: Source) -> list[Entity]:
    """The entities that a source speaks of, as their survivors."""
    ids: set[str] = set()

    async def page(limit: int, offset: int) -> Any:
        return await canon.state.observations_from(given.id, limit=limit, offset=offset)

    async for each in every_item(page):
        if each.space == account.space and each.fragments:
            ids.add(each.entity_id)
    roots = await canon.within(account.space).roots(ids)
    return list({each.id: each for each in roots.values()}.values())


def _entries(
    account: Account, given: Source, fitting: Sequence[Open], name: str, notation: str
) -> Sequence[Entry]:
    told = {each.observation.id: each.unclear.readings[notation] for each in fitting}
    said = {"source_id": given.id, "field": name, "read_as": notation, "values": told}
    content = canonical_json({"settled": said})
    source = source_of_words(account, SourceType.CORRECTION, content)
    cited = tuple(Evidence(kind=EvidenceKind.SOURCE, ref=ref) for ref in (source.id, given.id))
    return [Made(thing=source), *(Made(thing=_settled(each, notation, cited)) for each in fitting)]


def _settled(each: Open, notation: str, cited: tuple[Evidence, ...]) -> ObservationDraft:
    """The user's word for one value, which goes before what the source left open."""
    spec, value = each.unclear.spec, each.unclear.readings[notation]
    entity_id = each.observation.entity_id
    return ObservationDraft(
        id=correction_id_of(entity_id, spec.name, value, each.observation.id),
        space=each.entity.space,
        entity_id=entity_id,
        fields={PROPERTY_PREFIX + spec.name: value},
        authority=Authority.SOURCE,
        confidence=1.0,
        evidence=cited,
        observed_at=None,
        correction=True,
        priority=PRIORITY_CORRECTION,
        specificity=SPECIFICITY_STATED,
        schema_version=each.schema_version,
        dates=_dates(each, value),
    )


def _dates(each: Open, value: Any) -> Mapping[str, Dated]:
    spec, converted = each.unclear.spec, convert(value, each.unclear.spec)
    if spec.event_type is None or not isinstance(converted, Converted) or not converted.instant:
        return {}
    event = Dated(event_type=spec.event_type, instant=converted.instant, policy=spec.policy)
    return {spec.name: event}
