"""The lexicon of verbs and other words, and the frames that they become."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from typing import Final

from jellyfish import damerau_levenshtein_distance

from canonry.language.reading.figures import number_of
from canonry.language.reading.tokens import word_table
from canonry.language.texts.english import lemma_of
from canonry.readmodels.edges import Direction
from canonry.values.data_files import read_toml

UNKNOWN: Final = "unknown"
_TYPO_LENGTH: Final = 4
_LONG_WORD: Final = 8
_FIGURES: Final = 9  # a number has at most this many figures


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


def groups_of(texts: Mapping[str, str]) -> Mapping[str, tuple[str, ...]]:
    """Return the words of each group, where `{name}` takes those of a group before it."""
    found: dict[str, tuple[str, ...]] = {}
    for name, text in texts.items():
        whole = text.format_map({each: " ".join(some) for each, some in found.items()})
        found[name] = tuple(whole.split())
    return {name: tuple(word.replace("_", " ") for word in some) for name, some in found.items()}


TABLES: Final = read_toml(__package__, "words.toml")
_GROUPS: Final = groups_of(TABLES["groups"])
GROUPS: Final = {name: frozenset(some) for name, some in _GROUPS.items()}
STEMS: Final = {name: frozenset(map(lemma_of, some)) for name, some in _GROUPS.items()}
"""The groups of words, and of the stems of their words."""
DIRECTIONS: Final = {
    word: Direction(name) for name, words in TABLES["directions"].items() for word in words.split()
}
VERBS: Final = (*TABLES["verbs"], UNKNOWN)


def words_for(table: str, verb: str) -> tuple[str, ...]:
    """Return the words of a verb in a table, or those of all verbs that it does not list."""
    by_verb: Mapping[str, str] = TABLES[table]
    return tuple(by_verb.get(verb, by_verb.get("other", "")).format_map(_JOINED).split())


_JOINED: Final = {name: " ".join(some) for name, some in _GROUPS.items()}


def _listed_verbs() -> Iterator[VerbForm]:
    for verb, texts in TABLES["verbs"].items():
        for each in texts.split():
            text, _, direction = each.partition("=")
            yield VerbForm(
                words=tuple(text.rstrip("*").split("_")),
                verb=verb,
                direction=Direction(direction) if direction else None,
                tool_first=text.endswith("*"),
            )


def _derived_verbs() -> Mapping[str, str]:
    """Return what the verbs of `verbs.txt` mean."""
    text = files(__package__).joinpath("verbs.txt").read_text("utf-8").replace("\n ", " ")
    groups = (line.partition(": ") for line in text.splitlines() if not line.startswith("#"))
    return {word: verb for verb, _, words in groups for word in words.split()}


def _verb_forms() -> Mapping[str, tuple[VerbForm, ...]]:
    found: dict[str, list[VerbForm]] = defaultdict(list)
    for form in _listed_verbs():
        found[lemma_of(form.words[0])].append(form)
    for word, verb in _derived_verbs().items():
        if all(len(form.words) > 1 for form in found[lemma_of(word)]):
            found[lemma_of(word)].append(VerbForm(words=(word,), verb=verb, derived=True))
    return {
        stem: tuple(sorted(forms, key=lambda form: -len(form.words)))
        for stem, forms in found.items()
    }


FORMS: Final = _verb_forms()
"""By the stem of their first word, the longest first."""
_FIRST: Final = tuple(sorted({f.words[0] for e in FORMS.values() for f in e if not f.derived}))
PLAIN_WORDS: Final = GROUPS["plain"] | set(DIRECTIONS)


@lru_cache(maxsize=8_192)  # each reading asks for each word: bench.table, utterances
def count_of(word: str) -> int | None:
    """Return the whole number that a word or figures mean; None: it is none, or is too large."""
    words = word_table("en")
    found = words.scales.get(word) or number_of(word, words)
    whole = found is not None and found > 0 and found.is_integer() and len(word) <= _FIGURES
    return int(found) if whole and found is not None else None


@lru_cache(maxsize=8_192)  # spelling is searched once a word: bench.table, utterances
def forms_of(word: str) -> tuple[tuple[VerbForm, ...], bool]:
    """Return the verbs that begin with this word, and whether its spelling was corrected."""
    known = FORMS.get(lemma_of(word))
    if known is not None:
        exact = tuple(form for form in known if form.words[0] == word)
        return (*exact, *(form for form in known if form.words[0] != word)), False
    meant = correct_spelling(word, _FIRST)
    return (FORMS[lemma_of(meant)], True) if meant else ((), False)


@lru_cache(maxsize=8_192)  # spelling is searched once a word: bench.table, utterances
def direction_of(word: str) -> Direction | None:
    """The direction that a word names, with a slip in long ones."""
    if word in DIRECTIONS:
        return DIRECTIONS[word]
    long = tuple(each for each in DIRECTIONS if len(each) > _TYPO_LENGTH)
    meant = correct_spelling(word, long)
    return DIRECTIONS[meant] if meant else None


def correct_spelling(word: str, known: tuple[str, ...]) -> str | None:
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
    """Something that the character can name: what is there, what they carry, where exits lead.

    `direction` is by which exit a location is reached.
    """

    id: str
    kind: str
    name: str
    direction: Direction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NameCandidate:
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
    candidates: tuple[NameCandidate, ...] = ()


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
class UtteranceReading:
    """An utterance as it was read; where something is unclear, the player is asked."""

    frames: tuple[ActionFrame, ...]
    category: Category
    confidence: float

    @property
    def needs_clarification(self) -> bool:
        """Return whether the player must be asked before anybody acts."""
        return self.category is Category.UNCLEAR or any(each.ambiguity for each in self.frames)


def find_unclear(
    direct: EntityRef | None, secondary: EntityRef | None, sure: float = SURE
) -> tuple[tuple[str, ...], float]:
    """Return the unclear ones of the named items, and the certainty of a frame that had `sure`."""
    ambiguity = []
    for ref, name in ((direct, "Object"), (secondary, "Target")):
        if ref is not None and ref.id is None:
            ambiguity.append(f"ambiguous{name}" if ref.candidates else f"unknown{name}")
            sure -= _AMBIGUOUS if ref.candidates else _UNRESOLVED
    return tuple(ambiguity), round(max(sure, _LEAST), 2)


def unknown_frame(text: str, subject: Nameable) -> ActionFrame:
    """Reading of an utterance without a recognised action."""
    return ActionFrame(
        verb=UNKNOWN,
        subject=subject.id,
        raw_text=text,
        confidence=UNSURE,
        ambiguity=("unknownVerb",),
    )
