"""The lexicon of verbs and other words, and the frames that they become."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from typing import Final

from jellyfish import damerau_levenshtein_distance

from canonry.language.texts.english import lemma
from canonry.readmodels.edges import Direction

# The words of players: verbs with their particles, directions, numbers.
#
# `words.txt` has them; `verbs.txt` has further verbs, which `bench.table.verbs` derived from
# WordNet.

_GROUPS_OF_VERBS: Final = (
    "move", "flee", "follow", "look", "examine", "search", "read", "take", "drop", "give", "put",
    "throw", "use", "open", "close", "unlock", "push", "light", "extinguish", "eat", "drink",
    "play", "attack", "defend", "cast", "talk", "buy", "wait", "rest", "hide", "emote",
)  # fmt: skip
VERBS: Final = (*_GROUPS_OF_VERBS, "unknown")
_TYPO_LENGTH: Final = 4
_LONG_WORD: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbForm:
    """A verb as players say it: its words, what it means, and by which exit it leads.

    With `tool_first` the tool follows the verb: "swing the sword at the troll". A verb that is
    `derived` has a lower confidence.
    """

    words: tuple[str, ...]
    verb: str
    direction: Direction | None = None
    tool_first: bool = False
    derived: bool = False


def read_groups(package: str, file: str) -> Mapping[str, tuple[str, ...]]:
    """Read groups of words from a file: a name, a colon and words, on indented further lines."""
    text = (files(package) / file).read_text("utf-8")
    groups = [each for each in text.replace("\n ", " ").splitlines() if not each.startswith("#")]
    return {name: tuple(told.split()) for name, _, told in (g.partition(": ") for g in groups)}


_GROUPS: Final = read_groups(__package__, "words.txt")
_FURTHER: Final = read_groups(__package__, "verbs.txt")


def words(name: str) -> frozenset[str]:
    """The words of a group; an underscore stands for a space."""
    return frozenset(each.replace("_", " ") for each in _GROUPS[name])


def _pairs(name: str) -> Mapping[str, str]:
    return dict(each.split("/") for each in _GROUPS[name])


def _forms() -> Mapping[str, tuple[VerbForm, ...]]:
    found: dict[str, list[VerbForm]] = defaultdict(list)
    for verb in _GROUPS_OF_VERBS:
        for told in _GROUPS[verb]:
            text, _, way = told.partition("=")
            said = tuple(text.rstrip("*").split("_"))
            form = VerbForm(
                words=said,
                verb=verb,
                direction=Direction(way) if way else None,
                tool_first=text.endswith("*"),
            )
            found[lemma(said[0])].append(form)
    further = {told: verb for verb, group in _FURTHER.items() for told in group}
    for told, verb in further.items():
        if all(len(form.words) > 1 for form in found[lemma(told)]):
            found[lemma(told)].append(VerbForm(words=(told,), verb=verb, derived=True))
    return {
        stem: tuple(sorted(forms, key=lambda form: -len(form.words)))
        for stem, forms in found.items()
    }


FORMS: Final = _forms()
"""By the stem of their first word, the longest first."""
PARTICLES: Final = words("particles")
INSTRUMENT: Final = words("instrument")
FILLERS: Final = words("fillers")
BEFORE_VERB: Final = words("before_verb")
DETERMINERS: Final = words("determiners")
SCENERY: Final = words("scenery")
TITLES: Final = words("titles")
PRONOUNS: Final = words("pronouns")
ANIMATE: Final = words("animate")
ALL: Final = words("all")
COUNTS: Final = {word: int(number) for word, number in _pairs("counts").items()}
DIRECTIONS: Final = {word: Direction(way) for word, way in _pairs("directions").items()}
OTHERS: Final = words("others")
CONDITIONS: Final = words("conditions")
DENIALS: Final = words("denials")
QUESTIONS: Final = words("questions")
TOPICS: Final = words("topics")
QUIET: Final = words("quiet")
GREETINGS: Final = words("greetings")
OOC: Final = words("ooc")
PREPOSITIONS: Final = words("prepositions")
_FIRST: Final = tuple(
    sorted({f.words[0] for forms in FORMS.values() for f in forms if not f.derived})
)
PLAIN_WORDS: Final = (
    FILLERS | DETERMINERS | QUESTIONS | CONDITIONS | DENIALS | PRONOUNS | QUIET | set(DIRECTIONS)
)


@lru_cache(maxsize=8_192)
def forms_of(word: str) -> tuple[tuple[VerbForm, ...], bool]:
    """The verbs that begin with this word, and whether it had to be spelled anew."""
    known = FORMS.get(lemma(word))
    if known is not None:
        exact = tuple(form for form in known if form.words[0] == word)
        return (*exact, *(form for form in known if form.words[0] != word)), False
    meant = misspelled(word, _FIRST)
    return (FORMS[lemma(meant)], True) if meant else ((), False)


@lru_cache(maxsize=8_192)
def direction_of(word: str) -> Direction | None:
    """The direction that a word names, with a slip in long ones."""
    if word in DIRECTIONS:
        return DIRECTIONS[word]
    long = tuple(each for each in DIRECTIONS if len(each) > _TYPO_LENGTH)
    meant = misspelled(word, long)
    return DIRECTIONS[meant] if meant else None


def misspelled(word: str, known: tuple[str, ...]) -> str | None:
    """The one known word that this is a slip of; swapped letters come before wrong ones."""
    if len(word) < _TYPO_LENGTH or not word.isalpha() or word in PLAIN_WORDS:
        return None
    near = [each for each in known if _is_slip(word, each)]
    swapped = [each for each in near if sorted(each) == sorted(word)]
    same_start = [each for each in near if each[0] == word[0]]
    for some in (swapped, same_start):
        if len(some) == 1:
            return some[0]
    return None


def _is_slip(word: str, known: str) -> bool:
    if len(known) < _TYPO_LENGTH or abs(len(word) - len(known)) > 1:
        return False
    if len(word) == _TYPO_LENGTH and word[0] != known[0]:
        return False
    most = 1 if len(known) < _LONG_WORD else 2
    return damerau_levenshtein_distance(word, known) <= most


UNKNOWN: Final = "unknown"
SURE, UNSURE = 0.95, 0.2
_UNRESOLVED, _AMBIGUOUS, _LEAST = 0.2, 0.3, 0.1


class Category(StrEnum):
    """Kind of an utterance."""

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
    """One of several possible meanings of a name."""

    id: str
    name: str
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityRef:
    """A named item; without `id` nothing matches, or one of `candidates` does."""

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
    """One intended action of a character, in the order of the utterance."""

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
    """Reading of an utterance without a recognised action."""
    return ActionFrame(
        verb=UNKNOWN,
        subject=subject.id,
        raw_text=said,
        confidence=UNSURE,
        ambiguity=("unknownVerb",),
    )
