"""Identity over HTTP: verify bearer tokens by the keys of their issuer."""

import asyncio
import hashlib
import ssl
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final

import httpx2
import jwt
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from starlette.responses import PlainTextResponse, Response
from starlette.types import Scope

from canonry.gateway.principal import Principal, is_name
from canonry.log.items.sources import user_id_of
from canonry.models.outside_services import PROBE_SECONDS, OutsideService, OutsideServices
from canonry.server.options import ALGORITHMS, EVERY_SPACE, SECRET_BYTES, BearerOptions
from canonry.values.errors import InvalidInput, Unavailable
from canonry.values.ids import SpaceId
from canonry.values.json_values import decode_json
from canonry.values.provenance import Authority

UNKNOWN_KEY_SECONDS: Final = 10.0
"""Tokens with unknown keys cause at most one fetch in this time."""

WAIT_SECONDS: Final = 1.0
"""A token with an unknown key waits this long for the fetch that is under way."""

RETRY_SECONDS: Final = 5
"""After this time, a client may send a token again that could not be verified."""

_BYTES_MAX: Final = 1 << 20  # a key set is small; its server may be replaced
_OK: Final = 200


@dataclass(eq=False)
class IssuerKeys:
    """The last known keys of an issuer by their ids; a call waits at most `WAIT_SECONDS` for it.

    They are fetched every `refresh_seconds`, and trusted for `trusted_seconds` after their last
    fetch.
    """

    url: str
    service: OutsideService
    _: KW_ONLY
    trusted_seconds: float
    refresh_seconds: float
    unknown_key_seconds: float = UNKNOWN_KEY_SECONDS
    _keys: Mapping[str, Any] = field(default_factory=dict)
    _fetched_at: float = float("-inf")
    _tried_at: float = float("-inf")
    _loop: asyncio.Task[None] | None = None
    _fetching: asyncio.Task[None] | None = None

    def start_fetching(self) -> None:
        """Begin to fetch the keys in the background, unless it has begun."""
        if self._loop is None or self._loop.done():
            self._loop = asyncio.create_task(self._keep_fetching())

    async def close(self) -> None:
        """End the background task."""
        for task in (self._loop, self._fetching):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        await self.service.close()

    @property
    def are_known(self) -> bool:
        """Return whether there are trusted keys."""
        return bool(self._keys) and _loop_time() - self._fetched_at < self.trusted_seconds

    async def find_key(self, key_id: str) -> Any:
        """Return the key of an id; None if the issuer has none.

        Raises:
            Unavailable: `bearer.unverifiable`, if the issuer's keys are unknown or incomplete.
        """
        self.start_fetching()
        if (found := self._trusted_key(key_id)) is not None:
            return found
        fetching = self._fetch_for_unknown()
        if not fetching.done() and self.service.fault is None:
            await asyncio.wait({fetching}, timeout=WAIT_SECONDS)
        found = self._trusted_key(key_id)
        if found is None and not (fetching.done() and self.are_known and not self.service.fault):
            raise unverifiable_error("does not answer")
        return found

    def _trusted_key(self, key_id: str) -> Any:
        return self._keys.get(key_id) if self.are_known else None

    def _fetch_for_unknown(self) -> asyncio.Task[None]:
        """Return the newest fetch; begin another one if the last one is old enough."""
        last = self._fetching
        if last is not None and _loop_time() - self._tried_at < self.unknown_key_seconds:
            return last
        return self._fetch_now()

    async def _keep_fetching(self) -> None:
        while True:
            await asyncio.shield(self._fetch_now())
            await asyncio.sleep(self.refresh_seconds)

    def _fetch_now(self) -> asyncio.Task[None]:
        if self._fetching is None or self._fetching.done():
            self._fetching = asyncio.create_task(self._refresh_keys())
        return self._fetching

    async def _refresh_keys(self) -> None:
        """Ask the issuer; if it fails, the probes of the service go on."""
        self._tried_at = _loop_time()
        with suppress(Unavailable):
            await self.service.run_work(self._fetch_keys, self._fetch_keys)

    async def _fetch_keys(self) -> None:
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                content = await self._fetch_content()
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, TimeoutError) as error:
            raise unverifiable_error("does not answer") from error
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
            raise unverifiable_error("does not answer with a set of keys")
        self._keys, self._fetched_at = keys, _loop_time()

    async def _fetch_content(self) -> bytes:
        # The system's certificate authorities, because a company may have its own for the issuer.
        context = await asyncio.to_thread(ssl.create_default_context)
        async with (
            httpx2.AsyncClient(timeout=PROBE_SECONDS, verify=context) as client,
            client.stream("GET", self.url, headers={"Accept": "application/json"}) as answer,
        ):
            if answer.status_code != _OK:
                raise unverifiable_error(f"answers with the status {answer.status_code}")
            content = bytearray()
            async for piece in answer.aiter_bytes():
                content += piece
                if len(content) > _BYTES_MAX:
                    raise unverifiable_error("answers with too many bytes")
        return bytes(content)


def unverifiable_error(what: str) -> Unavailable:
    """Return the error about a token that cannot be verified now, though it may be valid."""
    message = (
        f"The issuer of tokens {what} at auth.jwks_url, and this token cannot be verified. "
        f"Send the request again in {RETRY_SECONDS} seconds."
    )
    return Unavailable("bearer.unverifiable", message, retry_after=RETRY_SECONDS)


def _loop_time() -> float:
    return asyncio.get_running_loop().time()


_KEPT: Final = 1024  # bounds the memory of verified tokens
_KEPT_SECONDS: Final = 60.0  # a signature is not verified again for each call
_LONGEST_TOKEN: Final = 16_384  # refused before it is decoded


class BearerVerifier:
    """Verifies signature, issuer, audience and times of JSON Web Tokens.

    A verified token is remembered for a minute, because most requests repeat one. `keys` are the
    issuer's keys; None if the operator gave the key.
    """

    def __init__(self, options: BearerOptions, outside: OutsideServices | None = None) -> None:
        """Take the key, or find it by the token's `kid` in the issuer's key set.

        `outside` records failures of the issuer.

        Raises:
            InvalidInput: `bearer.key-missing`, unless exactly one of the two is given;
                `bearer.algorithm-unknown`, `bearer.key-public`, `bearer.key-short` or
                `bearer.key-unfit`, if others could sign, or every token would be refused.
        """
        if (options.key is None) == (options.jwks_url is None):
            message = "Set either auth.key_file or auth.jwks_url, to verify bearer tokens."
            raise InvalidInput("bearer.key-missing", message)
        require_strong(options)
        self._options = options
        self.keys: IssuerKeys | None = None
        if options.jwks_url:
            # One failure counts: a process that asks every few minutes does not wait for three.
            service = (outside or OutsideServices()).service_named("issuer", failures=1)
            self.keys = IssuerKeys(
                options.jwks_url,
                service,
                trusted_seconds=options.keys_seconds,
                refresh_seconds=options.refresh_seconds,
            )
        self._known: OrderedDict[bytes, tuple[float, AccessToken]] = OrderedDict()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the token's content; None if it is not valid or cannot be verified now."""
        with suppress(Unavailable):
            return await self.verify_bearer(token)
        return None

    async def verify_bearer(self, token: str) -> AccessToken | None:
        """Return the token's content; None if it is not valid.

        Raises:
            Unavailable: `bearer.unverifiable`, if the keys to verify it are not known now.
        """
        if len(token) > _LONGEST_TOKEN:
            return None
        now = asyncio.get_running_loop().time()
        name = hashlib.sha256(token.encode()).digest()
        known = self._known.get(name)
        if known is not None and known[0] > now:
            return known[1]
        claims = await self._read_claims(token)
        if claims is None:
            return None
        scope = claims.get("scope")
        subject = claims.get("sub")
        client = claims.get("client_id") or claims.get("azp") or subject
        access = AccessToken(
            token=token,
            client_id=str(client or ""),
            scopes=scope.split() if isinstance(scope, str) else [],
            expires_at=int(claims["exp"]),
            resource=self._options.resource_url,
            subject=str(subject) if subject is not None else None,
            claims=dict(claims),
        )
        self._known[name] = (now + _KEPT_SECONDS, access)
        self._known.move_to_end(name)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return access

    async def bearer_of(self, token: str, now: int) -> tuple[Principal, float] | None:
        """Return the principal of a token outside of a request, and its seconds from `now`.

        Raises:
            Unavailable: `bearer.unverifiable`.
        """
        access = await self.verify_bearer(token)
        if access is None or not set(self._options.required_scopes) <= set(access.scopes):
            return None
        return self.principal_in(access), float((access.expires_at or now) - now)

    async def refusal_for(self, scope: Scope) -> Response | None:
        """Return 503 for a request whose token cannot be verified now; None if it may go on."""
        shown = next((v for name, v in scope.get("headers", ()) if name == b"authorization"), b"")
        scheme, _, token = shown.decode("latin-1").partition(" ")
        if self.keys is None or scheme.lower() != "bearer":
            return None
        try:
            await self.verify_bearer(token)
        except Unavailable as error:
            headers = {"Retry-After": str(error.details["retry_after"])}
            return PlainTextResponse(f"{error.message} ({error.code})\n", 503, headers)
        return None

    def current_principal(self) -> Principal:
        """Return the principal of the request that is being served.

        The SDK has verified the token and put it into the context of the request.
        """
        return self.principal_in(get_access_token())

    def principal_in(self, access: AccessToken | None) -> Principal:
        """Return the principal of a verified token; without one, a principal without rights."""
        return principal_of((access and access.claims) or {}, self._options)

    async def _read_claims(self, token: str) -> Mapping[str, Any] | None:
        options = self._options
        try:
            key: Any = options.key
            if self.keys is not None:
                header = jwt.get_unverified_header(token)
                if header.get("alg") not in options.algorithms:
                    return None
                key = await self.keys.find_key(str(header.get("kid", "")))
            if key is None:
                return None
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=list(options.algorithms),
                issuer=options.issuer,
                audience=options.audience,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError):
            return None
        # Without a name, the principal would count as the one user of a local server.
        return claims if _user_of(claims) is not None else None


def principal_of(claims: Mapping[str, Any], options: BearerOptions | None = None) -> Principal:
    """Return the principal that verified claims describe.

    A token without an agent type or without spaces may call nothing, unless `options` has
    defaults for absent claims; an empty claim gets no default. A token without a claim about
    authorities has none. Its user is the claimed user or else its subject: two subjects never
    share an account. `characters` are ids of the characters whom the user plays; the token may
    read their secrets.
    """
    agent_id = claims.get("sub")
    agent_type, spaces = claims.get("agent_type"), claims.get("spaces")
    if options is not None:
        agent_type = options.default_agent_type if agent_type is None else agent_type
        spaces = list(options.default_spaces) if spaces is None else spaces
    named = is_name(agent_type) and bool(str(agent_type).strip())
    granted = frozenset(each.strip().lower() for each in _word_set(spaces)) - {""}
    user = _user_of(claims)
    world = claims.get("world")
    authorities = claims.get("authorities")
    return Principal(
        agent_id=agent_id if is_name(agent_id) else None,
        agent_type=str(agent_type) if named else None,
        user=None if user is None else user_id_of(user),
        spaces=None if EVERY_SPACE in granted else frozenset(map(SpaceId, granted)),
        world=SpaceId(world.lower()) if isinstance(world, str) else None,
        authorities=frozenset(each for each in Authority if each in _word_set(authorities)),
        characters=frozenset(each.lower() for each in _word_set(claims.get("characters") or ())),
        missing=(*(() if named else ("agent_type",)), *(() if granted else ("spaces",))),
    )


def mint_token(principal: Principal, options: BearerOptions, *, now: int, seconds: int) -> str:
    """Return a token for `seconds` from `now` that `principal_of` reads as this principal.

    Raises:
        InvalidInput: `token.foreign`, unless the server's key is a shared secret; and the codes
            of `require_strong`.
    """
    require_strong(options)
    algorithm = next((each for each in options.algorithms if each in SECRET_BYTES), None)
    if options.key is None or algorithm is None:
        message = (
            "Only the issuer can sign tokens of this server. Ask the issuer for a token, or set a "
            "shared secret in auth.key_file and an HS algorithm in auth.algorithms."
        )
        raise InvalidInput("token.foreign", message, path="auth.key_file")
    claims = {
        "iss": options.issuer,
        "aud": options.audience,
        "iat": now,
        "exp": now + seconds,
        "sub": principal.agent_id,
        "agent_type": principal.agent_type,
        "authorities": sorted(principal.authorities or ()),
        "user_id": principal.user,
        "spaces": [EVERY_SPACE] if principal.spaces is None else sorted(principal.spaces),
        "characters": sorted(principal.characters) or None,
        "world": principal.world,
        "scope": " ".join(options.required_scopes) or None,
    }
    stated = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(stated, options.key, algorithm=algorithm)


def _user_of(claims: Mapping[str, Any]) -> str | None:
    """Return the user on whose behalf the token calls, by the first claim that names one."""
    named = (claims.get(name) for name in ("user_id", "sub", "client_id", "azp"))
    return next((each for each in named if isinstance(each, str) and each.strip()), None)


def require_strong(options: BearerOptions) -> None:
    """Refuse algorithms and keys with which others, or no issuer, could sign.

    Raises:
        InvalidInput: `bearer.algorithm-unknown`, `bearer.key-public`, `bearer.key-short` or
            `bearer.key-unfit`.
    """
    if not options.algorithms or not set(options.algorithms) <= set(ALGORITHMS):
        message = (
            f"Tokens must be signed. Set auth.algorithms to one or more of {', '.join(ALGORITHMS)}."
        )
        raise InvalidInput("bearer.algorithm-unknown", message, path="auth.algorithms")
    symmetric = [each for each in options.algorithms if each in SECRET_BYTES]
    if options.key is not None:
        _require_long(options.key, symmetric)
        _require_fitting(options.key, options.algorithms)
    elif symmetric:
        raise _public_key_error(symmetric[0])


def _public_key_error(algorithm: str) -> InvalidInput:
    message = (
        f"{algorithm} needs a shared secret, but the keys of auth.jwks_url are public. Set "
        "auth.algorithms to algorithms with public keys, or set auth.key_file."
    )
    return InvalidInput("bearer.key-public", message, path="auth.algorithms")


def _require_long(key: str, symmetric: Sequence[str]) -> None:
    least = max((SECRET_BYTES[each] for each in symmetric), default=0)
    if len(key.strip().encode()) < least:
        message = (
            f"The secret in auth.key_file is too short for {', '.join(symmetric)}. It needs at "
            f"least {least} bytes. To make one: openssl rand -hex 64"
        )
        raise InvalidInput("bearer.key-short", message, path="auth.key_file")


def _require_fitting(key: str, algorithms: Sequence[str]) -> None:
    if not any(_is_usable(key, each) for each in algorithms):
        message = (
            f"The key in auth.key_file fits none of {', '.join(algorithms)}. Store the issuer's "
            "public key in PEM there, or a shared secret with an HS algorithm."
        )
        raise InvalidInput("bearer.key-unfit", message, path="auth.key_file")


def _is_usable(key: str, algorithm: str) -> bool:
    try:
        jwt.get_algorithm_by_name(algorithm).prepare_key(key)
    except (jwt.PyJWTError, ValueError, TypeError):
        return False
    return True


def auth_settings(options: BearerOptions) -> AuthSettings:
    """Return the SDK's settings for clients that look for the issuer of tokens."""
    # From text: a URL object would add a slash to the issuer.
    return AuthSettings.model_validate(
        {
            "issuer_url": options.issuer,
            "resource_server_url": options.resource_url,
            "required_scopes": list(options.required_scopes) or None,
            "validate_token_resource": False,  # the verifier checks the audience itself
        }
    )


def _word_set(value: object) -> frozenset[str]:
    if isinstance(value, str):
        return frozenset(value.split())
    if isinstance(value, list):
        return frozenset(each for each in value if isinstance(each, str))
    return frozenset()
