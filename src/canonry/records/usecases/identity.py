"""Identity of records: identifiers, aliases, merges and possible duplicates."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, islice
from typing import Any, Final, TypeAlias

from canonry.canon.judging.known_items import Backing, make_relation
from canonry.canon.session import lookup
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    audience_for,
    commit_change,
    first_made,
    require_standing,
)
from canonry.canon.session.paging import OF_RECORD, every_match, run_aside
from canonry.canon.session.traversal import separate_entities
from canonry.log.entries import EntitiesMerged, EntitiesUnmerged, Entry, KeysDisowned, Made
from canonry.log.folding import item_key, relations_key, schemas_key
from canonry.log.items.entities import Entity, family_of, without_members
from canonry.log.items.facts import Relation, RelationDraft
from canonry.log.schemas import identity_keys
from canonry.log.schemas.narrative import PROPERTY_PREFIX
from canonry.log.schemas.schemas import ACYCLIC, EntitySchema
from canonry.log.schemas.truth_types import PLURALS, similar_types, type_named
from canonry.readmodels.ports.state import IdentifierQuery, RelationQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.records.domain import assertions
from canonry.records.domain.interpretations import NAME_MAX
from canonry.records.usecases.corrections import make_user_observation, source_of_statement
from canonry.records.usecases.record_entities import Duplicate, SideEvidence
from canonry.records.usecases.records import first_entities
from canonry.records.usecases.relationships import leads_to
from canonry.records.usecases.schemas import schemas_for
from canonry.records.usecases.snapshots import find_addressed
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.ids import EntityId, NewId, RelationId, SpaceId
from canonry.values.json_values import fold_text
from canonry.values.moments import Instant
from canonry.values.observations import LAST, Held, Observation
from canonry.values.provenance import Authority

# Edit aliases: add and remove names and addresses of an entity.
#
# An addition is an ordinary observation, to which later sources can add. A removal makes the list
# a correction by the user, and the removed text no longer finds the entity.

EDITED_MAX: Final = 100
"""The most names that one call adds or removes."""

_ONE_OF: Final = {several: one for one, several in PLURALS.items()}


async def edit_aliases(
    canon: Canon,
    caller: Caller,
    user_id: str | None,
    entity_id: str,
    name: str,
    *,
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
) -> Entity:
    """Edit a list of an entity and return the survivor.

    `name` is a list field: `aliases`, `emails` or `phones`. A removed text is removed from the keys
    of the named entity and of the entities merged into it, too.

    Raises:
        InvalidInput: `user.mismatch`, `alias.field`, `alias.empty`, `alias.too-long`,
            `alias.too-many`, `alias.current` or `alias.unknown`.
        NotFound: `entity.unknown`.
    """
    account, inner = lookup.require_account(caller, user_id), lookup.within_account(caller)
    _require_sound(add=add, remove=remove)

    async def prepare_change(_: NewId) -> Change:
        root = await lookup.require_item(canon, inner, Entity, entity_id)
        entity = await find_addressed(canon, root, entity_id)
        items = await canon.space_scope(account.space).items_by_id(entity.members)
        members = [each for each in items.values() if isinstance(each, Entity)]
        schemas = await schemas_for(canon, account, (entity, *members))
        work = _AliasEdit(
            account=account, name=name, add=add, remove=remove, entity=entity, schemas=schemas
        )
        entries = (*work.list_entries(), *work.key_removals(members))
        ids = (root.id, entity.id, *entity.members)
        types = (schemas_key(account.space, each) for each in schemas)
        return Change(entries=entries, reads=frozenset((*map(item_key, ids), *types)))

    await commit_change(canon, inner, account.space, prepare_change)
    return await lookup.require_item(canon, inner, Entity, entity_id)


@dataclass(slots=True, kw_only=True)
class _AliasEdit:
    """An edit of an entity; `kept` is its new list, `gone` the removed texts."""

    account: lookup.Account
    name: str
    add: Sequence[str]
    remove: Sequence[str]
    entity: Entity
    schemas: Mapping[str, EntitySchema]
    held: Held | None = field(init=False)
    kept: list[str] = field(init=False)
    gone: set[str] = field(init=False)

    def __post_init__(self) -> None:
        """Read the current list and apply the removals."""
        schema, name = self.schemas.get(self.entity.entity_type), self.name
        if schema is None or (self.add and schema.find_field(name) is None):
            message = (
                f"Entities of type {self.entity.entity_type} have no {name}. Register a schema "
                f"with the field {name}."
            )
            raise InvalidInput("alias.field", message, path="/field")
        elements = without_members(self.entity).snapshot.get(PROPERTY_PREFIX + name, {})
        self.held = elements.get(LAST)
        shown = [] if self.held is None else schema.policy_of(name).show(elements)
        unwanted = {asked for each in self.remove for asked in self._text_forms(each)}
        self.gone = {each for each in shown if unwanted & self._text_forms(each)}
        self.kept = [each for each in shown if each not in self.gone]

    def _text_forms(self, text: str) -> set[str]:
        """Return the normalized forms of a text; texts with a common form are the same."""
        one, kind = _ONE_OF[self.name], self.entity.entity_type
        address = None if one == "name" else identity_keys.normal_value(kind, one, text)
        return {fold_text(text), address or fold_text(text)}

    def list_entries(self) -> Iterator[Entry]:
        """Yield the observation of the new list and its source; nothing if it is unchanged."""
        known = {form for each in self.kept for form in self._text_forms(each)}
        new = [each.strip() for each in self.add if not known & self._text_forms(each)]
        if not new and not self.gone:
            return
        held, name = self.held, self.name
        own_list = bool(self.gone) or (held is not None and held.is_correction)
        value = [*self.kept, *new] if own_list else new
        self.kept += new
        follows = "" if held is None else held.observation
        source = source_of_statement(self.account, self.entity, name, value, follows)
        schema = self.schemas[self.entity.entity_type]
        yield Made(thing=source)
        ours = (self.entity, schema.version, name, value, source)
        yield Made(thing=make_user_observation(*ours, follows=follows, correction=own_list))

    def key_removals(self, members: Sequence[Entity]) -> Iterator[Entry]:
        """Yield the removals of keys from the entity and its members.

        Raises:
            InvalidInput: `alias.current` or `alias.unknown`.
        """
        wanted = {form for each in self.remove for form in identity_keys.possible_forms(each)}
        current: set[str] = set()
        found = bool(self.gone)
        for one in (self.entity, *members) if wanted else ():
            instead = {self.name: self.kept} if one is self.entity else {}
            schema = self.schemas.get(one.entity_type)
            today = assertions.names_today(without_members(one), schema, instead)
            current_keys = set(map(identity_keys.searchable_text, today))
            current |= current_keys & wanted
            confusables = {identity_keys.confusable_key(one.entity_type, e) for e in self.remove}
            gone = [
                text
                for text in one.borne
                if text not in today
                and (
                    text in confusables
                    or (
                        identity_keys.searchable_text(text) in wanted
                        and identity_keys.searchable_text(text) not in current_keys
                    )
                )
            ]
            if gone:
                found = True
                yield KeysDisowned(entity_id=one.id, keys=tuple(gone))
        if wanted and not found and current:
            message = "A field has this value now. Correct the field first, then remove the key."
            raise InvalidInput("alias.current", message, path="/remove")
        if wanted and not found:
            message = "The entity has no such alias or key. Its snapshot lists its keys."
            raise InvalidInput("alias.unknown", message, path="/remove")


def _require_sound(**lists: Sequence[str]) -> None:
    for name, texts in lists.items():
        if len(texts) > EDITED_MAX:
            message = f"/{name} has {len(texts)} items; the limit is {EDITED_MAX}."
            raise InvalidInput("alias.too-many", message, path=f"/{name}", limit=EDITED_MAX)
        for index, text in enumerate(texts):
            path = f"/{name}/{index}"
            if not fold_text(text):
                raise InvalidInput("alias.empty", f"{path} is empty. Write a text.", path=path)
            if len(text) > NAME_MAX:
                message = f"{path} has {len(text)} characters; the limit is {NAME_MAX}."
                raise InvalidInput("alias.too-long", message, path=path, limit=NAME_MAX)


async def families_of(
    canon: Canon, account: lookup.Account, entities: Sequence[Entity]
) -> Mapping[EntityId, assertions.Family]:
    """Return each entity's family: the entities merged into it, and their current names."""
    ids = {member for each in entities for member in each.members}
    spaces = {each.space for each in entities}
    found = await canon.space_scope(*spaces).items_by_id(ids) if ids else {}
    members = {i: e for i, e in found.items() if isinstance(e, Entity)}
    schemas = await schemas_for(canon, account, (*entities, *members.values()))
    return {
        each.id: assertions.make_family(
            each,
            [members[member] for member in each.members if member in members],
            schemas if each.space == account.space else {},
        )
        for each in entities
    }


# Find by identifier: entities with a name, number or address, then those where one begins with it.
#
# The text is literal. There are no wildcards.

FOUND_MAX: Final = 100  # each match is compared: bounds the time of a call
_BEGINNING_MIN: Final = 2  # the shortest text that is matched as a beginning


async def find_by_identifier(
    canon: Canon, caller: Caller, identifier: str, entity_type: str | None
) -> tuple[Sequence[Entity], Mapping[EntityId, assertions.KeyStatus], bool]:
    """Find up to 100 entities: by the exact text, by its other forms, by its beginning.

    Also return the status of the identifier for exact matches, and whether there are more.
    """
    spaces = await lookup.readable_spaces(canon, caller)
    wanted = None if entity_type is None else type_named(entity_type)
    keys = identity_keys.possible_forms(identifier)
    found: dict[EntityId, Entity] = {}
    named: dict[EntityId, str] = {}
    more = False
    beginning = fold_text(identifier)
    begun = (beginning,) if len(beginning) >= _BEGINNING_MIN else ()
    for texts, begins in ((keys, False), (begun, True)):
        if not texts or len(found) >= FOUND_MAX:
            continue
        query = IdentifierQuery(
            spaces=spaces, keys=texts, entity_type=wanted, begins=begins, limit=FOUND_MAX
        )
        pages = await canon.state.entities_identified(query)
        for key in pages if begins else [each for each in keys if each in pages]:
            new = {each.id: each for each in pages[key].items if each.id not in found}
            found |= new
            named |= {} if begins else dict.fromkeys(new, key)
            more = more or pages[key].total > FOUND_MAX
    more = more or len(found) > FOUND_MAX
    entities = tuple(found.values())[:FOUND_MAX]
    families = await families_of(
        canon, lookup.account_of(caller), [e for e in entities if e.id in named]
    )
    return entities, {i: families[i].status_of(named[i]) for i in families}, more


# Keep apart: a relation states that two similar entities are different.
#
# Each pair has one such relation. It can be ended like any other.

DIFFERENT_FROM: Final = "DIFFERENT_FROM"
"""The type of the relation between two different entities."""


async def keep_apart(
    canon: Canon, caller: Caller, one_id: str, other_id: str, *, reason: str, authority: Authority
) -> RelationId:
    """State that two entities are different; return an existing relation unchanged.

    Raises:
        NotFound: `entity.unknown`.
        Conflict: `space.foreign`, `entity.retconned` or `entity.already-merged`.
    """
    space = (await lookup.require_item(canon, caller, Entity, one_id)).space

    async def prepare_change(new_id: NewId) -> Change[Relation | None]:
        one, other = await lookup.require_all(canon, caller, Entity, (one_id, other_id))
        lookup.require_same_space(one.space, [other], path="/of")
        require_standing(one, other)
        if one.id == other.id:
            message = (
                "Both are one entity, because one was merged into the other. Separate it first."
            )
            raise Conflict("entity.already-merged", message, conflicts=[one.id])
        ids = frozenset((one_id, other_id, one.id, other.id))
        reads = frozenset(key(each) for key in (item_key, relations_key) for each in ids)
        for each in await _different_relations(canon, space, family_of(one)):
            if {each.from_id, each.to_id} & family_of(other):
                return Change(entries=(), reads=reads, found=each)
        audience = await audience_for(canon, (one.id, other.id), None)
        backing = Backing(space=space, authority=authority, confidence=1.0, evidence=())
        made = make_relation(
            new_id,
            backing,
            rel_type=DIFFERENT_FROM,
            from_id=one.id,
            to_id=other.id,
            properties={"reason": reason} if reason else {},
            since=None,
        )
        return Change(entries=(made,), reads=reads, audience=audience, found=None)

    receipt = await commit_change(canon, caller, space, prepare_change)
    return receipt.found.id if receipt.found else first_made(receipt, RelationDraft).id


async def _different_relations(
    canon: Canon, space: SpaceId, about: frozenset[EntityId]
) -> Sequence[Relation]:
    query = RelationQuery(
        spaces=frozenset((space,)), entities=about, rel_type=DIFFERENT_FROM, current=True
    )
    return [each async for each in every_match(canon.state.relations, query)]


EVIDENCE_MAX: Final = 50
"""The number of newest observations of each side that are searched for evidence."""


async def evidence_for(
    canon: Canon, account: lookup.Account, pairs: Sequence[Duplicate]
) -> Sequence[Duplicate]:
    """Return the pairs in their order, each with its evidence."""
    ids = {i for each in pairs for i in (each.entity_id, each.candidate_id)}
    found = await canon.space_scope(account.space).items_by_id(ids)
    sides = {}
    entities = {i: e for i, e in found.items() if isinstance(e, Entity)}
    schemas = await schemas_for(canon, account, entities.values())
    readers = {kind: identity_keys.KeyReader(schema) for kind, schema in schemas.items()}
    for entity_id, entity in entities.items():
        page = await canon.state.observations_newest(
            sorted(family_of(entity)), limit=EVIDENCE_MAX, offset=0
        )
        sides[entity_id] = (entity, readers.get(entity.entity_type), page.items)
    return [
        replace(
            pair, evidence=tuple(_side_evidence(*sides[i], pair.sign) for i in ids if i in sides)
        )
        for pair in pairs
        for ids in [(pair.entity_id, pair.candidate_id)]
    ]


def _side_evidence(
    entity: Entity, keys: identity_keys.KeyReader | None, seen: Sequence[Observation], sign: str
) -> SideEvidence:
    """Return the evidence from the newest observation that has the shared sign."""
    for each in seen:
        values = identity_keys.observed_fields(each, keys)
        if sign in identity_keys.texts_in(entity.entity_type, values, keys):
            return SideEvidence(
                entity_id=entity.id,
                fields=_evidence_fields(entity.entity_type, keys, values, sign),
                observation_id=each.id,
                source_id=each.source_id,
            )
    return SideEvidence(entity_id=entity.id, fields={})


def _evidence_fields(
    kind: str, keys: identity_keys.KeyReader | None, values: Mapping[str, Any], sign: str
) -> Mapping[str, Any]:
    """Return the fields that give the sign: single fields, or those of an identity rule."""
    labels = identity_keys.rule_of(sign.removeprefix(identity_keys.KEY_MARK)).split("+")
    if keys is None or not sign.startswith(identity_keys.KEY_MARK) or len(labels) == 1:
        alone = {
            n: v for n, v in values.items() if sign in identity_keys.texts_in(kind, {n: v}, keys)
        }
        if alone or keys is None:
            return alone
    asked = (
        a
        for rule in keys.schema.identity
        for a in (*rule.fields, *rule.optional)
        if identity_keys.label_of(a) in labels
    )
    names = {name for each in asked for name in identity_keys.fields_of_rule(each)}
    return {name: value for name, value in values.items() if name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """The entities of a merge, unmerge or split, the number of observations, and the time."""

    from_id: EntityId
    to_id: EntityId
    observations: int
    at: Instant
    warnings: tuple[assertions.Warned, ...] = ()


async def merge_records(
    canon: Canon, caller: Caller, user_id: str | None, *, from_id: str, to_id: str, reason: str
) -> MergeResult:
    """Merge `from_id`, and the entities merged into it, into the survivor of `to_id`.

    Raises:
        InvalidInput: `user.mismatch`, `merge.itself` or `merge.types`.
        NotFound: `entity.unknown`.
        Conflict: `entity.already-merged`.
    """
    account, inner = lookup.require_account(caller, user_id), lookup.within_account(caller)

    async def prepare_change(_: NewId) -> Change[tuple[int, tuple[assertions.Warned, ...]]]:
        to = await lookup.require_item(canon, inner, Entity, to_id)
        from_ = await lookup.require_itself(canon, inner, from_id)
        _require_mergeable(from_, to)
        entry = EntitiesMerged(kept=to.id, merged=from_.id, members=from_.members, reason=reason)
        ids = (to_id, to.id, from_.id, *to.members, *from_.members)
        reads = frozenset(map(item_key, ids))
        warnings = await _cycle_warnings(canon, from_, to)
        return Change(entries=(entry,), reads=reads, found=(from_.observed.count, warnings))

    receipt = await commit_change(canon, inner, account.space, prepare_change)
    entry = next(e for e in receipt.entries if isinstance(e, EntitiesMerged))
    count, warnings = receipt.found or (None, ())
    if count is None:  # an earlier call with this idempotency key did it
        count = (await lookup.require_itself(canon, inner, entry.merged)).sightings.count
    return MergeResult(
        from_id=entry.merged,
        to_id=entry.kept,
        observations=count,
        at=receipt.recorded_at,
        warnings=warnings,
    )


async def _cycle_warnings(canon: Canon, from_: Entity, to: Entity) -> tuple[assertions.Warned, ...]:
    """Warn of relations that become cycles by the merge. They do not prevent it."""
    query = RelationQuery(
        spaces=frozenset((to.space,)),
        entities=family_of(from_) | family_of(to),
        direction="out",
        current=True,
    )
    types = {each.rel_type async for each in every_match(canon.state.relations, query)}
    return tuple(
        [
            assertions.Warned(
                code="relationship.cycle",
                message=f"The merged entities are connected by {rel_type}, which is now a cycle. "
                "If they are not one, undo the merge.",
                path="/to_entity_id",
            )
            for rel_type in sorted(types & ACYCLIC)
            if (await leads_to(canon, rel_type, from_, to))[0]
            or (await leads_to(canon, rel_type, to, from_))[0]
        ]
    )


async def unmerge_records(
    canon: Canon, caller: Caller, user_id: str | None, entity_id: str, *, reason: str
) -> MergeResult:
    """Undo a merge: separate the entity with those that had been merged into it before.

    Raises:
        InvalidInput: `user.mismatch`.
        NotFound: `entity.unknown`.
        Conflict: `entity.not-merged`.
    """
    account, inner = lookup.require_account(caller, user_id), lookup.within_account(caller)

    async def prepare_change(_: NewId) -> Change:
        gone = await lookup.require_itself(canon, inner, entity_id)
        if gone.merged_into is None:
            message = "This entity was not merged into another one. Name the one that was."
            raise Conflict("entity.not-merged", message, conflicts=[gone.id])
        kept = await lookup.require_item(canon, inner, Entity, gone.merged_into)
        return separate_entities(gone, kept, reason)

    receipt = await commit_change(canon, inner, account.space, prepare_change)
    entry = next(e for e in receipt.entries if isinstance(e, EntitiesUnmerged))
    gone = await lookup.require_itself(canon, inner, entry.separated)
    return MergeResult(
        from_id=gone.id, to_id=entry.kept, observations=gone.observed.count, at=receipt.recorded_at
    )


def _require_mergeable(from_: Entity, to: Entity) -> None:
    if from_.merged_into is not None:
        message = "The duplicate was merged into another entity before. Undo that merge first."
        raise Conflict("entity.already-merged", message, conflicts=[from_.id])
    if from_.id == to.id:
        message = "An entity cannot be merged into itself. Name two different entities."
        raise InvalidInput("merge.itself", message, path="/to_entity_id")
    if from_.entity_type not in similar_types(to.entity_type):
        message = (
            f"A {from_.entity_type} cannot be merged into a {to.entity_type}. Both must have one "
            "type, or be a person and a contact."
        )
        raise InvalidInput("merge.types", message, path="/to_entity_id")


_SIMILAR_NAME: Final = ""
"""Stands for confusable names in place of an identity rule."""

_SimilarPair: TypeAlias = tuple[Entity, Entity, str, str]
"""Two entities, the lesser id first, with the rule and the sign that both have."""

COMPARED_MAX: Final = 5_000
"""The most entities of an account that are compared."""

PAIRS_MAX: Final = 10_000
"""The most pairs that are found. A thousand entities of one name have half a million."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicates:
    """A page of pairs in the order of their ids, and the number of pairs found.

    `truncated` if a limit was reached; a query for one entity or type finds more.
    """

    pairs: Sequence[Duplicate]
    total: int
    truncated: bool


async def duplicates_within(
    canon: Canon,
    caller: Caller,
    account: lookup.Account,
    *,
    entity_id: str | None = None,
    entity_type: str | None = None,
    limit: int = 100,
    offset: int = 0,
    compared: int = COMPARED_MAX,
) -> Duplicates:
    """Find a page of the possible duplicates within an account or a space that the caller may read.

    A query for one entity compares it with all others that share a key; else `compared` entities
    are compared.

    Raises:
        NotFound: `entity.unknown`.
    """
    about = None
    wanted = None if entity_type is None else type_named(entity_type)
    if entity_id is not None:
        (about,) = await lookup.require_readable(canon, caller, Entity, (entity_id,))
        wanted = about.entity_type
    types: Iterable[str | None] = (None,) if wanted is None else sorted(similar_types(wanted))
    entities, more = await first_entities(canon, account, types, compared)
    if about is not None:
        near = await _entities_near(canon, account, about)
        entities = list({each.id: each for each in (*entities, about, *near)}.values())
    signs = await _signs_of(canon, account, entities)
    weight = len(entities) * OF_RECORD
    # The pairs of these entities that are kept apart, each with the lesser id first.
    root = {member: each.id for each in entities for member in family_of(each)}
    relations = await _different_relations(canon, account.space, frozenset())
    ends = ((root.get(each.from_id, ""), root.get(each.to_id, "")) for each in relations)
    two = frozenset((min(pair), max(pair)) for pair in ends)

    pairs, cut = await run_aside(
        weight,
        lambda: _first_pairs(
            chain(_same_sign_pairs(signs, wanted, about), _partial_pairs(signs, about)), two
        ),
    )
    return Duplicates(pairs=pairs[offset : offset + limit], total=len(pairs), truncated=more or cut)


def _first_pairs(
    pairs: Iterator[_SimilarPair], two: Collection[tuple[str, str]]
) -> tuple[list[Duplicate], bool]:
    """Return the pairs in order, without those kept apart, and whether there are more."""
    found: dict[tuple[str, str], Duplicate] = {}
    cut = False
    for one, other, rule, sign in pairs:
        cut = len(found) == PAIRS_MAX
        if cut:
            break
        pair = one.id, other.id
        if pair not in two and pair not in found:
            found[pair] = Duplicate(
                entity_id=one.id,
                candidate_id=other.id,
                entity_type=one.entity_type,
                reason=assertions.CONFUSABLE_NAME
                if rule == _SIMILAR_NAME
                else assertions.reason_of(rule),
                sign=sign,
            )
    return [found[key] for key in sorted(found)], cut


async def _entities_near(canon: Canon, account: lookup.Account, about: Entity) -> Sequence[Entity]:
    """Find entities of the account that share a key or a confusable name with this one."""
    ((_, signs),) = await _signs_of(canon, account, (about,))
    texts = {identity_keys.searchable_text(sign) for _, sign in signs}
    found: dict[str, Entity] = {}
    for entity_type in similar_types(about.entity_type) if texts else ():
        query = IdentifierQuery(
            spaces=frozenset((account.space,)),
            keys=tuple(sorted(texts)),
            entity_type=entity_type,
            limit=PAGE_MAX,
        )
        pages = await canon.state.entities_identified(query)
        found |= {each.id: each for page in pages.values() for each in page.items}
    return list(found.values())


async def _signs_of(
    canon: Canon, account: lookup.Account, entities: Sequence[Entity]
) -> Sequence[tuple[Entity, Collection[tuple[str, str]]]]:
    """Return each entity with all keys and confusable names that its family ever had."""
    schemas = await schemas_for(canon, account, entities)
    members = await canon.space_scope(account.space).items_by_id(
        m for e in entities for m in e.members
    )
    found: list[tuple[Entity, Collection[tuple[str, str]]]] = []
    for entity in entities:
        schema = schemas.get(entity.entity_type)
        now = () if schema is None else identity_keys.identities_of(schema, entity.properties)
        signs = {(each.rule, identity_keys.key_mark(each.key)) for each in now}
        for one in (entity, *(members.get(member) for member in entity.members)):
            if isinstance(one, Entity):
                keys = identity_keys.keys_of(one.borne)
                signs |= {(rule, key) for rule in keys for key in keys[rule]}
                signs |= {(_SIMILAR_NAME, k) for k in identity_keys.confusable_keys_of(one.borne)}
        found.append((entity, sorted(signs)))
    return found


def _same_sign_pairs(
    known: Iterable[tuple[Entity, Collection[tuple[str, str]]]],
    entity_type: str | None,
    about: Entity | None,
) -> Iterator[_SimilarPair]:
    """Yield all pairs, or those of one entity, once for each shared sign.

    Pairs with a common key come before pairs with confusable names.
    """
    by_sign: dict[tuple[frozenset[str], str, str], list[Entity]] = {}
    for entity, signs in known:
        kinds = similar_types(entity.entity_type)
        for rule, sign in signs:
            by_sign.setdefault((kinds, rule, sign), []).append(entity)
    in_order = sorted(by_sign.items(), key=lambda each: each[0][1] == _SIMILAR_NAME)
    for (_, rule, sign), sharing in in_order:
        ordered = sorted(sharing, key=lambda each: each.id)
        several: Iterable[tuple[Entity, Entity]] = combinations(ordered, 2)
        if about is not None:
            several = (
                (other, one) if other.id < one.id else (one, other)
                for one in ordered
                for other in (ordered if one.id == about.id else ())
                if other.id != one.id
            )
        for one, other in islice(several, PAIRS_MAX + 1):
            if entity_type not in {None, one.entity_type, other.entity_type}:
                continue
            yield one, other, rule, sign


_SUBSCRIBER: Final = -8
"""The last digits of a telephone number, which it has with and without the country's code."""


def _partial_pairs(
    known: Iterable[tuple[Entity, Collection[tuple[str, str]]]], about: Entity | None
) -> Iterator[_SimilarPair]:
    """Yield people with a name that begins another's, or with a number without its country."""
    whole: dict[tuple[str, str], dict[EntityId, Entity]] = {}
    longer: dict[tuple[str, str], dict[EntityId, Entity]] = {}
    for entity, signs in known:
        for rule, sign in signs if len(similar_types(entity.entity_type)) > 1 else ():
            if rule == "phone":
                found = whole if "+" not in sign else longer
                found.setdefault((rule, sign[_SUBSCRIBER:]), {})[entity.id] = entity
            elif rule == _SIMILAR_NAME:
                value, blank, _ = sign.partition(" ")
                found = longer if blank else whole
                found.setdefault((rule, value), {})[entity.id] = entity
    for (rule, part), called in whole.items():
        for one in called.values():
            for other in islice(longer.get((rule, part), {}).values(), PAIRS_MAX):
                if one.id != other.id and (about is None or about.id in {one.id, other.id}):
                    first, second = sorted((one, other), key=lambda each: each.id)
                    yield first, second, rule, part
