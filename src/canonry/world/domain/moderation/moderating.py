"""Moderate texts by rules of words."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import Final

from stdnum import luhn

from canonry.language.reading.figures import number_of
from canonry.language.reading.tokens import word_table
from canonry.language.texts.visible import without_invisible

# Writing. Confusables, digits for letters, drawn-out and spaced-out letters are undone; what was
# written stays beside it, and so does its place.

TEXT_MAX: Final = 20_000
"""The most characters that are moderated: nobody says more at once."""
_TOKEN: Final = re.compile(
    r"(?:https?://|www\.)[^\s<>\"]{1,300}|</?(?:system|assistant|user)>|<\|[a-z_]{1,20}\|>"
    r"|discord\.gg/\w{1,40}|[^\W_]+(?:['\u2019\xad\u200b-\u200d\u2060\ufeff][^\W_]+)*(?:[@$!][^\W_]+)?"
)
_SPACED: Final = re.compile(r"(?<![^\W_])[^\W_](?:[ .\-_*][^\W_](?![^\W_])){2,60}")
_MARK: Final = re.compile(r"\A\s{0,20}(?:system|assistant)\s{0,3}:")
_LEET: Final = str.maketrans("013457@$!8", "oieastasib")
_DRAWN_OUT: Final = re.compile(r"(\w)\1{2,}")
_GROWN_UP: Final = 18
_LONGEST_AGE: Final = len("seventeen")


@dataclass(frozen=True, slots=True)
class WrittenWord:
    """A word in all forms in which it may be meant, and where it stands."""

    forms: frozenset[str]
    start: int
    end: int


def written_words(text: str) -> list[WrittenWord]:
    """The words of a text in order."""
    seen = text[:TEXT_MAX]
    spaced = [(m.start(), m.end()) for m in _SPACED.finditer(seen)]
    found: list[WrittenWord] = []
    at = 0
    for begin, end in [*spaced, (len(seen), len(seen))]:
        found += _words_between(seen, at, begin)
        if end > begin:
            joined = "".join(c for c in seen[begin:end] if c.isalnum())
            found.append(WrittenWord(_word_forms(joined), begin, end))
        at = end
    marked = _MARK.match(seen.casefold())
    if marked is not None and found:
        found[0] = WrittenWord(found[0].forms | {"#system"}, found[0].start, found[0].end)
    return _mark_minors(found)


def _words_between(text: str, begin: int, end: int) -> Iterator[WrittenWord]:
    for match in _TOKEN.finditer(text, begin, end):
        folded = match[0].casefold()
        if folded.startswith(("http://", "https://", "www.", "discord.gg/")):
            yield WrittenWord(frozenset({"#link"}), match.start(), match.end())
        elif folded.startswith("<"):
            yield WrittenWord(frozenset({"#system"}), match.start(), match.end())
        else:
            yield WrittenWord(_word_forms(match[0]), match.start(), match.end())


@lru_cache(maxsize=16_384)  # texts repeat their words: bench.table, texts
def _word_forms(word: str) -> frozenset[str]:
    plain = _plain_word(word)
    forms = {word.casefold().replace("'", "").replace("\u2019", ""), plain}
    digits = [c for c in plain if not c.isalpha()]
    if digits and (len(digits) < len(plain) or plain == "1"):
        forms.add(plain.translate(_LEET))
    for each in tuple(forms):
        if _DRAWN_OUT.search(each):
            forms |= {_DRAWN_OUT.sub(r"\1", each), _DRAWN_OUT.sub(r"\1\1", each)}
    return frozenset(forms)


def _plain_word(word: str) -> str:
    """Return the word without accents and with confusables replaced."""
    bare_word = word.replace("'", "").replace("\u2019", "")
    if bare_word.isascii():
        return bare_word.casefold()
    bare = unicodedata.normalize("NFKD", without_invisible(bare_word))
    return "".join(
        c.casefold().translate(_TWINS) for c in bare if not unicodedata.combining(c)
    ).casefold()


_TWINS: Final = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u043a\u043c\u043d\u0442\u0432"
    "\u03b1\u03b5\u03bf\u03c1\u03c5\u03b9\u03ba\u03bd",
    "aeopcyxijskmhtb" + "aeopuikv",
)


def _mark_minors(words: Sequence[WrittenWord]) -> list[WrittenWord]:
    """Return the words, marking those that state that a person is a minor."""
    found = list(words)
    for at, word in enumerate(words):
        age = _age_of(word)
        if age is None or age >= _GROWN_UP:
            continue
        after = frozenset[str]().union(*(each.forms for each in words[at + 1 : at + 3]))
        before = frozenset[str]().union(*(each.forms for each in words[max(0, at - 2) : at]))
        states_age = {"year", "years", "yo", "yr"} & after or (
            "of" in before and {"boy", "girl"} & before
        )
        if states_age:
            found[at] = WrittenWord(word.forms | {"#underage"}, word.start, word.end)
    return found


def _age_of(word: WrittenWord) -> int | None:
    for form in word.forms:
        found = number_of(form, word_table("en"))
        if found is not None and len(form) <= _LONGEST_AGE:
            return int(found)
    return None


# Moderating. The rules are data: `rules.txt`. They are looked up by words, so that a text of any
# length takes time in proportion to it.

CATEGORIES: Final = (
    "threat", "harassment", "privacy", "self-harm", "sexual-minors", "sexual", "hate", "dangerous",
    "spam", "jailbreak",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class FlaggedSpan:
    """Evidence for a category: a span of the text, in characters."""

    category: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Moderation:
    """The categories that a text falls into, in the order of `CATEGORIES`; none: it may stand."""

    categories: tuple[str, ...]
    policy_version: str
    spans: tuple[FlaggedSpan, ...] = ()

    @property
    def allowed(self) -> bool:
        """Return whether the text is allowed."""
        return not self.categories

    def with_categories(self, model: str, categories_found: Container[str | None]) -> "Moderation":
        """The same with the categories that a model finds instead, and its name."""
        found = tuple(each for each in CATEGORIES if each in categories_found)
        version = f"{self.policy_version}+{model}"
        return replace(self, categories=found, policy_version=version)


@dataclass(frozen=True, slots=True)
class _PatternPart:
    """One place in a rule: these words, or words that begin so, after so many others at most."""

    words: frozenset[str]
    beginnings: tuple[str, ...]
    gap: int

    def matches_word(self, word: WrittenWord) -> bool:
        """Return whether a word matches this part of the pattern."""
        if not self.words.isdisjoint(word.forms):
            return True
        return bool(self.beginnings) and any(f.startswith(self.beginnings) for f in word.forms)


@dataclass(frozen=True, slots=True)
class _Rule:
    category: str
    items: tuple[_PatternPart, ...]
    innocent: bool


@dataclass(frozen=True, slots=True)
class WordPolicy:
    """All rules, by the words that they begin with; `others` begin with beginnings of words."""

    version: str
    by_word: Mapping[str, Sequence[_Rule]]
    others: Sequence[_Rule]


def moderate_by_words(text: str) -> Moderation:
    """Judge a text by the rules."""
    policy = load_policy()
    words = written_words(text)
    spans = [*_repeated_links(text, words), *_private_spans(text), *_repetition_spans(text, words)]
    found: list[tuple[_Rule, int, int]] = []
    for at, word in enumerate(words):
        for rule in _rules_starting(policy, word):
            end = _pattern_end(rule.items, words, at)
            if end is not None:
                found.append((rule, at, end))
    innocent = [(rule.category, at, end) for rule, at, end in found if rule.innocent]
    for rule, at, end in found:
        covered = any(
            c == rule.category and a <= at and end <= b for c, a, b in innocent
        )  # the rule stands within what is innocent
        if not rule.innocent and not covered:
            spans.append(
                FlaggedSpan(category=rule.category, start=words[at].start, end=words[end].end)
            )
    flagged = {span.category for span in spans}
    if "sexual-minors" in flagged:
        spans = [span for span in spans if span.category != "sexual"]
        flagged.discard("sexual")
    return Moderation(
        categories=tuple(category for category in CATEGORIES if category in flagged),
        policy_version=policy.version,
        spans=tuple(sorted(set(spans), key=lambda s: (s.start, s.end, s.category))),
    )


def _rules_starting(policy: WordPolicy, word: WrittenWord) -> Iterator[_Rule]:
    for form in word.forms:
        yield from policy.by_word.get(form, ())
    for rule in policy.others:
        if rule.items[0].matches_word(word):
            yield rule


def _pattern_end(
    items: Sequence[_PatternPart], words: Sequence[WrittenWord], at: int
) -> int | None:
    """Return the end of the pattern that starts at a word; None if it does not match."""
    positions = {at}
    for item in items[1:]:
        positions = {
            later
            for position in positions
            for later in range(position + 1, min(position + 2 + item.gap, len(words)))
            if item.matches_word(words[later])
        }
        if not positions:
            return None
    return min(positions)


@lru_cache(maxsize=1)  # the rules are parsed once: bench.table, texts
def load_policy() -> WordPolicy:
    """The rules as the file has them."""
    text = (files("canonry.world.domain.moderation") / "rules.txt").read_text("utf-8")
    rows = text.splitlines()
    groups = {
        name[1:-1]: tuple(words.split())
        for name, _, words in (row.partition(": ") for row in rows)
        if name.startswith("{")
    }
    by_word: dict[str, list[_Rule]] = defaultdict(list)
    others = []
    for row in rows:
        if row.startswith(("#", "{")) or not row:
            continue
        name, _, pattern = row.partition(": ")
        rule = _Rule(name.removeprefix("-"), _read_pattern(pattern, groups), name.startswith("-"))
        for word in rule.items[0].words:
            by_word[word].append(rule)
        if rule.items[0].beginnings:
            others.append(rule)
    return WordPolicy(rows[0].removeprefix("# policy "), by_word, others)


def _read_pattern(pattern: str, groups: Mapping[str, Sequence[str]]) -> tuple[_PatternPart, ...]:
    items, gap = [], 0
    for part in pattern.split():
        if part.startswith("<"):
            gap = int(part[1:-1])
            continue
        words = [
            word
            for each in part.split("|")
            for word in (groups[each[1:-1]] if each.startswith("{") else (each,))
        ]
        items.append(
            _PatternPart(
                frozenset(word for word in words if not word.endswith("*")),
                tuple(word[:-1] for word in words if word.endswith("*")),
                gap,
            )
        )
        gap = 0
    return tuple(items)


_EMAIL: Final = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
_DIGITS: Final = re.compile(r"(?<![\w.])\+?\d(?:[ \-()]{0,2}\d){8,18}(?!\w)")
_NUMBER_OF_SECURITY: Final = re.compile(r"(?<!\d)\d{3}-\d{2}-\d{4}(?!\d)")
_CALLED: Final = re.compile(
    r"(?i)\b(?:number|phone|cell|call|text)\b[^\d\n]{0,20}\d(?:[ \-]?\d){6,14}(?![ \-]?\d)"
)
_ADDRESS_OF_NET: Final = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")
_STREET: Final = re.compile(
    r"(?<!\w)\d{1,5} [A-Z][a-z]{1,20}(?: [A-Z][a-z]{1,20})? (?:Street|St|Avenue|Ave|Road|Rd|Drive|"
    r"Boulevard|Lane)\b, [A-Z]"
)
_LONGEST_RUN: Final = re.compile(r"(\S)\1{24,}")
_MOST_REPEATS: Final = 8  # nobody repeats a word as often in earnest


def _private_spans(text: str) -> Iterator[FlaggedSpan]:
    seen = text[:TEXT_MAX]
    for pattern in (_EMAIL, _NUMBER_OF_SECURITY, _CALLED, _ADDRESS_OF_NET, _STREET):
        for match in pattern.finditer(seen):
            yield FlaggedSpan(category="privacy", start=match.start(), end=match.end())
    for match in _DIGITS.finditer(seen):
        digits = "".join(str(int(sign)) for sign in match[0] if sign.isdecimal())
        card = len(digits) in range(13, 20) and any(map(int, digits)) and luhn.is_valid(digits)
        if card or match[0].startswith("+"):
            yield FlaggedSpan(category="privacy", start=match.start(), end=match.end())


def _repetition_spans(text: str, words: Sequence[WrittenWord]) -> Iterator[FlaggedSpan]:
    for match in _LONGEST_RUN.finditer(text[:TEXT_MAX]):
        if match[1].isalnum():
            yield FlaggedSpan(category="spam", start=match.start(), end=match.end())
    begin = 0
    for at in range(1, len(words) + 1):
        if at == len(words) or words[at].forms != words[begin].forms:
            if at - begin >= _MOST_REPEATS:
                yield FlaggedSpan(category="spam", start=words[begin].start, end=words[at - 1].end)
            begin = at


def _repeated_links(text: str, words: Sequence[WrittenWord]) -> Iterator[FlaggedSpan]:
    links = [word for word in words if "#link" in word.forms][:2]
    distinct_links = {text[each.start : each.end] for each in links}
    if len(links) > len(distinct_links):
        yield FlaggedSpan(category="spam", start=links[0].start, end=links[1].end)
