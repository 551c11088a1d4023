"""Embedders: adapters that turn texts into vectors. None is required; each names its model.

Rerankers, which order the first passages again, are here as well.
"""

from canonry.recall.embedders.embedding import HashingEmbedder as HashingEmbedder
from canonry.recall.embedders.embedding import HubEmbedder as HubEmbedder
from canonry.recall.embedders.embedding import Library as Library
from canonry.recall.embedders.embedding import Prefixes as Prefixes
from canonry.recall.embedders.embedding import multilingual_embedder as multilingual_embedder
from canonry.recall.embedders.onnx import MINILM as MINILM
from canonry.recall.embedders.onnx import OnnxEmbedder as OnnxEmbedder
from canonry.recall.embedders.openai_compatible import Endpoint as Endpoint
from canonry.recall.embedders.openai_compatible import EndpointReranker as EndpointReranker
from canonry.recall.embedders.openai_compatible import (
    OpenAICompatibleEmbedder as OpenAICompatibleEmbedder,
)
from canonry.recall.embedders.openai_compatible import RerankingDialect as RerankingDialect
from canonry.recall.embedders.openai_compatible import RerankingEndpoint as RerankingEndpoint
