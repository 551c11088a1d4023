"""Read a clause: divide it into subject, verb group and phrases, and make its statements."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final

from canonry.language.reading import possessions
from canonry.language.reading.actions import acting_statements, counting_statements
from canonry.language.reading.copulas import copula_statements, is_unreal, reciprocal_statements
from canonry.language.reading.figures import UNREAD, is_number, is_plural, number_of, text_of
from canonry.language.reading.forms import ANYBODY, Clause, Nominal, UnreadClause, VerbGroup
from canonry.language.reading.nominals import read_nominal, split_list
from canonry.language.reading.times import parts_of
from canonry.language.reading.tokens import Token, WordTable, is_finite, verb_of
from canonry.language.reading.verb_groups import GroupReader
from canonry.language.reading.verb_rules import MOTION
from canonry.values.attributes.table import implied_by
from canonry.values.statements import AHEAD, PHRASE, Phase, Statement

_DETERMINERS: Final = frozenset({"the", "a", "no", "all", "some", "most", "my", "another"})
_OPENERS: Final = frozenset({"the", "a", "my", "no", "he"})
_LEADS: Final = frozenset(
    {"in", "on", "at", "since", "until", "when", "from", "by", "near", "below"}
)
"""The roles of phrases of time or place that stand before a subject."""

_LASTING: Final = frozenset({"since", "for"})
"""The roles of phrases that say that something has lasted up to now."""

_UNREAD_MARKS: Final = frozenset({"if", "that", "who"})
_CLOSING: Final = frozenset({"when", "because", "but"})


def read_clause(tokens: Sequence[Token], words: WordTable, before: str) -> list[Statement]:
    """Return the statements of one clause; `before` is the subject that pronouns refer to."""
    try:
        return list(_clause_statements(_parse_clause(tokens, words, before)))
    except UnreadClause:
        return []


def _parse_clause(tokens: Sequence[Token], words: WordTable, before: str) -> Clause:
    lead, tokens = _cut_lead(tokens, words)
    if tokens and words.has_word("existential", tokens[0].text):
        return _read_existential(lead, tokens[1:], words, before)
    start = _verb_at(tokens, words)
    subjects = _read_subjects(tokens[:start], words, before)
    group, rest = GroupReader(tokens[start:], words).read_group()
    manner = any(words.is_manner(token.text) for token in rest)
    alone = any(words.words.get(token.text) == "only" for token in rest)
    if group.negative and (manner or alone):  # what is not done well, or alone, can be done
        raise UnreadClause
    own = subjects[0].value if len(subjects) == 1 and isinstance(subjects[0].value, str) else ""
    reported_tokens = rest[int(words.words.get(rest[0].text) == "that") :] if group.reports else ()
    content = "_".join(token.name or token.text for token in reported_tokens)
    reported = [("", [Nominal(value=f"{PHRASE}{content}")])] if group.reports else []
    phrases = reported or _read_phrases(rest, words, before, own, states=group.copula)
    either = any(words.words.get(token.text) == "or" for token in tokens)
    nominals = [*subjects, *(one for _role, each in phrases for one in each)]
    if either and not (group.negative or any(one.negative for one in nominals)):
        raise UnreadClause
    return Clause(
        words=words,
        subjects=subjects,
        group=group,
        phrases=_with_object(phrases, group, words),
        lead=_read_phrases(lead, words, before) if lead else (),
        is_new=any(words.has_word("renewed", token.text) for token in tokens),
    )


def _with_object(
    phrases: list[tuple[str, list[Nominal]]], group: VerbGroup, words: WordTable
) -> list[tuple[str, list[Nominal]]]:
    """Make an object of a phrase that only looks like another: `mange de la viande`."""
    if len(phrases) == 1 or group.copula:
        return phrases
    moves = f"{MOTION}{group.verb}" in words.verbs
    if moves and any(words.has_word("directions", one.last_word) for one in phrases[0][1]):
        return [("", []), *phrases[1:]]  # went back to the inn
    if phrases[0][1]:
        return phrases
    role, nominals = phrases[1]
    used = {end for rule in words.verbs.get(group.verb, ()) for end in rule[1:3]}
    partitive = "partitive" in words.flags and role == "of"
    personal = "personal_to" in words.flags and role == "to" and "o" in used
    if (partitive or personal) and role not in used:
        return [("", nominals), *phrases[2:]]
    return phrases


def _read_subjects(tokens: Sequence[Token], words: WordTable, before: str) -> list[Nominal]:
    """Return the noun phrases of a subject; possessives refer to the first: `Ana and her son`."""
    subjects: list[Nominal] = []
    own, owner = "", list[Token]()
    for each in split_list(tokens, words):
        read = read_nominal(each, words, before, own)
        plain = read.noun in words.nouns and len(each) == 1 and bool(owner)
        read = read_nominal([*owner, *each], words, before, own) if plain else read
        denied = bool(subjects) and subjects[0].negative  # neither Ana nor Bo
        subjects.append(replace(read, negative=True) if denied else read)
        first = subjects[0].value
        own = first if isinstance(first, str) else ""
        ends = [at for at, token in enumerate(each) if token.text == "'s"]
        owner = list(each[: ends[-1] + 1]) if ends else owner  # Ana's mother and father
    if not subjects:
        raise UnreadClause
    return subjects


def _read_existential(
    lead: Sequence[Token], tokens: Sequence[Token], words: WordTable, before: str
) -> Clause:
    """Read `there is no well in Velm` as `Velm has no well`."""
    group, rest = GroupReader(tokens, words).read_group()
    leading = _read_phrases(lead, words, before) if lead else []
    phrases = [*_read_phrases(rest, words, before), *leading]
    clause = Clause(words=words, subjects=(), group=group, phrases=phrases)
    locations = [one for role, one in clause.locations if words.has_word("places", role)]
    locations = locations or [one for _role, one in clause.locations]
    if not group.copula or len(locations) != 1 or not clause.objects:
        raise UnreadClause
    return replace(
        clause,
        subjects=locations,
        group=replace(group, verb="have", copula=False),
        phrases=[(role, each) for role, each in phrases if locations[0] not in each],
    )


def _cut_lead(tokens: Sequence[Token], words: WordTable) -> tuple[Sequence[Token], Sequence[Token]]:
    """Cut off a time or place before the subject: `In 1390 Garrick was loyal`."""
    first = tokens[0].text if tokens else ""
    counted = first in words.bounds and len(tokens) > 1 and is_number(tokens[1].text, words)
    if first and words.is_time(first) and not words.time_parts(first) and len(tokens) > 1:
        return tokens[:1], tokens[1:]
    if first not in words.prepositions or counted:
        return (), tokens
    if words.prepositions[first] not in _LEADS:  # an opinion, a help, or a rumour
        raise UnreadClause
    commas = [at for at, token in enumerate(tokens) if token.text == ","]
    if commas:
        return tokens[: commas[0]], tokens[commas[0] + 1 :]
    for at, token in enumerate(tokens[1:5], start=1):
        text, after = token.text, tokens[at + 1 : at + 2]
        year = number_of(text, words) is not None and not (after and words.unit_of(after[0].text))
        there = bool(after) and words.has_word("existential", after[0].text)
        opens = [bool(one.name) or words.words.get(one.text) in _OPENERS for one in after]
        inside = words.words.get(text) in _DETERMINERS or text in words.prepositions
        starts = opens == [True] and not inside  # in Bree the inn
        if starts or there or year or words.time_parts(text):
            return tokens[: at + 1], tokens[at + 1 :]
    raise UnreadClause


def _verb_at(tokens: Sequence[Token], words: WordTable) -> int:
    """Return the index of the first word of the verb group."""
    for at in range(1, len(tokens)):
        text, last = tokens[at].text, tokens[at - 1].text
        if tokens[at].name:
            continue
        opens = any(words.has_word(group, text) for group in words.openers)
        opens = opens or (words.has_word("becoming", text) and is_number(last, words))
        if text in words.modals or opens or words.words.get(text) == "self":
            return at
        known = verb_of(text, words.code)
        determined = words.words.get(last, "") in _DETERMINERS or last == "'s"
        determined = determined or is_number(last, words)
        if known is None or determined or last in words.prepositions or known[1] == "ing":
            continue
        base, form = known
        after = tokens[at + 1].text if at + 1 < len(tokens) else ""
        opens = any(words.has_word(each, after) for each in words.openers) or after in words.modals
        if form == "s" and opens and not tokens[at - 1].name:  # the city walls are old
            continue
        named = at in {1, 2} and bool(tokens[at - 1].name) and (at > 1 or base in words.verbs)
        alone = at > 1 and not any(is_finite(one.text, words) for one in tokens[at + 1 :])
        named = named and (alone or words.words.get(after) == "the" or after == "@")
        plural = named or is_plural(tokens[:at], words)  # the Bergs own the car
        if form == "base" and at + 1 < len(tokens) and not plural:
            continue
        if base in words.verbs or words.has_word("common", base) or form in {"past", "participle"}:
            light = takewhile(lambda one: _is_light(one, words), reversed(tokens[1:at]))
            return at - len(list(light))
    return _unknown_verb_at(tokens, words)


def _unknown_verb_at(tokens: Sequence[Token], words: WordTable) -> int:
    """Return the index of a verb in no table, by its ending: `Odo limps`, or refuse the clause."""
    third = words.unknown_third
    for at, token in enumerate(tokens):
        if not third or not at or token.name or not token.text.endswith(third):
            continue
        after = "" if at + 1 == len(tokens) else words.words.get(tokens[at + 1].text, "")
        named = bool(tokens[0].name) and all(_is_light(one, words) for one in tokens[1:at])
        opens = at > 1 and after in _DETERMINERS and tokens[at - 1].text != "'s"
        if named or opens:
            return at
    raise UnreadClause


def _is_light(token: Token, words: WordTable) -> bool:
    return words.words.get(token.text) in {"adverb", "skip", "hedge", "only"}


def _read_phrases(
    tokens: Sequence[Token], words: WordTable, before: str, own: str = "", *, states: bool = False
) -> list[tuple[str, list[Nominal]]]:
    """Return the noun phrases after the verb with their roles; the object's role is "".

    With `states` a preposition at the end is a state: `the light is on`.
    """
    found, last = [("", list[Token]())], len(tokens) - 1
    alone = states and sum(words.words.get(token.text) != "skip" for token in tokens) == 1
    for at, token in enumerate(tokens):
        meaning = words.words.get(token.text, "")
        role = words.prepositions.get(token.text, "")
        number = at + 1 < len(tokens) and is_number(tokens[at + 1].text, words)
        if (token.text in words.bounds and number) or alone:
            role = ""
        if words.is_manner(token.text) and at in {0, last}:
            continue
        following = tokens[at + 1].text if at + 1 < len(tokens) else ""
        if meaning == "but" and words.words.get(following) in _DETERMINERS:
            found[-1][1].append(Token(","))
            continue
        if meaning in _UNREAD_MARKS and role in {"", "of"}:
            raise UnreadClause
        if meaning in _CLOSING and not role:
            break
        if role and (role != "of" or (found == [("", [])] and len(tokens) > 1)):
            found.append((role, []))
        else:
            found[-1][1].append(token)
    divided = list(_with_times(found, words))
    divided.sort(key=lambda one: bool(one[0]))  # the object comes first
    return [
        (role, _read_list(part, words, before, own)) for role, part in divided if part or not role
    ]


def _with_times(
    found: Sequence[tuple[str, list[Token]]], words: WordTable
) -> Iterator[tuple[str, list[Token]]]:
    """Divide phrases before a time at their end: `eats fish | every day`."""
    for role, whole in found:
        part = whole[:-1] if whole[-1:] == [Token(",")] else whole
        numbered = bool(part[2:]) and bool(part[0].name) and not part[1].name
        counted = numbered and is_number(part[1].text, words)  # owes Ida ten crowns
        counted = counted or (numbered and words.words.get(part[1].text) in _DETERMINERS)
        if counted and not role:
            yield "to", part[:1]
            part = part[1:]
        start = len(part)
        marked = len(part) > 1 and words.has_word("time_marks", part[-1].text)
        spans = marked and words.has_word("seasons", part[-2].text)  # l'hiver dernier
        marked = marked and (spans or words.is_time(part[-2].text))
        last = start - 1 - int(marked)
        season = len(part) > 1 and words.has_word("seasons", part[-1].text)
        season = season and words.has_word("time_marks", part[-2].text)
        if part and not part[last].name and (season or spans or words.is_time(part[last].text)):
            marks = (
                words.words.get(one.text) in _DETERMINERS
                or words.has_word("time_marks", one.text)
                or one.text in words.bounds
                or (role != "at" and is_number(one.text, words))
                for one in reversed(part[:last])
            )
            start = last - len(list(takewhile(bool, marks)))
        divided = 0 < start < len(part) or (not start and _only_time(part, words))
        yield role, part[:start] if divided else part
        if divided:
            yield "when", part[start:]


def _only_time(part: Sequence[Token], words: WordTable) -> bool:
    """Return whether a phrase is a point of time alone: `every night`, `last week`, and no span."""
    marked = any(words.has_word("time_marks", one.text) for one in part)
    part = part[:-1] if len(part) > 1 and words.has_word("time_marks", part[-1].text) else part
    season = bool(part) and words.has_word("seasons", part[-1].text)
    if not part or part[-1].name or not (season or words.is_time(part[-1].text)):
        return False
    first = words.words.get(part[0].text, "")
    return first == "all" or marked or bool(words.time_parts(part[-1].text))


def _read_list(part: Sequence[Token], words: WordTable, before: str, own: str) -> list[Nominal]:
    """Return the noun phrases of a list; a `no` before the first denies all: `no X or Y`."""
    read = [read_nominal(each, words, before, own) for each in split_list(part, words)]
    read = [one for one in read if one.value != UNREAD or one.negative or len(read) == 1]
    if len(read) > 1 and read[0].negative:
        read = [read[0], *(replace(one, negative=True) for one in read[1:])]
    return [one for one in read if one.value != UNREAD or one.negative]


def _clause_statements(clause: Clause) -> Iterator[Statement]:
    _refuse_unclear(clause)
    pair = list(reciprocal_statements(clause))
    if pair:
        for one in pair:
            stated = _qualify_statement(clause, clause.subjects[0], one)
            yield from (stated, *implied_by(stated))
        return
    for subject in clause.subjects:
        for owned in (subject, *possessions.owned_objects(clause)):
            yield from possessions.presupposed_objects(clause, owned)
        for one in _statements_of(clause, subject):
            if not isinstance(one.value, str) or UNREAD not in one.value:
                stated = _qualify_statement(clause, subject, one)
                if "broader" in stated.qualifiers and not stated.holds:
                    continue  # a person without a dog can have another pet
                yield stated
                yield from _implied_statements(clause, stated)


def _implied_statements(clause: Clause, stated: Statement) -> Iterator[Statement]:
    """Yield what follows from a statement by the meaning of its words."""
    words, group = clause.words, clause.group
    if group.never and group.perfect and stated.phase is Phase.IS and not stated.holds:
        yield replace(stated, phase=Phase.WAS, implied=True)  # has never been ill, and never was
    plain = stated.holds_then and stated.quantifier in {"", "all"}
    key = f"{stated.attribute}:{stated.value}"
    for name, *word in words.follows.get(key, ()) if plain else ():
        denied = f"{PHRASE}{word[0]}" if word else None  # a vegan eats no meat
        yield replace(stated, attribute=name, value=denied, holds=False, implied=True)
    most = stated.attribute.removeprefix("most:").partition("_")[0]
    if plain and most in words.extremes:  # the eldest is not the youngest
        least = stated.attribute.replace(most, words.extremes[most])
        yield replace(stated, attribute=least, holds=False, implied=True)
    yield from implied_by(stated)


def _refuse_unclear(clause: Clause) -> None:
    """Refuse a clause whose scope or subject is not clear."""
    group, words = clause.group, clause.words
    everybody = any(one.quantifier == "all" for one in clause.subjects)
    always = parts_of(clause.when).get("w") == "0"  # not every day, but on some
    reason = any(role == "because" for role, _one in clause.phrases)
    unclear = group.negative and (everybody or always or reason)
    if unclear or any(words.has_word("blurring", mark) for mark in group.marks):
        raise UnreadClause
    for subject in clause.subjects:
        unknown = not isinstance(subject.value, str) or UNREAD in subject.value
        if unknown or is_unreal(subject, words):
            raise UnreadClause


def _statements_of(clause: Clause, subject: Nominal) -> Iterator[Statement]:
    """Return the statements by the kind of the verb."""
    counted = subject.quantity is not None and subject.words and not subject.definite
    if counted and (clause.objects or clause.locations) and not clause.group.copula:
        return counting_statements(clause, subject)
    if clause.group.copula:
        return copula_statements(clause, subject)
    if clause.group.verb == "have" and not clause.group.passive:
        return _having_statements(clause, str(subject.value))
    return acting_statements(clause, subject)


def _having_statements(clause: Clause, about: str) -> Iterator[Statement]:
    """Yield what somebody has, and what they had at some time or never."""
    group = clause.group
    for one in clause.objects:
        found = list(possessions.possession_statements(clause, about, one))
        yield from found
        told = group.never or (group.past and not group.negative and not one.negative)
        for had in found[:1] if told and one.noun else ():
            value, phase = text_of(one.value), Phase.WAS
            yield replace(had, attribute="did:have", value=value, phase=phase, implied=True)


def _qualify_statement(clause: Clause, subject: Nominal, found: Statement) -> Statement:
    """Give a statement the polarity, phase, modality and qualifiers of the clause."""
    group = clause.group
    negative = group.negative is not subject.negative
    holds = found.holds is not negative
    deed = found.attribute.startswith("did:")
    unsaid = {"formerly"} if deed else {"formerly", "lately"}
    phase = found.phase
    if not deed:
        phase, holds = _phase_of(clause, phase, holds=holds, stated=found.holds)
    lasting = group.copula or any(role in _LASTING for role, _one in clause.phrases)
    if group.perfect and phase is Phase.IS and holds and not (lasting or deed):
        phase = Phase.WAS  # has lived in Rome, and need not live there now
    tied = found.subject == subject.owner != subject.value
    own = subject.value in {found.subject, found.value}  # one of the wolves killed Ana
    quantifier = found.quantifier or (subject.quantifier if own else "")
    denied = group.negative and quantifier == "all"  # not all letters, but some
    counted = subject.quantity is not None and found.subject == subject.value
    if denied or (not quantifier and counted):
        quantifier = "some"
    none = not quantifier and subject.negative and subject.noun
    if none or (subject.value == ANYBODY and not negative):
        quantifier = "all"
    if subject.quantifier == "only" and not found.quantifier and not tied:
        quantifier = "sole"
    if group.only and not quantifier and not clause.when and not clause.locations:
        quantifier = "only"
    changes = phase in {Phase.BEGINS, Phase.ENDS} and not deed and found.value != clause.when
    ahead = {AHEAD} if changes and clause.is_ahead else set[str]()
    marks = found.qualifiers | (group.marks - unsaid) | subject.marks | clause.lead_marks | ahead
    return replace(
        found,
        holds=holds,
        phase=phase,
        modality=group.modality,
        quantifier=quantifier,
        qualifiers=marks,
        when=found.when or clause.when,
    )


def _phase_of(clause: Clause, phase: Phase, *, holds: bool, stated: bool) -> tuple[Phase, bool]:
    """Return the phase and the polarity that the verb group gives to a statement."""
    group = clause.group
    if group.ended:
        if phase is not Phase.IS:
            raise UnreadClause
        return Phase.ENDS, stated
    if group.begins and phase in {Phase.IS, Phase.BEGINS}:
        if not holds or clause.is_outcome_open:  # such a change says nothing of its result
            raise UnreadClause
        return Phase.BEGINS, holds
    is_perfect = "perfect_past" in clause.words.flags and group.perfect
    plain_past = is_perfect or (group.past and not group.perfect)
    if phase is Phase.IS and (plain_past or "formerly" in group.marks):
        return Phase.WAS, holds
    if phase is Phase.BEGINS and not holds:  # "did not die" says that it is not so
        return Phase.IS, holds
    return (Phase.BEGINS if phase is Phase.IS and holds and clause.is_new else phase), holds
