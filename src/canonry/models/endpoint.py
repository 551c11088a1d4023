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
class ModelEndpoint:
    """Address and settings of a model. Times are in seconds."""

    base_url: str
    model: str
    key: str | None = field(default=None, repr=False)
    timeout: float = 120.0
    attempts: int = 3
    patience: float = 8.0
    answer_tokens: int = 8_192


def bearer(key: str | None) -> Mapping[str, str]:
    """Return the headers for a key in the OpenAI protocol."""
    return {} if key is None else {"Authorization": f"Bearer {key}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PostingBounds:
    """Limits of requests. Times are in seconds; `patience` is the longest wait between attempts."""

    timeout: float
    attempts: int
    patience: float
    most_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """An HTTP answer. `wait` is the time that the endpoint asks to wait."""

    status: int
    content: bytes
    wait: str | None


class Posting:
    """Posts JSON over one client. `fault` creates errors from a description."""

    def __init__(
        self, headers: Mapping[str, str], bounds: PostingBounds, fault: Callable[..., Unavailable]
    ) -> None:
        """Connect with the first request."""
        self._headers = dict(headers)
        self._client: httpx2.AsyncClient | None = None
        self.bounds = bounds
        self.fault = fault

    async def post(self, url: str, body: Mapping[str, Any]) -> Posted:
        """Return the answer to one request, with any status."""
        if self._client is None:
            self._client = httpx2.AsyncClient(headers=self._headers, timeout=self.bounds.timeout)
        async with self._client.stream("POST", url, json=body) as answer:
            content = bytearray()
            async for piece in answer.aiter_bytes():
                content += piece
                if len(content) > self.bounds.most_bytes:
                    raise self.fault(f"answered with more than {self.bounds.most_bytes} bytes")
            wait = answer.headers.get("retry-after")
            return Posted(status=answer.status_code, content=bytes(content), wait=wait)

    def pause(self, attempt: int, asked: str | None) -> float:
        """Return the wait after this attempt, at least as long as the endpoint asked for."""
        try:
            wanted = float(asked or 0.0)
        except ValueError:  # a date; not worth parsing
            wanted = 0.0
        wanted = wanted if math.isfinite(wanted) else 0.0
        return min(max(0.25 * 2.0 ** (attempt - 1), wanted), self.bounds.patience)

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
        bounds = PostingBounds(
            timeout=endpoint.timeout,
            attempts=endpoint.attempts,
            patience=endpoint.patience,
            most_bytes=ANSWER_MAX,
        )
        self._posting = Posting(headers, bounds, failed)

    async def post(self, path: str, body: Mapping[str, Any], probe: Mapping[str, Any]) -> Any:
        """Return the JSON answer to `body`. `probe` is a minimal body for checks.

        Raises:
            Unavailable: `interpretation.failed`.
        """
        url, endpoint = f"{self.endpoint.base_url.rstrip('/')}{path}", self.endpoint
        return await self._service.ask(
            lambda: self._in_time(url, body, endpoint.attempts, endpoint.timeout),
            lambda: self._in_time(url, probe, 1, min(endpoint.timeout, PROBE_SECONDS)),
        )

    async def _in_time(
        self, url: str, body: Mapping[str, Any], attempts: int, seconds: float
    ) -> Any:
        try:
            async with asyncio.timeout(seconds):
                return await self._tried(url, body, attempts)
        except TimeoutError as error:
            raise failed(f"did not answer within {seconds:g} seconds") from error

    async def close(self) -> None:
        """Close the connection. The next request opens it again."""
        await self._service.close()
        await self._posting.close()

    async def _tried(self, url: str, body: Mapping[str, Any], attempts: int) -> Any:
        for attempt in range(1, attempts + 1):
            last = attempt == attempts
            try:
                answer = await self._posting.post(url, body)
            except (httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
                raise failed("cannot be reached at this address; check truth.url") from error
            except httpx2.RequestError as error:
                if last:
                    raise failed("did not answer") from error
                await asyncio.sleep(self._posting.pause(attempt, None))
                continue
            if answer.status == _OK:
                return _content(answer.content)
            if last or answer.status not in _AGAIN:
                raise failed(f"answered with status {answer.status}", status=answer.status)
            await asyncio.sleep(self._posting.pause(attempt, answer.wait))
        raise failed("was not asked, because no attempt is allowed; allow at least one")


def failed(what: str, **details: Any) -> Unavailable:
    """Return the error for a failed request; `what` continues "The language model ..."."""
    message = f"The language model {what}. Try again later; no stored file is lost."
    return Unavailable("interpretation.failed", message, **details)


def _content(content: bytes) -> Any:
    try:
        return decode_json(content)
    except (ValueError, RecursionError) as error:
        raise failed("answered with text that is not JSON") from error


_ASKED_MAX: Final = 16
_TEXT_MAX: Final = 20_000
_NAME_MAX: Final = 200


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
        self._connection = Connection(endpoint, bearer(endpoint.key), service)
        self._temperature = temperature

    @override
    async def speak(
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
        answer = await self._connection.post("/chat/completions", body, probe)
        try:
            return _spoken(answer, model)
        except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise failed("did not answer in the format that was requested") from error

    @override
    async def close(self) -> None:
        await self._connection.close()


def _spoken(answer: Any, model: str) -> ModelSpeech:
    message = answer["choices"][0]["message"]
    usage = answer.get("usage") or {}
    text = message.get("content") or ""
    if not isinstance(text, str):
        raise TypeError(text)
    return ModelSpeech(
        text=text[:_TEXT_MAX],
        asked=tuple(map(_asked, (message.get("tool_calls") or ())[:_ASKED_MAX])),
        model=model,
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
    )


def _asked(call: Any) -> ToolAsked:
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


def _count(told: Any) -> int:
    return told if isinstance(told, int) and not isinstance(told, bool) and told >= 0 else 0
