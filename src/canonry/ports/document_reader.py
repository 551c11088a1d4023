"""The document reader: the text of a file that somebody gave us, part by part; trust nothing."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from canonry.domain.excerpts import DocumentType, Part


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLimits:
    """How large a document may be, and how long reading it may take."""

    bytes: int = 32 * 1024 * 1024
    pages: int = 2_000
    characters: int = 8_000_000
    seconds: float = 300.0


class DocumentReader(Protocol):
    """Reads plain text, Markdown and PDF; a document that takes too long or too much is refused."""

    @abstractmethod
    async def read(
        self, data: bytes, kind: DocumentType, *, charset: str | None = None
    ) -> Sequence[Part]:
        """The parts in reading order: the pages of a PDF, the sections of Markdown.

        A text is decoded by its byte order mark, else by `charset`, else as UTF-8, and never by a
        guess. No part holds a NUL or half a surrogate pair, and at least one says something.

        Raises:
            InvalidInput: `document.empty`, there is no text in it; `document.not-text`, it holds
                NUL; `document.encoding`, it is not in that encoding; `document.damaged`;
                `document.encrypted`; `document.too-large`, with `limit`.
            Unavailable: `document.too-slow`, reading was stopped.
        """
