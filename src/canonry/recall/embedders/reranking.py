"""A reranker behind any endpoint that speaks the common protocol for it.

Cohere began it, and Jina, vLLM, llama.cpp and Infinity speak it too: documents in, results with an
index and a relevance out. Text Embeddings Inference says texts and scores for the same.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from typing_extensions import override

from canonry.models.outside_services import OutsideService
from canonry.recall.embedders.posting import Posting, PostingBounds
from canonry.recall.ports.reranker import Reranker
from canonry.values.errors import Unavailable
from canonry.values.json_values import decode_json


class RerankingDialect(StrEnum):
    """How an endpoint wants to be asked."""

    COHERE = "cohere"
    TEI = "tei"


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankingEndpoint:
    """Where the model is; `timeout` is the longest that an answer may take, in seconds."""

    base_url: str
    dialect: RerankingDialect = RerankingDialect.COHERE
    model: str | None = None
    key: str | None = field(default=None, repr=False)
    timeout: float = 2.0
    most_bytes: int = 1 << 22


class EndpointReranker(Reranker):
    """Asks once: whoever waits for a search has no time for more."""

    def __init__(self, endpoint: RerankingEndpoint, service: OutsideService | None = None) -> None:
        """Connect with the first request; `service` is what is known of the endpoint."""
        self._endpoint = endpoint
        bounds = PostingBounds(
            timeout=endpoint.timeout, attempts=1, patience=0.0, most_bytes=endpoint.most_bytes
        )
        url = f"{endpoint.base_url.rstrip('/')}/rerank"
        self._posting = Posting(url, endpoint.key, bounds, _fault)
        self._service = service or OutsideService("reranker")

    @override
    async def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        return await self._service.ask(
            lambda: self._asked(question, texts),
            lambda: self._asked("hello", ["hello"], probe=True),
        )

    @override
    async def close(self) -> None:
        await self._service.close()
        await self._posting.close()

    async def _asked(
        self, question: str, texts: Sequence[str], *, probe: bool = False
    ) -> Sequence[float]:
        body = self._body(question, list(texts))
        return _scores(await self._posting.post(body, probe=probe), len(texts))

    def _body(self, question: str, texts: Sequence[str]) -> Mapping[str, Any]:
        match self._endpoint.dialect:
            case RerankingDialect.TEI:
                return {"query": question, "texts": texts, "truncate": True}
            case RerankingDialect.COHERE:
                body = {"query": question, "documents": texts, "top_n": len(texts)}
                return (
                    body
                    if self._endpoint.model is None
                    else {"model": self._endpoint.model, **body}
                )


def _scores(content: bytes, expected: int) -> Sequence[float]:
    try:
        told = decode_json(content)
        rows = told["results"] if isinstance(told, dict) else told
        found = {
            int(row["index"]): float(
                row["relevance_score"] if "relevance_score" in row else row["score"]
            )
            for row in rows
        }
        if len(rows) != expected or sorted(found) != list(range(expected)):
            raise _fault("left texts out")
        if not all(map(math.isfinite, found.values())):
            raise _fault("answers what is no figure")
        return [found[number] for number in range(expected)]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise _fault("answers what is not understood") from error


def _fault(what: str, **details: Any) -> Unavailable:
    return Unavailable("reranker.unavailable", f"the endpoint for reranking {what}", **details)
