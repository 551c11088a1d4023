"""Tables of words, and the tokens of a sentence with its names masked."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache, lru_cache
from typing import Any, ClassVar, Final, TypeAlias

from canonry.language.reading import times
from canonry.language.reading.rewriting import Lazy, Rewrites
from canonry.language.texts.stems import stem_of
from canonry.values.attributes.table import attribute_of_word, split_sides
from canonry.values.data_files import read_toml
from canonry.values.json_values import plain_signs

LONG: Final = 600
"""The most characters of a text that are read."""

_SHORT_VERB: Final = re.compile(r"^[^aeiou]*[aeiou][bdgklmnprt]$")
_BEFORE_NOUNS: Final = frozenset({"the", "a", "my", "i", "some", "no", "all"})
_ENDS_IN_Y: Final = re.compile(r"[^aeiou]y$")
_SHORTEST_DENIAL: Final = 5  # a denied adjective is longer than this, unlike `uncle`

_SHORTEST_PAST: Final = 4  # a verb in no table is longer than this, unlike `shed`

_DATA: Final[Mapping[str, Mapping[str, Any]]] = {
    code: read_toml("canonry.language.reading", f"tables/{code}.toml")
    for code in ("en", "de", "fr", "es")
}
"""The table of each language as it is written."""


_CLASS: Final = re.compile(r"\{([a-z]+)\}")
"""A class of words in a pattern, such as `{num}`, by its name in the table."""

_REWRITES: Final = Lazy(
    lambda code: {
        name: Rewrites(
            [
                (_CLASS.sub(lambda named: _DATA[code]["classes"][named[1]], old), new)
                for old, new in _DATA[code].get(name, ())
            ]
        )
        for name in ("named", "cased", "rewrites", "periods")
    }
)
_FORMS: Final = Lazy(
    lambda code: {
        name: re.compile("|".join(_DATA[code].get(name, ())) or r"(?!)")
        for name in ("drop", "abbreviations", "addresses")
    }
)
_DATE: Final = Lazy(
    lambda code: re.compile(
        times.date_form(_DATA[code]["months"], _DATA[code]["of"], _DATA[code].get("nth_days", ""))
    )
)
LIMITS: Final = {
    name: re.compile(rf"(?i)(?<![\w'-])({'|'.join(e[name] for e in _DATA.values())})(?:(?<=')|\s)")
    for name in ("onsets", "limits", "spans")
}
"""Patterns of words before the time at which something begins or ends, in any language."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordTable:
    """The words of one language; `en.toml` describes the file format."""

    code: str
    stemmer: str
    copula: str
    of: str
    order: str = "svo"
    agent: str = "by"
    genitive: str = ""
    doubles: bool = False
    unknown_past: str = ""
    unknown_third: str = ""
    owned_by_be: str = ""
    participle_prefix: str = ""
    plural_ending: str = "s"
    degree_ending: str = ""
    superlative_ending: str = ""
    negative_prefix: str = ""
    negated: Mapping[str, str] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()
    sets: Mapping[str, frozenset[str]]
    qualities: Mapping[str, tuple[str, str]]
    base_endings: tuple[str, ...] = ("",)
    noun_endings: tuple[tuple[str, str], ...] = ()
    verb_endings: tuple[tuple[str, str], ...] = ()
    irregular: Mapping[str, tuple[str, str]]
    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    nth_days: Mapping[str, int]
    words: Mapping[str, str]
    prepositions: Mapping[str, str]
    modals: Mapping[str, str]
    bounds: Mapping[str, str]
    measures: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    plurals: Mapping[str, str]
    clock: Mapping[str, str]
    timed: Mapping[str, str]
    half_days: Mapping[str, str]
    bearings: Mapping[str, str]
    reciprocal: Mapping[str, str]
    extremes: Mapping[str, str]
    nouns: Mapping[str, str]
    states: Mapping[str, str]
    parts: Mapping[str, str]
    had: Mapping[str, str]
    counted: Mapping[str, str]
    numbers: Mapping[str, float]
    scales: Mapping[str, float]
    smaller: Mapping[str, float]
    units: Mapping[str, tuple[str, float]]
    kinds: Mapping[str, frozenset[str]]
    same: Mapping[str, frozenset[str]]
    denials: Mapping[str, frozenset[str]]
    bound: Mapping[str, tuple[tuple[str, ...], ...]]
    verbs: Mapping[str, tuple[tuple[str, ...], ...]]
    follows: Mapping[str, tuple[tuple[str, ...], ...]]

    openers: ClassVar = ("be", "have", "do", "negations", "formerly", "turning")
    """The groups of words that open a verb group."""

    def unit_of(self, word: str) -> tuple[str, float] | None:
        """Return the dimension and the factor of a unit in the singular or plural."""
        return self.units.get(word) or self.units.get(self.singular_of(word))

    def singular_of(self, word: str) -> str:
        """Return a word without the ending of its plural."""
        return self.plurals.get(word) or word.removesuffix(self.plural_ending)

    def is_time(self, word: str) -> bool:
        """Return whether a word names a point or a span of time."""
        if word.startswith(times.PREFIX) or word == times.EVERY_DAY:
            return True
        groups, forms = ("times", "weekdays", "months"), (word, self.singular_of(word))
        return any(self.has_word(name, each) for name in groups for each in forms)

    def is_superlative(self, word: str) -> bool:
        """Return whether an adjective says that nothing else is as much: `tallest`, `best`."""
        ending = self.superlative_ending
        regular = bool(ending) and word.endswith(ending)
        regular = regular and not self.has_word("no_superlatives", word)
        return regular or self.has_word("superlatives", word)

    def without_denial(self, word: str) -> str:
        """Return an adjective or a verb without the prefix that denies it, else ""."""
        if word in self.negated:
            return self.negated[word]
        prefix = self.negative_prefix
        denied = bool(prefix) and word.startswith(prefix) and len(word) > _SHORTEST_DENIAL
        return word.removeprefix(prefix) if denied else ""

    def is_manner(self, word: str) -> bool:
        """Return whether a word only says in which manner something is done."""
        ending = self.degree_ending
        listed = word in self.words or word in self.bounds or self.has_word("no_manner", word)
        long = len(word) > _SHORTEST_DENIAL and not listed
        return bool(ending) and word.endswith(ending) and long

    def is_degree(self, word: str) -> bool:
        """Return whether a word before an adjective only says how much."""
        ending = self.degree_ending
        return self.has_word("degrees", word) or (bool(ending) and word.endswith(ending))

    def time_parts(self, word: str) -> Mapping[str, str]:
        """Return the parts of the point of time that one word names."""
        day = self.weekdays.get(word) or self.weekdays.get(self.singular_of(word))
        if day:
            return {"w": str(day)}
        if word == times.EVERY_DAY:
            return {"w": "0"}
        return {"h": self.clock[word]} if word in self.clock else times.parts_of(word)

    def has_word(self, group: str, word: str) -> bool:
        """Return whether a word belongs to a group of the table, such as `be` or `negations`."""
        return word in self.sets.get(group, ())


def _read_meanings(entry: Any) -> Mapping[str, str]:
    """Read words with a meaning each: `word/meaning`, or a member for each word."""
    if isinstance(entry, Mapping):
        return entry
    found = (each.rpartition("/") for each in entry.split())
    return {word: meaning for word, _slash, meaning in found}


def _groups_by_word(entry: Mapping[str, str]) -> Mapping[str, frozenset[str]]:
    """Read groups of words, and return the groups of each word."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name, members in dict(entry).items():
        for member in members.split():
            found[member].add(name)
    return {member: frozenset(names) for member, names in found.items()}


def _read_irregular(text: str) -> Mapping[str, tuple[str, str]]:
    """Read the lemma of each irregular form, and its category where the table names it."""
    found: dict[str, tuple[str, str]] = {}
    for entry in text.split():
        lemma, *others = entry.split("/")
        for form, _colon, category in (other.partition(":") for other in others):
            found[form] = (lemma, category)
    return found


_READERS: Final[Mapping[Any, Callable[[Any], Any]]] = {
    str: str,
    bool: bool,
    frozenset[str]: lambda text: frozenset(text.split()),
    tuple[str, ...]: lambda text: tuple(text.split(" ")),
    tuple[tuple[str, str], ...]: lambda text: tuple(
        (ending, instead)
        for ending, _slash, instead in (one.partition("/") for one in text.split())
    ),
    Mapping[str, str]: _read_meanings,
    Mapping[str, int]: lambda text: {
        name: at for at, group in enumerate(text.split(), 1) for name in group.split("/")
    },
    Mapping[str, float]: lambda text: {
        word: float(number) for word, number in _read_meanings(text).items()
    },
    Mapping[str, tuple[str, str]]: _read_irregular,
    Mapping[str, tuple[str, float]]: lambda text: {
        unit: (dimension, float(factor))
        for unit, dimension, factor in (each.split("/") for each in text.split())
    },
    Mapping[str, frozenset[str]]: _groups_by_word,
    Mapping[str, tuple[tuple[str, ...], ...]]: lambda entry: {
        word.rstrip("_"): tuple(tuple(rule.split()) for rule in rules.split(","))
        for words, rules in dict(entry).items()
        for word in words.split()
    },
}
"""The readers of a table's members, by their type."""


@cache  # a large file per language: bench compare, propose and start
def word_table(code: str) -> WordTable:
    """Return the table of a language."""
    data = _DATA[code]
    members = {
        one.name: _READERS[one.type](data.get(one.name, ""))
        for one in fields(WordTable)
        if one.name in data or one.default is MISSING
    }
    texts = {k: text.replace("/", " ") for k, text in data.items() if isinstance(text, str)}
    opposites = split_sides(data.get("opposites", {}).get("soft", ""))
    members["sets"] = {name: frozenset(text.split()) for name, text in texts.items()}
    members["sets"]["kinds"] = frozenset(data.get("kinds", ()))
    each_side = [(f"opposite:{sides[0][0]}", side) for sides in opposites for side in sides]
    members["qualities"] = {word: (name, side[0]) for name, side in each_side for word in side}
    return WordTable(**members)


@cache
def table_of_events(code: str) -> WordTable:
    """Return the table of a language for what happened once: who goes somewhere is there then."""
    words = word_table(code)
    return replace(words, sets={**words.sets, "roaming": frozenset()})


_HOUR: Final = Lazy(
    lambda code: re.compile(times.hour_form(word_table(code).half_days, word_table(code).numbers))
)


@dataclass(frozen=True, slots=True)
class Token:
    """A token: a word in lower case, or a name with its id; `lemma` of a verb, `stem` of a noun."""

    text: str
    name: str = ""


def spell_out_periods(text: str, code: str) -> str:
    """Return a text with its periods from a first to a last day, and without hours of the day."""
    first, plain = text[:1], text[:1].lower() + text[1:].rstrip(" .")
    rewrites: Rewrites = _REWRITES[code]["periods"]
    plain = rewrites.apply(plain)
    return first + plain[1:] if first.lower() == plain[:1] else plain[:1].upper() + plain[1:]


_CODE_DIGITS: Final = 6  # the fewest digits of a telephone number

Masking: TypeAlias = Callable[[str], str]
"""Returns the mask of what a name means."""

_WORD_END: Final = re.compile(r"(?!\w)")
_WORD_START: Final = re.compile(r"(?<![\w@])[^\W_]")
_NAME: Final = re.compile(r"@(\d+)@")
_TOKEN: Final = re.compile(
    r"@\d+@|time_h[\d.]+|'s(?!\w)|\d+(?:[.:]\d+)*|[^\W\d_][^\W_]*(?:[-_'][^\W_]+)*|[%,]"
)
_POSSESSIVE: Final = re.compile(r"(?<=\w)'s\b|(?<=s)'(?=\s)|(?<=@ )'(?=\s)")
_PART: Final = re.compile(r"(?<=[.!?;])\s+|;\s*")
_FULL_NAME: Final = re.compile(
    r"(?:(?<=^)|(?<=[.!?;] ))[A-Z\u00c0-\u00de][\w-]+(?: [A-Z\u00c0-\u00de][\w-]+)+"
)
_CAPITALS: Final = re.compile(
    r"(?<![.!?:;]\s)(?<!^)\b[A-Z\u00c0-\u00de][\w'-]*(?:\s+[A-Z\u00c0-\u00de][\w'-]*)*"
)


def sentences_of(text: str, names: Mapping[str, str], words: WordTable) -> Iterator[list[Token]]:
    """Yield the tokens of each sentence that states something, with all names masked."""
    ids: list[str] = []

    def mask_name(said: str) -> str:
        ids.append(said)
        return f" @{len(ids) - 1}@ "

    plain = _FORMS[words.code]["abbreviations"].sub(r"\1 ", plain_signs(text[:LONG]))
    plain = _REWRITES[words.code]["named"].apply(plain.replace("\u2026", "."))
    plain = plain.replace('"', " ").replace("\u201c", " ").replace("\u201d", " ")
    plain = _with_names(plain, names, words, mask_name)
    plain = _REWRITES[words.code]["cased"].apply(plain)
    forms = _FORMS[words.code]
    plain = forms["addresses"].sub(lambda found: _mask_unknown(found[0], words, mask_name), plain)
    if "capital_nouns" not in words.flags:
        plain = _FULL_NAME.sub(lambda found: _full_name(found[0], words, mask_name), plain)
        plain = _CAPITALS.sub(lambda found: _mask_unknown(found[0], words, mask_name), plain)
    for part in _PART.split(plain):
        sentence = " ".join(part.rstrip(" .!;").lower().split())
        idiom = forms["drop"].search(sentence.replace("@", " @ "))
        if not part.strip() or part.rstrip().endswith("?") or idiom:
            continue
        sentence = _POSSESSIVE.sub(" 's ", _REWRITES[words.code]["rewrites"].apply(sentence))
        form, links = _DATE[words.code], words.sets["date_links"]
        sentence = times.with_dates(sentence, form, words.months, links, words.nth_days)
        sentence = times.with_hours(sentence, _HOUR[words.code], words.half_days, words.numbers)
        found = ((each, _NAME.fullmatch(each)) for each in _TOKEN.findall(sentence))
        yield [Token("@", ids[int(name[1])]) if name else Token(each) for each, name in found]


def _with_names(text: str, names: Mapping[str, str], words: WordTable, mask: Masking) -> str:
    """Mask the names that begin with a capital, or that follow an article.

    A name in lower case, with a hyphen or with a letter beyond ASCII is masked anywhere.
    """
    shortened = _FORMS[words.code]["abbreviations"]
    plain = {
        shortened.sub(r"\1 ", plain_signs(name)): entity_id for name, entity_id in names.items()
    }
    known = {name.casefold(): entity_id for name, entity_id in plain.items()}
    loose = (name for name in names if not name.isascii() or "-" in name or name.islower())
    anywhere = {name.casefold() for name in loose}
    sizes = sorted({len(name) for name in known}, reverse=True)
    articles = tuple(f"{article} " for article in words.sets.get("articles", ()))
    parts: list[str] = []
    end = 0
    for found in _WORD_START.finditer(text):
        start = found.start()
        free = not "a" <= found[0] <= "z" or text[:start].casefold().endswith(articles)
        for size in sizes if start >= end else ():
            name, after = text[start : start + size].casefold(), text[start + size :]
            owning = bool(words.genitive) and after.startswith(words.genitive)
            tail = (
                words.genitive if owning and _WORD_END.match(after[len(words.genitive) :]) else ""
            )
            if name in known and (free or name in anywhere) and (tail or _WORD_END.match(after)):
                parts += [text[end:start], mask(known[name]), "'s " if tail else ""]
                end = start + size + len(tail)
                break
    return "".join((*parts, text[end:]))


def _full_name(found: str, words: WordTable, mask: Masking) -> str:
    """Return the mask of two capital words that begin a sentence, if the first is no other word."""
    first = found.split(maxsplit=1)[0].casefold()
    titled = any(words.has_word(group, first) for group in ("titles", "plain", "early", "epithets"))
    tables = (words.words, words.prepositions, words.states, words.nouns)
    common = titled or any(first in table for table in tables)
    known = verb_of(first, words.code) is not None or attribute_of_word(first) is not None
    return found if common or known else _mask_unknown(found, words, mask)


def _mask_unknown(found: str, words: WordTable, mask: Masking) -> str:
    own = found.removesuffix("'s")
    low = own.lower()
    lettered = len(own) == 1 and words.words.get(low) != "i"  # blood group A
    function = low in words.words or low in words.prepositions or low in words.modals
    known = function or any(words.has_word(group, low) for group in words.openers)
    masked = bool(_NAME.search(own))
    if (known and not lettered) or masked or words.is_time(low) or words.unit_of(low):
        return found
    coded = sum(map(str.isdigit, low)) >= _CODE_DIGITS  # 0660 111111, with spaces or without
    return mask("~" + ("" if coded else "_").join(low.split())) + ("'s" if own != found else "")


@lru_cache(maxsize=32_768)  # asked for each word of a phrase: bench compare, propose
def noun_of(word: str, code: str) -> str:
    """Return the form of a noun or adjective that its singular and plural share."""
    words = word_table(code)
    word = words.plurals.get(word, word)
    if _is_noun(word, words):
        return word
    for ending, instead in words.noun_endings:
        base = word.removesuffix(ending) + instead
        if word.endswith(ending) and _is_noun(base, words):
            return base
    return word if word.isdigit() or "_" in word or "-" in word else stem_of(words.stemmer, word)


def _is_noun(word: str, words: WordTable) -> bool:
    tables = (words.nouns, words.parts, words.measures, words.had, words.bound)
    return words.has_word("roles", word) or any(word in table for table in tables)


@lru_cache(maxsize=32_768)  # a sentence asks 3 times for each word: bench compare, propose
def verb_of(word: str, code: str) -> tuple[str, str] | None:
    """Return the base and the form of a verb: base, s, past, participle or ing; None: no verb."""
    words = word_table(code)
    function = word in words.words or word in words.prepositions
    known = _known_verbs(code)
    other = words.has_word("not_pasts", word) and word not in known
    if other or (function and "strict_words" in words.flags):
        return None
    if word in words.irregular:
        lemma, form = words.irregular[word]
        return lemma, form or _irregular_form(word, words)
    if word in known:
        return word, "past" if words.has_word("both_forms", word) else "base"
    for ending, form in words.verb_endings:
        if word.endswith(ending):
            for base in _verb_bases(word.removesuffix(ending), words):
                if base in known:
                    return base, form
    return _unlisted_verb(word, words)


def _unlisted_verb(word: str, words: WordTable) -> tuple[str, str] | None:
    """Return the verb of a participle with a prefix, or of a past that no table has."""
    prefix, past = words.participle_prefix, words.unknown_past
    if prefix and word.startswith(prefix) and word.endswith("t"):
        plain = verb_of(word.removeprefix(prefix), words.code)
        return (plain[0], "participle") if plain and plain[1] == "s" else None
    if past and word.endswith(past) and len(word) > _SHORTEST_PAST:
        return stem_of(words.stemmer, word), "past"
    return None


def put_in_past(text: str) -> str:
    """Return a text with "kills" as "killed" and "is killed" as "was killed", in English."""
    words, told, begun = word_table("en"), text.split(" "), False
    for n, word in enumerate(told):
        before, after = told[n - 1].casefold() if n else "the", "".join(told[n + 1 : n + 2])
        verb, then = verb_of(word, words.code), verb_of(after.strip(".,;!"), words.code)
        begun = begun and before[-1:] != "," and before not in {"and", "who", "then"}
        noun = words.words.get(before) in _BEFORE_NOUNS or before in words.numbers
        if words.has_word("be", word):
            passive = then is not None and then[1] in {"past", "participle"}
            told[n], begun = {"is": "was", "are": "were"}.get(word, word) if passive else word, True
        elif verb and verb[1] == "s" and not (begun or noun or (then and then[1] == "base")):
            told[n], begun = _past_of(verb[0], words), True
    return " ".join(told)


def _past_of(base: str, words: WordTable) -> str:
    if words.has_word("both_forms", base):
        return base
    forms = (each for each, (lemma, _) in words.irregular.items() if lemma == base)
    irregular = next((each for each in forms if verb_of(each, words.code) == (base, "past")), None)
    short = _SHORT_VERB.search(base)  # slam, slammed
    stem = base + base[-1] if short else base[:-1] + "i" if _ENDS_IN_Y.search(base) else base
    return irregular or stem + words.unknown_past.removeprefix("e" if base[-1] == "e" else "")


def is_finite(word: str, words: WordTable) -> bool:
    """Return whether a word is an auxiliary, or a verb with a subject of its own: `is`, `went`."""
    auxiliary = any(words.has_word(group, word) for group in ("be", "have", "do"))
    known = verb_of(word, words.code)
    return auxiliary or word in words.modals or (known is not None and known[1] in {"s", "past"})


def _irregular_form(word: str, words: WordTable) -> str:
    if words.has_word("participles", word):
        return "participle"
    if words.has_word("past_only", word) or words.has_word("both_forms", word):
        return "past"
    return "ing" if (word[-3:], "ing") in words.verb_endings else "s"


@cache  # a union of seven sets: bench compare, propose
def _known_verbs(code: str) -> frozenset[str]:
    words = word_table(code)
    groups = ("common", "idle", "say", "know", "try", "stop", "start")
    tables = (words.same, words.denials, *words.same.values(), *words.denials.values())
    named = (one.strip("@") for one in words.verbs)
    return frozenset(named).union(*(words.sets.get(each, ()) for each in groups), *tables)


def _verb_bases(stem: str, words: WordTable) -> Iterator[str]:
    """Yield the verbs that a stem may be of: stem, mak(e), sto(p)p, tr(y)i."""
    yield from (stem + ending for ending in words.base_endings)
    if words.doubles and stem[-1:] == stem[-2:-1]:
        yield stem[:-1]
    if words.doubles and stem.endswith("i"):
        yield stem[:-1] + "y"
