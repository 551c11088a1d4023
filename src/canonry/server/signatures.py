"""Which signatures of tokens are trusted: known algorithms, with keys that cannot be guessed."""

import jwt

from canonry.bootstrap.token_settings import ALGORITHMS, SECRET_BYTES
from canonry.domain.errors import InvalidInput
from canonry.server.options import BearerOptions


def require_strong(options: BearerOptions) -> None:
    """Refuse algorithms and keys with which others could sign, or nobody.

    Raises:
        InvalidInput: `bearer.algorithm-unknown`, `bearer.key-public`, `bearer.key-short` or
            `bearer.key-unfit`.
    """
    if not options.algorithms or not set(options.algorithms) <= set(ALGORITHMS):
        message = f"tokens must be signed: name algorithms among {', '.join(ALGORITHMS)}"
        raise InvalidInput("bearer.algorithm-unknown", message, path="auth.algorithms")
    symmetric = [each for each in options.algorithms if each in SECRET_BYTES]
    if options.key is None:
        if symmetric:
            message = (
                f"{symmetric[0]} needs a secret, and the keys of auth.jwks_url are public: name "
                "algorithms with public keys, or give auth.key_file"
            )
            raise InvalidInput("bearer.key-public", message, path="auth.algorithms")
        return
    least = max((SECRET_BYTES[each] for each in symmetric), default=0)
    if len(options.key.strip().encode()) < least:
        message = (
            f"the shared secret is too short for {', '.join(symmetric)}: it needs {least} bytes "
            "or more, for example from `openssl rand -hex 64`"
        )
        raise InvalidInput("bearer.key-short", message, path="auth.key_file")
    if not any(_fits(options.key, each) for each in options.algorithms):
        message = (
            f"the key in auth.key_file fits none of {', '.join(options.algorithms)}: give the "
            "issuer's public key in PEM, or a shared secret with an HS algorithm"
        )
        raise InvalidInput("bearer.key-unfit", message, path="auth.key_file")


def _fits(key: str, algorithm: str) -> bool:
    try:
        jwt.get_algorithm_by_name(algorithm).prepare_key(key)
    except (jwt.PyJWTError, ValueError, TypeError):
        return False
    return True
