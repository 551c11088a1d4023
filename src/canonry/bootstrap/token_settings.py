"""How tokens may be signed: the algorithms of RFC 7518 and 8037, and how long a secret must be."""

from typing import Final

SECRET_BYTES: Final = {"HS256": 32, "HS384": 48, "HS512": 64}
"""The least length of a shared secret, by RFC 7518, section 3.2."""

ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "ES256K", "EdDSA"),
    *SECRET_BYTES,
)
