"""Find items by their names, alone or within a text, and read the times of a read."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Final, TypeAlias

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.paging import newest_match
from canonry.canon.session.spoken_times import read_with_calendar
from canonry.canon.session.viewpoint import items_at_viewpoint, narrow_canon
from canonry.canon.session.what_holds import Viewpoint, moment_at, moment_of
from canonry.language.reading.reading import read_statements
from canonry.language.texts.sentences import plain_statement
from canonry.language.texts.stems import (
    WORDS,
    WrittenName,
    find_names,
    is_part_of,
    is_stop_word,
    unknown_name,
    untitled_words,
    words_of_name,
)
from canonry.log.commits import Position
from canonry.log.entries import KIND_NAMES, StoredItem, Tombstone
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Fact
from canonry.log.items.scenes import Scene, Story
from canonry.log.items.sources import Source, entity_id_of_alias
from canonry.log.schemas.identity_keys import confusable_key, part_mark, plain_form, possible_forms
from canonry.log.schemas.narrative import PROPERTY_PREFIX, EntityType, narrative_type, policy_of
from canonry.readmodels.ports.documents import SceneQuery
from canonry.readmodels.ports.state import EntityQuery, FactQuery, IdentifierQuery, RelationQuery
from canonry.readmodels.ports.view import PAGE_MAX, Page
from canonry.values.attributes.table import find_attribute
from canonry.values.calendars.declaring import read_rough_time
from canonry.values.calendars.reckoning import GREGORIAN, RoughTime, span_of
from canonry.values.errors import InvalidInput, NotFound
from canonry.values.ids import EntityId, SpaceId, is_uuid
from canonry.values.json_values import fold_text, plain_signs
from canonry.values.moments import DAY, Instant, parse_instant
from canonry.values.provenance import CanonLevel
from canonry.values.statements import Statement

ARTICLES, _OWN, _COPULAS, _FIELDS = (
    WORDS["names"][each].split() for each in ("articles", "possessives", "copulas", "offices")
)
"""Words before a name, words before an office, words after both, and fields with an office."""
_ASKED: Final = "Qyx"
"""A name that no table of words has."""


def bare_name(text: str) -> str:
    """Return the folded text without an article or a possessive in front of other words."""
    form = fold_text(text)
    first, _, rest = form.partition(" ")
    return rest if rest and first in {*ARTICLES, *_OWN} else form.removeprefix("l'") or form


async def find_holders(
    canon: Canon, space: SpaceId, text: str, named: Mapping[str, str]
) -> list[Entity]:
    """Return the entities that hold the office which a text names, at the canon's viewpoint.

    An office is written with an article or a possessive, or with the entity that has it: `our
    landlord`, `captain of the Petrel`. `named` maps the names in the text to ids of entities. The
    newest facts, relations and entities are searched.
    """
    bare, spaces = bare_name(text), frozenset((space,))
    if (bare == fold_text(text) and not named) or not set(_COPULAS).isdisjoint(bare.split()):
        return []
    plain = bare
    for name in named:  # the reader knows names by their capitals, and no office in capitals
        plain = plain.replace(fold_text(name), name)
    forms = (text.strip(), f"{ARTICLES[0]} {plain}")
    asked = [one for be in _COPULAS for form in forms for one in _asked(f"{be} {form}", named)]
    types = {each for one in asked for each in find_attribute(one.attribute).relations}
    types.add("_".join([*bare.partition(" of ")[0].upper().split(), "OF"]))
    level = CanonLevel.CANON
    reported = [*await newest_match(canon.state.facts, FactQuery(spaces=spaces, level=level))]
    people = await newest_match(canon.state.entities, EntityQuery(spaces=spaces, level=level))
    ids = [] if named else [each.id for each in people if bare in _offices(each)]
    names: dict[str, Collection[str]] = {each.id: each.names for each in people}
    for each in await items_at_viewpoint(canon, reported):
        ids += _holders(each, asked, bare, names) if canon.viewpoint.may_show(each) else ()
    owners = {one.subject for one in asked if one.value == _ASKED}
    for kind in types:
        query = RelationQuery(spaces=spaces, rel_type=kind)
        held = await items_at_viewpoint(canon, await newest_match(canon.state.relations, query))
        held = [one for one in held if canon.viewpoint.may_show(one)]
        ids += [one.from_id for one in held if one.to_id in owners or not owners]
    return list(
        {e.id: e for e in (await canon.space_scope(space).root_entities(ids)).values()}.values()
    )


def _asked(said: str, named: Mapping[str, str]) -> Iterator[Statement]:
    """Yield the statements that an entity with the id `_ASKED` has the office."""
    read = read_statements(f"{_ASKED} {said}.", {_ASKED: _ASKED, **named})
    offices = (one for one in read if one.value == _ASKED or one.attribute.startswith("is:"))
    held = (one for one in offices if _ASKED in {one.subject, one.value})
    yield from (one for one in held if not one.attribute.endswith(f":{one.subject[1:]}"))


def _holders(
    fact: Fact, asked: Sequence[Statement], bare: str, names: Mapping[str, Collection[str]]
) -> Iterator[Any]:
    """Yield the ids of entities that have the office by a fact."""
    for said in (one for one in fact.statements if one.holds_then and not one.implied):
        for one in asked:
            role = (said.attribute, said.subject) == (one.attribute, one.subject)
            some = said.attribute == one.attribute.replace("is:", "role:")
            if (one.value == _ASKED and role) or (one.subject == _ASKED and some):
                yield said.value
            elif said.attribute == one.attribute and (
                {*str(one.value).split()} <= {*str(said.value).split()}
            ):
                yield said.subject
    if not fact.statements:  # the reader leaves out what is said in the first person
        words = plain_statement(fact.statement).split()
        plain = " ".join(word for word in words if word not in {*ARTICLES, *_OWN})
        for each in fact.involved:
            called = map(plain_statement, names.get(each, ()))
            pairs = [pair for name in called for pair in ((name, bare), (bare, name))]
            yield from [each for a, b in pairs for be in _COPULAS if f"{a} {be} {b}" == plain]


def _offices(entity: Entity) -> set[str]:
    """Return the offices that the type and the fields of an entity name."""
    shown = {n.removeprefix(PROPERTY_PREFIX): policy_of(n).show(e) for n, e in entity.own.items()}
    fields = (shown.get(name) for name in _FIELDS)
    return {fold_text(each) for each in (entity.shown_type, *fields) if isinstance(each, str)}


# Find the item with an id, a name, or the beginning of either. Ambiguous names are refused.
#
# Entities have names and addresses, scenes, stories and documents have titles, facts have
# statements.

Titled: TypeAlias = Scene | Story | Source
CANDIDATES_MAX: Final = 10  # a caller chooses among a few; more asks for a longer name
_NEAR_MAX: Final = 3  # the most candidates that a message names
_DIGITS: Final = re.compile(r"[0-9a-f]{8,31}")
"""A pattern for the beginning of an id without hyphens."""
_NUMBERS: Final = re.compile(r"\d+")
_ARTICLE: Final = re.compile(rf"^(?:{'|'.join(ARTICLES)}) ", re.IGNORECASE)
_GROUPS: Final = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
WORDY: Final = frozenset({"note", "message", "document"})
"""Types of entities that stand for a text; others go before them."""
_BEGINNING_MIN: Final = 2  # the shortest text that is matched as the beginning of a name


async def find_named(
    canon: Canon,
    caller: Caller,
    space: SpaceId,
    text: str,
    kinds: Sequence[type] = (),
    *,
    path: str = "/of",
) -> StoredItem:
    """Return the item that `text` names, of these kinds or of all; merged ones as survivors.

    Raises:
        NotFound: `name.unknown`, with similar names.
        InvalidInput: `name.ambiguous`, with the candidates; or `name.other-kind`.
    """
    if len(text) > canon.policy.limits.turn:  # no item has a longer text
        raise unknown_name_error(text, "this space", (), path)
    named = text.strip()
    if (by_id := await _by_id(canon, caller, named)) is not None:
        if kinds and not isinstance(by_id, tuple(kinds)):
            wanted = " or ".join(map(_kind_label, kinds))
            message = f"{path} must name {wanted}, but names {_kind_label(type(by_id))}."
            raise InvalidInput("name.other-kind", message, path=path)
        return by_id
    found = [] if is_uuid(named) else await _find_called(canon, space, named, kinds)
    digits = named.lower().replace("-", "")
    if not found and _DIGITS.fullmatch(digits):
        found = await _ids_begun(canon, space, digits, kinds)
    found = [each for each in found if not _has_no_name(each)] or found
    if len(found) == 1:
        return found[0]
    if found:
        raise ambiguous_name_error([describe_candidate(each) for each in found], path)
    near = [] if is_uuid(named) else await _similar_names(canon, space, named, kinds)
    raise unknown_name_error(named, "this space", near, path)


def _has_no_name(item: StoredItem) -> bool:
    """Return whether an item, such as a note, has no name but its own first words."""
    if not isinstance(item, Entity):
        return False
    name, texts = item.name, map(item.properties.get, ("content", "text", "body"))
    return any(
        isinstance(each, str)
        and each.startswith(name.rstrip("\u2026"))
        and (name.endswith((".", "!", "?", "\u2026")) or each[len(name) :][:1] in {"", "\n"})
        for each in texts
    )


def names_suggested(text: str, near: Sequence[str]) -> str:
    """Ask whether the nearest name is meant, or another one that shares a word with the text."""
    words = frozenset(fold_text(text).split())
    alike = [each for each in near if not words.isdisjoint(fold_text(each).split())]
    named = [*dict.fromkeys((*near[:1], *alike))][:_NEAR_MAX]
    again = " If you are not sure, ask; then call again with that name." if len(named) > 1 else ""
    return f" Did you mean {' or '.join(named)}?{again}" if named else ""


def unknown_name_error(text: str, where: str, near: Sequence[str], path: str) -> NotFound:
    """Return the error for a name that matches no item."""
    guess = names_suggested(text, near)
    message = f"{path} {text[:60]!r} matches no name or id in {where}.{guess}"
    return NotFound("name.unknown", message, path=path, **({"candidates": near} if near else {}))


def ambiguous_name_error(candidates: Sequence[str], path: str) -> InvalidInput:
    """Return the error for a name that matches several items."""
    message = f"{path} matches {len(candidates)} items. Ask which one; give its id."
    shown = list(candidates[:CANDIDATES_MAX])
    return InvalidInput("name.ambiguous", message, path=path, candidates=shown)


def begins_word_of(name: str, wanted: str) -> bool:
    """Return whether a word of the folded name begins with the folded query."""
    return len(wanted) >= _BEGINNING_MIN and f" {wanted}" in f" {name}"


def describe_candidate(item: StoredItem) -> str:
    """Format an item as a candidate in an error."""
    kind = item.shown_type if isinstance(item, Entity) else KIND_NAMES[type(item)]
    return f"{title_of(item)} ({kind} {item.id})".strip()


def title_of(item: StoredItem) -> str:
    """Return the item's name, title or statement, or an empty text."""
    if isinstance(item, Entity):
        return item.name
    if isinstance(item, Fact):
        return item.statement
    return item.title if isinstance(item, Titled) else ""


async def _by_id(canon: Canon, caller: Caller, named: str) -> StoredItem | None:
    given = named.lower() if is_uuid(named) else entity_id_of_alias(named)
    if given is None:
        return None
    seen = canon.caller_scope(caller)
    item = await seen.find_item(given)
    if isinstance(item, Entity) and item.merged_into is not None:
        item = (await seen.root_entities((given,))).get(given)
    return None if isinstance(item, Tombstone) else item


async def _ids_begun(
    canon: Canon, space: SpaceId, digits: str, kinds: Sequence[type]
) -> list[StoredItem]:
    """Find the items of the space whose ids begin with these digits."""
    begun = "-".join(part for start, end in _GROUPS if (part := digits[start:end]))
    ids = await canon.state.ids_beginning(begun, limit=PAGE_MAX)
    seen = canon.space_scope(space)
    found: dict[str, StoredItem] = {}
    for item in (await seen.items_by_id(ids)).values():
        if isinstance(item, Entity) and item.merged_into is not None:
            item = (await seen.root_entities((item.id,))).get(item.id, item)  # noqa: PLW2901 - as one
        if not isinstance(item, Tombstone) and (not kinds or isinstance(item, tuple(kinds))):
            found[item.id] = item
    return list(found.values())


async def _find_called(
    canon: Canon, space: SpaceId, named: str, kinds: Sequence[type]
) -> list[StoredItem]:
    """Find items by name, else by their words or office, else by the beginning of a name."""
    titled = await _find_titled(canon, space, kinds)
    bare = bare_name(named)
    meant = (bare, *(f"{each} {bare}" for each in ARTICLES))
    literal = (fold_text(named),)
    for forms, wider in ((literal, False), (literal, True), (meant, False)):
        keys = possible_forms(named) if wider else forms
        entities = (
            await _entities_by_keys(canon, space, keys) if _includes_kind(kinds, Entity) else []
        )
        own: list[StoredItem] = [each for each in entities if fold_text(each.name) in forms]
        of_title = [each for each in titled if not set(forms).isdisjoint(_titles_of(each))]
        if of_title:  # the record of a document has its title
            own = [e for e in own if isinstance(e, Entity) and e.shown_type not in WORDY]
        if own or of_title or (entities and keys is not literal):
            return [*own, *of_title] or [*entities]
    spoken = await _spoken(canon, space, named, kinds)
    return spoken or await _begun_by(canon, space, bare, titled, kinds)


async def _spoken(
    canon: Canon, space: SpaceId, named: str, kinds: Sequence[type]
) -> list[StoredItem]:
    """Find facts by their words, else the holders of an office."""
    facts = await canon.state.facts_stating(space, {named}) if _includes_kind(kinds, Fact) else ()
    if facts or not _includes_kind(kinds, Entity):
        return [each for each in facts if each.level is CanonLevel.CANON] or [*facts]
    spans = (await find_mentioned(canon, space, named)).spans
    ids = {_ARTICLE.sub("", named[start:end]): one for start, end, one in spans}
    return [*await find_holders(canon, space, named, ids)]


async def _begun_by(
    canon: Canon, space: SpaceId, named: str, titled: Sequence[Titled], kinds: Sequence[type]
) -> list[StoredItem]:
    """Find items by the beginning of a name, by a part of it, or by the beginning of a word."""
    wanted = fold_text(named)
    if len(wanted) < _BEGINNING_MIN:
        return []
    begun: list[Entity | Titled] = []
    if _includes_kind(kinds, Entity):
        begun += await _entities_by_keys(canon, space, (wanted,), begins=True)
    begun += [each for each in titled if any(t.startswith(wanted) for t in _titles_of(each))]
    part = untitled_words(named)
    names = ((e, e.known_as if isinstance(e, Entity) else _titles_of(e)) for e in begun)
    whole: list[StoredItem] = [e for e, own in names if any(is_part_of(part, name) for name in own)]
    if not whole and _includes_kind(kinds, Entity):
        owners = await _entities_by_keys(canon, space, (part_mark(part),))
        whole += [each for each in owners if any(is_part_of(part, e) for e in each.known_as)]
    near = whole or [*begun] or await _by_word(canon, space, wanted, titled, kinds)
    initial = _INITIAL.fullmatch(wanted) if not near and _includes_kind(kinds, Entity) else None
    if initial is None:
        return near
    owners = await _entities_by_keys(canon, space, (part_mark(initial[2]),))
    return [e for e in owners if fold_text(e.name).startswith(initial[1]) and e.name != initial[2]]


_INITIAL: Final = re.compile(r"(\w)\.? (\w.+)")
"""The initial of a first name before a later name: J. Okafor."""


async def _by_word(
    canon: Canon, space: SpaceId, wanted: str, titled: Sequence[Titled], kinds: Sequence[type]
) -> list[StoredItem]:
    """Find items by the beginning of a later word of their names: Roke, Captain Roke."""
    inside = f" {wanted}"
    found: list[StoredItem] = [e for e in titled if any(inside in t for t in _titles_of(e))]
    if _includes_kind(kinds, Entity):
        query = EntityQuery(
            spaces=frozenset((space,)),
            level=CanonLevel.CANON,
            name_pattern=wanted.replace("*", "").replace("%", ""),
            limit=PAGE_MAX,
        )
        page = await canon.state.entities(query)
        found += [e for e in page.items if any(inside in name for name in e.known_as)]
    return found


async def _entities_by_keys(
    canon: Canon, space: SpaceId, keys: tuple[str, ...], *, begins: bool = False
) -> list[Entity]:
    if not keys:
        return []
    query = IdentifierQuery(
        spaces=frozenset((space,)), keys=keys, begins=begins, limit=CANDIDATES_MAX + 1
    )
    pages = await canon.state.entities_identified(query)
    return list({e.id: e for key in keys if key in pages for e in pages[key].items}.values())


async def _find_titled(canon: Canon, space: SpaceId, kinds: Sequence[type]) -> list[Titled]:
    """Return the newest scenes and the first stories and documents, as far as requested."""
    found: list[Titled] = []
    if _includes_kind(kinds, Scene):
        scenes = SceneQuery(spaces=frozenset((space,)))
        found += reversed(await newest_match(canon.documents.scenes, scenes))
    if _includes_kind(kinds, Story):
        found += (await canon.state.stories(space, limit=PAGE_MAX, offset=0)).items
    if _includes_kind(kinds, Source):
        sources = (await canon.state.sources(space, limit=PAGE_MAX, offset=0)).items
        found += [each for each in sources if each.level is not CanonLevel.RETCONNED]
    return found


def _titles_of(item: Titled) -> tuple[str, ...]:
    more = (item.doc_id, item.file_name or "") if isinstance(item, Source) else ()
    return tuple(fold_text(each) for each in (item.title, *more) if each)


async def _similar_names(
    canon: Canon, space: SpaceId, named: str, kinds: Sequence[type]
) -> list[str]:
    """Suggest names that are similar or share a word."""
    names = [each.title for each in await _find_titled(canon, space, kinds)]
    if _includes_kind(kinds, Entity):
        query = EntityQuery(spaces=frozenset((space,)), level=CanonLevel.CANON, limit=PAGE_MAX)
        names += [each.name for each in (await canon.state.entities(query)).items]
    by_form = {fold_text(name): name for name in names if name}
    near = get_close_matches(fold_text(named[:300]), by_form, n=3, cutoff=0.6)  # long ones are slow
    words = frozenset(word for word in fold_text(named).split() if not is_stop_word(word))
    shared = [form for form in by_form if not words.isdisjoint(form.split())]
    numbered = set(_NUMBERS.findall(named))  # Chapter 9 is not a slip for Chapter 11
    alike = (e for e in dict.fromkeys((*near, *shared)) if numbered <= set(_NUMBERS.findall(e)))
    return [by_form[form] for form in alike][:_NEAR_MAX]


def _includes_kind(kinds: Sequence[type], kind: type) -> bool:
    return not kinds or kind in kinds


def _kind_label(kind: type) -> str:
    name = KIND_NAMES[kind]
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


# Find the entities that a text mentions.
#
# The longest of nested names counts. A part of a name, such as a first name, counts if it fits
# exactly one entity. A name that fits several entities links none of them and is reported.

CANDIDATES: Final = 10  # a caller chooses among a few
_BEGINNING: Final = 3
"""The number of leading confusable characters, with marks, that similar names share."""

_WORDS_NEAR: Final = 60  # each word is looked up: bounds the time of a call
_NONE: Final[Page[Entity]] = Page(items=[], total=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentions:
    """The entities that a text names, in order: ids, and the names that the caller supplied.

    Supplied names map to None. `unclear` maps each ambiguous name, as written, to its candidates.
    `spans` are (first character, character behind the last, id) of each found name.
    """

    found: Mapping[str, EntityId | None] = field(default_factory=dict)
    unclear: Mapping[str, Sequence[Entity | str]] = field(default_factory=dict)
    spans: Sequence[tuple[int, int, EntityId]] = ()


async def find_mentioned(
    canon: Canon,
    space: SpaceId,
    text: str,
    also: Collection[str] = (),
    people: Collection[str] = (),
    *,
    of_records: bool = False,
) -> Mentions:
    """Find the entities that the text mentions.

    `also` are further folded names whose owners the caller knows. Those in `people` also match by a
    part of the name. People who are records have no marks of parts: `of_records` finds them by the
    first name.
    """
    written = find_names(text)
    keys = {each: part_mark(each.form) if each.part else each.form for each in written}
    pages = dict(await _find_identified(canon, space, dict.fromkeys(keys.values())))
    if of_records and (parts := {f"{e.form} ": keys[e] for e in written if e.part}):
        for form, page in (await _find_identified(canon, space, parts, begins=True)).items():
            persons = [
                e for e in page.items if narrative_type(e.entity_type) is EntityType.CHARACTER
            ]
            pages.setdefault(parts[form], Page(items=persons, total=len(persons)))
    plain = plain_signs(text)
    found: dict[str, EntityId | None] = {}
    unclear: dict[str, Sequence[Entity | str]] = {}
    taken: list[WrittenName] = []
    spans: list[tuple[int, int, EntityId]] = []
    for each in written:
        if keys[each] not in pages and not also:
            continue
        if any(each.start < one.end and one.start < each.end for one in taken):
            continue
        page, name = pages.get(keys[each], _NONE), plain[each.start : each.end]
        owners = _owners_of(each, name, page.items, also, people)
        if not owners:
            continue
        taken.append(each)
        if len(owners) > 1:
            if len(owners.keys() & found.keys()) == 1:  # its full name occurs in the text
                continue
            unclear[name] = [owner or key for key, owner in owners.items()]
            continue
        [(key, owner)] = owners.items()
        found[key] = None if owner is None else owner.id
        if owner is not None:
            spans.append((each.start, each.end, owner.id))
    return Mentions(found=found, unclear=unclear, spans=spans)


async def find_near(canon: Canon, space: SpaceId, text: str) -> Sequence[Entity]:
    """Find entities with similar names, or names that share a word with the text."""
    words = [word for word in words_of_name(text).split()[:_WORDS_NEAR] if not is_stop_word(word)]
    pages = await _find_identified(canon, space, dict.fromkeys((*words, *map(part_mark, words))))
    near = {each.id: each for page in pages.values() for each in page.items}
    if not near and (name := unknown_name(text)) is not None:
        begun = confusable_key(EntityType.CHARACTER, name)[:_BEGINNING]
        pages = await _find_identified(canon, space, (begun,), begins=True)
        begin = [each for page in pages.values() for each in page.items]
        near = {e.id: e for e in begin if get_close_matches(name, (e.name, *e.name.split()))}
    return list(near.values())[:CANDIDATES]


async def _find_identified(
    canon: Canon, space: SpaceId, keys: Iterable[str], *, begins: bool = False
) -> Mapping[str, Page[Entity]]:
    query = IdentifierQuery(
        spaces=frozenset((space,)), keys=tuple(keys), begins=begins, limit=CANDIDATES
    )
    return await canon.state.entities_identified(query) if query.keys else {}


def _owners_of(
    each: WrittenName,
    written: str,
    entities: Sequence[Entity],
    also: Collection[str],
    people: Collection[str],
) -> dict[str, Entity | None]:
    """Map each name in the text to its entity; names that the caller supplied map to None."""
    entities = [e for e in entities if not _has_no_name(e)]
    if each.part:
        along = {name: None for name in people if is_part_of(each.form, name)}
        known = [e for e in entities if any(is_part_of(each.form, name) for name in e.known_as)]
        return {**along, **{e.id: e for e in known if along.keys().isdisjoint(e.known_as)}}
    if each.form in also:
        return {each.form: None}
    if each.small:
        entities = [e for e in entities if written in map(plain_signs, (e.name, *e.names))]
    called = [e for e in entities if fold_text(e.name) == each.form]
    called = called or [e for e in entities if each.form in e.known_as]
    called = called or [
        e for e in entities if each.form in {plain_form(e.entity_type, name) for name in e.names}
    ]
    return {e.id: e for e in called}


# Read the times of a read, one of which may name a scene, and narrow the canon to them.

AT: Final = "at"
"""The argument with a valid time, or a scene, which stands at the end of its turns."""
AS_KNOWN_AT: Final = "as_known_at"
"""The argument with a transaction time, whose date means the end of its day, or a position."""
TIMES: Final = (AT, AS_KNOWN_AT)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_POSITION: Final = re.compile(r"\d{1,15}", re.ASCII)
_CALENDAR_IDS: Final = ("scene_id", "story_id", "universe_id")
"""Arguments whose universe supplies the calendar, in this order; else any other id."""


async def at_viewpoint(
    canon: Canon, caller: Caller, arguments: Mapping[str, Any], item: StoredItem | None
) -> Canon:
    """Return the canon as of the times in the arguments; `item` is any item of the space.

    Raises:
        InvalidInput: those of `read_valid_time` and `read_recorded_time`.
    """
    canon, known, view = canon.now or canon, arguments.get(AS_KNOWN_AT), Viewpoint()
    if isinstance(known, int) or (known is not None and _POSITION.fullmatch(known)):
        view = Viewpoint(known=Position(int(known)))
    elif known is not None:
        now = canon.clock.now()
        known_at = read_recorded_time(known, path="/as_known_at", end_of_day=True, now=now)
        view = Viewpoint(known_at=known_at)
    if (text := arguments.get(AT)) is not None:
        view = replace(view, **await _viewpoint_fields(canon, caller, text, item))
    return narrow_canon(canon, view)


async def _viewpoint_fields(
    canon: Canon, caller: Caller, text: str, item: StoredItem | None
) -> Mapping[str, Any]:
    """Read a time, or the name or id of a scene."""
    try:
        at = await read_valid_time(canon, caller, text, item, path="/at", end_of_day=True)
    except InvalidInput as error:
        space = SpaceId("") if item is None else item.space
        try:
            scene = await find_named(canon, caller, space, text, (Scene,), path="/at")
        except (InvalidInput, NotFound):
            scene = None
        if not isinstance(scene, Scene):
            message = f"No scene has that title, and {error.message}"
            raise InvalidInput(error.code, message, path="/at") from error
        return {"at": moment_of(scene), "scene": scene}
    return {"at": moment_at(at)}


async def read_valid_time(
    canon: Canon,
    caller: Caller,
    text: str,
    item: StoredItem | None,
    *,
    path: str,
    end_of_day: bool | None = None,
) -> Instant:
    """Read a valid time: a date, RFC 3339, or words of the calendar at `item`.

    Raises:
        InvalidInput: as `read_with_calendar`.
    """
    if item is None or _DATE.fullmatch(text):
        return read_recorded_time(
            text, path=path, end_of_day=bool(end_of_day), now=canon.clock.now()
        )
    return await read_with_calendar(
        canon, caller, item, lambda read: read(text, path), to_end=end_of_day, tense=lambda: -1
    )


def read_recorded_time(
    text: str, *, path: str, end_of_day: bool = False, now: Instant | None = None
) -> Instant:
    """Read a transaction time: RFC 3339, a date, or words if they can count from `now`.

    A day or another span is its beginning, or its last instant at the `end_of_day`.
    """
    if _DATE.fullmatch(text):
        start = parse_instant(f"{text}T00:00:00Z", path=path)
        return Instant(start + DAY - 1) if end_of_day else start
    if now is None:
        return parse_instant(text, path=path)
    try:
        rough = read_rough_time(text, GREGORIAN, RoughTime(start=now, toward=-1), path=path)
    except InvalidInput as error:
        if error.code != "time.malformed":
            raise
        message = f"{path} is no time. Write a date, such as 2026-11-30, or words: an hour ago."
        raise InvalidInput(error.code, message, path=path) from error
    begin, end = span_of(rough, GREGORIAN)
    return max(begin, Instant(end - 1)) if end_of_day else begin


async def item_of_arguments(
    canon: Canon, caller: Caller, arguments: Mapping[str, Any]
) -> StoredItem | None:
    """Return the item whose space supplies the calendar of a call: the first that an id names."""
    others = [name for name in arguments if name.endswith("id") and name not in _CALENDAR_IDS]
    for name in (*_CALENDAR_IDS, *others):
        value = arguments.get(name)
        if isinstance(value, str) and is_uuid(value):
            return await canon.caller_scope(caller).find_item(value.lower())
    return None
