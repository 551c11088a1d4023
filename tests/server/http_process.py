"""A server over HTTP in a process of its own, at a port that the system gives to it alone."""

import re
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

_PATIENCE = 60.0
"""Seconds that the server may take to end."""


@contextmanager
def serve_over_http(
    command: Sequence[str], env: Mapping[str, str]
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run `command --http 127.0.0.1:0`; yield the address without a path, and the process.

    A port that a test chose first could be taken by another test before the server has it.
    """
    with subprocess.Popen(
        [*command, "--http", "127.0.0.1:0"],
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield printed_address(process), process
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=_PATIENCE)


def printed_address(server: subprocess.Popen[str]) -> str:
    """Return the address that the server prints when it listens, without a path."""
    assert server.stderr is not None
    printed = iter(server.stderr.readline, "")
    return next(found[1] for line in printed if (found := re.search(r"(http://[\d.:]+)/mcp", line)))
