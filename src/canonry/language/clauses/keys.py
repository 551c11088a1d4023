"""Keys and gists: the subject of a statement, and the keys of conflicting ones."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

from canonry.language.clauses.frames import (
    Standing,
    Token,
    is_coin,
    lemma,
    number_of,
    sentences_in,
    words_of,
)
from canonry.language.clauses.reading import frames_of
from canonry.language.texts.stems import DEFAULT, STOP_WORDS, languages_of, stem_of, terms_of
from canonry.language.words.frame_words import (
    CLOSING,
    ENDED,
    ENDING_VERBS,
    NEGATIONS,
    OFFICES,
    RULING,
)

# Topics: groups of related words, by which statements in other words are found.
#
# The topics are in files next to the vocabularies, one topic a line. `topics.txt` was computed from
# the vectors of the default model by `python -m bench.contradictions.topics`. `opposites.txt` has
# opposed words and was written by hand. Views store a topic's line number, so that reordering the
# lines needs a new version of the views.

_FOLDER: Final = "canonry.language.words"
_NONE: Final = frozenset[int]()


@lru_cache(maxsize=32_768)
def topics_of(stem: str) -> frozenset[int]:
    """Return the numbers of the topics of an English stem, mostly none to three."""
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


_EMPTY: Final = frozenset[str]()
_LIGHT: Final = frozenset({",", "'s", "s", "piece", "get", "go", "come", "take", "make", "give"})
_SILENT: Final = frozenset(map(lemma, STOP_WORDS[DEFAULT] | NEGATIONS[DEFAULT] | _LIGHT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gist:
    """A statement as a set of stems, of which `forms` has the words.

    `everything` is the words and the names. `subject` and `when` are empty if no frame was read, as
    in languages other than English.
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
    """Return the gist of a statement in any language."""
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
    """Return the stems of the words of names."""
    return frozenset(map(lemma, terms_of(names)))


def _plain(token: Token) -> str:
    number = number_of(token.word)
    return token.stem if number is None else str(number)


def gists_of(one: str, other: str) -> tuple[Gist, Gist]:
    """Return the gists of both; a text of unknown language is read in the other's."""
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


# Frame keys: the words under which possibly conflicting statements find each other.
#
# A key joins the subject of a statement with a word of its content. Statements without a shared key
# have different subjects, so conflicting statements are found by key and never by search.

NEAR_MAX: Final = 200
"""The most facts, the newest, that are compared with a statement about one entity."""

FAR_MAX: Final = 8
"""The most that share only words, because a statement without entities may match anything."""

_TOPICS_MAX: Final = 24
"""Further words of a very long statement are not in its keys."""

_ANCHORS: Final = 3
_ANYBODY: Final = "*"
_ENTITY: Final = "frame:@"
_WORD: Final = "frame:"
_LINKED: Final = "frame:~"
"""Starts the keys of facts about entities, for statements that name none."""

_OFFICES: Final = frozenset(map(lemma, OFFICES | RULING | ENDED | ENDING_VERBS))
"""Words for offices and their holders, and words that end an office."""


def frame_keys(
    statement: str, linked: Collection[str] = (), properties: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the keys under which a fact with this statement and these entities is found.

    Only the names of its properties count.
    """
    return _all_keys(statement, tuple(linked), tuple(properties), _LINKED if linked else _WORD)


def rival_keys(
    statement: str, about: Collection[str] = (), properties: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the keys of all facts that may conflict with this statement.

    `about` are all ids of its entities; empty: it may be about anybody.
    """
    if not about:
        return (*_keys_of_words(statement, _LINKED), *_keys_of_words(statement, _WORD))
    return _all_keys(statement, tuple(sorted(about)), tuple(properties), _WORD)


def most_under(key: str) -> int:
    """Return the most facts under a key, the newest, that are compared with a statement."""
    return NEAR_MAX if key.startswith(_ENTITY) else FAR_MAX


@lru_cache(maxsize=16_384)
def _all_keys(
    statement: str, entities: tuple[str, ...], properties: tuple[str, ...], sign: str
) -> tuple[str, ...]:
    """Return the keys of each entity, then those of the words."""
    _words, told = _keyed(statement)
    said = [*(f"={name}" for name in sorted(properties)), *told]
    near = [f"{_ENTITY}{entity}|{each}" for entity in sorted(set(entities)) for each in said]
    return (*near, *_keys_of_words(statement, sign))


def _keys_of_words(statement: str, sign: str) -> tuple[str, ...]:
    words, told = _keyed(statement)
    return tuple([f"{sign}{word}|{topic}" for topic in told for word in words])


@lru_cache(maxsize=16_384)
def _keyed(statement: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    gist = gist_of(statement)
    words = tuple(dict.fromkeys(_anchors(statement, gist)))
    return words[:_ANCHORS], tuple(_told(gist))[:_TOPICS_MAX]


def _anchors(statement: str, gist: Gist) -> Iterator[str]:
    """Yield the subjects of the statement: their owners, else the subjects, or anybody."""
    for frame in frames_of(statement):
        if frame.person or not frame.subject:
            yield _ANYBODY
        owners = [phrase for phrase in frame.subject[1:] if phrase.role == "of"]
        members = [phrase for phrase in frame.subject if not phrase.role]
        yield from (phrase.head for phrase in owners or members or frame.subject[:1])
    if not gist.framed:
        yield _ANYBODY


def _told(gist: Gist) -> Iterator[str]:
    """Yield the content: the topics of each word, or the word itself if it has none."""
    found: dict[str, None] = {}
    for word in sorted(gist.words - gist.subject) + sorted(gist.words & gist.subject):
        found.update(dict.fromkeys(map(str, sorted(gist.topics.get(word, ()))), None))
        found.update(dict.fromkeys([] if word in gist.topics else [word]))
    held = ["~office"] if gist.words & _OFFICES else []
    yield from [*held, *found] or ["be"]
