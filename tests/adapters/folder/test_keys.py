"""A store's own key: made once, for its owner only, and told when it is damaged."""

import itertools
import stat
from pathlib import Path

import pytest

from canonry.stores.folder import read_key
from canonry.values.errors import Unavailable


def test_a_key_is_created_once_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    numbers = itertools.count()
    path = tmp_path / "new" / "files.key"

    first = read_key(path, lambda: bytes([next(numbers)]) * 32)
    second = read_key(path, lambda: bytes([next(numbers)]) * 32)

    assert first == second == path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["files.key"]


def test_a_damaged_key_is_reported_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "files.key"
    path.write_bytes(b"short")

    with pytest.raises(Unavailable) as refused:
        read_key(path, lambda: b"k" * 32)

    assert refused.value.code == "file.signing-failed"
    assert path.read_bytes() == b"short"
