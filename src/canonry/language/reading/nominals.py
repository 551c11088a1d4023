"""Read a noun phrase: its head, modifiers, owner, number and quantifier."""

from collections.abc import Sequence
from typing import Final

from canonry.language.reading.figures import UNREAD, number_of, quantity_of, text_of
from canonry.language.reading.forms import ANYBODY, SPEAKER, WE, Nominal, UnreadClause
from canonry.language.reading.tokens import Token, WordTable, noun_of
from canonry.values.statements import PHRASE, Quantity

_OWNING: Final = frozenset({"in", "on", "at", "from"})
"""Roles of a name after a noun: the plan from Velm is that of Velm."""

_KEPT: Final = ("owner", "quantifier", "negative", "definite", "indefinite", "inner", "label")
_QUANTIFIERS: Final = frozenset({"all", "some", "most", "only"})
_UNREAD_WORDS: Final = frozenset(
    {"who", "where", "that", "if", "i", "someone", "another", "here", "there"}
)


def split_list(tokens: Sequence[Token], words: WordTable) -> list[list[Token]]:
    """Divide a list of noun phrases at `and`, `or` and commas."""
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.text == "," or words.words.get(token.text) in {"and", "or"}:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def read_nominal(tokens: Sequence[Token], words: WordTable, before: str, own: str = "") -> Nominal:
    """Return the noun phrase of some tokens; refuse words for what the text does not name.

    Pronouns refer to the subject `before`, and possessives to that of the clause, `own`, if any.
    """
    reader = _NominalReader(words, before, own or before)
    for at, token in enumerate(tokens):
        rest = tokens[at + 1 :]
        role = words.prepositions.get(token.text, "")
        if token.text == words.of:
            inner = read_nominal(rest, words, before, own)
            if inner.quantity is not None and not inner.definite:
                reader.inner = inner
            elif isinstance(inner.value, str):
                reader.owner = reader.owner or inner.value
                reader.marks |= inner.marks
            break
        if role and at and rest and token.text not in words.bounds:
            inner = read_nominal(rest, words, before, own)
            reader.within = role, text_of(inner.value)
            owned = role in _OWNING and not inner.noun and inner.quantity is None
            reader.marks.add(f"of:{reader.within[1]}" if owned else ":".join(reader.within))
            break
        reader.take_token(token)
    return reader.build_nominal()


class _NominalReader:
    def __init__(self, words: WordTable, before: str, own: str) -> None:
        self.words, self.before, self.own = words, before, own
        self.owner = self.quantifier = self.unit = self.bound = ""
        self.negative = self.definite = self.indefinite = self.about = False
        self.negated = self.by_name = self.titled = False
        self.marks: set[str] = set()
        self.inner: Nominal | None = None
        self.label = ""
        self.within = ("", "")
        self.heads: list[str] = []
        self.names: list[str] = []
        self.before_name = 0
        self.number: float | None = None
        self.step = 0.0

    def take_token(self, token: Token) -> None:
        """Add one token."""
        meaning = self.words.words.get(token.text, "")
        if token.name:
            self.names.append(token.name)
            self.before_name = len(self.heads)
        elif token.text == "'s":
            self._head_last()
            own = self._head_value()
            self.owner, self.heads, self.names, self.definite = own, [], [], True
        elif not self._take_determiner(token.text, meaning) and not self._take_reference(
            token.text, meaning
        ):
            self._take_figure(token.text)

    def _take_determiner(self, text: str, meaning: str) -> bool:
        if meaning == "the":
            self.by_name = bool(self.names) and self.before_name == len(self.heads)  # Bo the smith
            self.definite = True
        elif self.words.has_word("negations", text):
            self.negative = self.negated = True
        elif meaning == "no":
            self.negative = True
        elif meaning in _QUANTIFIERS:
            self.quantifier = meaning
        elif meaning == "hedge":
            self.about = True
        elif meaning == "a":
            self.indefinite = True
        elif meaning != "skip" and not self.words.has_word("empty", text):
            return False
        return True

    def _take_reference(self, text: str, meaning: str) -> bool:
        """Take a word that stands for somebody."""
        if (meaning == "my" and not self.own) or (meaning == "he" and not self.before):
            raise UnreadClause
        if meaning in {"anybody", "nobody"}:
            self.negative = self.negative or meaning == "nobody"
            self.names.append(ANYBODY)
        elif meaning == "my" or self.words.has_word("mine", text):
            self.owner, self.definite = self.own if meaning == "my" else SPEAKER, True
        elif meaning == "he":
            self.names.append(self.before)
        elif self.words.has_word("ours", text) or self.words.has_word("speaker", text):
            self.names.append(WE if self.words.has_word("ours", text) else SPEAKER)
        elif meaning in _UNREAD_WORDS:
            raise UnreadClause
        elif meaning == "adverb" and self.names and not self.heads:  # knows Bo well
            self.marks.add(text)
        elif meaning == "adverb":
            self.heads.insert(0, text)
        else:
            return False
        return True

    def _take_figure(self, text: str) -> None:
        """Take a word of a figure, or else of the head."""
        words = self.words
        figure = number_of(text, words)
        measured = bool(self.heads) and words.has_word("priced", self.heads[-1])
        labelled = bool(self.heads or self.names) and not measured  # port 80, and not worth 80
        if text in words.bounds and self.number is None:
            self.bound = words.bounds[text]
            self.about = self.about or self.bound == "about"
        elif figure is not None and self.number is not None and self.unit in words.smaller:
            self.step = 1 / words.smaller[self.unit]
            self.number += figure * self.step  # five foot eleven
        elif text.isdigit() and (self.number is not None or (text[0] == "0" and len(text) > 1)):
            raise UnreadClause  # the digits of a telephone, or groups of one figure
        elif figure is not None and self.number is None and labelled:
            self.label = text
        elif figure is not None:
            self.number = figure if self.number is None else self.number + figure
            whole, point, digits = text.partition(".")
            self.step = 10.0 ** -len(digits) if point and whole.isdigit() else 0.0
        elif text in words.scales:
            number, scale = 1.0 if self.number is None else self.number, words.scales[text]
            self.number = number + number % scale * (scale - 1)  # three thousand | four hundred
        elif self.number is not None and words.unit_of(text) and (self.step or not self.unit):
            self.unit = self.unit or text
        else:
            self.heads.append(text)

    def build_nominal(self) -> Nominal:
        """Return the noun phrase of the tokens so far."""
        if self.negated and (self.quantifier or ANYBODY in self.names):  # not all, not everybody
            raise UnreadClause
        self._head_last()
        quantity = None
        if self.number is not None:
            quantity = quantity_of(
                self.number, self.unit, self.bound, self.words, about=self.about, step=self.step
            )
        value: str | Quantity | None = self._head_value()
        if not self.heads and not self.names and quantity is not None:
            value = quantity
        determined = self.definite or self.indefinite or self.negative or self.quantifier
        bare = len(self.heads) == 1 and not determined and self.number is None
        return Nominal(
            value=value,
            noun=noun_of(self.heads[-1], self.words.code) if self.heads else "",
            words=tuple(self.heads),
            quantity=quantity,
            within=self.within if self.heads else ("", ""),
            **{each: getattr(self, each) for each in _KEPT},
            proper=bare and "capital_nouns" in self.words.flags,
            marks=frozenset(self.marks if self.names and not self.heads else ()),
        )

    def _head_last(self) -> None:
        """Drop the titles of a name. Put the noun after its adjectives, where most follow it."""
        self.titled = all(self.words.has_word("titles", head) for head in self.heads)
        self.heads = [] if self.names and self.titled and not self.owner else self.heads
        if "adjectives_after" in self.words.flags and len(self.heads) > 1:
            early = (self.words.has_word("early", one) for one in self.heads)
            at = next((n for n, each in enumerate(early) if not each), len(self.heads) - 1)
            self.heads = [*self.heads[:at], *self.heads[at + 1 :], self.heads[at]]

    def _head_value(self) -> str:
        heads, names, code = self.heads, self.names, self.words.code
        if names and not heads:
            numbered = self.number is not None and names[-1].startswith(PHRASE)
            known = next((one for one in names if not one.startswith(PHRASE)), names[-1])
            return f"{names[-1]} no:{self.number:g}" if numbered else known
        if not heads:
            return self.owner or UNREAD
        if names and (self.titled or self.by_name or self._is_apposed()):
            return names[-1]
        head = noun_of(heads[-1], code)
        marks = sorted(noun_of(one, code) for one in heads[:-1])
        marks = [f"no:{mark}" if self.words.has_word("ordinals", mark) else mark for mark in marks]
        for one in names:
            own = not self.before_name  # the Velm road is the road of Velm
            marks.append(f"of:{one}" if own else f"name:{one.removeprefix(PHRASE)}")
        marks += [f"no:{self.label}"] if self.label else []
        reported = self.owner != SPEAKER and " " not in self.owner
        plain = reported and self.owner.startswith(PHRASE)  # the kitchen's, kitchen
        if self.owner:
            marks.append(self.owner.removeprefix(PHRASE) if plain else f"of:{self.owner}")
        marks.sort(key=lambda mark: (":" in mark, mark))
        marks += sorted(mark.replace(" ", "_") for mark in self.marks)
        return PHRASE + " ".join((head, *marks))

    def _is_apposed(self) -> bool:
        """Return whether a name follows what it names: `the dragon Sczar`, `old Marta`."""
        kind, heads = ("apposed", self.heads[-1:]) if self.definite else ("epithets", self.heads)
        last = self.before_name == len(self.heads) and self.number is None
        return last and all(self.words.has_word(kind, one) for one in heads)
