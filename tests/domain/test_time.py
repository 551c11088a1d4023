"""Instants: what is read, what is refused, and how they are shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.values.errors import InvalidInput
from canonry.values.moments import DAY, SECOND, Instant, parse_instant, render_instant
from tests.strategies import instants


@given(instant=instants)
def test_a_shown_time_is_read_back(instant: Instant) -> None:
    assert parse_instant(render_instant(instant)) == instant


@given(instant=instants.filter(lambda i: abs(i) < 10**16), minutes=st.integers(-1439, 1439))
def test_an_offset_names_the_same_instant(instant: Instant, minutes: int) -> None:
    local = render_instant(Instant(instant + minutes * 60 * SECOND)).removesuffix("Z")
    sign, distance = ("-", -minutes) if minutes < 0 else ("+", minutes)

    assert parse_instant(f"{local}{sign}{distance // 60:02}:{distance % 60:02}") == instant


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:00.000001z", 1),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("1970-01-02T01:00:00+01:00", DAY),
        ("1970-01-01T00:00:00.1234567899-00:00", 123_456),
        ("2024-02-29T12:00:00Z", 1_709_208_000 * SECOND),
        ("0001-01-01T00:00:00Z", -62_135_596_800 * SECOND),
        ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
    ],
)
def test_known_instants_are_formatted(text: str, instant: int) -> None:
    assert parse_instant(text) == instant


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2025-01-15",
        "2025-01-15T12:00:00",
        "2025-01-15 12:00:00Z",
        "2025-01-15T12:00Z",
        "2025-01-15T12:00:00+0100",
        "2025-01-15T12:00:00+24:00",
        "2025-01-15T12:00:00+01:60",
        "2025-02-29T12:00:00Z",
        "2025-13-01T12:00:00Z",
        "2025-01-15T24:00:00Z",
        "2025-01-15T12:00:60Z",
        "2025-01-15T12:00:00.Z",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "12025-01-15T12:00:00Z",
        "2025-01-15T12:00:00Z\n",
        "\u0662\u0660\u0662\u0665-01-15T12:00:00Z",
    ],
)
def test_anything_else_is_refused_with_its_path(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_instant(text, path="/start")

    assert (caught.value.code, caught.value.details) == ("time.malformed", {"path": "/start"})
