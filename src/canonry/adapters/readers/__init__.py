"""Document readers: plain text and Markdown in this process, PDF in one of its own."""

from canonry.adapters.readers.reader import LocalReader

__all__ = ["LocalReader"]
