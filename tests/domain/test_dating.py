"""Dating: a clock that is off by more than a day dates nothing, and one that is right does."""

import pytest

from canonry.log.commits import Dating
from canonry.values.errors import Unavailable
from canonry.values.moments import DAY, SECOND, Instant, parse_instant

RIGHT = parse_instant("2026-05-01T12:00:00Z")


def instant_after(days: float, seconds: float = 0.0) -> Instant:
    return Instant(RIGHT + int(days * DAY) + int(seconds * SECOND))


def dating_error(dating: Dating, now: Instant, steady: float, newest: Instant | None = None) -> str:
    with pytest.raises(Unavailable) as refused:
        dating.next_date(now, steady, newest)
    return refused.value.code


def test_dates_grow_by_a_microsecond_while_the_clock_lags_a_little() -> None:
    dating = Dating(RIGHT, 0.0)

    assert dating.next_date(RIGHT, 0.0, None) == RIGHT
    assert dating.next_date(RIGHT, 0.0, RIGHT) == RIGHT + 1
    assert dating.next_date(instant_after(-0.9), 1.0, RIGHT) == RIGHT + 1


def test_a_clock_that_jumps_ahead_dates_nothing_until_corrected() -> None:
    dating = Dating(RIGHT, 0.0)

    assert dating_error(dating, instant_after(400), 1.0) == "clock.jumped"
    assert dating_error(dating, instant_after(400, 60), 61.0) == "clock.jumped"
    assert dating.next_date(instant_after(0, 62), 62.0, None) == instant_after(0, 62)


def test_a_server_continues_after_long_idleness_or_sleep() -> None:
    dating = Dating(RIGHT, 0.0)

    assert dating.next_date(instant_after(400), 400 * 86_400.0, RIGHT) == instant_after(400)


def test_a_clock_corrected_after_the_start_is_no_jump() -> None:
    dating = Dating(Instant(5), 0.0)

    assert dating_error(dating, Instant(6), 0.0) == "clock.implausible"
    assert dating.next_date(RIGHT, 1.0, None) == RIGHT


@pytest.mark.parametrize("days", [-400 * 365, 174 * 365, 2000 * 365])
def test_an_impossible_clock_dates_nothing(days: int) -> None:
    assert (
        dating_error(Dating(instant_after(days), 0.0), instant_after(days), 0.0)
        == "clock.implausible"
    )


def test_a_clock_far_behind_the_newest_commit_dates_nothing() -> None:
    dating = Dating(RIGHT, 0.0)

    assert dating_error(dating, RIGHT, 0.0, instant_after(400)) == "clock.behind"
    assert (
        dating.next_date(instant_after(399.5), 399.5 * 86_400, instant_after(400))
        == instant_after(400) + 1
    )
