"""Read utterances by rules, or by what a model says of them."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from canonry.language.texts.english import lemma_of
from canonry.language.texts.stems import terms_of
from canonry.readmodels.edges import Direction
from canonry.values.json_values import encode_json
from canonry.world.domain.prompts.templates import question_messages, require_template
from canonry.world.domain.utterances.lexicon import (
    GROUPS,
    STEMS,
    SURE,
    TABLES,
    UNKNOWN,
    VERBS,
    ActionFrame,
    Category,
    EntityRef,
    Nameable,
    UtteranceReading,
    direction_of,
    find_unclear,
    forms_of,
    unknown_frame,
    words_for,
)
from canonry.world.domain.utterances.names import (
    QUOTE,
    ClauseKind,
    LastNamed,
    NounPhrase,
    Segment,
    SpokenClause,
    SpokenWord,
    UtteranceContext,
    clauses_of,
    find_named,
    list_of,
    noun_count,
    phrase_of,
    ref_of,
    refers_to,
    segments_of,
    verb_at,
    words_in,
)

_NOUN_WITHIN: Final = 5


def with_noun_verb(clause: SpokenClause, known: Sequence[Nameable]) -> SpokenClause:
    """A clause whose verb says little, by its noun: who takes a swing at somebody swings.

    A noun that names something stays one: who takes a torch lights nothing.
    """
    begin = clause.begin
    if begin is None or lemma_of(clause.words[begin].text) not in STEMS["light_verbs"]:
        return clause
    words = [word for word in clause.words[begin + 1 :] if not word.text.endswith("ly")]
    article = next((i for i, w in enumerate(words[:3]) if w.text in GROUPS["indefinite"]), None)
    if article is None:
        return clause
    for at in range(article + 1, min(len(words), article + _NOUN_WITHIN)):
        form, taken, respelled = verb_at(words, at)
        after = words[at + len(taken) :]
        ends = len(taken) > 1 or not after or after[0].text in GROUPS["after_noun"]
        if form is None or respelled or form.derived or not ends:
            continue
        found = find_named(NounPhrase((words[at],)), known)
        if found is not None and found.kind != "latent":
            return clause
        rest = (*words[:article], *(after[1:] if after and after[0].text == "of" else after))
        return replace(clause, form=form, rest=rest)
    return clause


def with_result_verb(clause: SpokenClause) -> SpokenClause:
    """Return a clause with the verb of its result: to pull a door open is to open it."""
    rest_words = [word.text for word in clause.rest]
    form = clause.form
    if form is None or form.verb not in GROUPS["forces"]:
        return clause
    if form.verb == "move" and [word.text for word in clause.words[-2:]] == ["for", "it"]:
        return replace(clause, form=replace(form, verb="flee"), rest=())
    for at in range(len(rest_words)):
        for ending, verb in _RESULTS.items():
            after = rest_words[at + len(ending) :][:1]
            ends = set(after) <= GROUPS["instrument"] or (at == 0 and bool(after))
            if tuple(rest_words[at : at + len(ending)]) == ending and ends:
                if verb == "drop" and (form.verb != "put" or at == 0):
                    continue
                turned = replace(form, verb=verb, direction=None, tool_first=False)
                rest = (*clause.rest[:at], *clause.rest[at + len(ending) :])
                return replace(clause, form=turned, rest=rest)
    return clause


_RESULTS: Final = {tuple(said.split("_")): verb for said, verb in TABLES["results"].items()}


def verb_for_goal(verb: str, direct: EntityRef | None, goal: EntityRef | None, before: str) -> str:
    """Choose the verb for a moved item: give it to a person, put it into an item."""
    if verb not in {"move", "take", "push"} or not refers_to("thing", direct):
        return verb
    if before == "to" and refers_to("person", goal):
        return "give"
    return "put" if verb == "move" and refers_to("thing", goal) else verb


_RESPELLED: Final = 0.1
_SURELY: Final = 0.89
PERSONS_FIRST: Final = words_for("kinds", "talk")


def read_clause(clause: SpokenClause, hearing: UtteranceContext) -> list[ActionFrame]:
    """The frames of a clause whose verb is known."""
    return _FrameReader(clause, hearing).read_frames()


def make_frame(
    verb: str, clause: SpokenClause, hearing: UtteranceContext, **members: Any
) -> ActionFrame:
    """Return a frame with its `members`, its unclear parts and its confidence."""
    guessed = clause.respelled or (clause.form is not None and clause.form.derived)
    refs = members.get("direct"), members.get("secondary")
    ambiguity, sure = find_unclear(*refs, SURE - _RESPELLED * guessed)
    return ActionFrame(
        verb=verb,
        subject=hearing.subject.id,
        raw_text=hearing.raw_text(clause),
        confidence=sure,
        modifiers=clause.modifiers,
        negated=clause.negated,
        conditional=clause.condition is not None,
        ambiguity=ambiguity,
        **members,
    )


class _FrameReader:
    """One clause while it is read."""

    def __init__(self, clause: SpokenClause, hearing: UtteranceContext) -> None:
        self.clause, self.hearing = clause, hearing
        self.known, self.memory = hearing.known, hearing.memory
        form = clause.form
        self.verb = form.verb if form else UNKNOWN
        self.said = form.words if form else ()
        self.tool_first = form is not None and form.tool_first
        self.direction = form.direction if form else None
        self.topic: str | None = None
        self.count: int | str | None = None

    def read_frames(self) -> list[ActionFrame]:
        words = list(self._without_topic(self.clause.rest))
        asked = (at for at, word in enumerate(words) if word.text in GROUPS["asked"])
        words = self._without_direction(words[: next(asked, len(words))])
        segments = segments_of(words)
        if self.verb == "use" and (turned := self._read_tool_use(segments)):
            return turned
        lists = list_of(segments[0].words)
        directs = [self._resolve_words(part, "direct") for part in lists] or [None]
        counts = [phrase_of(part).count for part in lists] or [None]
        secondary, tool = self._find_secondary(segments[1:]), self._find_instrument(segments[1:])
        if len(directs) == 1:
            directs[0], secondary = self._assign_objects(directs[0], secondary, segments)
        if self.tool_first and secondary is None and tool is None:
            target = self._first_reference(segments[1:], words_for("direct", "attack"))
            if target is not None:
                directs, tool = [target], directs[0]
        named = refers_to("thing", directs[0]) and bool(segments[0].words)
        if named and len(segments) > 1:
            self.verb = verb_for_goal(self.verb, directs[0], *self._find_goal(segments[1:]))
            if self.verb in {"give", "put"} and secondary is None:
                secondary = self._find_secondary(segments[1:])
        self._settle_going(directs[0], named=named)
        if self.verb == "move" and refers_to("thing", directs[0]):
            directs = [None]
        if self.verb == "hide" and named and len(self.said) == 1:
            self.verb = "put"  # what is hidden is put somewhere, nobody hides in it
            secondary = self._first_reference(
                segments[1:], words_for("direct", "hide"), role="tool"
            )
        frames = []
        for direct, count in zip(directs, counts, strict=False):
            self.memory.note_named(direct)
            frames.append(
                make_frame(
                    "examine" if self.verb == "look" and direct is not None else self.verb,
                    self.clause, self.hearing,
                    direct=direct, secondary=secondary or tool,
                    direction=self.direction or self._exit_direction(direct),
                    quantity=self.count or count,
                    topic=self.topic,
                )
            )  # fmt: skip
        self.memory.note_named(secondary)
        return frames

    def _settle_going(self, direct: EntityRef | None, *, named: bool) -> None:
        """Read "run" with a target as going, and "move" with an item as pushing."""
        if self.verb == "flee" and self.said[:1] == ("run",):
            away = any(word.text in {"away", "from"} for word in self.clause.words)
            if not away and (self.direction or refers_to("place", direct)):
                self.verb = "move"
        if self.verb == "move" and named and self.said[0] in TABLES["with_things"]:
            self.verb, self.direction = TABLES["with_things"][self.said[0]], None

    def _find_goal(self, segments: Sequence[Segment]) -> tuple[EntityRef | None, str]:
        """Return the target of a movement and the word that introduces it."""
        goal = next((e for e in segments if e.before in GROUPS["goals"] and e.words), None)
        return (self._resolve_words(goal.words, "secondary"), goal.before) if goal else (None, "")

    def _exit_direction(self, direct: EntityRef | None) -> Direction | None:
        if self.verb not in GROUPS["leading"] or direct is None:
            return None
        return next((each.direction for each in self.known if each.id == direct.id), None)

    def _without_topic(self, words: Sequence[SpokenWord]) -> Sequence[SpokenWord]:
        if self.verb != "talk":
            return words
        unquoted = [word for word in words if word.text != QUOTE]
        for at, word in enumerate(unquoted):
            if word.text not in GROUPS["topics"] or (word.text == "to" and at == 0):
                continue
            before = [each.text for each in unquoted[:at]]
            if word.text == "to" and not any(t not in GROUPS["nobody"] for t in before):
                continue
            about = unquoted[at + (word.text in GROUPS["named_topics"]) :]
            if word.text == "for" and not before:  # "shout for help" speaks to nobody
                about = []
            if about:
                self.topic = self.hearing.text[about[0].start : about[-1].end]
            return unquoted[:at]
        return unquoted

    def _without_direction(self, words: list[SpokenWord]) -> list[SpokenWord]:
        if self.verb not in GROUPS["going"]:
            return words
        kept: list[SpokenWord] = []
        for at, word in enumerate(words):
            direction = direction_of(word.text)
            last = at + 1 == len(words) or words[at + 1].text == ","
            short = word.text in GROUPS["short_ways"]
            if (
                direction is None
                or self.direction is not None
                or (word.text in {"in", "inside"} and not last)
            ):
                kept.append(word)
            elif short and not last and words[at + 1].text in GROUPS["up_to"]:
                continue  # "up to somebody" leads in no direction
            elif short or last or not at or words[at - 1].text not in GROUPS["determiners"]:
                self.direction = direction  # and no name, as in "the east gate"
            else:
                kept.append(word)
        return kept if any(w.text not in GROUPS["loose"] for w in kept) else []

    def _find_secondary(self, segments: Sequence[Segment]) -> EntityRef | None:
        return self._first_reference(segments, words_for("secondary", self.verb), role="secondary")

    def _find_instrument(self, segments: Sequence[Segment]) -> EntityRef | None:
        ref = self._first_reference(segments, GROUPS["instrument"], role="tool")
        return None if self.verb == "talk" and not refers_to("thing", ref) else ref

    def _first_reference(
        self, segments: Sequence[Segment], before: Container[str], role: str = "direct"
    ) -> EntityRef | None:
        for segment in segments:
            if segment.before in before and segment.words:
                ref = self._resolve_words(segment.words, role)
                if ref is not None:
                    return ref
        return None

    def _assign_objects(
        self, direct: EntityRef | None, secondary: EntityRef | None, segments: Sequence[Segment]
    ) -> tuple[EntityRef | None, EntityRef | None]:
        """Return the direct and secondary object, using the verb and the prepositions."""
        after = segments[1:]
        if self.verb in {"give", "throw"} and secondary is None:
            both = self._split_receiver(segments[0].words)
            if both is not None:
                return both
            if self.verb == "give" and refers_to("person", direct):
                return self._find_payment(after), direct
        if self.verb == "play" and direct is not None and direct.kind == "latent":
            direct = self._first_reference(after, ("on",)) or direct
        if self.verb == "attack" and refers_to("thing", direct) and secondary is None:
            hit = self._first_reference(after, GROUPS["upon"])
            direct, secondary = (hit, direct) if refers_to("person", hit) else (direct, secondary)
        if direct is None and self.verb == "use" and secondary is not None:
            return secondary, None
        if direct is None and self.verb not in GROUPS["without_object"]:
            direct = self._first_reference(after, words_for("direct", self.verb))
            if direct is None and self.verb == "flee":
                direct = self._first_reference(after, words_for("direct", "move"))
        return direct, secondary

    def _find_payment(self, segments: Sequence[Segment]) -> EntityRef | None:
        """Return the item that pays for a bribe, and note its count."""
        for segment in segments:
            if segment.before in GROUPS["instrument"]:
                self.count = phrase_of(segment.words).count
        return self._first_reference(segments, GROUPS["instrument"], role="tool")

    def _split_receiver(self, words: Sequence[SpokenWord]) -> tuple[EntityRef, EntityRef] | None:
        """Split "give Mara the map" into the receiver and the item."""
        for cut in range(1, len(words)):
            got = self._resolve_words(words[:cut], "secondary")
            pronoun = cut == 1 and words[0].text in GROUPS["pronouns"]
            sure = refers_to("person", got) and got is not None and got.confidence > _SURELY
            begins = words[cut].text in GROUPS["determiners"] | GROUPS["all"]
            noun = begins or noun_count(words[cut].text) is not None
            fits = pronoun or (sure and noun and not words[cut - 1].owns)
            given = self._resolve_words(words[cut:], "direct") if fits else None
            if given is not None and got is not None:
                self.count = phrase_of(words[cut:]).count
                return given, got
        return None

    def _read_tool_use(self, segments: Sequence[Segment]) -> list[ActionFrame] | None:
        """Read "use the torch to light the lantern" as lighting it with the torch."""
        for at, segment in enumerate(segments[1:], 1):
            if segment.before != "to" or not segment.words:
                continue
            forms, respelled = forms_of(segment.words[0].text)
            if not forms or respelled:
                return None
            tool = self._resolve_words(segments[0].words, "tool")
            done = replace(self.clause, form=forms[-1], rest=segment.words[1:])
            frames = _FrameReader(done, self.hearing).read_frames()
            return [replace(frame, secondary=tool) for frame in frames] if at else None
        return None

    def _resolve_words(self, words: Sequence[SpokenWord], role: str) -> EntityRef | None:
        spoken = [word for word in words if word.text != QUOTE]
        while len(spoken) > 1 and spoken[-1].text in GROUPS["after_names"]:
            spoken.pop()
        phrase = phrase_of(spoken)
        if not phrase.words:
            return None
        head = phrase.words[-1].text
        animate = self.verb in GROUPS["animate"] or (role == "secondary" and self.verb != "put")
        if len(phrase.words) == 1 and head in GROUPS["pronouns"]:
            inanimate = role == "tool" or self.verb in {"take", "search", "open"}
            meant = self.memory.resolve_pronoun(head, animate=animate and not inanimate)
            return meant or ref_of((), head, 0.0)
        if head in GROUPS["scenes"]:
            return None
        least = "other" if role == "tool" else "talk"
        kinds = words_for("kinds", self.verb if role == "direct" else least)
        known = self.known
        if role == "direct" and self.verb in GROUPS["only_things"]:
            known = [each for each in known if each.kind == "item"]
        ref = find_named(phrase, known, kinds)
        if ref is not None and ref.kind == "latent" and head in GROUPS["scenery"]:
            kept = role == "direct" and self.verb not in {"take", "attack"}
            return ref if kept or self.verb == "throw" else None
        return ref


UTTERANCE_MAX: Final = 500  # bounds the time of a reading: bench.table, utterances
FRAMES_MAX: Final = 8  # a player does a few actions in one utterance


def read_utterance(
    text: str, subject: Nameable, known: Sequence[Nameable], previous: Iterable[str] = ()
) -> UtteranceReading:
    """The frames of what a character's player says; `previous` are their last utterances."""
    memory = LastNamed()
    names = frozenset(
        word.casefold() for item in known if item.kind in {"player", "character"}
        for word in item.name.split()
    )  # fmt: skip
    for earlier in previous:
        for clause in clauses_of(earlier[:UTTERANCE_MAX], names):
            _read_frames(clause, UtteranceContext(earlier, subject, known, memory))
    clauses = clauses_of(text[:UTTERANCE_MAX], names)
    frames: list[ActionFrame] = []
    for clause in clauses:
        frames += _read_frames(clause, UtteranceContext(text, subject, known, memory))
    some = _drop_repetitions([frame for frame in frames if frame.verb != UNKNOWN])
    category = _category_of(clauses, some)
    if some or category is not Category.UNCLEAR:
        kept = tuple(some[:FRAMES_MAX])
    else:
        kept = (unknown_frame(text[:UTTERANCE_MAX], subject),)
    sure = min((frame.confidence for frame in kept), default=SURE)
    return UtteranceReading(frames=kept, category=category, confidence=sure)


def _drop_repetitions(frames: Sequence[ActionFrame]) -> list[ActionFrame]:
    """Return the frames without repetitions of the one before."""
    kept: list[ActionFrame] = []
    for frame in frames:
        last = kept[-1] if kept else None
        again = (
            last is not None
            and frame.verb in GROUPS["not_twice"]
            and (replace(frame, raw_text=last.raw_text) == last)
        )
        if (
            last is not None
            and last.verb == frame.verb
            and frame.verb in GROUPS["as_one"]
            and not again
        ):
            blank = next((f for f in (last, frame) if f.direct is None and f.topic is None), None)
            if blank is not None:
                kept[-1] = frame if blank is last else last
                continue
        if not again:
            kept.append(frame)
    return kept


def _category_of(clauses: Sequence[SpokenClause], frames: Sequence[ActionFrame]) -> Category:
    kinds = {c.kind for c in clauses if c.kind in {ClauseKind.ASKING, ClauseKind.ASIDE}}
    categories: set[Category] = {_META[kind] for kind in kinds}
    categories |= {Category.SPEECH if f.verb == "talk" else Category.ACTION for f in frames}
    if not categories:
        return Category.UNCLEAR
    return categories.pop() if len(categories) == 1 else Category.MIXED


_META: Final = {ClauseKind.ASKING: Category.QUESTION, ClauseKind.ASIDE: Category.OOC}


def _read_frames(clause: SpokenClause, hearing: UtteranceContext) -> list[ActionFrame]:
    if clause.kind in {ClauseKind.ASKING, ClauseKind.ASIDE}:
        return []
    if clause.condition:
        for word in clause.condition:
            ref = find_named(NounPhrase((word,)), hearing.known)
            hearing.memory.note_named(ref if ref and ref.id and ref.confidence == 1.0 else None)
    clause = with_noun_verb(clause, hearing.known)
    if clause.form is not None:
        return read_clause(with_result_verb(clause), hearing)
    if clause.kind is ClauseKind.DOING:
        return [unknown_frame(hearing.raw_text(clause), hearing.subject)]
    to = find_named(phrase_of(clause.cut), hearing.known, PERSONS_FIRST) if clause.cut else None
    hearing.memory.note_named(to)
    rest_words = clause.rest
    topic = hearing.text[rest_words[0].start : rest_words[-1].end] if rest_words else None
    return [make_frame("talk", clause, hearing, direct=to, topic=topic)]


# Modelled readings: what a model is asked about an utterance, and what of its answer may stand.
#
# An answer stands as a whole or not at all. Its verbs are those of the list, its words those that
# were said; what a word names, the rules say where they can, and the model only of the rest.

KNOWN_MAX: Final = 60
"""Limit of items in a model's question; items that share words with the utterance come first."""
_NAME_MAX: Final = 80  # bounds the tokens of a prompt
_MODELLED, _EXACTLY = 0.9, 0.85
_QuotedText = Annotated[str, Meta(min_length=1, max_length=UTTERANCE_MAX)]


TEMPLATE: Final = require_template("intent", "1.0.0")
"""The instructions of the model; the message after this one is the context."""


class _ModelReference(Struct, frozen=True, forbid_unknown_fields=True):
    words: _QuotedText
    ids: Annotated[tuple[str, ...], Meta(max_length=8)] = ()


class _ModelFrame(Struct, frozen=True, forbid_unknown_fields=True):
    verb: str
    said: _QuotedText
    direct: _ModelReference | None = None
    secondary: _ModelReference | None = None
    direction: Direction | None = None
    quantity: Annotated[int, Meta(ge=1, lt=1_000_000_000)] | Literal["all"] | None = None
    topic: _QuotedText | None = None
    modifiers: Annotated[tuple[_QuotedText, ...], Meta(max_length=8)] = ()
    negated: bool = False
    conditional: bool = False


class _ModelReading(Struct, frozen=True, forbid_unknown_fields=True):
    category: Category
    frames: Annotated[tuple[_ModelFrame, ...], Meta(max_length=FRAMES_MAX)] = ()


class _UntenableError(Exception):
    """Why an answer cannot stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UtteranceQuestion:
    """An utterance in the form of a question to a model, with short ids of its own."""

    text: str
    subject: Nameable
    known: Mapping[str, Nameable]
    previous: tuple[str, ...] = ()

    def make_context(self) -> dict[str, Any]:
        """All that the answer may rest on."""
        items = [
            {"id": key, "kind": each.kind, "name": each.name[:_NAME_MAX]}
            | ({"direction": str(each.direction)} if each.direction else {})
            for key, each in self.known.items()
        ]
        return {"things": items, "before": list(self.previous), "utterance": self.text}

    def make_messages(self) -> list[dict[str, str]]:
        """The messages of the question."""
        return question_messages(TEMPLATE, encode_json(self.make_context()).decode())


def question_about(
    text: str, subject: Nameable, known: Sequence[Nameable], previous: Iterable[str] = ()
) -> UtteranceQuestion:
    """The question, within the bounds of what a model is given."""
    utterance = text[:UTTERANCE_MAX]
    stems = {lemma_of(word) for word in terms_of(utterance)}
    near = sorted(known, key=lambda each: stems.isdisjoint(map(lemma_of, terms_of(each.name))))
    kept = {each.id for each in near[:KNOWN_MAX]}
    shown = [each for each in known if each.id in kept]
    return UtteranceQuestion(
        text=utterance,
        subject=subject,
        known={f"t{number}": each for number, each in enumerate(shown, 1)},
        previous=tuple(each[:UTTERANCE_MAX] for each in previous),
    )


def read_model_answer(
    answer: Mapping[str, Any] | None, asked: UtteranceQuestion
) -> UtteranceReading | None:
    """The reading that a model gave; None where it says anything that cannot stand."""
    try:
        reading = msgspec.convert(answer, _ModelReading)
        frames = tuple(_check_frame(each, asked) for each in reading.frames)
    except (_UntenableError, msgspec.ValidationError):
        return None
    # Questions and out-of-character talk have no frames; with several kinds it is mixed.
    done = {Category.SPEECH if each.verb == "talk" else Category.ACTION for each in frames}
    idle = {Category.QUESTION, Category.OOC, Category.UNCLEAR}
    if reading.category not in (
        {Category.MIXED, *(done if len(done) == 1 else ())} if done else idle
    ):
        return None
    if reading.category is Category.UNCLEAR:
        frames = (unknown_frame(asked.text, asked.subject),)
    sure = min((frame.confidence for frame in frames), default=_MODELLED)
    return UtteranceReading(frames=frames, category=reading.category, confidence=sure)


def _check_frame(model_frame: _ModelFrame, asked: UtteranceQuestion) -> ActionFrame:
    if model_frame.verb not in VERBS or model_frame.verb == UNKNOWN:
        raise _UntenableError
    direct, secondary = (
        _resolve_reference(model_frame.direct, asked),
        _resolve_reference(model_frame.secondary, asked),
    )
    ambiguity, sure = find_unclear(direct, secondary, _MODELLED)
    topic = None if model_frame.topic is None else _find_words(model_frame.topic, asked.text)
    return ActionFrame(
        verb=model_frame.verb,
        subject=asked.subject.id,
        raw_text=_find_words(model_frame.said, asked.text),
        confidence=sure,
        direct=direct,
        secondary=secondary,
        direction=_frame_direction(model_frame, direct, asked),
        quantity=model_frame.quantity,
        topic=topic,
        modifiers=tuple(_find_words(each, asked.text) for each in model_frame.modifiers),
        negated=model_frame.negated,
        conditional=model_frame.conditional,
        ambiguity=ambiguity,
    )


def _find_words(quoted: str, text: str) -> str:
    words, text_words = [[each.text for each in words_in(part)] for part in (quoted, text)]
    for at in range(len(text_words) - len(words) + 1):
        if words and text_words[at : at + len(words)] == words:
            spoken = words_in(text)[at : at + len(words)]
            return text[spoken[0].start : spoken[-1].end]
    raise _UntenableError


def _resolve_reference(
    reference: _ModelReference | None, asked: UtteranceQuestion
) -> EntityRef | None:
    """Return the named item; a model cannot override an unambiguous name."""
    if reference is None:
        return None
    if not set(reference.ids) <= asked.known.keys():
        raise _UntenableError
    surface = _find_words(reference.words, asked.text)
    meant = list(dict.fromkeys(asked.known[each] for each in reference.ids))
    ruled = find_named(phrase_of(words_in(surface)), asked.known.values())
    # The candidates share the confidence that one of them was named.
    sure = 0.0 if ruled is None else ruled.confidence * max(len(ruled.candidates), 1)
    if ruled is not None and (ruled.id or ruled.candidates) and sure > _EXACTLY:
        # The item found by the rules; the model's choice narrows their candidates.
        ids = {ruled.id} if ruled.id else {each.id for each in ruled.candidates}
        if not {each.id for each in meant} <= ids:
            raise _UntenableError
        kinds = {each.kind for each in meant}
        kept = [each for each in asked.known.values() if each.id in ids and each.kind in kinds]
        return ruled if ruled.id or not kept else ref_of(kept, ruled.surface, _MODELLED)
    return ref_of(meant, surface, _MODELLED)


def _frame_direction(
    model_frame: _ModelFrame, direct: EntityRef | None, asked: UtteranceQuestion
) -> Direction | None:
    """Return the direction; a named location stands for its exit."""
    goal = None if direct is None else direct.id
    exits = {each.direction for each in asked.known.values() if each.id == goal and each.direction}
    if not exits or model_frame.verb not in {"move", "flee"}:
        return model_frame.direction
    if model_frame.direction is not None and model_frame.direction not in exits:
        raise _UntenableError
    return model_frame.direction or min(exits)
