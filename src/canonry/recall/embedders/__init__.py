"""Embedders: adapters that turn texts into vectors; each names its model, and none is required.

Beside them stands what takes a second look at what they found.
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
