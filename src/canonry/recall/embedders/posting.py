"""Posting JSON to an endpoint: bounded in size, time and number.

What the endpoint says never reaches a message.
"""

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx2

from canonry.models.outside_services import PROBE_SECONDS
from canonry.values.errors import Unavailable

_OK: Final = 200
_AGAIN: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_REFUSED: Final = frozenset({401, 403})


@dataclass(frozen=True, slots=True, kw_only=True)
class PostingBounds:
    """How long one attempt may take and the longest wait between two, in seconds, and how many."""

    timeout: float
    attempts: int
    patience: float
    most_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Posted:
    status: int
    content: bytes
    wait: str | None


class Posting:
    """Asks one address, and again where it is busy; `fault` makes errors of what went wrong."""

    def __init__(
        self, url: str, key: str | None, bounds: PostingBounds, fault: Callable[..., Unavailable]
    ) -> None:
        """Connect with the first request; `key` travels in a header."""
        self._url = url
        self._headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._bounds = bounds
        self._fault = fault
        self._client: httpx2.AsyncClient | None = None

    async def post(self, body: Mapping[str, Any], *, probe: bool = False) -> bytes:
        """What was answered; a probe is one attempt, which takes no longer than a probe may.

        Raises:
            Unavailable: what `fault` makes of it.
        """
        attempts = 1 if probe else self._bounds.attempts
        seconds = min(self._bounds.timeout, PROBE_SECONDS) if probe else self._bounds.timeout
        for attempt in range(1, attempts + 1):
            last = attempt == attempts
            try:
                async with asyncio.timeout(seconds):
                    answer = await self._asked(body)
            except (httpx2.TransportError, TimeoutError) as error:
                if last:
                    raise self._fault("does not answer") from error
                await asyncio.sleep(self._pause(attempt, None))
                continue
            except (httpx2.RequestError, httpx2.InvalidURL) as error:
                raise self._fault("cannot be asked: look at its address") from error
            if answer.status == _OK:
                return answer.content
            if answer.status in _REFUSED:
                raise self._fault("refuses the key: set another", status=answer.status)
            if last or answer.status not in _AGAIN:
                raise self._fault("refuses to serve", status=answer.status)
            await asyncio.sleep(self._pause(attempt, answer.wait))
        raise self._fault("was not asked: allow at least one attempt")

    async def close(self) -> None:
        """Close the connection; closing twice is allowed."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _asked(self, body: Mapping[str, Any]) -> _Posted:
        if self._client is None:
            self._client = httpx2.AsyncClient(headers=self._headers, timeout=self._bounds.timeout)
        async with self._client.stream("POST", self._url, json=body) as answer:
            content = bytearray()
            async for piece in answer.aiter_bytes():
                content += piece
                if len(content) > self._bounds.most_bytes:
                    raise self._fault("answers more than is read")
            wait = answer.headers.get("retry-after")
            return _Posted(status=answer.status_code, content=bytes(content), wait=wait)

    def _pause(self, attempt: int, asked: str | None) -> float:
        pause = 0.25 * 2.0 ** (attempt - 1)
        try:
            wanted = float(asked) if asked is not None else 0.0
        except ValueError:
            wanted = 0.0
        if math.isfinite(wanted):
            pause = max(pause, wanted)
        return min(pause, self._bounds.patience)
