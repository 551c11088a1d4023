"""The source of what a user says in so many words: records, a correction, a reading settled."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from canonry.canon.session.account import Account
from canonry.log.items.accounts import source_id_of
from canonry.log.items.sources import SourceDraft, SourceType
from canonry.values.provenance import CanonLevel


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
