"""Links to files: they hold for one file until they end, and nothing of them can be changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.records.usecases.files import StorageKey, holds, link_to, storage_key
from canonry.values.moments import SECOND, Instant

USER = "00000000-0000-0000-0000-000000000001"
KEY = StorageKey(user_id=USER, digest="a" * 64)
SECRET = b"k" * 32
END = Instant(1_000 * SECOND)


def link_parts(link: str) -> tuple[str, str, str]:
    """Path, end and signature of a link."""
    path, _, query = link.partition("?")
    expires, _, signature = query.partition("&")
    return path, expires.removeprefix("expires="), signature.removeprefix("signature=")


def test_a_link_is_valid_until_it_expires() -> None:
    path, expires, signature = link_parts(link_to(KEY, SECRET, END))

    assert path == f"/files/{USER}/{'a' * 64}"
    assert storage_key(path) == KEY
    assert holds(KEY, SECRET, expires, signature, Instant(END - 1))
    assert not holds(KEY, SECRET, expires, signature, END)


@pytest.mark.parametrize(
    ("key", "secret", "later"),
    [
        (StorageKey(user_id=USER, digest="b" * 64), SECRET, 0),
        (StorageKey(user_id=USER.replace("1", "2"), digest="a" * 64), SECRET, 0),
        (KEY, b"x" * 32, 0),
        (KEY, SECRET, 1),
    ],
)
def test_another_file_user_key_or_expiry_breaks_a_link(
    key: StorageKey, secret: bytes, later: int
) -> None:
    _, expires, signature = link_parts(link_to(KEY, SECRET, END))

    assert not holds(key, secret, str(int(expires) + later), signature, Instant(0))


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_forged_signature_is_valid(expires: str, signature: str) -> None:
    assert not holds(KEY, SECRET, expires, signature, Instant(0))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "files",
        f"files/{USER}",
        f"files/{USER}/short",
        f"files/{USER}/{'A' * 64}",
        f"files/nobody/{'a' * 64}",
        f"files/{USER}/{'a' * 64}/more",
        f"../{USER}/{'a' * 64}",
        f"FILES/{USER}/{'a' * 64}",
    ],
)
def test_an_invalid_storage_key_is_refused(text: str) -> None:
    assert storage_key(text) is None


def test_a_storage_key_is_read_as_written() -> None:
    key = StorageKey(user_id=USER, digest="0f" * 32, bucket="bills-2024")

    assert storage_key(str(key)) == key
