"""The simple model of what holds keeps its own promises."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from tests.campaign.holds_model import Retraction, Statement, View
from tests.campaign.holds_plots import (
    READERS,
    TABLE,
    VALUES,
    Claim,
    Erase,
    Plot,
    Step,
    draw_plot,
    play_plot,
    read_all,
    shuffle_claims,
)
from tests.campaign.holds_verdicts import erase_statement, judge_claim

SEEDS = range(12)


def is_seen(step: Step, reader: str) -> bool:
    if isinstance(step, Claim):
        return step.statement.audience is None or reader in step.statement.audience
    return isinstance(step, Erase) or step.audience is None or reader in step.audience


def draw_shuffled(seed: int) -> Plot:
    return shuffle_claims(draw_plot(seed), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_reader_reads_a_canon_without_the_secret(seed: int) -> None:
    plot = draw_shuffled(seed)
    whole = play_plot(plot)
    for reader in READERS:
        twin = play_plot(tuple(s for s in plot if is_seen(s, reader)))
        assert {c: o for c, o in whole.outcomes.items() if c in twin.outcomes} == twin.outcomes
        assert read_all(whole.log, frozenset({reader})) == read_all(twin.log, frozenset({reader}))


@pytest.mark.parametrize("seed", SEEDS)
def test_dated_statements_of_equal_rank_read_alike_in_any_order(seed: int) -> None:
    claims = [
        s
        for s in draw_plot(seed)
        if isinstance(s, Claim) and not TABLE[s.statement.attribute].fixed
    ]
    dated = [
        replace(
            c.statement,
            span=(1400 + n, 1400 + n),
            until=None,
            scene="",
            authority=1,
            audience=None,
            author="",
        )
        for n, c in enumerate(claims)
        if c.statement.attribute != "life"
    ]
    plots = [
        tuple(Claim(statement=s) for s in order)
        for order in (dated, shuffle_statements(dated, seed))
    ]
    first, second = (play_plot(plot) for plot in plots)
    assert set(first.outcomes.values()) <= {"accepted"}
    assert read_all(first.log) == read_all(second.log)


def shuffle_statements(statements: list[Statement], seed: int) -> list[Statement]:
    return Random(seed).sample(statements, len(statements))


@pytest.mark.parametrize("seed", SEEDS)
def test_an_undone_retraction_restores_the_earlier_state(seed: int) -> None:
    log = play_plot(draw_shuffled(seed)).log
    before = read_all(log)
    for entry in log:
        if isinstance(entry, Statement):
            gone = (*log, Retraction(id="gone", target=entry.id))
            assert View(TABLE, gone).is_standing(entry.id) is False
            assert read_all((*gone, Retraction(id="back", target="gone"))) == before


@pytest.mark.parametrize("seed", SEEDS)
def test_a_retracted_replacement_restores_the_replaced_item(seed: int) -> None:
    log = play_plot(draw_shuffled(seed)).log
    before = read_all(log)
    for entry in log:
        if isinstance(entry, Statement) and entry.attribute in VALUES and entry.audience is None:
            others = [
                v for v in VALUES[entry.attribute][1] if v not in (entry.value, entry.subject)
            ]
            reply = replace(entry, id="new", value=others[0], authority=9, positive=True)
            verdict = judge_claim(TABLE, log, reply, replaces=entry.id)
            if verdict.outcome == "accepted":
                assert read_all((*verdict.log, Retraction(id="gone", target="new"))) == before


@pytest.mark.parametrize("seed", SEEDS)
def test_an_erasure_brings_no_old_value_back(seed: int) -> None:
    log = play_plot(draw_shuffled(seed)).log
    before = read_all(log)
    for entry in log:
        if (
            isinstance(entry, Statement)
            and entry.attribute != "place"
            and View(TABLE, log).is_standing(entry.id)
        ):
            after = read_all(erase_statement(TABLE, log, "erased", entry.id))
            brought = {
                key: a.values - before[key].values for key, a in after.items() if key[1] != "place"
            }
            assert not {key: values for key, values in brought.items() if values}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_single_attribute_has_one_value_per_moment_and_reader(seed: int) -> None:
    log = play_plot(draw_shuffled(seed)).log
    for reader in (*READERS, ""):
        answers = read_all(log, frozenset({reader}) if reader else frozenset())
        crowded = {
            k: a.values for k, a in answers.items() if len(a.values) > 1 and not TABLE[k[1]].many
        }
        assert not crowded


def test_a_secret_move_leaves_one_location_for_readers_of_both() -> None:
    jar = Statement(
        id="a",
        subject="Ring",
        attribute="place",
        value="Jar",
        audience=frozenset({"anne", "sally"}),
    )
    well = Statement(
        id="b",
        subject="Ring",
        attribute="place",
        value="Well",
        audience=frozenset({"cole", "sally"}),
    )
    log = (jar, well)
    read = {
        r: View(TABLE, log, viewer=frozenset({r})).answer_about("Ring", "place").values
        for r in READERS
    }
    assert read == {"anne": {"Jar"}, "sally": {"Well"}, "cole": {"Well"}}


def test_a_late_value_ends_at_the_next_and_returns_after_its_retraction() -> None:
    bo = Statement(id="bo", subject="Petrel", attribute="captain", value="Bo", span=(1414, 1414))
    ana = Statement(id="ana", subject="Petrel", attribute="captain", value="Ana", span=(1409, 1409))
    log = judge_claim(TABLE, judge_claim(TABLE, (), bo).log, ana).log
    reported, gone = View(TABLE, log), View(TABLE, (*log, Retraction(id="r", target="bo")))
    assert [reported.answer_about("Petrel", "captain", at).values for at in (1408, 1410, 1415)] == [
        set(),
        {"Ana"},
        {"Bo"},
    ]
    assert reported.answer_about("Petrel", "captain", 1408).first == ("Ana", 1409)
    assert gone.answer_about("Petrel", "captain", 1415).values == {"Ana"}


def test_a_dropped_item_stays_where_its_carrier_was() -> None:
    log = (
        Statement(id="a", subject="Cy", attribute="place", value="Hall", span=(1400, 1400)),
        Statement(id="b", subject="Key", attribute="place", value="@Cy", span=(1401, 1401)),
        Statement(
            id="c", subject="Key", attribute="place", value="@Cy", positive=False, span=(1402, 1402)
        ),
        Statement(id="d", subject="Cy", attribute="place", value="Ford", span=(1403, 1403)),
    )
    assert View(TABLE, log).answer_about("Key", "place", 1404).values == {"Hall"}
