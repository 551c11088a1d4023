"""Find items by what people call them: with an article or a possessive, or by an office."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from canonry.canon.session.canon import Canon
from canonry.canon.session.paging import newest_match
from canonry.canon.session.viewpoint import items_at_viewpoint
from canonry.language.reading.reading import read_statements
from canonry.language.texts.sentences import plain_statement
from canonry.language.texts.stems import WORDS
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Fact
from canonry.log.schemas.narrative import PROPERTY_PREFIX, policy_of
from canonry.readmodels.ports.state import EntityQuery, FactQuery, RelationQuery
from canonry.values.attributes.table import find_attribute
from canonry.values.ids import SpaceId
from canonry.values.json_values import fold_text
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
    yield from (one for one in offices if _ASKED in {one.subject, one.value})


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
            elif said.attribute == one.attribute and _covers(one.value, said.value):
                yield said.subject
    if not fact.statements:  # the reader leaves out what is said in the first person
        words = plain_statement(fact.statement).split()
        plain = " ".join(word for word in words if word not in {*ARTICLES, *_OWN})
        for each in fact.involved:
            called = map(plain_statement, names.get(each, ()))
            pairs = [pair for name in called for pair in ((name, bare), (bare, name))]
            yield from [each for a, b in pairs for be in _COPULAS if f"{a} {be} {b}" == plain]


def _covers(one: Any, other: Any) -> bool:
    """Return whether a phrase has all words of another one."""
    return {*str(one).split()} <= {*str(other).split()}


def _offices(entity: Entity) -> set[str]:
    """Return the offices that the type and the fields of an entity name."""
    shown = {n.removeprefix(PROPERTY_PREFIX): policy_of(n).show(e) for n, e in entity.own.items()}
    fields = (shown.get(name) for name in _FIELDS)
    return {fold_text(each) for each in (entity.shown_type, *fields) if isinstance(each, str)}
