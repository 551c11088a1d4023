"""Figures, states and short forms in the words of a clause."""

from collections.abc import Sequence
from typing import Final

from canonry.language.reading.tokens import Token, WordTable
from canonry.values.attributes.table import attribute_of_word, builtin_attributes, find_attribute
from canonry.values.statements import PHRASE, Quantity

UNREAD: Final = "~unread"
"""The value of a phrase that the reader does not understand."""


def is_plural(tokens: Sequence[Token], words: WordTable) -> bool:
    """Return whether a base form can follow this subject: a plural, a list or a pronoun."""
    inner = (at for at, token in enumerate(tokens) if at and token.text in words.prepositions)
    tokens = tokens[: next(inner, len(tokens))]
    last = tokens[-1].text if tokens else ""
    joined = any(words.words.get(token.text) == "and" for token in tokens)
    many = last.endswith("s") and last != "'s" and not tokens[-1].name
    return joined or many or words.has_word("plural_pronouns", last) or last in words.plurals


def state_in(texts: Sequence[str], words: WordTable) -> tuple[str, str] | None:
    """Return the state that some words mean: an attribute and its value."""
    text = " ".join(texts)
    found = attribute_of_word(text) if texts else None
    own = found is not None and found[0].name not in builtin_attributes().attributes
    known = None if own else words.states.get(text)
    if known is not None:
        name, _, value = known.partition(":")
        return name, value
    if text in words.qualities and not own:
        return words.qualities[text]
    listed = own or "states_by_attribute" in words.flags
    return (found[0].name, found[1]) if found and listed else None


def is_number(text: str, words: WordTable) -> bool:
    """Return whether a word is a number, or a scale such as hundred."""
    return number_of(text, words) is not None or text in words.scales


def number_of(text: str, words: WordTable) -> float | None:
    """Return the number that a word means; None if it is none."""
    if text in words.numbers:
        return words.numbers[text]
    first, hyphen, last = text.partition("-")
    if hyphen and first in words.numbers and last in words.numbers:
        return words.numbers[first] + words.numbers[last]
    if not text[:1].isdigit():
        return None
    hours, _, minutes = text.partition(":")
    try:
        return float(hours) + float(minutes.split(":")[0] or 0) / 60
    except ValueError:
        return None


def quantity_of(
    number: float, unit: str, bound: str, words: WordTable, *, about: bool, step: float
) -> Quantity:
    """Return the quantity of a number with its unit and its bound, such as `at least`."""
    dimension, factor = words.unit_of(unit) or ("", 1.0)
    size = number * factor
    if not step and unit and number == int(number):
        zeros = len(str(int(number))) - len(str(int(number)).rstrip("0"))
        step = 10.0 ** max(0, zeros - 1)
    low = high = round(size, 9)
    ends = {"least": (low, float("inf")), "more": (low + 1e-9, float("inf")),
            "most": (float("-inf"), high), "fewer": (float("-inf"), high - 1e-9),
            "tens": (low, high + 10 * factor - 1e-9)}  # fmt: skip
    ends["decade"] = ends["tens"]
    low, high = ends.get(bound, (low, high))
    step = 10.0 if bound == "decade" else step  # in her thirties, and perhaps not for long
    step = {"frequency": 0.0, "time": step / 2}.get(dimension, step)  # half an hour is often said
    return Quantity(low=low, high=high, dimension=dimension, step=step * factor, about=about)


def measure_of(name: str, quantity: Quantity | None = None) -> str:
    """Return the attribute of a measure; `*` is the one of the figure's dimension."""
    if name == "*":
        return f"measure:{quantity.dimension if quantity else ''}"
    return name if find_attribute(name).name == name and name == "age" else f"measure:{name}"


def text_of(value: str | Quantity | None) -> str:
    """Return a value as a word for the name of an attribute."""
    if isinstance(value, Quantity):
        return f"{PHRASE}{value.low:g}"
    return value or UNREAD
