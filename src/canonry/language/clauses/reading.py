"""Reading: the frames of a statement; its sentences are cut into clauses, these into phrases."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from canonry.language.clauses.clauses import Clause, read_clause
from canonry.language.clauses.frames import Frame, Standing
from canonry.language.clauses.tokens import Token, Tokens, lemma, sentences_in
from canonry.language.texts.stems import DEFAULT, languages_of, terms_of
from canonry.language.words.frame_words import (
    BE,
    DETERMINERS,
    DO,
    HAVE,
    KNOWLEDGE,
    MODALS,
    OPINIONS,
    PRONOUNS,
    SOURCES,
)

_OPINIONS: Final = frozenset(map(lemma, OPINIONS))
_KNOWLEDGE: Final = frozenset(map(lemma, KNOWLEDGE))
_REPORTS: Final = _OPINIONS | _KNOWLEDGE
_AUXILIARY: Final = BE | HAVE | DO | set(MODALS)
_CONDITIONS: Final = frozenset({"if", "unless", "whenever", "when", "while", "should"})
_BREAKS: Final = frozenset(
    {"but", "because", "though", "although", "so", "while", "whereas", "yet"}
)
_TRUE: Final = (("it is true that", False), ("it is not true that", True),
                ("it is the case that", False), ("it is not the case that", True),
                ("it is false that", True), ("it is a fact that", False),
                ("it was not the case that", True), ("it is untrue that", True),
                ("it is certain that", False))  # fmt: skip
_ANY_SOURCE: Final = tuple(SOURCES)
_MOST: Final = 8
"""Clauses of a statement that are looked at."""


@lru_cache(maxsize=16_384)
def frames_of(statement: str) -> tuple[Frame, ...]:
    """What the statement says, clause by clause, the most important first."""
    found: list[Frame] = []
    if DEFAULT not in languages_of(terms_of(statement)):
        return ()
    for sentence in sentences_in(statement):
        for clause in _clauses(sentence):
            before = next((one for one in found if one.subject), None)
            found += _with_subject(read_clause(clause), before)
            if len(found) >= _MOST:
                return tuple(found[:_MOST])
    return tuple(found)


def _with_subject(read: Sequence[Frame], before: Frame | None) -> Iterator[Frame]:
    for frame in read:
        alone = not frame.subject or all(one.head in _PRONOUN_STEMS for one in frame.subject)
        if alone and before is not None and not frame.passive:
            yield replace(frame, subject=before.subject)
        else:
            yield frame


_PRONOUN_STEMS: Final = frozenset(map(lemma, PRONOUNS))


def _clauses(tokens: Tokens) -> Iterator[Clause]:
    standing, flipped = Standing.TOLD, False
    words = " ".join(token.word for token in tokens)
    for source in SOURCES if words.startswith(_ANY_SOURCE) else ():
        if words.startswith(source):
            standing = Standing.SAID
            tokens = (
                _after_comma(tokens)
                if source == "according to"
                else (tokens[len(source.split()) :])
            )
    if " 's opinion" in words or " 's view" in words or words.startswith("to hear"):
        standing = Standing.SAID
        at = next(i for i, token in enumerate(tokens) if token.word in {"opinion", "view", "hear"})
        tokens = tokens[at + 1 :]
    for prefix, flips in _TRUE if words.startswith("it ") else ():
        if words.startswith(prefix + " "):
            tokens, flipped = tokens[len(prefix.split()) :], flipped != flips
    tokens, condition = _condition(tokens)
    if words.startswith("according to "):
        condition = frozenset(words.split(",")[0].split())
    for part in _parts(tokens):
        yield from _reported(
            Clause(tokens=part, standing=standing, flipped=flipped, condition=condition)
        )
        flipped = False


def _after_comma(tokens: Tokens) -> Tokens:
    at = _index(tokens, ",")
    return tokens if at is None else tokens[at + 1 :]


def _index(tokens: Tokens, word: str, start: int = 0) -> int | None:
    return next((i for i in range(start, len(tokens)) if tokens[i].word == word), None)


def _condition(tokens: Tokens) -> tuple[Tokens, frozenset[str]]:
    words = [token.word for token in tokens]
    start = 1 if words[:1] == ["even"] else 0
    begins = words[start : start + 1]
    if begins and (begins[0] in _CONDITIONS or words[start : start + 3] == ["in", "case", "of"]):
        comma = _index(tokens, ",")
        if comma is not None:
            told = frozenset(
                token.stem for token in tokens[:comma] if token.word not in DETERMINERS
            )
            return tokens[comma + 1 :], told
    for at, word in enumerate(words):
        if at > 1 and word in {"if", "unless", "when", "whenever"}:
            return tokens[:at], frozenset(
                token.stem for token in tokens[at:] if token.word not in DETERMINERS
            )
    return tokens, frozenset()


def _parts(tokens: Tokens) -> Iterator[Tokens]:
    """The coordinate clauses, and what a relative clause between commas says of its head."""
    at = next(
        (i for i, t in enumerate(tokens) if t.word == "," and _word(tokens, i + 1) in _WHO), None
    )
    if at is not None:
        end = _index(tokens, ",", at + 1) or len(tokens)
        yield from _parts(tokens[:at] + tokens[end + 1 :])
        if _has_verb(tokens[at + 2 : end]):
            yield (*tokens[:at], *tokens[at + 2 : end])
        return
    for i in range(1, len(tokens)):
        if _begins_clause(tokens, i):
            rest = i + 1
            while rest < len(tokens) and tokens[rest].word in _BREAKS | {"and", ",", "then"}:
                rest += 1
            yield tokens[:i]
            yield from _parts(tokens[rest:])
            return
    yield tokens


_WHO: Final = frozenset({"who", "which", "whose"})


def _word(tokens: Tokens, at: int) -> str:
    return tokens[at].word if at < len(tokens) else ""


def _begins_clause(tokens: Tokens, i: int) -> bool:
    word, following = tokens[i].word, tokens[i + 1 :]
    if word == "," and _word(tokens, i + 1) in _BREAKS:
        return _has_verb(tokens[i + 2 :])
    if word == "," and _word(tokens, i + 1) == "and":
        return _has_verb(tokens[i + 2 :]) and _has_verb(tokens[:i])
    if word in {"and", "but"}:
        return bool(following) and following[0].word in PRONOUNS and _has_verb(following[1:])
    if word == ",":
        return bool(following) and following[0].word in PRONOUNS and _has_verb(tokens[:i])
    return False


def _has_verb(tokens: Tokens) -> bool:
    return any(
        token.word in _AUXILIARY or (not token.name and token.word.endswith("ed"))
        or (token.word != token.stem and not token.word.endswith("s") and not token.name)
        for token in tokens
    )  # fmt: skip


def _reported(clause: Clause) -> Iterator[Clause]:
    """The clause; where it tells what somebody says or knows, that too."""
    tokens = clause.tokens
    for i in range(1, len(tokens) - 2):
        stem, following = tokens[i].stem, tokens[i + 1].word
        if stem not in _REPORTS or tokens[i - 1].word in DETERMINERS:
            continue
        that = _index(tokens, "that", i + 1)
        if that is not None and that - i <= len("that"):
            start = that + 1
        elif following in {"whether", "if"}:
            start = i + 2
        elif following in PRONOUNS | DETERMINERS and _has_verb(tokens[i + 2 :]):
            start = i + 1
        else:
            continue
        standing = Standing.SAID if stem in _OPINIONS else Standing.KNOWN
        if standing is Standing.KNOWN and any(t.word in {"not", "never"} for t in tokens[:i]):
            standing = Standing.SAID
        inner = tuple(_MUTED if t.word in _NOT else t for t in tokens[start:])
        yield replace(clause, tokens=(*tokens[: i + 1], *inner), verb_at=i)
        yield Clause(tokens=tokens[start:], standing=standing, condition=clause.condition)
        return
    yield clause


_NOT: Final = frozenset({"not", "never", "nolonger", "no", "nothing", "nobody"})
_MUTED: Final = Token("nay", "nay")
"""A denial within what somebody says denies nothing of the saying."""
