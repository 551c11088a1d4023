"""Words, their stems, and names in texts."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple

import snowballstemmer  # type: ignore[import-untyped] # it carries no types
from jellyfish import damerau_levenshtein_distance

from canonry.values.data_files import read_toml
from canonry.values.json_values import fold_text, plain_signs

_WORD: Final = re.compile(r"\w+", re.UNICODE)


def terms_of(text: str) -> tuple[str, ...]:
    """Return the words of `text`: letters and digits, with signs, case and accents folded."""
    plain = plain_signs(text).casefold()
    if not plain.isascii():  # ASCII, the common case, has no accents to fold
        decomposed = unicodedata.normalize("NFKD", plain)
        plain = "".join(c for c in decomposed if not unicodedata.combining(c))
        plain = plain.casefold()  # a sign such as the service mark decomposes into capitals
    return tuple(_WORD.findall(plain.replace("_", " ")))


# Stems: words without their endings, so that "climbed" finds "climbing".
#
# The stop words of a text show its language; without any it counts as English. A query is stemmed
# in every language that it may be in, because a short text gives little evidence.

DEFAULT: Final = "english"

_LONG_ENOUGH: Final = 4
_LONG: Final = 7  # the lengths from which one or two misspelled letters are accepted

LONGEST: Final = 64
"""A longer word is neither stemmed nor compared for misspellings, because that is slow."""

_PREFIX_LENGTH: Final = 3
_QUOTED: Final = re.compile(r'"([^"]+)"')
_BEGUN: Final = re.compile(r"(?<!\w)(\w++)\*")

WORDS: Final = read_toml(__package__, "words.toml")
STOP_WORDS: Final = {name: frozenset(words.split()) for name, words in WORDS["stop"].items()}
"""Insignificant words by language, as `terms_of` cuts them."""
DENYING: Final = {name: frozenset(words.split()) for name, words in WORDS["deny"].items()}
"""Denying words of each language, as `terms_of` cuts them.

The languages are separate: "sin" denies in Spanish only, and Portuguese "no" is "in the".
"""

_STOPPED_IN: Final = {
    word: tuple(language for language, stops in STOP_WORDS.items() if word in stops)
    for word in frozenset[str]().union(*STOP_WORDS.values())
}


def is_stop_word(term: str) -> bool:
    """Return whether a term, as `terms_of` cuts it, is a stop word of any language."""
    return term in _STOPPED_IN


def languages_of(terms: Iterable[str]) -> tuple[str, ...]:
    """Return the languages with the most stop words among terms or counts; several if equal."""
    counts = terms if isinstance(terms, Counter) else Counter(terms)
    evidence: dict[str, int] = {}
    for term, language in [(t, one) for t in counts for one in _STOPPED_IN.get(t, ())]:
        evidence[language] = evidence.get(language, 0) + counts[term]
    most = max(evidence.values(), default=0)
    return tuple([one for one in STOP_WORDS if evidence.get(one) == most]) or (DEFAULT,)


def stems_of(text: str) -> tuple[str, ...]:
    """Return the stems of a passage in order, with stop words, which phrases need."""
    terms = terms_of(text)
    language = languages_of(terms)[0]
    return tuple([stem_of(language, term) for term in terms])


def query_stems(text: str) -> tuple[str, ...]:
    """Return the stems that a query searches, each once and in order.

    Stop words are left out unless it has no others. English is tried besides the languages of the
    query.
    """
    terms = terms_of(text)
    languages = dict.fromkeys((*languages_of(terms), DEFAULT))
    spoken = languages_of(terms)
    content_terms = [t for t in terms if not any(t in STOP_WORDS[language] for language in spoken)]
    found = [stem_of(language, term) for term in content_terms or terms for language in languages]
    return tuple(dict.fromkeys(found))


def phrases_in(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the texts in double quotes as sequences of stems; a single word is no phrase."""
    spoken = languages_of(terms_of(text))[0]
    cut = (tuple(stem_of(spoken, t) for t in terms_of(quoted)) for quoted in _QUOTED.findall(text))
    return tuple(dict.fromkeys(phrase for phrase in cut if len(phrase) > 1))


def prefixes_in(text: str) -> tuple[str, ...]:
    """Return the prefixes before an asterisk, as in "kragh*", of three letters or more."""
    cut = (terms_of(begun)[-1:] for begun in _BEGUN.findall(text))
    found = (term for terms in cut for term in terms if len(term) >= _PREFIX_LENGTH)
    return tuple(dict.fromkeys(found))


def is_near(one: str, other: str) -> bool:
    """Return whether two stems may be one misspelled word: one slip, or two in a long word.

    A slip is a missing, extra or wrong letter, or two swapped letters. Short words never match,
    because too many of them differ by one letter.
    """
    if max(len(one), len(other)) > LONGEST:
        return one == other
    slips = allowed_slips(min(len(one), len(other)))
    if abs(len(one) - len(other)) > slips:
        return False
    return damerau_levenshtein_distance(one, other) <= slips


def allowed_slips(letters: int) -> int:
    """Return the slips allowed between two words; `letters` is the shorter one's length."""
    return 0 if letters < _LONG_ENOUGH else 1 if letters < _LONG else 2


def near_lengths(letters: int) -> tuple[int, int]:
    """Return the shortest and longest possible misspelling of a word of `letters`."""
    most = allowed_slips(letters)
    less = (n for n in range(1, most + 1) if n <= allowed_slips(letters - n))
    return letters - max(less, default=0), letters + most


def stem_of(language: str, term: str) -> str:
    """Return the stem of a word; a very long word and a number stay as they are."""
    return term if len(term) > LONGEST or term.isdecimal() else _known_stem(language, term)


@lru_cache(maxsize=16_384)  # a search stems 361 known terms: bench compare, find
def _known_stem(language: str, term: str) -> str:
    return str(_new_stemmer(language).stemWord(term))


@lru_cache(maxsize=16)  # a stemmer takes longer to make than to use: bench compare, find
def _new_stemmer(language: str) -> Any:
    stemmer = snowballstemmer.stemmer(language)
    stemmer.maxCacheSize = 0  # this module has a cache of its own
    return stemmer


# Names in texts: whole names, and parts of names.
#
# A whole name is found anywhere. A part, such as a first name, is found only without other name
# words next to it: "Anna Huber" does not mention Anna Berg.

_WORDS_MAX: Final = 60  # further words of a text are not read
_NAME_WORDS: Final = 5  # longer names are titles
_UNSPACED_NAME: Final = 12  # the longest name in scripts without spaces, in characters
_UNSPACED_MAX: Final = 120  # further characters of a text without spaces are not read
_PART_MIN: Final = 2
_AROUND: Final = '"()[],.;:!?'

_NAME_WORD: Final = re.compile(r"[^\W_]+(?:[-.'\u00b7\u30fb][^\W_]+)*")
_GENITIVES: Final = ("'s", "'S")
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
"""Letters of scripts without spaces between words: Thai, Lao, Burmese, Khmer, kana, Han."""
_KOREAN: Final = re.compile(WORDS["names"]["korean"])
"""A Korean word: a name with attached particles."""


_BINDING, _TITLES, EPITHETS = (
    frozenset(WORDS["names"][each].split()) for each in ("binding", "titles", "epithets")
)
"""Small words within a longer name, optional ones before it, and those that identify nobody."""


class WrittenName(NamedTuple):
    """A possible name: its position in the plain text, and its folded form.

    A `small` one is a single word without a capital; it counts only if it stands alone. A `part`
    may be the short form of a name.
    """

    start: int
    end: int
    form: str
    small: bool = False
    part: bool = False


@lru_cache(maxsize=256)  # each step of a proposal reads the same text
def find_names(text: str) -> tuple[WrittenName, ...]:
    """Return all possible names in the text in order, at equal starts the longest first.

    Parts come after whole names. A claim is read by each attempt to commit it and for its names, so
    that without the cache `bench compare` shows the creation of a fact 5 % slower.
    """
    plain = plain_signs(text)
    unlettered = not plain.isascii()
    # Letters stand for combining marks, so that words continue over them.
    lettered = "".join("a" if _is_mark(c) else c for c in plain) if unlettered else plain
    words = [found.span() for found in islice(_NAME_WORD.finditer(lettered), _WORDS_MAX)]
    # Names do not show the language: Mia is a name, and Italian for "my".
    small = (plain[start:end] for start, end in words if plain[start].islower())
    stops = _stop_words(languages_of(terms_of(" ".join(small))))
    whole = [*_names_in_spaced(plain, words, stops)]
    if unlettered:
        whole += _names_in_unspaced(plain, words)
    whole.sort(key=lambda each: (each.start, -each.end))
    return (*whole, *_name_runs(plain, words, stops))


@cache  # one set for each choice of languages: bench compare, propose
def _stop_words(languages: tuple[str, ...]) -> frozenset[str]:
    return frozenset[str]().union(*(STOP_WORDS[each] for each in languages))


def unknown_name(text: str) -> str | None:
    """Return the first run of capitalised words that may be a name, as written."""
    plain = plain_signs(text)
    runs = (plain[e.start : e.end] for e in find_names(text) if e.part)
    return next(map(_without_genitive, runs), None)


def is_part_of(form: str, name: str) -> bool:
    """Return whether a form consists of some words of a name."""
    return f" {form} " in f" {words_of_name(name)} "


def words_of_name(name: str) -> str:
    """Return a name's words in the form in which parts are compared."""
    words = (word.strip(_AROUND) for word in fold_text(name).replace("'", "").split())
    return " ".join(filter(None, words))


def untitled_words(name: str) -> str:
    """Return the words of a name without titles, in the same form."""
    words, titles = words_of_name(name).split(), 0
    while titles < len(words) - 1 and words[titles] in _TITLES:
        titles += 1
    return " ".join(words[titles:])


def name_parts(name: str) -> frozenset[str]:
    """Return the words of a longer name that alone may mean its owner."""
    words = words_of_name(name).split()
    return frozenset(filter(_may_be_part, words)) if len(words) > 1 else frozenset()


def _without_genitive(written: str) -> str:
    return written[:-2] if written.endswith(_GENITIVES) else written


def _may_be_part(word: str) -> bool:
    return len(word) >= _PART_MIN and word not in EPITHETS and word not in _BINDING


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def _names_in_spaced(
    plain: str, words: Sequence[tuple[int, int]], stops: frozenset[str]
) -> Iterator[WrittenName]:
    for first, (start, _) in enumerate(words):
        for count, (_, end) in enumerate(words[first : first + _NAME_WORDS], start=1):
            small = count == 1 and plain[start].islower()
            written = plain[start:end]
            if not small or written not in stops:
                yield WrittenName(start, end, fold_text(written), small)
            if written.endswith(_GENITIVES):
                yield WrittenName(start, end, fold_text(written[:-2]), small)


def _names_in_unspaced(plain: str, words: Sequence[tuple[int, int]]) -> Iterator[WrittenName]:
    """Yield possible names in words without spaces or with particles."""
    left = _UNSPACED_MAX
    for start, end in words:
        if (korean := _KOREAN.fullmatch(plain, start, end)) is not None:
            yield WrittenName(start, end, fold_text(korean[1]))
        if _UNSPACED.search(plain, start, end) is None:
            continue
        stop = min(end, start + left)
        left -= stop - start
        ends = [at for at in range(start, stop + 1) if at == end or not _is_mark(plain[at])]
        for n, begin in enumerate(ends):
            for at in ends[n + 1 :]:
                if 1 < at - begin <= _UNSPACED_NAME:
                    yield WrittenName(begin, at, fold_text(plain[begin:at]))


def _name_runs(
    plain: str, words: Sequence[tuple[int, int]], stops: frozenset[str]
) -> Iterator[WrittenName]:
    """Yield runs of capitalised words, without sentence starts and titles."""
    first = 0
    while first < len(words):
        last = _run_end(plain, words, first)
        if plain[words[first][0]].isupper():
            begin = first
            while begin < last and plain[slice(*words[begin])].casefold() in stops | _TITLES:
                begin += 1
            start, end = words[begin][0], words[last][1]
            form = words_of_name(_without_genitive(plain[start:end]))
            if plain[start].isupper() and form not in stops and _may_be_part(form):
                yield WrittenName(start, end, form, part=True)
        first = last + 1


def _run_end(plain: str, words: Sequence[tuple[int, int]], first: int) -> int:
    """Return the last word of the name that starts at the first one."""
    last = first
    if not plain[words[first][0]].isupper():
        return last
    for at in range(first + 1, len(words)):
        between = plain[words[at - 1][1] : words[at][0]]
        before = plain[slice(*words[at - 1])]
        titled = between.strip() == "." and before.casefold() in _TITLES
        if (between.strip() and not titled) or before.endswith(_GENITIVES):
            break
        word = plain[slice(*words[at])]
        if word[:1].isupper():
            last = at
        elif word not in _BINDING:
            break
    return last


_ARTICLES: Final = frozenset({"The", "Der", "Die", "Das", "Le", "La", "Les", "El", "Los", "Las"})


def with_parts(whole: Mapping[str, str]) -> dict[str, str]:
    """Return the ids of whole names, and of each word that only one of the longer names has."""
    parts: defaultdict[str, set[str]] = defaultdict(set)
    for name, item_id in whole.items():
        words = name.split()
        for word in words if len(words) > 1 else ():
            if word[:1].isupper() and terms_of(word) and word not in _ARTICLES:
                parts[word].add(item_id)
    return {word: next(iter(ids)) for word, ids in parts.items() if len(ids) == 1} | dict(whole)
