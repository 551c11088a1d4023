"""Action frames as values: what a character sets out to do, with whom and with what."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from canonry.readmodels.edges import Direction

UNKNOWN: Final = "unknown"
SURE, UNSURE = 0.95, 0.2
_UNRESOLVED, _AMBIGUOUS, _LEAST = 0.2, 0.3, 0.1


class Category(StrEnum):
    """What kind of thing was said."""

    ACTION = "action"
    SPEECH = "speech"
    QUESTION = "question"
    OOC = "ooc"
    MIXED = "mixed"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True, kw_only=True)
class Nameable:
    """Something that the character can name: what is there, what they carry, where ways lead.

    `direction` is by which exit a location is reached.
    """

    id: str
    kind: str
    name: str
    direction: Direction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeantThing:
    """One of several things that were perhaps meant."""

    id: str
    name: str
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityRef:
    """What was named; without `id` it names nothing that is there, or one of `candidates`."""

    kind: str
    surface: str
    confidence: float
    id: str | None = None
    candidates: tuple[MeantThing, ...] = ()

    @property
    def confidence_of_all(self) -> float:
        """How sure it is that one of the candidates was named, whichever."""
        return self.confidence * max(len(self.candidates), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionFrame:
    """One thing that the character sets out to do, in the order in which it was said."""

    verb: str
    subject: str
    raw_text: str
    confidence: float
    direct: EntityRef | None = None
    secondary: EntityRef | None = None
    direction: Direction | None = None
    quantity: int | str | None = None
    topic: str | None = None
    modifiers: tuple[str, ...] = ()
    negated: bool = False
    conditional: bool = False
    ambiguity: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """An utterance as it was read; where something is unclear, the player is asked."""

    frames: tuple[ActionFrame, ...]
    category: Category
    confidence: float

    @property
    def needs_clarification(self) -> bool:
        """Whether nobody should act before the player has been asked."""
        return self.category is Category.UNCLEAR or any(each.ambiguity for each in self.frames)


def unclear_in(
    direct: EntityRef | None, secondary: EntityRef | None, sure: float = SURE
) -> tuple[tuple[str, ...], float]:
    """Which of what was named is unclear, and how sure a frame is that was so `sure` before."""
    ambiguity = []
    for ref, name in ((direct, "Object"), (secondary, "Target")):
        if ref is not None and ref.id is None:
            ambiguity.append(f"ambiguous{name}" if ref.candidates else f"unknown{name}")
            sure -= _AMBIGUOUS if ref.candidates else _UNRESOLVED
    return tuple(ambiguity), round(max(sure, _LEAST), 2)


def unknown_frame(said: str, subject: Nameable) -> ActionFrame:
    """What is left where nobody knows what a character sets out to do."""
    return ActionFrame(
        verb=UNKNOWN,
        subject=subject.id,
        raw_text=said,
        confidence=UNSURE,
        ambiguity=("unknownVerb",),
    )
