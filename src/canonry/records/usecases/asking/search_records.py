"""Search records: those of the own account by words, by what is like them, and by their fields.

Every record that has all of the words comes first; what recall finds beside those, by other forms
of the words or by meaning, comes after them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from canonry.canon.session.account import account_of
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.items.sources import Snippet, Source
from canonry.log.schemas.truth_types import type_named
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import TextQuery
from canonry.recall.usecases.find_passages import FoundPassage, find_passages
from canonry.records.domain.asking.filters import Matcher, RecordSelection, require_selection
from canonry.records.domain.asking.rows import RecordRow, sought, texts_in, words_in
from canonry.records.domain.shown import shown_by
from canonry.records.usecases.asking.own_records import own_records, schema_named
from canonry.records.usecases.asking.record_tables import RecordTable
from canonry.values.errors import InvalidInput
from canonry.values.revising import revised

LIKE_MAX: Final = 50
"""So many passages are looked at for records that are only like what is asked."""
_NAME: Final = "canonical_name"
_AROUND: Final = 60
_QUOTED: Final = 120
TEXTS_MAX: Final = 10
"""So many passages of files are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Where a record says what was asked: a field and who said it, or a passage about it."""

    field: str | None = None
    passage_id: str | None = None
    observation_id: str | None = None
    excerpt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordHit:
    """A record that was found, and where; `by_words` where it has all of the words."""

    entity: Entity
    matches: Sequence[Match]
    by_words: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TextHit:
    """Where the text of a file says what was asked; `about` are entities that it speaks of."""

    snippet: Snippet
    source: Source
    quote: str
    by_words: bool
    about: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsFound:
    """A page of the records; `total` are all, `degraded` names what could not be searched.

    `texts` come with the first page of what is searched by words alone.
    """

    hits: Sequence[RecordHit]
    texts: Sequence[TextHit]
    total: int
    degraded: Sequence[str]


async def search_records(
    canon: Canon,
    caller: Caller,
    text: str | None,
    selection: RecordSelection,
    *,
    limit: int,
    offset: int,
) -> RecordsFound:
    """The records of the own account that are meant, a page of them.

    Raises:
        InvalidInput: `search.words`, and as the selection says.
        NotFound: `field.unknown`.
    """
    words = sought(text or "")
    if text is not None and not words:
        message = "the query has no word in it; leave it out to search by fields alone"
        raise InvalidInput("search.words", message, path="/query")
    table = await own_records(canon, caller)
    selection = _meant(table, selection)
    found = dict(_selected(table, words, selection))
    chosen = list(found)
    like: Mapping[str, FoundPassage] = {}
    degraded: Sequence[str] = ()
    if text is not None:
        like, degraded = await _like(canon, caller, text)
        chosen = [i for i in like if i in found] + [i for i in found if i not in like]
        among = dict(_selected(table, (), selection, [table.rows.get(i) for i in like]))
        chosen += [i for i in among if i not in found]
    page = chosen[offset : offset + limit]
    entities = await canon.within(account_of(caller).space).things(page)
    hits = [
        RecordHit(
            entity=entity,
            matches=_matches(entity, table, words, found.get(i, ()), like.get(i)),
            by_words=i in found,
        )
        for i in page
        if isinstance(entity := entities.get(i), Entity)
    ]
    anything = text is not None and not offset and selection == RecordSelection()
    texts = await _texts(canon, caller, text or "") if anything else ()
    return RecordsFound(hits=hits, texts=texts, total=len(chosen), degraded=degraded)


async def _texts(canon: Canon, caller: Caller, text: str) -> Sequence[TextHit]:
    """The passages of the own files that say what is asked, the strongest first."""
    space = account_of(caller).space
    query = TextQuery(
        collection=Collection.SNIPPETS, text=text, spaces=frozenset((space,)), limit=TEXTS_MAX
    )
    found = await find_passages(canon, query)
    own = canon.within(space)
    sources = await own.things({hit.passage.source_id or "" for hit in found.hits})
    texts: list[TextHit] = []
    for hit in found.hits:
        snippet, source = found.things[hit.passage.id], sources.get(hit.passage.source_id or "")
        if isinstance(snippet, Snippet) and isinstance(source, Source):
            page = await canon.state.observations_from(source.id, limit=TEXTS_MAX, offset=0)
            about = await own.roots(dict.fromkeys(each.entity_id for each in page.items))
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


async def _like(
    canon: Canon, caller: Caller, text: str
) -> tuple[Mapping[str, FoundPassage], Sequence[str]]:
    """What recall finds in the own account, the strongest first, by the record that it became."""
    space = account_of(caller).space
    query = TextQuery(
        collection=Collection.ENTITIES, text=text, spaces=frozenset((space,)), limit=LIKE_MAX
    )
    found = await find_passages(canon, query)
    roots = await canon.within(space).roots(hit.passage.id for hit in found.hits)
    best: dict[str, FoundPassage] = {}
    for hit in found.hits:
        if hit.passage.id in roots:
            best.setdefault(roots[hit.passage.id].id, hit)
    return best, found.degraded


def _meant(table: RecordTable, selection: RecordSelection) -> RecordSelection:
    if selection.entity_type is None:
        return require_selection(selection, {})
    named = revised(selection, entity_type=type_named(selection.entity_type))
    schema = schema_named(table, named.entity_type or "")
    return require_selection(named, {} if schema is None else {schema.entity_type: schema})


def _selected(
    table: RecordTable,
    words: Sequence[str],
    selection: RecordSelection,
    among: Iterable[RecordRow | None] | None = None,
) -> Iterator[tuple[str, Sequence[str]]]:
    """The records, of all or of some, that have all words and meet the selection, and by what."""
    matchers: dict[str, Matcher] = {}
    for row in table.ordered if among is None else among:
        if row is None or selection.entity_type not in {None, row.entity_type}:
            continue
        if words and not all(word in row.said for word in words):
            continue
        kind = row.entity_type
        if kind not in matchers:
            matchers[kind] = Matcher(selection, table.schemas.get(kind))
        fields = matchers[kind].fields(row)
        if fields is not None:
            yield row.id, fields


def _matches(
    entity: Entity,
    table: RecordTable,
    words: Sequence[str],
    fields: Sequence[str],
    passage: FoundPassage | None,
) -> Sequence[Match]:
    """The fields that were asked about or have one of the words; else what the passage says."""
    shown = shown_by(entity, table.schemas.get(entity.entity_type))
    values: dict[str, Any] = {name: each.value for name, each in shown.fragments.items()}
    values |= shown.fields
    found: list[Match] = []
    asked: list[Match] = []
    for name, value in values.items():
        text = "; ".join(texts_in(value))
        said = words_in(text) if words else ""
        hit = next((word for word in words if word in said), None)
        if hit is not None or name in fields:
            credited = shown.sources.get(name) or (
                (shown.fragments[name].observation,) if name in shown.fragments else ()
            )
            seen = next(iter(credited), None)
            excerpt = excerpt_of(text, (hit or "").strip())
            match = Match(field=name, observation_id=seen, excerpt=excerpt)
            (asked if hit is None else found).append(match)
    if not found and any(word in words_in(entity.name) for word in words):
        found.append(Match(field=_NAME, excerpt=excerpt_of(entity.name, "")))
    if not found and passage is not None:
        term = next(iter(passage.terms), "")
        excerpt = excerpt_of(passage.passage.text, term)
        found.append(Match(passage_id=passage.passage.id, excerpt=excerpt))
    return [*found, *asked]


def excerpt_of(text: str, word: str, around: int = _AROUND) -> str:
    """The text around a word, on one line; marks say where there is more."""
    plain = " ".join(text.split())
    at = max(0, plain.casefold().find(word))
    start, end = max(0, at - around), at + len(word) + around
    before, after = "…" * (start > 0), "…" * (end < len(plain))
    return f"{before}{plain[start:end]}{after}"
