"""Document readers: plain and structured text in this process, everything else in its own."""

from canonry.documents.readers.reader import LocalReader

__all__ = ["LocalReader"]
