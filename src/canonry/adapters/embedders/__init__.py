"""Embedders: adapters that turn texts into vectors; each names its model, and none is required."""

from canonry.adapters.embedders.hashing import HashingEmbedder
from canonry.adapters.embedders.hub import HubEmbedder, Library
from canonry.adapters.embedders.onnx import OnnxEmbedder
from canonry.adapters.embedders.openai_compatible import Endpoint, OpenAICompatibleEmbedder
from canonry.adapters.embedders.pinned import MINILM
from canonry.adapters.embedders.prefixes import Prefixes

__all__ = [
    "MINILM",
    "Endpoint",
    "HashingEmbedder",
    "HubEmbedder",
    "Library",
    "OnnxEmbedder",
    "OpenAICompatibleEmbedder",
    "Prefixes",
]
