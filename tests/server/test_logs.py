"""Lines on their way out: all of them while somebody reads, and never a wait if nobody does."""

import logging
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import orjson
import pytest

from canonry.server.stdio import LineLog, capture_library_logs


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    os.close(read)
    os.close(write)


@pytest.fixture
def _root_logger_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_log_line_contains_no_terminal_control_codes() -> None:
    read, write = os.pipe()
    log = LineLog(write)
    said = {"agent": "\x7fAnn\x9b31m\u202e", "code": "tool.unknown"}
    log.write_line(orjson.dumps(said) + b"\n")
    log.close(seconds=10)
    line = os.read(read, 65_536)
    os.close(read)
    os.close(write)

    assert line.isascii()
    assert b"\x7f" not in line
    assert orjson.loads(line) == said


def test_every_line_is_written_in_order_by_the_end(pipe: tuple[int, int]) -> None:
    read, write = pipe
    log = LineLog(write)
    for number in range(1000):
        log.write_line(b"%d\n" % number)
    log.close(10)
    assert os.read(read, 65536).split() == [b"%d" % number for number in range(1000)]


def test_lines_appear_while_the_log_is_open(pipe: tuple[int, int]) -> None:
    read, write = pipe
    log = LineLog(write)
    log.write_line(b"first\n")
    assert os.read(read, 100) == b"first\n"
    log.write_line(b"second\n")
    assert os.read(read, 100) == b"second\n"
    log.close(10)


def test_nothing_waits_for_a_stalled_log_reader() -> None:
    read, write = os.pipe()
    log, line = LineLog(write), b"x" * 1000 + b"\n"
    for _ in range(20_000):
        log.write_line(line)
    log.close(0.1)
    with os.fdopen(read, "rb") as late, ThreadPoolExecutor() as pool:
        reading = pool.submit(late.read)
        log.close(30)
        os.close(write)
        assert set(reading.result(30).splitlines()) == {line.rstrip()}


def test_a_log_without_lines_ends_at_once() -> None:
    LineLog(-1).close()


@pytest.mark.usefixtures("_root_logger_as_it_was")
def test_a_library_logs_place_and_severity_and_no_content(pipe: tuple[int, int]) -> None:
    read, write = pipe
    log = LineLog(write)
    capture_library_logs(log)
    library = logging.getLogger("some.library")
    library.info("nobody needs this")
    library.error("a message from Jane Roe", exc_info=ValueError("Jane Roe"))
    log.close(10)
    line = orjson.loads(os.read(read, 65536))
    assert (line["logger"], line["level"], line["error"]) == ("some.library", "error", "ValueError")
    assert "Jane" not in str(line)
