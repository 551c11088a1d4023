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
section_lists = st.lists(st.tuples(st.integers(1, 4), costs), min_size=1, max_size=4)
FRODO, SAM = EntityId(uuid_of("frodo")), EntityId(uuid_of("sam"))


def fit_context(drawn: list[tuple[int, list[int]]], budget: int) -> Fitted:
    sections = [
        Section(name=str(place), weight=weight, items=items, cost=lambda cost: cost)
        for place, (weight, items) in enumerate(drawn)
    ]
    return fit_sections(sections, budget)


@given(section_lists, st.integers(0, 200))
def test_the_budget_is_never_exceeded(drawn: list[tuple[int, list[int]]], budget: int) -> None:
    result = fit_context(drawn, budget)
    assert result.used == sum(sum(items) for items in result.kept.values())
    assert result.used <= budget


@given(section_lists, st.integers(0, 200))
def test_each_section_keeps_its_best_items_and_counts_the_rest(
    drawn: list[tuple[int, list[int]]], budget: int
) -> None:
    result = fit_context(drawn, budget)
    for place, (_, items) in enumerate(drawn):
        kept = result.kept[str(place)]
        assert list(kept) == items[: len(kept)]
        assert result.omitted[str(place)] == len(items) - len(kept)


@given(section_lists)
def test_a_sufficient_budget_keeps_everything(drawn: list[tuple[int, list[int]]]) -> None:
    result = fit_context(drawn, sum(sum(items) for _, items in drawn))
    assert set(result.omitted.values()) <= {0}


def test_an_oversized_item_ends_its_section_and_no_other() -> None:
    result = fit_context([(1, [5, 100, 5]), (1, [5, 5, 5])], 30)
    assert result.kept == {"0": [5], "1": [5, 5, 5]}
    assert result.omitted == {"0": 2, "1": 0}


def test_a_heavier_section_is_filled_faster() -> None:
    result = fit_context([(1, [10] * 5), (4, [10] * 5)], 50)
    assert result.kept == {"0": [10], "1": [10] * 4}


def test_unused_budget_goes_to_other_sections_by_weight() -> None:
    assert shares_of(100, [10, 500, 500], [1, 2, 1]) == [10, 60, 30]
    assert shares_of(100, [10, 20, 30], [1, 1, 1]) == [10, 20, 30]
    assert shares_of(0, [10], [1]) == [0]


def test_a_long_item_is_cut_and_does_not_displace_later_ones() -> None:
    texts = ["word " * 1000, "short", "short too"]
    section = Section(name="said", weight=1, items=texts, cost=tokens_of, trim=cut_text)

    kept = fit_sections([section], 100).kept["said"]

    assert kept[0].endswith("\u2026")
    assert kept[1:] == ["short", "short too"]


def test_entity_summaries_in_one_section_share_it_equally() -> None:
    texts = ["word " * 1000, "short", "word " * 2000]
    section = Section(
        name="sheets", weight=1, items=texts, cost=tokens_of, trim=cut_text, sharing=True
    )

    kept = fit_sections([section], 101).kept["sheets"]

    assert [tokens_of(text) for text in kept] == [50, 1, 50]


def test_texts_ids_and_fields_all_cost_tokens() -> None:
    assert tokens_of("abcd", None, "", "abcd, e") == 4
    assert cost_of("abcd", None, ids=2, fields=3) == 1 + 2 * ID_TOKENS + 3 * FIELD_TOKENS


def test_an_item_with_the_key_of_an_earlier_one_is_not_repeated() -> None:
    items = [("a", 1), ("b", 1), ("a", 2), ("c", 3)]
    fresh = without_repeats(items, lambda item: item[0])
    assert fresh == [("a", 1), ("b", 1), ("c", 3)]


def test_a_fact_is_upcoming_until_it_begins() -> None:
    fact = a_fact(time_ref=Instant(10))
    assert is_promised(fact, Instant(9))
    assert not is_promised(fact, Instant(10))
    assert not is_promised(fact, None)
    assert not is_promised(a_fact(), Instant(0))


def test_facts_rank_by_participants_then_recency_then_authority() -> None:
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


def test_relations_within_the_scene_come_first_before_the_limit() -> None:
    out = a_relation("out", "frodo", "gandalf", created_at=Instant(1))
    late = a_relation("late", "frodo", "sam", created_at=Instant(3))
    early = a_relation("early", "sam", "frodo", created_at=Instant(2))
    assert rank_relations((out, late, early), (FRODO, SAM), limit=2) == [early, late]


def test_entities_with_more_ties_come_first_and_participants_not_at_all() -> None:
    relations = (
        a_relation("1", "frodo", "merry"),
        a_relation("2", "gandalf", "frodo"),
        a_relation("3", "sam", "gandalf"),
        a_relation("4", "sam", "frodo"),
        a_relation("5", "merry", "pippin"),
    )
    ties = ties_of(relations, (FRODO, SAM))
    assert list(ties.items()) == [(uuid_of("gandalf"), 2), (uuid_of("merry"), 1)]


def test_an_event_without_effects_is_an_open_thread_newest_first() -> None:
    cause = an_event("cause", causes=(EventId(uuid_of("effect")),), position=1)
    effect = an_event("effect", position=2)
    later = an_event("later", position=3)
    assert loose_ends((cause, effect, later)) == [later, effect]
