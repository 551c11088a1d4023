"""The measurement of graders reports correct figures for graders whose grades are known."""

import re
from collections.abc import Sequence
from functools import cache

import pytest

from bench.contradictions.__main__ import main
from bench.contradictions.measures import confusion, figures_of, measure
from bench.contradictions.pairs import SETS, Half, Label, Pair, Side, read_pairs, read_set
from bench.contradictions.report import report

CONTRADICTION, POSSIBLE, COMPATIBLE = Label


def grade_nothing(standing: Side, claim: Side) -> str | None:
    """Finds nothing."""
    return None


def exact_negation(standing: Side, claim: Side) -> str | None:
    """Finds only what is the same up to one "not", case and the full stop."""
    one, other = (re.findall(r"\w+", side.statement.casefold()) for side in (standing, claim))
    denied = [word for word in other if word != "not"]
    return "contradiction" if one == denied and one != other else None


def grade_everything(standing: Side, claim: Side) -> str | None:
    """Asks at everything."""
    return "possible"


def judge_pairs(standing: Side, claim: Side) -> str | None:
    """Knows the labels."""
    label = read_labels()[repr((standing, claim))]
    return None if label is COMPATIBLE else label


@cache
def write_pairs() -> Sequence[Pair]:
    return read_pairs()


@cache
def read_labels() -> dict[str, Label]:
    """The label of each pair of every set, by its sides."""
    pairs = [pair for name in SETS for pair in read_set(name)]
    return {repr((pair.canon, pair.claim)): pair.label for pair in pairs}


def make_pair(
    label: Label, canon: str, claim: str, *, half: Half = Half.KEPT, language: str = "en"
) -> Pair:
    return Pair(
        id=f"{half[0]}-{language}-{canon[:3]}-{label[:3]}",
        half=half,
        kind="negation",
        label=label,
        hard=False,
        canon=Side(statement=canon),
        claim=Side(statement=claim),
        language=language,
    )


def four_pairs() -> Sequence[Pair]:
    return [
        make_pair(CONTRADICTION, "Ida is queen.", "Ida is not queen"),
        make_pair(CONTRADICTION, "Udo is mayor.", "Udo was never mayor."),
        make_pair(POSSIBLE, "Eva is kind.", "Eva is not kind."),
        make_pair(COMPATIBLE, "Rex barks.", "Rex bites."),
    ]


def test_no_findings_mean_no_precision_and_zero_recall() -> None:
    figures = figures_of(measure(four_pairs(), grade_nothing).of(Half.KEPT))

    assert (figures.precision, figures.both_precision) == (None, None)
    assert (figures.recall, figures.both_recall) == (0.0, 0.0)


def test_contradictions_and_both_grades_are_measured_separately() -> None:
    figures = figures_of(measure(four_pairs(), exact_negation).of(Half.KEPT))

    assert (figures.pairs, figures.precision, figures.recall) == (4, 0.5, 0.5)
    assert (figures.both_precision, figures.both_recall) == (1.0, 2 / 3)


def test_a_questioned_contradiction_counts_as_found() -> None:
    figures = figures_of(measure(four_pairs(), grade_everything).of(Half.KEPT))

    assert (figures.precision, figures.recall) == (None, 0.0)
    assert (figures.both_precision, figures.both_recall) == (0.75, 1.0)


def test_questioning_everything_leaves_nothing_alone() -> None:
    figures = figures_of(measure(four_pairs(), grade_everything).of(Half.KEPT))

    assert (figures.possible_precision, figures.possible_recall) == (0.25, 1.0)
    assert figures.specificity == 0.0


def test_finding_nothing_leaves_everything_alone() -> None:
    figures = figures_of(measure(four_pairs(), grade_nothing).of(Half.KEPT))

    assert (figures.possible_precision, figures.possible_recall) == (None, 0.0)
    assert figures.specificity == 1.0


def test_the_confusion_of_a_kind_counts_each_label_with_its_grade() -> None:
    counts = confusion(measure(four_pairs(), exact_negation).of(Half.KEPT))

    assert counts == {
        "negation": {
            (CONTRADICTION, CONTRADICTION): 1,
            (CONTRADICTION, COMPATIBLE): 1,
            (POSSIBLE, CONTRADICTION): 1,
            (COMPATIBLE, COMPATIBLE): 1,
        }
    }


def test_other_languages_count_in_neither_half() -> None:
    german = make_pair(CONTRADICTION, "Ida ist da.", "Ida ist nicht da.", language="de")
    measured = measure([*four_pairs(), german], grade_nothing)

    assert len(measured.of(Half.KEPT)) == 4
    assert {name: len(found) for name, found in measured.other_languages.items()} == {
        ("de", Half.KEPT): 1
    }


def test_an_unknown_grade_is_refused() -> None:
    with pytest.raises(ValueError, match="certain"):
        measure(four_pairs(), lambda standing, claim: "certain")


def test_the_aim_needs_the_kept_half_and_findings() -> None:
    pairs = write_pairs()

    assert measure(pairs, judge_pairs).kept
    assert not measure(pairs, grade_nothing).kept
    assert not measure(pairs, grade_everything).kept
    assert not measure(four_pairs(), exact_negation).kept


def test_the_word_denial_baseline_finds_only_simple_pairs() -> None:
    measured = measure(write_pairs(), exact_negation)

    for half in Half:
        figures = figures_of(measured.of(half))
        assert figures.recall is not None
        assert 0 < figures.recall < 0.5


def test_wrong_results_are_listed_by_id_without_statements() -> None:
    pairs = write_pairs()

    result = report(measure(pairs, grade_nothing))

    missed = {pair.id for pair in pairs if pair.label is not COMPATIBLE}
    assert set(re.findall(r"(\S+)>compatible", result)) == missed
    assert [pair.id for pair in pairs if pair.canon.statement in result] == []
    assert [pair.id for pair in pairs if pair.claim.statement in result] == []


def test_a_report_shows_figures_and_confusion_of_each_half() -> None:
    measured = measure(
        [*four_pairs(), make_pair(COMPATIBLE, "A", "B", half=Half.DEVELOP)], exact_negation
    )

    lines = [" ".join(line.split()) for line in report(measured).splitlines()]

    assert "kept 4 0.500 0.500 - 0.000 1.000 0.667 1.000" in lines
    assert "develop 1 - - - - - - 1.000" in lines
    assert "negation 1 . 1 1 . . . . 1" in lines
    assert "k-en-Udo-con>compatible k-en-Eva-pos>contradiction" in lines


def test_the_command_measures_the_function_that_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    missed = main(["tests.bench.test_contradiction_measures:grade_nothing"])
    reached = main(["tests.bench.test_contradiction_measures:judge_pairs"])

    assert (missed, reached) == (1, 0)
    reported = capsys.readouterr().out
    assert "kept, hard" in reported
    assert [line.split()[0] for line in reported.splitlines() if "left alone" in line] == 2 * [
        *SETS
    ]


def test_the_command_requires_a_module_and_a_function(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["grade"])

    assert "some.module:grade" in capsys.readouterr().err
