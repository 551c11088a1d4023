"""Every test gets asyncio and no settings from outside, and required backends must run."""

import gc
import os
import re
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

REQUIRED_BACKENDS = frozenset(
    name for name in os.environ.get("CANONRY_REQUIRE_BACKENDS", "").split(",") if name
)

PROVING = {"conformance", "faults", "mongodb", "neo4j", "postgres", "toolsets"}
"""The folders whose tests prove a backend where their name has its name in it."""

NEEDS = {
    "servers": (
        *("/faults/", "/mongodb/", "/neo4j/", "/postgres/", "/qdrant/"),
        *("/conformance/test_mongodb", "/conformance/test_opensearch"),
        *("/conformance/test_postgres", "/conformance/test_qdrant", "/conformance/test_s3"),
        *("/test_on_mongodb", "/test_on_postgres", "/test_profiles_alike"),
    ),
    "clients": ("/clients/",),
    "browser": ("/inspector/test_apps", "/inspector/test_browser"),
}
"""A part of the path of each file whose tests need more than Python, by what they need."""

LONG = (
    *(
        "/catalog/test_hub",
        "/test_flat_memory",
        "/docs/",
        "/test_recall_faults",
        "/test_hostile_names",
    ),
    *("/conformance/test_sqlite", "/conformance/test_mongodb", "/conformance/test_postgres"),
    *("/crash/", "/campaign/", "/packages/", "/faults/", "/test_patterns", "/test_onnx"),
)
"""A part of the path of each file whose tests take long; they run first, and the short ones fill
the time in which the last of them end."""

NOTHING = "nothing"
"""The need of all other tests; `make test` runs these."""

# The machine decides how long an example takes, and where tests gate a change the same examples
# come again; elsewhere each run tries new ones.
settings.register_profile("canonry", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("canonry")


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, which is what the server runs on."""
    return "asyncio"


@pytest.fixture
def plain_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep payloads as they are, so that whoever looks for words in the files can find them."""
    monkeypatch.setattr("canonry.stores.sqlite.commits._LEAST", sys.maxsize)


@pytest.fixture(scope="session", autouse=True)
def _no_settings_from_outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the developer's own settings and data out of the tests, and the tests out of them."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("CANONRY_")]:
            patch.delenv(name)
        for name in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"):
            patch.setenv(name, str(home))
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
            patch.delenv(name, raising=False)
        yield


def required_backend(path: Path) -> str | None:
    """The required backend that a file such as `conformance/test_sqlite.py` proves, if any."""
    if path.parent.name not in PROVING:
        return None
    words = set(path.stem.split("_"))
    return min(words & REQUIRED_BACKENDS, default=None)


def needed_by(path: Path) -> str:
    """Return what the tests of a file need."""
    within = f"/{path.relative_to(Path(__file__).parent).as_posix()}"
    return next(
        (need for need, parts in NEEDS.items() if any(part in within for part in parts)), NOTHING
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a command run only the tests that need one thing; without the option all run."""
    parser.addoption("--needs", choices=(NOTHING, *NEEDS), help="run the tests that need this")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave files out that need something else, before anything in them is imported."""
    chosen = config.getoption("--needs")
    if chosen is None or not collection_path.name.startswith("test_"):
        return None
    return needed_by(collection_path) != chosen or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the files whose tests take long come first, in the order of `LONG`."""
    items.sort(
        key=lambda item: next(
            (n for n, part in enumerate(LONG) if part in str(item.path)), len(LONG)
        )
    )


def pytest_configure() -> None:
    """Collect garbage as rarely as the command does; it took a tenth of the tests' time."""
    gc.set_threshold(50_000, 20, 100)


def pytest_collection_finish() -> None:
    """Keep what is loaded out of later collections of garbage."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two workers a core: half of a test's time is waiting for a server or another process."""
    return 2 * (os.cpu_count() or 1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the skip of a required backend into a failure, and one that `NEEDS` does not know."""
    report = yield
    if not report.skipped or hasattr(report, "wasxfail"):
        return report
    reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    backend = required_backend(item.path)
    if backend is not None:
        report.outcome = "failed"
        report.longrepr = f"CANONRY_REQUIRE_BACKENDS names {backend}, but: {reason}"
    elif needed_by(item.path) == NOTHING and re.search(r"`make (servers|clients|scripts)`", reason):
        report.outcome = "failed"
        report.longrepr = f"name this file in NEEDS of tests/conftest.py: {reason}"
    return report
