"""Frame keys: under which words a statement is found by those that may conflict with it.

A key joins what a statement is about with what it says of it. Two statements that share no key do
not speak of the same, so that rivals are looked up and never searched for.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from canonry.domain.frames.frames import Frame
from canonry.domain.frames.reading import frames_of
from canonry.domain.frames.senses import topics_of

KEYS_MAX: Final = 24
"""The most keys of a statement; those of its first clauses come first."""

_ANCHORS: Final = 4
_ANYBODY: Final = "*"


def frame_keys(statement: str, entities: Iterable[str] = ()) -> tuple[str, ...]:
    """The keys of a statement that is linked with these entities, the most telling first."""
    linked = sorted(set(entities))[:_ANCHORS]
    topics = _topics(statement)
    keys = [
        f"{anchor}|{topic}"
        for words, told in topics
        for topic in told
        for anchor in (*words, *(f"@{entity}" for entity in linked))
    ]
    return tuple(dict.fromkeys(keys))[:KEYS_MAX]


@lru_cache(maxsize=16_384)
def _topics(statement: str) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    return tuple((tuple(_anchors(one)), tuple(_told(one))) for one in frames_of(statement))


def _anchors(frame: Frame) -> Iterator[str]:
    """What the frame is about: whom its subject belongs to, else the subject, or anybody."""
    if frame.person or not frame.subject:
        yield _ANYBODY
    owners = [phrase for phrase in frame.subject[1:] if phrase.role == "of"]
    members = [phrase for phrase in frame.subject if not phrase.role]
    about = owners or members or frame.subject[:1]
    yield from dict.fromkeys(phrase.head for phrase in about[:_ANCHORS])


def _told(frame: Frame) -> Iterator[str]:
    """What it says: the verb, the heads of its phrases, and whose attribute it gives."""
    found: dict[str, None] = {}
    if frame.verb not in {"be", "have"}:
        found.update(dict.fromkeys(topics_of(frame.verb)))
    for phrase in frame.phrases[:_ANCHORS]:
        found.update(dict.fromkeys(topics_of(phrase.head)))
    if any(phrase.role == "of" for phrase in frame.subject):
        found[frame.subject[0].head] = None
    if not found:
        found["be"] = None
    yield from list(found)
