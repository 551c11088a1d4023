"""The calls of all toolsets answer the same where a page of the store holds two things only.

Whoever reads all of something goes from page to page. A loop that stops early, or begins again
where it should go on, shows only beyond five hundred things, so here a page is made small, and
every test of the modules below that asks for nothing is run once more.
"""

import pkgutil
import sys
from importlib import import_module

import pytest

import canonry.usecases
from canonry.ports.views.pages import PAGE_MAX
from tests.toolsets.test_mixed_engines import MODULES, calls_of

pytestmark = pytest.mark.anyio
SMALL = 2
# Here a page is what the caller gets at most, and not a step of a loop.
BOUNDS = frozenset(
    f"canonry.usecases.{name}"
    for name in (
        "kernel.find_newest",
        "narrative.gather_canonical",
        "narrative.gather_narrative",
        "narrative.recall_memories",
        "world.get_canonical_fact",
    )
)


def pagers() -> list[str]:
    """The use cases that know how much a page holds."""
    for found in pkgutil.walk_packages(canonry.usecases.__path__, "canonry.usecases."):
        import_module(found.name)
    return [
        name
        for name, module in sys.modules.items()
        if name.startswith("canonry.usecases.")
        and name not in BOUNDS
        and getattr(module, "PAGE_MAX", None) == PAGE_MAX
    ]


@pytest.mark.parametrize("module", MODULES)
async def test_calls_answer_alike_on_small_pages(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in pagers():
        monkeypatch.setattr(f"{name}.PAGE_MAX", SMALL)

    for call in calls_of(module).values():
        await call()
