"""Visible text: nothing steers, hides or turns, and JSON still says exactly what it said."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.language.texts.visible import escape_hidden, escape_line
from canonry.values.json_values import decode_json, encode_json

ANY = st.text(st.characters())
WHOLE = st.text()


@given(ANY)
def test_no_control_or_direction_character_is_left(text: str) -> None:
    shown = escape_hidden(text)
    assert escape_hidden(shown) == shown
    left = {unicodedata.category(char) for char in shown if char not in "\n\t"}
    assert left.isdisjoint({"Cc", "Cs", "Zl", "Zp"})
    turns = {unicodedata.bidirectional(char) for char in shown}
    assert turns.isdisjoint({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
    assert not set(escape_line(text)) & {"\n", "\t"}


@given(WHOLE)
def test_escaped_json_has_the_same_meaning(text: str) -> None:
    value = {text: [text]}
    assert json.loads(escape_hidden(json.dumps(value, ensure_ascii=False))) == value
    assert decode_json(escape_hidden(encode_json(value).decode()).encode()) == value


@pytest.mark.parametrize(
    "text",
    [
        "Stra\u00dfe",
        "cafe\u0301",
        "\u05e9\u05dc\u05d5\u05dd",
        "\u0915\u094d\u200d\u0937",
        "\U0001f468\u200d\U0001f469",
        "\u2764\ufe0f \ufffd",
        "two\nlines\tand tabs",
    ],
)
def test_ordinary_writing_stays_unchanged(text: str) -> None:
    assert escape_hidden(text) == text
