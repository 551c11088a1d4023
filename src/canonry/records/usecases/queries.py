"""Ask an account: search, sum and export its records."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import Account, account_of, require_account_opened
from canonry.canon.session.paging import every_item, every_match
from canonry.log.commits import ORIGIN, Commit
from canonry.log.entries import Erased, Made, Redacted
from canonry.log.fold_commit import ids_of
from canonry.log.items.entities import Entity
from canonry.log.items.sources import Snippet, Source
from canonry.log.schemas.narrative import PROPERTY_PREFIX
from canonry.log.schemas.schemas import EntitySchema, FieldType, TruthRelation
from canonry.log.schemas.truth_types import TRUTH_TYPES, type_named
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.state import EntityQuery, RelationQuery
from canonry.readmodels.ports.text import TextQuery
from canonry.recall.usecases.find_passages import FoundPassage, find_passages
from canonry.records.domain import queries
from canonry.records.domain.snapshots import shown_by
from canonry.records.notation.money import is_unbooked
from canonry.records.notation.settlements import (
    CREDIT_NOTE,
    INVOICE,
    OWED,
    OWED_NAMES,
    is_back,
    owed_on,
    shares_of,
)
from canonry.records.usecases.files import RecordServices, RecordTable
from canonry.records.usecases.schemas import schema_of, schemas_for, schemas_in_force
from canonry.values.errors import InvalidInput, NotFound
from canonry.values.fields import with_changes
from canonry.values.ids import SpaceId
from canonry.values.json_values import encode_json
from canonry.values.moments import render_instant
from canonry.values.observations import Observation

# Export an account as JSON lines for its owner, who needs no Canonry to read them.

FORMAT: Final = "canonry-account"
FORMAT_VERSION: Final = 1


async def export_account(canon: Canon, caller: Caller) -> AsyncIterator[bytes]:
    """Yield JSON lines: the account, its sources, entities with observations, and relationships.

    Raises:
        NotFound: `account.unknown`, nothing was ever recorded in it.
    """
    account = account_of(caller)
    await require_account_opened(canon, account.space)
    yield _json_line({"format": FORMAT, "version": FORMAT_VERSION, "user_id": account.user_id})
    async for source in every_item(partial(canon.state.sources, account.space)):
        yield _json_line({"source": _source_json(source)})
    spaces = frozenset((account.space,))
    query = EntityQuery(spaces=spaces, include_merged=True)
    async for entity in every_match(canon.state.entities, query):
        schemas = await schemas_for(canon, account, (entity,))
        shown = shown_by(entity, schema_of(schemas, account, entity))
        yield _json_line(
            {
                "entity": {
                    "id": entity.id,
                    "entity_type": entity.entity_type,
                    "name": entity.name,
                    "merged_into": entity.merged_into,
                    "fields": shown.fields,
                    "observations": shown.sources,
                    "raw_fragments": _fragments_json(shown.fragments),
                }
            }
        )
        async for seen in every_item(partial(canon.state.observations_newest, (entity.id,))):
            yield _json_line({"observation": _observation_json(seen)})
    async for relation in every_match(canon.state.relations, RelationQuery(spaces=spaces)):
        reported = {
            "id": relation.id,
            "relationship_type": relation.rel_type,
            "source_entity_id": relation.from_id,
            "target_entity_id": relation.to_id,
            "ended": relation.ended,
            "metadata": relation.properties,
            "created_at": render_instant(relation.created_at),
        }
        yield _json_line({"relationship": reported})


def _source_json(source: Source) -> Mapping[str, Any]:
    names = ("title", "file_name", "mime_type", "size", "content_hash", "files", "content")
    members = {name: getattr(source, name) for name in names}
    return {"id": source.id, **members, "created_at": render_instant(source.created_at)}


def _observation_json(seen: Observation) -> Mapping[str, Any]:
    names = ("id", "entity_id", "source_id", "correction")
    return {
        **{name: getattr(seen, name) for name in names},
        "fields": {n.removeprefix(PROPERTY_PREFIX): value for n, value in seen.fields.items()},
        "raw_fragments": _fragments_json(seen.fragments),
        "observed_at": render_instant(seen.seen_at),
        "recorded_at": render_instant(seen.recorded_at),
    }


def _fragments_json(found: Mapping[str, Any]) -> Mapping[str, Any]:
    return {n: {"value": each.value, "reason": each.reason} for n, each in found.items()}


def _json_line(value: Mapping[str, Any]) -> bytes:
    return encode_json(value) + b"\n"


_COMMITS: Final = 100  # bounds the memory of a walk through the log
_BATCH_SIZE: Final = 200
"""The number of records that are read in one step; other tasks run between steps."""
_READ_ON_MAX: Final = 20
"""The most pages of new commits to follow. Beyond that, reading everything again is as fast."""


async def own_records(canon: Canon, caller: Caller) -> RecordTable:
    """Return the table of the account's records, up to date with the log."""
    account = account_of(caller)
    table = canon.find_service(RecordServices).record_tables.of(account.space)
    async with table.update_lock:
        head = await canon.ledger.head_position(account.space)
        if head != table.position:
            new = (
                await _commits_since(canon, account.space, table)
                if table.position != ORIGIN
                else None
            )
            if new is None:
                spaces = frozenset((account.space,))
                # Include merged entities: otherwise a merge during the scan would shift the pages.
                query = EntityQuery(spaces=spaces, include_merged=True)
                anew = RecordTable()
                some: list[Entity] = []
                async for entity in every_match(canon.state.entities, query):
                    some.append(entity)
                    if len(some) == _BATCH_SIZE:
                        await _put_rows(canon, account, anew, some)
                        some = []
                await _put_rows(canon, account, anew, some)
                table.rows, table.schemas = anew.rows, anew.schemas
            else:
                await _read_changes(canon, account, table, new)
            table.ordered = sorted(table.rows.values(), key=lambda row: row.order)
            table.position = head
    canon.find_service(RecordServices).record_tables.let_go()
    return table


async def _commits_since(
    canon: Canon, space: SpaceId, table: RecordTable
) -> Sequence[Commit] | None:
    """Return the commits after the table's position; None if it must be read again."""
    found: list[Commit] = []
    after = table.position
    for _ in range(_READ_ON_MAX):
        page = await canon.ledger.read_commits(space, after=after, limit=_COMMITS)
        if any(isinstance(e, Erased | Redacted) for commit in page for e in commit.entries):
            return None
        found += page
        if len(page) < _COMMITS:
            return found
        after = page[-1].position
    return None


async def _read_changes(
    canon: Canon, account: Account, table: RecordTable, new: Sequence[Commit]
) -> None:
    entries = [entry for commit in new for entry in commit.entries]
    changed = dict.fromkeys(item_id for entry in entries for item_id in ids_of(entry))
    made = (entry.thing for entry in entries if isinstance(entry, Made))
    types = {each.entity_type for each in made if isinstance(each, EntitySchema)}
    if types:
        table.schemas = {n: s for n, s in table.schemas.items() if n not in types}
        changed |= dict.fromkeys(i for i, row in table.rows.items() if row.entity_type in types)
    scope, ids = canon.space_scope(account.space), tuple(changed)
    for start in range(0, len(ids), _BATCH_SIZE):
        some = ids[start : start + _BATCH_SIZE]
        roots = {each.id: each for each in (await scope.root_entities(some)).values()}
        await _put_rows(canon, account, table, tuple(roots.values()), gone=some)


async def _put_rows(
    canon: Canon,
    account: Account,
    table: RecordTable,
    entities: Sequence[Entity],
    gone: Sequence[str] = (),
) -> None:
    own = [each for each in entities if each.space == account.space and not each.merged_into]
    types = {each.entity_type for each in own} - table.schemas.keys()
    if types:
        table.schemas = {**table.schemas, **await schemas_in_force(canon, account, types)}
    for record in gone:
        table.rows.pop(record, None)
    for each in own:
        table.rows[each.id] = queries.row_of(each, schema_of(table.schemas, account, each))


def schema_named(table: RecordTable, entity_type: str) -> EntitySchema | None:
    """Return the schema of a type, also if it has no records."""
    return table.schemas.get(entity_type) or TRUTH_TYPES.get(entity_type)


# Search the account's records by words, by similarity and by fields.
#
# Records with all of the words come first. Hits of recall, by word forms or meaning, follow.

LIKE_MAX: Final = 50
"""The most passages of recall that a search considers."""
_AROUND: Final = 60
_QUOTED: Final = 120
TEXTS_MAX: Final = 10
"""The most passages of files that a search returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The part of a record that matched: a field with its observation, or a passage."""

    field: str | None = None
    passage_id: str | None = None
    observation_id: str | None = None
    excerpt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordHit:
    """A record that was found, and its matches; `by_words` if it has all of the words."""

    entity: Entity
    matches: Sequence[Match]
    by_words: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TextHit:
    """A matching passage of a file; `about` holds the entities that the file describes."""

    snippet: Snippet
    source: Source
    quote: str
    by_words: bool
    about: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsFound:
    """A page of records; `total` counts all, `degraded` names the searches that failed.

    The first page of a search by words alone also has `texts`.
    """

    hits: Sequence[RecordHit]
    texts: Sequence[TextHit]
    total: int
    degraded: Sequence[str]


async def search_records(
    canon: Canon,
    caller: Caller,
    text: str | None,
    selection: queries.RecordSelection,
    *,
    limit: int,
    offset: int,
) -> RecordsFound:
    """Return a page of the account's records that match the text and the selection.

    Raises:
        InvalidInput: `search.words`, or those of the selection.
        NotFound: `field.unknown`.
    """
    words = queries.query_words(text or "")
    if text is not None and not words:
        message = "`query` has no word in it. Omit it to search by fields alone."
        raise InvalidInput("search.words", message, path="/query")
    table = await own_records(canon, caller)
    if selection.entity_type is not None:
        selection = with_changes(selection, entity_type=type_named(selection.entity_type))
    schema = schema_named(table, selection.entity_type or "")
    selection = queries.require_selection(selection, {schema.entity_type: schema} if schema else {})
    found = dict(_select_rows(table, words, selection))
    chosen = list(found)
    like: Mapping[str, FoundPassage] = {}
    degraded: Sequence[str] = ()
    if text is not None:
        like, degraded = await _search_likeness(canon, caller, text)
        chosen = [i for i in like if i in found] + [i for i in found if i not in like]
        among = dict(_select_rows(table, (), selection, [table.rows.get(i) for i in like]))
        chosen += [i for i in among if i not in found]
    page = chosen[offset : offset + limit]
    entities = await canon.space_scope(account_of(caller).space).items_by_id(page)
    hits = [
        RecordHit(
            entity=entity,
            matches=_find_matches(entity, table, words, found.get(i, ()), like.get(i)),
            by_words=i in found,
        )
        for i in page
        if isinstance(entity := entities.get(i), Entity)
    ]
    anything = text is not None and not offset and selection == queries.RecordSelection()
    texts = await _search_texts(canon, caller, text or "") if anything else ()
    return RecordsFound(hits=hits, texts=texts, total=len(chosen), degraded=degraded)


async def _search_texts(canon: Canon, caller: Caller, text: str) -> Sequence[TextHit]:
    """Return the passages of the account's files that match the text, the best first."""
    space = account_of(caller).space
    query = TextQuery(
        collection=Collection.SNIPPETS, text=text, spaces=frozenset((space,)), limit=TEXTS_MAX
    )
    found = await find_passages(canon, query)
    own = canon.space_scope(space)
    sources = await own.items_by_id({hit.passage.source_id or "" for hit in found.hits})
    texts: list[TextHit] = []
    for hit in found.hits:
        snippet, source = found.items[hit.passage.id], sources.get(hit.passage.source_id or "")
        if isinstance(snippet, Snippet) and isinstance(source, Source):
            page = await canon.state.observations_from(source.id, limit=TEXTS_MAX, offset=0)
            about = await own.root_entities(dict.fromkeys(each.entity_id for each in page.items))
            quote = excerpt_of(snippet.text, next(iter(hit.terms), ""), around=_QUOTED)
            texts.append(
                TextHit(
                    snippet=snippet,
                    source=source,
                    quote=quote,
                    by_words=hit.by_words > 0,
                    about=tuple({each.id: None for each in about.values()}),
                )
            )
    return texts


async def _search_likeness(
    canon: Canon, caller: Caller, text: str
) -> tuple[Mapping[str, FoundPassage], Sequence[str]]:
    """Return the hits of recall in the account by surviving record, the best first."""
    space = account_of(caller).space
    query = TextQuery(
        collection=Collection.ENTITIES, text=text, spaces=frozenset((space,)), limit=LIKE_MAX
    )
    found = await find_passages(canon, query)
    roots = await canon.space_scope(space).root_entities(hit.passage.id for hit in found.hits)
    best: dict[str, FoundPassage] = {}
    for hit in found.hits:
        if hit.passage.id in roots:
            best.setdefault(roots[hit.passage.id].id, hit)
    return best, found.degraded


def _select_rows(
    table: RecordTable,
    words: Sequence[str],
    selection: queries.RecordSelection,
    among: Iterable[queries.RecordRow | None] | None = None,
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the records with all words that meet the selection, with the matching fields."""
    matchers: dict[str, queries.Matcher] = {}
    for row in table.ordered if among is None else among:
        if row is None or selection.entity_type not in {None, row.entity_type}:
            continue
        if words and not all(word in row.search_text for word in words):
            continue
        kind = row.entity_type
        if kind not in matchers:
            matchers[kind] = queries.Matcher(selection, table.schemas.get(kind))
        fields = matchers[kind].matching_fields(row)
        if fields is not None:
            yield row.id, fields


def _find_matches(
    entity: Entity,
    table: RecordTable,
    words: Sequence[str],
    fields: Sequence[str],
    passage: FoundPassage | None,
) -> Sequence[Match]:
    """Return the selected fields and those with one of the words; else the passage."""
    shown = shown_by(entity, table.schemas.get(entity.entity_type))
    values: dict[str, Any] = {name: each.value for name, each in shown.fragments.items()}
    values |= shown.fields
    found: list[Match] = []
    asked: list[Match] = []
    for name, value in values.items():
        text = "; ".join(queries.texts_in(value))
        spaced_words = queries.words_in(text) if words else ""
        hit = next((word for word in words if word in spaced_words), None)
        if hit is not None or name in fields:
            credited = shown.sources.get(name) or (
                (shown.fragments[name].observation,) if name in shown.fragments else ()
            )
            seen = next(iter(credited), None)
            excerpt = excerpt_of(text, (hit or "").strip())
            match = Match(field=name, observation_id=seen, excerpt=excerpt)
            (asked if hit is None else found).append(match)
    if not found and any(word in queries.words_in(entity.name) for word in words):
        found.append(Match(field="canonical_name", excerpt=excerpt_of(entity.name, "")))
    if not found and passage is not None:
        term = next(iter(passage.terms), "")
        excerpt = excerpt_of(passage.passage.text, term)
        found.append(Match(passage_id=passage.passage.id, excerpt=excerpt))
    return [*found, *asked]


def excerpt_of(text: str, word: str, around: int = _AROUND) -> str:
    """Return the text around a word on one line, with "…" where it was cut."""
    plain = " ".join(text.split())
    at = max(0, plain.casefold().find(word))
    start, end = max(0, at - around), at + len(word) + around
    before, after = "…" * (start > 0), "…" * (end < len(plain))
    return f"{before}{plain[start:end]}{after}"


_TYPES_MAX: Final = 20  # the most types that an error lists


_PAYMENT: Final = "transaction"
_STATE: Final = "status"


async def summarise_records(
    canon: Canon, caller: Caller, selection: queries.RecordSelection, asked: queries.SumRequest
) -> tuple[str, queries.SumRequest, queries.SumResult]:
    """Return the type, the summing by the schema's field names, and the sums over its records.

    Raises:
        NotFound: `type.unknown` or `field.unknown`.
        InvalidInput: `sum.not-a-number`, `sum.not-a-date`, or those of the selection.
    """
    table = await own_records(canon, caller)
    entity_type = type_named(selection.entity_type or "")
    schema = schema_named(table, entity_type)
    if schema is None:
        kinds = sorted({row.entity_type for row in table.ordered})[:_TYPES_MAX]
        message = (
            f"The account has no records of this type. Its types: {', '.join(kinds) or 'none'}."
        )
        raise NotFound("type.unknown", message, kind="entity type", path="/entity_type")
    selection = with_changes(selection, entity_type=schema.entity_type)
    queries.require_selection(selection, {schema.entity_type: schema})
    owed: Mapping[str, Decimal | str | None] = {}
    if schema.entity_type == INVOICE and asked.field in OWED_NAMES:
        owed = await _owed_by_id(canon, account_of(caller), table)
        asked = replace(_named_by_schema(schema, replace(asked, field=None)), field=OWED)
    else:
        asked = _named_by_schema(schema, asked)
    summary, matcher = queries.RunningSums(schema, asked), queries.Matcher(selection, schema)
    # A payment that was never booked is no money, unless the caller asks for states.
    booked = schema.entity_type == _PAYMENT and asked.field and _STATE not in asked.group_by
    for row in table.ordered:
        if row.entity_type != schema.entity_type and row.id not in owed:
            continue
        still = owed.get(row.id)
        if (found := matcher.matching_fields(row)) is None:
            if (name := matcher.unclear_field(row)) is not None:
                summary.leave_out(row, name, row.unclear[name])
        elif booked and _STATE not in found and is_unbooked(row.fields.get(_STATE)):
            summary.leave_out(row, _STATE, "not_booked")
        elif isinstance(still, str):
            summary.leave_out(row, OWED, still)
        else:
            still_owed = {} if still is None else {OWED: float(still)}
            summary.add_row(
                replace(row, fields={**row.fields, **still_owed}) if still_owed else row
            )
    return schema.entity_type, asked, summary.make_result()


async def _owed_by_id(
    canon: Canon, account: Account, table: RecordTable
) -> Mapping[str, Decimal | str | None]:
    """Return the amount that is still due on each invoice, or why it is unknown.

    A credit note that corrects no known invoice is in the result with that as its reason.
    """
    rows, own = table.rows, canon.space_scope(account.space)
    # Credit notes and returned debits change the amount due without settling it.
    others = [r.id for r in rows.values() if r.entity_type == CREDIT_NOTE or is_back(r.fields)]
    query = RelationQuery(spaces=frozenset((account.space,)), current=True)
    asked = [with_changes(query, rel_type=TruthRelation.SETTLES)]
    asked += [with_changes(query, entities=frozenset(others), direction="out")] if others else []
    edges = [edge for each in asked async for edge in every_match(canon.state.relations, each)]
    roots = await own.root_entities({end for edge in edges for end in (edge.from_id, edge.to_id)})
    invoices: dict[str, dict[str, queries.RecordRow]] = {}
    for edge in edges:
        ends = (rows.get(roots[end].id) for end in (edge.from_id, edge.to_id) if end in roots)
        payment, invoice = next(ends, None), next(ends, None)
        if payment and invoice and invoice.entity_type == INVOICE:
            invoices.setdefault(payment.id, {})[invoice.id] = invoice
    parts: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for i, named in invoices.items():
        shares = shares_of(rows[i].fields, [each.fields for each in named.values()])
        for invoice_id, share in zip(named, shares, strict=True):
            parts.setdefault(invoice_id, []).append((rows[i].entity_type, share))
    owed: dict[str, Decimal | str | None] = {}
    for row in rows.values():
        if row.entity_type == INVOICE:
            owed[row.id] = owed_on(row.fields, parts.get(row.id, ()))
        elif row.entity_type == CREDIT_NOTE and row.id not in invoices:
            owed[row.id] = "no_invoice"
    return owed


def _named_by_schema(schema: EntitySchema, asked: queries.SumRequest) -> queries.SumRequest:
    """Replace aliases by the schema's field names and choose the date field of periods."""
    name = asked.field and queries.require_field(schema, asked.field, "/field")
    numbers = [each.name for each in schema.fields if each.type is FieldType.NUMBER]
    if name and name not in numbers:
        known = ", ".join(numbers) or "none"
        message = f"{name} is not a number. Number fields of {schema.entity_type}: {known}."
        raise InvalidInput("sum.not-a-number", message, path="/field")
    groups = tuple(
        queries.require_field(schema, each, f"/group_by/{number}")
        for number, each in enumerate(asked.group_by)
    )
    dated, dates = asked.date_field, queries.fields_of_type(schema, FieldType.DATE)
    if dated and (dated := queries.require_field(schema, dated, "/date_field")) not in dates:
        known = ", ".join(dates) or "none"
        message = f"{dated} is not a date. Date fields of {schema.entity_type}: {known}."
        raise InvalidInput("sum.not-a-date", message, path="/date_field")
    if asked.period is not None and not dated:
        if not dates:
            message = f"{schema.entity_type} has no date field for periods. Omit `period`."
            raise NotFound("field.unknown", message, kind="field", path="/period")
        dated = dates[0]
    return replace(asked, field=name, group_by=groups, date_field=dated)
