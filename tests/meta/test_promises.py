"""Promises and proofs match, in both directions."""

import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from canonry.testing import conformance
from canonry.testing.conformance import REQUIREMENTS, cases, proved_by
from canonry.testing.conformance.kit import REASONS

ROOT = Path(__file__).parents[2]


def list_contracts() -> set[type]:
    """Every class of the conformance kit that holds tests."""
    found: set[type] = set()
    for module in pkgutil.walk_packages(conformance.__path__, f"{conformance.__name__}."):
        for item in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(item) and item.__module__.startswith(conformance.__name__):
                found.add(item)
    return found


def list_proofs() -> Iterator[tuple[str, Callable[..., Any], frozenset[str]]]:
    """Each test of the kit, with the ids of the promises that it is said to prove."""
    for contract in list_contracts():
        for name, test in vars(contract).items():
            if name.startswith("test_"):
                yield f"{contract.__name__}.{name}", test, frozenset(proved_by(test))


def test_every_promise_has_a_proof() -> None:
    proved = {promise for _, _, ids in list_proofs() for promise in ids}

    assert REQUIREMENTS.keys() == REASONS.keys()
    assert sorted(REQUIREMENTS.keys() - proved) == []
    assert sorted(proved - REQUIREMENTS.keys()) == []


def test_every_test_of_the_kit_proves_a_promise() -> None:
    unbound = [name for name, _, ids in list_proofs() if not ids]

    assert [name for name in unbound if not name.endswith("contract_is_not_weakened")] == []


def test_every_declared_case_is_played() -> None:
    played = {
        next(iter(ids)) for _, test, ids in list_proofs() if test.__module__ == cases.__name__
    }

    assert played == cases.CASES.keys()


def test_every_promise_says_why_it_is_made() -> None:
    for name, requirement in REQUIREMENTS.items():
        assert requirement.promise.endswith("."), name
        assert requirement.because.endswith("."), name


GAP = """
import pytest

from canonry.testing.conformance import Backend, BlobsContract, KnownGap
from tests.conformance.test_memory import open_memory


class TestGap(BlobsContract):
    known_gaps = (KnownGap(requirement={promise!r}, reason="not yet"),)

    @pytest.fixture
    async def backend(self) -> Backend:
        return await open_memory()
"""


@pytest.mark.parametrize(
    ("promise", "shown"),
    [
        ("blobs:put:round-trip", "[XPASS(strict)] not yet"),
        ("blobs:put:nobody-makes-it", "gaps name unknown promises"),
    ],
)
def test_an_unneeded_gap_fails(promise: str, shown: str, tmp_path: Path) -> None:
    (tmp_path / "test_gap.py").write_text(GAP.format(promise=promise), encoding="utf-8")

    without = ["-p", "no:cacheprovider", "-p", "no:slipcover"]

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *without, "test_gap.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )

    assert done.returncode == 1
    assert shown in done.stdout
