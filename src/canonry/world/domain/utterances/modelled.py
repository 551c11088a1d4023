"""Modelled readings: what a model is asked about an utterance, and what of its answer may stand.

An answer stands as a whole or not at all. Its verbs are those of the list, its words those that
were said; what a word names, the rules say where they can, and the model only of the rest.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from canonry.language.clauses.frames import lemma
from canonry.language.texts.stems import terms_of
from canonry.language.texts.visible import marked
from canonry.readmodels.edges import Direction
from canonry.values.json_values import encode_json
from canonry.world.domain.prompts.templates import Template, templates
from canonry.world.domain.utterances.hearing import FRAMES_MAX, UTTERANCE_MAX
from canonry.world.domain.utterances.lexicon import (
    UNKNOWN,
    VERBS,
    ActionFrame,
    Category,
    EntityRef,
    Heard,
    MeantThing,
    Nameable,
    unclear_in,
    unknown_frame,
)
from canonry.world.domain.utterances.naming import named, phrase_of, words_in

KNOWN_MAX: Final = 60
"""So many things are told to a model: those that share a word with the utterance before others."""
_NAME_MAX: Final = 80
_MODELLED, _EXACTLY = 0.9, 0.85
_SaidWords = Annotated[str, Meta(min_length=1, max_length=UTTERANCE_MAX)]


@cache
def template() -> Template:
    """How a model is asked; the message after this one is the context."""
    [found] = [one for one in templates() if (one.id, one.version) == ("intent", "1.0.0")]
    return found


class _NamedThing(Struct, frozen=True, forbid_unknown_fields=True):
    words: _SaidWords
    ids: Annotated[tuple[str, ...], Meta(max_length=8)] = ()


class _ToldFrame(Struct, frozen=True, forbid_unknown_fields=True):
    verb: str
    said: _SaidWords
    direct: _NamedThing | None = None
    secondary: _NamedThing | None = None
    direction: Direction | None = None
    quantity: Annotated[int, Meta(ge=1, lt=1_000_000_000)] | Literal["all"] | None = None
    topic: _SaidWords | None = None
    modifiers: Annotated[tuple[_SaidWords, ...], Meta(max_length=8)] = ()
    negated: bool = False
    conditional: bool = False


class _ToldReading(Struct, frozen=True, forbid_unknown_fields=True):
    category: Category
    frames: Annotated[tuple[_ToldFrame, ...], Meta(max_length=FRAMES_MAX)] = ()


class _UntenableError(Exception):
    """Why an answer cannot stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UtteranceQuestion:
    """An utterance as a model is asked about it; ids are short, and mean nothing elsewhere."""

    text: str
    subject: Nameable
    known: Mapping[str, Nameable]
    previous: tuple[str, ...] = ()

    def context(self) -> dict[str, Any]:
        """All that the answer may rest on."""
        things = [
            {"id": key, "kind": each.kind, "name": each.name[:_NAME_MAX]}
            | ({"direction": str(each.direction)} if each.direction else {})
            for key, each in self.known.items()
        ]
        return {"things": things, "before": list(self.previous), "utterance": self.text}

    def messages(self) -> list[dict[str, str]]:
        """The messages of the question."""
        data = encode_json(self.context()).decode()
        return [
            {"role": "system", "content": template().template},
            {"role": "user", "content": marked(data)},
        ]


def question_about(
    text: str, subject: Nameable, known: Sequence[Nameable], previous: Iterable[str] = ()
) -> UtteranceQuestion:
    """What is asked, within the bounds of what a model is told."""
    said = text[:UTTERANCE_MAX]
    stems = {lemma(word) for word in terms_of(said)}
    near = sorted(known, key=lambda each: stems.isdisjoint(map(lemma, terms_of(each.name))))
    kept = {each.id for each in near[:KNOWN_MAX]}
    told = [each for each in known if each.id in kept]
    return UtteranceQuestion(
        text=said,
        subject=subject,
        known={f"t{number}": each for number, each in enumerate(told, 1)},
        previous=tuple(each[:UTTERANCE_MAX] for each in previous),
    )


def reading_in(answer: Mapping[str, Any] | None, asked: UtteranceQuestion) -> Heard | None:
    """The reading that a model gave; None where it says anything that cannot stand."""
    try:
        told = msgspec.convert(answer, _ToldReading)
        frames = tuple(_frame(each, asked) for each in told.frames)
        category = _category(told.category, frames)
    except (_UntenableError, msgspec.ValidationError):
        return None
    if category is Category.UNCLEAR:
        frames = (unknown_frame(asked.text, asked.subject),)
    sure = min((frame.confidence for frame in frames), default=_MODELLED)
    return Heard(frames=frames, category=category, confidence=sure)


def _category(told: Category, frames: Sequence[ActionFrame]) -> Category:
    """The category, if it is one of such frames: who asks or talks out of character does nothing.

    Whoever does or says something beside that is told as mixed.
    """
    done = {Category.SPEECH if each.verb == "talk" else Category.ACTION for each in frames}
    idle = {Category.QUESTION, Category.OOC, Category.UNCLEAR}
    fits = idle if not done else {Category.MIXED, *(done if len(done) == 1 else ())}
    if told not in fits:
        raise _UntenableError
    return told


def _frame(told: _ToldFrame, asked: UtteranceQuestion) -> ActionFrame:
    if told.verb not in VERBS or told.verb == UNKNOWN:
        raise _UntenableError
    direct, secondary = _ref(told.direct, asked), _ref(told.secondary, asked)
    ambiguity, sure = unclear_in(direct, secondary, _MODELLED)
    topic = None if told.topic is None else _words(told.topic, asked.text)
    return ActionFrame(
        verb=told.verb,
        subject=asked.subject.id,
        raw_text=_words(told.said, asked.text),
        confidence=sure,
        direct=direct,
        secondary=secondary,
        direction=_direction(told, direct, asked),
        quantity=told.quantity,
        topic=topic,
        modifiers=tuple(_words(each, asked.text) for each in told.modifiers),
        negated=told.negated,
        conditional=told.conditional,
        ambiguity=ambiguity,
    )


def _words(told: str, text: str) -> str:
    """Words as they were said."""
    words, said = [[each.text for each in words_in(part)] for part in (told, text)]
    for at in range(len(said) - len(words) + 1):
        if words and said[at : at + len(words)] == words:
            spoken = words_in(text)[at : at + len(words)]
            return text[spoken[0].start : spoken[-1].end]
    raise _UntenableError


def _ref(told: _NamedThing | None, asked: UtteranceQuestion) -> EntityRef | None:
    """What was named; where words name something by themselves, a model cannot mean another."""
    if told is None:
        return None
    if not set(told.ids) <= asked.known.keys():
        raise _UntenableError
    surface = _words(told.words, asked.text)
    meant = list(dict.fromkeys(asked.known[each] for each in told.ids))
    ruled = named(phrase_of(words_in(surface)), asked.known.values())
    if ruled is not None and (ruled.id or ruled.candidates) and ruled.confidence_of_all > _EXACTLY:
        return _settled(ruled, meant, asked)
    return _meant(meant, surface)


def _settled(ruled: EntityRef, meant: Sequence[Nameable], asked: UtteranceQuestion) -> EntityRef:
    """What the rules say; of things of several kinds, those of the kind that the model meant."""
    ids = {ruled.id} if ruled.id else {each.id for each in ruled.candidates}
    if not {each.id for each in meant} <= ids:
        raise _UntenableError
    kinds = {each.kind for each in meant}
    kept = [each for each in asked.known.values() if each.id in ids and each.kind in kinds]
    return ruled if ruled.id or not kept else _meant(kept, ruled.surface)


def _meant(meant: Sequence[Nameable], surface: str) -> EntityRef:
    if not meant:
        return EntityRef(kind="latent", surface=surface, confidence=0.2)
    share = round(_MODELLED / len(meant), 2)
    ref = EntityRef(kind=meant[0].kind, surface=surface, confidence=share)
    if len(meant) == 1:
        return replace(ref, id=meant[0].id)
    told = tuple(MeantThing(id=each.id, name=each.name, confidence=share) for each in meant)
    return replace(ref, candidates=told)


def _direction(
    told: _ToldFrame, direct: EntityRef | None, asked: UtteranceQuestion
) -> Direction | None:
    """The direction; who goes to a place goes where the way to it leads."""
    goal = None if direct is None else direct.id
    ways = {each.direction for each in asked.known.values() if each.id == goal and each.direction}
    if not ways or told.verb not in {"move", "flee"}:
        return told.direction
    if told.direction is not None and told.direction not in ways:
        raise _UntenableError
    return told.direction or min(ways)
