"""The size of an installation: every file of every distribution that Canonry needs."""

from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

from tests.meta.test_dependencies import MEANING, PROJECT
from tests.meta.tree import PACKAGE

MEGABYTE = 1_000_000
MOST = {"without the extra meaning": 120, "with it": 265}
"""Megabytes; what Python compiles for itself, with pip or when it first runs, is not shipped."""


def needed_distributions(requirement: str) -> Iterator[Distribution]:
    """The distributions behind a requirement on this machine."""
    asked = [(Requirement(requirement), "")]
    while asked:
        one, extra = asked.pop()
        if one.marker is not None and not one.marker.evaluate({"extra": extra}):
            continue
        found = distribution(one.name)
        yield found
        for line in found.requires or ():
            asked += [(Requirement(line), each) for each in ("", *one.extras)]


def shipped_bytes(found: Distribution) -> int:
    """The bytes of the files that a distribution consists of."""
    files = (Path(str(file.locate())) for file in found.files or () if file.suffix != ".pyc")
    return sum(path.stat().st_size for path in files if path.exists())


def sizes_of(requirements: Iterable[str]) -> dict[str, int]:
    """The bytes of Canonry and of each distribution behind the requirements."""
    own = sum(path.stat().st_size for path in PACKAGE.rglob("*") if path.suffix != ".pyc")
    sizes = {"canonry": own}
    for requirement in requirements:
        for found in needed_distributions(requirement):
            sizes[found.name] = sizes.get(found.name) or shipped_bytes(found)
    return sizes


def test_an_installation_stays_light() -> None:
    light = sizes_of(PROJECT["project"]["dependencies"])
    whole = sizes_of([*PROJECT["project"]["dependencies"], *MEANING])

    assert "numpy" not in light
    assert whole["numpy"] > 10 * MEGABYTE, "this counts nothing"
    for (which, most), sizes in zip(MOST.items(), (light, whole), strict=True):
        total = sum(sizes.values()) / MEGABYTE
        heaviest = sorted(sizes.items(), key=lambda item: -item[1])[:10]
        result = ", ".join(f"{name} {size / MEGABYTE:.1f}" for name, size in heaviest)
        assert total <= most, f"{total:.0f} MB {which}: {result}"
