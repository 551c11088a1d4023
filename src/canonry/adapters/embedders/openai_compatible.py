"""An embedder behind any endpoint that speaks the OpenAI protocol for embeddings.

Requests are bounded in size, time and number; what the endpoint says never reaches a message.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2
from typing_extensions import override

from canonry.adapters.embedders.prefixes import Prefixes
from canonry.adapters.embedders.unavailability import unavailable
from canonry.adapters.embedders.unit_vectors import unit_vector
from canonry.domain.errors import Unavailable
from canonry.domain.json_values import decode_json
from canonry.ports.embedder import Embedder, EmbeddingModel, Purpose, Vector

_OK: Final = 200
_AGAIN: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_REFUSED: Final = frozenset({401, 403})


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the model is and how it is asked.

    `ask_dimensions` sends the number of dimensions along, for models that can shorten theirs;
    `timeout` is the longest that one attempt may take, `patience` the longest wait between two;
    times are in seconds. `most_bytes` bounds an answer.
    """

    base_url: str
    model: str
    dimensions: int
    version: str = "1"
    key: str | None = field(default=None, repr=False)
    ask_dimensions: bool = False
    prefixes: Prefixes = field(default_factory=Prefixes)
    batch: int = 64
    timeout: float = 30.0
    attempts: int = 3
    patience: float = 8.0
    most_bytes: int = 1 << 26


@dataclass(frozen=True, slots=True, kw_only=True)
class _EmbeddingAnswer:
    status: int
    content: bytes
    wait: str | None


class OpenAICompatibleEmbedder(Embedder):
    """Asks for a batch at a time, and again where the endpoint is busy."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Connect with the first request."""
        self._endpoint = endpoint
        self._model = EmbeddingModel(
            name=endpoint.model,
            version=endpoint.prefixes.versioned(endpoint.version),
            dimensions=endpoint.dimensions,
        )
        self._url = f"{endpoint.base_url.rstrip('/')}/embeddings"
        self._client: httpx2.AsyncClient | None = None

    @property
    @override
    def model(self) -> EmbeddingModel:
        return self._model

    @override
    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        prefix = self._endpoint.prefixes.before(purpose)
        asked = [prefix + text for text in texts]
        found: list[Vector] = []
        for start in range(0, len(asked), self._endpoint.batch):
            found.extend(await self._batch(asked[start : start + self._endpoint.batch]))
        return found

    @override
    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _batch(self, texts: Sequence[str]) -> Sequence[Vector]:
        body: dict[str, Any] = {"model": self._model.name, "input": list(texts)}
        if self._endpoint.ask_dimensions:
            body["dimensions"] = self._model.dimensions
        for attempt in range(1, self._endpoint.attempts + 1):
            last = attempt == self._endpoint.attempts
            try:
                async with asyncio.timeout(self._endpoint.timeout):
                    answer = await self._asked(body)
            except (httpx2.TransportError, TimeoutError) as error:
                if last:
                    raise self._fault("does not answer") from error
                await asyncio.sleep(self._pause(attempt, None))
                continue
            except (httpx2.RequestError, httpx2.InvalidURL) as error:
                raise self._fault("cannot be asked: look at recall.url") from error
            if answer.status == _OK:
                return self._vectors(answer.content, len(texts))
            if last or answer.status not in _AGAIN:
                raise self._refusal(answer.status)
            await asyncio.sleep(self._pause(attempt, answer.wait))
        raise self._fault("was not asked: allow at least one attempt")

    async def _asked(self, body: Mapping[str, Any]) -> _EmbeddingAnswer:
        async with self._connection().stream("POST", self._url, json=body) as answer:
            content = bytearray()
            async for piece in answer.aiter_bytes():
                content += piece
                if len(content) > self._endpoint.most_bytes:
                    raise self._fault("answers more than vectors")
            wait = answer.headers.get("retry-after")
            return _EmbeddingAnswer(status=answer.status_code, content=bytes(content), wait=wait)

    def _connection(self) -> httpx2.AsyncClient:
        if self._client is None:
            key = self._endpoint.key
            headers = {} if key is None else {"Authorization": f"Bearer {key}"}
            self._client = httpx2.AsyncClient(headers=headers, timeout=self._endpoint.timeout)
        return self._client

    def _pause(self, attempt: int, asked: str | None) -> float:
        pause = 0.25 * 2.0 ** (attempt - 1)
        try:
            wanted = float(asked) if asked is not None else 0.0
        except ValueError:
            wanted = 0.0
        if math.isfinite(wanted):
            pause = max(pause, wanted)
        return min(pause, self._endpoint.patience)

    def _vectors(self, content: bytes, expected: int) -> Sequence[Vector]:
        try:
            entries = sorted(decode_json(content)["data"], key=lambda entry: int(entry["index"]))
            numbered = [int(entry["index"]) for entry in entries]
            rows = [[float(number) for number in entry["embedding"]] for entry in entries]
            if numbered != list(range(expected)):
                raise self._fault("left texts out")
            if any(len(row) != self._model.dimensions for row in rows):
                raise self._fault("makes vectors of another size: set its dimensions")
            return [unit_vector(row) for row in rows]
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise self._fault("answers what is not understood") from error

    def _refusal(self, status: int) -> Unavailable:
        if status in _REFUSED:
            return self._fault("refuses the key: set another", status=status)
        return self._fault("refuses to serve", status=status)

    def _fault(self, what: str, **details: Any) -> Unavailable:
        message = f"the endpoint for embeddings {what}"
        return unavailable(message, model=self._model.name, **details)
