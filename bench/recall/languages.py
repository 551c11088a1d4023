"""Run `python -m bench.recall.languages`: questions in six languages on turns in English, by model.

It prints the figures of each model alone and in the final ranking; `multilingual` needs its extra.
"""

import asyncio
import json
import sys
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bench.recall.conversations import HERE, Conversation, Question, embedded_text, written
from bench.recall.final import NOW, ranked
from bench.recall.keywords import Keywords
from bench.recall.measures import mean, measured
from canonry.readmodels.ports.text import Embedder, Purpose
from canonry.recall.embedders import OnnxEmbedder, multilingual_embedder


def asked() -> Conversation:
    """The dated conversation with questions in six languages; the kind is the language."""
    reply = json.loads((HERE / "languages.json").read_text("utf-8"))
    whole = written(reply["of"])
    answers = {each["id"]: n for n, each in enumerate(_turns(reply["of"]))}
    questions = tuple(
        Question(
            kind=each["kind"],
            text=each["question"],
            answers=frozenset(answers[turn] for turn in each["evidence"]),
        )
        for each in reply["questions"]
    )
    english = {answer for question in questions for answer in (question.answers,)}
    known = tuple(each for each in whole.questions if each.answers in english)
    same = tuple(Question(kind="en", text=e.text, answers=e.answers) for e in known)
    return Conversation(turns=whole.turns, questions=(*same, *questions))


def _turns(name: str) -> Sequence[dict[str, str]]:
    turns: list[dict[str, str]] = json.loads((HERE / f"{name}.json").read_text("utf-8"))["turns"]
    return turns


def main() -> int:
    """Print recall@10 by language: words alone, each model alone, and in the final ranking."""
    conversation = asked()
    keywords = Keywords(conversation)
    kinds = list(dict.fromkeys(question.kind for question in conversation.questions))
    sys.stdout.write(f"{'':<30}" + "".join(f"{kind:>7}" for kind in kinds) + "\n")
    by_words = [
        sorted(hits, key=lambda n: -sum(hits[n].values()))
        for hits in (keywords.search(question.text)[1] for question in conversation.questions)
    ]
    _print_row("words alone", conversation, by_words, kinds)
    for name, embedder in (("onnx", OnnxEmbedder()), ("multilingual", multilingual_embedder())):
        near = asyncio.run(_likeness(embedder, conversation))
        alone = [[int(n) for n in (-row).argsort(kind="stable")] for row in near]
        _print_row(f"{name} alone", conversation, alone, kinds)
        final = [
            ranked(conversation, question.text, row, keywords, NOW)
            for question, row in zip(conversation.questions, near, strict=True)
        ]
        _print_row(f"{name}, final ranking", conversation, final, kinds)
    return 0


def _print_row(
    way: str, conversation: Conversation, orders: Sequence[Sequence[int]], kinds: Sequence[str]
) -> None:
    found = [
        (question.kind, measured(order, question.answers))
        for question, order in zip(conversation.questions, orders, strict=True)
    ]
    figures = (mean([each for kind, each in found if kind == wanted]).hit_10 for wanted in kinds)
    sys.stdout.write(f"{way:<30}" + "".join(f"{figure:>7.2f}" for figure in figures) + "\n")


async def _likeness(embedder: Embedder, conversation: Conversation) -> NDArray[np.float32]:
    turns = conversation.turns
    texts = [embedded_text(turns, n) for n in range(len(turns))]
    rows = _rows(await embedder.embed(texts, Purpose.PASSAGE))
    questions = [question.text for question in conversation.questions]
    found = _rows(await embedder.embed(questions, Purpose.QUERY)) @ rows.T
    await embedder.close()
    likeness: NDArray[np.float32] = (found - embedder.unrelated_similarity) / (
        1 - embedder.unrelated_similarity
    )
    return likeness


def _rows(vectors: Sequence[bytes]) -> NDArray[np.float32]:
    return np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1)


if __name__ == "__main__":
    raise SystemExit(main())
