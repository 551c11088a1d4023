"""Utterances: what is said in free words becomes frames, and what is unclear is asked about."""

from typing import Any

import pytest

from canonry.readmodels.edges import Direction
from canonry.world.domain.utterances.lexicon import UNKNOWN, Category, Nameable
from canonry.world.domain.utterances.reading import FRAMES_MAX, UTTERANCE_MAX, read_utterance

ANN = Nameable(id="ann", kind="player", name="Ann")
HERE = (
    Nameable(id="goblin", kind="character", name="Goblin"),
    Nameable(id="mara", kind="character", name="Old Mara"),
    Nameable(id="rock", kind="item", name="Rock"),
    Nameable(id="chest", kind="item", name="Chest"),
    Nameable(id="brass", kind="item", name="Brass Key"),
    Nameable(id="silver", kind="item", name="Silver Key"),
    Nameable(id="sword", kind="item", name="Sword"),
    Nameable(id="market", kind="location", name="Market Square", direction=Direction.NORTH),
    Nameable(id="odd", kind="item", name="The"),
)


def read_speech(text: str, *previous: str) -> Any:
    """The reading of what Ann says."""
    return read_utterance(text, ANN, HERE, previous)


def test_throwing_and_chasing_are_distinguished() -> None:
    first, second = read_speech("throw a rock at the goblin and then chase it").frames
    assert (first.verb, first.direct.id, first.secondary.id) == ("throw", "rock", "goblin")
    assert (second.verb, second.direct.id) == ("follow", "goblin")


def test_a_pronoun_refers_to_the_previous_entity() -> None:
    [frame] = read_speech("open it", "look at the chest").frames
    assert frame.direct.id == "chest"
    [unbound] = read_speech("open it").frames
    assert unbound.direct.id is None
    assert unbound.ambiguity == ("unknownObject",)


def test_equally_good_matches_are_questioned() -> None:
    found = read_speech("take the key")
    assert {c.id for c in found.frames[0].direct.candidates} == {"brass", "silver"}
    assert found.needs_clarification
    assert not read_speech("take the brass key").needs_clarification


def test_an_unintelligible_text_is_questioned() -> None:
    for text in ("", "...", "flurble the wug", "\x00\u202e", "the", '"'):
        found = read_speech(text)
        assert found.category in {Category.UNCLEAR, Category.SPEECH}, text
        assert [f.verb for f in found.frames] in ([UNKNOWN], ["talk"])
    assert read_speech("").needs_clarification


def test_a_question_does_nothing() -> None:
    found = read_speech("can I open the chest?")
    assert (found.category, found.frames) == (Category.QUESTION, ())


def test_a_condition_and_a_denial_are_reported() -> None:
    [frame] = read_speech("if the goblin attacks, I throw the rock at it").frames
    assert frame.conditional
    assert frame.secondary.id == "goblin"
    [later] = read_speech("I open the chest if the goblin leaves").frames
    assert later.conditional
    [denied] = read_speech("don't open the chest").frames
    assert denied.negated


def test_a_slip_is_forgiven_and_lowers_confidence() -> None:
    [slip], [clean] = (
        read_speech("exmaine the chset").frames,
        read_speech("examine the chest").frames,
    )
    assert (slip.verb, slip.direct.id) == ("examine", "chest")
    assert slip.confidence < clean.confidence


def test_an_exit_is_named_by_its_target() -> None:
    [frame] = read_speech("walk to the market").frames
    assert (frame.direct.id, frame.direction) == ("market", "north")


def test_long_talk_is_cut_and_takes_no_longer() -> None:
    found = read_speech("take the rock and " * 5_000)
    assert len(found.frames) <= FRAMES_MAX
    assert all(len(f.raw_text) <= UTTERANCE_MAX for f in found.frames)


@pytest.mark.parametrize(
    ("text", "verb", "direct", "secondary"),
    [
        ("use the sword to attack the goblin", "attack", "goblin", "sword"),
        ("swing the sword at the goblin", "attack", "goblin", "sword"),
        ("give Mara the rock", "give", "rock", "mara"),
        ("feed Mara", "give", None, "mara"),
        ("put the rock in the chest", "put", "rock", "chest"),
        ("push the goblin against the chest", "push", "goblin", "chest"),
        ("Mara, come here", "talk", "mara", None),
        ("parry the goblin's blow", "defend", "goblin", None),
    ],
)
def test_actor_action_and_target_are_read(
    text: str, verb: str, direct: str | None, secondary: str
) -> None:
    [frame] = read_speech(text).frames
    assert frame.verb == verb
    assert (frame.direct and frame.direct.id) == direct
    assert (frame.secondary and frame.secondary.id) == secondary


@pytest.mark.parametrize(
    ("text", "verb", "direct"),
    [
        ("I take a swing at the goblin", "attack", "goblin"),
        ("have a closer look at the chest", "examine", "chest"),
        ("I give Mara a hug", "emote", "mara"),
        ("flip open the chest", "open", "chest"),
        ("bring the rock to Mara", "give", "rock"),
        ("slip the rock into the chest", "put", "rock"),
        ("leave the sword here", "drop", "sword"),
        ("smash the rock on the goblin", "attack", "goblin"),
        ("perambulate to the market", "move", "market"),
        ("run for it", "flee", None),
        ("uh, I guess I open the chest", "open", "chest"),
    ],
)
def test_one_action_is_read_alike_however_it_is_phrased(text: str, verb: str, direct: str) -> None:
    [frame] = read_speech(text).frames
    assert (frame.verb, frame.direct and frame.direct.id) == (verb, direct)


def test_a_named_item_stays_one_beside_a_vague_verb() -> None:
    [frame] = read_speech("take a rock").frames
    assert (frame.verb, frame.direct.id) == ("take", "rock")


def test_a_derived_verb_is_less_certain() -> None:
    [derived], [known] = (
        read_speech("perambulate to the market").frames,
        read_speech("walk to the market").frames,
    )
    assert derived.confidence < known.confidence


def test_a_condition_ends_where_the_speaker_states_the_action() -> None:
    for text in ("if Mara screams I take the sword", "as soon as she leaves we take the sword"):
        [frame] = read_speech(text).frames
        assert (frame.verb, frame.direct.id, frame.conditional) == ("take", "sword", True)


def test_up_to_a_place_is_a_move_and_up_on_somebody_is_none() -> None:
    [there] = read_speech("head up to the market").frames
    assert there.direction is Direction.NORTH
    [near] = read_speech("sneak up on Mara").frames
    assert (near.direct.id, near.direction) == ("mara", None)
