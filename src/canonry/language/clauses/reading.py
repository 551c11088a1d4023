"""Read the frames of a sentence, clause by clause."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from canonry.language.clauses.frames import (
    Frame,
    Phrase,
    Standing,
    Token,
    Tokens,
    is_participle,
    is_past,
    is_progressive,
    lemma,
    number_of,
    phrases_of,
    scale_of,
    sentences_in,
)
from canonry.language.texts.stems import DEFAULT, languages_of, terms_of
from canonry.language.words.frame_words import (
    ADVERBS,
    ALONE,
    BE,
    DETERMINERS,
    DO,
    FUTURE,
    HAVE,
    HEDGES,
    KNOWLEDGE,
    LIMITS,
    MODALS,
    OPINIONS,
    PAST,
    PERSONS,
    PREPOSITIONS,
    PRONOUNS,
    QUANTIFIERS,
    SOURCES,
    TEMPORAL,
    TIMES,
)

_NEGATING: Final = frozenset({"not", "never", "nolonger", "no", "nobody", "nothing", "neither",
                              "nowhere", "none", "hardly", "scarcely", "barely", "seldom",
                              "rarely"})  # fmt: skip
_AUXILIARY: Final = BE | HAVE | DO | set(MODALS)
_LIFTED: Final = ADVERBS | ALONE | LIMITS | {"exclusively", "not", "never", "nolonger", "seldom",
                                             "rarely"}  # fmt: skip
_HELPING: Final = _AUXILIARY | _LIFTED
_BEFORE: Final = DETERMINERS | _LIFTED | set(QUANTIFIERS)
_NO_VERB_AFTER: Final = DETERMINERS | PREPOSITIONS | {"'s", "and", "no"}
_FRONTED: Final = TEMPORAL | {"from", "despite", "around", "near"}
_YEAR: Final = len("1402")
_TIMES: Final = frozenset(map(lemma, TIMES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A clause as tokens; `flipped` means that it is under "it is not true that"."""

    tokens: Tokens
    standing: Standing = Standing.TOLD
    flipped: bool = False
    condition: frozenset[str] = frozenset()
    verb_at: int | None = None
    """The position of the verb if it is known, as in reported speech."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """The words around the verb: its marks, the verb, and the start of the rest."""

    verb: str
    rest: Tokens
    sure: bool
    modal: str = ""
    past: bool = False
    perfect: bool = False
    future: bool = False
    passive: bool = False


def read_clause(clause: Clause) -> Sequence[Frame]:
    """Return the frame of the clause, and the active frame of a passive; none without words."""
    if clause.verb_at is None:
        tokens = _fronted(clause.tokens)
        if tokens and tokens[0].word == "there":
            tokens = _existing(tokens)
        at = _verb_at(tokens)
    else:
        tokens = clause.tokens
        first = _verb_at(tokens[: clause.verb_at])
        helped = first is not None and tokens[first].word in _HELPING
        at = first if helped else clause.verb_at
    if not tokens or at is None:
        return ()
    tokens, at = _inverted(tokens, at)
    subject, marks = _subject(tokens[:at])
    lifted = [t.word for i, t in enumerate(tokens) if i >= at and _is_lifted(tokens, i)]
    group = _group(tuple(t for i, t in enumerate(tokens) if i >= at and not _is_lifted(tokens, i)))
    rest_marks = frozenset(t.word for t in group.rest if t.word in _NEGATING)
    rest = tuple([t for t in group.rest if t.word not in {"no", "nobody", "nothing"}])
    done = phrases_of(rest[:1]) + phrases_of(rest[1:]) if group.passive else phrases_of(rest)
    phrases, when = _timed(done)
    negations = [*(w for w in (*marks, *lifted) if w in _NEGATING), *rest_marks]
    quantifier = next((QUANTIFIERS[w] for w in marks if w in QUANTIFIERS), "")
    none = any(w in {"no", "nobody", "none", "neither", "nothing"} for w in marks)
    odd = len(negations) % 2 == 1
    marked = frozenset((*marks, *lifted, *(t.word for t in rest if t.word in QUANTIFIERS)))
    if group.verb == "be" and phrases and phrases[0].role == "without":
        group = replace(group, verb="have")
        phrases, odd = (replace(phrases[0], role=""), *phrases[1:]), not odd
    frame = Frame(
        subject=phrases_of(subject),
        verb=group.verb,
        phrases=phrases,
        sure=group.sure,
        negative=odd != clause.flipped,
        never="never" in negations or none,
        ends="nolonger" in negations,
        hedged=bool(set(negations) & HEDGES) or bool(odd and set(lifted) & HEDGES),
        modal=group.modal,
        past=group.past,
        perfect=group.perfect,
        future=group.future,
        quantifier="none" if none else _quantifier(marks, quantifier),
        person=bool(set(marks) & PERSONS),
        exclusive=bool({"only", "alone"} & set(marks)) or "exclusively" in lifted,
        marks=marked,
        when=when,
        condition=clause.condition,
        standing=clause.standing,
        group=any(t.word in {"and", "or", "nor"} for t in subject),
        words=frozenset([t.stem for t in tokens if t.word not in _EMPTY]),
        passive=False,
    )
    return (frame, *_active(frame)) if group.passive else (frame,)


def _quantifier(marks: tuple[str, ...], quantifier: str) -> str:
    return "notall" if quantifier == "all" and "not" in marks else quantifier


_EMPTY: Final = (
    DETERMINERS | _AUXILIARY | PREPOSITIONS | _LIFTED | {",", "'s", "no", "and", "or", "nor"}
)


def _is_lifted(tokens: Tokens, i: int) -> bool:
    """Return whether a word is an adverb here; after an article, as in "a just man", it is not."""
    return tokens[i].word in _LIFTED and not (i and tokens[i - 1].word in DETERMINERS)


def _active(frame: Frame) -> Iterator[Frame]:
    by = next((p for p in frame.phrases if p.role == "by"), None)
    if by is None or not frame.phrases or not frame.subject:
        return
    done, *others = frame.phrases
    kept = tuple(p for p in others if p is not by)
    yield replace(
        frame,
        subject=(replace(by, role=""),),
        verb=done.head,
        phrases=(*frame.subject, *kept),
        passive=True,
        quantifier="",
        group=False,
    )


def _fronted(tokens: Tokens) -> Tokens:
    """Move a circumstance from the start to the end."""
    tokens = tuple([t for i, t in enumerate(tokens) if i or t.word not in {",", "and", "then"}])
    if len(tokens) > 1 and any(
        number_of(t.word) is not None and len(t.word) != _YEAR for t in tokens[1:3]
    ):
        return tokens
    if not tokens or tokens[0].word not in _FRONTED:
        return tokens
    end = next((i for i, t in enumerate(tokens) if t.word == ","), 0)
    if not end or end > len("a few words"):
        end = 2
        while end < len(tokens) - 1:
            token, before = tokens[end], tokens[end - 1]
            begins = token.word in DETERMINERS or (token.name and not before.name)
            if before.word in DETERMINERS or before.word in {"of", "'s"} or token.word == "'s":
                begins = False
            if begins:
                break
            end += 1
        else:
            return tokens
        return (*tokens[end:], *tokens[:end])
    return (*tokens[end + 1 :], *tokens[:end])


def _inverted(tokens: Tokens, at: int) -> tuple[Tokens, int]:
    """Turn `Present were X and Y` into `X and Y were present`."""
    told = bool(at) and tokens[at].word in BE and at + 1 < len(tokens) and tokens[at + 1].name
    if not told or tokens[0].word in _BEFORE:
        return tokens, at
    if any(token.name for token in tokens[:1]) and tokens[0].stem not in _PRESENT:
        return tokens, at
    return (*tokens[at + 1 :], tokens[at], *tokens[:at]), len(tokens) - at - 1


_PRESENT: Final = frozenset(
    map(lemma, ("present", "absent", "among", "missing", "invited", "dead"))
)


def _existing(tokens: Tokens) -> Tokens:
    """Turn `There is (no) X in Y` into `(no) X is in Y`."""
    at = next((i for i, t in enumerate(tokens) if t.word in BE), None)
    if at is None:
        return tokens
    rest = tokens[at + 1 :]
    negated = tuple(t for t in rest[:1] if t.word in {"not", "never", "nolonger"})
    rest = rest[len(negated) :]
    cut = next((i for i, t in enumerate(rest) if i and t.word in PREPOSITIONS - {"of"}), len(rest))
    return (*rest[:cut], *tokens[1:at], tokens[at], *negated, *rest[cut:])


def _verb_at(tokens: Tokens) -> int | None:
    """Return the position of the verb group: an auxiliary, else the likeliest verb."""
    for i, token in enumerate(tokens):
        if token.word in _AUXILIARY and not (
            i and tokens[i - 1].word in {"who", "that", "which", "to"}
        ):
            return _back(tokens, i)
    start = 0
    while start < len(tokens) - 1 and (
        tokens[start].word in _BEFORE
        or tokens[start].word in _COUNTING
        or number_of(tokens[start].word) is not None
        or scale_of(tokens[start].word)
        or tokens[start].word in {"of", ","}
    ):
        if tokens[start].word in PERSONS:
            break
        start += 1
    likely = [i for i in range(start + 1, len(tokens)) if _likely(tokens, i)]
    if likely:
        return _back(tokens, likely[0])
    at = start + 1
    while at < len(tokens) and (
        tokens[at].word in {"'s", "of", "and", ","} or tokens[at - 1].word in {"'s", "of", "and"}
        or (tokens[at].name and tokens[at - 1].name) or tokens[at].word in DETERMINERS | ADVERBS
    ):  # fmt: skip
        at += 1
    return _back(tokens, at) if at < len(tokens) else None


_COUNTING: Final = frozenset(
    {"no", "neither", "fewer", "more", "less", "than", "at", "least", "about", "around", "roughly"}
)


def _back(tokens: Tokens, at: int) -> int:
    while at > 1 and tokens[at - 1].word != "both" and _is_lifted(tokens, at - 1):
        at -= 1
    return at


def _likely(tokens: Tokens, i: int) -> bool:
    token, before = tokens[i], tokens[i - 1]
    if token.name or before.word in _NO_VERB_AFTER:
        return False
    if number_of(before.word) is not None or scale_of(before.word):
        return False
    if is_participle(token.word):
        return True
    if token.word.endswith("s") and not token.word.endswith("ss") and token.word != "'s":
        return (
            token.word not in QUANTIFIERS
            and token.word not in PREPOSITIONS
            and (before.name or before.word in _LIFTED or not before.word.endswith("s"))
        )
    return False


def _subject(tokens: Tokens) -> tuple[Tokens, tuple[str, ...]]:
    """Return the subject without its quantifiers, and those."""
    special = set(QUANTIFIERS) | _NEGATING | _LIFTED | {"neither", "only", "even"}
    marks = tuple(t.word for t in tokens if t.word in special)
    kept = [t for t in tokens if t.word not in special or t.word in {"many", "several"}]
    commas = [i for i, t in enumerate(kept) if t.word == ","]
    if commas and not any(t.word in {"and", "or"} for t in kept):
        kept = kept[: commas[0]]
    while kept and kept[0].word == "of":
        kept = kept[1:]
    return tuple(kept), marks


def _group(tokens: Tokens) -> _Group:
    modal, past, perfect, future, sure = "", False, False, False, False
    at = 0
    while at < len(tokens) and tokens[at].word in set(MODALS) | DO:
        word = tokens[at].word
        if word in DO and at + 1 == len(tokens):
            break
        if word in DO and (
            tokens[at + 1].word in DETERMINERS | PREPOSITIONS - {"like"} or tokens[at + 1].name
        ):
            break
        modal = modal or ("" if word in FUTURE | DO else MODALS[word])
        future, past, sure = future or word in FUTURE, past or word in PAST, True
        at += 1
    if at < len(tokens) and tokens[at].word in HAVE:
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        if after is not None and (after.word in {"been", "had"} or is_participle(after.word)):
            perfect, past, sure, at = True, past or tokens[at].word == "had", True, at + 1
    if at >= len(tokens):
        return _Group(verb="", rest=(), sure=sure, modal=modal, past=past)
    head, rest = tokens[at], tokens[at + 1 :]
    past = past or head.word in PAST or (is_past(head.word) and not sure)
    if head.word not in BE:
        verb = "have" if head.word in HAVE else head.stem
        return _Group(
            verb=verb, rest=rest, sure=sure or head.word in HAVE, modal=modal, past=past,
            perfect=perfect, future=future,
        )  # fmt: skip
    if rest and is_progressive(rest[0].word):
        return _Group(
            verb=rest[0].stem, rest=rest[1:], sure=True, modal=modal, past=past, perfect=perfect,
            future=future,
        )  # fmt: skip
    passive = bool(rest) and is_participle(rest[0].word)
    return _Group(
        verb="be", rest=rest, sure=True, modal=modal, past=past, perfect=perfect, future=future,
        passive=passive,
    )  # fmt: skip


def _timed(phrases: tuple[Phrase, ...]) -> tuple[tuple[Phrase, ...], frozenset[str]]:
    """Return the phrases that are not times, and the words of those that are."""
    kept, when = [], set[str]()
    for one in phrases:
        number = one.quantity is not None and not one.quantity.unit and one.head.isdigit()
        if one.role in TEMPORAL and (one.head in _TIMES or number):
            when |= {*one.words}
        else:
            kept.append(one)
    return tuple(kept), frozenset(when)


_OPINIONS: Final = frozenset(map(lemma, OPINIONS))
_KNOWLEDGE: Final = frozenset(map(lemma, KNOWLEDGE))
_REPORTS: Final = _OPINIONS | _KNOWLEDGE
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
"""The most clauses of a statement that are read."""


@lru_cache(maxsize=16_384)
def frames_of(statement: str) -> tuple[Frame, ...]:
    """Return the frames of the statement's clauses, the most important first."""
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
    """Yield coordinate clauses, and relative clauses between commas with their heads."""
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
    """Yield the clause, and the reported clause if it has one."""
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
"""A denial within reported speech does not deny the speech."""
