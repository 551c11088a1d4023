"""Templates never change once they are published: their hashes and their variables are pinned."""

import json
import re
from hashlib import sha256
from importlib.resources import files

import msgspec
import pytest

from canonry.canon.session.telemetry_names import EventName
from canonry.values.json_values import canonical_json
from canonry.world.domain.prompts import templates as module
from canonry.world.domain.prompts.templates import (
    Template,
    all_templates,
    find_template,
    list_templates,
    wrong_parameters,
)

PINNED = {
    ("ambience", "1.0.0"): (
        "sha256:a7694244e73515d24f256e0ed438017853e97cdc7886e52a842ed81453c7791d"
    ),
    ("intent", "1.0.0"): (
        "sha256:ca9e93550aa8e53ee02eb239e2206ba4cccb7ce0d1a1496fdedd06dd49e06a35"
    ),
    ("narration", "1.0.0"): (
        "sha256:cae84d4884178129d37b4033c57cdadc887ca0b6f0dbef57236b1c2e9cd5bfae"
    ),
    ("npc_dialogue", "1.0.0"): (
        "sha256:d7fad281eeaff45001b022db79fabde76801f00320c7184f31861bdcfeab3a7c"
    ),
    ("npc_dialogue", "2.0.0"): (
        "sha256:fa245be1677655be5bb5785947a5b942357f66cc8019a2790f5419258fcbc41d"
    ),
    ("quest_seed", "1.0.0"): (
        "sha256:55867194a266ae44b3cbb31ec239c356d7909496b208f583d4a39e3ec5ef124a"
    ),
}


def test_every_template_is_pinned_by_its_hash() -> None:
    assert {(each.id, each.version): each.content_hash for each in all_templates()} == PINNED


def test_the_hash_depends_on_content_and_not_on_layout() -> None:
    for each in all_templates():
        name = f"{each.id}-{each.version}.json"
        text = files(module.__package__ or "").joinpath("templates", name).read_text("utf-8")
        assert each.content_hash == f"sha256:{sha256(canonical_json(json.loads(text))).hexdigest()}"
        mentioned = set(re.findall(r"\[([a-z][A-Za-z0-9]*)\]", each.template))
        assert mentioned == {one.name for one in each.variables}


def test_a_template_with_an_unknown_field_is_invalid() -> None:
    arguments = {**all_templates()[0].to_json(), "usage": "secret"}
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.convert(arguments, Template)


def test_templates_are_found_by_name_version_and_tag() -> None:
    ambience = find_template("ambience")
    assert ambience is not None
    assert find_template("ambience", "1.0.0") == ambience
    assert find_template("ambience", "2.0.0") is None
    assert find_template("nothing") is None
    assert list_templates("layer") == [ambience]
    assert len(list_templates()) == len({each.id for each in all_templates()})


def test_parameters_are_exactly_those_of_the_template() -> None:
    ambience = find_template("ambience")
    assert ambience is not None
    given = {"location": "Inn [weather]", "weather": "fog", "timeOfDay": "dusk"}

    assert wrong_parameters(ambience, given) is None
    assert wrong_parameters(ambience, {**given, "x": ""}) == "The template has no variable x."
    assert wrong_parameters(ambience, {}) == (
        "`parameters` has no text for location, timeOfDay, weather."
    )


def test_event_names_are_closed_and_well_formed() -> None:
    for name in EventName:
        domain, *rest = name.split(".")
        assert 1 <= len(rest) <= 2
        assert all(part[0].isupper() for part in (domain, *rest))
