"""A model of identity, apart from the code: people, statements about them, and their mergers.

A record is about the person who ever had its strongest key, unless it states another name. If
several people had the key, the next key decides, and if none does, the record is about a new
person. A merge is an arrow from one person to another; statements stay with their first subject.
"""

import dataclasses
from dataclasses import dataclass

KEYS = ("email", "phone", "name")
"""The keys of a person, the strongest first."""

Record = dict[str, str]


@dataclass(eq=False)
class Person:
    """Somebody, with every key ever borne and all that was said, the last last."""

    birth: tuple[str, str]
    keys: dict[str, set[str]] = dataclasses.field(
        default_factory=lambda: {rule: set() for rule in KEYS}
    )
    said: list[tuple[int, str, str, bool]] = dataclasses.field(default_factory=list)
    answers: "Person | None" = None
    brought: list["Person"] = dataclasses.field(default_factory=list)

    @property
    def root(self) -> "Person":
        """Return the person who answers for this one."""
        return self.answers or self

    def hear_record(self, at: int, what: Record, *, corrected: bool) -> None:
        """Keep what is said."""
        for name, value in what.items():
            self.said.append((at, name, value, corrected))
            if name in KEYS:
                self.keys[name].add(value)


def fields_of(people: list[Person]) -> Record:
    """The fields: a correction before all others, and of equals what was said last."""
    shown: dict[str, tuple[bool, int, str]] = {}
    for person in people:
        for at, name, value, corrected in person.said:
            shown[name] = max(shown.get(name, (False, -1, "")), (corrected, at, value))
    return {name: value for name, (_, _, value) in shown.items()}


def standing_value(people: list[Person], name: str) -> str | None:
    """The correction that stands for a field."""
    found = [
        (at, value)
        for p in people
        for at, said, value, corrected in p.said
        if corrected and said == name
    ]
    return max(found)[1] if found else None


@dataclass
class Model:
    """All people and the edges between them."""

    people: list[Person] = dataclasses.field(default_factory=list)
    edges: set[tuple[int, int]] = dataclasses.field(default_factory=set)
    clock: int = 0

    def family_of(self, root: Person) -> list[Person]:
        """Return a person and all for whom they answer."""
        return [each for each in self.people if each.root is root]

    def add_record(self, record: Record) -> tuple[Person, bool, set[int]]:
        """Whom a record is about, whether that is somebody new, and who else may be meant."""
        self.clock += 1
        rules = [rule for rule in KEYS if rule in record]
        person, doubts = self._find_meant(record, rules)
        new = person is None
        if person is None:
            person = Person(birth=(rules[0], record[rules[0]]))
            if any(each.birth == person.birth for each in self.people):
                person.birth = (rules[0], f"{record[rules[0]]} and {self.clock}")
            self.people.append(person)
        family = self.family_of(person.root)
        for rule in rules:
            if all(record[rule] not in each.keys[rule] for each in family):
                doubts |= {p.root for p in self.people if record[rule] in p.keys[rule]}
        person.hear_record(self.clock, record, corrected=False)
        others = {self.people.index(each) for each in doubts if each is not person.root}
        return person, new, others

    def _find_meant(self, record: Record, rules: list[str]) -> tuple[Person | None, set[Person]]:
        doubts: set[Person] = set()
        for place, rule in enumerate(rules):
            owners = [p for p in self.people if record[rule] in p.keys[rule]]
            fitting = [p for p in owners if not self._is_apart(p, record, rules[:place], rule)]
            if len({p.root for p in fitting}) == 1:
                doubts = doubts | {p.root for p in owners} if place else set()
                return (fitting[0] if len(fitting) == 1 else fitting[0].root), doubts
            doubts |= {p.root for p in owners}
        first = (rules[0], record[rules[0]])
        better = KEYS[: KEYS.index(rules[0])]
        for person in self.people:  # somebody of whom nothing is known but this key
            unknown = not any(person.keys[rule] for rule in better)
            if (
                person.birth == first
                and unknown
                and not self._is_apart(person, record, [], first[0])
            ):
                return person, doubts
        return None, doubts

    @staticmethod
    def _is_apart(person: Person, record: Record, stronger: list[str], rule: str) -> bool:
        """Return whether a stronger key differs, or a shared address has another name.

        The names of these histories have no word in common.
        """
        if rule != "name" and "name" in record and "name" in fields_of([person]):
            stronger = [*stronger, "name"]
        return any(person.keys[each] and record[each] not in person.keys[each] for each in stronger)

    def correct_field(self, person: Person, name: str, value: str) -> None:
        """Let a value stand, unless it stands for the person and for whoever answers."""
        self.clock += 1
        both = {standing_value([person], name), standing_value(self.family_of(person.root), name)}
        if both != {value}:
            person.hear_record(self.clock, {name: value}, corrected=True)

    def relate_people(self, one: Person, other: Person) -> None:
        """Let an edge stand between those who are named."""
        self.edges.add((self.people.index(one), self.people.index(other)))

    def merge_people(self, gone: Person, kept: Person) -> None:
        """Let one answer for another and for everybody whom that one answered for."""
        gone.brought = [each for each in self.family_of(gone) if each is not gone]
        for each in self.family_of(gone):
            each.answers = kept.root

    def unmerge_person(self, gone: Person) -> None:
        """Take it back: whoever was brought goes along, if they are there still."""
        kept, along = gone.root, [p for p in gone.brought if p.root is gone.root]
        gone.answers, gone.brought = None, []
        for each in along:
            each.answers = gone
        for each in self.family_of(kept):
            each.brought = [p for p in each.brought if p is not gone]

    def shown_fields(self, root: Person) -> Record:
        """The fields of somebody and of all whom that one answers for."""
        return fields_of(self.family_of(root))

    def name_of(self, root: Person) -> str:
        """The display name: one's own name before those of others, names before addresses."""
        others = [each for each in self.family_of(root) if each is not root]
        for rule in ("name", "email", "phone"):
            for said in (fields_of([root]), fields_of(others)):
                if rule in said:
                    return said[rule]
        return "Person"

    def edges_of(self, root: Person) -> set[tuple[int, int]]:
        """The edges of somebody, between those who answer."""
        ends = {(self.people[a].root, self.people[b].root) for a, b in self.edges}
        here = [(a, b) for a, b in ends if a is not b and root in {a, b}]
        return {(self.people.index(a), self.people.index(b)) for a, b in here}
