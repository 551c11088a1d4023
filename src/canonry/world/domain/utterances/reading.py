"""Reading: an utterance as action frames in order, resolved against what the character can name."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from canonry.world.domain.utterances.alternations import by_noun, by_result
from canonry.world.domain.utterances.clauses import (
    ClauseKind,
    SpokenClause,
    SpokenWord,
    clauses_of,
)
from canonry.world.domain.utterances.frames import (
    SURE,
    UNKNOWN,
    ActionFrame,
    Category,
    Heard,
    Nameable,
    unknown_frame,
)
from canonry.world.domain.utterances.hearing import PERSONS_FIRST, finished, heard
from canonry.world.domain.utterances.memory import Hearing, LastNamed
from canonry.world.domain.utterances.naming import NounPhrase, named, phrase_of

UTTERANCE_MAX: Final = 500
FRAMES_MAX: Final = 8
_NOT_TWICE: Final = frozenset({"rest", "wait", "hide", "talk", "look", "defend", "emote"})
_AS_ONE: Final = frozenset({"talk", "rest", "defend"})


def read_utterance(
    text: str, subject: Nameable, known: Sequence[Nameable], previous: Iterable[str] = ()
) -> Heard:
    """The frames of what a character's player says; `previous` are their last utterances."""
    memory = LastNamed()
    names = frozenset(
        word.casefold() for thing in known if thing.kind in {"player", "character"}
        for word in thing.name.split()
    )  # fmt: skip
    for earlier in previous:
        for clause in clauses_of(earlier[:UTTERANCE_MAX], names):
            _frames(clause, Hearing(earlier, subject, known, memory))
    clauses = clauses_of(text[:UTTERANCE_MAX], names)
    frames: list[ActionFrame] = []
    for clause in clauses:
        frames += _frames(clause, Hearing(text, subject, known, memory))
    some = _once([frame for frame in frames if frame.verb != UNKNOWN])
    category = _category(clauses, some)
    if some or category is not Category.UNCLEAR:
        kept = tuple(some[:FRAMES_MAX])
    else:
        kept = (unknown_frame(text[:UTTERANCE_MAX], subject),)
    sure = min((frame.confidence for frame in kept), default=SURE)
    return Heard(frames=kept, category=category, confidence=sure)


def _once(frames: Sequence[ActionFrame]) -> list[ActionFrame]:
    """The frames without those that only say again, or in quotes, what the one before says."""
    kept: list[ActionFrame] = []
    for frame in frames:
        last = kept[-1] if kept else None
        again = (
            last is not None
            and frame.verb in _NOT_TWICE
            and (replace(frame, raw_text=last.raw_text) == last)
        )
        if last is not None and last.verb == frame.verb and frame.verb in _AS_ONE and not again:
            blank = next((f for f in (last, frame) if f.direct is None and f.topic is None), None)
            if blank is not None:
                kept[-1] = frame if blank is last else last
                continue
        if not again:
            kept.append(frame)
    return kept


def _category(clauses: Sequence[SpokenClause], frames: Sequence[ActionFrame]) -> Category:
    kinds = {
        clause.kind for clause in clauses if clause.kind in {ClauseKind.ASKING, ClauseKind.ASIDE}
    }
    told: set[Category] = {_META[kind] for kind in kinds}
    told |= {Category.SPEECH if f.verb == "talk" else Category.ACTION for f in frames}
    if not told:
        return Category.UNCLEAR
    return told.pop() if len(told) == 1 else Category.MIXED


_META: Final = {ClauseKind.ASKING: Category.QUESTION, ClauseKind.ASIDE: Category.OOC}


def _frames(clause: SpokenClause, hearing: Hearing) -> list[ActionFrame]:
    """The frames of one clause: as many as things are named in a row."""
    if clause.kind in {ClauseKind.ASKING, ClauseKind.ASIDE}:
        return []
    if clause.condition:
        _note_all(clause.condition, hearing)
    clause = by_noun(clause, hearing.known)
    if clause.form is not None:
        return heard(by_result(clause), hearing)
    if clause.kind is ClauseKind.DOING:
        return [unknown_frame(hearing.raw(clause), hearing.subject)]
    to = named(phrase_of(clause.cut), hearing.known, PERSONS_FIRST) if clause.cut else None
    hearing.memory.note(to)
    said = clause.rest
    topic = hearing.text[said[0].start : said[-1].end] if said else None
    return [finished("talk", clause, hearing, direct=to, topic=topic)]


def _note_all(words: Sequence[SpokenWord], hearing: Hearing) -> None:
    for word in words:
        ref = named(NounPhrase((word,)), hearing.known)
        hearing.memory.note(ref if ref and ref.id and ref.confidence == 1.0 else None)
