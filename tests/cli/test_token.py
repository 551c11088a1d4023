"""`canonry token`: what it signs, the server reads as the same caller; what it cannot, it says."""

import asyncio
from pathlib import Path

import jwt
import pytest

from canonry.gateway.principal import Principal
from canonry.log.items.sources import user_id_of
from canonry.server.identity import BearerVerifier, principal_of
from canonry.server.options import BearerOptions
from canonry.values.ids import SpaceId
from canonry.values.provenance import Authority
from tests.cli.run import Done, run_canonry

SECRET = "0123456789abcdef0123456789abcdef"
SPACE = SpaceId("01890a5d-ac96-774b-bcce-b302099a8057")
OPTIONS = BearerOptions(
    issuer="https://here.example",
    audience="canonry",
    resource_url="http://127.0.0.1:8000/mcp",
    key=SECRET,
    jwks_url=None,
    algorithms=("HS256",),
    required_scopes=("canon",),
)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text(SECRET)
    path = tmp_path / "canonry.toml"
    path.write_text(
        f"""
[auth]
issuer = "{OPTIONS.issuer}"
audience = "canonry"
key_file = "{tmp_path / "secret"}"
algorithms = ["HS256"]
scopes = ["canon"]
"""
    )
    return path


def run_token(config: Path, *words: str) -> Done:
    return run_canonry("token", *words, "--config", str(config))


def read_principal(text: str) -> Principal:
    """Return the principal that the verifier of the server reads from the token."""
    access = asyncio.run(BearerVerifier(OPTIONS).verify_token(text.strip()))
    assert access is not None
    assert access.scopes == ["canon"]
    return principal_of(access.claims or {})


def test_the_server_reads_the_identity_of_a_token(config: Path) -> None:
    words = ("anna", "--agent-type", "Contributor", "--authority", "player", "--space", SPACE)
    done = run_token(config, *words, "--character", SPACE, "--world", SPACE, "--days", "2")

    assert done.returncode == 0, done.stderr
    assert read_principal(done.stdout) == Principal(
        agent_id="anna",
        agent_type="Contributor",
        user=user_id_of("anna"),
        spaces=frozenset((SPACE,)),
        world=SPACE,
        authorities=frozenset((Authority.PLAYER,)),
        characters=frozenset((SPACE,)),
    )
    said = jwt.decode(done.stdout.strip(), options={"verify_signature": False})
    assert said["exp"] - said["iat"] == 2 * 86_400


@pytest.mark.parametrize(
    ("agent_type", "authorities"),
    [("Contributor", frozenset(Authority) - {Authority.GM}), ("Keeper", frozenset(Authority))],
)
def test_a_keeper_token_may_claim_every_authority(
    config: Path, agent_type: str, authorities: frozenset[Authority]
) -> None:
    assert (
        read_principal(run_token(config, "b", "--agent-type", agent_type).stdout).authorities
        == authorities
    )


def test_a_token_may_claim_no_authority_and_use_another_account(config: Path) -> None:
    words = ("bot", "--agent-type", "Reader", "--no-authority", "--user", SPACE)
    who = read_principal(run_token(config, *words).stdout)

    assert who.authorities == frozenset()
    assert who.user == SPACE
    assert who.spaces is None
    assert who.missing == ()


def test_an_unknown_agent_type_is_refused(config: Path) -> None:
    done = run_token(config, "anna", "--agent-type", "Contributer", "--authority", "player")

    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean Contributor?" in done.stderr


def test_a_server_without_own_keys_makes_no_tokens(config: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.toml"
    empty.write_text("")
    without = run_token(empty, "anna", "--agent-type", "Reader")
    assert (without.returncode, without.stdout) == (2, "")
    assert "token.unverified" in without.stderr

    keys = config.read_text().splitlines()
    others = [line for line in keys if not line.startswith(("key_file", "algorithms"))]
    config.write_text("\n".join([*others, 'jwks_url = "https://here.example/keys"']))
    foreign = run_token(config, "anna", "--agent-type", "Reader")
    assert (foreign.returncode, foreign.stdout) == (2, "")
    assert "token.foreign" in foreign.stderr


def test_a_short_secret_signs_nothing(config: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("short")
    done = run_token(config, "anna", "--agent-type", "Reader")

    assert done.returncode == 2
    assert "bearer.key-short" in done.stderr
    assert run_token(config, "anna", "--agent-type", "Reader", "--space", "Home").returncode == 2
