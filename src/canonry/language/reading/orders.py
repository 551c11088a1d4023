"""Bring the words of a clause into the order in which clauses are read: subject, verb, the rest."""

from collections.abc import Sequence
from typing import Final

from canonry.language.reading.tokens import Token, WordTable, verb_of

PARTICLE: Final = "+"
"""The sign before a verb's particle that stood at the end of the clause."""

_FINITE: Final = frozenset({"s", "past", "base"})
_LATE: Final = frozenset({"participle", "base", "past"})
_STARTS: Final = frozenset({"the", "a", "my", "no", "all", "some"})


def reorder_tokens(tokens: Sequence[Token], words: WordTable) -> list[Token]:
    """Return the tokens with the verbs together after the subject, and denials before them.

    `Klaus hat den Brief nicht geschickt` becomes `Klaus nicht hat geschickt den Brief`.
    """
    found = list(tokens)
    if words.order == "svo" and "late_negations" not in words.flags:
        return found
    at = _finite_verb_at(found, words)
    if at is None:
        return found
    if words.order == "v2":
        found, at = _subject_first(found, at, words)
        found = _gather_verbs(found, at, words)
    denials = [one for one in found[at:] if words.has_word("negations", one.text)]
    rest = [one for one in found[at:] if not words.has_word("negations", one.text)]
    return [*found[:at], *denials, *rest]


def _finite_verb_at(tokens: Sequence[Token], words: WordTable) -> int | None:
    """Return the index of the verb with the subject's number."""
    for at, token in enumerate(tokens):
        if token.name or not at:
            continue
        text, last = token.text, tokens[at - 1]
        groups = ("be", "have", "do", "turning")
        if text in words.modals or any(words.has_word(group, text) for group in groups):
            return at
        known = verb_of(text, words.code)
        noun = words.words.get(last.text) in _STARTS or last.text in words.prepositions
        if known is not None and known[1] in _FINITE and not noun:
            return at
    return None


def _subject_first(tokens: list[Token], at: int, words: WordTable) -> tuple[list[Token], int]:
    """Put a subject that follows the verb before it: `gestern kam Klaus`."""
    first = tokens[0]
    light = words.words.get(first.text) in {"skip", "adverb"}
    early = light or first.text in words.prepositions or words.is_time(first.text)
    after = tokens[at + 1 : at + 3]
    if not early or not after:
        return tokens, at
    size = 1 if after[0].name else 2 if words.words.get(after[0].text) in _STARTS else 0
    if not size:
        return tokens, at
    subject, end = tokens[at + 1 : at + 1 + size], at + 1 + size
    return [*subject, tokens[at], *tokens[end:], *tokens[:at]], size


def _gather_verbs(tokens: list[Token], at: int, words: WordTable) -> list[Token]:
    """Put the participle, infinitive or particle at the end right after the first verb."""
    heavy = (n for n, one in enumerate(tokens) if words.words.get(one.text) != "skip")
    last = max(heavy, default=at)
    end = tokens[last]
    particle = words.has_word("particles", end.text) and not words.has_word("be", tokens[at].text)
    if last <= at + (not particle) or end.name:
        return tokens
    known = verb_of(end.text, words.code)
    late = known is not None and (known[1] in _LATE or "participle_s" in words.flags)
    if not late and not particle:
        return tokens
    end = end if late else Token(f"{PARTICLE}{end.text}")
    return [*tokens[: at + 1], end, *tokens[at + 1 : last], *tokens[last + 1 :]]
