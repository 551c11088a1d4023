"""What tokens may say, and how they may be signed: the algorithms of RFC 7518 and 8037."""

from typing import Final

SECRET_BYTES: Final = {"HS256": 32, "HS384": 48, "HS512": 64}
"""The least length of a shared secret, by RFC 7518, section 3.2."""

EVERY_SPACE: Final = "*"
"""Among the spaces of a token it stands for all of them."""

ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "ES256K", "EdDSA"),
    *SECRET_BYTES,
)
