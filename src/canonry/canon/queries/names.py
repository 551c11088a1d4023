"""Find items by their names, alone or within a text, and read the times of a read."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Final, TypeAlias

from canonry.canon.queries.spoken_names import ARTICLES, bare_name, find_holders
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.narrowing import narrowed
from canonry.canon.session.paging import newest_match
from canonry.canon.session.spoken_times import in_words
from canonry.canon.session.what_holds import Viewpoint, moment_at, moment_of
from canonry.language.texts.stems import (
    WrittenName,
    is_part_of,
    is_stop_word,
    names_written,
    part_meant,
    unknown_name,
    words_of_name,
)
from canonry.log.commits import Position
from canonry.log.entries import THING_KINDS, Thing, Tombstone
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Fact
from canonry.log.items.scenes import Scene, Story
from canonry.log.items.sources import Source, entity_id_behind
from canonry.log.schemas.identity_keys import look_mark, meant_by, other_form, part_mark
from canonry.log.schemas.narrative import EntityType, narrative_type
from canonry.readmodels.ports.documents import SceneQuery
from canonry.readmodels.ports.state import EntityQuery, IdentifierQuery
from canonry.readmodels.ports.view import PAGE_MAX, Page
from canonry.values.calendars.declaring import read_roughly
from canonry.values.calendars.reckoning import GREGORIAN, RoughTime, span_of
from canonry.values.errors import InvalidInput, NotFound
from canonry.values.ids import EntityId, SpaceId, is_uuid
from canonry.values.json_values import folded, plain_signs
from canonry.values.moments import DAY, Instant, parse_instant
from canonry.values.provenance import CanonLevel

# Find the item with an id, a name, or the beginning of either. Ambiguous names are refused.
#
# Entities have names and addresses, scenes, stories and documents have titles, facts have
# statements.

Titled: TypeAlias = Scene | Story | Source
CANDIDATES_MAX: Final = 10
_NEAR_MAX: Final = 3
"""The most candidates that a message names."""
_DIGITS: Final = re.compile(r"[0-9a-f]{8,31}")
"""A pattern for the beginning of an id without hyphens."""
_NUMBERS: Final = re.compile(r"\d+")
_ARTICLE: Final = re.compile(rf"^(?:{'|'.join(ARTICLES)}) ", re.IGNORECASE)
_GROUPS: Final = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
WORDY: Final = frozenset({"note", "message", "document"})
"""Types of entities that stand for a text; others go before them."""
_BEGINNING_MIN: Final = 2
"""The shortest text that is matched as the beginning of a name."""


async def find_named(
    canon: Canon,
    caller: Caller,
    space: SpaceId,
    text: str,
    kinds: Sequence[type] = (),
    *,
    path: str = "/of",
) -> Thing:
    """Return the item that `text` names, of these kinds or of all; merged ones as survivors.

    Raises:
        NotFound: `name.unknown`, with similar names.
        InvalidInput: `name.ambiguous`, with the candidates; or `name.other-kind`.
    """
    named = text.strip()
    if (by_id := await _by_id(canon, caller, named)) is not None:
        if kinds and not isinstance(by_id, tuple(kinds)):
            wanted = " or ".join(map(_kind, kinds))
            message = f"{path} must name {wanted}, but names {_kind(type(by_id))}."
            raise InvalidInput("name.other-kind", message, path=path)
        return by_id
    found = [] if is_uuid(named) else await _called(canon, space, named, kinds)
    digits = named.lower().replace("-", "")
    if not found and _DIGITS.fullmatch(digits):
        found = await _begun(canon, space, digits, kinds)
    found = [each for each in found if not _is_named_by_words(each)] or found
    if len(found) == 1:
        return found[0]
    if found:
        raise may_mean([candidate(each) for each in found], path)
    near = [] if is_uuid(named) else await _near(canon, space, named, kinds)
    raise no_match(named, "this space", near, path)


_WORDS: Final = ("content", "text", "body")
_SENTENCE_ENDS: Final = (".", "!", "?", "\u2026")


def _is_named_by_words(thing: Thing) -> bool:
    """Tell whether an item, such as a note, has no name but its own first words."""
    if not isinstance(thing, Entity):
        return False
    name, told = thing.name, map(thing.properties.get, _WORDS)
    return any(
        isinstance(each, str)
        and each.startswith(name.rstrip("\u2026"))
        and (name.endswith(_SENTENCE_ENDS) or each[len(name) :][:1] in {"", "\n"})
        for each in told
    )


def names_suggested(text: str, near: Sequence[str]) -> str:
    """Ask whether the nearest name is meant, or another one that shares a word with the text."""
    words = frozenset(folded(text).split())
    alike = [each for each in near if not words.isdisjoint(folded(each).split())]
    named = [*dict.fromkeys((*near[:1], *alike))][:_NEAR_MAX]
    again = " If you are not sure, ask; then call again with that name." if len(named) > 1 else ""
    return f" Did you mean {' or '.join(named)}?{again}" if named else ""


def no_match(text: str, where: str, near: Sequence[str], path: str) -> NotFound:
    """Return the error for a name that matches no item."""
    guess = names_suggested(text, near)
    message = f"{path} {text[:60]!r} matches no name or id in {where}.{guess}"
    return NotFound("name.unknown", message, path=path, **({"candidates": near} if near else {}))


def may_mean(candidates: Sequence[str], path: str) -> InvalidInput:
    """Return the error for a name that matches several items."""
    named = ", ".join(candidates[:_NEAR_MAX])
    more = f" and {len(candidates) - _NEAR_MAX} more" if len(candidates) > _NEAR_MAX else ""
    message = f"{path} matches {len(candidates)} items: {named}{more}. Ask which one; give its id."
    told = list(candidates[:CANDIDATES_MAX])
    return InvalidInput("name.ambiguous", message, path=path, candidates=told)


def begins_word_of(name: str, wanted: str) -> bool:
    """Tell whether a word of the folded name begins with the folded query."""
    return len(wanted) >= _BEGINNING_MIN and f" {wanted}" in f" {name}"


def candidate(thing: Thing) -> str:
    """Format an item as a candidate in an error."""
    kind = thing.shown_type if isinstance(thing, Entity) else THING_KINDS[type(thing)]
    return f"{title_of(thing)} ({kind} {thing.id})".strip()


def title_of(thing: Thing) -> str:
    """Return the item's name, title or statement, or an empty text."""
    if isinstance(thing, Entity):
        return thing.name
    if isinstance(thing, Fact):
        return thing.statement
    return thing.title if isinstance(thing, Titled) else ""


async def _by_id(canon: Canon, caller: Caller, named: str) -> Thing | None:
    given = named.lower() if is_uuid(named) else entity_id_behind(named)
    if given is None:
        return None
    seen = canon.seen_by(caller)
    thing = await seen.thing(given)
    if isinstance(thing, Entity) and thing.merged_into is not None:
        thing = (await seen.roots((given,))).get(given)
    return None if isinstance(thing, Tombstone) else thing


async def _begun(canon: Canon, space: SpaceId, digits: str, kinds: Sequence[type]) -> list[Thing]:
    """Find the items of the space whose ids begin with these digits."""
    begun = "-".join(part for start, end in _GROUPS if (part := digits[start:end]))
    ids = await canon.state.ids_beginning(begun, limit=PAGE_MAX)
    seen = canon.within(space)
    found: dict[str, Thing] = {}
    for thing in (await seen.things(ids)).values():
        if isinstance(thing, Entity) and thing.merged_into is not None:
            thing = (await seen.roots((thing.id,))).get(thing.id, thing)  # noqa: PLW2901 - as one
        if not isinstance(thing, Tombstone) and (not kinds or isinstance(thing, tuple(kinds))):
            found[thing.id] = thing
    return list(found.values())


async def _called(canon: Canon, space: SpaceId, named: str, kinds: Sequence[type]) -> list[Thing]:
    """Find items by name, else by their words or office, else by the beginning of a name."""
    titled = await _titled(canon, space, kinds)
    bare = bare_name(named)
    meant = (bare, *(f"{each} {bare}" for each in ARTICLES))
    for forms, keys in (((folded(named),), meant_by(named)), (meant, meant)):
        entities = await _entities(canon, space, keys) if _asks(kinds, Entity) else []
        own: list[Thing] = [each for each in entities if folded(each.name) in forms]
        of_title = [each for each in titled if not set(forms).isdisjoint(_titles(each))]
        if of_title:  # the record of a document has its title
            own = [e for e in own if isinstance(e, Entity) and e.shown_type not in WORDY]
        if own or of_title or entities:
            return [*own, *of_title] or [*entities]
    spoken = await _spoken(canon, space, named, kinds)
    return spoken or await _begun_by(canon, space, bare, titled, kinds)


async def _spoken(canon: Canon, space: SpaceId, named: str, kinds: Sequence[type]) -> list[Thing]:
    """Find facts by their words, else the holders of an office."""
    facts = await canon.state.facts_stating(space, {named}) if _asks(kinds, Fact) else ()
    if facts or not _asks(kinds, Entity):
        return [each for each in facts if each.level is CanonLevel.CANON] or [*facts]
    spans = (await find_mentioned(canon, space, named)).spans
    ids = {_ARTICLE.sub("", named[start:end]): one for start, end, one in spans}
    return [*await find_holders(canon, space, named, ids)]


async def _begun_by(
    canon: Canon, space: SpaceId, named: str, titled: Sequence[Titled], kinds: Sequence[type]
) -> list[Thing]:
    """Find items by the beginning of a name, by a part of it, or by the beginning of a word."""
    wanted = folded(named)
    if len(wanted) < _BEGINNING_MIN:
        return []
    begun: list[Entity | Titled] = []
    if _asks(kinds, Entity):
        begun += await _entities(canon, space, (wanted,), begins=True)
    begun += [each for each in titled if any(t.startswith(wanted) for t in _titles(each))]
    part = part_meant(named)
    names = ((e, e.known_as if isinstance(e, Entity) else _titles(e)) for e in begun)
    whole: list[Thing] = [e for e, own in names if any(is_part_of(part, name) for name in own)]
    if not whole and _asks(kinds, Entity):
        bearers = await _entities(canon, space, (part_mark(part),))
        whole += [each for each in bearers if any(is_part_of(part, e) for e in each.known_as)]
    near = whole or [*begun] or await _by_word(canon, space, wanted, titled, kinds)
    initial = _INITIAL.fullmatch(wanted) if not near and _asks(kinds, Entity) else None
    if initial is None:
        return near
    bearers = await _entities(canon, space, (part_mark(initial[2]),))
    return [e for e in bearers if folded(e.name).startswith(initial[1]) and e.name != initial[2]]


_INITIAL: Final = re.compile(r"(\w)\.? (\w.+)")
"""The initial of a first name before a later name: J. Okafor."""


async def _by_word(
    canon: Canon, space: SpaceId, wanted: str, titled: Sequence[Titled], kinds: Sequence[type]
) -> list[Thing]:
    """Find items by the beginning of a later word of their names: Roke, Captain Roke."""
    inside = f" {wanted}"
    found: list[Thing] = [each for each in titled if any(inside in t for t in _titles(each))]
    if _asks(kinds, Entity):
        query = EntityQuery(
            spaces=frozenset((space,)),
            level=CanonLevel.CANON,
            name_pattern=wanted.replace("*", "").replace("%", ""),
            limit=PAGE_MAX,
        )
        page = await canon.state.entities(query)
        found += [e for e in page.items if any(inside in name for name in e.known_as)]
    return found


async def _entities(
    canon: Canon, space: SpaceId, keys: tuple[str, ...], *, begins: bool = False
) -> list[Entity]:
    if not keys:
        return []
    query = IdentifierQuery(
        spaces=frozenset((space,)), keys=keys, begins=begins, limit=CANDIDATES_MAX + 1
    )
    pages = await canon.state.entities_identified(query)
    return list({e.id: e for key in keys if key in pages for e in pages[key].items}.values())


async def _titled(canon: Canon, space: SpaceId, kinds: Sequence[type]) -> list[Titled]:
    """Return the newest scenes and the first stories and documents, as far as requested."""
    found: list[Titled] = []
    if _asks(kinds, Scene):
        scenes = SceneQuery(spaces=frozenset((space,)))
        found += reversed(await newest_match(canon.documents.scenes, scenes))
    if _asks(kinds, Story):
        found += (await canon.state.stories(space, limit=PAGE_MAX, offset=0)).items
    if _asks(kinds, Source):
        sources = (await canon.state.sources(space, limit=PAGE_MAX, offset=0)).items
        found += [each for each in sources if each.level is not CanonLevel.RETCONNED]
    return found


def _titles(thing: Titled) -> tuple[str, ...]:
    more = (thing.doc_id, thing.file_name or "") if isinstance(thing, Source) else ()
    return tuple(folded(each) for each in (thing.title, *more) if each)


async def _near(canon: Canon, space: SpaceId, named: str, kinds: Sequence[type]) -> list[str]:
    """Suggest names that are similar or share a word."""
    names = [each.title for each in await _titled(canon, space, kinds)]
    if _asks(kinds, Entity):
        query = EntityQuery(spaces=frozenset((space,)), level=CanonLevel.CANON, limit=PAGE_MAX)
        names += [each.name for each in (await canon.state.entities(query)).items]
    by_form = {folded(name): name for name in names if name}
    near = get_close_matches(folded(named[:300]), by_form, n=3, cutoff=0.6)  # long ones are slow
    words = frozenset(word for word in folded(named).split() if not is_stop_word(word))
    shared = [form for form in by_form if not words.isdisjoint(form.split())]
    numbered = set(_NUMBERS.findall(named))  # Chapter 9 is not a slip for Chapter 11
    alike = (e for e in dict.fromkeys((*near, *shared)) if numbered <= set(_NUMBERS.findall(e)))
    return [by_form[form] for form in alike][:_NEAR_MAX]


def _asks(kinds: Sequence[type], kind: type) -> bool:
    return not kinds or kind in kinds


def _kind(kind: type) -> str:
    name = THING_KINDS[kind]
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


# Find the entities that a text mentions.
#
# The longest of nested names counts. A part of a name, such as a first name, counts if it fits
# exactly one entity. A name that fits several entities links none of them and is reported.

CANDIDATES: Final = 10
_BEGINNING: Final = 3
"""The number of leading look-alike characters, with marks, that similar names share."""

_WORDS_NEAR: Final = 60
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
    written = names_written(text)
    keys = {each: part_mark(each.form) if each.part else each.form for each in written}
    pages = dict(await _identified(canon, space, dict.fromkeys(keys.values())))
    if of_records and (parts := {f"{e.form} ": keys[e] for e in written if e.part}):
        for form, page in (await _identified(canon, space, parts, begins=True)).items():
            pages.setdefault(parts[form], _people(page))
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
        bearers = _bearers(each, name, page.items, also, people)
        if not bearers:
            continue
        taken.append(each)
        if len(bearers) > 1:
            if len(bearers.keys() & found.keys()) == 1:  # its full name occurs in the text
                continue
            unclear[name] = [bearer or key for key, bearer in bearers.items()]
            continue
        [(key, bearer)] = bearers.items()
        found[key] = None if bearer is None else bearer.id
        if bearer is not None:
            spans.append((each.start, each.end, bearer.id))
    return Mentions(found=found, unclear=unclear, spans=spans)


async def find_near(canon: Canon, space: SpaceId, text: str) -> Sequence[Entity]:
    """Find entities with similar names, or names that share a word with the text."""
    words = [word for word in words_of_name(text).split()[:_WORDS_NEAR] if not is_stop_word(word)]
    pages = await _identified(canon, space, dict.fromkeys((*words, *map(part_mark, words))))
    near = {each.id: each for page in pages.values() for each in page.items}
    if not near and (name := unknown_name(text)) is not None:
        begun = look_mark(EntityType.CHARACTER, name)[:_BEGINNING]
        pages = await _identified(canon, space, (begun,), begins=True)
        begin = [each for page in pages.values() for each in page.items]
        near = {e.id: e for e in begin if get_close_matches(name, (e.name, *e.name.split()))}
    return list(near.values())[:CANDIDATES]


async def _identified(
    canon: Canon, space: SpaceId, keys: Iterable[str], *, begins: bool = False
) -> Mapping[str, Page[Entity]]:
    query = IdentifierQuery(
        spaces=frozenset((space,)), keys=tuple(keys), begins=begins, limit=CANDIDATES
    )
    return await canon.state.entities_identified(query) if query.keys else {}


def _people(page: Page[Entity]) -> Page[Entity]:
    people = [e for e in page.items if narrative_type(e.entity_type) is EntityType.CHARACTER]
    return Page(items=people, total=len(people))


def _bearers(
    each: WrittenName,
    written: str,
    entities: Sequence[Entity],
    also: Collection[str],
    people: Collection[str],
) -> dict[str, Entity | None]:
    """Map each name in the text to its entity; names that the caller supplied map to None."""
    entities = [e for e in entities if not _is_named_by_words(e)]
    if each.part:
        along = {name: None for name in people if is_part_of(each.form, name)}
        known = [e for e in entities if any(is_part_of(each.form, name) for name in e.known_as)]
        return {**along, **{e.id: e for e in known if along.keys().isdisjoint(e.known_as)}}
    if each.form in also:
        return {each.form: None}
    if each.small:
        entities = [e for e in entities if written in map(plain_signs, (e.name, *e.names))]
    called = [e for e in entities if folded(e.name) == each.form]
    called = called or [e for e in entities if each.form in e.known_as]
    called = called or [
        e for e in entities if each.form in {other_form(e.entity_type, name) for name in e.names}
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
_PLACES: Final = ("scene_id", "story_id", "universe_id")
"""Arguments whose universe supplies the calendar, in this order; else any other id."""


async def at_viewpoint(
    canon: Canon, caller: Caller, arguments: Mapping[str, Any], place: Thing | None
) -> Canon:
    """Return the canon as of the times in the arguments; `place` is any item of the space.

    Raises:
        InvalidInput: those of `valid_time` and `recorded_time`.
    """
    canon, known, view = canon.now or canon, arguments.get(AS_KNOWN_AT), Viewpoint()
    if isinstance(known, int) or (known is not None and _POSITION.fullmatch(known)):
        view = Viewpoint(known=Position(int(known)))
    elif known is not None:
        now = canon.clock.now()
        known_at = recorded_time(known, path="/as_known_at", end_of_day=True, now=now)
        view = Viewpoint(known_at=known_at)
    if (text := arguments.get(AT)) is not None:
        view = replace(view, **await _at(canon, caller, text, place))
    return narrowed(canon, view)


async def _at(canon: Canon, caller: Caller, text: str, place: Thing | None) -> Mapping[str, Any]:
    """Read a time, or the name or id of a scene."""
    try:
        at = await valid_time(canon, caller, text, place, path="/at", end_of_day=True)
    except InvalidInput:
        space = SpaceId("") if place is None else place.space
        try:
            scene = await find_named(canon, caller, space, text, (Scene,), path="/at")
        except (InvalidInput, NotFound):
            scene = None
        if not isinstance(scene, Scene):
            raise
        return {"at": moment_of(scene), "scene": scene}
    return {"at": moment_at(at)}


async def valid_time(
    canon: Canon,
    caller: Caller,
    text: str,
    place: Thing | None,
    *,
    path: str,
    end_of_day: bool | None = None,
) -> Instant:
    """Read a valid time: a date, RFC 3339, or words of the calendar at `place`.

    Raises:
        InvalidInput: as `in_words`.
    """
    if place is None or _DATE.fullmatch(text):
        return recorded_time(text, path=path, end_of_day=bool(end_of_day), now=canon.clock.now())
    return await in_words(
        canon, caller, place, lambda read: read(text, path), to_end=end_of_day, toward=-1
    )


def recorded_time(
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
    rough = read_roughly(text, GREGORIAN, RoughTime(start=now, toward=-1), path=path)
    begin, end = span_of(rough, GREGORIAN)
    return max(begin, Instant(end - 1)) if end_of_day else begin


async def place_of(canon: Canon, caller: Caller, arguments: Mapping[str, Any]) -> Thing | None:
    """Return the item whose space supplies the calendar of a call: the first that an id names."""
    others = [name for name in arguments if name.endswith("id") and name not in _PLACES]
    for name in (*_PLACES, *others):
        value = arguments.get(name)
        if isinstance(value, str) and is_uuid(value):
            return await canon.seen_by(caller).thing(value.lower())
    return None
