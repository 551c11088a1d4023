"""A language model at an HTTP endpoint, and a speaker that uses it."""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2
from typing_extensions import override

from canonry.models.outside_services import (
    PROBE_SECONDS,
    ModelSpeech,
    OutsideService,
    SpeakingModel,
    ToolAsked,
)
from canonry.values.errors import Unavailable
from canonry.values.json_values import decode_json

# A language model at an endpoint: requests, and retries while it is busy.
#
# Size, time and number of requests are bounded. No request is sent while the endpoint is away. Text
# from the endpoint never enters an error message.

_OK: Final = 200
_AGAIN: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
HELLO: Final = ({"role": "user", "content": "hello"},)
"""The messages of a probe."""
ANSWER_MAX: Final = 16 * 1024 * 1024
"""Bytes of an answer that are read at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostingEndpoint:
    """Address and limits of requests. Times are in seconds.

    `timeout` is the longest duration of an attempt, `patience` the longest wait between two.
    `most_bytes` bounds an answer.
    """

    base_url: str
    key: str | None = field(default=None, repr=False)
    timeout: float = 30.0
    attempts: int = 3
    patience: float = 8.0
    most_bytes: int = ANSWER_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEndpoint(PostingEndpoint):
    """Address and settings of a language model; `timeout` covers all attempts."""

    model: str
    timeout: float = 120.0
    answer_tokens: int = 8_192


def auth_headers(key: str | None) -> Mapping[str, str]:
    """Return the headers for a key in the OpenAI protocol."""
    return {} if key is None else {"Authorization": f"Bearer {key}"}


class Posting:
    """Posts JSON over one client, and retries while the endpoint is busy.

    `fault` creates errors from a description.
    """

    def __init__(
        self,
        endpoint: PostingEndpoint,
        headers: Mapping[str, str],
        fault: Callable[..., Unavailable],
    ) -> None:
        """Connect with the first request."""
        self._headers = dict(headers)
        self._client: httpx2.AsyncClient | None = None
        self.bounds = endpoint
        self.fault = fault

    def request_seconds(self, *, probe: bool) -> float:
        """Return how long a request may take; a probe is shorter."""
        return min(self.bounds.timeout, PROBE_SECONDS) if probe else self.bounds.timeout

    async def send_request(
        self, path: str, body: Mapping[str, Any], *, probe: bool = False, seconds: float | None
    ) -> bytes:
        """Return the answer, with at most `seconds` for each attempt; a probe is one attempt.

        Raises:
            Unavailable: the error that `fault` returns.
        """
        attempts = 1 if probe else self.bounds.attempts
        for attempt in range(1, attempts + 1):
            wait = None
            try:
                async with asyncio.timeout(seconds):
                    status, content, wait = await self._post_once(path, body)
            except (httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
                raise self.fault("has no usable address. Correct its URL") from error
            except (httpx2.RequestError, TimeoutError) as error:
                if attempt == attempts:
                    raise self.fault("does not answer") from error
            else:
                if status == _OK:
                    return content
                if status in {401, 403}:
                    raise self.fault("refuses the key. Set another key", status=status)
                if attempt == attempts or status not in _AGAIN:
                    raise self.fault(f"answers with HTTP {status}", status=status)
            try:
                wanted = float(wait or 0.0)
            except ValueError:  # a date; not worth parsing
                wanted = 0.0
            wanted = wanted if math.isfinite(wanted) else 0.0
            await asyncio.sleep(min(max(0.25 * 2.0 ** (attempt - 1), wanted), self.bounds.patience))
        raise self.fault("was not asked. Allow at least one attempt")

    async def _post_once(self, path: str, body: Mapping[str, Any]) -> tuple[int, bytes, str | None]:
        """Return the status and the content of an answer, and the wait that it asks for."""
        if self._client is None:
            self._client = httpx2.AsyncClient(headers=self._headers, timeout=self.bounds.timeout)
        url = f"{self.bounds.base_url.rstrip('/')}{path}"
        async with self._client.stream("POST", url, json=body) as answer:
            content = bytearray()
            async for piece in answer.aiter_bytes():
                content += piece
                if len(content) > self.bounds.most_bytes:
                    raise self.fault(f"answered with more than {self.bounds.most_bytes} bytes")
            return answer.status_code, bytes(content), answer.headers.get("retry-after")

    async def close(self) -> None:
        """Close the connection. The next request opens it again."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


class Connection:
    """Posts JSON to an endpoint."""

    def __init__(
        self, endpoint: ModelEndpoint, headers: Mapping[str, str], service: OutsideService
    ) -> None:
        """Connect with the first request. `service` tracks whether the endpoint answers."""
        self._service = service
        self.endpoint = endpoint
        self._posting = Posting(endpoint, headers, request_failure)

    async def post_json(self, path: str, body: Mapping[str, Any], probe: Mapping[str, Any]) -> Any:
        """Return the JSON answer to `body`. `probe` is a minimal body for checks.

        Raises:
            Unavailable: `interpretation.failed`.
        """
        return await self._service.run_work(
            lambda: self._ask_in_time(path, body, probe=False),
            lambda: self._ask_in_time(path, probe, probe=True),
        )

    async def _ask_in_time(self, path: str, body: Mapping[str, Any], *, probe: bool) -> Any:
        """Ask within one time for all attempts."""
        seconds = self._posting.request_seconds(probe=probe)
        try:
            async with asyncio.timeout(seconds):
                return _decode_content(
                    await self._posting.send_request(path, body, probe=probe, seconds=None)
                )
        except TimeoutError as error:
            raise request_failure(f"did not answer within {seconds:g} seconds") from error

    async def close(self) -> None:
        """Close the connection. The next request opens it again."""
        await self._service.close()
        await self._posting.close()


def request_failure(what: str, **details: Any) -> Unavailable:
    """Return the error for a failed request; `what` continues "The language model ..."."""
    message = f"The language model {what}. Try again later; no stored file is lost."
    return Unavailable("interpretation.failed", message, **details)


def _decode_content(content: bytes) -> Any:
    try:
        return decode_json(content)
    except (ValueError, RecursionError) as error:
        raise request_failure("answered with text that is not JSON") from error


_ASKED_MAX: Final = 16  # a model that asks without end does not hold the call
_TEXT_MAX: Final = 20_000  # bounds what an untrusted endpoint makes the server keep
_NAME_MAX: Final = 200  # bounds what an untrusted endpoint makes the server keep


class EndpointSpeaker(SpeakingModel):
    """A speaking model that uses chat completions with tools."""

    def __init__(
        self,
        endpoint: ModelEndpoint,
        temperature: float = 0.7,
        service: OutsideService | None = None,
    ) -> None:
        """Connect with the first request. `service` tracks whether the endpoint answers."""
        service = service or OutsideService("speaker")
        self._connection = Connection(endpoint, auth_headers(endpoint.key), service)
        self._temperature = temperature

    @override
    async def next_answer(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        model: str = "",
    ) -> ModelSpeech:
        own = self._connection.endpoint
        model = model or own.model
        body: dict[str, Any] = {
            "model": model,
            "temperature": self._temperature,
            "max_tokens": own.answer_tokens,
            "messages": list(messages),
        }
        if tools:
            body["tools"] = list(tools)
        probe = {"model": model, "max_tokens": 1, "messages": HELLO}
        answer = await self._connection.post_json("/chat/completions", body, probe)
        try:
            return _read_speech(answer, model)
        except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise request_failure("did not answer in the format that was requested") from error

    @override
    async def close(self) -> None:
        await self._connection.close()


def _read_speech(answer: Any, model: str) -> ModelSpeech:
    message = answer["choices"][0]["message"]
    usage = answer.get("usage") or {}
    text = message.get("content") or ""
    if not isinstance(text, str):
        raise TypeError(text)
    return ModelSpeech(
        text=text[:_TEXT_MAX],
        asked=tuple(map(_read_tool_call, (message.get("tool_calls") or ())[:_ASKED_MAX])),
        model=model,
        prompt_tokens=_token_count(usage.get("prompt_tokens")),
        completion_tokens=_token_count(usage.get("completion_tokens")),
    )


def _read_tool_call(call: Any) -> ToolAsked:
    function = call["function"]
    try:
        given = decode_json((function.get("arguments") or "{}").encode())
    except ValueError:
        given = {}
    return ToolAsked(
        id=str(call["id"])[:_NAME_MAX],
        name=str(function["name"])[:_NAME_MAX],
        arguments=given if isinstance(given, dict) else {},
    )


def _token_count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
