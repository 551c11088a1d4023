"""Records: list, read and compare them."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import (
    Account,
    account_of,
    read_by,
    readable_spaces,
    require_account,
    require_readable,
)
from canonry.canon.session.paging import Pace, aside, every_item, in_turns
from canonry.language.texts.sentences import Excerpt
from canonry.log.folding import bearer_key, schemas_key, thing_key
from canonry.log.items.entities import Entity, alone, family_of
from canonry.log.items.sources import Source, SourceDraft
from canonry.log.schemas.identity_keys import CONTENT, Bearer, KeyReader, found_under
from canonry.log.schemas.narrative import PROPERTY_PREFIX
from canonry.log.schemas.schemas import EntitySchema, FieldType
from canonry.log.schemas.truth_types import type_named, types_alike
from canonry.log.schemas.typed_records import (
    RecordReader,
    derive_schema,
    identity_by,
    learn_types,
    schema_of_types,
)
from canonry.readmodels.ports.state import EntityQuery, IdentifierQuery, TimelineQuery
from canonry.readmodels.ports.view import Page
from canonry.readmodels.timeline import TimelineEvent
from canonry.records.domain.assertions import Assertion, assertion_of, clearly_others, disowned
from canonry.records.domain.interpretations import FIELDS_MAX, Found
from canonry.records.notation.parties import companions_of
from canonry.records.usecases.schemas import next_version, schemas_in_force
from canonry.values.fields import revised
from canonry.values.ids import EntityId, RunId, SourceId, SpaceId
from canonry.values.json_values import encode_json
from canonry.values.moments import Instant
from canonry.values.observations import LAST, PRIORITY_STRUCTURED, SPECIFICITY_STATED, Fragment


async def list_entities(
    canon: Canon, caller: Caller, user_id: str | None, query: EntityQuery
) -> Page[Entity]:
    """The entities that the caller may read, in the order in which they were first seen.

    With `user_id` they are those of that user's account alone.

    Raises:
        InvalidInput: `user.mismatch`.
    """
    account = require_account(caller, user_id)
    own = frozenset((account.space,))
    spaces = await readable_spaces(canon, caller) if user_id is None else own
    named = None if query.entity_type is None else type_named(query.entity_type)
    return await canon.state.entities(revised(query, spaces=spaces, entity_type=named))


async def list_timeline(canon: Canon, caller: Caller, query: TimelineQuery) -> Page[TimelineEvent]:
    """The events of the caller's account, newest first.

    Raises:
        NotFound: `source.unknown`.
    """
    if query.source_id is not None:
        await require_readable(canon, caller, Source, (query.source_id,))
    own = frozenset((account_of(caller).space,))
    return await canon.state.timeline(revised(query, spaces=own))


async def survivors_of(
    canon: Canon, caller: Caller, events: Sequence[TimelineEvent]
) -> Mapping[str, Entity]:
    """The entities that events are about, by every id under which they were observed."""
    about = {e.entity_id for each in events for e in each.entries}
    return await read_by(canon, caller).roots(about)


# Read records: what each record of a statement says, by the schemas in force.
#
# Types that nobody knows get a schema that fits their records.

OCCURRENCE: Final = "occurrence"
"""The field that numbers records of one source that say the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The records of a source, by which configuration they were read, with which weight.

    `source` is as it is made if it is not there yet. `repeatable`: recording it again may add.
    `notes` is what an interpreter says of its reading as a whole. `brought` has entities that
    came in files within the source, each with the place of the record that it belongs to;
    `excerpts` are the text of the source, to be searched. `alike` are all records of the source,
    where these are the first batch of them: what is derived of a type has to fit them all.
    """

    account: Account
    source: SourceDraft
    config: Mapping[str, Any]
    records: Sequence[Found]
    priority: int = PRIORITY_STRUCTURED
    specificity: float = SPECIFICITY_STATED
    observed_at: Instant | None = None
    repeatable: bool = False
    notes: tuple[str, ...] = ()
    brought: Sequence[tuple[int, EntityId]] = ()
    excerpts: Sequence[Excerpt] = ()
    alike: Iterable[Found] = ()
    started_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordReading:
    """A statement as the schemas read it, and the schemas that have to be registered first.

    `again`: the statement was recorded before, so that only what has changed since is news, or all
    of it where it is `heavier` now.
    """

    statement: Statement
    run_id: RunId | None
    assertions: tuple[Assertion, ...]
    companions: Mapping[int, tuple[tuple[str, Assertion], ...]]
    registered: tuple[EntitySchema, ...]
    reads: frozenset[str]
    again: bool
    heavier: bool = False


async def read_records(
    canon: Canon, statement: Statement, run_id: RunId, pace: Pace, *, again: bool
) -> RecordReading:
    """Read all records by the schemas in force; unknown types get one that fits them."""
    account = statement.account
    types = dict.fromkeys(type_named(each.entity_type) for each in statement.records)
    schemas = dict(await schemas_in_force(canon, account, (*types, "company", "person")))
    records = await aside(pace.weight, lambda: _numbered(account, schemas, statement.records))
    registered = []
    fitting = await aside(
        pace.weight, lambda: _fitting_all(account, schemas, statement.alike or records)
    )
    for entity_type, schema in fitting.items():
        if schema is not schemas.get(entity_type):
            registered.append(schema)
            schemas[entity_type] = schema
    readers = {name: RecordReader(schema) for name, schema in schemas.items()}
    assertions = tuple(
        [
            assertion_of(
                account.user_id,
                readers[type_named(record.entity_type)],
                record.fields,
                f"/entities/{index}",
                unread={
                    n: Fragment(value=u.value, reason=u.reason) for n, u in record.unread.items()
                },
                refers_to=tuple(place for place in record.refers_to if place < len(records)),
            )
            async for index, record in pace.over(enumerate(records), "records read")
        ]
    )
    return RecordReading(
        statement=statement,
        run_id=run_id,
        again=again,
        assertions=assertions,
        companions=await companions_named(account, readers, assertions, pace),
        registered=tuple(registered),
        reads=frozenset(schemas_key(account.space, name) for name in fitting),
    )


def _numbered(
    account: Account, schemas: Mapping[str, EntitySchema], records: Sequence[Found]
) -> Sequence[Found]:
    """The records, with their number where nothing else tells them from an equal one before."""
    readers: dict[str, KeyReader] = {}
    numbered: list[Found] = []
    for record in records:
        kind = type_named(record.entity_type)
        if record.occurrence == 1 or OCCURRENCE in record.fields:
            numbered.append(record)
            continue
        if kind not in readers:
            schema = schemas.get(kind) or derive_schema(account.space, kind, [record.fields])
            readers[kind] = KeyReader(schema)
        if readers[kind].identities(record.fields):
            numbered.append(record)
        else:
            fields = {**record.fields, OCCURRENCE: record.occurrence}
            numbered.append(replace(record, fields=fields))
    return numbered


async def companions_named(
    account: Account,
    readers: Mapping[str, RecordReader],
    assertions: Sequence[Assertion],
    pace: Pace,
) -> Mapping[int, tuple[tuple[str, Assertion], ...]]:
    """Whom the records name, for each record; the same name is read once."""
    read: dict[tuple[str, str], Assertion] = {}
    found: dict[int, tuple[tuple[str, Assertion], ...]] = {}
    async for index, assertion in in_turns(enumerate(assertions), pace.every):
        named = []
        for field, kind, name in companions_of(assertion.schema.entity_type, assertion.fields):
            called = unicodedata.normalize("NFC", name)
            if (kind, called) not in read:
                record = {"name": called}
                path = f"{assertion.path}/{field}"
                read[kind, called] = assertion_of(
                    account.user_id, readers[kind], record, path, sure=False
                )
            named.append((field, read[kind, called]))
        if named:
            found[index] = tuple(named)
    return found


def _fitting_all(
    account: Account, schemas: Mapping[str, EntitySchema], records: Iterable[Found]
) -> Mapping[str, EntitySchema]:
    """The schema for each type of these records, which are looked at one by one."""
    by_type: dict[str, dict[str, FieldType]] = {}
    for record in records:
        kind = type_named(record.entity_type)
        known, types = schemas.get(kind), by_type.setdefault(kind, {})
        if known is None or known.derived:
            learn_types(types, record.fields)
    return {
        name: _fitting(account, name, schemas.get(name), types) for name, types in by_type.items()
    }


def _fitting(
    account: Account,
    entity_type: str,
    schema: EntitySchema | None,
    types: Mapping[str, FieldType],
) -> EntitySchema:
    """The schema in force, or one derived from the records, or the derived one grown by them."""
    if schema is not None and not schema.derived:
        return schema
    derived = schema_of_types(account.space, entity_type, types)
    if schema is None:
        return derived
    known = {name for spec in schema.fields for name in (spec.name, *spec.aliases)}
    new = tuple(spec for spec in derived.fields if spec.name not in known)
    if not new or len(schema.fields) + len(new) > FIELDS_MAX:
        return schema
    fields = (*schema.fields, *new)
    return next_version(schema, account, fields=fields, identity=identity_by(entity_type, fields))


# Earlier statements: what sources said last of each field, and whether one says otherwise now.
#
# A snapshot keeps nothing beside a correction, so that what stands there has to be looked up.

LastWord: TypeAlias = dict[tuple[str, str], tuple[Any, Instant]]
"""(entity, field) -> the value that a source said last, and when that was seen."""


async def _beside_corrections(canon: Canon, entities: Iterable[Entity]) -> LastWord:
    """What sources said last of each corrected field of these entities."""
    found: LastWord = {}
    for entity in {each.id: each for each in entities}.values():
        corrected = {
            name
            for name, elements in entity.snapshot.items()
            if name.startswith(PROPERTY_PREFIX) and elements[LAST].corrected
        }
        family = sorted(family_of(entity)) if corrected else ()
        async for seen in every_item(partial(canon.state.observations_newest, family)):
            for name in corrected & seen.fields.keys() if not seen.correction else ():
                word = seen.fields[name], seen.seen_at
                found[entity.id, name.removeprefix(PROPERTY_PREFIX)] = word
                corrected = corrected - {name}
            if not corrected:
                break
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWords:
    """What sources said last of entities: of each alone, and of whoever answers for it."""

    alone: LastWord
    together: LastWord


async def last_words_of(
    canon: Canon, entities: Iterable[Entity], roots: Iterable[Entity]
) -> LastWords:
    """What sources said last of each corrected field, of each of the entities and of the roots."""
    several = [each for each in roots if each.members]
    return LastWords(
        alone=await _beside_corrections(canon, map(alone, entities)),
        together=await _beside_corrections(canon, several),
    )


def is_news(
    entity: Entity, root: Entity, fields: Mapping[str, Any], last: LastWords, at: Instant | None
) -> bool:
    """Whether `fields`, as the canon calls them, say otherwise than what was said last.

    It is news if it is to the entity alone, so that taking a merge back leaves what it would be
    without it, or to the `root` that answers for it. `at` is when they were seen; None means now.
    """
    return _is_news(alone(entity), fields, last.alone, at) or (
        bool(root.members) and _is_news(root, fields, last.together, at)
    )


def _is_news(
    entity: Entity, fields: Mapping[str, Any], last_words: LastWord, at: Instant | None
) -> bool:
    for name, value in fields.items():
        if not name.startswith(PROPERTY_PREFIX):
            continue
        elements = entity.snapshot.get(name)
        last = last_words.get((entity.id, name.removeprefix(PROPERTY_PREFIX)))
        if last is None and elements is not None and not elements[LAST].corrected:
            last = elements[LAST].value, Instant(elements[LAST].rank[3])
        if last is None or (last[0] != value and (at is None or at > last[1])):
            return True
    return False


def content_of(entity_type: str, fields: Mapping[str, Any]) -> bytes:
    """What a record says of somebody of a type, as something to compare."""
    return encode_json([entity_type, dict(fields)])


async def earlier_addressees(
    canon: Canon, space: SpaceId, source_id: SourceId
) -> Mapping[bytes, EntityId]:
    """Whom a source spoke of when it was recorded before, by what it said of them."""
    observed: list[tuple[EntityId, dict[str, Any]]] = []
    start = len(PROPERTY_PREFIX)
    async for each in every_item(partial(canon.state.observations_from, source_id)):
        names = [name for name in each.fields if name.startswith(PROPERTY_PREFIX)]
        fields = {name[start:]: each.fields[name] for name in names}
        observed += [(each.entity_id, fields)] if each.space == space else []
    known = await canon.within(space).things({entity_id for entity_id, _ in observed})
    found: dict[bytes, EntityId] = {}
    for entity_id, fields in observed:
        entity = known.get(entity_id)
        if isinstance(entity, Entity):
            found.setdefault(content_of(entity.entity_type, fields), entity_id)
    return found


# Similar entities: what a user's canon has already of those that records may be about.
#
# They are taken one by one, whoever answers for them today: a record is about the one that bears
# its key, so that a merge that is taken back gives everything back.

_FOUND_MAX: Final = 20
"""So many entities that bear one identifier are compared."""


@dataclass(slots=True, kw_only=True)
class Similar:
    """`entities` are all that may be meant, one by one; `roots` those that answer for them.

    `others` bear a key or look so, and cannot be meant. `contested` are the texts under which
    several are found, `reads` the keys that all this rests on.
    """

    entities: Mapping[str, Entity]
    roots: Mapping[str, Entity]
    others: Sequence[Bearer]
    contested: frozenset[str]
    reads: frozenset[str]
    schema_of: dict[str, EntitySchema]


async def find_similar(canon: Canon, account: Account, assertions: Sequence[Assertion]) -> Similar:
    """Everything that an assertion's keys lead to, in a few reads."""
    first = Counter(each.ids[0] for each in assertions)
    ids: set[str] = {each for assertion in assertions for each in assertion.ids}
    own = canon.within(account.space)
    found = dict(await own.things(ids))
    texts, borne = await _bearers(canon, account, assertions)
    bearers = {each.id: each for page in borne.values() for each in page.items}
    unread = [each for each in bearers.values() if each.id not in found]
    others = clearly_others(unread, assertions)
    found |= await own.things({each.id for each in unread} - others.keys())
    contested = frozenset(text for (_, text), page in borne.items() if page.total > 1)
    taken = [a for a in assertions if a.ids[0] in found or first[a.ids[0]] > 1]
    more: set[str] = {i for a in taken if (i := a.apart_id) is not None}
    more |= {
        a.unclear_id
        for a in taken
        if found_under(a.keys[0]) in contested
        or (
            isinstance(born := found.get(a.ids[0]), Entity) and disowned(born.own, born.borne, a, 0)
        )
    }
    found |= await own.things(more)
    entities = await _with_families(canon, account, found)
    asked = {bearer_key(entity_type, each) for entity_type in texts for each in texts[entity_type]}
    return Similar(
        entities=entities,
        roots={i: each for i, each in entities.items() if each.merged_into is None},
        others=[each for each in others.values() if each.id not in entities],
        contested=contested,
        reads=frozenset(map(thing_key, {*ids, *more, *entities, *others})) | asked,
        schema_of={a.schema.entity_type: a.schema for a in assertions},
    )


async def _with_families(
    canon: Canon, account: Account, found: Mapping[str, Any]
) -> Mapping[str, Entity]:
    """The entities of the account among those found, with their roots and all their members."""
    own = {i: e for i, e in found.items() if isinstance(e, Entity) and e.space == account.space}
    missing = {e.merged_into for e in own.values() if e.merged_into is not None} - own.keys()
    for _ in range(2):  # the roots first, and then whoever else was merged into them
        if missing:
            more = await canon.within(account.space).things(missing)
            own |= {i: e for i, e in more.items() if isinstance(e, Entity)}
        missing = {m for e in own.values() for m in e.members} - own.keys()
    return own


async def _bearers(
    canon: Canon, account: Account, assertions: Sequence[Assertion]
) -> tuple[Mapping[str, set[str]], Mapping[tuple[str, str], Page[Bearer]]]:
    """The wanted entities by type, and by type and text those that ever bore a name, or look so."""
    wanted: dict[str, set[str]] = {}
    for assertion in assertions:
        texts = {*assertion.looks}
        if assertion.identities[0].rule != CONTENT:
            texts.update(map(found_under, assertion.keys))
        for entity_type in types_alike(assertion.schema.entity_type) if texts else ():
            wanted.setdefault(entity_type, set()).update(texts)
    found: dict[tuple[str, str], Page[Bearer]] = {}
    for entity_type, texts in wanted.items():
        query = IdentifierQuery(
            spaces=frozenset((account.space,)),
            keys=tuple(sorted(texts)),
            entity_type=entity_type,
            limit=_FOUND_MAX,
        )
        pages = await canon.state.bearers(query)
        found |= {(entity_type, text): page for text, page in pages.items()}
    return wanted, found
