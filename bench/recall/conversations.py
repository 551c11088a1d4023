"""Conversations with questions whose answering turns are known."""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from canonry.language.texts.stems import terms_of
from canonry.values.moments import Instant, parse_instant

HERE = Path(__file__).parent
CRD3 = HERE.parents[2] / "shared/data/crd3"
EPISODES = ("C1E001", "C1E002")
WORDS_IN_A_SENTENCE = 5
WORD_THAT_SLIPS = 6

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A turn: where it stands, who says it, what is said, and when, where that is known."""

    thread: str
    place: int
    speaker: str
    text: str
    said_at: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question of some kind, with the numbers of the turns that answer it."""

    kind: str
    text: str
    answers: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Turns that are searched together, and what is asked about them."""

    turns: tuple[Said, ...]
    questions: tuple[Question, ...]


def embedded_text(turns: tuple[Said, ...], number: int) -> str:
    """Return the embedded text of a turn: its speaker and words, after the turn before."""
    turn = turns[number]
    before = turns[number - 1] if number and turns[number - 1].thread == turn.thread else None
    return "\n".join(f"{each.speaker}: {each.text}" for each in (before, turn) if each)


def crd3() -> Conversation | None:
    """Both episodes together, or None where they are absent; the kind is the episode."""
    if not CRD3.is_dir():
        return None
    turns: list[Said] = []
    questions: list[Question] = []
    for episode in EPISODES:
        first = len(turns)
        reply: Any = json.loads((CRD3 / f"{episode}.json").read_text("utf-8"))
        for place, turn in enumerate(reply["TURNS"]):
            speaker, text = "/".join(turn["NAMES"]), " ".join(turn["UTTERANCES"])
            turns.append(Said(thread=episode, place=place, speaker=speaker, text=text))
        chunks: Any = json.loads((CRD3 / f"{episode}.aligned-4.json").read_text("utf-8"))
        for chunk in chunks:
            span = chunk["ALIGNMENT"]
            answers = range(first + span["TURN START"], first + span["TURN END"] + 1)
            question = Question(kind=episode, text=chunk["CHUNK"], answers=frozenset(answers))
            questions.append(question)
    return Conversation(turns=tuple(turns), questions=tuple(questions))


def by_sentence(conversation: Conversation) -> Conversation:
    """The same, asked by single sentences; of the turns that answer the whole some answer each."""
    questions = [
        Question(kind=question.kind, text=sentence, answers=question.answers)
        for question in conversation.questions
        for sentence in _SENTENCE_END.split(question.text)
        if len(sentence.split()) >= WORDS_IN_A_SENTENCE
    ]
    return Conversation(turns=conversation.turns, questions=tuple(questions))


def among(conversation: Conversation, others: Conversation, count: int) -> Conversation:
    """The same questions, with the first turns of another conversation beside their answers."""
    turns = (*conversation.turns, *others.turns[:count])
    return Conversation(turns=turns, questions=conversation.questions)


def of_kind(conversation: Conversation, kind: str) -> Conversation:
    """The same turns, and only the questions of a kind."""
    asked = tuple(each for each in conversation.questions if each.kind == kind)
    return replace(conversation, questions=asked)


def slipped(conversation: Conversation) -> Conversation:
    """The same, where the longest word of each question that the turns use begins wrongly.

    The slips take turns: another letter, none, one too many, and two swapped.
    """
    known = frozenset(term for turn in conversation.turns for term in terms_of(turn.text))
    questions = []
    for number, question in enumerate(conversation.questions):
        words = [word for word in terms_of(question.text) if word in known]
        word = max(words, key=len, default="")
        if len(word) >= WORD_THAT_SLIPS:
            wrong = (f"x{word[1:]}", word[1:], f"x{word}", f"{word[1]}{word[0]}{word[2:]}")[
                number % 4
            ]
            text = re.sub(rf"\b{word}\b", wrong, question.text.casefold())
            questions.append(replace(question, text=text))
    return Conversation(turns=conversation.turns, questions=tuple(questions))


def written(name: str) -> Conversation:
    """A dialogue of our own, by the name of its file."""
    reply: Any = json.loads((HERE / f"{name}.json").read_text("utf-8"))
    turns: list[Said] = []
    for number, turn in enumerate(reply["turns"]):
        when = reply.get("scenes", {}).get(turn["scene"])
        said = Said(
            thread=turn["scene"],
            place=number,
            speaker=turn["speaker"],
            text=turn["text"],
            said_at=None if when is None else parse_instant(when),
        )
        turns.append(said)
    number_of = {turn["id"]: number for number, turn in enumerate(reply["turns"])}
    questions = [
        Question(
            kind=each["kind"],
            text=each["question"],
            answers=frozenset(number_of[turn] for turn in each["evidence"]),
        )
        for each in reply["questions"]
    ]
    return Conversation(turns=tuple(turns), questions=tuple(questions))
