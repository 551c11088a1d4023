"""The labelled statements are well-formed, and the two halves share no names.

No message of these tests shows a statement of the half that is kept.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

import pytest

from bench.contradictions.pairs import ENGLISH, Half, Label, Pair, read_pairs, read_set

LANGUAGES = ("de", "es", "fr")


@cache
def read_all_pairs() -> Sequence[Pair]:
    return read_set("statements")


def pairs_of(half: Half, language: str = ENGLISH) -> Sequence[Pair]:
    return [pair for pair in read_all_pairs() if pair.half is half and pair.language == language]


def names_of(half: Half) -> frozenset[str]:
    found = [pair for pair in read_all_pairs() if pair.half is half]
    return frozenset(name for pair in found for name in pair.canon.entities + pair.claim.entities)


def test_each_pair_has_a_unique_id_in_all_sets() -> None:
    ids = Counter(pair.id for pair in [*read_all_pairs(), *read_pairs()])

    assert [one for one, times in ids.items() if times > 1] == []


def test_an_id_contains_language_half_and_kind() -> None:
    wrong = [
        pair.id
        for pair in read_all_pairs()
        if not re.fullmatch(
            rf"(({'|'.join(LANGUAGES)})-)?s-{pair.half[0]}-{pair.kind}-\d\d", pair.id
        )
    ]

    assert wrong == []


@pytest.mark.parametrize("half", Half)
def test_half_of_the_english_pairs_are_lookalikes(half: Half) -> None:
    lookalikes = [pair for pair in pairs_of(half) if pair.hard]

    assert len(pairs_of(half)) >= 150
    assert 2 * len(lookalikes) >= len(pairs_of(half))


@pytest.mark.parametrize("half", Half)
def test_english_labels_are_balanced(half: Half) -> None:
    labels = Counter(pair.label for pair in pairs_of(half))

    assert labels[Label.CONTRADICTION] >= 55
    assert labels[Label.POSSIBLE] >= 20
    assert labels[Label.COMPATIBLE] >= 70


@pytest.mark.parametrize("half", Half)
@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_has_thirty_pairs_per_half(language: str, half: Half) -> None:
    labels = Counter(pair.label for pair in pairs_of(half, language))

    assert labels.total() >= 30
    assert labels[Label.CONTRADICTION] >= 15


def test_both_halves_have_the_same_kinds_and_labels() -> None:
    develop, kept = (Counter((pair.kind, pair.label) for pair in pairs_of(half)) for half in Half)

    assert {
        key: (develop[key], kept[key])
        for key in develop | kept
        if abs(develop[key] - kept[key]) > 3
    } == {}


def test_no_person_occurs_in_both_halves() -> None:
    assert names_of(Half.DEVELOP) & names_of(Half.KEPT) == frozenset()


def test_some_pairs_have_no_entities() -> None:
    silent = [pair for pair in read_all_pairs() if not pair.canon.entities]

    assert 0.15 <= len(silent) / len(read_all_pairs()) <= 0.3


def test_changes_are_compatible_and_occur_in_every_half() -> None:
    changes = [pair for pair in read_all_pairs() if pair.change]

    assert {pair.label for pair in changes} == {Label.COMPATIBLE}
    assert all(sum(pair.half is half for pair in changes) >= 20 for half in Half)
