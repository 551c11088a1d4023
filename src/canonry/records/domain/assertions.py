"""Assertions of records, their keys, and the entities that they describe."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from canonry.log.items.entities import Entity, without_members
from canonry.log.items.sources import entity_id_of
from canonry.log.schemas.identity_keys import (
    BETWEEN,
    CONFUSABLE_MARK,
    CONTENT,
    KEY_MARK,
    IdentifierOwner,
    Identity,
    KeyReader,
    confusable_keys_in,
    content_identity,
    has_key_of,
    identities_of,
    key_mark,
    keys_of,
    label_of,
    rule_of,
    searchable_text,
    texts_in,
)
from canonry.log.schemas.narrative import NAME
from canonry.log.schemas.schemas import EntitySchema
from canonry.log.schemas.truth_types import similar_types
from canonry.log.schemas.typed_records import RecordReader, TypedRecord
from canonry.records.domain.snapshots import shown_by
from canonry.values.ids import EntityId
from canonry.values.moments import Instant
from canonry.values.observations import Accumulator, Fragment

# Assertions: the statement of one record about one entity, with all its keys.
#
# An assertion depends only on the record and its schema. It is read once, even if a commit is
# retried.

OTHER_DETAILS: Final = "same_key_other_details"
SEVERAL_FIT: Final = "several_fit"
CONFUSABLE_NAME: Final = "look_alike_name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """A warning for the sender of a record. It names fields and never values."""

    code: str
    message: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """A record as its schema reads it; `identities` are its keys, the strongest first.

    `keys` are the same keys in the form that entities store; `confusables` are confusable forms of
    its names. `sure` is false for a party that a record only names. `seen_at` is the record's own
    time.
    """

    user_id: str

    schema: EntitySchema
    typed: TypedRecord
    identities: tuple[Identity, ...]
    ids: tuple[EntityId, ...]
    keys: tuple[str, ...]
    confusables: frozenset[str]
    label: str
    path: str
    sure: bool = True
    refers_to: tuple[int, ...] = ()
    warnings: tuple[Warned, ...] = field(default=())
    seen_at: Instant | None = None

    @property
    def apart_id(self) -> EntityId | None:
        """The id for a new entity if another one with different details has the strongest key.

        It is computed on demand, because few records need one.
        """
        first = self.identities[0]
        if not first.apart:
            return None
        return entity_id_of(self.user_id, self.schema.entity_type, first.full_key)

    @property
    def unclear_id(self) -> EntityId:
        """The id if several entities have the strongest key. It depends on the whole content."""
        key = f"{self.identities[0].full_key}{BETWEEN}{content_identity(self.typed.everything).key}"
        return entity_id_of(self.user_id, self.schema.entity_type, key)

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields by their canonical names."""
        return self.typed.fields


def assertion_of(
    user_id: str,
    reader: RecordReader,
    record: Mapping[str, Any],
    path: str,
    *,
    unread: Mapping[str, Fragment] | None = None,
    sure: bool = True,
    refers_to: tuple[int, ...] = (),
    seen_at: Instant | None = None,
) -> Assertion:
    """Read a record; `unread` are values that an interpreter found unclear."""
    schema, typed = reader.schema, reader.read_record(record)
    if unread:
        fragments = {**unread, **typed.fragments}
        typed = replace(typed, fragments=fragments)
    everything = typed.everything
    found = reader.keys.read_identities(everything) or (content_identity(everything),)
    warnings = [*_read_warnings(typed, path)] if sure else []
    if found[0].rule == CONTENT:
        message = "The record has no identifier. Only a record with the same content matches it."
        warnings.append(Warned(code="identity.by-content", message=message, path=path))
    return Assertion(
        user_id=user_id,
        schema=schema,
        typed=typed,
        identities=found,
        ids=tuple([entity_id_of(user_id, schema.entity_type, each.key) for each in found]),
        keys=tuple([key_mark(each.key) for each in found]),
        confusables=confusable_keys_in(schema.entity_type, typed.fields),
        label=reader.naming.make_label(everything.get),
        path=path,
        sure=sure,
        refers_to=refers_to,
        warnings=tuple(warnings),
        seen_at=seen_at,
    )


def _read_warnings(typed: TypedRecord, path: str) -> list[Warned]:
    missing = [
        Warned(code="field.missing", message="A required field is missing.", path=f"{path}/{name}")
        for name in typed.missing
    ]
    kept = [
        Warned(
            code=f"field.{fragment.reason.replace('_', '-')}",
            message="The value is kept as a raw fragment.",
            path=f"{path}/{name}",
        )
        for name, fragment in sorted(typed.fragments.items())
    ]
    return missing + kept


# Keys of entities: all texts that find an entity, with their current status.
#
# A key is `current` if the snapshot has it, `shadowed` if only the entity or a merged member has it
# by itself, and `former` if no field has it any longer.


class KeyStatus(StrEnum):
    """The status of a key for its entity."""

    CURRENT = "current"
    SHADOWED = "shadowed"
    FORMER = "former"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityKey:
    """A text that finds an entity, with its owner, its status, and its identity rule if any."""

    key: str
    rule: str | None
    status: KeyStatus
    entity_id: EntityId


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """An entity with its merged members, and their current names: together, and each alone."""

    members: Sequence[Entity]
    combined_names: frozenset[str]
    separate_names: frozenset[str]

    def status_of(self, text: str) -> KeyStatus:
        """Return the status of a key of the family."""
        if text in self.combined_names:
            return KeyStatus.CURRENT
        return KeyStatus.SHADOWED if text in self.separate_names else KeyStatus.FORMER

    def list_keys(self) -> list[EntityKey]:
        """List each key once, current ones first, without keys of several fields."""
        found: dict[str, EntityKey] = {}
        for entity in self.members:
            for text in sorted(entity.borne):  # keys of identity rules sort first
                key_text = searchable_text(text)
                if text.startswith(CONFUSABLE_MARK) or BETWEEN in text:
                    continue
                rule = rule_of(text[1:]) if text.startswith(KEY_MARK) else None
                key = EntityKey(
                    key=key_text, rule=rule, status=self.status_of(key_text), entity_id=entity.id
                )
                if key_text not in found or (rule is not None and found[key_text].rule is None):
                    found[key_text] = key
        order = list(KeyStatus)
        return sorted(found.values(), key=lambda k: (order.index(k.status), k.rule or "~", k.key))


def make_family(
    root: Entity, members: Iterable[Entity], schemas: Mapping[str, EntitySchema]
) -> Family:
    """Return the family of an entity, shown by the schemas of its types."""
    everybody = (root, *members)
    called = frozenset(map(searchable_text, texts_in(root.entity_type, {NAME: root.name}, None)))
    return Family(
        members=everybody,
        combined_names=_found_today(root, schemas) | called,
        separate_names=frozenset[str]().union(
            *(_found_today(without_members(e), schemas) for e in everybody)
        ),
    )


def names_today(
    entity: Entity, schema: EntitySchema | None, instead: Mapping[str, Any] = MappingProxyType({})
) -> frozenset[str]:
    """Return the keys that the snapshot gives; fields in `instead` replace its own."""
    shown = shown_by(entity, schema)
    fields = {name: each.value for name, each in shown.fragments.items()}
    keys = None if schema is None else KeyReader(schema)
    return texts_in(entity.entity_type, {**fields, **shown.fields, **instead}, keys)


def _found_today(entity: Entity, schemas: Mapping[str, EntitySchema]) -> frozenset[str]:
    return frozenset(map(searchable_text, names_today(entity, schemas.get(entity.entity_type))))


# Resolving: find the entity that a record describes, and possible duplicates.
#
# Every entity that ever had a key is a candidate. If a key finds several, the next weaker key
# decides. If none decides, a new entity is made and the candidates are reported. Merged entities
# count as one candidate, but the record belongs to the member with its key.


@dataclass(slots=True, kw_only=True)
class Target:
    """An entity that records can describe: a known one, or one made from this source.

    `identifiers` are all its keys, also former ones. `fields` are the values from this source,
    `source_values` the sources' last values of corrected fields.
    """

    id: EntityId
    root_id: EntityId
    entity_type: str
    entity: Entity | None
    own: Accumulator
    fields: dict[str, Any] = field(default_factory=dict)
    identifiers: set[str] = field(default_factory=set)
    source_values: dict[str, Any] = field(default_factory=dict)

    def is_apart_from(self, assertion: Assertion, index: int) -> bool:
        """Return whether the record describes another entity, despite the common key at `index`.

        It does if the target has different keys of a stronger rule, or different details that the
        rule itself compares.
        """
        if _has_other_keys(self.identifiers, assertion, index):
            return True
        ours = assertion.identities[index]
        if not ours.apart:
            return False
        before = {} if self.entity is None else without_members(self.entity).properties
        values = {**before, **self.fields}
        # A document with the value that a user corrected is about the same entity.
        views = ({**values, **self.source_values}, values) if self.source_values else (values,)
        pairs = zip(assertion.identities, assertion.keys, strict=True)
        # A name that the target ever had contradicts none of its other names.
        agreed = {each.rule for each, key in pairs if key in self.identifiers} - {ours.rule}
        kind = self.entity_type
        return all(
            any(
                ours.contradicts(each, kind, agreed)
                for each in identities_of(assertion.schema, view)
                if each.rule == ours.rule
            )
            for view in views
        )


class Doubt(NamedTuple):
    """The reason of a possible duplicate, and the common key."""

    reason: str
    sign: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The entity of an assertion and the identity that decided; a new entity has no target.

    `doubts` are the other candidates with the reasons.
    """

    target: Target | None
    entity_id: EntityId
    index: int = 0
    doubts: Mapping[EntityId, Doubt] = field(default_factory=dict)

    @property
    def is_unclear(self) -> bool:
        """Return whether several entities fit equally well."""
        return any(each.reason == SEVERAL_FIT for each in self.doubts.values())


@dataclass(slots=True)
class Candidates:
    """The candidates for records, by id, by key and by confusable name.

    `others` share a key or a confusable name, but no record can describe them (see
    `find_clear_others`).
    """

    targets: dict[str, Target] = field(default_factory=dict)
    families: dict[EntityId, list[Target]] = field(default_factory=dict)
    by_text: dict[tuple[frozenset[str], str], dict[EntityId, Target]] = field(default_factory=dict)
    others: dict[str, list[IdentifierOwner]] = field(default_factory=dict)

    def add_target(self, target: Target) -> None:
        """Add a candidate."""
        self.targets[target.id] = target
        self.families.setdefault(target.root_id, []).append(target)
        self._index_texts(target, [text for text in target.identifiers if text[0] in _MARKS])

    def learn_keys(self, target: Target, assertion: Assertion) -> None:
        """Add the keys and confusable names of an assertion to the target."""
        target.fields |= assertion.fields
        target.identifiers.update(assertion.keys, assertion.confusables)
        self._index_texts(target, (*assertion.keys, *assertion.confusables))

    def owners_of(self, entity_type: str, text: str) -> Collection[Target]:
        """Return the candidates of similar types that ever had a key or confusable name."""
        return self.by_text.get((similar_types(entity_type), text), _NONE).values()

    def other_owners(self, entity_type: str, text: str) -> Sequence[IdentifierOwner]:
        """Return those of `others` of similar types that ever had a key or confusable name."""
        kinds = similar_types(entity_type)
        return [each for each in self.others.get(text, ()) if each.entity_type in kinds]

    def _index_texts(self, target: Target, texts: Iterable[str]) -> None:
        kinds = similar_types(target.entity_type)
        for text in texts:
            self.by_text.setdefault((kinds, text), {})[target.id] = target


_MARKS: Final = frozenset((KEY_MARK, CONFUSABLE_MARK))
_NONE: Final[Mapping[EntityId, Target]] = {}


def is_disowned(
    own: Accumulator, identifiers: Collection[str], assertion: Assertion, index: int
) -> bool:
    """Return whether the key that gave an entity its id was removed from it."""
    by_content = assertion.identities[index].rule == CONTENT  # entities do not store content keys
    return bool(own) and not by_content and assertion.keys[index] not in identifiers


def _has_other_keys(identifiers: Collection[str], assertion: Assertion, index: int) -> bool:
    """Return whether the keys of a stronger rule than that of the key at `index` differ.

    One common key of a rule is enough for that rule to agree.
    """
    rule, same, others = assertion.identities[index].rule, set[str](), set[str]()
    for stronger, key in zip(assertion.identities[:index], assertion.keys, strict=False):
        if stronger.rule != rule:
            (same if key in identifiers else others).add(stronger.rule)
    return any(has_key_of(identifiers, each) for each in others - same)


def find_clear_others(
    owners: Iterable[IdentifierOwner], assertions: Iterable[Assertion]
) -> Mapping[str, IdentifierOwner]:
    """Return owners of weaker keys that none of the records can describe."""
    leading: dict[str, list[tuple[Assertion, int]]] = {}
    for assertion in assertions:
        for index, key in enumerate(assertion.keys):
            leading.setdefault(key, []).append((assertion, index))
    return {
        each.id: each
        for each in owners
        if not each.members
        and all(
            _has_other_keys(each.borne, *a) for text in each.borne for a in leading.get(text, ())
        )
    }


def collect_candidates(
    entities: Iterable[Entity],
    others: Iterable[IdentifierOwner],
    assertions: Iterable[Assertion],
    source_values: Mapping[tuple[str, str], tuple[Any, Instant]],
) -> Candidates:
    """Collect stored entities as candidates; `source_values` come from corrected sources."""
    known = Candidates()
    asked = {text for each in assertions for text in (*each.keys, *each.confusables)}
    for other in others:
        for text in asked.intersection(other.borne):
            known.others.setdefault(text, []).append(other)
    for given in entities:
        known.add_target(target_of(given))
    for (entity_id, name), (value, _) in source_values.items():
        known.targets[entity_id].source_values[name] = value
    return known


def target_of(entity: Entity) -> Target:
    """Make a candidate of a stored entity."""
    return Target(
        id=entity.id,
        root_id=entity.merged_into or entity.id,
        entity_type=entity.entity_type,
        entity=entity,
        own=entity.own,
        identifiers=set(entity.borne),
    )


def resolve_assertion(known: Candidates, assertion: Assertion) -> Resolution:
    """Find the entity that the assertion describes."""
    doubts: dict[EntityId, Doubt] = {}
    wanted = assertion.schema.entity_type
    by_rule: dict[str, list[int]] = {}  # the strongest rule first
    for index, identity in enumerate(assertion.identities):
        by_rule.setdefault(identity.rule, []).append(index)
    for indexes in by_rule.values():
        fitting: dict[str, tuple[Target, int]] = {}
        for index in indexes:
            key = assertion.keys[index]
            for other in known.other_owners(wanted, key):
                if other.entity_type == wanted:
                    doubts[other.id] = Doubt(OTHER_DETAILS, key)
            for each in _possible_targets(known, assertion, index):
                if each.is_apart_from(assertion, index):
                    doubts.setdefault(each.root_id, Doubt(OTHER_DETAILS, key))
                else:
                    fitting.setdefault(each.id, (each, index))
        if not fitting:
            continue
        roots = {each.root_id for each, _ in fitting.values()}
        if len(roots) == 1:
            target = _choose_member(known, wanted, [each for each, _ in fitting.values()])
            first = indexes[0]
            others = {i: why for i, why in doubts.items() if first and i != target.root_id}
            _, index = fitting.get(target.id, (target, first))
            return Resolution(target=target, entity_id=target.id, index=index, doubts=others)
        doubts |= {e.root_id: Doubt(SEVERAL_FIT, assertion.keys[i]) for e, i in fitting.values()}
    return _resolve_unclear(known, assertion, doubts)


def _possible_targets(known: Candidates, assertion: Assertion, index: int) -> Sequence[Target]:
    """Return owners of the key that have the record's type, or a member of that type."""
    wanted = assertion.schema.entity_type
    found = {each.id: each for each in known.owners_of(wanted, assertion.keys[index])}
    held = known.targets.get(assertion.ids[index])
    if held is not None and not is_disowned(held.own, held.identifiers, assertion, index):
        found[held.id] = held  # the key gave its id, even if its observations are erased
    return [
        each
        for each in found.values()
        if each.entity_type == wanted
        or any(other.entity_type == wanted for other in known.families[each.root_id])
    ]


def _choose_member(known: Candidates, entity_type: str, fitting: Sequence[Target]) -> Target:
    """Choose the member of a family for a record: the owner of its key, else the survivor."""
    if len(fitting) == 1 and fitting[0].entity_type == entity_type:
        return fitting[0]
    root_id = fitting[0].root_id
    family = [each for each in known.families[root_id] if each.entity_type == entity_type]
    return min(family, key=lambda each: (each.id != root_id, each.id))


def _resolve_unclear(
    known: Candidates, assertion: Assertion, doubts: dict[EntityId, Doubt]
) -> Resolution:
    """Return a new entity, or the one that an equally ambiguous record made before."""
    taken = known.targets.get(assertion.ids[0])
    if taken is None:
        return Resolution(target=None, entity_id=assertion.ids[0], doubts=doubts)
    if taken.is_apart_from(assertion, 0):
        entity_id = assertion.apart_id or assertion.unclear_id
        again = known.targets.get(entity_id)
        if again is not None and again.is_apart_from(assertion, 0):
            entity_id = assertion.unclear_id
    elif is_disowned(taken.own, taken.identifiers, assertion, 0) or _is_known_better(
        assertion, taken
    ):
        entity_id = assertion.unclear_id
    else:
        entity_id = taken.id
    target = known.targets.get(entity_id)
    if target is None:
        return Resolution(target=None, entity_id=entity_id, doubts=doubts)
    others = {i: why for i, why in doubts.items() if i != target.root_id}
    return Resolution(target=target, entity_id=target.id, doubts=others)


def _is_known_better(assertion: Assertion, target: Target) -> bool:
    """Return whether the target has a key of a stronger rule than the record's strongest."""
    rules = ["+".join(map(label_of, each.fields)) for each in assertion.schema.identity]

    def rule_strength(rule: str) -> int:
        fits = (i for i, each in enumerate(rules) if f"{rule}+".startswith(f"{each}+"))
        return next(fits, len(rules))

    ours = rule_strength(assertion.identities[0].rule)
    return any(rule_strength(rule) < ours for rule in keys_of(target.identifiers))


def other_key_owners(
    known: Candidates, assertion: Assertion, root_id: EntityId
) -> Mapping[EntityId, Doubt]:
    """Return other owners of keys that the record adds to its entity."""
    entity_type, family = assertion.schema.entity_type, known.families.get(root_id, [])
    rules = [reason_of(each.rule) for each in assertion.identities]
    rules += [CONFUSABLE_NAME] * len(assertion.confusables)
    found: dict[EntityId, Doubt] = {}
    for text, reason in zip((*assertion.keys, *assertion.confusables), rules, strict=True):
        others = [e.root_id for e in known.owners_of(entity_type, text) if e.root_id != root_id]
        others += [each.id for each in known.other_owners(entity_type, text)]
        if others and not any(text in each.identifiers for each in family):
            for other in others:
                found.setdefault(other, Doubt(reason, text))
    return found


def reason_of(rule: str) -> str:
    """Return the reason code of a possible duplicate by a rule."""
    return f"same_{rule.replace('+', '_')}"
