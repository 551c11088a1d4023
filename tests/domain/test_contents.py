"""Contents: every spelling in use becomes one form, and what cannot be read says where."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.domain.errors import InvalidInput
from canonry.domain.judging.contents import (
    EventContent,
    StateChangeContent,
    normalise,
    read_content,
    references_of,
)
from canonry.domain.policy import TextLimits
from canonry.domain.things.proposals import ProposalType

ONE = "11111111-1111-4111-8111-111111111111"
TWO = "22222222-2222-4222-8222-222222222222"


@pytest.mark.parametrize(
    "content",
    [
        {"entity_id": ONE, "tag": "dead", "action": "add"},
        {"entity_id": ONE, "state_tag": "dead", "value": True},
        {"entity_id": ONE, "changes": {"add": ["dead"]}},
        {"entity_id": ONE, "add": ["dead", "dead"], "remove": []},
        {"entity": ONE, "add_tags": ["dead"]},
        {"target": ONE.upper(), "state_tag_changes": {"add": [" dead "], "remove": None}},
    ],
)
def test_every_spelling_of_a_state_change_means_the_same(content: dict[str, Any]) -> None:
    assert normalise(ProposalType.STATE_CHANGE, content) == {
        "entity_id": ONE,
        "state_tag_changes": {"add": ["dead"], "remove": []},
    }


@pytest.mark.parametrize("action", ["remove", "unset", False])
def test_a_tag_may_cease(action: object) -> None:
    content = {"entity_id": ONE, "tag": "dead", "action": action}

    change = read_content(ProposalType.STATE_CHANGE, content)

    assert isinstance(change, StateChangeContent)
    assert (change.add, change.remove) == ((), ("dead",))


@pytest.mark.parametrize(
    "content",
    [
        {"from": ONE, "to": TWO, "rel_type": "ALLY_OF"},
        {"from_entity": ONE, "to_entity": TWO, "type": "ally of"},
        {"from_id": ONE, "to_id": TWO, "relationship_type": "Allied-With"},
    ],
)
def test_every_spelling_of_a_relationship_means_the_same(content: dict[str, Any]) -> None:
    assert normalise(ProposalType.RELATIONSHIP, content) == {
        "from_entity_id": ONE,
        "to_entity_id": TWO,
        "rel_type": "ALLY_OF",
        "properties": {},
    }


@pytest.mark.parametrize("name", ["involved_entity_ids", "entity_ids"])
def test_every_spelling_of_a_fact_means_the_same(name: str) -> None:
    form = normalise(ProposalType.FACT, {"statement": "x", name: [ONE, ONE], "colour": "red"})

    assert form["involved_entity_ids"] == [ONE]
    assert "colour" not in form


def test_actors_are_involved_and_times_are_shown_in_utc() -> None:
    content = {"title": "x", "actor_id": ONE, "start_time": "2025-01-01T01:00:00+01:00"}

    event = read_content(ProposalType.EVENT, content)

    assert isinstance(event, EventContent)
    assert event.involved == event.actors == (ONE,)
    assert normalise(ProposalType.EVENT, content)["time_ref"] == "2025-01-01T00:00:00Z"


def test_a_reference_names_an_entity_a_proposal_or_a_declared_name() -> None:
    content = {"statement": "x", "entity_ids": [ONE, f"proposal:{TWO.upper()}", "$hero"]}

    fact = read_content(ProposalType.FACT, content)

    assert references_of(fact) == (ONE, f"proposal:{TWO}", "$hero")


@pytest.mark.parametrize(("given_name", "kept"), [("hero", "$hero"), ("$hero", "$hero")])
def test_an_entity_declares_the_name_that_others_use(given_name: str, kept: str) -> None:
    content = {"name": "Frodo", "type": "character", "class": "EntityConcreta", "ref": given_name}

    form = normalise(ProposalType.ENTITY, content)

    assert (form["ref"], form["entity_class"]) == (kept, "EntityInstance")


@pytest.mark.parametrize(
    ("kind", "content", "code", "path"),
    [
        ("fact", {}, "content.missing", "/content/statement"),
        ("fact", {"statement": " "}, "text.empty", "/content/statement"),
        ("fact", {"statement": 1}, "content.wrong-type", "/content/statement"),
        ("fact", {"statement": "x" * 1001}, "text.too-long", "/content/statement"),
        ("fact", {"statement": "x", "entity_ids": ["Frodo"]}, "content.reference-malformed",
         "/content/entity_ids/0"),
        ("fact", {"statement": "x", "entity_ids": ONE}, "content.wrong-type",
         "/content/entity_ids"),
        ("fact", {"statement": "x", "entity_ids": [ONE] * 201}, "list.too-long",
         "/content/entity_ids"),
        ("fact", {"statement": "x", "entity_ids": [ONE], "involved_entity_ids": [TWO]},
         "content.repeats", "/content/entity_ids"),
        ("fact", {"statement": "x", "time_ref": "yesterday"}, "time.malformed",
         "/content/time_ref"),
        ("fact", {"statement": "x", "duration": -1}, "content.out-of-range", "/content/duration"),
        ("fact", {"statement": "x", "fact_type": "rumour"}, "content.unknown-word",
         "/content/fact_type"),
        ("event", {"title": "x", "severity": 11}, "content.out-of-range", "/content/severity"),
        ("event", {"title": "x", "severity": True}, "content.out-of-range", "/content/severity"),
        ("entity", {"name": "x"}, "content.missing", "/content/entity_type"),
        ("entity", {"name": "x", "entity_type": "ghost"}, "content.unknown-word",
         "/content/entity_type"),
        ("entity", {"name": "x", "type": "concept", "class": "EntityArchetype", "tags": ["a"]},
         "entity.archetype-has-no-state", "/content/state_tags"),
        ("relationship", {"from": ONE, "to": TWO}, "content.missing", "/content/rel_type"),
        ("relationship", {"from": ONE, "to": ONE, "type": "KNOWS"}, "relation.reflexive",
         "/content/to_entity_id"),
        ("relationship", {"from": ONE, "to": TWO, "type": "?"}, "relation.type-malformed",
         "/content/type"),
        ("state_change", {"entity_id": ONE}, "state.empty", "/content"),
        ("state_change", {"entity_id": ONE, "add": ["a"], "remove": ["a"]},
         "state.add-and-remove", "/content"),
        ("state_change", {"entity_id": ONE, "tag": "a", "action": ["add"]},
         "content.unknown-word", "/content/action"),
        ("state_change", {"entity_id": ONE, "changes": []}, "content.wrong-type",
         "/content/changes"),
        ("state_change", {"add": ["a"]}, "content.missing", "/content/entity_id"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_where(
    kind: str, content: dict[str, Any], code: str, path: str
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        normalise(ProposalType(kind), content)

    assert (refusal.value.code, refusal.value.details["path"]) == (code, path)


def test_the_limits_of_the_policy_count() -> None:
    with pytest.raises(InvalidInput, match="the limit is 3"):
        normalise(ProposalType.FACT, {"statement": "long"}, limits=TextLimits(statement=3))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just(ONE),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ["statement", "title", "name", "entity_type", "from", "to", "type", "entity_id", "tag",
     "action", "add", "remove", "changes", "time_ref", "severity", "actors", "causes", "ref"]
)  # fmt: skip


@given(kind=st.sampled_from(ProposalType), content=st.dictionaries(NAMES, JSON, max_size=6))
def test_any_content_is_refused_or_has_a_form_that_stays_as_it_is(
    kind: ProposalType, content: dict[str, Any]
) -> None:
    form, path = normal_or_path(kind, content)

    assert path.startswith("/content") if form is None else normalise(kind, form) == form


def normal_or_path(
    kind: ProposalType, content: dict[str, Any]
) -> tuple[Mapping[str, Any] | None, str]:
    """The form of a content, or the spot that is wrong in it."""
    try:
        return normalise(kind, content), ""
    except InvalidInput as refusal:
        return None, str(refusal.details["path"])
