"""Places that are shared: who gives one up, and when nobody does."""

import pytest

from canonry.gateway.rates import KEPT, Full, Seats


def test_there_is_room_until_there_is_none() -> None:
    seats: Seats[str, int] = Seats(total=2, each=2, ranks=1)
    assert seats.find_leaver("ada") is None
    seats.seat_holder("ada", 1, 0)
    seats.seat_holder("ben", 2, 0)
    assert len(seats) == 2
    seats.release_seat("ben", 2)
    seats.release_seat("ben", 2)
    assert seats.find_leaver("ben") is None
    assert list(seats) == [1]


def test_r4_the_one_who_has_most_gives_first_and_the_longest_idle() -> None:
    seats: Seats[str, int] = Seats(total=4, each=4, ranks=1)
    seats.seat_holder("ben", 9, 0)
    for holder in (1, 2, 3):
        seats.seat_holder("ada", holder, 0)
    seats.seat_holder("ada", 1, 0)
    assert seats.find_leaver("cleo") == ("ada", 2)


def test_r4_whoever_has_all_that_one_may_have_gives_one_of_its_own() -> None:
    seats: Seats[str, int] = Seats(total=100, each=2, ranks=2)
    seats.seat_holder("ada", 1, 1)
    seats.seat_holder("ada", 2, 0)
    assert seats.find_leaver("ben") is None
    assert seats.find_leaver("ada") == ("ada", 2)
    seats.seat_holder("ada", 2, KEPT)
    assert seats.find_leaver("ada") == ("ada", 1)


def test_r3_whoever_is_in_the_middle_of_something_gives_nothing() -> None:
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
