"""Blobs as objects under their owner and hash. A put is complete or absent."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from hashlib import sha256
from typing import Final
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import S3Store
from typing_extensions import override

from canonry.log.ports.ledger import Blobs, check_blob
from canonry.values.errors import InvalidInput, Unavailable

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_RETRIES: Final = 4  # object stores refuse requests while they are busy
_CHUNK: Final = 1000  # an object store lists at most 1,000 objects per request
_MISSING: Final = (NotFoundError, FileNotFoundError)


class ObjectStore:
    """A bucket, or one prefix of it. Credentials come from AWS's usual variables and files."""

    def __init__(self, url: str, endpoint: str | None = None) -> None:
        """Use `url`, as `s3://bucket/prefix`, at `endpoint`, or at Amazon if that is None.

        Raises:
            InvalidInput: `settings.malformed`, `url` is not the address of a bucket.
        """
        parts = urlsplit(url)
        if parts.scheme != "s3" or not parts.hostname or parts.query or parts.username:
            message = "files.url is invalid. Write s3://BUCKET or s3://BUCKET/PREFIX."
            raise InvalidInput("settings.malformed", message, path="files.url")
        self.url: Final = url
        self.store: Final = S3Store(
            parts.netloc,
            prefix=parts.path.strip("/") or None,
            config={} if endpoint is None else {"endpoint": endpoint},
            client_options={
                "allow_http": endpoint is not None and endpoint.startswith("http://"),
                "timeout": timedelta(seconds=60),
            },
            retry_config={"max_retries": _RETRIES, "retry_timeout": timedelta(seconds=10)},
        )

    async def list_owners(self) -> Sequence[str]:
        """Return the owners of any bytes, in order.

        Raises:
            Unavailable: `blobs.unreachable`.
        """
        with translated_errors():
            found = await obstore.list_with_delimiter_async(self.store)
        return sorted(prefix.rstrip("/") for prefix in found["common_prefixes"])

    def blobs_of(self, owner: str) -> "ObjectBlobs":
        """Return the blobs of one owner."""
        return ObjectBlobs(self, owner)


class ObjectBlobs(Blobs):
    """The blobs of one owner."""

    def __init__(self, objects: ObjectStore, owner: str) -> None:
        """Store blobs in `objects` under `owner`, a word without slashes."""
        self._store = objects.store
        self._owner = owner

    @override
    async def put_bytes(self, data: bytes) -> str:
        digest = sha256(data).hexdigest()
        with translated_errors():
            await obstore.put_async(self._store, self._path_of(digest), data)
        return digest

    @override
    async def get_bytes(self, digest: str) -> bytes:
        data: bytes | None = None
        if _DIGEST.fullmatch(digest):
            with suppress(*_MISSING), translated_errors():
                found = await obstore.get_async(self._store, self._path_of(digest))
                data = bytes(await found.bytes_async())
        return check_blob(data, digest)

    @override
    async def delete_bytes(self, digest: str) -> None:
        if _DIGEST.fullmatch(digest):
            with suppress(*_MISSING), translated_errors():  # not all stores report it
                await obstore.delete_async(self._store, self._path_of(digest))

    @override
    async def list_digests(self, *, after: str = "", limit: int) -> Sequence[str]:
        found: list[str] = []
        # Other objects in the folder are not blobs.
        with translated_errors():
            pages = obstore.list(
                self._store,
                prefix=self._owner,
                offset=self._path_of(after) if after else None,
                chunk_size=min(limit, _CHUNK),
            )
            async for page in pages:
                names = (each["path"].rpartition("/")[2] for each in page)
                found += (name for name in names if _DIGEST.fullmatch(name) and name > after)
                if len(found) >= limit:
                    break
        return sorted(found)[:limit]

    async def stored_at(self, digest: str) -> float | None:
        """Return when the bytes were last stored, in seconds since 1970, or None."""
        try:
            with translated_errors():
                found = await obstore.head_async(self._store, self._path_of(digest))
        except _MISSING:
            return None
        return found["last_modified"].timestamp()

    def _path_of(self, digest: str) -> str:
        return f"{self._owner}/{digest}"


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise Canonry's errors in place of the library's, except for missing objects."""
    try:
        yield
    except _MISSING:
        raise
    except (BaseError, OSError) as error:
        message = (
            "The object store does not answer or refuses. Check that it runs and has room. Check "
            "files.url, files.endpoint, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
        )
        raise Unavailable("blobs.unreachable", message) from error
