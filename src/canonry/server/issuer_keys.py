"""The keys of an issuer of tokens."""

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import httpx2
import jwt

from canonry.models.outside_services import PROBE_SECONDS, OutsideService
from canonry.values.errors import Unavailable
from canonry.values.json_values import decode_json

UNKNOWN_KEY_SECONDS: Final = 10.0
"""Tokens with unknown keys cause at most one fetch in so long."""

WAIT_SECONDS: Final = 1.0
"""A token whose key is unknown waits so long for the fetch that is under way."""

RETRY_SECONDS: Final = 5
"""After so long a client may show a token again that could not be verified."""

_BYTES_MAX: Final = 1 << 20
_OK: Final = 200


class IssuerKeys:
    """The last known keys of an issuer, by their ids; no call waits for the issuer for long."""

    def __init__(
        self,
        url: str,
        service: OutsideService,
        *,
        trusted_seconds: float,
        refresh_seconds: float,
        unknown_key_seconds: float = UNKNOWN_KEY_SECONDS,
    ) -> None:
        """Fetch nothing yet, then every `refresh_seconds`.

        Keys count for `trusted_seconds` after they were last fetched.
        """
        self._url = url
        self._service = service
        self._trusted_seconds = trusted_seconds
        self._refresh_seconds = refresh_seconds
        self._unknown_key_seconds = unknown_key_seconds
        self._keys: Mapping[str, Any] = {}
        self._fetched_at = self._tried_at = float("-inf")
        self._loop: asyncio.Task[None] | None = None
        self._fetching: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begin to fetch the keys in the background, unless that has begun."""
        if self._loop is None or self._loop.done():
            self._loop = asyncio.create_task(self._keep_fetching())

    async def close(self) -> None:
        """End what runs in the background."""
        for task in (self._loop, self._fetching):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        await self._service.close()

    @property
    def are_known(self) -> bool:
        """Whether there are keys that count."""
        return bool(self._keys) and _now() - self._fetched_at < self._trusted_seconds

    async def key(self, key_id: str) -> Any:
        """The key of that id, None if the issuer has none.

        Raises:
            Unavailable: `bearer.unverifiable`, the issuer's keys are not known, or not all.
        """
        self.begin()
        if (found := self._known(key_id)) is not None:
            return found
        fetching = self._fetch_for_unknown()
        if not fetching.done() and self._service.fault is None:
            await asyncio.wait({fetching}, timeout=WAIT_SECONDS)
        found = self._known(key_id)
        if found is None and not (fetching.done() and self.are_known and not self._service.fault):
            raise unverifiable("does not answer")
        return found

    def _known(self, key_id: str) -> Any:
        return self._keys.get(key_id) if self.are_known else None

    def _fetch_for_unknown(self) -> asyncio.Task[None]:
        """The newest fetch; another one is begun where the last one was long enough ago."""
        last = self._fetching
        if last is not None and _now() - self._tried_at < self._unknown_key_seconds:
            return last
        return self._fetch_now()

    async def _keep_fetching(self) -> None:
        while True:
            await asyncio.shield(self._fetch_now())
            await asyncio.sleep(self._refresh_seconds)

    def _fetch_now(self) -> asyncio.Task[None]:
        if self._fetching is None or self._fetching.done():
            self._fetching = asyncio.create_task(self._refresh())
        return self._fetching

    async def _refresh(self) -> None:
        """Ask the issuer; where that fails, the service's probes go on."""
        self._tried_at = _now()
        with suppress(Unavailable):
            await self._service.ask(self._fetch, self._fetch)

    async def _fetch(self) -> None:
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                content = await self._content()
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, TimeoutError) as error:
            raise unverifiable("does not answer") from error
        try:
            usable = jwt.PyJWKSet.from_dict(decode_json(content)).keys
            keys = {
                each.key_id: each
                for each in usable
                if each.key_id and each.public_key_use in {None, "sig"}
            }
        except (jwt.PyJWTError, LookupError, TypeError, AttributeError, ValueError, RecursionError):
            keys = {}
        if not keys:
            raise unverifiable("answers with something that is no set of keys")
        self._keys, self._fetched_at = keys, _now()

    async def _content(self) -> bytes:
        # The system's authorities, as an issuer may lie behind a company's own.
        context = await asyncio.to_thread(ssl.create_default_context)
        async with (
            httpx2.AsyncClient(timeout=PROBE_SECONDS, verify=context) as client,
            client.stream("GET", self._url, headers={"Accept": "application/json"}) as answer,
        ):
            if answer.status_code != _OK:
                raise unverifiable(f"answers with the status {answer.status_code}")
            content = bytearray()
            async for piece in answer.aiter_bytes():
                content += piece
                if len(content) > _BYTES_MAX:
                    raise unverifiable("answers more than is read")
        return bytes(content)


def unverifiable(what: str) -> Unavailable:
    """The error of a token that may be good, but cannot be verified now."""
    message = (
        f"the issuer of tokens {what} under auth.jwks_url, so that this token cannot be verified "
        f"now: send the request again in {RETRY_SECONDS} seconds"
    )
    return Unavailable("bearer.unverifiable", message, retry_after=RETRY_SECONDS)


def _now() -> float:
    return asyncio.get_running_loop().time()
