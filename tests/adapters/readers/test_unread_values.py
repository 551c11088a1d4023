"""Texts that no field holds: found in one place, whatever the format."""

from typing import Any

import pytest

from canonry.values.file_texts import note_unread, unused_texts


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Rent", "rent"),
        ("46.10", -46.1),
        ("20240130", "2024-01-30"),
        ("DE02 1203 0000", "DE0212030000"),
        ("January rent", "For the January rent of 2024"),
        ("DBIT", None),
        ("  ", None),
    ],
)
def test_a_text_is_recognised_as_kept_in_any_notation(text: str, kept: Any) -> None:
    assert list(unused_texts([("a", text)], [kept])) == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("7", "Room 7"),
        ("0042", 42),
        ("Rent", "Renting"),
        ("5", -5.5),
        ("\N{THUMBS UP SIGN}", "\N{THUMBS DOWN SIGN}"),
        ("46.10", "46.1 and more"),
    ],
)
def test_a_text_that_only_resembles_a_kept_one_is_unread(text: str, kept: Any) -> None:
    assert list(unused_texts([("a", text)], [kept])) == [("a", text)]


def test_a_note_counts_the_further_unread_values() -> None:
    (note,) = note_unread([f"{n}: {'x' * 96}" for n in range(10)])

    assert note.startswith("Values beside the records were not read: 0: xxx")
    assert note.endswith(", and 4 more.")
    assert note_unread([]) == []
