"""Read the verb group of a clause: auxiliaries, negations and adverbs up to the main verb."""

from collections.abc import Callable, Sequence

from canonry.language.reading.figures import is_number, state_in
from canonry.language.reading.forms import UnreadClause, VerbGroup
from canonry.language.reading.orders import PARTICLE
from canonry.language.reading.tokens import Token, WordTable, is_finite, verb_of
from canonry.values.statements import Modality

_LIGHT = frozenset({"self", "skip", "adverb", "only", "hedge"})
_KEPT = ("negative", "ended", "ongoing", "ability", "only", "reports", "begins", "never")
_TOKENS_AHEAD = 3  # words after an auxiliary that are tried for its verb


class GroupReader:
    """Reads the verb group at the beginning of some tokens."""

    def __init__(self, tokens: Sequence[Token], words: WordTable) -> None:
        """Create a reader of these tokens."""
        self.tokens, self.words = list(tokens), words
        self.negative = self.ended = self.past = self.ability = self.only = self.excused = False
        self.be = self.have = self.begins = self.never = False
        self.modality = Modality.ASSERTED
        self.reports = self.reflexive = self.ongoing = self.supported = self.obliged = False
        self.marks: set[str] = set()

    def read_group(self) -> tuple[VerbGroup, list[Token]]:
        """Return the verb group, and the tokens after it; refuse a verb that is not clear."""
        while self.tokens:
            text = self.tokens[0].text
            if not (self._read_auxiliary(text) or self._read_light_word(text)):
                return self._read_main(text)
            self.tokens.pop(0)
        if self.be:
            return self._make_group("be", copula=True), []
        raise UnreadClause

    def _read_auxiliary(self, text: str) -> bool:
        words = self.words
        past = words.has_word("past", text)
        denied = any(words.has_word("negations", one.text) for one in self.tokens[1:2])
        helps = denied or self._is_followed_by(lambda each: verb_of(each, words.code) is not None)
        if words.has_word("negations", text):
            self.ended = self.ended or text == "nolonger"
            self.negative = self.negative or text != "nolonger"
            self.never = self.never or words.has_word("never", text)
        elif text in words.modals and (helps or not (words.has_word("try", text) or self.be)):
            self._read_modal(words.modals[text])
            self.excused = self.excused or words.has_word("needless", text)
        elif words.has_word("formerly", text) and not self.be:
            self.past, self.modality = True, Modality.ASSERTED
            self.marks.add("formerly")
        elif words.has_word("turning", text) and not self.be:
            self._read_becoming(past=past)
        elif words.has_word("becoming", text) and not self.be and self._is_becoming():
            self.be = self.begins = True
        elif words.has_word("be", text):
            self.be, self.past = True, self.past or past
            self.ongoing = self.ongoing or (verb_of(text, words.code) or ("", ""))[1] == "ing"
        elif words.has_word("do", text) and not self.be and not self.have and helps:
            self.past = self.past or past
            self.supported = True
        elif words.has_word("have", text) and self._is_perfect():
            self.have, self.past = True, self.past or past
            self.marks |= {"formerly"} if past else set()
        else:
            return False
        return True

    def _read_becoming(self, *, past: bool) -> None:
        """Read a verb that makes the future, the passive, and what becomes: German `werden`."""
        following = self.tokens[1:2]
        known = verb_of(following[0].text, self.words.code) if following else None
        if known is not None and known[1] == "base":
            self.modality = Modality.PLANNED
            return
        self.be, self.past = True, self.past or past
        self.begins = known is None

    def _read_modal(self, modal: str) -> None:
        self.ability, self.supported = self.ability or modal == "can", True
        self.obliged = self.obliged or modal == "must"
        if modal == "will":
            self.modality = Modality.PLANNED
        elif modal != "can":
            self.modality = Modality.POSSIBLE

    def _read_light_word(self, text: str) -> bool:
        meaning = self.words.words.get(text, "")
        self.reflexive = self.reflexive or meaning == "self"
        following = self.tokens[1].text if len(self.tokens) > 1 else ""
        if text in self.words.bounds and is_number(following, self.words):
            return False
        known = verb_of(following, self.words.code) if self.words.is_manner(text) else None
        if known and known[1] in {"past", "participle"} and not self.negative:
            return True
        if meaning == "hedge":
            self.modality = Modality.POSSIBLE
        elif meaning == "only":
            self.only = True
        elif meaning == "adverb":
            self.marks.add(text)
        return meaning in _LIGHT

    def _read_main(self, text: str) -> tuple[VerbGroup, list[Token]]:
        """Read the main verb, which comes next."""
        words = self.words
        for light in ("have", "do"):
            if words.has_word(light, text) and not self.be:
                self.past = self.past or words.has_word("past", text)
                self.tokens.pop(0)
                while self.tokens and words.has_word("negations", self.tokens[0].text):
                    self._read_auxiliary(self.tokens.pop(0).text)  # has not any sister
                return self._with_particle(light)
        text = self._without_denial(text)
        known = self._verb_or_guess(text)
        if self.be and (known is None or known[1] not in {"past", "participle", "ing"}):
            return self._make_group("be", copula=True), self.tokens
        if known is None:
            raise UnreadClause
        base, form = known
        moved = self.reflexive or self.words.has_word("perfect_with_be", base)
        if self.be and moved and form in {"past", "participle"}:
            self.be, self.have, self.past = False, True, False
        passive = self.be and form != "ing"
        unfinished = form == "past" and text.endswith(tuple(words.sets.get("imperfect", ())))
        self.ongoing = self.ongoing or unfinished or (self.be and not passive)
        removed = words.has_word("removing", base)
        appoints = passive and (removed or words.has_word("appointing", base))
        if appoints and self._is_appointment(removed=removed):
            self.tokens.pop(0)
            self.begins, self.ended = not removed, removed
            rest = self.tokens[int(words.prepositions.get(self.tokens[0].text) == "as") :]
            return self._make_group("be", copula=True), rest
        if passive and not self.ongoing and self._is_state(base):
            self.begins = self.begins or (self.have and not self.negative)
            return self._make_group("be", copula=True), self.tokens
        is_past = (form == "past" and not self.supported) or (self.have and form != "base")
        self.past = self.past or (is_past and not self.be)
        self.tokens.pop(0)
        plain = words.without_denial(base) if passive and base not in words.verbs else ""
        if plain:
            self.negative = not self.negative
        return self._with_particle(plain or base, passive=passive)

    def _without_denial(self, text: str) -> str:
        """Return the participle that another one denies, and deny it: `is unmanned`."""
        words, plain = self.words, self.words.without_denial(text) if self.be else ""
        form = verb_of(plain, words.code) if plain else None
        undone = words.has_word("undoing", text) or state_in((text,), words)
        if undone or not form or form[1] not in {"past", "participle"}:
            return text
        self.negative = not self.negative
        return plain

    def _verb_or_guess(self, text: str) -> tuple[str, str] | None:
        """Return the verb; after a modal or `do`, and by its ending, a word in no table is one."""
        if self.tokens[0].name:
            return None
        known, third = self._find_verb(text), self.words.unknown_third
        if known is None and self.supported and not self.be and text.isalpha():
            return text, "base"
        if known is None and third and text.endswith(third) and not (self.be or self.have):
            return text.removesuffix(third), "s"
        return known

    def _find_verb(self, text: str) -> tuple[str, str] | None:
        """Return the verb; a German form like `verkauft` is a participle after an auxiliary."""
        known = verb_of(text, self.words.code)
        following = self.tokens[1].text if len(self.tokens) > 1 else ""
        agent = self.words.prepositions.get(following) == self.words.agent
        if known and self.be and known[1] == "base" and agent:  # is run by Ruth
            return known[0], "participle"
        same = "participle_s" in self.words.flags and (self.be or self.have)
        return (known[0], "participle") if known and same and known[1] == "s" else known

    def _is_becoming(self) -> bool:
        """Return whether a verb such as `get` stands before a participle or a noun."""
        following = self.tokens[1:2]
        if not following:
            return False
        known = None if following[0].name else verb_of(following[0].text, self.words.code)
        begun = self.words.has_word("regular", self.tokens[0].text)
        return begun or (known is not None and known[1] in {"past", "participle"})

    def _is_appointment(self, *, removed: bool) -> bool:
        """Return whether an office follows: `was crowned queen`, and not `was made of oak`."""
        following = self.tokens[1:2]
        role = self.words.prepositions.get(following[0].text) if following else "of"
        named = bool(following) and bool(following[0].name)  # is named Karl
        return role == "as" or (role is None and not removed and not named)

    def _with_particle(self, verb: str, *, passive: bool = False) -> tuple[VerbGroup, list[Token]]:
        """Return the group of a verb, after its particle if it has one."""
        words, tokens = self.words, self.tokens
        if not passive and any(words.has_word(group, verb) for group in ("say", "know", "try")):
            follows = tokens[0].text if tokens else ""
            to = words.prepositions.get(follows) == "to"
            clause = to or words.words.get(follows) in {"that", "he", "if", "who", "where"}
            placed = follows in words.prepositions  # lies in the grass
            reported = words.has_word("say", verb) and not placed
            reported = reported and any(is_finite(one.text, words) for one in tokens[1:])
            self.reports = clause or reported
            if self.reports and any(one.text == "," for one in tokens):
                raise UnreadClause
        role = words.prepositions.get(tokens[0].text, "to") if tokens else "at"
        role = "" if tokens and tokens[0].name else role  # quit Acme
        if words.has_word("stop", verb) and role in {"to", "of"}:  # a bus only stops
            return self._read_stopped()
        tables = (words.verbs, words.same, words.denials, words.sets["once"])
        for at, one in enumerate(tokens[: 1 if passive else 1 + _TOKENS_AHEAD]):  # turn it down
            joined = f"{verb}_{one.text.removeprefix(PARTICLE)}"
            listed = any(joined in table for table in tables) and not one.name
            known = listed and not words.has_word("particles", one.text)
            if known or (one.text.startswith(PARTICLE) and not (at or passive)):
                tokens.pop(at)
                return self._make_group(joined, passive=passive), tokens
        return self._make_group(verb, passive=passive), tokens

    def _make_group(self, verb: str, *, copula: bool = False, passive: bool = False) -> VerbGroup:
        duty = self.obliged and not copula and (self.excused or not self.negative)
        possible = copula and self.ability and "can_be" in self.words.flags  # "can be so"
        modality = Modality.POSSIBLE if possible else self.modality
        same = "".join(self.words.same.get(verb, (verb,)))
        return VerbGroup(
            verb=same,
            copula=copula,
            passive=passive,
            past=self.past and not (copula and self.have),
            perfect=self.have,
            modality=Modality.ASSERTED if duty else modality,
            duty=duty,
            marks=frozenset(self.marks),
            **{each: getattr(self, each) for each in _KEPT},
        )

    def _read_stopped(self) -> tuple[VerbGroup, list[Token]]:
        """Read `has ceased to be queen` and `stopped smoking`."""
        tokens, words = self.tokens, self.words
        while tokens and words.prepositions.get(tokens[0].text) == "to":
            tokens.pop(0)
        if not tokens:
            raise UnreadClause
        verb = tokens.pop(0).text
        be = words.has_word("be", verb)
        known = ("be", "base") if be else verb_of(verb, words.code)
        if known is None:
            raise UnreadClause
        past, ended = self.past and not be, not self.negative
        sure = Modality.POSSIBLE if self.ability else self.modality
        return VerbGroup(verb=known[0], copula=be, ended=ended, past=past, modality=sure), tokens

    def _is_perfect(self) -> bool:
        """Return whether a participle follows a form of have."""
        forms = {"past", "participle", "s" if "participle_s" in self.words.flags else ""}
        listed, code = self.words.sets.get("participles", ()), self.words.code
        return self._is_followed_by(
            lambda text: text in listed or (verb_of(text, code) or ("", "-"))[1] in forms
        )

    def _is_followed_by(self, is_verb: Callable[[str], bool]) -> bool:
        """Return whether such a verb or a form of have follows, after light words at most."""
        for text in (token.text for token in self.tokens[1 : 1 + _TOKENS_AHEAD]):
            light = self.words.words.get(text) in {"skip", "adverb"}
            if self.words.has_word("negations", text):
                continue
            if is_verb(text) or self.words.has_word("have", text):
                return True
            if not light:
                return False
        return False

    def _is_state(self, verb: str) -> bool:
        """Return whether a participle is a state in the table: `is locked`, `is wounded`.

        "Was murdered" and "was released" are none: they are events, whose results have not passed.
        """
        deadly = any(rule[0] == "life" for rule in self.words.verbs.get(verb, ()))
        dated = self.words.is_time(self.tokens[-1].text)  # is delivered on Monday
        fatal = (self.past or dated) and (deadly or self.words.has_word("eventive", verb))
        agents = (self.words.prepositions.get(token.text) for token in self.tokens)
        agent = self.words.agent in agents
        texts = [token.text for token in self.tokens]
        had = self.have and not self.negative and verb in self.words.verbs
        ruled = verb in self.words.verbs and not self.words.is_time(texts[-1])
        if not self.past and len(texts) > 1 and not ruled:
            texts = texts[:1]  # is closed on Sundays
        return not (had or fatal or agent) and state_in(texts, self.words) is not None
