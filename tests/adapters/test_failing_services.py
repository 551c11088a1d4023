"""Models behind endpoints that fail: after a moment no call waits for them, until they answer."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from canonry.app.compose import compose_memory
from canonry.app.load_settings import load_settings
from canonry.app.recall_models import with_dialogue_models
from canonry.canon.ports.files import FileType, Reading
from canonry.documents.interpreters.answering import ANTHROPIC, OPENAI, EndpointInterpreter
from canonry.language.texts.sentences import Part
from canonry.models.endpoint import EndpointSpeaker, ModelEndpoint
from canonry.models.outside_services import FAILURES_IN_A_ROW, OutsideService
from canonry.readmodels.ports.text import Purpose
from canonry.recall.embedders import (
    Endpoint,
    EndpointReranker,
    OpenAICompatibleEmbedder,
    RerankingEndpoint,
)
from canonry.values.errors import Unavailable
from canonry.world.moderators.endpoint import EndpointModerator
from tests.adapters.embedders.endpoint import Said, an_endpoint, answer_to, ranking_of

pytestmark = pytest.mark.anyio

IMPATIENCE = 0.6
"""Seconds that an attempt of these tests may take; long enough to count as a long wait."""

AT_ONCE = 0.25


@dataclass(frozen=True)
class Model:
    """A model behind an endpoint: how it is asked, and how it answers when all is well."""

    made: Callable[[str, OutsideService], Any]
    ask: Callable[[Any], Awaitable[Any]]
    answer: Callable[[Mapping[str, Any]], bytes]


def make_endpoint(url: str) -> ModelEndpoint:
    return ModelEndpoint(base_url=url, model="m", attempts=1, timeout=IMPATIENCE)


def chat_answer(_: Mapping[str, Any]) -> bytes:
    return json.dumps({"choices": [{"message": {"content": '{"entities": []}'}}]}).encode()


def message_answer(_: Mapping[str, Any]) -> bytes:
    return json.dumps({"content": [{"type": "tool_use", "input": {"entities": []}}]}).encode()


def harmless_answer(_: Mapping[str, Any]) -> bytes:
    return json.dumps({"results": [{"categories": {}}]}).encode()


async def moderate_text(model: EndpointModerator) -> None:
    """By the model; the rules alone stand for a failure."""
    if not (await model.moderate_text("Hello")).policy_version.endswith("+m"):
        raise Unavailable("moderator.unavailable", "the rules alone were asked")


async def interpret_document(model: EndpointInterpreter) -> None:
    reading = Reading(kind=FileType.PLAIN, name="a.txt", parts=(Part(text="Hello"),))
    await model.interpret_reading(reading, model.complete_configuration({}), ())


def make_embedder(url: str, service: OutsideService) -> OpenAICompatibleEmbedder:
    asked = Endpoint(
        base_url=url, model="m", dimensions=3, timeout=IMPATIENCE, attempts=1, patience=0.01
    )
    return OpenAICompatibleEmbedder(asked, service)


def make_reranker(url: str, service: OutsideService) -> EndpointReranker:
    return EndpointReranker(RerankingEndpoint(base_url=url, timeout=IMPATIENCE), service)


MODELS: dict[str, Model] = {
    "embedder": Model(make_embedder, lambda m: m.embed(["a"], Purpose.QUERY), answer_to),
    "reranker": Model(make_reranker, lambda m: m.score_texts("who?", ["a", "bb"]), ranking_of),
    "speaker": Model(
        lambda url, service: EndpointSpeaker(make_endpoint(url), service=service),
        lambda m: m.next_answer([{"role": "user", "content": "Hello"}], ()),
        chat_answer,
    ),
    "moderator": Model(
        lambda url, service: EndpointModerator(make_endpoint(url), service),
        moderate_text,
        harmless_answer,
    ),
    "openai": Model(
        lambda url, service: EndpointInterpreter(OPENAI, make_endpoint(url), service),
        interpret_document,
        chat_answer,
    ),
    "anthropic": Model(
        lambda url, service: EndpointInterpreter(ANTHROPIC, make_endpoint(url), service),
        interpret_document,
        message_answer,
    ),
}


@asynccontextmanager
async def open_service(name: str) -> AsyncIterator[tuple[Said, Callable[[], Awaitable[Any]], Any]]:
    """The endpoint, a call of the model that it serves, and what is known of it."""
    model = MODELS[name]
    service = OutsideService(name)
    with an_endpoint(answer=model.answer) as said:
        made = model.made(said.url, service)
        try:
            yield said, lambda: model.ask(made), service
        finally:
            await made.close()


async def time_failure(call: Callable[[], Awaitable[Any]]) -> float:
    """The seconds after which a call fails."""
    began = time.monotonic()
    with pytest.raises(Unavailable):
        await call()
    return time.monotonic() - began


async def comes_back(service: OutsideService) -> None:
    """Look a bounded number of times: probes are sent in the background."""
    for _ in range(400):
        if service.fault is None:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never came back")


@pytest.mark.parametrize("name", MODELS)
async def test_a_hanging_model_is_waited_for_only_once(name: str) -> None:
    async with open_service(name) as (said, call, service):
        said.open.clear()
        assert await time_failure(call) >= IMPATIENCE * 0.9
        for _ in range(20):
            assert await time_failure(call) < AT_ONCE
        assert service.fault is not None

        said.open.set()
        await comes_back(service)
        await call()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("status", [500, 503, 429])
async def test_a_failing_model_is_paused_after_a_few_failures(name: str, status: int) -> None:
    async with open_service(name) as (said, call, service):
        said.statuses = [status] * 1_000
        for _ in range(20):
            await time_failure(call)
        assert len(said.asked) == FAILURES_IN_A_ROW
        assert service.failed == FAILURES_IN_A_ROW

        said.statuses = []
        await comes_back(service)
        await call()


@pytest.mark.parametrize("name", [name for name in MODELS if name != "moderator"])
async def test_a_model_that_answers_junk_is_paused(name: str) -> None:
    async with open_service(name) as (said, call, service):
        said.body = b"<html>Sign in</html>"
        for _ in range(20):
            await time_failure(call)
        assert len(said.asked) == FAILURES_IN_A_ROW
        assert service.fault is not None


@pytest.mark.parametrize("name", MODELS)
async def test_a_model_that_refuses_a_request_is_not_paused(name: str) -> None:
    async with open_service(name) as (said, call, service):
        said.statuses = [400] * 10
        for _ in range(10):
            await time_failure(call)
        assert service.fault is None
        await call()


@pytest.mark.parametrize("name", MODELS)
async def test_cancelled_callers_leave_a_probe_running(name: str) -> None:
    model = MODELS[name]
    service = OutsideService(name)
    with an_endpoint(answer=model.answer) as said:
        made = model.made(said.url, service)
        said.open.clear()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(IMPATIENCE * 0.9):
                await model.ask(made)
        for _ in range(200):
            if service.fault is not None:
                break
            await asyncio.sleep(0.02)
        assert await time_failure(lambda: model.ask(made)) < AT_ONCE
        await made.close()


async def test_every_configured_model_is_reported_in_one_place() -> None:
    given = {
        "dialogue_url": "http://127.0.0.1:9/v1",
        "dialogue_model": "m",
        "dialogue_intents": "m",
        "dialogue_moderator": "m",
    }
    canon = with_dialogue_models(compose_memory(), load_settings(given, environment={}))
    assert [each.name for each in canon.outside] == ["listener", "moderator", "speaker"]
