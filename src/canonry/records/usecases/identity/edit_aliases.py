"""Edit aliases: the names and addresses that somebody goes by, and those that never were theirs.

What is added is one word among others, so that later sources add to it. What is taken away leaves
the list, which is the user's own from then on, and leads to the entity no longer.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from canonry.canon.session.account import Account, require_account, within_account
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.canon.session.lookup import require
from canonry.log.entries import Entry, Made
from canonry.log.items.entities import Entity, alone
from canonry.log.keys import schemas_key, thing_key
from canonry.log.record_entries import KeysDisowned
from canonry.log.schemas.identifiers import found_under, look_mark, meant_by
from canonry.log.schemas.identity_keys import normal_value
from canonry.log.schemas.narrative_fields import PROPERTY_PREFIX
from canonry.log.schemas.schemas import EntitySchema
from canonry.log.schemas.truth_types.people import PLURALS
from canonry.records.domain.borne_keys import names_today
from canonry.records.domain.record_bounds import NAME_MAX
from canonry.records.usecases.correct_field import addressed, own_word, source_of_word
from canonry.records.usecases.schemas_in_force import schemas_for
from canonry.values.errors import InvalidInput
from canonry.values.ids import NewId
from canonry.values.normal_forms import folded
from canonry.values.snapshots import Elements, Held
from canonry.values.winners import LAST

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
