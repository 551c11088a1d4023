"""Attributes: everything that can be said of a subject, from a table of data.

`attributes.toml` beside this file describes the form of an entry. Operators add entries of the same
form to their policy.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from canonry.values.data_files import read_toml
from canonry.values.errors import InvalidInput
from canonry.values.statements import Phase, Statement


class ValueKind(StrEnum):
    """The kind of an attribute's values."""

    ENTITY = "entity"
    WORD = "word"
    QUANTITY = "quantity"
    TIME = "time"
    TEXT = "text"
    FLAG = "flag"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """A property of a subject, and the values that it takes.

    `cardinality` is the number of values at one time; None is any number. The values of a `fixed`
    attribute never change, those of an `always` one hold before they are stated, too. Two values
    of a `soft` one are a possible conflict at most, and one that begins ends the others of a
    `shifting` one. `relations` are relation types from subject to value, `inverse_relations` from
    value to subject. Values of an attribute with `containment` may lie in each other. At most one
    word of each group in `exclusive` holds at a time. `excludes` names attributes that cannot have
    the same value. A value ends the values of the attributes in `displaces`, as what is carried
    lies nowhere else. `rests_on` names the attributes of groups with which a value ends, as the
    offices of somebody who leaves do; `kinds` are those of the subjects that somebody has only as
    one of a group. `living` names the ends, `subject` or `value`, that must live and exist when
    the value begins. `words` has other words for a value. `implies` maps a value, or `*`, to what
    it says of another attribute. `regions` are the phrases of places in which others lie.
    Attributes of one `bond` never tie the same two. A point of time is not earlier than those of
    attributes in `after`, and not later than those in `before`.
    """

    name: str
    kind: ValueKind
    cardinality: int | None = None
    fixed: bool = False
    always: bool = False
    soft: bool = False
    shifting: bool = False
    relations: tuple[str, ...] = ()
    inverse_relations: tuple[str, ...] = ()
    symmetric: bool = False
    acyclic: bool = False
    containment: bool = False
    exclusive: tuple[tuple[str, ...], ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    excludes: frozenset[str] = frozenset()
    displaces: frozenset[str] = frozenset()
    living: frozenset[str] = frozenset()
    rests_on: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    implies: Mapping[str, str] = field(default_factory=dict)
    regions: frozenset[str] = frozenset()
    bond: str = ""
    after: frozenset[str] = frozenset()
    before: frozenset[str] = frozenset()

    def conflicting_words(self, value: str) -> frozenset[str]:
        """Return the words that cannot hold together with the word `value`."""
        groups = [group for group in self.exclusive if value in group]
        return frozenset(word for group in groups for word in group) - {value}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttributeTable:
    """All attributes, found by name, by relation type and by word."""

    attributes: Mapping[str, Attribute]
    families: Mapping[str, Attribute]
    by_relation: Mapping[str, tuple[Attribute, bool]]
    by_word: Mapping[str, tuple[Attribute, str]]

    def find_attribute(self, name: str) -> Attribute:
        """Return the attribute of that name; an unknown one takes any number of any values."""
        known = self.attributes.get(name) or self.families.get(name)
        if known is not None:
            return known
        family, divider, _ = name.partition(":")
        form = self.families.get(family) if divider else None
        return replace(form, name=name) if form else Attribute(name=name, kind=ValueKind.TEXT)

    def attribute_of_relation(self, relation_type: str) -> tuple[Attribute, bool]:
        """Return the attribute of a relation type, and whether the type runs value to subject.

        An unlisted type is an attribute of its own with any number of values.
        """
        known = self.by_relation.get(relation_type)
        return known or (self.find_attribute(f"relation:{relation_type}"), False)

    def attribute_of_word(self, word: str) -> tuple[Attribute, str] | None:
        """Return the attribute and the value that a word or a state tag means; None if unknown."""
        return self.by_word.get(" ".join(word.casefold().replace("_", " ").split()))


@lru_cache(maxsize=1)  # read from a file once: bench compare, start
def builtin_attributes() -> AttributeTable:
    """Return the attributes that come with the program."""
    return with_attributes({})


def with_attributes(extra: Mapping[str, Any]) -> AttributeTable:
    """Return the built-in attributes with an operator's entries, which replace those of their name.

    Raises:
        InvalidInput: `attribute.malformed`.
    """
    data = read_toml("canonry.values.attributes", "attributes.toml")
    families, opposites = extra.get("families", {}), extra.get("opposites", {"soft": ""})
    fits = isinstance(families, Mapping) and isinstance(opposites, Mapping)
    if not fits or [(each, type(text)) for each, text in opposites.items()] != [("soft", str)]:
        raise _malformed_attribute("families or opposites", ["families or opposites.soft"])
    soft = f"{data['opposites']['soft']}\n{opposites.get('soft', '')}"
    families = {**data["families"], **families}
    return _read_table({**data, **extra, "families": families, "opposites": {"soft": soft}})


IN_USE: Final[dict[str, AttributeTable]] = {}
"""The attributes in force in this process under `table`; if it is empty, the built-in ones."""


def current_attributes() -> AttributeTable:
    """Return the attributes in force."""
    return IN_USE.get("table") or builtin_attributes()


@lru_cache(maxsize=4096)  # one call asks 128 times: bench compare, propose
def find_attribute(name: str) -> Attribute:
    """Return the attribute of that name, or one that takes any number of values."""
    return current_attributes().find_attribute(name)


def attribute_of_relation(relation_type: str) -> tuple[Attribute, bool]:
    """Return a relation type's attribute, and whether the type runs from value to subject."""
    return current_attributes().attribute_of_relation(relation_type)


def attribute_of_word(word: str) -> tuple[Attribute, str] | None:
    """Return the attribute and the value that a word or a state tag means."""
    return current_attributes().attribute_of_word(word)


def _read_table(data: Mapping[str, Any]) -> AttributeTable:
    families = {
        name: _read_attribute(name, form) for name, form in data.get("families", {}).items()
    }
    forms = {k: v for k, v in data.items() if k not in {"families", "opposites"}}
    attributes = {one.name: one for one in _read_opposites(data["opposites"]["soft"])}
    attributes |= {name: _read_attribute(name, form) for name, form in forms.items()}
    for name, entry in attributes.items():  # the places of one attribute can be those of another
        lender = attributes.get("".join(entry.regions).removeprefix("~"), entry)
        attributes[name] = replace(entry, regions=lender.regions or entry.regions)
    for entry in [*attributes.values()]:
        for other in (attributes[name] for name in entry.excludes if name in attributes):
            attributes[other.name] = replace(other, excludes=other.excludes | {entry.name})
        for other in (attributes[name] for name in entry.after if name in attributes):
            attributes[other.name] = replace(other, before=other.before | {entry.name})
    words = {
        word.replace("_", " "): (entry, value)
        for entry in attributes.values()
        for value, others in (
            *((one, one) for group in entry.exclusive for one in group),
            *entry.words.items(),
        )
        for word in others.split()
    }
    relations = {
        relation: (entry, inverse)
        for entry in attributes.values()
        for inverse, types in ((False, entry.relations), (True, entry.inverse_relations))
        for relation in types
    }
    return AttributeTable(
        attributes=attributes, families=families, by_relation=relations, by_word=words
    )


_WRITTEN: Final = {
    "cardinality": "at_most",
    "inverse_relations": "inverse",
    "containment": "contained",
}
"""The members of an entry that have another name in `Attribute`."""

_FIELDS: Final = {_WRITTEN.get(one.name, one.name): one for one in fields(Attribute)[1:]}
"""The fields of an attribute by the members of an entry."""

_GROUPS: Final = tuple[tuple[str, ...], ...]
_READERS: Final[Mapping[Any, Callable[[Any], Any]]] = {
    ValueKind: ValueKind,
    tuple[str, ...]: tuple,
    frozenset[str]: lambda members: frozenset(
        members if isinstance(members, list) else (f"~{each}" for each in members.split())
    ),
    _GROUPS: lambda groups: tuple(tuple(group) for group in groups),
}
"""The readers of an entry's members, by their type; a text has the phrases of places."""


def _is_written(value: Any, form: Any) -> bool:
    """Return whether a member of an entry is written as its type is."""
    if isinstance(value, list):
        inner = tuple[str, ...] if form == _GROUPS else str
        listed = str(form).startswith(("tuple", "frozenset"))
        return listed and all(_is_written(each, inner) for each in value)
    if isinstance(value, dict):
        return form == Mapping[str, str] and all(isinstance(each, str) for each in value.values())
    plain = {int | None: int, frozenset[str]: str, ValueKind: str}.get(form, form)
    known = form is not ValueKind or value in set(ValueKind)
    return type(value) is plain and known and (plain is not int or value > 0)


def _malformed_attribute(name: str, wrong: Iterable[object]) -> InvalidInput:
    return InvalidInput(
        "attribute.malformed",
        f"Attribute {name!r} needs a kind ({', '.join(ValueKind)}), and its members are among"
        f" {', '.join(sorted(_FIELDS))}. Wrong: {', '.join(map(str, wrong)) or 'kind'}."
        ' For example: [mood] with kind = "word" and at_most = 1.',
    )


def _read_attribute(name: str, form: Any) -> Attribute:
    members = form if isinstance(form, Mapping) else {}
    types: dict[str, Any] = {each: one.type for each, one in _FIELDS.items()}
    wrong = [each for each, value in members.items() if not _is_written(value, types.get(each))]
    if wrong or "kind" not in members:
        raise _malformed_attribute(name, wrong)
    read = {_FIELDS[one].name: _READERS.get(types[one], copy)(members[one]) for one in members}
    return Attribute(name=name, **read)


def split_sides(text: str) -> list[list[list[str]]]:
    """Read adjectives of one meaning, `|`, and those of the opposite, on each line."""
    text_lines = filter(str.strip, text.splitlines())
    return [[side.split() for side in text_line.split("|")] for text_line in text_lines]


def _read_opposites(text: str) -> Iterator[Attribute]:
    for sides in split_sides(text):
        if not all(sides) or len(sides) == 1:
            raise _malformed_attribute("opposites", sides)
        words = {side[0]: " ".join(side) for side in sides}
        form = {"kind": "word", "at_most": 1, "soft": True, "exclusive": [[*words]], "words": words}
        yield _read_attribute(f"quality:{sides[0][0]}", form)


def implied_by(statement: Statement, after: tuple[str, ...] = ()) -> Iterator[Statement]:
    """Yield what follows from a statement by `implies`, through each attribute `after` once.

    A spouse of somebody is married, and a mother is a parent, who is older than the child.
    """
    entry = find_attribute(statement.attribute)
    value = statement.value if isinstance(statement.value, str) else ""
    plain = statement.holds and not statement.quantifier
    if not plain or (statement.phase is Phase.ENDS and entry.cardinality != 1):
        return
    for implied in (entry.implies.get(value) or entry.implies.get("*", "")).split():
        name, _, what = implied.rpartition(":")
        who, other = (value, what[1:]) if what[:1] == "<" else (statement.subject, what)
        if "@@" in what or not who:
            continue
        other = other.replace("@", value) or statement.subject
        followed = replace(statement, subject=who, attribute=name, value=other, implied=True)
        yield followed
        yield from (
            () if name in after else implied_by(followed, (*after, statement.attribute, name))
        )
        if entry.symmetric and what != "@":
            yield replace(followed, subject=value)


def statements_of_tag(entity_id: str, tag: str, *, holds: bool) -> tuple[Statement, ...]:
    """Return what a state tag says of an entity; none if no attribute knows the tag."""
    known = attribute_of_word(tag)
    if known is None:
        return ()
    phase = Phase.IS if holds else Phase.ENDS
    said = Statement(subject=entity_id, attribute=known[0].name, value=known[1], phase=phase)
    return (said, *(implied_by(said) if holds else ()))


@lru_cache(maxsize=4)  # built from the whole table: bench compare, propose
def exclusive_words(table: AttributeTable) -> tuple[tuple[str, ...], ...]:
    """Return the groups of words of which one holds at a time, of attributes that are not soft."""
    return tuple(
        group
        for entry in table.attributes.values()
        if entry.kind is ValueKind.WORD and not entry.soft and not entry.fixed
        for group in entry.exclusive
    )
