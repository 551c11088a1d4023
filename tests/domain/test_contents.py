"""Contents: every spelling in use becomes one form, and what cannot be read says where."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.canon.judging.contents import (
    CONTENT_SHAPES,
    ContentMember,
    ContentShape,
    EventContent,
    StateChangeContent,
    normalise_content,
    read_content,
    references_of,
)
from canonry.log.items.proposals import NARRATED, ProposalType
from canonry.values.errors import InvalidInput
from canonry.values.policy import TextLimits

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
def test_every_spelling_of_a_state_change_has_the_same_meaning(content: dict[str, Any]) -> None:
    assert normalise_content(ProposalType.STATE_CHANGE, content) == {
        "entity_id": ONE,
        "state_tag_changes": {"add": ["dead"], "remove": []},
    }


@pytest.mark.parametrize("action", ["remove", "unset", False])
def test_a_tag_may_end(action: object) -> None:
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
def test_every_spelling_of_a_relationship_has_the_same_meaning(content: dict[str, Any]) -> None:
    assert normalise_content(ProposalType.RELATIONSHIP, content) == {
        "from_entity_id": ONE,
        "to_entity_id": TWO,
        "rel_type": "ALLY_OF",
        "properties": {},
    }


@pytest.mark.parametrize("name", ["involved_entity_ids", "entity_ids"])
def test_every_spelling_of_a_fact_has_the_same_meaning(name: str) -> None:
    form = normalise_content(ProposalType.FACT, {"statement": "x", name: [ONE, ONE]})

    assert form["involved_entity_ids"] == [ONE]


def test_actors_are_involved_and_times_are_shown_in_utc() -> None:
    content = {"title": "x", "actor_id": ONE, "start_time": "2025-01-01T01:00:00+01:00"}

    event = read_content(ProposalType.EVENT, content)

    assert isinstance(event, EventContent)
    assert event.involved == event.actors == (ONE,)
    assert normalise_content(ProposalType.EVENT, content)["time_ref"] == "2025-01-01T00:00:00Z"


def test_a_reference_names_an_entity_a_proposal_or_a_declared_name() -> None:
    content = {"statement": "x", "entity_ids": [ONE, f"proposal:{TWO.upper()}", "$hero"]}

    fact = read_content(ProposalType.FACT, content)

    assert references_of(fact) == (ONE, f"proposal:{TWO}", "$hero")


@pytest.mark.parametrize(("given_name", "kept"), [("hero", "$hero"), ("$hero", "$hero")])
def test_an_entity_declares_the_name_used_by_others(given_name: str, kept: str) -> None:
    content = {"name": "Frodo", "type": "character", "class": "EntityConcreta", "ref": given_name}

    form = normalise_content(ProposalType.ENTITY, content)

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
def test_an_unreadable_content_error_names_the_position(
    kind: str, content: dict[str, Any], code: str, path: str
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        normalise_content(ProposalType(kind), content)

    assert (refusal.value.code, refusal.value.details["path"]) == (code, path)


@pytest.mark.parametrize(
    ("kind", "content", "path", "nearest"),
    [
        ("fact", {"statement": "x", "involved_entites": [ONE]}, "/content/involved_entites",
         "involved_entity_ids"),
        ("fact", {"statment": "x"}, "/content/statment", "statement"),
        ("event", {"title": "x", "partcipants": [ONE]}, "/content/partcipants", "actor_ids"),
        ("entity", {"name": "x", "entityType": "object"}, "/content/entityType", "entity_type"),
        ("relationship", {"from": ONE, "to": TWO, "reltype": "OWNS"}, "/content/reltype",
         "rel_type"),
        ("state_change", {"entity_id": ONE, "added": ["dead"]}, "/content/added", "add"),
        ("state_change", {"entity_id": ONE, "changes": {"adds": ["dead"]}},
         "/content/changes/adds", "add"),
        ("fact", {"statement": "x", "colour": "red"}, "/content", None),
    ],
)  # fmt: skip
def test_an_unknown_key_is_refused_with_the_nearest_known_one(
    kind: str, content: dict[str, Any], path: str, nearest: str | None
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        normalise_content(ProposalType(kind), content)

    assert refusal.value.code == "content.unknown-key"
    assert (refusal.value.details["path"], refusal.value.details.get("nearest")) == (path, nearest)
    assert nearest is None or f"Did you mean {nearest}?" in refusal.value.message


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("state_change", {"entity_id": ONE}),
        ("state_change", {"entity_id": ONE, "add": ["a"], "hue": 1}),
        ("fact", {"statement": ""}),
        ("event", {"title": "x", "severity": 11}),
        ("entity", {"name": "x", "entity_type": "ghost"}),
        ("relationship", {"from": ONE, "to": ONE, "type": "KNOWS"}),
    ],
)
def test_every_refusal_names_the_members_of_the_type(kind: str, content: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refusal:
        normalise_content(ProposalType(kind), content)

    shape = CONTENT_SHAPES[ProposalType(kind)]
    assert all(one.name in refusal.value.message for one in shape.members)


EXAMPLES: dict[str, Any] = {"reference": ONE, "references": [ONE], "texts": ["a"], "text": "OWNS",
                            "object": {"a": 1}, "time": "2025-01-01T00:00:00Z", "severity": 3,
                            "seconds": 60, "action": "add"}  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "member", "name"),
    [
        pytest.param(shape, member, name, id=f"{shape.type}-{name}")
        for shape in CONTENT_SHAPES.values()
        for member in shape.members
        if member.name != "audience"  # it says of the proposal who may see it
        for name in (member.name, *member.aliases)
    ],
)
def test_every_declared_name_of_a_member_is_read(
    shape: ContentShape, member: ContentMember, name: str
) -> None:
    least: dict[str, Any] = {"fact": {"statement": "x"}, "event": {"title": "x"},
             "entity": {"name": "x", "entity_type": "object"},
             "relationship": {"from_entity_id": TWO, "to_entity_id": TWO[:-1] + "3",
                              "rel_type": "KNOWS"},
             "state_change": {"entity_id": TWO, "add": ["b"]}}  # fmt: skip
    value = member.options[0] if member.options else EXAMPLES[member.kind.name.lower()]
    value = {"add": ["a"]} if member.name == "state_tag_changes" else value
    more = {"tag": "a"} if member.name == "action" else {}
    rest = {key: each for key, each in least[shape.type].items() if key != member.name}

    said = normalise_content(shape.type, {**rest, **more, name: value})

    assert said == normalise_content(shape.type, {**rest, **more, member.name: value})
    assert said != normalise_content(shape.type, least[shape.type])


def test_tags_given_in_several_ways_all_count() -> None:
    content = {"entity_id": ONE, "add": ["a"], "tag": "b", "changes": {"add": ["c"]}}

    change = read_content(ProposalType.STATE_CHANGE, content)

    assert isinstance(change, StateChangeContent)
    assert change.add == ("a", "b", "c")


def test_an_action_without_its_tag_is_refused() -> None:
    content = {"entity_id": ONE, "add": ["a"], "action": "remove"}

    with pytest.raises(InvalidInput) as refusal:
        normalise_content(ProposalType.STATE_CHANGE, content)

    assert refusal.value.details["path"] == "/content/tag"


def test_the_limits_of_the_policy_apply() -> None:
    with pytest.raises(InvalidInput, match="the limit is 3"):
        normalise_content(ProposalType.FACT, {"statement": "long"}, limits=TextLimits(statement=3))


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


@given(kind=st.sampled_from(NARRATED), content=st.dictionaries(NAMES, JSON, max_size=6))
def test_any_content_is_refused_or_has_a_stable_form(
    kind: ProposalType, content: dict[str, Any]
) -> None:
    form, path = normal_or_path(kind, content)

    assert path.startswith("/content") if form is None else normalise_content(kind, form) == form


def normal_or_path(
    kind: ProposalType, content: dict[str, Any]
) -> tuple[Mapping[str, Any] | None, str]:
    """The form of a content, or the spot that is wrong in it."""
    try:
        return normalise_content(kind, content), ""
    except InvalidInput as refusal:
        return None, str(refusal.details["path"])
