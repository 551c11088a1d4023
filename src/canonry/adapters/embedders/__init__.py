"""Embedders: adapters that turn texts into vectors; each names its model, and none is required.

Beside them stands what takes a second look at what they found.
"""

from canonry.adapters.embedders.hashing import HashingEmbedder
from canonry.adapters.embedders.hub import HubEmbedder, Library, multilingual
from canonry.adapters.embedders.onnx import OnnxEmbedder
from canonry.adapters.embedders.openai_compatible import Endpoint, OpenAICompatibleEmbedder
from canonry.adapters.embedders.pinned import MINILM
from canonry.adapters.embedders.prefixes import Prefixes
from canonry.adapters.embedders.reranking import (
    EndpointReranker,
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
