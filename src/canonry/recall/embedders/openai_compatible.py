"""Embedders and rerankers behind an endpoint."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any

from typing_extensions import override

from canonry.models.endpoint import Posting, PostingEndpoint, auth_headers
from canonry.models.outside_services import OutsideService
from canonry.readmodels.ports.text import Embedder, EmbeddingModel, Purpose, Reranker, Vector
from canonry.recall.embedders.embedding import Prefixes, embedder_error, unit_vector
from canonry.values.errors import Unavailable
from canonry.values.json_values import decode_json

# An embedder behind any endpoint of the OpenAI protocol for embeddings.
#
# Requests are bounded in size, time and number; the endpoint's text never reaches a message.


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint(PostingEndpoint):
    """The address of the model, its vectors, and the bounds of its requests."""

    model: str
    dimensions: int
    version: str = "1"
    prefixes: Prefixes = field(default_factory=Prefixes)
    batch: int = 64
    most_bytes: int = 1 << 26


class OpenAICompatibleEmbedder(Embedder):
    """Posts one batch at a time, and retries while the endpoint is busy."""

    def __init__(self, endpoint: Endpoint, service: OutsideService | None = None) -> None:
        """Connect with the first request; `service` records the state of the endpoint."""
        self._endpoint = endpoint
        self._model = EmbeddingModel(
            name=endpoint.model,
            version=endpoint.prefixes.version_with(endpoint.version),
            dimensions=endpoint.dimensions,
        )
        self._posting = Posting(endpoint, auth_headers(endpoint.key), self._endpoint_error)
        self._service = service or OutsideService("embedder")

    @property
    @override
    def model(self) -> EmbeddingModel:
        return self._model

    @override
    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        prefix = self._endpoint.prefixes.prefix_for(purpose)
        asked = [prefix + text for text in texts]
        found: list[Vector] = []
        for start in range(0, len(asked), self._endpoint.batch):
            ask = partial(self._ask_endpoint, asked[start : start + self._endpoint.batch])
            probe = partial(self._ask_endpoint, ["hello"], probe=True)
            found.extend(await self._service.run_work(ask, probe))
        return found

    @override
    async def close(self) -> None:
        await self._service.close()
        await self._posting.close()

    async def _ask_endpoint(self, texts: Sequence[str], *, probe: bool = False) -> Sequence[Vector]:
        body: dict[str, Any] = {"model": self._model.name, "input": list(texts)}
        seconds = self._posting.request_seconds(probe=probe)
        answer = await self._posting.send_request("/embeddings", body, probe=probe, seconds=seconds)
        try:
            entries = sorted(decode_json(answer)["data"], key=lambda entry: int(entry["index"]))
            numbered = [int(entry["index"]) for entry in entries]
            rows = [[float(number) for number in entry["embedding"]] for entry in entries]
            if numbered != list(range(len(texts))):
                raise self._endpoint_error("left out some texts")
            if any(len(row) != self._model.dimensions for row in rows):
                raise self._endpoint_error(
                    "returns vectors of another size. Set recall.dimensions to it"
                )
            return [unit_vector(row) for row in rows]
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise self._endpoint_error("answers in an unknown format") from error

    def _endpoint_error(self, what: str, **details: Any) -> Unavailable:
        message = f"The endpoint for embeddings {what}."
        return embedder_error(message, model=self._model.name, **details)


# A reranker behind any endpoint of the common protocol.
#
# Cohere, Jina, vLLM, llama.cpp and Infinity use it: documents in, results with an index and a
# relevance out. Text Embeddings Inference calls them texts and scores.


class RerankingDialect(StrEnum):
    """The names of members in requests and answers."""

    COHERE = "cohere"
    TEI = "tei"


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankingEndpoint(PostingEndpoint):
    """The address of the model; a search has no time for a second attempt."""

    dialect: RerankingDialect = RerankingDialect.COHERE
    model: str | None = None
    timeout: float = 2.0
    attempts: int = 1
    most_bytes: int = 1 << 22


class EndpointReranker(Reranker):
    """Posts once, because a search has no time for retries."""

    def __init__(self, endpoint: RerankingEndpoint, service: OutsideService | None = None) -> None:
        """Connect with the first request; `service` records the state of the endpoint."""
        self._endpoint = endpoint
        self._posting = Posting(endpoint, auth_headers(endpoint.key), _reranker_error)
        self._service = service or OutsideService("reranker", failures=1)

    @override
    async def score_texts(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        return await self._service.run_work(
            lambda: self._ask_scores(question, texts),
            lambda: self._ask_scores("hello", ["hello"], probe=True),
        )

    @override
    async def close(self) -> None:
        await self._service.close()
        await self._posting.close()

    async def _ask_scores(
        self, question: str, texts: Sequence[str], *, probe: bool = False
    ) -> Sequence[float]:
        body, seconds = (
            self._request_body(question, list(texts)),
            self._posting.request_seconds(probe=probe),
        )
        expected = len(texts)
        answer = await self._posting.send_request("/rerank", body, probe=probe, seconds=seconds)
        try:
            decoded = decode_json(answer)
            rows = decoded["results"] if isinstance(decoded, dict) else decoded
            found = {
                int(row["index"]): float(
                    row["relevance_score"] if "relevance_score" in row else row["score"]
                )
                for row in rows
            }
            if len(rows) != expected or sorted(found) != list(range(expected)):
                raise _reranker_error("left out some texts")
            if not all(map(math.isfinite, found.values())):
                raise _reranker_error("returns a score that is not a number")
            return [found[number] for number in range(expected)]
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise _reranker_error("answers in an unknown format") from error

    def _request_body(self, question: str, texts: Sequence[str]) -> Mapping[str, Any]:
        match self._endpoint.dialect:
            case RerankingDialect.TEI:
                return {"query": question, "texts": texts, "truncate": True}
            case RerankingDialect.COHERE:
                body = {"query": question, "documents": texts, "top_n": len(texts)}
                model = self._endpoint.model
                return body if model is None else {"model": model, **body}


def _reranker_error(what: str, **details: Any) -> Unavailable:
    return Unavailable("reranker.unavailable", f"The endpoint for reranking {what}.", **details)
