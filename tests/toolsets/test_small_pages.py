"""The calls of all toolsets answer the same if a page of the store holds only two items.

A reader of all items goes from page to page. A loop that stops early, or begins again instead of
going on, shows only beyond five hundred items. Therefore a page is small here, and every test
without fixtures in the modules below runs once more.
"""

import pkgutil
import sys
from importlib import import_module
from pathlib import Path

import pytest

import canonry
from canonry.app.compose import compose_memory
from canonry.app.embedded import open_embedded
from canonry.canon.commands.universes import universe_named
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.testing.clocks import CountingIdentities, HandClock, a_caller
from tests.toolsets.test_mixed_engines import MODULES, calls_of
from tests.usecases import test_erase as erasing

pytestmark = pytest.mark.anyio
SMALL = 2
USE_CASES = [
    f"usecases.{name}"
    for name in (
        "test_covered_spaces",
        "test_export_catalog",
        "test_export_import",
        "test_import_catalog",
        "test_import_transcript",
        "test_import_world",
        "test_traverse_related",
        "test_world_imported_again",
    )
]
# Here a page is what the caller gets at most, and not a step of a loop.
BOUNDS = frozenset(
    f"canonry.{name}"
    for name in (
        "narrative.usecases.context",
        "narrative.usecases.scenes",
        "world.usecases.lore",
    )
)


def is_use_case(name: str) -> bool:
    """Return whether a module belongs to the canon or to the use cases of a package."""
    return name.startswith("canonry.canon.") or ".usecases." in name


def list_pagers() -> list[str]:
    """The use cases that know how much a page holds."""
    for found in pkgutil.walk_packages(canonry.__path__, "canonry."):
        if is_use_case(found.name):
            import_module(found.name)
    return [
        name
        for name, module in sys.modules.items()
        if is_use_case(name)
        and name not in BOUNDS
        and getattr(module, "PAGE_MAX", None) == PAGE_MAX
    ]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list_pagers():
        monkeypatch.setattr(f"{name}.PAGE_MAX", SMALL)


@pytest.mark.parametrize("module", [f"toolsets.{each}" for each in MODULES] + USE_CASES)
async def test_calls_answer_alike_on_small_pages(module: str) -> None:
    calls = calls_of(module)
    assert calls

    for call in calls.values():
        await call()


async def test_erased_data_is_removed_from_all_pages(tmp_path: Path) -> None:
    for number, call in enumerate(
        (
            erasing.test_an_entity_is_erased_with_everything_about_it,
            erasing.test_a_text_with_the_whole_name_is_a_mention,
            erasing.test_planning_changes_nothing,
        )
    ):
        store = await open_embedded(tmp_path / str(number))
        try:
            await call(store)
        finally:
            await store.close()


async def test_a_universe_is_found_by_name_on_a_later_page_and_created_once() -> None:
    canon = compose_memory(clock=HandClock(), identities=CountingIdentities())
    made = [
        await universe_named(canon, a_caller(), f"World {number}", description="")
        for number in range(5)
    ]

    again = [
        await universe_named(canon, a_caller(), f" WORLD  {n}", description="") for n in range(5)
    ]

    assert again == made
    assert len(set(made)) == 5
