"""The words of players: verbs with their particles, directions, numbers.

`words.txt` has them; `verbs.txt` has further verbs, which `bench.table.verbs` derived from WordNet.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final

from jellyfish import damerau_levenshtein_distance

from canonry.language.clauses.tokens import lemma
from canonry.readmodels.edges import Direction

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

    With `tool_first` what follows is what it is done with: "swing the sword at the troll". What is
    `derived` is less sure.
    """

    words: tuple[str, ...]
    verb: str
    direction: Direction | None = None
    tool_first: bool = False
    derived: bool = False


def _read(file: str) -> Mapping[str, tuple[str, ...]]:
    text = (files("canonry.world.domain.utterances") / file).read_text("utf-8")
    groups = [each for each in text.replace("\n ", " ").splitlines() if not each.startswith("#")]
    return {name: tuple(told.split()) for name, _, told in (g.partition(": ") for g in groups)}


_GROUPS: Final = _read("words.txt")
_FURTHER: Final = _read("verbs.txt")


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
