"""What an embedder says when it cannot serve: one code, and a message that names the remedy."""

from typing import Any

from canonry.values.errors import Unavailable


def unavailable(message: str, **details: Any) -> Unavailable:
    """The error of every embedder; search goes on with words alone."""
    return Unavailable("embedder.unavailable", message, **details)
