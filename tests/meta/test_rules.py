"""Every gate is one rule with one id, and every gate has a test that expects its objection."""

import re
import sys
from operator import attrgetter

import pytest

from canonry.canon.judging.gates import GATES
from canonry.canon.judging.gates.verdicts import Gate
from tests.meta.tree import python_files

TESTS = "\n".join(path.read_text(encoding="utf-8") for path in python_files("tests"))
MODULES = {sys.modules[gate.examine.__module__] for gate in GATES}
DEFINED = {
    name: value
    for module in MODULES
    for name, value in vars(module).items()
    if isinstance(value, Gate)
}


def test_every_gate_that_is_defined_is_asked() -> None:
    assert set(GATES) == set(DEFINED.values())


@pytest.mark.parametrize(("name", "gate"), sorted(DEFINED.items()))
def test_a_gate_is_named_by_its_rule(name: str, gate: Gate) -> None:
    assert gate.id == f"gate:{name.replace('_', '-')}"
    assert gate.examine.__doc__, "the function says its rule"


@pytest.mark.parametrize("gate", GATES, ids=attrgetter("id"))
def test_a_rule_is_named_by_a_test(gate: Gate) -> None:
    assert re.search(rf"['\"`]{gate.id}['\"`]", TESTS), "no test expects its objection"
