"""What was named last, and what can be named: for one who hears what a player says."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from canonry.world.domain.utterances.clauses import SpokenClause
from canonry.world.domain.utterances.frames import EntityRef, Nameable
from canonry.world.domain.utterances.naming import refers_to_person


@dataclass(slots=True)
class LastNamed:
    """What was named last, so that pronouns mean something."""

    things: list[EntityRef] = field(default_factory=list)
    persons: list[EntityRef] = field(default_factory=list)

    def note(self, ref: EntityRef | None) -> None:
        """Remember what was named."""
        if ref is None or ref.id is None:
            return
        (self.persons if refers_to_person(ref) else self.things).append(ref)

    def meant(self, pronoun: str, *, animate: bool) -> EntityRef | None:
        """What a pronoun stands for: somebody where only that makes sense, else a thing first."""
        first, second = (self.persons, self.things) if animate else (self.things, self.persons)
        if pronoun in {"him", "her", "he", "she", "ihn", "ihm"}:
            first, second = self.persons, []
        found = first or second
        return replace(found[-1], surface=pronoun) if found else None


@dataclass(frozen=True, slots=True)
class Hearing:
    """Who speaks, the text, what can be named, and what has been."""

    text: str
    subject: Nameable
    known: Sequence[Nameable]
    memory: LastNamed

    def raw(self, clause: SpokenClause) -> str:
        """The words of a clause as they were said."""
        return self.text[clause.words[0].start : clause.words[-1].end]
