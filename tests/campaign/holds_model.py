"""A simple model of what holds: plain data and one walk, written apart from the code.

A log is a tuple of entries; the position of an entry is its index. A `View` is a log as one viewer
sees it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import inf
from typing import Literal

Span = tuple[float, float]
Key = tuple[float, float, float]
Audience = frozenset[str] | None
KEEPER: frozenset[str] = frozenset()
NO_MOMENT, END_OF_TIME = (-inf, -inf, -inf), (inf, inf, inf)
LONGEST_CHAIN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """The logic of an attribute. A place that is a carrier is written `@carrier`."""

    many: bool = False
    fixed: bool = False
    always: bool = False
    symmetric: bool = False
    places: bool = False
    living: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    id: str
    story: str
    span: Span | None = None
    continues: str = ""
    audience: Audience = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One assertion; an empty value of a negation means *whichever value there is*."""

    id: str
    subject: str
    attribute: str
    value: str
    positive: bool = True
    change: bool = False
    span: Span | None = None
    until: float | None = None
    scene: str = ""
    corrects: str = ""
    modality: Literal["asserted", "planned", "unreal"] = "asserted"
    holder: str = "world"
    audience: Audience = None
    authority: int = 1
    author: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retraction:
    id: str
    target: str
    cause: str = ""
    audience: Audience = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    id: str
    kept: str
    other: str
    same: bool
    audience: Audience = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """An emptied statement, and the statements that neither its start nor its end may end."""

    id: str
    target: str
    spared: frozenset[str]
    spared_later: frozenset[str]
    audience: Audience = None


Entry = Scene | Statement | Retraction | Identity | Erasure
Log = tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    value: str
    begins: Key
    ends: Key
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The values and plans that a read returns; `first` is set where no value holds yet."""

    values: frozenset[str]
    plans: frozenset[str] = frozenset()
    first: tuple[str, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A change of one timeline; `id` is its statement."""

    key: Key
    kind: Literal["begins", "ends", "emptied", "emptied later"]
    value: str
    id: str


def place_span(span: Span, reached: float) -> float:
    """Return the earliest point of a span that is not before what was reached, else its start."""
    return max(span[0], reached) if reached <= span[1] else span[0]


@dataclass(slots=True)
class View:
    """A log as a viewer sees it, up to a known position (None: all of it)."""

    table: dict[str, Attribute]
    log: Log
    viewer: frozenset[str] = KEEPER
    known: int | None = None
    entries: list[tuple[int, Entry]] = field(init=False)
    keys: dict[str, Key] = field(init=False)
    busy: set[str] = field(init=False, default_factory=set)
    known_stretches: dict[tuple[str, str], list[Stretch]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        prefix = self.log if self.known is None else self.log[: self.known]
        self.entries = [
            (n, e) for n, e in enumerate(prefix) if e.audience is None or self.viewer <= e.audience
        ]
        self.keys = self.place_entries()

    def place_entries(self) -> dict[str, Key]:
        """Return the order key of each scene and statement: clock, story place, position."""
        latest = {e.id: e for _, e in self.entries if isinstance(e, Scene)}
        keys: dict[str, Key] = {}
        reached: dict[str, tuple[float, int]] = {}
        for n, entry in self.entries:
            if isinstance(entry, Scene) and entry.id not in keys:
                scene = latest[entry.id]
                past, count = reached.get(scene.story, (-inf, 0))
                clock = place_span(scene.span, past) if scene.span else past
                if not scene.span and scene.continues in keys:
                    clock = keys[scene.continues][0]
                reached[scene.story] = (max(past, clock), count + 1)
                keys[entry.id] = (clock, count + 1, -1)
            elif isinstance(entry, Statement):
                one = self.table[entry.attribute]
                own = self.latest_reached(n, entry, keys)
                clock, story_place = keys[entry.scene][:2] if entry.scene else own
                if entry.corrects in keys and not entry.span:
                    clock, story_place, _ = keys[entry.corrects]
                if entry.span:
                    clock = place_span(entry.span, clock)
                if one.fixed:
                    clock, story_place = -inf, 0
                keys[entry.id] = (clock, story_place, n)
        return keys

    def latest_reached(
        self, until: int, new: Statement, keys: dict[str, Key]
    ) -> tuple[float, float]:
        """Return the latest clock and story place told before of the same timelines."""
        before = [e for n, e in self.entries if n < until]
        gone = [e for e in before if isinstance(e, Retraction)]
        targets = {e.target for e in gone}
        retracted = {e.target for e in gone if targets.isdisjoint((e.id, e.cause))}
        own = {new.subject, new.value} if self.table[new.attribute].symmetric else {new.subject}
        dead = (new.attribute, new.value) == ("life", "dead")
        ends = tuple(name for name, one in self.table.items() if one.living and dead)
        names = {new.attribute, *ends}
        found = [e for e in before if isinstance(e, Statement) and e.attribute in names]
        found = [e for e in found if e.modality == new.modality]
        one = [e for e in found if dead or not self.table[e.attribute].many or e.value == new.value]
        spans = (e.span for e in before if isinstance(e, Scene) and e.span)
        present = max((span[0] for span in spans), default=inf)
        beside = [
            keys[e.id][:2]
            for e in one
            if e.id not in retracted
            and keys[e.id][0] <= present
            and own & {e.subject, e.value if self.table[e.attribute].symmetric else e.subject}
        ]
        return max(beside, default=(-inf, 0))

    def is_standing(self, entry_id: str) -> bool:
        """Return whether no standing retraction names an entry; one with a cause falls with it."""
        return not any(
            self.is_standing(r.id) and (not r.cause or self.is_standing(r.cause))
            for _, r in self.entries
            if isinstance(r, Retraction) and r.target == entry_id
        )

    def members_of(self, subject: str) -> frozenset[str]:
        """Return all entities merged with a subject; a separation undoes each merge of the two."""
        pairs: dict[frozenset[str], bool] = {}
        for _, e in self.entries:
            if isinstance(e, Identity):
                pairs[frozenset({e.kept, e.other})] = e.same
        found, before = {subject}, set[str]()
        while found != before:
            before = set(found)
            found |= {m for pair, same in pairs.items() if same and pair & found for m in pair}
        return frozenset(found)

    def root_of(self, value: str) -> str:
        """Return the surviving member of a merge; a leading `@` stays."""
        name = value.removeprefix("@")
        same = self.members_of(name)
        gone = {
            e.other
            for _, e in self.entries
            if isinstance(e, Identity) and e.same and {e.kept, e.other} <= same
        }
        kept = sorted(same - gone) or sorted(same)
        return value[: len(value) - len(name)] + kept[0]

    def standing_statements(self, attribute: str) -> Iterator[Statement]:
        """Yield the statements of the world that stand."""
        for _, s in self.entries:
            if not isinstance(s, Statement) or s.attribute != attribute:
                continue
            if (s.modality, s.holder) == ("asserted", "world") and self.is_standing(s.id):
                yield s

    def erased_ids(self, entry_id: str) -> Erasure | None:
        found = (e for _, e in self.entries if isinstance(e, Erasure) and e.target == entry_id)
        return next(found, None)

    def timeline_events(self, subject: str, attribute: str) -> Iterator[Event]:
        """Yield the changes of one timeline, in any order."""
        one = self.table[attribute]
        own, statements = self.root_of(subject), list(self.standing_statements(attribute))
        sides = [
            (s, self.root_of(s.subject), self.root_of(s.value) if s.value else "")
            for s in statements
        ]
        sides += [(s, value, owner) for s, owner, value in sides if one.symmetric]
        partners = {value for _, owner, value in sides if owner == own}
        for dead in self.standing_statements("life") if one.living else ():
            who = self.root_of(dead.subject)
            # A death ends a marriage and a membership.
            if dead.value == "dead" and who in {own, *(partners if one.symmetric else ())}:
                ended = "" if who == own else who
                yield Event(key=self.keys[dead.id], kind="ends", value=ended, id=dead.id)
        for s, owner, value in sides:
            key = self.keys[s.id]
            later = (inf if s.until is None else s.until, -inf, key[2])
            if owner == own and self.erased_ids(s.id):
                if not (one.many and s.positive):
                    yield Event(key=key, kind="emptied", value="", id=s.id)
                if s.until is not None:
                    yield Event(key=later, kind="emptied later", value="", id=s.id)
            elif owner == own:
                yield Event(key=key, kind="begins" if s.positive else "ends", value=value, id=s.id)
                if s.positive and s.until is not None:
                    yield Event(key=later, kind="ends", value=value, id=s.id)
            elif (
                owner in partners and one.symmetric and (value != own if s.positive else not value)
            ) or (one.places and s.positive and value.removeprefix("@") == own):
                yield Event(
                    key=key,
                    kind="emptied" if self.erased_ids(s.id) else "ends",
                    value=owner,
                    id=s.id,
                )

    def holding_stretches(self, subject: str, attribute: str) -> list[Stretch]:
        """Return the stretches of one timeline, in order."""
        if not self.busy and (subject, attribute) in self.known_stretches:
            return self.known_stretches[subject, attribute]
        one = self.table[attribute]
        events = sorted(
            self.timeline_events(subject, attribute), key=lambda e: (e.key, e.kind == "begins")
        )
        done: list[Stretch] = []
        for value in sorted({e.value for e in events if e.value}) if one.many else [""]:
            done += self.walk_events(
                [e for e in events if e.value in ("", value)] if value else events, one, subject
            )
        if done and (one.fixed or one.always):
            done[0] = replace(done[0], begins=NO_MOMENT)
        done.sort(key=lambda s: (s.begins, s.value))
        if not self.busy:
            self.known_stretches[subject, attribute] = done
        return done

    def walk_events(self, events: list[Event], one: Attribute, subject: str) -> list[Stretch]:
        """Let each other value end the one before; after a said end nothing is known."""
        done: list[Stretch] = []
        for event in events:
            now = done[-1] if done and done[-1].ends == END_OF_TIME else None
            if event.kind == "begins":
                if now and now.value == event.value:
                    done[-1] = replace(now, ids=(*now.ids, event.id))
                    continue
                if (
                    now
                    and one.places
                    and event.value in self.location_chain(now.value, event.key, subject)
                ):
                    continue
            elif not now or (event.value not in ("", now.value)):
                continue
            if event.kind.startswith("emptied") and now and self.spares_event(event, now):
                continue
            if now:
                done[-1] = replace(now, ends=event.key)
            laid = (
                self.location_chain(event.value, event.key, subject)[:1]
                if event.value.startswith("@")
                else ()
            )
            value = (
                event.value
                if event.kind == "begins"
                else "".join(laid)
                if event.kind == "ends"
                else ""
            )
            if value:
                done.append(
                    Stretch(value=value, begins=event.key, ends=END_OF_TIME, ids=(event.id,))
                )
        return done

    def spares_event(self, event: Event, now: Stretch) -> bool:
        erasure = self.erased_ids(event.id)
        spared = erasure and (erasure.spared if event.kind == "emptied" else erasure.spared_later)
        return bool(spared and spared & set(now.ids))

    def location_chain(self, value: str, key: Key, asker: str = "") -> tuple[str, ...]:
        """Return the places of an item at a moment, nearest first; carriers are passed through."""
        found: list[str] = []
        name, seen = value.removeprefix("@"), {asker, *self.busy}
        for _ in range(LONGEST_CHAIN):
            if name in seen:
                break
            seen.add(name)
            self.busy.add(name)
            here = [
                s.value for s in self.holding_stretches(name, "place") if s.begins <= key < s.ends
            ]
            self.busy.discard(name)
            if not here:
                break
            if not here[0].startswith("@"):
                found.append(here[0])
            name = here[0].removeprefix("@")
        return tuple(found)

    def moment_of(self, at: float | str | None) -> Key:
        """Return the order key of a read: the end of a scene, a time, or the last scene's time."""
        if at is None:
            scenes = (e.span for _, e in self.entries if isinstance(e, Scene))
            return (max((span[0] for span in scenes if span), default=inf), inf, 0.0)
        return (self.keys[at][0], self.keys[at][1], inf) if isinstance(at, str) else (at, inf, inf)

    def answer_about(self, subject: str, attribute: str, at: float | str | None = None) -> Answer:
        """Return the answer about one subject and attribute at a moment."""
        key, stretches = self.moment_of(at), self.holding_stretches(subject, attribute)
        values = frozenset(s.value for s in stretches if s.begins <= key < s.ends)
        early = bool(stretches) and key < min(s.begins for s in stretches)
        plans = frozenset(
            self.root_of(s.value)
            for _, s in self.entries
            if isinstance(s, Statement) and s.modality == "planned" and s.attribute == attribute
            if self.is_standing(s.id)
            and self.root_of(s.subject) == self.root_of(subject)
            and not self.erased_ids(s.id)
        )
        first = (stretches[0].value, stretches[0].begins[0]) if early else None
        return Answer(values=values, plans=plans, first=first)

    def owned_by(
        self, value: str, attribute: str, at: float | str | None, subjects: list[str]
    ) -> frozenset[str]:
        """Return the other side of an attribute: the subjects that have a value at a moment."""
        return frozenset(
            r
            for r in {self.root_of(s) for s in subjects}
            if self.root_of(value) in self.answer_about(r, attribute, at).values
        )
