"""The papers of ten countries: twelve of each, named once, half of them kept apart."""

from collections import Counter

from bench.documents.papers import cases

COUNTRIES = {"de", "fr", "es", "it", "nl", "pl", "pt", "se", "us", "gb"}


def test_each_country_has_twelve_papers_in_two_halves() -> None:
    every = list(cases())
    halves = Counter(case.kept for case in every)

    assert Counter(case.name[:2] for case in every) == dict.fromkeys(COUNTRIES, 12)
    assert len({case.name for case in every}) == len(every) == 120
    assert min(halves.values()) >= 50


def test_expected_values_of_a_paper_are_written_in_it() -> None:
    for case in cases():
        text = case.data.decode()
        assert case.truth
        for each in case.truth:
            numbers = [v for n, v in each.items() if n.endswith("_number")]
            assert all(number in text for number in numbers), case.name


def test_a_paper_is_the_same_whenever_it_is_rendered() -> None:
    assert [case.data for case in cases()] == [case.data for case in cases()]
