"""Embedders: adapters that turn texts into vectors. None is required; each names its model.

Rerankers, which order the first passages again, are here as well.
"""

from canonry.recall.embedders.embedding import (
    HashingEmbedder,
    HubEmbedder,
    Library,
    Prefixes,
    multilingual,
)
from canonry.recall.embedders.onnx import MINILM, OnnxEmbedder
from canonry.recall.embedders.openai_compatible import (
    Endpoint,
    EndpointReranker,
    OpenAICompatibleEmbedder,
    RerankingDialect,
    RerankingEndpoint,
)

__all__ = [
    "MINILM",
    "Endpoint",
    "EndpointReranker",
    "HashingEmbedder",
    "HubEmbedder",
    "Library",
    "OnnxEmbedder",
    "OpenAICompatibleEmbedder",
    "Prefixes",
    "RerankingDialect",
    "RerankingEndpoint",
    "multilingual",
]
