"""The variables that hold secrets, which stand in the environment and nowhere else."""

from typing import Final

KEY_VARIABLE: Final = "CANONRY_RECALL_KEY"
"""The key of an endpoint for embeddings: a secret stands in the environment and nowhere else."""

RERANK_KEY_VARIABLE: Final = "CANONRY_RERANK_KEY"
"""The key of an endpoint for reranking."""

MODEL_KEY_VARIABLE: Final = "CANONRY_TRUTH_KEY"
"""The key of an endpoint for a language model."""

DIALOGUE_KEY_VARIABLE: Final = "CANONRY_DIALOGUE_KEY"
"""The key of the endpoint for characters that speak."""

FILES_KEY_VARIABLE: Final = "CANONRY_FILES_KEY"
"""What signs links to files, where several servers must sign alike; else each store has its own."""

MONGODB_PASSWORD_VARIABLE: Final = "CANONRY_MONGODB_PASSWORD"  # noqa: S105 - its name
"""The password of the user whom `mongodb.url` names."""

NEO4J_PASSWORD_VARIABLE: Final = "CANONRY_NEO4J_PASSWORD"  # noqa: S105 - its name
"""The password of the user whom `neo4j.url` names."""

OPENSEARCH_PASSWORD_VARIABLE: Final = "CANONRY_OPENSEARCH_PASSWORD"  # noqa: S105 - its name
"""The password of the user whom `opensearch.url` names."""

QDRANT_KEY_VARIABLE: Final = "CANONRY_QDRANT_KEY"
"""The key of the server of `qdrant.url`."""

SECRETS: Final = frozenset(
    {
        KEY_VARIABLE,
        RERANK_KEY_VARIABLE,
        MODEL_KEY_VARIABLE,
        DIALOGUE_KEY_VARIABLE,
        FILES_KEY_VARIABLE,
        MONGODB_PASSWORD_VARIABLE,
        NEO4J_PASSWORD_VARIABLE,
        OPENSEARCH_PASSWORD_VARIABLE,
        QDRANT_KEY_VARIABLE,
    }
)
