"""The desk at which an accepted proposal is written up, and what it becomes."""

from collections.abc import Sequence
from dataclasses import dataclass

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.gates.kit import Verdict
from canonry.canon.judging.making import Backing
from canonry.canon.judging.slices import SliceView
from canonry.log.entries import Entry, EvidenceLinked, Made
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event
from canonry.values.errors import BrokenInvariant
from canonry.values.fields import Reference
from canonry.values.ids import EntityId, EventId, NewId
from canonry.values.observations import ObservationDraft
from canonry.values.provenance import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """The thing that the proposal became, and the entries that make it so.

    `known` is what it says already, where nothing but evidence was new.
    """

    canonical_id: str
    entries: tuple[Entry, ...]
    known: str | None = None

    @property
    def made(self) -> tuple[str, ...]:
        """The ids of what came into being; observations are part of their entities."""
        things = [entry.thing for entry in self.entries if isinstance(entry, Made)]
        return tuple(thing.id for thing in things if not isinstance(thing, ObservationDraft))


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingDesk:
    """What is at hand while a proposal is written up."""

    candidate: Candidate
    verdict: Verdict
    view: SliceView
    new_id: NewId
    backing: Backing

    def entity(self, reference: Reference) -> Entity:
        """The entity that a reference names.

        Raises:
            BrokenInvariant: `canonization.unresolved`, the gates let something through.
        """
        found = self.view.entity(reference)
        if found is None:
            message = f"an accepted proposal names {reference}, which no gate has found"
            raise BrokenInvariant("canonization.unresolved", message)
        return found

    def entities(self, references: tuple[Reference, ...]) -> tuple[EntityId, ...]:
        """The ids of the entities that these name, each once."""
        return tuple(dict.fromkeys(self.entity(one).id for one in references))

    def events(self, references: tuple[Reference, ...]) -> tuple[EventId, ...]:
        """The ids of the events that these name, but for those that fall."""
        found = [self.view.referred(one) for one in references]
        fallen = self.verdict.retcons
        return tuple(e.id for e in found if isinstance(e, Event) and e.id not in fallen)


def already_known(desk: WritingDesk, thing_id: str, held: Sequence[Evidence]) -> Acceptance:
    """Nothing new but the evidence."""
    more = [one for one in desk.candidate.evidence if one not in held]
    links = tuple(EvidenceLinked(thing_id=thing_id, evidence=one) for one in more)
    return Acceptance(canonical_id=thing_id, entries=links, known=thing_id)
