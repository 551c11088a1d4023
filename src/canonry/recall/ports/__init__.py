"""What search asks of a reranker."""
