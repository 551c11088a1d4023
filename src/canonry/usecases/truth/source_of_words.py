"""The source of what a user says in so many words: records, a correction, a reading settled."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from canonry.domain.provenance import CanonLevel
from canonry.domain.things.sources import SourceDraft, SourceType
from canonry.domain.truth.accounts import source_id_of
from canonry.usecases.kernel.account import Account


def source_of_words(
    account: Account,
    source_type: SourceType,
    content: bytes,
    properties: Mapping[str, Any] | None = None,
) -> SourceDraft:
    """A source that holds its JSON itself; the same words of one user are the same source."""
    digest = sha256(content).hexdigest()
    return SourceDraft(
        id=source_id_of(account.user_id, digest),
        space=account.space,
        doc_id=digest,
        title="",
        edition=None,
        origin=None,
        source_type=source_type,
        level=CanonLevel.CANON,
        content_hash=digest,
        mime_type="application/json",
        size=len(content),
        content=content.decode(),
        properties=dict(properties or {}),
    )
