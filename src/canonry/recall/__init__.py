"""Search by words and by meaning."""
