"""Links to stored files: a storage key, an end and a signature over both, and nothing else.

A link tells who signed it and until when it holds; it never tells where the file lies.
"""

import hmac
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from canonry.values.ids import is_uuid
from canonry.values.moments import SECOND, Instant

EXPIRY_MIN: Final = 1
EXPIRY_MAX: Final = 7 * 86_400
EXPIRY_DEFAULT: Final = 3_600
"""How long a link may hold, in seconds."""

BUCKET: Final = "files"
KEY_BYTES: Final = 32
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_SIGNATURE: Final = re.compile(r"[0-9a-f]{64}")
_EXPIRES: Final = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageKey:
    """The name of a stored file: a bucket, whose it is, and the hash of its bytes."""

    user_id: str
    digest: str
    bucket: str = BUCKET

    def __str__(self) -> str:
        return f"{self.bucket}/{self.user_id}/{self.digest}"


def is_bucket(name: str) -> bool:
    """Whether files may be kept under this name."""
    return _BUCKET.fullmatch(name) is not None


def storage_key(text: str) -> StorageKey | None:
    """The storage key that a text is, if it is one."""
    bucket, _, rest = text.strip().strip("/").partition("/")
    user_id, _, digest = rest.partition("/")
    if is_bucket(bucket) and is_uuid(user_id) and _DIGEST.fullmatch(digest):
        return StorageKey(bucket=bucket, user_id=user_id.lower(), digest=digest)
    return None


def link_to(key: StorageKey, secret: bytes, expires: Instant) -> str:
    """The path and query of a link that holds until `expires`, to the second."""
    until = str(expires // SECOND)
    signature = _signed(key, secret, until)
    return f"/{BUCKET}/{key.user_id}/{key.digest}?expires={until}&signature={signature}"


def holds(key: StorageKey, secret: bytes, expires: str, signature: str, now: Instant) -> bool:
    """Whether a link was signed with `secret` and has not ended.

    The signature is compared in a time that does not tell how much of it is right.
    """
    if not _EXPIRES.fullmatch(expires) or not _SIGNATURE.fullmatch(signature):
        return False
    signed = hmac.compare_digest(_signed(key, secret, expires), signature)
    return signed and now < int(expires) * SECOND


def _signed(key: StorageKey, secret: bytes, expires: str) -> str:
    said = f"{key.user_id}\n{key.digest}\n{expires}"
    return hmac.new(secret, said.encode(), sha256).hexdigest()
