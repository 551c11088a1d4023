"""The corpus of letters: named once each, of eight languages, half of it kept apart by a rule."""

from collections import Counter

from bench.documents.letters import cases, is_kept


def test_every_case_has_a_unique_name_and_a_true_value() -> None:
    names = Counter(case.name for case in cases())

    assert len(names) >= 90
    assert set(names.values()) == {1}
    assert all(case.data and case.truth for case in cases())


def test_every_document_kind_exists_in_eight_languages_and_both_halves() -> None:
    kinds = {case.name[3:] for case in cases() if case.name.startswith("en-")}
    laid_out = {kind for kind in kinds if sum(c.name[3:] == kind for c in cases()) == 8}
    halves = Counter(case.kept for case in cases())

    assert {"mail", "minutes", "note", "contract-lease", "letter-agency"} <= laid_out
    assert min(halves.values()) > len(list(cases())) // 3
    assert all(case.kept == is_kept(case.name) for case in cases())


def test_a_case_is_the_same_whenever_it_is_rendered() -> None:
    assert [case.data for case in cases()] == [case.data for case in cases()]
