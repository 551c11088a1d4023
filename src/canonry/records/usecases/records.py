"""Records: list, read and compare them."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from canonry.canon.session import lookup
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.paging import Pace, every_item, every_match, run_aside, yield_regularly
from canonry.language.texts.sentences import Excerpt
from canonry.log.folding import identifier_key, item_key, schemas_key
from canonry.log.items.entities import Entity, family_of, without_members
from canonry.log.items.sources import Source, SourceDraft
from canonry.log.schemas import typed_records
from canonry.log.schemas.identity_keys import CONTENT, IdentifierOwner, KeyReader, searchable_text
from canonry.log.schemas.narrative import PROPERTY_PREFIX
from canonry.log.schemas.schemas import EntitySchema, FieldType
from canonry.log.schemas.truth_types import similar_types, type_named
from canonry.readmodels.ports.state import EntityQuery, IdentifierQuery, TimelineQuery
from canonry.readmodels.ports.view import Page
from canonry.readmodels.timeline import TimelineEvent
from canonry.records.domain.assertions import (
    Assertion,
    assertion_of,
    find_clear_others,
    is_disowned,
)
from canonry.records.domain.interpretations import FIELDS_MAX, FoundEntity
from canonry.records.notation.labels import NAMED_BY, companions_of
from canonry.records.notation.settlements import INVOICE, PAYERS, with_named_invoices
from canonry.records.usecases.schemas import next_version, schemas_in_force
from canonry.values.fields import with_changes
from canonry.values.ids import EntityId, RunId, SourceId, SpaceId
from canonry.values.json_values import encode_json
from canonry.values.moments import Instant, parse_instant
from canonry.values.observations import LAST, PRIORITY_STRUCTURED, SPECIFICITY_STATED, Fragment


async def list_entities(
    canon: Canon, caller: Caller, user_id: str | None, query: EntityQuery
) -> Page[Entity]:
    """List the entities that the caller may read, in the order of their first observation.

    With `user_id`, list only those of that user's account.

    Raises:
        InvalidInput: `user.mismatch`.
    """
    account = lookup.require_account(caller, user_id)
    own = frozenset((account.space,))
    spaces = await lookup.readable_spaces(canon, caller) if user_id is None else own
    named = None if query.entity_type is None else type_named(query.entity_type)
    return await canon.state.entities(with_changes(query, spaces=spaces, entity_type=named))


async def list_timeline(canon: Canon, caller: Caller, query: TimelineQuery) -> Page[TimelineEvent]:
    """List the events of the caller's account, newest first.

    Raises:
        NotFound: `source.unknown`.
    """
    if query.source_id is not None:
        await lookup.require_readable(canon, caller, Source, (query.source_id,))
    own = frozenset((lookup.account_of(caller).space,))
    return await canon.state.timeline(with_changes(query, spaces=own))


async def first_entities(
    canon: Canon, account: lookup.Account, types: Iterable[str | None], most: int
) -> tuple[list[Entity], bool]:
    """Return the first entities of an account by type, and whether there are more."""
    found: list[Entity] = []
    for entity_type in types:
        query = EntityQuery(spaces=frozenset((account.space,)), entity_type=entity_type)
        async for each in every_match(canon.state.entities, query):
            if len(found) == most:
                return found, True
            found.append(each)
    return found, False


async def survivors_of(
    canon: Canon, caller: Caller, events: Sequence[TimelineEvent]
) -> Mapping[str, Entity]:
    """Return the survivors of the entities in events, by each observed id."""
    about = {e.entity_id for each in events for e in each.entries}
    return await lookup.readable_scope(canon, caller).root_entities(about)


# Read the records of a statement by the schemas in force.
#
# Unknown types get a schema that is derived from their records.

OCCURRENCE: Final = "occurrence"
"""The field that numbers equal records of one source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStatement:
    """The records of a source with their configuration and priority.

    `source` is used if it does not exist yet. `repeatable`: recording it again may add
    observations. `notes` are an interpreter's notes on the whole file. `brought` pairs the index
    of a record with an entity of an inner file. `excerpts` are the searchable text. `alike` holds
    all records of the source for its first batch, because a derived schema must fit them all.
    """

    account: lookup.Account
    source: SourceDraft
    config: Mapping[str, Any]
    records: Sequence[FoundEntity]
    priority: int = PRIORITY_STRUCTURED
    specificity: float = SPECIFICITY_STATED
    observed_at: Instant | None = None
    repeatable: bool = False
    notes: tuple[str, ...] = ()
    brought: Sequence[tuple[int, EntityId]] = ()
    excerpts: Sequence[Excerpt] = ()
    alike: Iterable[FoundEntity] = ()
    started_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordReading:
    """A statement as the schemas read it, and the schemas to register with it.

    `again`: the statement was recorded before and adds only changes. If its priority is now higher
    (`heavier`), it adds everything.
    """

    statement: SourceStatement
    run_id: RunId | None = None
    assertions: tuple[Assertion, ...]
    named_parties: Mapping[int, tuple[tuple[str, Assertion], ...]]
    registered: tuple[EntitySchema, ...] = ()
    reads: frozenset[str] = frozenset()
    again: bool = False
    heavier: bool = False


async def read_records(
    canon: Canon, statement: SourceStatement, run_id: RunId, pace: Pace, *, again: bool
) -> RecordReading:
    """Read all records by the schemas in force; derive schemas for unknown types."""
    account = statement.account
    types = dict.fromkeys(type_named(each.entity_type) for each in statement.records)
    schemas = dict(await schemas_in_force(canon, account, (*types, *NAMED_BY)))
    records = await run_aside(
        pace.weight, lambda: _number_equal(account, schemas, statement.records)
    )
    registered = []
    fitting = await run_aside(
        pace.weight, lambda: _fit_schemas(account, schemas, statement.alike or records)
    )
    for entity_type, schema in fitting.items():
        if schema is not schemas.get(entity_type):
            registered.append(schema)
            schemas[entity_type] = schema
    readers = {name: typed_records.RecordReader(schema) for name, schema in schemas.items()}
    assertions = tuple(
        [
            assertion_of(
                account.user_id,
                readers[type_named(record.entity_type)],
                with_named_invoices(type_named(record.entity_type), record.fields),
                f"/entities/{index}",
                unread={
                    n: Fragment(value=u.value, reason=u.reason) for n, u in record.unread.items()
                },
                refers_to=tuple(number for number in record.refers_to if number < len(records)),
                seen_at=_own_time(record, statement),
            )
            async for index, record in pace.count_items(enumerate(records), "records read")
        ]
    )
    return RecordReading(
        statement=statement,
        run_id=run_id,
        again=again,
        assertions=assertions,
        named_parties=await assert_named_parties(account, readers, assertions, pace),
        registered=tuple(registered),
        reads=frozenset(schemas_key(account.space, name) for name in fitting),
    )


def _own_time(record: FoundEntity, statement: SourceStatement) -> Instant | None:
    """Return the time that the document gives for a record, unless it has not come yet."""
    if record.seen_at is None:
        return statement.observed_at
    seen = parse_instant(record.seen_at)
    return seen if seen <= statement.started_at else statement.observed_at


def _number_equal(
    account: lookup.Account, schemas: Mapping[str, EntitySchema], records: Sequence[FoundEntity]
) -> Sequence[FoundEntity]:
    """Number equal records that have no key of their own."""
    readers: dict[str, KeyReader] = {}
    numbered: list[FoundEntity] = []
    for record in records:
        kind, fields = type_named(record.entity_type), record.fields
        if record.occurrence != 1 and OCCURRENCE not in fields:
            if kind not in readers:
                schema = schemas.get(kind) or typed_records.derive_schema(
                    account.space, kind, [fields]
                )
                readers[kind] = KeyReader(schema)
            if not readers[kind].read_identities(fields):
                fields = {**fields, OCCURRENCE: record.occurrence}
        numbered.append(record if fields is record.fields else replace(record, fields=fields))
    return numbered


async def assert_named_parties(
    account: lookup.Account,
    readers: Mapping[str, typed_records.RecordReader],
    assertions: Sequence[Assertion],
    pace: Pace,
) -> Mapping[int, tuple[tuple[str, Assertion], ...]]:
    """Return assertions of the parties that each record names; equal names share one."""
    read: dict[tuple[str, str, str], Assertion] = {}
    found: dict[int, tuple[tuple[str, Assertion], ...]] = {}
    async for index, assertion in yield_regularly(enumerate(assertions), pace.steps_between):
        named = []
        for field, kind, name in companions_of(assertion.schema.entity_type, assertion.fields):
            if kind == INVOICE and assertion.schema.entity_type in PAYERS:
                continue  # a payment makes no invoice; see `relate_payments`
            called = unicodedata.normalize("NFC", name)
            # A number means an invoice of the same vendor.
            vendor = assertion.fields.get("vendor_name") if kind == "invoice" else None
            known = (kind, called, str(vendor or ""))
            if known not in read:
                record = {NAMED_BY[kind]: called, **({"vendor_name": vendor} if vendor else {})}
                path = f"{assertion.path}/{field}"
                read[known] = assertion_of(account.user_id, readers[kind], record, path, sure=False)
            named.append((field, read[known]))
        if named:
            found[index] = tuple(named)
    return found


def _fit_schemas(
    account: lookup.Account, schemas: Mapping[str, EntitySchema], records: Iterable[FoundEntity]
) -> Mapping[str, EntitySchema]:
    """Return the schema for each type of these records."""
    by_type: dict[str, dict[str, FieldType]] = {}
    for record in records:
        kind = type_named(record.entity_type)
        known, types = schemas.get(kind), by_type.setdefault(kind, {})
        if known is None or known.derived:
            typed_records.learn_types(types, record.fields)
    return {
        name: _fit_schema(account, name, schemas.get(name), types)
        for name, types in by_type.items()
    }


def _fit_schema(
    account: lookup.Account,
    entity_type: str,
    schema: EntitySchema | None,
    types: Mapping[str, FieldType],
) -> EntitySchema:
    """Return a declared schema unchanged; derive or extend any other."""
    if schema is not None and not schema.derived:
        return schema
    derived = typed_records.schema_of_types(account.space, entity_type, types)
    if schema is None:
        return derived
    known = {name for spec in schema.fields for name in (spec.name, *spec.aliases)}
    new = tuple(spec for spec in derived.fields if spec.name not in known)
    if not new or len(schema.fields) + len(new) > FIELDS_MAX:
        return schema
    fields = (*schema.fields, *new)
    return next_version(
        schema, account, fields=fields, identity=typed_records.derive_identity(entity_type, fields)
    )


# Earlier statements: compare new values with the last value of the sources.
#
# A snapshot keeps only the correction of a corrected field. The last value of the sources has to
# be looked up in the observations.

K = TypeVar("K", bound=str)
LastValues: TypeAlias = dict[tuple[str, str], tuple[Any, Instant]]
"""(entity, field) -> the last value of the sources, and the time of its observation."""


async def _corrected_source_values(canon: Canon, entities: Iterable[Entity]) -> LastValues:
    """Return the sources' last value of each corrected field of these entities."""
    found: LastValues = {}
    for entity in {each.id: each for each in entities}.values():
        corrected = {
            name
            for name, elements in entity.snapshot.items()
            if name.startswith(PROPERTY_PREFIX) and elements[LAST].is_correction
        }
        family = sorted(family_of(entity)) if corrected else ()
        async for seen in every_item(partial(canon.state.observations_newest, family)):
            for name in corrected & seen.fields.keys() if not seen.correction else ():
                value = seen.fields[name], seen.seen_at
                found[entity.id, name.removeprefix(PROPERTY_PREFIX)] = value
                corrected = corrected - {name}
            if not corrected:
                break
    return found


async def changed_among(
    canon: Canon,
    entities: Mapping[K, Entity],
    roots: Mapping[K, Entity],
    fields: Mapping[K, Mapping[str, Any]],
    at: Instant | None,
) -> frozenset[K]:
    """Return the entities whose `fields`, with their prefixes, differ from the last values.

    They are compared for the entity alone, which matters if its merge is undone, and for its
    survivor in `roots`. `at` is the time of the observation; None means now.
    """
    own = await _corrected_source_values(canon, map(without_members, entities.values()))
    combined = await _corrected_source_values(canon, (e for e in roots.values() if e.members))
    return frozenset(
        i
        for i, entity in entities.items()
        if _is_changed(without_members(entity), fields[i], own, at)
        or (roots[i].members and _is_changed(roots[i], fields[i], combined, at))
    )


def _is_changed(
    entity: Entity, fields: Mapping[str, Any], last_values: LastValues, at: Instant | None
) -> bool:
    for name, value in fields.items():
        if not name.startswith(PROPERTY_PREFIX):
            continue
        elements = entity.snapshot.get(name)
        last = last_values.get((entity.id, name.removeprefix(PROPERTY_PREFIX)))
        if last is None and elements is not None and not elements[LAST].is_correction:
            last = elements[LAST].value, Instant(elements[LAST].rank[3])
        if last is None or (last[0] != value and (at is None or at > last[1])):
            return True
    return False


def content_of(entity_type: str, fields: Mapping[str, Any]) -> bytes:
    """Encode the type and the fields of a record for comparison."""
    return encode_json([entity_type, dict(fields)])


async def earlier_addressees(
    canon: Canon, space: SpaceId, source_id: SourceId
) -> Mapping[bytes, EntityId]:
    """Return the entities that a source described before, by the content of the record."""
    observed: list[tuple[EntityId, dict[str, Any]]] = []
    start = len(PROPERTY_PREFIX)
    async for each in every_item(partial(canon.state.observations_from, source_id)):
        names = [name for name in each.fields if name.startswith(PROPERTY_PREFIX)]
        fields = {name[start:]: each.fields[name] for name in names}
        observed += [(each.entity_id, fields)] if each.space == space else []
    known = await canon.space_scope(space).items_by_id({entity_id for entity_id, _ in observed})
    found: dict[bytes, EntityId] = {}
    for entity_id, fields in observed:
        entity = known.get(entity_id)
        if isinstance(entity, Entity):
            found.setdefault(content_of(entity.entity_type, fields), entity_id)
    return found


# Similar entities: entities of an account that records may describe.
#
# Merged entities are looked up one by one: a record describes the one with its key. If the merge
# is undone, each entity gets its observations back.

_FOUND_MAX: Final = 20  # the most entities with one identifier that are compared


@dataclass(slots=True, kw_only=True)
class SimilarEntities:
    """Candidates for records: `entities` one by one, and their survivors in `roots`.

    `others` share a key or a confusable name, but cannot be described by the records. `contested`
    are texts of several entities; `reads` are the keys that the result depends on. `source_values`
    holds the sources' last values of corrected fields.
    """

    entities: Mapping[str, Entity]
    roots: Mapping[str, Entity]
    others: Sequence[IdentifierOwner]
    contested: frozenset[str]
    reads: frozenset[str]
    schema_of: dict[str, EntitySchema]
    source_values: LastValues


async def find_similar(
    canon: Canon, account: lookup.Account, assertions: Sequence[Assertion]
) -> SimilarEntities:
    """Look up all entities for the keys of the assertions in a few reads."""
    first = Counter(each.ids[0] for each in assertions)
    ids: set[str] = {each for assertion in assertions for each in assertion.ids}
    own = canon.space_scope(account.space)
    found = dict(await own.items_by_id(ids))
    texts, owners_by_text = await _find_owners(canon, account, assertions)
    owners = {each.id: each for page in owners_by_text.values() for each in page.items}
    unread = [each for each in owners.values() if each.id not in found]
    others = find_clear_others(unread, assertions)
    found |= await own.items_by_id({each.id for each in unread} - others.keys())
    contested = frozenset(text for (_, text), page in owners_by_text.items() if page.total > 1)
    taken = [a for a in assertions if a.ids[0] in found or first[a.ids[0]] > 1]
    more: set[str] = {i for a in taken if (i := a.apart_id) is not None}
    more |= {
        a.unclear_id
        for a in taken
        if searchable_text(a.keys[0]) in contested
        or a.identities[0].apart
        or (
            isinstance(born := found.get(a.ids[0]), Entity)
            and is_disowned(born.own, born.borne, a, 0)
        )
    }
    found |= await own.items_by_id(more)
    entities = {
        i: e for i, e in found.items() if isinstance(e, Entity) and e.space == account.space
    }
    missing = {e.merged_into for e in entities.values() if e.merged_into} - entities.keys()
    for _ in range(2):  # first the survivors, then the other entities merged into them
        if missing:
            read = await own.items_by_id(missing)
            entities |= {i: e for i, e in read.items() if isinstance(e, Entity)}
        missing = {m for e in entities.values() for m in e.members} - entities.keys()
    asked = {identifier_key(entity_type, e) for entity_type in texts for e in texts[entity_type]}
    return SimilarEntities(
        entities=entities,
        roots={i: each for i, each in entities.items() if each.merged_into is None},
        others=[each for each in others.values() if each.id not in entities],
        contested=contested,
        reads=frozenset(map(item_key, {*ids, *more, *entities, *others})) | asked,
        schema_of={a.schema.entity_type: a.schema for a in assertions},
        source_values=await _corrected_source_values(
            canon, map(without_members, entities.values())
        ),
    )


async def _find_owners(
    canon: Canon, account: lookup.Account, assertions: Sequence[Assertion]
) -> tuple[Mapping[str, set[str]], Mapping[tuple[str, str], Page[IdentifierOwner]]]:
    """Return the searched texts by type, and the owners of each text by type and text."""
    wanted: dict[str, set[str]] = {}
    for assertion in assertions:
        texts = {*assertion.confusables}
        if assertion.identities[0].rule != CONTENT:
            texts.update(map(searchable_text, assertion.keys))
        for entity_type in similar_types(assertion.schema.entity_type) if texts else ():
            wanted.setdefault(entity_type, set()).update(texts)
    found: dict[tuple[str, str], Page[IdentifierOwner]] = {}
    for entity_type, texts in wanted.items():
        query = IdentifierQuery(
            spaces=frozenset((account.space,)),
            keys=tuple(sorted(texts)),
            entity_type=entity_type,
            limit=_FOUND_MAX,
        )
        pages = await canon.state.identifier_owners(query)
        found |= {(entity_type, text): page for text, page in pages.items()}
    return wanted, found
