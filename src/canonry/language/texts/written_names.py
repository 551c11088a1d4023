"""Written names: what in a text may name somebody, as a whole name or as a part of one.

A whole name is looked for anywhere; a part, such as a first name, only where nothing else belongs
to it: "Anna Huber" says nothing of Anna Berg.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Final, NamedTuple

from canonry.language.texts.stems import STOP_WORDS, languages_of, terms_of
from canonry.values.json_values import folded, plain_signs

_WORDS_MAX: Final = 60
"""Further words of a text are not looked at."""
_NAME_WORDS: Final = 5
_UNSPACED_NAME: Final = 12
"""Characters of the longest name that is looked for where no spaces part the words."""
_UNSPACED_MAX: Final = 120
"""Further characters of such a text are not looked at."""
_PART_MIN: Final = 2
_AROUND: Final = '"()[],.;:!?'

_WORD: Final = re.compile(r"[^\W_]+(?:[-.'\u00b7\u30fb][^\W_]+)*")
_GENITIVES: Final = ("'s", "'S")
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
"""Letters of scripts without spaces between words: Thai, Lao, Burmese, Khmer, kana, Han."""
_KOREAN: Final = re.compile(
    "([\uac00-\ud7a3]{2,}?)(?:\uc528|\ub2d8)?(?:\uc740|\ub294|\uc774|\uac00|\uc744|\ub97c|\uc758"
    "|\uc5d0\uac8c|\uc5d0\uc11c|\uaed8\uc11c|\ud55c\ud14c|\uc5d0|\uc640|\uacfc|\ub3c4|\ub9cc"
    "|\uc774\ub791|\ub791|\uc73c\ub85c|\ub85c)?"
)
"""A Korean word: a name, and the particles that are written onto it."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BINDING: Final = _words("al bin da de del della den der di du ibn la le of the van von zu")
"""Small words within a longer name."""
_TITLES: Final = _words(
    "aunt brother captain dame doctor dr father frau herr king lady lord madam master miss mister"
    " mother mr mrs ms mx prince princess prof professor queen saint sir sister st uncle"
)
"""What may be left out before a name."""
_EPITHETS: Final = _TITLES | _words(
    "big black blue good great green grey little new old red the tall white young"
)
"""What stands before names and means nobody by itself."""


class WrittenName(NamedTuple):
    """Where in the plain text something stands that may be a name, and its folded form.

    A `small` one is a single word without a capital; it counts as it is written alone. A `part`
    is what somebody may be called for short.
    """

    start: int
    end: int
    form: str
    small: bool = False
    part: bool = False


def names_written(text: str) -> list[WrittenName]:
    """Everything in the text that may be a name, in its order, of equal starts the longest first.

    Parts come after whole names.
    """
    plain = plain_signs(text)
    words = [found.span() for found in islice(_WORD.finditer(_shape(plain)), _WORDS_MAX)]
    # Names say nothing of the language: Mia is a name here, and Italian for "my".
    small = (plain[start:end] for start, end in words if plain[start].islower())
    stops = _stops(languages_of(terms_of(" ".join(small))))
    whole = [*_spaced(plain, words, stops), *_unspaced(plain, words)]
    whole.sort(key=lambda each: (each.start, -each.end))
    return [*whole, *_parts(plain, words, stops)]


@cache
def _stops(languages: tuple[str, ...]) -> frozenset[str]:
    return frozenset[str]().union(*(STOP_WORDS[each] for each in languages))


def unknown_name(text: str) -> str | None:
    """The first run of capitalised words that may name somebody, as it is written."""
    plain = plain_signs(text)
    runs = (plain[e.start : e.end] for e in names_written(text) if e.part)
    return next(map(_without_genitive, runs), None)


def is_part_of(form: str, name: str) -> bool:
    """Whether a form is some of the words of a name."""
    return f" {form} " in f" {words_of_name(name)} "


def words_of_name(name: str) -> str:
    """The words of a name as its parts are compared: folded, without what stands around them."""
    words = (word.strip(_AROUND) for word in folded(name).replace("'", "").split())
    return " ".join(filter(None, words))


def part_meant(name: str) -> str:
    """The words of a name without titles before them, as its parts are compared."""
    words = words_of_name(name).split()
    titles = 0
    while titles < len(words) - 1 and words[titles] in _TITLES:
        titles += 1
    return " ".join(words[titles:])


def name_parts(name: str) -> frozenset[str]:
    """The words of a name of several words by each of which its bearer may be meant."""
    words = words_of_name(name).split()
    return frozenset(filter(_may_be_part, words)) if len(words) > 1 else frozenset()


def _without_genitive(written: str) -> str:
    return written[:-2] if written.endswith(_GENITIVES) else written


def _may_be_part(word: str) -> bool:
    return len(word) >= _PART_MIN and word not in _EPITHETS and word not in _BINDING


def _shape(text: str) -> str:
    """The text with a letter for each mark, so that a word goes on over its marks."""
    if text.isascii():
        return text
    return "".join("a" if _is_mark(c) else c for c in text)


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def _spaced(
    plain: str, words: Sequence[tuple[int, int]], stops: frozenset[str]
) -> Iterator[WrittenName]:
    for first, (start, _) in enumerate(words):
        for count, (_, end) in enumerate(words[first : first + _NAME_WORDS], start=1):
            small = count == 1 and plain[start].islower()
            written = plain[start:end]
            if not small or written not in stops:
                yield WrittenName(start, end, folded(written), small)
            if written.endswith(_GENITIVES):
                yield WrittenName(start, end, folded(written[:-2]), small)


def _unspaced(plain: str, words: Sequence[tuple[int, int]]) -> Iterator[WrittenName]:
    """What may be a name within words that are not parted by spaces, or that have particles."""
    left = _UNSPACED_MAX
    for start, end in words:
        if (korean := _KOREAN.fullmatch(plain, start, end)) is not None:
            yield WrittenName(start, end, folded(korean[1]))
        if _UNSPACED.search(plain, start, end) is None:
            continue
        stop = min(end, start + left)
        left -= stop - start
        ends = [at for at in range(start, stop + 1) if at == end or not _is_mark(plain[at])]
        for n, begin in enumerate(ends):
            for at in ends[n + 1 :]:
                if 1 < at - begin <= _UNSPACED_NAME:
                    yield WrittenName(begin, at, folded(plain[begin:at]))


def _parts(
    plain: str, words: Sequence[tuple[int, int]], stops: frozenset[str]
) -> Iterator[WrittenName]:
    """The runs of capitalised words, without what only begins a sentence and without titles."""
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
    """The last of the words, from the first on, that are written as one name."""
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
