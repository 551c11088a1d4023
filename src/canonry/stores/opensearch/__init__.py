"""Keyword search in OpenSearch: `open_text` opens the text view on a server."""

from canonry.stores.opensearch.text import OpenSearchText, open_text

__all__ = ["OpenSearchText", "open_text"]
