"""The calls of all toolsets answer the same over a ledger and the views of a copy.

Every test of the modules below that asks for nothing is run once more, with a canon whose ledger
and whose views know nothing of each other, over lines that fail.
"""

import inspect
from collections.abc import Callable, Coroutine
from importlib import import_module
from typing import Any

import pytest

from canonry.app.compose import compose_memory
from canonry.canon.session.canon import Canon
from tests.conformance.test_mixed import make_mixed
from tests.simulation.loops import Faults

pytestmark = pytest.mark.anyio
KITS = ("narrative.kit", "truth.kit", "world.kit", "catalog.kit")
FAULTS = Faults(delay=0.0, refused=0.05, lost=0.1, twice=0.1)
MODULES = (
    "narrative.test_canonization",
    "narrative.test_canonizing_proposals",
    "narrative.test_context",
    "narrative.test_entities",
    "narrative.test_entity_queries",
    "narrative.test_events",
    "narrative.test_explanations",
    "narrative.test_facts",
    "narrative.test_restored_after_retcon",
    "narrative.test_memories",
    "narrative.test_merging",
    "narrative.test_proposals",
    "narrative.test_relations",
    "narrative.test_scenes",
    "narrative.test_search",
    "narrative.test_snippets",
    "narrative.test_turns",
    "narrative.test_universes",
    "truth.test_defects",
    "truth.test_examples",
    "truth.test_identity",
    "truth.test_more_defects",
    "truth.test_semantics",
    "world.test_contexts",
    "world.test_lore",
    "world.test_movement",
    "world.test_ties",
    "world.test_time_travel",
    "catalog.test_answers",
    "catalog.test_decisions",
    "catalog.test_isolation",
)


def compose_mixed(**given: Any) -> Canon:
    """A canon over two stores in memory, one that has the log and one that has the views."""
    return make_mixed(compose_memory(**given), compose_memory(**given), 7, FAULTS)


def calls_of(module: str) -> dict[str, Callable[[], Coroutine[Any, Any, None]]]:
    """The tests of a module that need no fixture and no parameter."""
    found = vars(import_module(f"tests.{module}")).items()
    return {
        name: test
        for name, test in found
        if name.startswith("test_")
        and inspect.iscoroutinefunction(test)
        and not inspect.signature(test).parameters
    }


@pytest.mark.parametrize("module", MODULES)
async def test_calls_answer_alike_over_mixed_engines(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kit in KITS:
        monkeypatch.setattr(import_module(f"tests.toolsets.{kit}"), "compose_memory", compose_mixed)
    calls = calls_of(f"toolsets.{module}")
    assert calls

    for call in calls.values():
        await call()
