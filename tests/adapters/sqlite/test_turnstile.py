"""The turnstile: one inside, waiters get in, and whoever waits is not passed by who just left."""

import threading
from pathlib import Path

import pytest

from canonry.stores.sqlite.connections import Turnstile
from canonry.values.errors import Unavailable


def test_only_one_process_enters_at_a_time(tmp_path: Path) -> None:
    one, two = Turnstile(tmp_path), Turnstile(tmp_path)

    assert one.try_enter()
    assert not two.try_enter()
    one.release_lock()
    assert two.try_enter()

    two.release_lock()
    one.close()
    two.close()


def test_waiting_ends_at_the_timeout(tmp_path: Path) -> None:
    one, two = Turnstile(tmp_path), Turnstile(tmp_path)
    one.await_entry(1)

    with pytest.raises(Unavailable) as caught:
        two.await_entry(0.01)
    assert caught.value.code == "ledger.busy"
    one.close()
    two.await_entry(1)

    two.close()


def test_a_waiting_process_enters_before_the_one_that_just_left(tmp_path: Path) -> None:
    one, two = Turnstile(tmp_path), Turnstile(tmp_path)
    one.await_entry(1)
    waiter = threading.Thread(target=two.await_entry, args=(5,))
    waiter.start()
    while is_free(tmp_path / "next.lock"):
        pass  # until the other one holds the place of the next

    one.release_lock()
    assert not one.try_enter()
    waiter.join()

    two.release_lock()
    assert one.try_enter()
    one.close()
    two.close()


def is_free(lock: Path) -> bool:
    """Return whether nobody holds the lock, as a third process sees it."""
    probe = Turnstile(lock.parent)
    try:
        waiting = probe._files[0]
        return takes_lock(waiting)
    finally:
        probe.close()


def takes_lock(file: int) -> bool:
    fcntl = pytest.importorskip("fcntl")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
