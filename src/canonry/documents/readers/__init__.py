"""Document readers: text and structured text in this process, other files in a separate one."""

from canonry.documents.readers.reader import LocalReader

__all__ = ["LocalReader"]
