"""Questions: their meaning, their times, and a second round of ranking."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import nlargest
from itertools import islice, pairwise
from typing import Any, Final, NamedTuple, TypeAlias

from canonry.language.reading.tokens import verb_of
from canonry.language.texts.sentences import sentence_starts
from canonry.language.texts.stems import (
    DENYING,
    STOP_WORDS,
    languages_of,
    query_stems,
    stem_of,
    stems_of,
    terms_of,
)
from canonry.readmodels.ranking import Asked, Figures, Measure, query_breadth, scale_of
from canonry.values.calendars.declaring import read_rough_time
from canonry.values.calendars.reckoning import GREGORIAN, Calendar, Grain, RoughTime, span_of
from canonry.values.data_files import read_toml
from canonry.values.errors import InvalidInput
from canonry.values.json_values import fold_text
from canonry.values.languages import known_languages, month_numbers, plain_letters
from canonry.values.moments import DAY, SECOND, Instant
from canonry.values.policy import RankingWeights

# Questions: the parts that are compared by meaning, and the words that they deny.
#
# Names of speakers are left out of the comparison by meaning, because every greeting of a speaker
# would resemble the question. The search by words keeps them.

_LEAST: Final = 3
"""A question must keep this many significant words without names, or it keeps its names."""
_DENIED: Final = 5
_TABLE: Final[Mapping[str, Mapping[str, Any]]] = read_toml(__package__, "questions.toml")
_LASTING, _SIDES, _ARTICLES = (frozenset(each.split()) for each in _TABLE["words"].values())
"""Words next to a denial that do not belong to what is denied; those before a time; articles."""
_CONTRACTED: Final = "t"
_WORD: Final = re.compile(r"\w+(?:['\u2019]s\b)?")
_SPACES: Final = re.compile(r"\s{2,}")


def without_names(text: str, names: frozenset[str]) -> str:
    """Return the question without the words in `names`, as `terms_of` cuts them.

    A question that would lose too many words is returned as it is.
    """
    if names.isdisjoint(terms_of(text)):
        return text

    def keep_word(match: re.Match[str]) -> str:
        return "" if names.intersection(terms_of(match[0])) else match[0]

    bare = _SPACES.sub(" ", _WORD.sub(keep_word, text)).strip()
    return bare if len(query_stems(bare)) >= _LEAST else text


def denied_stems(text: str) -> frozenset[str]:
    """Return the stems that a question denies: those of the words after a denial.

    If none follow, return those before it: German denials often end a sentence.
    """
    terms = terms_of(text)
    language = languages_of(terms)[0]
    stops = STOP_WORDS[language] | DENYING[language] | _LASTING | {_CONTRACTED}
    denied: set[str] = set()
    for position in _denial_positions(terms, language):
        after = terms[position + 1 : position + 1 + _DENIED]
        before = terms[max(0, position - _DENIED) : position]
        kept_terms = [[term for term in near if term not in stops] for near in (after, before)]
        denied.update(stem_of(language, term) for term in kept_terms[0] or kept_terms[1])
    return frozenset(denied)


def has_denial(text: str, stems: frozenset[str]) -> bool:
    """Return whether a sentence of the text has a denial and one of these stems."""
    starts = [0, *sentence_starts(text)]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        terms = terms_of(text[start:end])
        denial = next(_denial_positions(terms, languages_of(terms)[0]), None)
        if denial is not None and not stems.isdisjoint(stems_of(text[start:end])):
            return True
    return False


def _denial_positions(terms: Sequence[str], language: str) -> Iterator[int]:
    """Yield the positions of denying words; for "can't", the position of its "t"."""
    words = DENYING[language]
    for position, term in enumerate(terms):
        if term in words or (
            term == _CONTRACTED and position and terms[position - 1].endswith("n")
        ):
            yield position


# Long questions are cut to their weightiest sentences, anywhere in the text.
#
# A text is read in slices, so that other threads can run in between.

WORDS_MAX: Final = 16_384
"""The most different words of a text that are weighed, the most frequent ones."""
_SLICE: Final = 4_000  # characters after which another thread may run
_KEPT: Final = 4 * WORDS_MAX  # a text of random words does not fill the memory
_SENTENCES: Final = 1_024  # bounds the time for a pasted text


def significant_stems(text: str) -> Mapping[str, str]:
    """Return the significant words of a text, each with its stem, the most frequent first."""
    counts: Counter[str] = Counter()
    for piece in _text_slices(text):
        counts.update(terms_of(piece))
        if len(counts) > _KEPT:
            counts = Counter(dict(counts.most_common(WORDS_MAX)))
    language = languages_of(counts)[0]
    frequent = (term for term, _ in counts.most_common(_KEPT) if term not in STOP_WORDS[language])
    return {term: stem_of(language, term) for term in islice(frequent, WORDS_MAX)}


def weightiest_sentences(text: str, worth: Mapping[str, float], limit: int) -> str:
    """Return the weightiest sentences of a long text, in their order.

    They fit into `limit` characters, weighed by the worth of their words. The first and the last
    sentence have priority, because people ask there. Repeated sentences are left out, and one
    longer than a quarter of the limit is cut.
    """
    text = text.strip()
    if len(text) <= limit:
        return text
    size = limit // 4
    starts: dict[str, int] = {}
    for at, sentence in _text_sentences(text, size):
        starts.setdefault(sentence, at)
    heavy = nlargest(
        _SENTENCES, starts, key=lambda each: (_sentence_weight(each, worth), -starts[each])
    )
    *_, last = (sentence for _, sentence in _text_sentences(text[-_SLICE:], size))
    starts[last] = len(text)
    chosen: set[str] = set()
    left = limit
    for sentence in (next(iter(starts)), last, *heavy):
        if sentence not in chosen and len(sentence) < left:
            chosen.add(sentence)
            left -= len(sentence) + 1
    return " ".join(sorted(chosen, key=starts.__getitem__))


def _text_slices(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = start + _SLICE
        if end < len(text):
            end = max(text.rfind(sign, start + 1, end) for sign in " \n") + 1 or end
        yield text[start:end]
        start = end


def _text_sentences(text: str, limit: int) -> Iterator[tuple[int, str]]:
    """Yield each sentence with its start, at most so many characters of it."""
    at = 0
    while at < len(text):
        piece = text[at : at + _SLICE]
        starts = [0, *sentence_starts(piece)]
        if at + _SLICE >= len(text) or len(starts) == 1:
            starts.append(len(piece))
        for start, end in pairwise(starts):
            if sentence := piece[start:end].strip()[:limit]:
                yield at + start, sentence
        at += starts[-1]


def _sentence_weight(sentence: str, worth: Mapping[str, float]) -> float:
    """Return the worth of a sentence's words per character."""
    found = sum(worth.get(term, 0.0) for term in frozenset(terms_of(sentence)))
    return found / (len(sentence) or 1)


# A second round of ranking, by words of the best passages that the question lacks.
#
# A greeting or a repeated question shares words with the question and adds nothing, while an answer
# adds words. Rare words that the best passages have and the question lacks therefore count a
# little, less for broad questions. The set of first passages stays the same. Their order stays too
# if the best one repeats the question word for word.

FIRST: Final = 5
"""The number of passages that are ranked again, for every limit."""
SUPPLYING: Final = 3
"""The number of first passages that supply the words."""
_WORDS: Final = 5
_SHARE: Final = 0.2  # the weight of a supplied word, relative to a word of the question
_MOST: Final = 0.5
"""The most that all supplied words count, relative to the strength by the question."""
_VERBATIM: Final = 0.95
_STOPS: Final = frozenset[str]().union(*STOP_WORDS.values())


def may_reorder(asked: Asked, weights: RankingWeights, *, overlap: float) -> bool:
    """Return whether a second round can change the order; looking up its words is costly.

    `overlap` is the share of the question that the best passage has, 1 if word for word.
    """
    return (
        overlap < _VERBATIM and bool(asked.terms) and query_breadth(len(asked.terms), weights) < 1
    )


def additional_stems(
    asked: Asked, stems: Collection[str], names: Collection[str]
) -> frozenset[str]:
    """Return the significant stems that are neither in the question nor a name."""
    others = frozenset(stem for stem in stems if len(stem) >= _LEAST)
    return others.difference(asked.terms, names, _STOPS)


def reordered_first(
    asked: Asked,
    first: Sequence[tuple[float, Sequence[str]]],
    figures: Figures,
    weights: RankingWeights,
    *,
    overlap: float,
) -> Sequence[int]:
    """Return the numbers of the first passages in their new order.

    Each passage has its strength and stems. `figures` has the words that may count, those of
    `additional_stems`.
    """
    if not may_reorder(asked, weights, overlap=overlap):
        return range(len(first))
    found_in = figures.found_in
    supplied_by = Counter(
        s for _, stems in first[:SUPPLYING] for s in found_in.keys() & frozenset(stems)
    )
    each = {stem: figures.word_worth(found_in[stem]) for stem in supplied_by}
    supplied = sorted(supplied_by, key=lambda stem: (-supplied_by[stem] * each[stem], stem))[
        :_WORDS
    ]
    meant = {stem: ((stem, _SHARE * each[stem]),) for stem in supplied}
    measure = Measure(meant=meant, phrases=(), most={}, length=figures.length)
    scale = scale_of(asked, weights) * (1 - query_breadth(len(asked.terms), weights))
    gains = [
        strength + min(_MOST * strength, scale * sum(measure.term_shares(stems).values()))
        for strength, stems in first
    ]
    return sorted(range(len(first)), key=lambda number: -gains[number])


# Times in a question, as intervals.
#
# The tables of the grammar of times tell which words may name one, and the grammar reads them.
# "Last" and "ago" count from the present of the conversation; a bare month is the last one.


class TimeSpan(NamedTuple):
    """From `start` up to and without `end`; None: open."""

    start: Instant | None
    end: Instant | None


class EventAnchor(NamedTuple):
    """Before, after or during another event; `days` limits the distance."""

    side: str
    event_text: str
    days: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimesAsked:
    """The times that a question names; sessions count from 1, and -1 is the last one."""

    intervals: tuple[TimeSpan, ...] = ()
    sessions: tuple[tuple[str, int], ...] = ()
    anchors: tuple[EventAnchor, ...] = ()

    def __bool__(self) -> bool:
        """Return whether it names any time."""
        return bool(self.intervals or self.sessions or self.anchors)


_TIME_MAX: Final = 6  # the most words of a time
_READ_MAX: Final = 600
"""The most words of a question that are read; reading a time costs a millisecond."""
_NUMERIC: Final = re.compile(r"\d{4}-\d\d(?:-\d\d)?|\d{1,2}[./-]\d{1,2}[./-]\d{4}")
_YEAR: Final = re.compile(rf"(?:1\d|20)\d\d|{_NUMERIC.pattern}")
_LINKS: Final = frozenset({*_SIDES, "from", "between"})
_LINKED, _COUNTED = 1, 3
"""A word needs a word such as `in` before it, or one such as `ago` or `last` beside it."""
_COUNTS_ONLY: Final = ("seasons", "parts", "units", "plurals")
_NEEDS: Final = {"days": 0, "week": _LINKED, **dict.fromkeys(_COUNTS_ONLY, _COUNTED)}
_AROUND, _ANCHOR, _SESSION, _PAST, _PRESENT = map(re.compile, _TABLE["patterns"].values())
_UNITS, _COUNTS, _ORDINALS = _TABLE["units"], _TABLE["counts"], _TABLE["ordinals"]
_WEEK: Final = 7
_HALF: Final = 0.5


@lru_cache(maxsize=256)  # one search reads its question 6 times: bench compare, find
def read_times(text: str, calendar: Calendar, present: Instant | None) -> TimesAsked:
    """Read the times in the question; `present` is the time that the conversation has reached."""
    folded_text = fold_text(text)
    plain = plain_letters(folded_text) if calendar is GREGORIAN else folded_text
    found = tuple(_time_spans(plain, calendar, present))
    sessions = tuple(
        (match[1] or match[4], int(match[2]) if match[2] else _ORDINALS[match[3]])
        for match in _SESSION.finditer(folded_text)
    )
    anchors = tuple(
        EventAnchor(match["way"], match["what"].strip(), _days_in(match))
        for match in (() if found or sessions else _ANCHOR.finditer(folded_text))
    )
    return TimesAsked(intervals=found, sessions=sessions, anchors=anchors)


def asks_for_past(text: str) -> bool:
    """Return whether a text asks for what was, as "who owned the mill" does."""
    plain = plain_letters(fold_text(text))
    verbs = (verb_of(term, "en") for term in terms_of(plain))
    past = any(verb is not None and verb[1] == "past" for verb in verbs)
    return bool(_PAST.search(plain)) or (past and not _PRESENT.search(plain))


def time_nearness(when: Instant, interval: TimeSpan) -> float:
    """Return 1 for a time within the interval, less for one after or before it.

    People talk about events after them, and less often before them.
    """
    start, end = interval
    length = 0 if start is None or end is None else end - start
    fades = max(_WEEK * DAY, length // 2)
    if start is not None and when < start:
        return 0.0 if end is None else float(_HALF ** (1 + (start - when) / fades))
    if end is not None and when >= end:
        return 0.0 if start is None else float(_HALF ** ((when - end) / fades))
    return 1.0


def _days_in(match: re.Match[str]) -> int | None:
    unit = match["unit"]
    return None if unit is None else _UNITS[unit] * _COUNTS.get(match["count"], 1)


def _time_spans(text: str, calendar: Calendar, present: Instant | None) -> Iterator[TimeSpan]:
    """Yield each time that the words name, with the words before it taken into account."""
    words = [word.strip(',.;:!?()"') for word in text.split()[:_READ_MAX]]
    words = [match[0] if (match := _NUMERIC.match(word)) else word for word in words]
    begun: TimeSpan | None = None
    position = 0
    while position < len(words):
        found, size = _longest_time(words, position, calendar, present)
        before, position = " ".join(words[max(0, position - _TIME_MAX) : position]), position + size
        if found is None:
            continue
        if begun is not None and before.endswith((" and", " to", " until")):
            yield TimeSpan(begun.start, found.end)
            begun = None
        elif before.endswith(("between", "from")):
            begun = found
        else:
            yield _span_on_side(found, before)
    if begun is not None:
        yield begun


def _longest_time(
    words: Sequence[str], position: int, calendar: Calendar, present: Instant | None
) -> tuple[TimeSpan | None, int]:
    """Return the time of the most words at a position, and their number; without one, 1."""
    needs, links, past = _time_vocabulary(calendar)
    near = words[position : position + _TIME_MAX]
    for size in range(len(near), 0, -1):
        some, end = near[:size], near[size - 1]
        named = [needs[each] for each in some if each in needs]
        dated = any(map(_YEAR.fullmatch, some))
        if not (named or dated) or not (end in needs or end in past or end[:1].isdigit()):
            continue
        text, need = " ".join(some), max(named, default=_LINKED)
        if named and (dated or (need == _LINKED and any(map(str.isdigit, text)))):
            need = 0
        counted = any(f" {each} " in f" {text} " for each in past)
        linked = not links.isdisjoint((some[0], *words[position - 1 : position]))
        sure = _COUNTED if counted or _NUMERIC.fullmatch(end) else linked
        fits = need <= sure and _SIDES.isdisjoint(some)
        if fits and (found := _read_span(text, calendar, present)) is not None:
            return found, size
    return None, 1


_Vocabulary: TypeAlias = tuple[Mapping[str, int], frozenset[str], frozenset[str]]


@lru_cache(maxsize=64)  # built from a whole calendar: bench compare, find
def _time_vocabulary(calendar: Calendar) -> _Vocabulary:
    """Return the words that may name a time with what they need, and the words for both needs."""
    if calendar is not GREGORIAN:
        forms = [(each.name, *each.short) for each in calendar.months]
        forms += [(each.name, *each.also) for each in calendar.eras]
        forms += [(each.name,) for each in calendar.counters]
        words = (word for names in forms for name in names for word in fold_text(name).split())
        return dict.fromkeys(words, 0), _LINKS, frozenset()
    tables = [each.times for each in known_languages().values() if each.times]
    needs = dict.fromkeys(month_numbers(), _LINKED) | {"weekend": _COUNTED}
    for name, need in _NEEDS.items():
        start = 3 if name in {"units", "plurals"} else 0  # not seconds, minutes and hours
        needs |= {w: need for each in tables for words in each.get(name, ())[start:] for w in words}
    links = {w for each in tables for words in each.get("skip", ()) for w in words} - _ARTICLES
    past = {w for each in tables for words in each.get("ways", ())[1:4:2] for w in words}
    return needs, _LINKS | links, frozenset({"this", *past})


def _span_on_side(read: TimeSpan, before: str) -> TimeSpan:
    """Return the time on the side of a date that the words before it name."""
    match = _AROUND.search(before)
    if match is None:
        return read
    days = _days_in(match)
    if match["way"] in {"after", "since"}:
        after = read.start if match["way"] == "since" else read.end
        until = None if days is None or after is None else Instant(after + days * DAY)
        return TimeSpan(after, until)
    end = read.start if match["way"] == "before" else read.end
    return TimeSpan(None if days is None or end is None else Instant(end - days * DAY), end)


def _read_span(text: str, calendar: Calendar, present: Instant | None) -> TimeSpan | None:
    """Return the day, week, month or year that a text names."""
    if present is None and calendar is GREGORIAN:
        present = Instant(0)
    if text.endswith("weekend") and present is not None:
        monday = present - (present // DAY + 3) % _WEEK * DAY - present % DAY
        return TimeSpan(Instant(monday - 2 * DAY), Instant(monday))
    try:
        start = None if present is None else RoughTime(start=present, toward=-1)
        read = read_rough_time(text, calendar, start)
    except InvalidInput:
        return None
    if calendar.counters:
        length = min(each.seconds for each in calendar.counters) * SECOND
        return TimeSpan(read.start, Instant(read.start + length))
    weekly = calendar is GREGORIAN and (read.grain is Grain.WEEK or "week" in text)
    grain = Grain.WEEK if weekly else max(read.grain, Grain.DAY)
    start_at, end = span_of(replace(read, grain=grain), calendar)
    days = (start_at // DAY + 3) % _WEEK * DAY if weekly else 0
    return TimeSpan(Instant(start_at - days), Instant(end - days))
