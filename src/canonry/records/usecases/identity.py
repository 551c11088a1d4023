"""Identity of records: identifiers, aliases and what keeps two apart."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from canonry.canon.judging.making import Backing, make_relation
from canonry.canon.session.account import (
    Account,
    account_of,
    readable_spaces,
    require_account,
    within_account,
)
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, audience_for, commit_change, the_made
from canonry.canon.session.involved import require_standing
from canonry.canon.session.lookup import require, require_all, require_same_space
from canonry.canon.session.paging import every_match
from canonry.log.entries import Entry, KeysDisowned, Made
from canonry.log.folding import relations_key, schemas_key, thing_key
from canonry.log.items.entities import Entity, alone, family_of
from canonry.log.items.facts import Relation, RelationDraft
from canonry.log.schemas.identity_keys import (
    KEY_MARK,
    KeyReader,
    fields_asked,
    fields_said,
    found_under,
    label_of,
    look_mark,
    meant_by,
    normal_value,
    rule_of,
    texts_in,
)
from canonry.log.schemas.narrative import PROPERTY_PREFIX
from canonry.log.schemas.schemas import EntitySchema
from canonry.log.schemas.truth_types import PLURALS, type_named
from canonry.readmodels.ports.state import IdentifierQuery, RelationQuery
from canonry.records.domain.assertions import Family, KeyStatus, family, names_today
from canonry.records.domain.interpretations import NAME_MAX
from canonry.records.usecases.correct_field import addressed, own_word, source_of_word
from canonry.records.usecases.record_entities import Duplicate
from canonry.records.usecases.schemas_in_force import schemas_for
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.ids import EntityId, NewId, ObservationId, RelationId, SourceId, SpaceId
from canonry.values.json_values import folded
from canonry.values.observations import LAST, Elements, Held, Observation
from canonry.values.provenance import Authority

# Edit aliases: the names and addresses that somebody goes by, and those that never were theirs.
#
# What is added is one word among others, so that later sources add to it. What is taken away leaves
# the list, which is the user's own from then on, and leads to the entity no longer.

EDITED_MAX: Final = 100
"""So many names are added or taken away at once."""

_ONE_OF: Final = {several: one for one, several in PLURALS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasEdit:
    """What to add to a list, and what to take away, from there or at all.

    `field` is one of those that hold several: `aliases`, `emails` or `phones`.
    """

    entity_id: str
    field: str
    add: Sequence[str] = ()
    remove: Sequence[str] = ()


async def edit_aliases(
    canon: Canon, caller: Caller, user_id: str | None, edit: AliasEdit
) -> Entity:
    """The entity that answers for the one that was named, after the change.

    A key is taken away from the one that was named, and from those merged into it.

    Raises:
        InvalidInput: `user.mismatch`, `alias.field`, `alias.empty`, `alias.too-long`,
            `alias.too-many`, `alias.current` or `alias.unknown`.
        NotFound: `entity.unknown`.
    """
    account, inner = require_account(caller, user_id), within_account(caller)
    _require_sound(edit)

    async def prepare(new_id: NewId) -> Change:
        del new_id  # the ids follow from the words
        root = await require(canon, inner, Entity, edit.entity_id)
        entity = await addressed(canon, root, edit.entity_id)
        things = await canon.within(account.space).things(entity.members)
        members = [each for each in things.values() if isinstance(each, Entity)]
        schemas = await schemas_for(canon, account, (entity, *members))
        work = _Editing(account=account, edit=edit, entity=entity, schemas=schemas)
        entries = (*work.words(), *work.disowned(members))
        ids = (root.id, entity.id, *entity.members)
        types = (schemas_key(account.space, each) for each in schemas)
        return Change(entries=entries, reads=frozenset((*map(thing_key, ids), *types)))

    await commit_change(canon, inner, account.space, prepare)
    return await require(canon, inner, Entity, edit.entity_id)


@dataclass(slots=True, kw_only=True)
class _Editing:
    """An edit of an entity; `kept` is what its list holds then, `gone` what was taken from it."""

    account: Account
    edit: AliasEdit
    entity: Entity
    schemas: Mapping[str, EntitySchema]
    kept: list[str] = field(init=False)
    gone: set[str] = field(init=False)

    def __post_init__(self) -> None:
        """Look at the list as it is."""
        schema, name = self.schemas.get(self.entity.entity_type), self.edit.field
        if schema is None or (self.edit.add and schema.field(name) is None):
            message = f"the type of this entity has no {name}; a registered schema may give it some"
            raise InvalidInput("alias.field", message, path="/field")
        shown = [] if self._held is None else schema.policy(name).show(self._elements)
        unwanted = {asked for each in self.edit.remove for asked in self._forms(each)}
        self.gone = {each for each in shown if unwanted & self._forms(each)}
        self.kept = [each for each in shown if each not in self.gone]

    @property
    def _elements(self) -> Elements:
        return alone(self.entity).snapshot.get(PROPERTY_PREFIX + self.edit.field, {})

    @property
    def _held(self) -> Held | None:
        return self._elements.get(LAST)

    def _forms(self, text: str) -> set[str]:
        """What makes two texts of the list the same."""
        one, kind = _ONE_OF[self.edit.field], self.entity.entity_type
        address = None if one == "name" else normal_value(kind, one, text)
        return {folded(text), address or folded(text)}

    def words(self) -> Iterator[Entry]:
        """What the user says of the list; nothing where it says so already."""
        known = {form for each in self.kept for form in self._forms(each)}
        new = [each.strip() for each in self.edit.add if not known & self._forms(each)]
        if not new and not self.gone:
            return
        held, name = self._held, self.edit.field
        own_list = bool(self.gone) or (held is not None and held.corrected)
        value = [*self.kept, *new] if own_list else new
        self.kept += new
        follows = "" if held is None else held.observation
        source = source_of_word(self.account, self.entity, name, value, follows)
        schema = self.schemas[self.entity.entity_type]
        yield Made(thing=source)
        yield Made(
            thing=own_word(
                self.entity, schema, name, value, source, follows=follows, correction=own_list
            )
        )

    def disowned(self, members: Sequence[Entity]) -> Iterator[Entry]:
        """The keys that are taken away, of everybody who bears them.

        Raises:
            InvalidInput: `alias.current` or `alias.unknown`.
        """
        wanted = {form for each in self.edit.remove for form in meant_by(each)}
        current: set[str] = set()
        found = bool(self.gone)
        for one in (self.entity, *members) if wanted else ():
            instead = {self.edit.field: self.kept} if one is self.entity else {}
            schema = self.schemas.get(one.entity_type)
            today = names_today(alone(one), schema, instead)
            said = set(map(found_under, today))
            current |= said & wanted
            looks = {look_mark(one.entity_type, each) for each in self.edit.remove}
            gone = [
                text
                for text in one.borne
                if text not in today
                and (
                    text in looks or (found_under(text) in wanted and found_under(text) not in said)
                )
            ]
            if gone:
                found = True
                yield KeysDisowned(entity_id=one.id, keys=tuple(gone))
        if wanted and not found and current:
            message = "this is what a field says today; correct the field, and then take it away"
            raise InvalidInput("alias.current", message, path="/remove")
        if wanted and not found:
            message = "nothing of this kind leads to the entity; its keys are in its snapshot"
            raise InvalidInput("alias.unknown", message, path="/remove")


def _require_sound(edit: AliasEdit) -> None:
    for name, texts in (("add", edit.add), ("remove", edit.remove)):
        if len(texts) > EDITED_MAX:
            message = f"at most {EDITED_MAX} at once"
            raise InvalidInput("alias.too-many", message, path=f"/{name}", limit=EDITED_MAX)
        for index, text in enumerate(texts):
            path = f"/{name}/{index}"
            if not folded(text):
                raise InvalidInput("alias.empty", f"{path} is empty; say something", path=path)
            if len(text) > NAME_MAX:
                message = f"{path} has {len(text)} characters; the limit is {NAME_MAX}"
                raise InvalidInput("alias.too-long", message, path=path, limit=NAME_MAX)


async def families_of(
    canon: Canon, account: Account, entities: Sequence[Entity]
) -> Mapping[EntityId, Family]:
    """Each entity with those merged into it, and what names them today."""
    ids = {member for each in entities for member in each.members}
    spaces = {each.space for each in entities}
    found = await canon.within(*spaces).things(ids) if ids else {}
    members = {i: e for i, e in found.items() if isinstance(e, Entity)}
    schemas = await schemas_for(canon, account, (*entities, *members.values()))
    return {
        each.id: family(
            each,
            [members[member] for member in each.members if member in members],
            schemas if each.space == account.space else {},
        )
        for each in entities
    }


# Find by identifier: entities that bear a name, number or address, and then those that begin so.
#
# What is looked for is taken literally: no character stands for others.

FOUND_MAX: Final = 100
_BEGINNING_MIN: Final = 2
"""Shorter texts are the beginning of too much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """Whom an identifier leads to; `truncated`: there are more, so that a longer text is needed.

    `statuses` tell what it is to those whom it names, and not only begins to name.
    """

    entities: Sequence[Entity]
    statuses: Mapping[EntityId, KeyStatus]
    truncated: bool


async def find_by_identifier(
    canon: Canon, caller: Caller, identifier: str, entity_type: str | None
) -> Identified:
    """At most 100 entities, the best first: as it is written, in other forms, by the beginning."""
    spaces = await readable_spaces(canon, caller)
    wanted = None if entity_type is None else type_named(entity_type)
    keys = meant_by(identifier)
    found: dict[str, Entity] = {}
    named: dict[EntityId, str] = {}
    more = False
    if keys:
        exact = IdentifierQuery(spaces=spaces, keys=keys, entity_type=wanted, limit=FOUND_MAX)
        pages = await canon.state.entities_identified(exact)
        for key in keys:
            if key in pages:
                new = [each for each in pages[key].items if each.id not in found]
                found |= {each.id: each for each in new}
                named |= {each.id: key for each in new}
                more = more or pages[key].total > FOUND_MAX
    beginning = folded(identifier)
    if len(found) < FOUND_MAX and len(beginning) >= _BEGINNING_MIN:
        begun = IdentifierQuery(
            spaces=spaces, keys=(beginning,), entity_type=wanted, begins=True, limit=FOUND_MAX
        )
        pages = await canon.state.entities_identified(begun)
        for page in pages.values():
            found |= {e.id: e for e in page.items if e.id not in found}
            more = more or page.total > FOUND_MAX
    more = more or len(found) > FOUND_MAX
    entities = tuple(found.values())[:FOUND_MAX]
    families = await families_of(canon, account_of(caller), [e for e in entities if e.id in named])
    return Identified(
        entities=entities,
        statuses={i: families[i].status(named[i]) for i in families},
        truncated=more,
    )


# Keep apart: two entities that look like one are two, as somebody says; a relation says so.
#
# It is said once of each two, and ends as any other relation does.

DIFFERENT_FROM: Final = "DIFFERENT_FROM"
"""The type of the relation that says so."""


async def keep_apart(
    canon: Canon, caller: Caller, one_id: str, other_id: str, *, reason: str, authority: Authority
) -> RelationId:
    """Let it be said that the two are not one; what says so already stands as it is.

    Raises:
        NotFound: `entity.unknown`.
        Conflict: `space.foreign`, `entity.retconned` or `entity.already-merged`.
    """
    space = (await require(canon, caller, Entity, one_id)).space

    async def prepare(new_id: NewId) -> Change[Relation | None]:
        one, other = await require_all(canon, caller, Entity, (one_id, other_id))
        require_same_space(one.space, [other], path="/of")
        require_standing(one, other)
        if one.id == other.id:
            message = "the two are one entity; separate the one that was merged into the other"
            raise Conflict("entity.already-merged", message, conflicts=[one.id])
        ids = frozenset((one_id, other_id, one.id, other.id))
        reads = frozenset(key(each) for key in (thing_key, relations_key) for each in ids)
        for each in await _said(canon, space, family_of(one)):
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

    receipt = await commit_change(canon, caller, space, prepare)
    return receipt.found.id if receipt.found else the_made(receipt, RelationDraft).id


async def kept_apart(
    canon: Canon, space: SpaceId, entities: Iterable[Entity]
) -> frozenset[tuple[str, str]]:
    """The pairs of these that are said to be two, each by the lesser id first."""
    root = {member: each.id for each in entities for member in family_of(each)}
    said = await _said(canon, space, frozenset())
    ends = ((root.get(each.from_id, ""), root.get(each.to_id, "")) for each in said)
    return frozenset((min(pair), max(pair)) for pair in ends)


async def _said(canon: Canon, space: SpaceId, about: frozenset[EntityId]) -> Sequence[Relation]:
    query = RelationQuery(
        spaces=frozenset((space,)), entities=about, rel_type=DIFFERENT_FROM, current=True
    )
    return [each async for each in every_match(canon.state.relations, query)]


LOOKED_AT_MAX: Final = 50
"""So many of the newest observations of each side are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideEvidence:
    """What one observation of a side says; only whose it is where that was too long ago."""

    entity_id: EntityId
    fields: Mapping[str, Any]
    observation_id: ObservationId | None = None
    source_id: SourceId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubtful:
    """Two that may be one, with the evidence of both."""

    pair: Duplicate
    evidence: tuple[SideEvidence, ...]


async def evidence_for(
    canon: Canon, account: Account, pairs: Sequence[Duplicate]
) -> Sequence[Doubtful]:
    """The pairs in their order, each with what speaks for it."""
    ids = {i for each in pairs for i in (each.entity_id, each.candidate_id)}
    found = await canon.within(account.space).things(ids)
    sides = {}
    entities = {i: e for i, e in found.items() if isinstance(e, Entity)}
    schemas = await schemas_for(canon, account, entities.values())
    readers = {kind: KeyReader(schema) for kind, schema in schemas.items()}
    for entity_id, entity in entities.items():
        page = await canon.state.observations_newest(
            sorted(family_of(entity)), limit=LOOKED_AT_MAX, offset=0
        )
        sides[entity_id] = _Side(
            entity=entity, keys=readers.get(entity.entity_type), seen=page.items
        )
    return [
        Doubtful(
            pair=pair,
            evidence=tuple(
                sides[i].evidence(pair.sign)
                for i in (pair.entity_id, pair.candidate_id)
                if i in sides
            ),
        )
        for pair in pairs
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One of two, with what was said of it last."""

    entity: Entity
    keys: KeyReader | None
    seen: Sequence[Observation]

    def evidence(self, sign: str) -> SideEvidence:
        """The newest observation that names it by the sign."""
        for each in self.seen:
            said = fields_said(each, self.keys)
            if sign in texts_in(self.entity.entity_type, said, self.keys):
                return SideEvidence(
                    entity_id=self.entity.id,
                    fields=self._telling(said, sign),
                    observation_id=each.id,
                    source_id=each.source_id,
                )
        return SideEvidence(entity_id=self.entity.id, fields={})

    def _telling(self, said: Mapping[str, Any], sign: str) -> Mapping[str, Any]:
        """The fields by which it does: each alone, or those of a rule together."""
        kind = self.entity.entity_type
        labels = rule_of(sign.removeprefix(KEY_MARK)).split("+")
        if self.keys is None or not sign.startswith(KEY_MARK) or len(labels) == 1:
            alone = {n: v for n, v in said.items() if sign in texts_in(kind, {n: v}, self.keys)}
            if alone or self.keys is None:
                return alone
        rules = self.keys.schema.identity
        asked = (
            a for rule in rules for a in (*rule.fields, *rule.optional) if label_of(a) in labels
        )
        names = {name for each in asked for name in fields_asked(each)}
        return {name: value for name, value in said.items() if name in names}
