"""Embedders: adapters that turn texts into vectors; each names its model, and none is required."""

from canonry.adapters.embedders.hashing import HashingEmbedder
from canonry.adapters.embedders.hub import HubEmbedder, Library
from canonry.adapters.embedders.onnx import OnnxEmbedder
from canonry.adapters.embedders.openai_compatible import Endpoint, OpenAICompatibleEmbedder

__all__ = [
    "Endpoint",
    "HashingEmbedder",
    "HubEmbedder",
    "Library",
    "OnnxEmbedder",
    "OpenAICompatibleEmbedder",
]
