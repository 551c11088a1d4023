"""A moderator behind an endpoint: it adds to the rules, which hold whatever it says."""

from typing import Any

import pytest

from canonry.adapters.moderators.endpoint import EndpointModerator, ModeratingEndpoint
from canonry.adapters.moderators.words import WordModerator
from canonry.bootstrap.compose import compose_memory
from canonry.bootstrap.settings import load_settings
from canonry.bootstrap.speaking import voiced
from tests.adapters.interpreters.endpoint import Said, an_endpoint


def asked(said: Said) -> EndpointModerator:
    """A moderator that asks this endpoint."""
    return EndpointModerator(
        WordModerator(), ModeratingEndpoint(base_url=said.url, model="m", key="k")
    )


def test_what_the_model_finds_is_added() -> None:
    with an_endpoint() as said:
        found = {"hate": True, "violence": True, "sexual/minors": False, "other": True}
        said.answers({"results": [{"categories": found}]})
        told = asked(said).moderate("something veiled")
        assert told.categories == ("hate",)
        assert told.policy_version.endswith("+m")
        assert said.asked[0]["input"] == "something veiled"
        assert said.headers[0]["authorization"] == "Bearer k"


def test_what_the_rules_find_is_not_asked_about() -> None:
    with an_endpoint() as said:
        assert asked(said).moderate("kill yourself").categories == ("self-harm",)
        assert said.asked == []


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"results": [{"categories": 7}]}', b"x"])
def test_a_broken_answer_leaves_the_rules(body: bytes) -> None:
    with an_endpoint() as said:
        said.body = body
        assert asked(said).moderate("Hello").allowed


def test_an_endpoint_that_refuses_or_is_not_there_leaves_the_rules() -> None:
    with an_endpoint() as said:
        said.statuses = [500]
        moderator = asked(said)
        assert moderator.moderate("Hello").allowed
    assert moderator.moderate("Hello").allowed


@pytest.mark.parametrize(
    ("given", "speaks", "moderates"),
    [
        ({}, False, False),
        ({"dialogue_model": "m"}, True, False),
        ({"dialogue_moderator": "m"}, False, True),
    ],
)
def test_the_settings_say_who_speaks_and_who_moderates(
    given: dict[str, Any], speaks: bool, moderates: bool
) -> None:
    address = {"dialogue_url": "http://127.0.0.1:9/v1"} if given else {}
    canon = voiced(compose_memory(), load_settings({**given, **address}, environment={}))
    assert (canon.speaker is not None, canon.moderator is not None) == (speaks, moderates)
