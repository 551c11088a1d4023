"""Run `python -m bench.recall`: a table, and `bench/results/recall.json`."""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from bench.recall.conversations import (
    CRD3,
    Conversation,
    by_sentence,
    crd3,
    embedded_text,
    slipped,
    written,
)
from bench.recall.final import final_orders
from bench.recall.keywords import Keywords, Reference, in_order
from bench.recall.meaning import vectors_of
from bench.recall.measures import Measures, mean, measured
from bench.recall.stored import stored_orders
from canonry.readmodels.ports.text import Purpose

SETS = (
    *("crd3", "crd3-sentences", "tuning", "heldout", "heldout-slips"),
    *("dated", "dated-kept"),
)
SPAN_BETTER, FIRST_BETTER = 1.20, 1.08
"""The aims of the final ranking on `crd3`, as multiples of the outside reference."""

Orders = Mapping[str, Sequence[Sequence[int]]]
KEYWORDS, REFERENCE, SPOKEN = "keywords alone", "bm25s", "bm25s with speakers"
MEANING, PLAIN, FINAL = "meaning alone", "meaning alone, bare turns", "final ranking"
STORED = "the use case, stored"


def main() -> int:
    """Measure; exit code 1 where the final ranking does not keep what it promises."""
    parser = argparse.ArgumentParser(prog="python -m bench.recall", description=__doc__)
    target = Path(__file__).parents[1] / "results/recall.json"
    parser.add_argument("--json", type=Path, default=target)
    parser.add_argument("--only", choices=SETS)
    stores = "also ask through the use case, on a store that is filled with the turns"
    parser.add_argument("--store", choices=("sqlite",), help=stores)
    chosen = parser.parse_args()
    found: dict[str, dict[str, Measures]] = {}
    for name in SETS:
        if chosen.only in {None, name}:
            conversation = _conversation(name)
            if conversation is None:
                sys.stdout.write(f"{name}: skipped, there is no {CRD3}\n")
                continue
            found |= _by_kind(name, conversation, stored=chosen.store is not None)
    sys.stdout.write(_table(found))
    chosen.json.parent.mkdir(parents=True, exist_ok=True)
    data = {kind: {way: asdict(m) for way, m in ways.items()} for kind, ways in found.items()}
    chosen.json.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    broken = list(_broken(found))
    sys.stdout.write("".join(f"NOT KEPT: {each}\n" for each in broken))
    return int(bool(broken))


def _conversation(name: str) -> Conversation | None:
    if name == "heldout-slips":
        return slipped(written("heldout"))
    if not name.startswith("crd3"):
        return written(name)
    whole = crd3()
    return whole if whole is None or name == "crd3" else by_sentence(whole)


def _by_kind(
    name: str, conversation: Conversation, *, stored: bool
) -> dict[str, dict[str, Measures]]:
    orders = _orders(conversation, stored=stored)
    kinds = dict.fromkeys(question.kind for question in conversation.questions)
    found: dict[str, dict[str, Measures]] = {}
    for kind in (None, *kinds):
        numbers = [
            n for n, question in enumerate(conversation.questions) if kind in {None, question.kind}
        ]
        title = f"{name}, {kind or 'all'} ({len(numbers)})"
        found[title] = {
            way: mean([measured(order[n], conversation.questions[n].answers) for n in numbers])
            for way, order in orders.items()
        }
    return found


def _orders(conversation: Conversation, *, stored: bool) -> Orders:
    turns, questions = conversation.turns, conversation.questions
    keywords = Keywords(conversation)
    reference = Reference([turn.text for turn in turns])
    spoken = Reference([f"{turn.speaker}: {turn.text}" for turn in turns])
    asked = vectors_of([question.text for question in questions], Purpose.QUERY)
    bare = asked @ vectors_of([turn.text for turn in turns], Purpose.PASSAGE).T
    near = (
        asked @ vectors_of([embedded_text(turns, n) for n in range(len(turns))], Purpose.PASSAGE).T
    )
    orders: dict[str, list[Sequence[int]]] = {
        way: [] for way in (REFERENCE, SPOKEN, KEYWORDS, PLAIN, MEANING, FINAL)
    }
    began = time.perf_counter()
    orders[FINAL] += final_orders(conversation)
    took = time.perf_counter() - began
    for n, question in enumerate(questions):
        orders[REFERENCE].append(reference.search(question.text))
        orders[SPOKEN].append(spoken.search(question.text))
        orders[KEYWORDS].append(in_order(keywords.search(question.text)[1]))
        orders[PLAIN].append([int(i) for i in (-bare[n]).argsort(kind="stable")])
        orders[MEANING].append([int(i) for i in (-near[n]).argsort(kind="stable")])
    sys.stdout.write(f"words and ranking: {1000 * took / len(questions):.1f} ms a question\n")
    return {**orders, STORED: stored_orders(conversation, near)} if stored else orders


def _table(found: Mapping[str, Mapping[str, Measures]]) -> str:
    names = [field.name for field in fields(Measures)]
    lines = [f"{'':<28}" + "".join(f"{name:>9}" for name in names)]
    for kind, ways in found.items():
        lines.append(kind)
        for way, measures in ways.items():
            values = "".join(f"{value:>9.3f}" for value in asdict(measures).values())
            lines.append(f"  {way:<26}{values}")
    return "\n".join(lines) + "\n"


def _broken(found: Mapping[str, Mapping[str, Measures]]) -> Sequence[str]:
    broken: list[str] = []
    for kind, ways in found.items():
        for way in (FINAL, STORED):
            ours = asdict(ways[way]) if way in ways else {}
            for name, value in asdict(ways[REFERENCE]).items():
                wanted = {"span_10": SPAN_BETTER, "hit_1": FIRST_BETTER}.get(name, 1.0)
                least = value * (wanted if kind.startswith("crd3, all") else 1.0)
                if ours.get(name, least) < least:
                    broken.append(f"{kind}, {way}: {name} {ours[name]:.3f} < {least:.3f}")
    return broken


if __name__ == "__main__":
    raise SystemExit(main())
