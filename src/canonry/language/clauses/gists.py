"""Gists: whom a statement speaks of and in which words, where its frames do not tell enough."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from canonry.language.clauses.frames import Standing, words_of
from canonry.language.clauses.quantities import is_coin, number_of
from canonry.language.clauses.reading import frames_of
from canonry.language.clauses.tokens import Token, lemma, sentences_in
from canonry.language.clauses.topics import topics_of
from canonry.language.texts.stems import DEFAULT, STOP_WORDS, languages_of, stem_of, terms_of
from canonry.language.words.frame_words import CLOSING, NEGATIONS

_EMPTY: Final = frozenset[str]()
_LIGHT: Final = frozenset({",", "'s", "s", "piece", "get", "go", "come", "take", "make", "give"})
_SILENT: Final = frozenset(map(lemma, STOP_WORDS[DEFAULT] | NEGATIONS[DEFAULT] | _LIGHT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gist:
    """A statement as words without order; all are stems, of which `forms` has the words.

    `everything` is the words and the names. `subject` and `when` are empty where no frame was read,
    as in other languages than English.
    """

    words: frozenset[str]
    everything: frozenset[str]
    forms: dict[str, str] = field(default_factory=dict)
    subject: frozenset[str] = _EMPTY
    topics: dict[str, frozenset[int]] = field(default_factory=dict)
    negative: bool = False
    closing: bool = False
    when: frozenset[str] = _EMPTY
    told: bool = True
    framed: bool = True


@lru_cache(maxsize=16_384)
def gist_of(statement: str) -> Gist:
    """The gist of a statement in any language."""
    frames = frames_of(statement)
    if not frames:
        return _unframed(statement, languages_of(terms_of(statement))[0])
    tokens = [token for sentence in sentences_in(statement) for token in sentence]
    said = {token.word for token in tokens}
    names = frozenset(token.stem for token in tokens if token.name)
    kept = (token for token in tokens if token.stem not in _SILENT and not is_coin(token.word))
    forms = {_plain(token): token.word for token in kept}
    words = frozenset(forms) - names
    return Gist(
        words=words,
        everything=words | names,
        forms=forms,
        subject=words_of(frames[0].subject),
        topics={word: topics for word in words if (topics := topics_of(word))},
        negative=len(said & NEGATIONS[DEFAULT]) % 2 == 1,
        closing=bool(said & CLOSING),
        when=_EMPTY.union(*(frame.when for frame in frames)),
        told=all(frame.standing is not Standing.SAID for frame in frames),
    )


@lru_cache(maxsize=16_384)
def stems_in(names: str) -> frozenset[str]:
    """The stems of the words of names."""
    return frozenset(map(lemma, terms_of(names)))


def _plain(token: Token) -> str:
    number = number_of(token.word)
    return token.stem if number is None else str(number)


def gists_of(one: str, other: str) -> tuple[Gist, Gist]:
    """The gists of both; where only one shows its language, the other is taken to be in it."""
    first, second = gist_of(one), gist_of(other)
    if first.framed == second.framed:
        return first, second
    language = languages_of(terms_of(other if first.framed else one))[0]
    return _unframed(one, language), _unframed(other, language)


@lru_cache(maxsize=4_096)
def _unframed(statement: str, language: str) -> Gist:
    terms = terms_of(statement)
    denied = NEGATIONS.get(language, _EMPTY)
    silent = STOP_WORDS[language] | denied
    words = frozenset(stem_of(language, term) for term in terms if term not in silent)
    return Gist(
        words=words,
        everything=words,
        negative=len(denied.intersection(terms)) % 2 == 1,
        framed=False,
    )
