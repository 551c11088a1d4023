"""A moderator behind an endpoint: it adds to the rules, which hold whatever it says."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from canonry.app.compose import compose_memory
from canonry.app.load_settings import load_settings
from canonry.app.recall_models import with_dialogue_models
from canonry.models.endpoint import ModelEndpoint
from canonry.world.models.services import WorldServices
from canonry.world.moderators.endpoint import EndpointModerator
from tests.adapters.interpreters.endpoint import Said, an_endpoint

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def open_moderator(said: Said) -> AsyncIterator[EndpointModerator]:
    """A moderator that asks this endpoint."""
    endpoint = ModelEndpoint(base_url=said.url, model="m", key="k", attempts=1, timeout=1.0)
    moderator = EndpointModerator(endpoint)
    yield moderator
    await moderator.close()


async def test_findings_of_the_model_are_added() -> None:
    with an_endpoint() as said:
        found = {"hate": True, "violence": True, "sexual/minors": False, "other": True}
        said.answers({"results": [{"categories": found}]})
        async with open_moderator(said) as moderator:
            answer = await moderator.moderate_text("something veiled")
        assert answer.categories == ("hate",)
        assert answer.policy_version.endswith("+m")
        assert said.asked[0]["path"] == "/v1/moderations"
        assert said.asked[0]["input"] == "something veiled"
        assert said.headers[0]["authorization"] == "Bearer k"


async def test_findings_of_the_rules_are_not_sent_to_the_model() -> None:
    with an_endpoint() as said:
        async with open_moderator(said) as moderator:
            assert (await moderator.moderate_text("kill yourself")).categories == ("self-harm",)
        assert said.asked == []


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"results": [{"categories": 7}]}', b"x"])
async def test_only_rules_apply_after_a_broken_answer(body: bytes) -> None:
    with an_endpoint() as said:
        said.body = body
        async with open_moderator(said) as moderator:
            assert (await moderator.moderate_text("Hello")).allowed


async def test_only_rules_apply_if_the_endpoint_refuses_or_is_missing() -> None:
    with an_endpoint() as said:
        said.statuses = [500]
        async with open_moderator(said) as moderator:
            assert (await moderator.moderate_text("Hello")).allowed
            said.url = "http://127.0.0.1:9/v1"
        async with open_moderator(said) as moderator:
            assert (await moderator.moderate_text("Hello")).allowed


@pytest.mark.parametrize(
    ("given", "set_up"),
    [
        ({}, (False, False, False)),
        ({"dialogue_model": "m"}, (True, False, False)),
        ({"dialogue_intents": "m"}, (False, True, False)),
        ({"dialogue_moderator": "m"}, (False, False, True)),
    ],
)
async def test_settings_name_the_speaking_listening_and_moderating_models(
    given: dict[str, Any], set_up: tuple[bool, ...]
) -> None:
    address = {"dialogue_url": "http://127.0.0.1:9/v1"} if given else {}
    canon = with_dialogue_models(
        compose_memory(), load_settings({**given, **address}, environment={})
    )
    asked = (
        canon.find_service(WorldServices).speaker,
        canon.find_service(WorldServices).listener,
        canon.find_service(WorldServices).moderator,
    )
    assert tuple(each is not None for each in asked) == set_up
