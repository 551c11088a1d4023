"""Statements, the table of attributes, and the comparison of two statements."""

import json
from typing import Any

import pytest

from canonry.canon.judging.conflicts import Order, find_clash
from canonry.language.reading.reading import read_statements
from canonry.log.items.proposals import Grade
from canonry.log.schemas.narrative import RELATION_TYPES
from canonry.values.attributes.table import (
    attribute_of_relation,
    attribute_of_word,
    builtin_attributes,
    exclusive_words,
    find_attribute,
    with_attributes,
)
from canonry.values.errors import InvalidInput
from canonry.values.statements import Modality, Phase, Quantity, Statement, timeline_key


@pytest.mark.parametrize("name", sorted(RELATION_TYPES))
def test_attributes_follow_the_logic_of_their_relation_type(name: str) -> None:
    relation = RELATION_TYPES[name]
    entry, inverse = attribute_of_relation(name)
    assert entry.symmetric == relation.symmetric
    if relation.one_target or relation.one_origin:
        assert (entry.cardinality, inverse) == (1, relation.one_origin)
    excluded = {attribute_of_relation(each)[0].name for each in relation.excludes}
    assert excluded == set(entry.excludes)


@pytest.mark.parametrize("group", exclusive_words(builtin_attributes()))
def test_exclusive_tags_are_exclusive_values_of_an_attribute(group: tuple[str, ...]) -> None:
    found = [attribute_of_word(tag) for tag in group]
    values = {tag: each for tag, each in zip(group, found, strict=True) if each}
    assert set(values) == set(group)
    for one, (entry, value) in values.items():
        for other, (another, conflicting) in values.items():
            if one != other:  # the group can have a word of another attribute, as `locked`
                assert conflicting in entry.conflicting_words(value) or (
                    value in another.conflicting_words(conflicting)
                )


def test_an_operator_adds_an_attribute() -> None:
    table = with_attributes(
        {"mood": {"kind": "word", "at_most": 1, "exclusive": [["elated", "gloomy"]]}}
    )
    found = table.attribute_of_word("Gloomy")
    assert found is not None
    assert found[0].name == "mood"
    assert found[0].conflicting_words("gloomy") == {"elated"}
    assert table.find_attribute("life").cardinality == 1


@pytest.mark.parametrize(
    "form",
    [
        {"at_most": 1},
        {"kind": "feeling"},
        {"kind": "word", "at_most": "one"},
        {"kind": "word", "at_most": True},
        {"kind": "word", "fixed": "yes"},
        {"kind": "word", "exclusive": ["elated", "gloomy"]},
        {"kind": "word", "words": ["elated"]},
        {"kind": "word", "words": {"elated": 1}},
        {"kind": "entity", "relations": "FRIEND_OF"},
        {"kind": "word", "colour": "red"},
        {"kind": "word", "exclusive": [["elated", 1]]},
        {"kind": "word", "at_most": 0},
        {"kind": "word", "cardinality": 1},
        "word",
    ],
)
def test_a_malformed_attribute_is_refused(form: object) -> None:
    with pytest.raises(InvalidInput, match="mood") as refused:
        with_attributes({"mood": form})
    assert refused.value.code == "attribute.malformed"


@pytest.mark.parametrize(
    ("part", "form"),
    [
        ("families", "role"),
        ("families", []),
        ("opposites", "shiny | dull"),
        ("opposites", {"soft": ["shiny", "dull"]}),
        ("opposites", {"hard": "shiny | dull", "soft": ""}),
        ("opposites", {"soft": "shiny"}),
        ("opposites", {"soft": "shiny |"}),
    ],
)
def test_malformed_families_and_opposites_are_refused(part: str, form: object) -> None:
    with pytest.raises(InvalidInput, match=part) as refused:
        with_attributes({part: form})
    assert refused.value.code == "attribute.malformed"


def test_opposites_may_be_defined_separately() -> None:
    table = with_attributes({"opposites": {"soft": "\nshiny | dull\n\nrough | smooth"}})

    assert {"quality:shiny", "quality:rough"} < table.attributes.keys()


def test_regions_are_listed_or_borrowed_from_another_attribute() -> None:
    own: dict[str, Any] = {
        "lair": {"kind": "entity", "regions": "home"},
        "den": {"kind": "entity", "regions": "life"},
        "nest": {"kind": "entity", "regions": ["~wood"]},
    }
    table = with_attributes(own)

    assert table.find_attribute("lair").regions == find_attribute("home").regions
    assert table.find_attribute("nest").regions == {"~wood"}
    assert own["lair"]["regions"] == "home"


def test_a_word_with_several_spellings_has_one_value() -> None:
    found = attribute_of_word("burnt_down")
    assert found is not None
    assert (found[0].name, found[1]) == ("condition", "destroyed")


def test_an_unknown_attribute_takes_any_number_of_values() -> None:
    assert find_attribute("does:sing").cardinality is None
    assert find_attribute("role:captain").cardinality == 1
    assert attribute_of_relation("TEACHES")[0].name == "relation:TEACHES"


@pytest.mark.parametrize(
    "statement",
    [
        Statement(subject="e1", attribute="life", value="dead"),
        Statement(
            subject="~tower",
            attribute="measure:height",
            value=Quantity(low=20.0, high=20.0, dimension="length", step=1.0),
            holds=False,
            phase=Phase.WAS,
        ),
        Statement(
            subject="e1",
            attribute="membership",
            phase=Phase.ENDS,
            modality=Modality.PLANNED,
            quantifier="all",
            qualifiers=frozenset({"night"}),
            when="1402",
            implied=True,
        ),
    ],
)
def test_a_statement_survives_json(statement: Statement) -> None:
    assert Statement.from_json(json.loads(json.dumps(statement.to_json()))) == statement


def test_an_open_quantity_survives_json() -> None:
    least = Quantity(low=3.0, high=float("inf"), about=True)
    assert Quantity.from_json(json.loads(json.dumps(least.to_json()))) == least


def test_keys_contain_timeline_and_value() -> None:
    statement = Statement(subject="e1", attribute="owner", value="e2")
    assert timeline_key("e1", "owner") in statement.index_keys
    assert statement.value_key == "value:owner:e2"
    assert Statement(subject="e1", attribute="age", value=Quantity(low=3, high=3)).value_key is None


def fact_of(
    attribute: str, value: str | Quantity | None, subject: str = "ana", **more: object
) -> Statement:
    return Statement.from_json(
        {
            "subject": subject,
            "attribute": attribute,
            "value": value.to_json() if isinstance(value, Quantity) else value,
            **more,
        }
    )


def exactly(number: float, step: float = 0.0, **more: object) -> Quantity:
    return Quantity.from_json({"low": number, "high": number, "step": step, **more})


CONTRADICTIONS = [
    (fact_of("life", "alive"), fact_of("life", "dead")),
    (fact_of("mother", "eve"), fact_of("mother", "ida")),
    (fact_of("membership", "band"), fact_of("membership", "band", holds=False)),
    (fact_of("ally", "bo"), fact_of("enemy", "ana", subject="bo")),
    (fact_of("spouse", "bo"), fact_of("spouse", "cy", subject="bo")),
    (fact_of("measure:height", exactly(1.8)), fact_of("measure:height", exactly(1.7))),
    (fact_of("count:dog", exactly(0)), fact_of("count:dog", Quantity(low=1, high=float("inf")))),
    (fact_of("does:eat", "~fish", holds=False), fact_of("does:eat", "~fish raw")),
    (fact_of("can:open", "~vault", quantifier="sole"), fact_of("can:open", "~vault", subject="bo")),
    (fact_of("does:know", "~way", quantifier="only"), fact_of("does:know", "~song")),
    (fact_of("does:come", None, modality="planned"),
     fact_of("does:come", None, modality="planned", holds=False)),
    (fact_of("parent", "bo"), fact_of("parent", "ana", subject="bo")),
]  # fmt: skip


@pytest.mark.parametrize(("held", "claim"), CONTRADICTIONS)
def test_statements_that_exclude_each_other_contradict(held: Statement, claim: Statement) -> None:
    for one, other in ((held, claim), (claim, held)):
        found = find_clash(one, other)
        assert found is not None
        assert found.grade is Grade.CONTRADICTION
        assert not found.ends_earlier


COMPATIBLE = [
    (fact_of("life", "alive"), fact_of("life", "dead", subject="bo")),
    (fact_of("life", "dead"), fact_of("life", "dead")),
    (fact_of("life", "dead"), fact_of("life", "alive", modality="reported")),
    (fact_of("does:spy", None, modality="possible"),
     fact_of("does:spy", None, modality="possible", holds=False)),
    (fact_of("friend", "bo"), fact_of("friend", "cy")),
    (fact_of("does:eat", "~fish raw", holds=False), fact_of("does:eat", "~fish")),
    (fact_of("presence", "present", qualifiers=["night"]), fact_of("presence", "absent")),
    (fact_of("location", "hall", phase="was"), fact_of("location", "ford")),
    (fact_of("measure:height", exactly(1.8)), fact_of("measure:height", exactly(1.8, step=0.01))),
    (fact_of("count:dog", exactly(2)), fact_of("count:dog", Quantity(low=1, high=float("inf")))),
    (fact_of("measure:depth", exactly(9.144, 0.3048)), fact_of("measure:depth", exactly(9, 1))),
    (fact_of("event:fire", "~", when="1402", holds=False), fact_of("does:burn", None, when="1402")),
]  # fmt: skip


@pytest.mark.parametrize(("held", "claim"), COMPATIBLE)
def test_compatible_statements_do_not_conflict(held: Statement, claim: Statement) -> None:
    assert find_clash(held, claim) is None
    assert find_clash(claim, held) is None


@pytest.mark.parametrize(
    ("held", "claim"),
    [
        (fact_of("location", "hall"), fact_of("location", "ford")),
        (fact_of("hair_colour", "red"), fact_of("hair_colour", "black")),
        (fact_of("quality:rich", "rich"), fact_of("quality:rich", "poor")),
        (
            fact_of("count:wolf", exactly(40, about=True)),
            fact_of("count:wolf", exactly(60)),
        ),
    ],
)
def test_gradual_values_are_a_possible_conflict(held: Statement, claim: Statement) -> None:
    found = find_clash(held, claim)
    assert found is not None
    assert found.grade is Grade.POSSIBLE


def test_a_word_of_change_ends_the_earlier_value() -> None:
    left = fact_of("membership", "band", phase="ends")
    found = find_clash(fact_of("membership", "band"), left)
    assert found is not None
    assert found.ends_earlier


def test_a_later_value_ends_the_earlier_one() -> None:
    found = find_clash(fact_of("location", "hall"), fact_of("location", "ford"), order=Order.LATER)
    assert found is not None
    assert found.ends_earlier


def test_values_at_different_times_conflict_only_if_fixed() -> None:
    held, claim = fact_of("location", "hall"), fact_of("location", "ford")
    assert find_clash(held, claim, order=Order.EARLIER) is None
    born = fact_of("mother", "eve"), fact_of("mother", "ida")
    assert find_clash(*born, order=Order.EARLIER) is not None


def test_the_reason_names_the_entities() -> None:
    names = {"ana": "Ana", "eve": "Eve", "ida": "Ida"}
    found = find_clash(
        fact_of("mother", "eve"), fact_of("mother", "ida"), name_of=names.__getitem__
    )
    assert found is not None
    assert found.reason == "Both give a value for mother of Ana: Eve and Ida."


NAMES = {"Ana": "ana-1", "Bo": "bo-1", "Hall": "hall-1", "Red Band": "band-1", "May": "may-1"}


@pytest.mark.parametrize(
    ("denied", "stands"),
    [
        ("Bo did not kill Ana", "Ana is dead"),
        ("Bo did not arrest Ana", "Ana is in prison"),
        ("Ana did not move to Graz", "Ana lives in Graz"),
        ("Ana did not marry Bo", "Ana is married to Bo"),
        ("Ana did not open the Hall", "The Hall is open"),
        ("Ana did not buy the Hall", "Ana owns the Hall"),
    ],
)
def test_a_denied_change_does_not_state_its_result(denied: str, stands: str) -> None:
    held, said = read_statements(stands, NAMES), read_statements(denied, NAMES)

    assert held
    assert [
        find_clash(one, other) for one in held for other in said if find_clash(one, other)
    ] == []


@pytest.mark.parametrize(
    "text",
    [
        "Ana died",
        "Ana was killed by Bo",
        "Bo killed Ana",
        "Ana has drowned",
        "Ana was murdered",
        "Bo executed Ana",
    ],
)
def test_a_death_is_read_in_any_words(text: str) -> None:
    states = {
        (one.subject, one.attribute, one.value, one.holds_then) for one in parse_statements(text)
    }

    assert ("ana-1", "life", "dead", True) in states


@pytest.mark.parametrize(
    "text",
    [
        "Bo dreams that Ana is dead",
        "Ana is believed dead",
        "Ana is dead tired",
        "Ana is nearly dead",
        "Ana plays dead",
        "If the bridge falls, Ana is dead",
        "Rumour has it that Ana is dead",
        "Ana's father is dead",
        "Ana will kill Bo",
        "Bo tried to kill Ana",
        "Is Ana dead?",
    ],
)
def test_phrases_that_only_sound_like_a_death_are_none(text: str) -> None:
    deaths = [
        one
        for one in parse_statements(text)
        if one.attribute == "life" and one.holds_then and "~" not in one.subject
    ]

    assert deaths == []


def test_a_known_name_is_a_name_even_if_it_looks_like_a_word() -> None:
    [berlin], [munich] = (
        parse_statements("May lives in Berlin"),
        parse_statements("May lives in Munich"),
    )

    assert (berlin.subject, berlin.attribute) == ("may-1", "home")
    clash = find_clash(berlin, munich, order=Order.LATER)
    assert clash is not None
    assert clash.ends_earlier


def test_a_word_of_change_ends_a_value() -> None:
    member, *_ = parse_statements("Ana is a member of the Red Band")
    [left] = parse_statements("Ana is no longer a member of the Red Band")

    clash = find_clash(member, left)

    assert clash is not None
    assert clash.ends_earlier


def parse_statements(text: str) -> tuple[Statement, ...]:
    return read_statements(text, NAMES)
