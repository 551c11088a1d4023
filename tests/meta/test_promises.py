"""Promises and proofs match, in both directions."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

from canonry.testing import conformance
from canonry.testing.conformance import REQUIREMENTS


def contracts() -> set[type]:
    """Every class of the conformance kit that holds tests."""
    found: set[type] = set()
    for module in pkgutil.walk_packages(conformance.__path__, f"{conformance.__name__}."):
        for thing in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(thing) and thing.__module__.startswith(conformance.__name__):
                found.add(thing)
    return found


def proofs() -> Iterator[tuple[str, Callable[..., Any], frozenset[str]]]:
    """Each test of the kit, with the ids of the promises that it is marked to prove."""
    for contract in contracts():
        for name, test in vars(contract).items():
            if name.startswith("test_"):
                marks = getattr(test, "pytestmark", [])
                ids = frozenset(mark.args[0] for mark in marks if mark.name == "requirement")
                yield f"{contract.__name__}.{name}", test, ids


def test_every_promise_has_a_proof() -> None:
    proved = {promise for _, _, ids in proofs() for promise in ids}

    assert REQUIREMENTS
    assert sorted(REQUIREMENTS.keys() - proved) == []
    assert sorted(proved - REQUIREMENTS.keys()) == []


def test_every_test_of_the_kit_proves_a_promise() -> None:
    unbound = [name for name, _, ids in proofs() if not ids]

    assert [name for name in unbound if not name.endswith("contract_is_not_weakened")] == []


def test_every_promise_says_why_it_is_made() -> None:
    for name, requirement in REQUIREMENTS.items():
        assert requirement.promise.endswith("."), name
        assert requirement.because.endswith("."), name
