"""Folding: the state of one fold; every change of a thing touches the keys that it is read by."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from canonry.log.commits import Commit
from canonry.log.entries import Thing, Tombstone
from canonry.log.items.veils import audience_of, ended, resumed, veiled
from canonry.log.keys import keys_of
from canonry.log.schemas.identity_keys import KeyReader
from canonry.values.audience import Audience, covers
from canonry.values.errors import BrokenInvariant
from canonry.values.revising import revised
from canonry.values.time import Instant


@dataclass(slots=True)
class Folding:
    """The state of one fold: what was loaded, what has changed, what was touched."""

    commit: Commit
    loaded: Mapping[str, Thing]
    changed: dict[str, Thing] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    readers: dict[str, KeyReader | None] = field(default_factory=dict)
    """How the schemas that were met read identity keys."""

    _told: set[str] = field(default_factory=set)
    """The ids of those whose keys, as they are by now, are touched already."""

    def get(self, thing_id: str) -> Thing | None:
        """The thing as it is by now."""
        return self.changed.get(thing_id) or self.loaded.get(thing_id)

    def put(self, thing: Thing, *, counted: bool = False) -> None:
        """Store `thing`; `counted` changes (a number of turns) touch nobody."""
        before = None if thing.id in self._told else self.get(thing.id)
        self.changed[thing.id] = thing
        if counted:
            self._told.discard(thing.id)
            return
        self._told.add(thing.id)
        self.touched |= keys_of(thing)
        if before is not None:
            self.touched |= keys_of(before)

    def change(self, thing_id: str, kind: type, **fields: Any) -> None:
        """Give a thing these fields; an erased one stays erased."""
        self.develop(thing_id, kind, lambda _: fields)

    def learn(self, thing_id: str, kind: type, audience: Audience, **fields: Any) -> None:
        """Give a thing these fields as far as `audience` knows it; others know nothing of them."""
        if not self.learn_more(thing_id, audience, **fields):
            self.change(thing_id, kind, **fields)

    def learn_more(self, thing_id: str, audience: Audience, **fields: Any) -> bool:
        """Put a veil over what others than `audience` are not to know; False: nobody is left."""
        thing = self.get(thing_id)
        if not audience or not hasattr(thing, "veils"):
            return False
        if covers(audience, audience_of(thing)):
            return False
        self.develop(
            thing_id,
            type(thing),
            lambda now: {"veils": veiled(now, audience, self.commit.position, **fields)},
        )
        return True

    def end(
        self,
        thing_id: str,
        kind: type,
        audience: Audience,
        *,
        until: Instant | None = None,
        by: str | None = None,
    ) -> None:
        """Let a thing have ended, as far as `audience` knows it."""
        end = {"ended": True, "until": until, "superseded_by": by}
        at = self.commit.position
        self.develop(thing_id, kind, lambda thing: ended(thing, audience, at, **end))

    def resume(self, thing_id: str, kind: type, audience: Audience, fallen: str | None) -> None:
        """Let a thing hold on that `fallen` had ended, as far as `audience` knows it."""
        at = self.commit.position
        self.develop(thing_id, kind, lambda thing: resumed(thing, audience, at, fallen))

    def develop(self, thing_id: str, kind: type, how: Callable[[Any], Mapping[str, Any]]) -> None:
        """Give a thing the fields that follow from what it was."""
        thing = self.get(thing_id)
        if isinstance(thing, Tombstone):
            return
        if not isinstance(thing, kind):
            message = f"an entry changes the {kind.__name__} {thing_id}, which does not exist"
            raise BrokenInvariant("canon.dangling-entry", message, id=thing_id)
        changed: Any = revised(thing, changed_at=self.commit.position, **how(thing))
        self.put(changed)
