"""Find whom a text mentions: the entities that are named in it, each surely or not at all.

Of names within names the longest counts. A part of a name, such as a first name, counts where it
fits exactly one. What several go by links none of them, and is told.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from canonry.canon.session.canon import Canon
from canonry.language.texts.stems import is_stop_word
from canonry.language.texts.written_names import (
    WrittenName,
    is_part_of,
    names_written,
    unknown_name,
    words_of_name,
)
from canonry.log.items.entities import Entity
from canonry.log.schemas.identifiers import look_mark, other_form, part_mark
from canonry.log.schemas.narrative_types import EntityType
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.state import IdentifierQuery
from canonry.values.ids import EntityId, SpaceId
from canonry.values.normal_forms import folded, plain_signs

CANDIDATES: Final = 10
_BEGINNING: Final = 3
"""Characters of what a name looks like, with its mark, in which those that are near it agree."""

_WORDS_NEAR: Final = 60
_NONE: Final[Page[Entity]] = Page(items=[], total=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentions:
    """Whom a text names, in its order: ids of entities, and names that the caller gave along.

    The latter have None. `unclear` are names, as written, with those that go by them.
    """

    found: Mapping[str, EntityId | None] = field(default_factory=dict)
    unclear: Mapping[str, Sequence[Entity | str]] = field(default_factory=dict)


async def find_mentioned(
    canon: Canon,
    space: SpaceId,
    text: str,
    also: Collection[str] = (),
    people: Collection[str] = (),
) -> Mentions:
    """Whom the text mentions.

    `also` are folded names that count as well, and whose bearers the caller knows; those of them
    that are `people` also count by a part.
    """
    written = names_written(text)
    keys = {each: part_mark(each.form) if each.part else each.form for each in written}
    pages = await _identified(canon, space, dict.fromkeys(keys.values()))
    plain = plain_signs(text)
    found: dict[str, EntityId | None] = {}
    unclear: dict[str, Sequence[Entity | str]] = {}
    taken: list[WrittenName] = []
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
            if len(bearers.keys() & found.keys()) == 1:  # named in full elsewhere in the text
                continue
            unclear[name] = [bearer or key for key, bearer in bearers.items()]
            continue
        [(key, bearer)] = bearers.items()
        found[key] = None if bearer is None else bearer.id
    return Mentions(found=found, unclear=unclear)


async def find_near(canon: Canon, space: SpaceId, text: str) -> Sequence[Entity]:
    """Those who share a word of their name with a text that names nobody, or are called alike."""
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


def _bearers(
    each: WrittenName,
    written: str,
    entities: Sequence[Entity],
    also: Collection[str],
    people: Collection[str],
) -> dict[str, Entity | None]:
    """Who goes by what is written, by what they are called; those given along have None."""
    if each.part:
        along = {name: None for name in people if is_part_of(each.form, name)}
        known = [e for e in entities if any(is_part_of(each.form, name) for name in e.known_as)]
        return {**along, **{e.id: e for e in known if along.keys().isdisjoint(e.known_as)}}
    if each.form in also:
        return {each.form: None}
    if each.small:
        entities = [e for e in entities if written in map(plain_signs, e.names)]
    called = [e for e in entities if folded(e.name) == each.form]
    called = called or [e for e in entities if each.form in e.known_as]
    called = called or [e for e in entities if each.form in _other_forms(e)]
    return {e.id: e for e in called}


def _other_forms(entity: Entity) -> set[str | None]:
    return {other_form(entity.entity_type, name) for name in entity.names}
