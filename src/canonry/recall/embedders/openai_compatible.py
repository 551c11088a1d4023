"""An embedder behind any endpoint that speaks the OpenAI protocol for embeddings.

Requests are bounded in size, time and number; what the endpoint says never reaches a message.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import override

from canonry.models.outside_services import OutsideService
from canonry.readmodels.ports.embedder import Embedder, EmbeddingModel, Purpose, Vector
from canonry.recall.embedders.posting import Posting, PostingBounds
from canonry.recall.embedders.prefixes import Prefixes
from canonry.recall.embedders.unavailability import unavailable
from canonry.recall.embedders.unit_vectors import unit_vector
from canonry.values.errors import Unavailable
from canonry.values.json_values import decode_json


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


class OpenAICompatibleEmbedder(Embedder):
    """Asks for a batch at a time, and again where the endpoint is busy."""

    def __init__(self, endpoint: Endpoint, service: OutsideService | None = None) -> None:
        """Connect with the first request; `service` is what is known of the endpoint."""
        self._endpoint = endpoint
        self._model = EmbeddingModel(
            name=endpoint.model,
            version=endpoint.prefixes.versioned(endpoint.version),
            dimensions=endpoint.dimensions,
        )
        bounds = PostingBounds(
            timeout=endpoint.timeout,
            attempts=endpoint.attempts,
            patience=endpoint.patience,
            most_bytes=endpoint.most_bytes,
        )
        url = f"{endpoint.base_url.rstrip('/')}/embeddings"
        self._posting = Posting(url, endpoint.key, bounds, self._fault)
        self._service = service or OutsideService("embedder")

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
        await self._service.close()
        await self._posting.close()

    async def _batch(self, texts: Sequence[str]) -> Sequence[Vector]:
        return await self._service.ask(
            lambda: self._asked(texts), lambda: self._asked(["hello"], probe=True)
        )

    async def _asked(self, texts: Sequence[str], *, probe: bool = False) -> Sequence[Vector]:
        body: dict[str, Any] = {"model": self._model.name, "input": list(texts)}
        if self._endpoint.ask_dimensions:
            body["dimensions"] = self._model.dimensions
        return self._vectors(await self._posting.post(body, probe=probe), len(texts))

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

    def _fault(self, what: str, **details: Any) -> Unavailable:
        message = f"the endpoint for embeddings {what}"
        return unavailable(message, model=self._model.name, **details)
