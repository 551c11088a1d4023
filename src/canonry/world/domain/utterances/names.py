"""Clauses of an utterance, and what the names in them mean."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from itertools import groupby
from typing import Final

from canonry.language.texts.english import lemma_of
from canonry.language.texts.stems import terms_of
from canonry.log.schemas.world_types import MOVERS, WorldType
from canonry.values.json_values import plain_signs, replace_signs
from canonry.world.domain.utterances.lexicon import (
    DIRECTIONS,
    GROUPS,
    STEMS,
    TABLES,
    EntityRef,
    Nameable,
    NameCandidate,
    VerbForm,
    correct_spelling,
    count_of,
    direction_of,
    forms_of,
)

_WORD: Final = re.compile(
    r"[\"\u201c\u201d\u201e\u00ab\u00bb]|[^\W_]+(?:'[^\W_]+)*'?|[.!?\u2026\n]|[,;:]|//|[()\[\]]"
)
_QUOTES: Final = frozenset('"\u201c\u201d\u201e\u00ab\u00bb')
_OPENING: Final = {"(": ")", "[": "]"}
QUOTE: Final = '"'
_FORM_WORDS: Final = 4


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """A word as it is compared, and where it stands; a possessive keeps its owner apart."""

    text: str
    start: int
    end: int
    owns: bool = False


class ClauseKind(StrEnum):
    """The kind of a clause."""

    DOING = "doing"
    SAYING = "saying"
    ASKING = "asking"
    ASIDE = "aside"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenClause:
    """One clause: the words after its verb, and how it is meant; `form` None: no verb is known.

    `begin` is the place among its words at which what somebody does begins.
    """

    kind: ClauseKind
    words: tuple[SpokenWord, ...]
    form: VerbForm | None = None
    rest: tuple[SpokenWord, ...] = ()
    respelled: bool = False
    negated: bool = False
    condition: tuple[SpokenWord, ...] | None = None
    modifiers: tuple[str, ...] = ()
    begin: int | None = None
    cut: tuple[SpokenWord, ...] = field(default=())


def words_in(text: str) -> list[SpokenWord]:
    """The words and signs of a text, in lower case."""
    found = []
    for match in _WORD.finditer(replace_signs(text)):
        shown = match[0].casefold()
        owns = shown.endswith(("'s", "'")) and len(shown) > 1
        plain = shown.removesuffix("'s").removesuffix("'") if owns else shown.replace("'", "")
        found.append(SpokenWord(plain, match.start(), match.end(), owns))
    return found


def clauses_of(text: str, names: frozenset[str]) -> list[SpokenClause]:
    """The clauses in order; `names` are words by which the speaker's character is called."""
    return [
        clause
        for sentence, asks, quoted in _split_sentences(words_in(text))
        for clause in _read_sentence(sentence, asks=asks, quoted=quoted, names=names)
    ]


def _split_sentences(words: Sequence[SpokenWord]) -> Iterator[tuple[list[SpokenWord], bool, bool]]:
    """Return sentences and whether they ask; a quotation is one word, an aside one sentence."""
    current: list[SpokenWord] = []
    quoted, at = False, 0
    while at < len(words):
        word = words[at]
        if word.text in _QUOTES:
            end = next((i for i in range(at + 1, len(words)) if words[i].text in _QUOTES), None)
            quoted = True
            current.append(SpokenWord(QUOTE, word.start, words[end].end if end else words[-1].end))
            at = len(words) if end is None else end
        elif word.text in _OPENING or word.text == "//":
            close = _OPENING.get(word.text)
            end = next((i for i in range(at, len(words)) if words[i].text == close), len(words))
            yield [SpokenWord("ooc", word.start, word.end), *words[at + 1 : end]], False, False
            at = end
        elif word.text in {".", "!", "?", "\u2026", "\n"}:
            if current:
                yield current, word.text == "?", quoted
            current, quoted = [], False
        elif word.text not in {")", "]"}:
            current.append(word)
        at += 1
    if current:
        yield current, False, quoted


def _read_sentence(
    words: list[SpokenWord], *, asks: bool, quoted: bool, names: frozenset[str]
) -> Iterator[SpokenClause]:
    plain = [word.text for word in words if word.text not in {",", ";", ":"}]
    if any(f" {each} " in f" {' '.join(plain)} " for each in GROUPS["ooc"]):
        yield SpokenClause(kind=ClauseKind.ASIDE, words=tuple(words))
        return
    if not plain:
        return
    hailed = words[0].text in GROUPS["greetings"]
    words = words[1:] if hailed and len(words) > 1 else words
    called = words[0].text in names
    if hailed or (called and [word.text for word in words[1:2]] == [","] and len(words[2:])):
        yield SpokenClause(
            kind=ClauseKind.SAYING,
            words=tuple(words),
            rest=tuple(words[2:] if called else words),
            cut=tuple(words[:1] if called else ()),
        )
    elif _split_condition(words)[0] is None and not quoted and _is_question(plain, asks=asks):
        yield SpokenClause(kind=ClauseKind.ASKING, words=tuple(words))
    else:
        yield from _read_clauses(words, quoted=quoted)


def _is_question(plain: Sequence[str], *, asks: bool) -> bool:
    first = plain[0]
    return (first in GROUPS["questions"] and (asks or not forms_of(first)[0])) or (
        asks and not any(forms_of(each)[0] and not forms_of(each)[1] for each in plain[:2])
    )


def _read_clauses(words: list[SpokenWord], *, quoted: bool) -> Iterator[SpokenClause]:
    condition, words = _split_condition(words)
    found = False
    for part in _split_parts(words):
        clause = _make_clause(part, condition)
        preface = part[-1].text == ":" and clause.kind is not ClauseKind.SAYING
        if preface or (clause.form is None and found) or part[0].text in GROUPS["others"]:
            continue
        if clause.form is None and not found and any(w.text == QUOTE for w in part):
            clause = SpokenClause(kind=ClauseKind.SAYING, words=tuple(part))
        found = True
        yield clause
    if quoted and not found:
        yield SpokenClause(kind=ClauseKind.SAYING, words=tuple(words))


def _split_condition(
    words: list[SpokenWord],
) -> tuple[tuple[SpokenWord, ...] | None, list[SpokenWord]]:
    """Split a leading condition from the words after it.

    The condition ends with a comma, a "then", or at the speaker's action.
    """
    length = _condition_length(words, 0)
    if length:
        for at in range(length, len(words)):
            if words[at].text in {",", "then"}:
                return tuple(words[length:at]), words[at + 1 :]
            if at > length and _is_speaker_at(words, at):
                return tuple(words[length:at]), words[at:]
    return None, words


def _condition_length(words: Sequence[SpokenWord], at: int) -> int:
    phrases = {n: " ".join(word.text for word in words[at : at + n]) for n in (3, 2, 1)}
    return next((n for n, some in phrases.items() if some in GROUPS["conditions"]), 0)


def _is_speaker_at(words: Sequence[SpokenWord], at: int) -> bool:
    return words[at].text in GROUPS["speaker"] and _begins_action(words, at + 1)


def _split_parts(words: Sequence[SpokenWord]) -> Iterator[list[SpokenWord]]:
    """Split clauses at joining words that precede another verb or direction."""
    current: list[SpokenWord] = []
    for at, word in enumerate(words):
        if word.text in {";", ":"} and current:
            yield [*current, word]
            current = []
        elif word.text in GROUPS["joining"] and current and _begins_action(words, at + 1):
            yield current
            current = []
        elif current and (
            (word.text == QUOTE and _make_clause(current, None).form is None)
            or (current[0].text == QUOTE and _begins_action(words, at))
        ):
            yield current
            current = [word]
        else:
            current.append(word)
    if current:
        yield current


def _begins_action(words: Sequence[SpokenWord], at: int) -> bool:
    at = _skip_fillers(words, at)[0]
    if at >= len(words):
        return False
    word = words[at].text
    if word == QUOTE:
        return True
    if word in DIRECTIONS:
        return at + 1 == len(words) or words[at + 1].text in GROUPS["joining"]
    before = words[at - 1].text if at else ""
    form, _, respelled = verb_at(words, at)
    named = words[at].owns or before in GROUPS["determiners"]
    if form is None or respelled or named:
        return False
    # A derived verb begins a clause only before a word that can only follow one: crown the king.
    after = words[at + 1].text if at + 1 < len(words) else ""
    return not form.derived or before == "then" or after in GROUPS["after_verb"]


def _skip_fillers(words: Sequence[SpokenWord], at: int) -> tuple[int, bool]:
    """Return the index after the words before a verb, and whether they negate it."""
    denied = False
    while at < len(words):
        text = words[at].text
        if text in GROUPS["denials"]:
            denied = True
        elif text in {"do", "mind"}:
            denied = denied and text != "mind"
        elif not (
            text in GROUPS["fillers"]
            or (text == "my" and [each.text for each in words[at + 1 : at + 2]] == ["character"])
            or text in {",", "character", "be", "ll", "am"}
            or lemma_of(text) in STEMS["before_verb"]
        ):
            break
        at += 1
    return at, denied


def verb_at(words: Sequence[SpokenWord], at: int) -> tuple[VerbForm | None, tuple[int, ...], bool]:
    """Return the verb that begins at a word, its words, and whether its spelling was corrected."""
    forms, respelled = forms_of(words[at].text)
    for form in forms:
        length = len(form.words)
        following = tuple(word.text for word in words[at + 1 : at + length])
        if following == form.words[1:]:
            return form, tuple(range(at, at + length)), respelled
        if length == 2 and form.words[1] in GROUPS["particles"]:  # noqa: PLR2004 - "pick … up"
            later = _find_particle(words, at, form.words[1])
            if later is not None:
                return form, (at, later), respelled
    return None, (), respelled


def _find_particle(words: Sequence[SpokenWord], at: int, particle: str) -> int | None:
    """Return the index of a verb's particle after its object: at the end or before "and"."""
    for later in range(at + 2, min(len(words), at + 2 + _FORM_WORDS)):
        text = words[later].text
        if text == particle:
            after = words[later + 1].text if later + 1 < len(words) else ","
            ends = after in GROUPS["joining"] | {"without"} or after.endswith("ly")
            return later if ends else None
        if text in GROUPS["joining"] or text in GROUPS["prepositions"]:
            return None
    return None


def _make_clause(words: list[SpokenWord], condition: tuple[SpokenWord, ...] | None) -> SpokenClause:
    words = [word for word in words if word.text != ":"]
    kept, late, modifiers = _split_trailing(words)
    at, denied = _skip_fillers(kept, 0)
    if at >= len(kept) or (verb_at(kept, at)[0] is None and not direction_of(kept[at].text)):
        # "uh, I guess I look around": what comes before the speaker's last word of themselves.
        later = next((i for i in range(1, len(kept)) if _is_speaker_at(kept, i)), None)
        at, denied = (at, denied) if later is None else _skip_fillers(kept, later)
    form, taken, respelled = verb_at(kept, at) if at < len(kept) else (None, (), False)
    if form is None and at < len(kept) and direction_of(kept[at].text):
        form, taken = VerbForm(words=("go",), verb="move"), ()
    elif form is None and at + 1 < len(kept):
        # "Ann takes the lantern": whoever is named first does it.
        form, taken, respelled = verb_at(kept, at + 1)
        guessed = respelled or (form is not None and form.derived)
        if guessed or kept[at].text in GROUPS["determiners"]:
            form, taken, respelled = None, (), False
    begin = at if not taken else taken[0] + 1
    rest = (word for i, word in enumerate(kept) if i >= begin and i not in taken)
    return SpokenClause(
        kind=ClauseKind.SAYING if form and form.verb == "talk" else ClauseKind.DOING,
        words=tuple(words),
        form=form,
        rest=tuple(rest) if form else (),
        respelled=respelled,
        negated=denied,
        condition=condition or late,
        modifiers=modifiers if form else (),
        begin=at if taken or (form is None and at < len(kept)) else None,
    )


def _split_trailing(
    words: list[SpokenWord],
) -> tuple[list[SpokenWord], tuple[SpokenWord, ...] | None, tuple[str, ...]]:
    """Split a trailing condition or circumstance from the words."""
    for at, word in enumerate(words):
        found = _condition_length(words, at) if at else 0
        if found and not _asks_about(words, at):
            return words[:at], tuple(words[at + found :]), ()
        if at and word.text == "i" and words[-1].text in GROUPS["musing"]:
            return words[:at], None, ()
        found = word.text == "where" and _asks_about(words, at)
        if at and word.text in GROUPS["cutting"] and not found:
            return words[:at], None, (" ".join(each.text for each in words[at:]),)
    return words, None, ()


def _asks_about(words: Sequence[SpokenWord], at: int) -> bool:
    """Return whether "if" or "when" begins an indirect question or statement."""
    return any(form.verb == "talk" for word in words[:at] for form in forms_of(word.text)[0][:1])


_WITHIN_A_WORD: Final = re.compile(r"(?<=\w)'(?=\w)(?!s\b)", re.IGNORECASE)
"""An apostrophe that is no possessive: words are compared without it."""
_SLIP: Final = 0.8
_COMPOUND: Final = 4
_MOST_CANDIDATES: Final = 8  # a player chooses among a few
_KINDS: Final = {
    "person": frozenset(map(str, MOVERS)),
    "thing": frozenset({str(WorldType.ITEM)}),
    "place": frozenset({str(WorldType.LOCATION)}),
}


@dataclass(frozen=True, slots=True)
class ItemNames:
    """Words that name an item: sufficient words and additional ones."""

    item: Nameable
    heads: frozenset[str]
    others: frozenset[str]


@lru_cache(maxsize=8_192)  # each utterance asks for all names: bench.table, utterances
def names_of(item: Nameable) -> ItemNames:
    """Return the names of an item: "Brannoch the Smith" is Brannoch and smith, never "the"."""
    words = terms_of(_WITHIN_A_WORD.sub("", plain_signs(item.name)))
    name_words = [word for word in words if word not in GROUPS["determiners"]]
    stems = [lemma_of(word) for word in name_words]
    if not stems:
        return ItemNames(item, frozenset(), frozenset())
    heads = {stems[-1]}
    if item.kind in _KINDS["person"]:
        if "the" in words[1:] or name_words[0] not in GROUPS["titles"]:
            heads.add(stems[0])
        heads |= {stem for w, stem in zip(name_words, stems, strict=True) if w in GROUPS["calling"]}
    elif "of" in words:
        heads.add(stems[0])
    if item.kind in _KINDS["place"]:
        heads |= set(stems)
    return ItemNames(item, frozenset(heads), frozenset(stems))


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun with what stands before it; `owner` is whose it is said to be.

    `first` is the head of what has an "of", such as the temple of tides.
    """

    words: tuple[SpokenWord, ...]
    owner: tuple[SpokenWord, ...] = ()
    count: int | str | None = None
    first: SpokenWord | None = None

    @property
    def surface(self) -> str:
        """The phrase as the player wrote it."""
        return " ".join(word.text for word in self.words)


def noun_count(word: str) -> int | None:
    """Return the number that a word before a noun states."""
    own: int | None = TABLES["counts"].get(word)
    return count_of(word) if own is None else own


def phrase_of(words: Sequence[SpokenWord]) -> NounPhrase:
    """The phrase without its articles; numbers and "all" are how many there are."""
    count: int | str | None = None
    kept: list[SpokenWord] = []
    head: SpokenWord | None = None
    owner: tuple[SpokenWord, ...] = ()
    for index, word in enumerate(words):
        text = word.text
        if text in GROUPS["all"]:
            count = "all"
        elif not kept and (number := noun_count(text)) is not None:
            count = count if number == TABLES["counts"].get(text) == 1 else number
        elif word.owns and index + 1 < len(words):
            owner, kept = (*kept, word), []
        elif text == "of" and kept:
            head = kept[-1]
        elif text in GROUPS["left_out"] or (text.endswith("ly") and len(text) > len("only")):
            continue
        else:
            kept.append(word)
    if not kept and (pronouns := [word for word in words if word.text in GROUPS["pronouns"]]):
        kept = pronouns[-1:]
    return NounPhrase(tuple(kept), owner, count, head)


def find_named(
    phrase: NounPhrase, known: Iterable[Nameable], kinds: Sequence[str] = ()
) -> EntityRef | None:
    """Return the best matching item for the phrase; earlier `kinds` take precedence.

    Without words the result is empty; an unmatched phrase is returned as text.
    """
    if not phrase.words:
        return None
    stems = [lemma_of("".join(terms_of(word.text)) or word.text) for word in phrase.words]
    scored = [(score, item) for item in known if (score := _score_match(stems, names_of(item))) > 0]
    if not scored and phrase.owner:
        return find_named(NounPhrase(phrase.owner), known, kinds)
    for kind in kinds:
        some = [each for each in scored if each[1].kind in _KINDS[kind]]
        if some:
            scored = some
            break
    head = (phrase.first or phrase.words[-1]).text
    if not scored:
        return ref_of((), head, 0.0)
    best = max(score for score, _ in scored)
    meant = {item.id: item for score, item in scored if score == best}.values()
    in_order = sorted(meant, key=lambda thing: (thing.name, thing.id))
    return ref_of(in_order, phrase.surface, round(min(best / len(stems), 1.0), 2))


def ref_of(meant: Sequence[Nameable], surface: str, sure: float) -> EntityRef:
    """Return the reference to one of some items; `sure` if one of them was surely named."""
    if not meant:
        return EntityRef(kind="latent", surface=surface, confidence=0.2)
    share = round(sure / len(meant), 2)
    ref = EntityRef(kind=meant[0].kind, surface=surface, confidence=share)
    if len(meant) == 1:
        return replace(ref, id=meant[0].id)
    candidates = (NameCandidate(id=each.id, name=each.name, confidence=share) for each in meant)
    return replace(ref, candidates=tuple(candidates)[:_MOST_CANDIDATES])


def _score_match(stems: Sequence[str], names: ItemNames) -> float:
    """Score how well the phrase matches the item; its last word must be one of `heads`."""
    if stems[-1] in names.heads:
        first = 1.0
    elif _is_near(stems[-1], names.heads):
        first = _SLIP
    else:
        return 0.0
    others = [stem for stem in stems[:-1] if stem not in GROUPS["determiners"]]
    unknown = [stem for stem in others if stem not in names.others]
    return first + len(others) - len(unknown) - 0.5 * len(unknown) if first else 0.0


def _is_near(stem: str, heads: frozenset[str]) -> bool:
    """Return whether a word misspells or ends one of these: a gull is a seagull."""
    ends = len(stem) >= _COMPOUND and any(head.endswith(stem) for head in heads)
    return ends or correct_spelling(stem, tuple(heads)) is not None


def refers_to(kind: str, ref: EntityRef | None) -> bool:
    """Return whether the reference is to a person, an item or a location, as `kind` says."""
    return ref is not None and ref.kind in _KINDS[kind]


@dataclass(frozen=True, slots=True)
class Segment:
    """The words after a preposition or after the verb."""

    before: str
    words: tuple[SpokenWord, ...]


def segments_of(words: Sequence[SpokenWord]) -> list[Segment]:
    """The words after the verb, and after each preposition."""
    found: list[Segment] = []
    before, current = "", list[SpokenWord]()
    for word in words:
        if word.text in GROUPS["segments"]:
            if current or before == "":
                found.append(Segment(before, tuple(current)))
            before, current = word.text, []
        else:
            current.append(word)
    found.append(Segment(before, tuple(current)))
    return found


def list_of(words: Sequence[SpokenWord]) -> list[tuple[SpokenWord, ...]]:
    """The phrases of "the rope, the torch and the lute"."""
    listed = groupby(words, lambda word: word.text in GROUPS["listing"])
    parts = [tuple(some) for apart, some in listed if not apart]
    return [part for part in parts if phrase_of(part).words or phrase_of(part).count]


@dataclass(slots=True)
class LastNamed:
    """Items named last, for resolving pronouns."""

    items: list[EntityRef] = field(default_factory=list)
    persons: list[EntityRef] = field(default_factory=list)

    def note_named(self, ref: EntityRef | None) -> None:
        """Remember what was named."""
        if ref is None or ref.id is None:
            return
        (self.persons if refers_to("person", ref) else self.items).append(ref)

    def resolve_pronoun(self, pronoun: str, *, animate: bool) -> EntityRef | None:
        """Resolve a pronoun: to a person if the verb needs one, else to an item first."""
        first, second = (self.persons, self.items) if animate else (self.items, self.persons)
        if pronoun in GROUPS["of_persons"]:
            first, second = self.persons, []
        found = first or second
        return replace(found[-1], surface=pronoun) if found else None


@dataclass(frozen=True, slots=True)
class UtteranceContext:
    """Speaker, text, nameable items and earlier utterances."""

    text: str
    subject: Nameable
    known: Sequence[Nameable]
    memory: LastNamed

    def raw_text(self, clause: SpokenClause) -> str:
        """Return the words of a clause as the player wrote them."""
        return self.text[clause.words[0].start : clause.words[-1].end]
