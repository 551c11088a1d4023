"""The reader of statements: one engine, and a table of words for each language."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final

from canonry.language.reading.clauses import read_clause
from canonry.language.reading.figures import state_in
from canonry.language.reading.forms import SPEAKER, UnreadClause
from canonry.language.reading.nominals import read_nominal
from canonry.language.reading.orders import reorder_tokens
from canonry.language.reading.times import is_recurring, parts_of
from canonry.language.reading.tokens import (
    LIMITS,
    Token,
    WordTable,
    is_finite,
    put_in_past,
    sentences_of,
    spell_out_periods,
    table_of_events,
    verb_of,
    word_table,
)
from canonry.values.attributes.table import ValueKind, current_attributes, find_attribute
from canonry.values.calendars.declaring import read_rough_time
from canonry.values.calendars.reckoning import GREGORIAN, Grain, RoughTime, rough_in_words, span_of
from canonry.values.errors import InvalidInput
from canonry.values.json_values import plain_signs
from canonry.values.moments import DAY, Instant
from canonry.values.statements import PHRASE, Modality, Phase, Quantity, Statement

READER: Final = 1
"""The reader's version, which is stored with the statements that it read."""

CLAUSES_MAX: Final = 8
"""The most clauses of a text that are read."""

_TIME_MAX: Final = 5  # the most words of a time in a text

_CHANGES: Final = frozenset({Phase.BEGINS, Phase.ENDS})
_PRESENT: Final = frozenset({"s", "base"})
_PAST: Final = frozenset({"past", "participle"})

_CLEAR: Final = frozenset({Modality.ASSERTED, Modality.PLANNED})
"""The modalities of statements that may be stored."""

_INCLUDED: Final = frozenset({"through", "end", "ende", "einschließlich", "fin", "finales"})
_NEAREST: Final = frozenset({"as of", "as from", "effective", "effective from", "with effect from"})
_ORIGINS: Final = frozenset({"from", "vom", "desde", "du", "del"})
"""Words of a limit: the time is included, is the nearest, or can be that of an origin."""
_PASSING: Final = frozenset({"health", "presence", "mood", "duty", "on_call"})
_DAILY: Final = frozenset({"openness", "availability", "home_office"})
_STAYS: Final = frozenset({"is", "location", "home", "on_call"})
_SHORT: Final = frozenset({Grain.DAY, Grain.WEEK})
"""Attributes whose values last, or come again each week, and the spans for which they last."""
_CONTINUED: Final = frozenset({"", "on", "onward", "onwards", "an"})

_YEAR_DIGITS: Final = 4
_DIGIT: Final = re.compile(r"\d")

_JOINTS: Final = re.compile(r" (?:[,.]|and|but|so|und|aber|et|mais|y|pero) ")
_SPEAKER: Final = re.compile(rf"{SPEAKER}(?!\w)")
_TERM: Final = re.compile(r"[^\W\d_]+(?=')'?|[^\W\d_]+")

_SUBJECT_MAX: Final = 7
"""The number of words after `and` that are tried for the verb of a new clause."""

_SAYING_MAX: Final = 6
"""The number of words from a comma on that can name the speaker of a sentence."""

_SUBJECT_STARTS: Final = frozenset({"he", "i", "nobody", "anybody", "the", "my", "no", "only"})
"""The meanings of words that begin a new subject."""

_TABLES: Final = ("en", "fr", "es", "de")
"""The tables of the languages that are read; of two that fit alike, the first counts."""


def read_statements(
    text: str, names: Mapping[str, str], *, about: str = "", happened: bool = False
) -> tuple[Statement, ...]:
    """Return the statements of a text; none where the reader is not sure.

    `names` maps each known name to the id of its entity. Pronouns at the beginning refer to the
    entity `about`, if any. Statements that are only reported or possible say so, or are left out.
    If it `happened`, "goes to the Cave" tells of one move, and else of a habit.
    """
    known, attributes = tuple(sorted(names.items())), current_attributes()
    if not happened:
        return _read_cached(text, known, about, attributes, word_table)
    past = _read_cached(put_in_past(text), known, about, attributes, table_of_events)
    changes = any(one.phase in {Phase.BEGINS, Phase.ENDS} for one in past)
    return past if changes else _read_cached(text, known, about, attributes, table_of_events)


@lru_cache(maxsize=16_384)  # a call reads each sentence 4 times: bench compare, propose
def _read_cached(
    text: str, names: tuple[tuple[str, str], ...], before: str, _table: Any, find_table: Any
) -> tuple[Statement, ...]:
    found: dict[Statement, None] = {}
    words = find_table(_language_of(text, [name for name, _id in names]).code)
    for sentence in sentences_of(text, dict(names), words):
        condition, main = _split_condition(sentence, words)
        for clause in list(_split_clauses(main, words))[:CLAUSES_MAX]:
            said = read_clause(clause, words, before)
            read = [replace(one, attribute=f"{condition}{one.attribute}") for one in said]
            read += [born for one in read for born in _birth_year(one)]
            found |= dict.fromkeys(one for one in read if one.modality in _CLEAR)
            known = clause[0].name if clause else ""
            before = next((one.subject for one in read if not one.implied), known or before)
    return tuple(dict.fromkeys(map(partial(_mark_listed, tuple(found)), found)))


def _birth_year(said: Statement) -> Iterator[Statement]:
    """Yield the year of a date of birth, or the years of birth that an age in a year leaves."""
    reported = {"age": said.when, "birth_date": str(said.value)}.get(said.attribute, "")
    year = parts_of(reported).get("y", "")
    if year.isdecimal() and said.holds and said.phase is not Phase.ENDS:
        value = Quantity(low=int(year), high=int(year))
        if isinstance(said.value, Quantity):  # in months; the birthday can be still to come
            ages = said.value.high, said.value.low
            low, high = (round(int(year) - each / 12, 3) for each in ages)
            value = Quantity(low=low - 1, high=high, about=said.value.about)
        yield replace(said, attribute="birth_year", value=value, when="", implied=True)


def _mark_listed(statements: Sequence[Statement], statement: Statement) -> Statement:
    """Mark a value or a subject that the same text lists with others, as in `Bo and Tessa`."""
    if not isinstance(statement.value, str) or not statement.holds:
        return statement
    shared = attrgetter("attribute", "phase", "holds")
    like = [one for one in statements if shared(one) == shared(statement)]
    values = {one.value for one in like if one.subject == statement.subject}
    several = len(values) > 1 and find_attribute(statement.attribute).cardinality == 1
    if several and not statement.quantifier:
        return replace(statement, quantifier="some")
    sole = [one.quantifier for one in like if one.value == statement.value]
    return replace(statement, quantifier="some") if "sole" in sole and len(sole) > 1 else statement


def said_by(speaker: str, said: Iterable[Statement]) -> Iterator[Statement]:
    """Yield statements with `I` as the speaker; without one, leave out those that have it."""
    for one in said:
        reported = json.dumps(one.to_json())
        named = _SPEAKER.sub(speaker, reported)
        if named == reported:
            yield one
        elif speaker:
            yield Statement.from_json(json.loads(named))


@lru_cache(maxsize=256)  # asked for several times a claim: bench compare, propose
def _read_alone(text: str, _table: Any) -> tuple[Statement, ...]:
    """Return the statements of a text without known names; its first word may be one."""
    words, first = _language_of(text, ()), text.split(maxsplit=1)[0].removesuffix("'s")
    links = words.prepositions.keys() | words.sets["articles"]
    names = {} if first.casefold() in links else {first: first}
    return (*read_statements(text, {}), *read_statements(text, names))


def tense_of(text: str) -> int:
    """Return 1 for a text that speaks of what will happen, -1 of what happened; 0 if it is open.

    "We move in May" will happen, "we live in Kassel" is open.
    """
    words = _language_of(text, ())
    sentences = list(sentences_of(text, {}, words))
    for one, then in (pair for each in sentences for pair in pairwise(each)):
        roles = {word_table(code).prepositions.get(one.text) for code in _TABLES}
        if "since" in roles and parts_of(then.text):
            return -1  # "since May" is the last May, whatever the verb
    said = _read_alone(text, current_attributes())
    past = any(one.attribute.startswith("did:") or one.phase is Phase.WAS for one in said)
    planned = any(one.modality is Modality.PLANNED for one in said)
    changed = {one.attribute for one in said if one.phase in _CHANGES and not one.implied}
    dated = any(
        one.phase in {Phase.IS, Phase.BEGINS}
        and parts_of(one.when).keys() & {"m", "d"}
        and not find_attribute(one.attribute).always
        for one in said
    )
    told = [e.strip(',.;:!?()"') for e in text.casefold().split()]  # "had her baby" is rewritten
    tokens = [token.text for each in sentences for token in each]
    tokens += [e for e in told if (verb := verb_of(e, words.code)) and verb[1] == "past"]
    dated = dated or bool(require_days(text) and words.sets["upcoming"] & {*told})
    verbs = [form for each in tokens if (form := verb_of(each, words.code)) is not None]
    if changed and any(form in _PAST for _, form in verbs):
        past = True
    elif changed:  # "stops smoking" will happen, but "now smokes" is open
        acts = {one.attribute for one in said if one.phase is Phase.IS}
        acts |= {f"does:{verb}" for verb, form in verbs if form in _PRESENT} - changed
        planned = planned or any(each.startswith("does:") for each in acts)
    present = not past and not any(form == "past" for _, form in verbs)
    planned = planned or (dated and present)
    return int(planned) - int(past)


def time_words_in(text: str, start: RoughTime, *, path: str) -> str:
    """Return the words for the time at which a change or an event of a text happened; else "".

    A time since which something lasts is one, too. `start` is a time for words that count.

    Raises:
        InvalidInput: `time.no-such-day`, the text has a date that no year has.
    """
    statements = _read_alone(text, current_attributes())
    words = [each.strip(',.;:!?()"') for each in text.split()]
    counted = {one for one, unit in pairwise(words) if _is_unit(unit)}
    points = require_days(text, path=path) - counted
    verbs = [verb_of(each, "en") for each in text.split()]
    past = any(verb is not None and verb[1] == "past" for verb in verbs)
    unread = not statements and past  # its time is that of its words
    times = ({one.when for one in statements} | (points if unread else set())) - {""}
    planned = {one.when for one in statements if one.modality is Modality.PLANNED}
    dates = [one.phase for one in statements if one.value == one.when != ""]
    happened = any(one.when and _is_change(one) for one in statements)
    happened = (happened and Phase.BEGINS not in dates) or any(planned if not dates else ())
    always = any(find_attribute(one.attribute).always for one in statements)
    roles = [{word_table(c).prepositions.get(each.casefold()) for c in _TABLES} for each in words]
    since, until = (["since" in each for each in roles], ["until" in each for each in roles])
    plain = spell_out_periods(text, _language_of(text, ()).code) if happened else ""
    onset = _time_behind(plain, "onsets", start)
    effective = onset is not None and (any(planned) or onset[0] not in _ORIGINS)  # a limit
    told = happened or any(since) or unread
    if len(times) != 1 or len(points) > 1 or always or effective or not told:
        return ""
    begins = [bool(each - {"of", "", None}) for each in roles]
    parts = parts_of(*times)
    for at, named in _time_phrases(words, parts, start):
        starts = happened or (at and since[at - 1]) or (unread and begins[at])
        if starts and not since[at] and not (at and until[at - 1]):
            rough = read_rough_time(named, start=start)
            whole = not parts and rough.counted and rough.grain in {Grain.MONTH, Grain.YEAR}
            return rough_in_words(rough, GREGORIAN) if whole else named
    return ""


def _time_phrases(
    words: Sequence[str], parts: Mapping[str, str], start: RoughTime
) -> Iterator[tuple[int, str]]:
    """Yield the phrases that are a time with the parts of a point of time, the longest first."""
    for size in range(min(_TIME_MAX, len(words)), 0, -1):
        for at in range(len(words) - size + 1):
            if _names_time(phrase := " ".join(words[at : at + size]), parts, start):
                yield at, phrase


def limits_in(
    text: str, start: RoughTime, *, begun: Instant | None = None
) -> tuple[RoughTime | None, Instant | None]:
    """Return the times at which what a text says begins, and no longer holds; None: without one.

    "From May" and "until Friday" lie after `start`, "as of May" is the May nearest to it. The day
    of "until Friday" is included, but "until May" ends as May begins. "Since May" is no limit here.
    "Away tomorrow" and "away next week" last that long, unless it is known to have `begun` at
    another time. Hours are no limits, nor are days that come again each week.
    """
    ahead = replace(start, toward=1)
    plain = spell_out_periods(" ".join(text.split()), _language_of(text, ()).code)
    first, end = _time_behind(plain, "onsets", ahead), None
    if first is not None and first[0] in _NEAREST:
        back = _time_behind(plain, "onsets", replace(start, toward=-1)) or first
        first = min(first, back, key=lambda one: abs(one[1].start - start.start))
    after = replace(ahead, start=max(start.start, first[1].start)) if first else ahead
    spans = _time_behind(plain, "spans", after) if first else None
    if spans and _comes_again(plain, spans[1]):
        return None, None
    last = spans or _time_behind(plain, "limits", after)
    span = None if first or last else _span_of_state(plain, ahead)
    if not (first or last or span) or not _is_present_clause(plain, first):
        return None, None
    if span is not None:
        day, end = span_of(span, GREGORIAN)
        return (span, end) if begun is None or day <= begun < end else (None, None)
    if last is not None:
        whole = spans or last[1].grain <= Grain.WEEK or _INCLUDED.intersection(last[0].split())
        end = span_of(last[1], GREGORIAN)[1 if whole else 0]
        if first and last[1].counted and not whole:  # "for three months from 5 May"
            end = Instant(last[1].start // DAY * DAY)
    present = end if end is not None and end > start.start else None
    if first is None:
        return None, present
    past = end is None and first[1].start <= start.start
    if first[0] in _ORIGINS and (past or (end is None and not first[2])):
        return None, present  # "a wine from 2015", "moved from Friday to Monday"
    return first[1], end if end is not None and end > first[1].start else None


def _lasting_in(text: str) -> Mapping[Statement, frozenset[Grain]]:
    """Return what a text says that lasts, with the spans that it can last as the text names them.

    `On holiday` lasts a day, a week or a month, `the boss` and `at 11:00` at most a week, and
    `works from home` a week. A date does not last, nor does an event that comes once.
    """
    words = _language_of(text, ())
    found: dict[Statement, frozenset[Grain]] = {}
    for one in (said.as_asserted for said in _read_alone(text, current_attributes())):
        entry, (family, _, deed) = find_attribute(one.attribute), one.attribute.partition(":")
        grains = _SHORT if entry.cardinality == 1 else frozenset({Grain.WEEK})
        if (entry.exclusive or family in _STAYS) and one.value != f"{PHRASE}{one.when}":
            grains = _SHORT | {Grain.MONTH}
        elif entry.kind is ValueKind.TIME:
            hour = parts_of(str(one.value)).keys() == {"h"} or words.has_word("hourly", deed)
            grains = grains if hour else frozenset()
        elif words.has_word("once", deed):
            grains = frozenset()
        if one.phase is Phase.IS:
            found[one] = grains
    return found


def _comes_again(text: str, last: RoughTime) -> bool:
    """Return whether a time from one to another is none of what a text says that lasts.

    "Open from Monday to Friday" comes again each week, and "moves from 3 to 5 May" is a change.
    """
    words, stays = _language_of(text, ()), _lasting_in(text)
    verbs = {verb[0] for each in text.split() if (verb := verb_of(each.casefold(), words.code))}
    if not stays or any(words.has_word("shifting", each) for each in verbs):
        return True
    named = (str(one.value)[1:].split()[:1] for one in stays if one.attribute == "location")
    once = any(_is_passing(one) for one in stays) or any(n[0].title() in text for n in named if n)
    return last.grain < Grain.MONTH and not once and not _DIGIT.search(text)


def _is_passing(one: Statement) -> bool:
    return one.attribute in _PASSING or one.attribute.startswith("is:on_")


def _span_of_state(text: str, start: RoughTime) -> RoughTime | None:
    """Return the days, weeks or months that a state lasts by a text: `tomorrow`, `next week`."""
    words, stays = _language_of(text, ()), _lasting_in(text)
    whens = {one.when for one in stays} - {""}
    said = [each.strip(',.;:!?()"') for each in text.split()]
    passing = any(
        _is_passing(one) or one.attribute in _DAILY or parts_of(str(one.value)).keys() == {"h"}
        for one in stays
    )
    if passing and any(words.has_word("today", each.casefold()) for each in said):
        return read_rough_time("today", start=start)
    links = words.prepositions.keys() | words.sets["articles"]
    hours = any(one.attribute in _DAILY for one in stays)  # open on Monday, as each week
    hours = hours or sum("w" in words.time_parts(each.casefold()) for each in said) > 1
    for at, phrase in _time_phrases(said, parts_of(*whens), start) if len(whens) == 1 else ():
        rough, size = read_rough_time(phrase, start=start), phrase.count(" ") + 1
        if not any(rough.grain in grains for grains in stays.values()):
            continue
        around = [each.casefold() for each in said[max(at - 1, 0) : at + size]]
        bare = hours and sum(each not in links for each in around[-size:]) == 1
        weekly = bare or any(words.has_word("weekly", each) for each in around)
        since = any(words.prepositions.get(each) == "since" for each in around)
        if since or (weekly and is_recurring(*whens)):
            return None
        if rough.grain is Grain.WEEK:  # from its Monday on
            monday = rough.start // DAY - (rough.start // DAY + 3) % 7
            rough = replace(rough, start=Instant(monday * DAY))
        return rough
    return None


def _is_present_clause(text: str, first: tuple[str, RoughTime, bool] | None) -> bool:
    """Return whether a text has one verb, in the present: its time is that of all it says.

    A change "as of" `first` comes then, also in the past tense: cancelled as of May.
    """
    words = _language_of(text, ())
    read = " . ".join(" ".join(e.text for e in each) for each in sentences_of(text, {}, words))
    verbs = [any(is_finite(e, words) for e in each.split()) for each in _JOINTS.split(read)]
    said = read_statements(text, {}) or _read_alone(text, current_attributes())
    if first and first[0] not in _ORIGINS and any(one.phase in _CHANGES for one in said):
        return True
    return sum(verbs) <= 1 and all(one.phase is not Phase.WAS for one in said)


def _time_behind(text: str, words: str, start: RoughTime) -> tuple[str, RoughTime, bool] | None:
    """Return the last of such `words` with a time behind it, that time, and if it stands alone."""
    for found in reversed([*LIMITS[words].finditer(text)]):
        behind = text[found.end() :].split()[:_TIME_MAX]
        for size in range(len(behind), 0, -1):
            phrase = " ".join(behind[:size]).strip(',.;:!?()"')
            try:
                rough = read_rough_time(phrase, start=start)
            except InvalidInput:
                continue
            rest = [*behind[size:], *text[found.end() :].split()[_TIME_MAX:], ""]
            stops = behind[size - 1][-1] in ",.;:!" or rest[0] in _CONTINUED
            alone = not found.start() or stops or LIMITS["limits"].match(" ".join(rest))
            digits = phrase.rpartition(" ")[2]
            unsure = digits == phrase and (len(phrase) < _YEAR_DIGITS or found[1].isupper())
            if digits.isdigit() and (_is_unit(rest[0]) or unsure):
                continue  # from 900 euros, AB 123
            return found[1].casefold(), rough, bool(alone)
    return None


def _is_unit(word: str) -> bool:
    return any(word_table(code).unit_of(word.casefold()) for code in _TABLES)


def _is_change(statement: Statement) -> bool:
    told = statement.attribute.startswith(("did:", "event:", "is:"))
    begins = statement.phase in _CHANGES
    return (told and statement.phase is Phase.WAS) or (
        begins and find_attribute(statement.attribute).kind is not ValueKind.TIME
    )


def require_days(text: str, *, path: str = "") -> frozenset[str]:
    """Return the points of time in a text; refuse a day that its month does not have.

    Raises:
        InvalidInput: `time.no-such-day`.
    """
    sentences = sentences_of(text, {}, _language_of(text, ()))
    points = {token.text for each in sentences for token in each if parts_of(token.text)}
    for parts in map(parts_of, sorted(points)):
        numbers = (parts.get(each, "") for each in "ymd")
        year, month, day = (int(each) if each.isdecimal() else 0 for each in numbers)
        if month and day > GREGORIAN.years.month_lengths(year or 2000)[month - 1]:
            named = f"{GREGORIAN.months[month - 1].name} {parts.get('y', '')}".strip()
            message = f"{path}: {named} has no day {day}. Ask for the right date."
            raise InvalidInput("time.no-such-day", message, path=path)
    return frozenset(points)


def _names_time(phrase: str, parts: Mapping[str, str], start: RoughTime) -> bool:
    """Return whether a phrase is a time that has the parts of a point of time."""
    article = word_table("en").words.get(phrase.rpartition(" ")[2].casefold()) == "the"
    if article or (phrase.isdigit() and "y" not in parts):
        return False
    try:
        year, month, day = GREGORIAN.date_of(read_rough_time(phrase, start=start).start)
    except InvalidInput:
        return False
    own = {"y": year, "m": month + 1, "d": day}
    return all(parts[each] == str(own[each]) for each in own if each in parts)


def read_quantity(text: str) -> Quantity | None:
    """Return the quantity of a value such as `180 cm`; None if the text is none."""
    words = word_table("en")
    try:
        read = [read_nominal(each, words, "").value for each in sentences_of(text, {}, words)]
    except UnreadClause:
        return None
    return read[0] if len(read) == 1 and isinstance(read[0], Quantity) else None


def _language_of(text: str, names: Sequence[str]) -> WordTable:
    """Return the table of the text's language, which its names do not tell; English by default."""
    plain = text
    for name in names:
        plain = plain.replace(name, " ")
    terms = [*_TERM.findall(plain_signs(plain).casefold())]
    own = current_attributes()
    scores = {code: sum(_language_weight(term, code, own) for term in terms) for code in _TABLES}
    foreign = not text.isascii()  # Lucía come carne
    return word_table(max(_TABLES, key=lambda code: (scores[code], foreign and code != "en")))


@lru_cache(maxsize=32_768)  # one call weighs 64 known words: bench compare, propose
def _language_weight(term: str, code: str, _table: Any) -> int:
    """Return how much a word shows that a text is of a language."""
    words = word_table(code)
    function = term in words.words or term in words.prepositions or term in words.modals
    groups = ("be", "have", "do", "negations", "telling")
    if function or any(words.has_word(group, term) for group in groups):
        return 2
    tables = (words.nouns, words.kinds, words.sets["kinds"], words.numbers, words.units)
    known = any(term in table for table in tables) or state_in((term,), words) is not None
    return int(known or verb_of(term, words.code) is not None)


def _split_condition(sentence: Sequence[Token], words: WordTable) -> tuple[str, Sequence[Token]]:
    """Return the condition under which a sentence holds, as the beginning of an attribute, else "".

    `If it rains, Bo will stay` says of Bo that he stays if it rains, and nothing else.
    """
    commas = [at for at, token in enumerate(sentence) if token.text == ","]
    if len(commas) != 1 or words.words.get(sentence[0].text) != "if":
        return "", sentence
    condition = "_".join(token.name or token.text for token in sentence[: commas[0]])
    return f"if:{condition}:", sentence[commas[0] + 1 :]


def _split_clauses(sentence: Sequence[Token], words: WordTable) -> Iterator[list[Token]]:
    """Divide a sentence into clauses; a clause without a subject takes that of the one before."""
    meanings = {words.words.get(token.text) for token in sentence}
    first = sentence[0].text if sentence else ""
    depends = words.words.get(first) in {"when", "because"} and first not in words.prepositions
    if depends or _is_reported(sentence, words):
        return
    subject: list[Token] = []
    aside, sentence = _split_aside(sentence, words)
    commas = any(token.text == "," for token in sentence)
    if "if" in meanings or (words.order == "v2" and commas and "and" not in meanings):
        return
    if aside:
        yield aside
    for part in _split_parts(sentence, words):
        starts = _verb_first(part, words)
        clause = [*subject, *part] if starts else part
        if not starts:
            later = (at for at, one in enumerate(part) if at and is_finite(one.text, words))
            subject = part[: next(later, len(part))]
        yield reorder_tokens(clause, words)


def _is_reported(sentence: Sequence[Token], words: WordTable) -> bool:
    """Return whether a sentence ends with the one who says it: `Ana is dead, said Bo`."""
    end = max((at for at, token in enumerate(sentence) if token.text == ","), default=len(sentence))
    tail = [] if len(sentence) - end > _SAYING_MAX else sentence[end + 1 :]
    joined = any(words.words.get(token.text) in {"and", "but"} for token in tail)
    known = (verb_of(token.text, words.code) for token in tail)
    reports = any(verb is not None and words.has_word("say", verb[0]) for verb in known)
    return reports and not joined and _has_verb(sentence[:end], words)


def _split_aside(
    sentence: Sequence[Token], words: WordTable
) -> tuple[list[Token], Sequence[Token]]:
    """Return the clause between commas after the subject, and the sentence without it.

    `Ana, who lives in Bree, is tall` and `Ana, the smith, is tall` both have one.
    """
    commas = [at for at, token in enumerate(sentence) if token.text == ","]
    if not commas or not commas[0] or _has_verb(sentence[: commas[0]], words):
        return [], sentence
    start = commas[0]
    end = commas[1] if len(commas) > 1 else len(sentence)
    subject, inner, rest = sentence[:start], sentence[start + 1 : end], sentence[end + 1 :]
    meanings = [words.words.get(one.text, "") for one in inner]
    if meanings[:1] == ["who"]:
        return [*subject, *inner[1:]], [*subject, *rest]
    titled = meanings[:1] in (["the"], ["a"]) or any(one.text == "'s" for one in inner)
    verbs = _has_verb(inner, words) or not rest or not _verb_first(rest, words)
    if titled and not verbs and "and" not in meanings:
        return [*subject, Token(words.copula), *inner], [*subject, *rest]
    return [], sentence


def _split_parts(sentence: Sequence[Token], words: WordTable) -> Iterator[list[Token]]:
    part: list[Token] = []
    for at, token in enumerate(sentence):
        meaning, rest = words.words.get(token.text, ""), sentence[at + 1 :]
        if meaning in {"when", "because"} and part and _has_verb(rest, words):
            yield part
            if meaning == "because":
                yield from _split_parts(list(rest), words)
            return
        if meaning in {"and", "but"} and _begins_clause(rest, words) and _has_verb(part, words):
            yield [one for one in part if one.text != ","] if part[-1:] == [Token(",")] else part
            part = []
            continue
        part.append(token)
    if part:
        yield part


def _begins_clause(rest: Sequence[Token], words: WordTable) -> bool:
    """Return whether a new clause follows `and`: a verb, or a subject with a verb of its own."""
    if not rest or _verb_first(rest, words):
        return bool(rest)
    first = words.words.get(rest[0].text, "")
    starts = bool(rest[0].name) or first in _SUBJECT_STARTS
    until = next((at for at, one in enumerate(rest) if one.text == ","), len(rest))
    return starts and _has_verb(rest[1 : min(until, _SUBJECT_MAX)], words)


def _verb_first(part: Sequence[Token], words: WordTable) -> bool:
    first = next((one for one in part if words.words.get(one.text) != "skip"), None)
    if first is None or first.name:
        return False
    return is_finite(first.text, words) or words.has_word("negations", first.text)


def _has_verb(part: Sequence[Token], words: WordTable) -> bool:
    return any(is_finite(one.text, words) for one in part)
