"""Frame keys: under which words a statement is found by those that may conflict with it.

A key joins what a statement is about with what it says of it. Two statements that share no key do
not speak of the same, so that rivals are looked up and never searched for.
"""

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import Final

from canonry.language.clauses.gists import Gist, gist_of
from canonry.language.clauses.reading import frames_of
from canonry.language.clauses.tokens import lemma
from canonry.language.words.frame_words import ENDED, ENDING_VERBS, OFFICES, RULING

NEAR_MAX: Final = 200
"""So many facts, the newest, are compared with what says something of one entity."""

FAR_MAX: Final = 8
"""So many with what shares words only: whoever names nobody may speak of everything."""

_TOPICS_MAX: Final = 24
"""What else a statement of very many words says is not a key of it."""

_ANCHORS: Final = 3
_ANYBODY: Final = "*"
_ENTITY: Final = "frame:@"
_WORD: Final = "frame:"
_LINKED: Final = "frame:~"
"""Before the words of what is linked with entities, for who looks without knowing any."""

_OFFICES: Final = frozenset(map(lemma, OFFICES | RULING | ENDED | ENDING_VERBS))
"""What somebody is or does by an office, and the words that end it."""


def frame_keys(
    statement: str, linked: Collection[str] = (), properties: Iterable[str] = ()
) -> tuple[str, ...]:
    """The keys under which a fact is found that states this, linked with these entities.

    Of its properties only the names count.
    """
    return _all_keys(statement, tuple(linked), tuple(properties), _LINKED if linked else _WORD)


def rival_keys(
    statement: str, about: Collection[str] = (), properties: Iterable[str] = ()
) -> tuple[str, ...]:
    """The keys of all facts that may conflict with this, said of these entities or of anybody.

    `about` are all ids by which the canon may speak of the entities.
    """
    if not about:
        return (*_keys_of_words(statement, _LINKED), *_keys_of_words(statement, _WORD))
    return _all_keys(statement, tuple(sorted(about)), tuple(properties), _WORD)


def most_under(key: str) -> int:
    """How many facts of a key, the newest, are compared with a statement at most."""
    return NEAR_MAX if key.startswith(_ENTITY) else FAR_MAX


@lru_cache(maxsize=16_384)
def _all_keys(
    statement: str, entities: tuple[str, ...], properties: tuple[str, ...], sign: str
) -> tuple[str, ...]:
    """Those of each entity, then those of the words."""
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
    """What the statement is about: whom its subjects belong to, else the subjects, or anybody."""
    for frame in frames_of(statement):
        if frame.person or not frame.subject:
            yield _ANYBODY
        owners = [phrase for phrase in frame.subject[1:] if phrase.role == "of"]
        members = [phrase for phrase in frame.subject if not phrase.role]
        yield from (phrase.head for phrase in owners or members or frame.subject[:1])
    if not gist.framed:
        yield _ANYBODY


def _told(gist: Gist) -> Iterator[str]:
    """What it says: for each word its topics, or the word itself where it has none."""
    found: dict[str, None] = {}
    for word in sorted(gist.words - gist.subject) + sorted(gist.words & gist.subject):
        found.update(dict.fromkeys(map(str, sorted(gist.topics.get(word, ()))), None))
        found.update(dict.fromkeys([] if word in gist.topics else [word]))
    held = ["~office"] if gist.words & _OFFICES else []
    yield from [*held, *found] or ["be"]
