"""The policy of a settings file: each key by its type, each mistake by its place."""

from pathlib import Path
from typing import Any

import pytest

from canonry.app.load_settings import load_settings
from canonry.app.settings import policy_from
from canonry.values.errors import InvalidInput
from canonry.values.policy import Policy


def test_an_unset_value_is_the_default() -> None:
    assert policy_from({}, "here") == Policy()


def test_a_quota_is_a_number_or_unlimited_by_default() -> None:
    assert Policy().truth.interpretations is None
    assert policy_from({"truth": {"interpretations": 5}}, "here").truth.interpretations == 5


@pytest.mark.parametrize(
    ("table", "key", "expected"),
    [
        ([], "policy", "a table"),
        ({"scoring": 5}, "policy.scoring", "a table"),
        ({"scoring": {"weights": 5}}, "policy.scoring.weights", "a table"),
        ({"scoring": {"threshold": True}}, "policy.scoring.threshold", "a number"),
        ({"scoring": {"threshold": float("nan")}}, "policy.scoring.threshold", "between 0 and 1"),
        ({"scoring": {"below": "wait"}}, "policy.scoring.below", "reject or defer"),
        ({"limits": {"turn": 1.5}}, "policy.limits.turn", "a whole number"),
        ({"limits": {"turn": -1}}, "policy.limits.turn", "0 or more"),
        ({"recall": {"half_life": 0}}, "policy.recall.half_life", "above 0"),
        ({"recall": {"half_life": 1.5}}, "policy.recall.half_life", "a whole number"),
        ({"tags_exclusive": "asleep"}, "policy.tags_exclusive", "a list"),
        ({"tags_exclusive": [["asleep", 5]]}, "policy.tags_exclusive", "text"),
        ({"truth": {"interpretations": "many"}}, "policy.truth.interpretations", "a whole number"),
        ({"truth": {"interpretations": -1}}, "policy.truth.interpretations", "0 or more"),
        (
            {"truth": {"retention": {"brought_days": -1}}},
            "policy.truth.retention.brought_days",
            "0 or more",
        ),
        (
            {"truth": {"retention": {"withdrawn_days": "soon"}}},
            "policy.truth.retention.withdrawn_days",
            "a whole number",
        ),
    ],
)
def test_an_invalid_value_is_reported_with_its_key(table: Any, key: str, expected: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        policy_from(table, "here")

    assert refused.value.code == "settings.malformed"
    assert key in refused.value.message
    assert expected in refused.value.message
    assert "here" in refused.value.message


@pytest.mark.parametrize(
    ("table", "nearest"),
    [
        ({"scorings": {}}, "policy.scoring"),
        ({"scoring": {"treshold": 0.5}}, "policy.scoring.threshold"),
        ({"scoring": {"weights": {"gmm": 1}}}, "policy.scoring.weights.gm"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_one(table: Any, nearest: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        policy_from(table, "here")

    assert refused.value.code == "settings.unknown"
    assert nearest in refused.value.message


@pytest.mark.parametrize(
    ("text", "on"), [("yes", True), ("0", False), (" TRUE ", True), ("", False)]
)
def test_a_switch_takes_words(text: str, on: bool) -> None:
    assert load_settings(environment={"CANONRY_MEMORY": text}).memory is on


@pytest.mark.parametrize("text", ["maybe", "2"])
def test_an_invalid_switch_is_reported(text: str) -> None:
    with pytest.raises(InvalidInput, match="CANONRY_MEMORY"):
        load_settings(environment={"CANONRY_MEMORY": text})


def test_an_empty_variable_is_ignored() -> None:
    """As a shell or a container sets it that has nothing to say."""
    settings = load_settings(environment={"CANONRY_AGENT_ID": "", "CANONRY_DEADLINE": ""})

    assert settings.agent_id is None
    assert settings.deadline == load_settings(environment={}).deadline


@pytest.mark.parametrize("text", ["toolsets = []\n", 'deadline = "nan"\n', "deadline = true\n"])
def test_no_toolsets_and_invalid_numbers_are_reported(text: str, tmp_path: Path) -> None:
    config = tmp_path / "canonry.toml"
    config.write_text(text, encoding="utf-8")

    with pytest.raises(InvalidInput, match=text.split(maxsplit=1)[0]):
        load_settings(config=config, environment={})
