"""Whether the SQLite files of a folder hold what Canonry makes, told before one is opened."""

from collections.abc import Iterator
from pathlib import Path

from canonry.app.recalling import RECALL_FILE
from canonry.app.stores import STORE_FILE


def foreign_objects(folder: Path) -> Iterator[tuple[Path, str]]:
    """Each file with what it has, or lacks, beside what Canonry makes: triggers among them."""
    from canonry.stores.sqlite import check_file, check_store_file  # noqa: PLC0415 - an engine

    for path in sorted(folder.rglob(STORE_FILE)):
        yield from ((path, what) for what in check_store_file(path))
    for path in sorted(folder.rglob(RECALL_FILE)):
        from canonry.recall.vectors import SCHEMA  # noqa: PLC0415 - loads an engine

        yield from ((path, what) for what in check_file(path, SCHEMA))
