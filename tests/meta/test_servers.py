"""Servers of the tests are known by their process and by the folder that it runs in."""

import os
from pathlib import Path

from tests.servers.processes import process_in


def test_a_port_number_of_another_process_is_no_server(tmp_path: Path) -> None:
    kept = tmp_path / "server.pid"
    kept.write_text(f"{os.getpid()}\n")
    assert process_in(kept, Path.cwd()) == os.getpid()
    assert process_in(kept, tmp_path) == 0
    kept.write_text("")
    assert process_in(kept, Path.cwd()) == 0
