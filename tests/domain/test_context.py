"""Context: what fits a budget, in what order, and what is told only once."""

from hypothesis import given
from hypothesis import strategies as st

from canonry.canon.session.what_holds import is_promised
from canonry.recall.domain.context import (
    FIELD_TOKENS,
    ID_TOKENS,
    Fitted,
    Section,
    cost_of,
    cut_text,
    fit_sections,
    loose_ends,
    rank_facts,
    rank_relations,
    shares_of,
    ties_of,
    tokens_of,
    without_repeats,
)
from canonry.testing.example_items import a_fact, a_relation, an_event, uuid_of
from canonry.values.ids import EntityId, EventId, FactId
from canonry.values.moments import Instant
from canonry.values.provenance import Authority

costs = st.lists(st.integers(0, 40), max_size=8)
shelves = st.lists(st.tuples(st.integers(1, 4), costs), min_size=1, max_size=4)
FRODO, SAM = EntityId(uuid_of("frodo")), EntityId(uuid_of("sam"))


def fitted(shelf: list[tuple[int, list[int]]], budget: int) -> Fitted:
    sections = [
        Section(name=str(place), weight=weight, items=items, cost=lambda cost: cost)
        for place, (weight, items) in enumerate(shelf)
    ]
    return fit_sections(sections, budget)


@given(shelves, st.integers(0, 200))
def test_never_more_is_used_than_the_budget_allows(
    shelf: list[tuple[int, list[int]]], budget: int
) -> None:
    result = fitted(shelf, budget)
    assert result.used == sum(sum(items) for items in result.kept.values())
    assert result.used <= budget


@given(shelves, st.integers(0, 200))
def test_each_section_keeps_a_prefix_of_its_ranking_and_counts_the_rest(
    shelf: list[tuple[int, list[int]]], budget: int
) -> None:
    result = fitted(shelf, budget)
    for place, (_, items) in enumerate(shelf):
        kept = result.kept[str(place)]
        assert list(kept) == items[: len(kept)]
        assert result.omitted[str(place)] == len(items) - len(kept)


@given(shelves)
def test_a_budget_for_everything_keeps_everything(shelf: list[tuple[int, list[int]]]) -> None:
    result = fitted(shelf, sum(sum(items) for _, items in shelf))
    assert set(result.omitted.values()) <= {0}


def test_what_is_too_large_for_the_rest_ends_its_section_and_no_other() -> None:
    result = fitted([(1, [5, 100, 5]), (1, [5, 5, 5])], 30)
    assert result.kept == {"0": [5], "1": [5, 5, 5]}
    assert result.omitted == {"0": 2, "1": 0}


def test_a_heavier_section_is_filled_faster() -> None:
    result = fitted([(1, [10] * 5), (4, [10] * 5)], 50)
    assert result.kept == {"0": [10], "1": [10] * 4}


def test_what_a_section_does_not_need_goes_to_the_others_by_their_weights() -> None:
    assert shares_of(100, [10, 500, 500], [1, 2, 1]) == [10, 60, 30]
    assert shares_of(100, [10, 20, 30], [1, 1, 1]) == [10, 20, 30]
    assert shares_of(0, [10], [1]) == [0]


def test_a_long_item_is_cut_and_does_not_push_out_those_after_it() -> None:
    texts = ["word " * 1000, "short", "short too"]
    section = Section(name="said", weight=1, items=texts, cost=tokens_of, trim=cut_text)

    kept = fit_sections([section], 100).kept["said"]

    assert kept[0].endswith("\u2026")
    assert kept[1:] == ["short", "short too"]


def test_sheets_that_share_a_section_have_equal_parts_of_it() -> None:
    texts = ["word " * 1000, "short", "word " * 2000]
    section = Section(
        name="sheets", weight=1, items=texts, cost=tokens_of, trim=cut_text, sharing=True
    )

    kept = fit_sections([section], 101).kept["sheets"]

    assert [tokens_of(text) for text in kept] == [50, 1, 50]


def test_texts_cost_their_tokens_and_ids_and_fields_cost_as_well() -> None:
    assert tokens_of("abcd", None, "", "abcd, e") == 4
    assert cost_of("abcd", None, ids=2, fields=3) == 1 + 2 * ID_TOKENS + 3 * FIELD_TOKENS


def test_what_shares_a_key_with_an_earlier_item_is_not_told_again() -> None:
    items = [("a", 1), ("b", 1), ("a", 2), ("c", 3)]
    fresh = without_repeats(items, lambda item: item[0])
    assert fresh == [("a", 1), ("b", 1), ("c", 3)]


def test_a_fact_is_promised_while_it_has_not_begun() -> None:
    fact = a_fact(time_ref=Instant(10))
    assert is_promised(fact, Instant(9))
    assert not is_promised(fact, Instant(10))
    assert not is_promised(fact, None)
    assert not is_promised(a_fact(), Instant(0))


def test_facts_rank_by_participants_then_newness_then_authority() -> None:
    both = a_fact("both", "frodo", "sam", position=1)
    new = a_fact("new", "frodo", position=9)
    old = a_fact("old", "frodo", position=2)
    word = a_fact("word", "frodo", position=2, authority=Authority.SOURCE)
    stranger = a_fact("stranger", "gandalf", position=99)
    ranked = rank_facts((stranger, old, new, word, both), (FRODO, SAM))
    assert ranked == [both, new, word, old, stranger]


def test_equal_facts_rank_by_id() -> None:
    facts = [a_fact("x", id=FactId(i)) for i in ("3", "1", "2")]
    assert [fact.id for fact in rank_facts(facts, ())] == ["1", "2", "3"]


def test_relations_within_the_scene_come_first_and_the_limit_cuts_the_others() -> None:
    out = a_relation("out", "frodo", "gandalf", created_at=Instant(1))
    late = a_relation("late", "frodo", "sam", created_at=Instant(3))
    early = a_relation("early", "sam", "frodo", created_at=Instant(2))
    assert rank_relations((out, late, early), (FRODO, SAM), limit=2) == [early, late]


def test_entities_with_more_ties_come_first_and_those_inside_not_at_all() -> None:
    relations = (
        a_relation("1", "frodo", "merry"),
        a_relation("2", "gandalf", "frodo"),
        a_relation("3", "sam", "gandalf"),
        a_relation("4", "sam", "frodo"),
        a_relation("5", "merry", "pippin"),
    )
    ties = ties_of(relations, (FRODO, SAM))
    assert list(ties.items()) == [(uuid_of("gandalf"), 2), (uuid_of("merry"), 1)]


def test_an_event_without_effects_is_a_loose_end_newest_first() -> None:
    cause = an_event("cause", causes=(EventId(uuid_of("effect")),), position=1)
    effect = an_event("effect", position=2)
    later = an_event("later", position=3)
    assert loose_ends((cause, effect, later)) == [later, effect]
