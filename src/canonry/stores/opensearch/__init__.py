"""Keyword search in OpenSearch: `open_text` opens the text view on a server."""

from canonry.stores.opensearch.text import OpenSearchText as OpenSearchText
from canonry.stores.opensearch.text import open_text as open_text
