"""Run `python -m bench.recall.remedies`: what each remedy gives alone, and what without it is lost.

Development data are the first episode of `crd3`, `tuning` and `dated`, these two also among 1,500
turns of `crd3`. The second episode, `heldout` and `dated-kept` are reported, and nothing was chosen
on them; with `--kept` they are measured.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from bench.recall.conversations import Conversation, among, by_sentence, crd3, of_kind, written
from bench.recall.final import BEFORE, NOW, Remedies, final_orders
from bench.recall.keywords import Reference
from bench.recall.measures import Measures, mean, measured

TURNS = 1_500
TRICK = "trick"


def ways() -> Mapping[str, Remedies]:
    """Return the variants of the comparison."""
    fields = {
        "words by what was found": "weights",
        "bound of the nearest": "bound",
        "no names in the meaning": "bare",
        "long turns": "lengths",
        "dates": "dated",
        "second round": "again",
    }

    def taken(one: Remedies, field: str, other: Remedies) -> Remedies:
        changed: dict[str, Any] = {field: getattr(other, field)}
        return replace(one, **changed)

    alone = {f"+ {name}": taken(BEFORE, field, NOW) for name, field in fields.items()}
    without = {f"- {name}": taken(NOW, field, BEFORE) for name, field in fields.items()}
    return {"before": BEFORE, **alone, "all": NOW, **without}


def sets(*, kept: bool) -> Iterator[tuple[str, Conversation]]:
    """The conversations, by their names in the report."""
    whole = crd3()
    names = ("heldout", "dated-kept") if kept else ("tuning", "dated")
    if whole is not None:
        episode = "C1E002" if kept else "C1E001"
        yield episode, of_kind(whole, episode)
        yield f"{episode} sentences", of_kind(by_sentence(whole), episode)
    for name in names:
        yield name, written(name)
        if whole is not None:
            yield f"{name} in a crowd", among(written(name), whole, TURNS)


def main() -> int:
    """Print hit@1, hit@10 and recall@10 of every way on every set, and of tricks hit@1."""
    parser = argparse.ArgumentParser(prog="python -m bench.recall.remedies", description=__doc__)
    parser.add_argument("--kept", action="store_true")
    for name, conversation in sets(kept=parser.parse_args().kept):
        plain = Reference([turn.text for turn in conversation.turns])
        orders = {"bm25s": [plain.search(question.text) for question in conversation.questions]}
        orders |= {way: list(final_orders(conversation, each)) for way, each in ways().items()}
        sys.stdout.write(f"{name} ({len(conversation.questions)})\n")
        for way, order in orders.items():
            found = [
                (question.kind, measured(turns, question.answers))
                for question, turns in zip(conversation.questions, order, strict=True)
            ]
            sys.stdout.write(f"  {way:<28}{_line(mean([each for _, each in found]))}")
            kinds = dict.fromkeys(kind for kind, _ in found)
            for kind in kinds if len(kinds) > 1 else ():
                some = mean([each for other, each in found if other == kind])
                first = f"/{some.hit_1:.2f}" if kind == TRICK else ""
                sys.stdout.write(f"  {kind} {some.span_10:.2f}{first}")
            sys.stdout.write("\n")
    return 0


def _line(found: Measures) -> str:
    return f"{found.hit_1:>7.3f}{found.hit_10:>7.3f}{found.span_10:>7.3f}"


if __name__ == "__main__":
    raise SystemExit(main())
