"""Places that are shared: who gives one up, and when nobody does."""

import pytest

from canonry.gateway.rates import KEPT, Full, Seats


def test_seats_are_given_until_none_is_left() -> None:
    seats: Seats[str, int] = Seats(total=2, each=2, ranks=1)
    assert seats.find_leaver("ada") is None
    seats.seat_holder("ada", 1, 0)
    seats.seat_holder("ben", 2, 0)
    assert len(seats) == 2
    seats.release_seat("ben", 2)
    seats.release_seat("ben", 2)
    assert seats.find_leaver("ben") is None
    assert list(seats) == [1]


def test_the_largest_holder_loses_its_longest_idle_seat_first() -> None:
    seats: Seats[str, int] = Seats(total=4, each=4, ranks=1)
    seats.seat_holder("ben", 9, 0)
    for holder in (1, 2, 3):
        seats.seat_holder("ada", holder, 0)
    seats.seat_holder("ada", 1, 0)
    assert seats.find_leaver("cleo") == ("ada", 2)


def test_a_holder_at_its_limit_loses_one_of_its_own_seats() -> None:
    seats: Seats[str, int] = Seats(total=100, each=2, ranks=2)
    seats.seat_holder("ada", 1, 1)
    seats.seat_holder("ada", 2, 0)
    assert seats.find_leaver("ben") is None
    assert seats.find_leaver("ada") == ("ada", 2)
    seats.seat_holder("ada", 2, KEPT)
    assert seats.find_leaver("ada") == ("ada", 1)


def test_a_busy_holder_loses_no_seat() -> None:
    seats: Seats[str, int] = Seats(total=3, each=2, ranks=1)
    seats.seat_holder("ada", 1, KEPT)
    seats.seat_holder("ada", 2, KEPT)
    with pytest.raises(Full):
        seats.find_leaver("ada")
    seats.seat_holder("ben", 3, 0)
    assert seats.find_leaver("cleo") == ("ben", 3)
    seats.seat_holder("ben", 3, KEPT)
    with pytest.raises(Full):
        seats.find_leaver("cleo")
