"""The first sentence of each reading reply: what was found, or that nothing is known."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from canonry.assistant.rows import Row
from canonry.gateway.tool import Arguments

NOTHING: Final = "Nothing is known about it here."
_NAMED: Final = 3  # the most items that a sentence names
_PLURALS: Final = {"entity": "entities", "entry": "entries", "memory": "memories"}


def count_in_words(number: int, noun: str) -> str:
    """Return a number of items in words, such as `2 entities`."""
    return f"{number} {noun if number == 1 else _PLURALS.get(noun, f'{noun}s')}"


def join_parts(parts: Sequence[str]) -> str:
    """Return the parts as an enumeration, such as `1 fact, 2 events and 1 scene`."""
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def join_first(texts: Sequence[str]) -> str:
    """Return the first texts, divided by semicolons, and the number of the others."""
    more = f" and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    return "; ".join(texts[:_NAMED]) + more


def count_kinds(rows: Sequence[Row]) -> str:
    """Return how many rows there are of each kind, in their order."""
    kinds = [str(row["kind"]) for row in rows]
    return join_parts([count_in_words(kinds.count(each), each) for each in dict.fromkeys(kinds)])


def _find_sentence(arguments: Arguments, reply: Row) -> str:
    rows, total = reply["found"], reply.get("total")
    if not rows:
        kind = "is known about it" if "about" in arguments else "of this kind is known"
        return f"Nothing that holds now {kind} here."
    of = "" if total in {None, len(rows)} else f" of {total} items"
    return f"The list has {count_kinds(rows)}{of}."


def _get_sentence(_: Arguments, reply: Row) -> str:
    kind, name = reply["kind"], reply.get("name", "")
    over = f" {reply['superseded_by']} supersedes it." if "superseded_by" in reply else ""
    match kind:
        case "entity":
            nouns = ("field", "fact", "relation")
            sizes = [len(reply.get(f"{n}s", ())) + reply.get(f"{n}s_left", 0) for n in nouns]
            parts = [
                count_in_words(size, noun) for size, noun in zip(sizes, nouns, strict=True) if size
            ]
            shown = f" with {join_parts(parts)}" if parts else ""
            reported = f"{shown}.{over}{later_sentence(reply)}"
            return f"{name} is known as {reply.get('type', 'entity')}{reported}"
        case "scene" | "document":
            parts = [count_in_words(reply["total"], "turn" if kind == "scene" else "passage")]
            return f"The {kind} {name!r} has {parts[0]}.{over}"
        case _:
            return f"This {kind} {_state_in_words(reply)}.{disputes_said((reply,))}"


def later_sentence(reply: Row) -> str:
    """Return a sentence on what was first stated for a time after that of the read."""
    rows: Sequence[Row] = reply.get("later", ())
    reported = [f"{_bare(row)} (from {row['from']})" for row in rows]
    return f" Later: {'; '.join(reported)}." if reported else ""


def disputes_said(rows: Sequence[Row]) -> str:
    """Return a sentence for each two statements of which one may contradict the other."""
    doubts = {
        frozenset((row["id"], one["id"])): f' "{_bare(row)}" {doubt_in_words(one)} "{_bare(one)}".'
        for row in rows
        for one in row.get("disputed", ())
    }
    return "".join(doubts.values())


def doubt_in_words(other: Row) -> str:
    """Return the verb between a statement and one that it may not stand beside."""
    return "closes a circle with" if "circle" in other else "may contradict"


def _bare(row: Row) -> str:
    return str(row["says"]).rstrip(".")


def _state_in_words(reply: Row) -> str:
    """Return what an item is now, as a predicate."""
    if reply["kind"] == "proposal":
        return f"is {reply.get('status', 'pending')}"
    if reply.get("level") == "retconned":
        return "was retracted and does not hold"
    if reply.get("ended") or reply.get("until") or "ended_by" in reply:
        return f"holds until {reply['until']}" if "until" in reply else "has ended"
    return {"turn": "was said", "passage": "was recorded"}.get(reply["kind"], "is canon")


def _why_sentence(_: Arguments, reply: Row) -> str:
    if "fields" in reply:
        fields = count_in_words(reply["total"], "field")
        return f"{reply['name']} has {fields}; each lists its sources."
    grounds = len(reply.get("because", ()))
    proof = count_in_words(grounds, "piece") + " of evidence" if grounds else "no evidence"
    named = reply["name"] if reply["kind"] == "entity" else f"This {reply['kind']}"
    recorded = f"{proof} {'is' if grounds < 2 else 'are'} recorded for it"  # noqa: PLR2004
    return f"{named} {_state_in_words(reply)}; {recorded}.{disputes_said((reply,))}"


def _timeline_sentence(_: Arguments, reply: Row) -> str:
    entries = reply.get("timeline")
    if not entries:
        return "Nothing with a time is known about it here."
    of = "" if reply["total"] == len(entries) else f" of {reply['total']}"
    return f"The timeline lists {count_in_words(len(entries), 'entry')}{of}."


def _review_sentence(_: Arguments, reply: Row) -> str:
    nouns = {"waiting": "proposal", "duplicates": "possible duplicate", "unclear": "unclear value"}
    parts = [count_in_words(len(reply[name]), nouns[name]) for name in nouns if reply.get(name)]
    verb = "needs" if sum(len(reply.get(name, ())) for name in nouns) == 1 else "need"
    return f"{join_parts(parts)} {verb} a decision." if parts else "Nothing needs a decision."


def _changes_sentence(arguments: Arguments, reply: Row) -> str:
    rows, left = reply["changes"], reply["left"]
    differing = count_in_words(len(reply.get("differences", ())), "difference")
    also = f"; {differing} are listed" if "differences" in reply else ""
    if not rows:
        return f"Nothing was recorded {'since then' if 'since' in arguments else 'here'}{also}."
    newest, where = ("", "after them") if "since" in arguments else ("the newest ", "before them")
    listed = f"{newest}{count_in_words(len(rows), 'change')}"
    if left and reply["cursor"].isdecimal():  # of one space: the log counts its commits
        listed += f" in commits {rows[0]['at']} to {reply['cursor']}"
        also = f"; {count_in_words(left, 'commit')} {where}{also}"
    return f"Listed: {listed}, oldest first{also}."


def _context_sentence(_: Arguments, reply: Row) -> str:
    lines = reply["brief"].count("\n- ")
    return f"The brief has {count_in_words(lines, 'line')}." if lines else NOTHING


FIRST_SENTENCES: Final[Mapping[str, Callable[[Arguments, Any], str]]] = {
    "find": _find_sentence,
    "get": _get_sentence,
    "why": _why_sentence,
    "timeline": _timeline_sentence,
    "review": _review_sentence,
    "changes": _changes_sentence,
    "context": _context_sentence,
}
"""By tool, the sentence for the arguments and the reply, unless the reply has a `note`."""
