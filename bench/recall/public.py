"""Run `python -m bench.recall.public locomo FILE`: recall on a public set that lies in a file.

Understood are LoCoMo (`locomo10.json`), LongMemEval (`longmemeval_s.json`, `_m`, `_oracle` and the
cleaned ones) and BEAM (its folder `chats/100K`, or a JSON list or lines of its rows). None is part
of Canonry, and no figure of it was chosen on them. Shapes and measures are those of the authors'
own code and documents.

As LoCoMo counts: `turns` is the share of the evidence of a question among the first ten turns, and
`sess.` the share whose session is among the first ten, each ranked by its best turn. As LongMemEval
counts: `all`, `any` and `ndcg` are its recall_all@10, recall_any@10 and ndcg_any@10 over turns,
`s.all` recall_all@10 over sessions; `longmemeval` searches the turns of users alone, as its authors
do, `longmemeval-both` those of assistants too. BEAM has answers judged and defines no recall.
Questions without evidence are left out: those to be declined (`_abs`, abstention), those whose
evidence is nowhere (LoCoMo counts them as found) or, in BEAM, is one of several messages of an id.
"""

import argparse
import ast
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial
from math import log2
from pathlib import Path
from typing import Any

from bench.recall.conversations import Conversation, Question, Said
from bench.recall.final import NOW, final_orders
from canonry.recall.domain.questions import read_times
from canonry.values.calendars.reckoning import GREGORIAN
from canonry.values.moments import Instant

FIRST, LOOKED_AT = 10, 200
_CATEGORIES = {1: "several", 2: "time", 3: "open", 4: "single", 5: "trick"}
_SESSION = re.compile(r"session_(\d+)")
_MARK = re.compile(r" ?->-> ?\d+,\d+\s*$")
_DIALOG = re.compile(r"D:?(\d+):(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """The found share of the evidence of one question."""

    turns: float
    sessions: float
    every: float
    some: float
    ndcg: float
    every_session: float
    first: float


def locomo(data: Any) -> Iterator[Conversation]:
    """One conversation a sample; images are told by their captions."""
    for sample in data:
        reported = sample["conversation"]
        turns: list[Said] = []
        number_of: dict[str, int] = {}
        names = [match for name in reported if (match := _SESSION.fullmatch(name))]
        for match in sorted(names, key=lambda each: int(each[1])):
            when = _time(reported.get(f"{match[0]}_date_time"))
            for turn in reported[match[0]]:
                number_of[turn["dia_id"]] = len(turns)
                seen = turn.get("blip_caption")
                text = f"{turn['text']} [{seen}]" if seen else turn["text"]
                turns.append(_said(match[0], len(turns), turn["speaker"], text, when))
        questions = [
            _question(_CATEGORIES.get(each["category"], str(each["category"])), each, found)
            for each in sample["qa"]
            if (found := _known(_dialogs(each), number_of))
        ]
        yield Conversation(turns=tuple(turns), questions=tuple(questions))


def longmemeval(data: Any, *, roles: Sequence[str] = ("user",)) -> Iterator[Conversation]:
    """One conversation a question, as each has a haystack of its own; of these `roles` alone."""
    for each in data:
        turns: list[Said] = []
        found: set[int] = set()
        kept = set(each["answer_session_ids"])
        sessions = zip(
            *(each[name] for name in ("haystack_session_ids", "haystack_dates")),
            each["haystack_sessions"],
            strict=True,
        )
        for name, date, session in sessions:
            when = _time(date)
            for place, turn in enumerate(session):
                if turn["role"] in roles:
                    if turn.get("has_answer") and name in kept:
                        found.add(len(turns))
                    turns.append(_said(name, place, turn["role"], turn["content"], when))
        if found and "_abs" not in each["question_id"]:
            question = _question(each["question_type"], each, frozenset(found))
            yield Conversation(turns=tuple(turns), questions=(question,))


def beam(data: Any) -> Iterator[Conversation]:
    """One conversation a chat; a batch is a session, and its first message tells when it was."""
    for each in data:
        turns: list[Said] = []
        numbers: dict[int, list[int]] = {}
        for number, session in enumerate(_sessions(each["chat"])):
            when = None
            for turn in session:
                when = _time(turn.get("time_anchor")) or when
                numbers.setdefault(turn["id"], []).append(len(turns))
                text = _MARK.sub("", turn["content"])
                turns.append(_said(str(number), len(turns), turn["role"], text, when))
        asked = each["probing_questions"]
        probes = ast.literal_eval(asked) if isinstance(asked, str) else asked
        questions = [
            _question(ability, probe, frozenset(number for found in reported for number in found))
            for ability, some in probes.items()
            for probe in some
            if (reported := [numbers.get(i, ()) for i in _ids(probe.get("source_chat_ids"))])
            and all(len(found) == 1 for found in reported)
        ]
        yield Conversation(turns=tuple(turns), questions=tuple(questions))


SETS: Mapping[str, Callable[[Any], Iterator[Conversation]]] = {
    "locomo": locomo,
    "longmemeval": longmemeval,
    "longmemeval-both": partial(longmemeval, roles=("user", "assistant")),
    "beam": beam,
}


def read(name: str, path: Path) -> Sequence[Conversation]:
    """The conversations of a file of JSON or lines of it, or of a folder as BEAM has it."""
    if path.is_dir():
        chats = sorted(path.glob("*/chat.json"))
        asked = (each.parent / "probing_questions/probing_questions.json" for each in chats)
        data = [
            {"chat": json.loads(chat.read_text("utf-8")), "probing_questions": json.loads(reported)}
            for chat, reported in zip(
                chats, (each.read_text("utf-8") for each in asked), strict=True
            )
        ]
        return tuple(SETS[name](data))
    text = path.read_text("utf-8")
    lines = path.suffix == ".jsonl"
    data = [json.loads(line) for line in text.splitlines() if line] if lines else json.loads(text)
    return tuple(SETS[name](data))


def recalled(conversation: Conversation, order: Sequence[int], wanted: frozenset[int]) -> Recalled:
    """Return the share of the evidence in the first turns, and in the first sessions."""
    first = order[:FIRST]
    found = wanted.intersection(first)
    threads = set(list(dict.fromkeys(conversation.turns[n].thread for n in order))[:FIRST])
    held = [conversation.turns[n].thread in threads for n in wanted]
    gains = [_discounted(place) for place, turn in enumerate(first) if turn in wanted]
    return Recalled(
        turns=len(found) / len(wanted),
        sessions=sum(held) / len(held),
        every=float(found == wanted),
        some=float(bool(found)),
        ndcg=sum(gains) / sum(map(_discounted, range(min(FIRST, len(wanted))))),
        every_session=float(all(held)),
        first=float(bool(order) and order[0] in wanted),
    )


def _discounted(place: int) -> float:
    """Return the worth of a turn by its rank from 0 on; LongMemEval counts the first two alike."""
    return 1.0 if place == 0 else 1 / log2(place + 1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures of all questions, of each kind, and of those with several turns."""
    parser = argparse.ArgumentParser(prog="python -m bench.recall.public", description=__doc__)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("file", type=Path)
    chosen = parser.parse_args(arguments)
    found: list[tuple[str, int, Recalled]] = []
    for conversation in read(chosen.set, chosen.file):
        orders = final_orders(conversation, replace(NOW, limit=LOOKED_AT))
        for question, order in zip(conversation.questions, orders, strict=True):
            one = recalled(conversation, order, question.answers)
            found.append((question.kind, len(question.answers), one))
    names = ("turns", "sess.", "all", "any", "ndcg", "s.all", "hit@1")
    sys.stdout.write(f"{'':<32}{''.join(f'{each:>7}' for each in names)}\n")
    _print_row("all", [one for _, _, one in found])
    _print_row("several evidence turns", [one for _, count, one in found if count > 1])
    for kind in dict.fromkeys(kind for kind, _, _ in found):
        _print_row(kind, [one for other, _, one in found if other == kind])
    return 0


def _print_row(name: str, found: Sequence[Recalled]) -> None:
    if found:
        means = (sum(each) / len(found) for each in zip(*map(astuple, found), strict=True))
        result = "".join(f"{each:>7.3f}" for each in means)
        sys.stdout.write(f"{f'{name} ({len(found)})':<32}{result}\n")


def _said(thread: str, place: int, speaker: str, text: str, when: Instant | None) -> Said:
    return Said(thread=thread, place=place, speaker=speaker, text=text, said_at=when)


def _question(kind: str, stated: Mapping[str, Any], found: frozenset[int]) -> Question:
    return Question(kind=kind, text=stated["question"], answers=found)


def _known(ids: Sequence[Any], number_of: Mapping[Any, int]) -> frozenset[int]:
    return frozenset(number_of[each] for each in ids if each in number_of)


def _dialogs(stated: Mapping[str, Any]) -> Sequence[str]:
    """The ids of the evidence, of which some are joined by signs or written with a slip."""
    found = _DIALOG.findall(" ".join(stated.get("evidence", ())))
    return [f"D{int(session)}:{int(turn)}" for session, turn in found]


def _sessions(chat: Any) -> Iterator[Sequence[Mapping[str, Any]]]:
    """The sessions: batches with turns, or lists of messages, in plans or not."""
    if isinstance(chat, dict):
        if "turns" in chat:
            yield list(_messages(chat["turns"]))
        else:
            for part in chat.values():
                yield from _sessions(part)
    elif isinstance(chat, list) and chat:
        if isinstance(chat[0], dict) and "content" in chat[0]:
            yield chat
        else:
            for part in chat:
                yield from _sessions(part)


def _messages(reported: Any) -> Iterator[Mapping[str, Any]]:
    for each in reported:
        if isinstance(each, list):
            yield from _messages(each)
        else:
            yield each


def _ids(reported: Any) -> list[int]:
    """All ids in lists and groups of them."""
    match reported:
        case int():
            return [reported]
        case list():
            return [each for part in reported for each in _ids(part)]
        case dict():
            return [each for part in reported.values() for each in _ids(part)]
        case _:
            return []


def _time(stated: str | None) -> Instant | None:
    """The day that is named, as in "1:56 pm on 8 May, 2023" or "2023/05/30 (Tue) 23:40"."""
    said = re.sub(r"\b(\d{4})/(\d\d)/(\d\d)\b", r"\1-\2-\3", stated or "")
    said = re.sub(r"\b([A-Za-z]+)-(\d{1,2})-(\d{4})\b", r"\1 \2, \3", said)
    found = read_times(said, GREGORIAN, Instant(0)).intervals
    return found[0].start if found else None


if __name__ == "__main__":
    raise SystemExit(main())
