"""Topics: words that belong together, by which statements meet in other words.

The topics stand in files beside the vocabularies, a topic a line. `topics.txt` was made of the
vectors of the default model, by `python -m bench.contradictions.topics`; `opposites.txt` has words
that are set against each other, and was written by hand. A topic's number is stored with views, so
that another order of the lines needs another version of the views.
"""

from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

from canonry.language.clauses.tokens import lemma
from canonry.language.texts.stems import DEFAULT, STOP_WORDS

_FOLDER: Final = "canonry.language.words"
_NONE: Final = frozenset[int]()


@lru_cache(maxsize=32_768)
def topics_of(stem: str) -> frozenset[int]:
    """The numbers of the topics that an English stem belongs to; mostly none to three."""
    return _topics().get(stem, _NONE)


@cache
def _topics() -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for number, stems in enumerate(_lines()):
        for stem in stems:
            found.setdefault(stem, set()).add(number)
    return {stem: frozenset(numbers) for stem, numbers in found.items()}


def _lines() -> Iterator[list[str]]:
    folder, stops = files(_FOLDER), STOP_WORDS[DEFAULT]
    for line in (folder / "opposites.txt").read_text("utf-8").splitlines():
        yield [lemma(word) for word in line.split() if word not in stops]
    for line in (folder / "topics.txt").read_text("utf-8").splitlines():
        yield line.split()
