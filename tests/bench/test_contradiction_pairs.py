"""The labelled pairs of statements are well-formed, and their halves try the same with other words.

No message of these tests shows a statement of the half that is kept.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

import pytest

from bench.contradictions.pairs import (
    ENGLISH,
    FILE,
    SETS,
    Half,
    Label,
    Pair,
    Side,
    read_pairs,
    read_set,
)

DAY = re.compile(r"\d{4}(-\d\d-\d\d)?")
SAID_WITH = """
a about after all also although an and any anybody anyone are as at because been before both but
by can can't cannot could couldn't did didn't do does doesn't don't down each else even ever
every everybody everyone few fewer for from had hadn't half has hasn't have haven't he her him
himself his if in into is isn't it its less like longer many may might more most much must need
neither never no nobody none nor not nothing of off on once one only or other our out over own
she should since so some somebody someone still than that the their them then there they this
though to together told too under unless until up was wasn't were what when where which while
who whoever whom whose why will with without won't would yet called days hours years feet fifty
forty hundred sixty two three four
"""
"""Words for manner and number, which do not reveal the subject: both halves need them."""


@cache
def english_pairs() -> Sequence[Pair]:
    return [pair for pair in read_pairs() if pair.language == ENGLISH]


def pairs_of(half: Half) -> Sequence[Pair]:
    return [pair for pair in english_pairs() if pair.half is half]


def sides_of(pairs: Sequence[Pair]) -> Sequence[Side]:
    return [side for pair in pairs for side in (pair.canon, pair.claim)]


def names_in(pairs: Sequence[Pair]) -> frozenset[str]:
    """The names of the entities, without what tells namesakes apart."""
    entities = (name for side in sides_of(pairs) for name in side.entities)
    return frozenset(name.partition(" (")[0] for name in entities)


def words_in(statement: str) -> Sequence[str]:
    return re.findall(r"[a-z0-9]+(?:'[a-z]+)?", statement.casefold().replace("\u2019", "'"))


def content_words(pairs: Sequence[Pair]) -> frozenset[str]:
    """The words of content: neither names nor function words."""
    named = {word for name in names_in(english_pairs()) for word in words_in(name)}
    said = {
        word.removesuffix("'s") for side in sides_of(pairs) for word in words_in(side.statement)
    }
    said = {word for word in said if len(word) > 2 and not word.isdigit()}
    return frozenset(said - named - frozenset(SAID_WITH.split()))


def label_share(pairs: Sequence[Pair], label: Label) -> float:
    return 100 * Counter(pair.label for pair in pairs)[label] / len(pairs)


def test_there_are_enough_pairs_and_each_has_an_id_of_its_own() -> None:
    ids = Counter(pair.id for pair in read_pairs())

    assert len(english_pairs()) >= 400
    assert [one for one, times in ids.items() if times > 1] == []


def test_an_id_contains_half_and_kind() -> None:
    wrong = [
        pair.id
        for pair in english_pairs()
        if not re.fullmatch(rf"{pair.half[0]}-{pair.kind}-\d\d", pair.id)
    ]

    assert wrong == []


def test_entities_and_times_have_their_forms() -> None:
    wrong = [
        pair.id
        for pair in read_pairs()
        for side in (pair.canon, pair.claim)
        if not all(name.strip() == name and name for name in side.entities)
        or not all(DAY.fullmatch(day) for day in (side.time, side.until) if day is not None)
        or (side.until is not None and (side.time is None or side.until <= side.time))
        or (side.properties and side.fact_type not in {"attribute", "state"})
    ]

    assert wrong == []


@pytest.mark.parametrize("name", SETS)
def test_a_place_or_time_is_given_for_both_sides_or_neither(name: str) -> None:
    wrong = [
        pair.id
        for pair in read_set(name)
        if (pair.canon.scene is None) != (pair.claim.scene is None)
        or (pair.canon.time is None) != (pair.claim.time is None)
    ]

    assert wrong == []


@pytest.mark.parametrize("label", Label)
def test_both_halves_have_similar_numbers_of_each_label(label: Label) -> None:
    develop, kept = (label_share(pairs_of(half), label) for half in Half)

    assert abs(develop - kept) <= 5
    assert min(develop, kept) >= 15


@pytest.mark.parametrize("half", Half)
def test_at_least_half_of_the_pairs_are_hard(half: Half) -> None:
    assert 2 * sum(pair.hard for pair in pairs_of(half)) >= len(pairs_of(half))


def test_each_kind_has_similar_numbers_and_labels_in_both_halves() -> None:
    develop, kept = (Counter((pair.kind, pair.label) for pair in pairs_of(half)) for half in Half)

    assert {
        key: (develop[key], kept[key])
        for key in develop | kept
        if abs(develop[key] - kept[key]) > 3
    } == {}
    assert {kind for kind, _ in develop} == {kind for kind, _ in kept}


def test_no_statement_occurs_in_both_halves() -> None:
    develop, kept = (
        {" ".join(words_in(side.statement)) for side in sides_of(pairs_of(half))} for half in Half
    )

    assert len(develop & kept) == 0


def test_no_person_occurs_in_both_halves() -> None:
    assert names_in(pairs_of(Half.DEVELOP)) & names_in(pairs_of(Half.KEPT)) == frozenset()


@pytest.mark.parametrize("kind", sorted({pair.kind for pair in english_pairs()}))
def test_no_content_word_of_a_kind_occurs_in_both_halves(kind: str) -> None:
    develop, kept = (
        content_words([pair for pair in pairs_of(half) if pair.kind == kind]) for half in Half
    )

    assert sorted(develop & kept) == []


def test_identical_statements_never_conflict() -> None:
    wrong = [
        pair.id for pair in read_pairs() if pair.canon == pair.claim and pair.label != "compatible"
    ]

    assert wrong == []


def test_other_languages_have_about_thirty_pairs_each() -> None:
    others = Counter(pair.language for pair in read_pairs() if pair.language != ENGLISH)

    assert others == {"de": 30, "es": 30}


@pytest.mark.parametrize(
    "change",
    [
        {"label": "perhaps"},
        {"half": "third"},
        {"hard": "yes"},
        {"lable": "possible"},
        {"claim": {"statement": " "}},
        {"claim": {"statement": "Ana is queen.", "when": "1402"}},
        {"claim": {"statement": "Ana is queen.", "scene": "3"}},
    ],
)
def test_a_line_that_is_no_pair_is_refused(change: dict[str, object]) -> None:
    first = json.loads(FILE.read_text("utf-8").splitlines()[0])

    with pytest.raises(ValueError, match=r"line 1|is not a valid"):
        read_pairs(json.dumps(first | change))
