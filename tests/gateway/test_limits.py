"""Bounds: what cannot be kept is refused with its path, and what takes too long is stopped."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.gateway.limits import Limits, PublishedRate, measure_arguments, run_within
from canonry.gateway.rates import Rate
from canonry.testing.clocks import HandClock
from canonry.values.errors import InvalidInput, Unavailable
from canonry.values.moments import SECOND

LIMITS = Limits(characters=1000)


def nest_levels(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("arguments", "code", "path"),
    [
        ({"a": ["x", "b\x00"]}, "limits.text", "/a/1"),
        ({"a": {"b": "\ud800"}}, "limits.text", "/a/b"),
        ({"a": {"b\udfff": 1}}, "limits.text", "/a/b\\udfff"),
        ({"a/b": {"c~d": "\x00"}}, "limits.text", "/a~1b/c~0d"),
        ({"a": 2**53 + 1}, "limits.number", "/a"),
        ({"a": [-(2**60)]}, "limits.number", "/a/0"),
        ({"a": float("nan")}, "limits.number", "/a"),
        ({"a": float("inf")}, "limits.number", "/a"),
        ({"a": 1e300}, "limits.number", "/a"),
        ({"a": "x" * 1001}, "limits.size", "/a"),
        ({"a": ["x" * 400] * 3}, "limits.size", ""),
        ({"a": object()}, "limits.type", "/a"),
        ({1: "a"}, "limits.type", "/1"),
    ],
)
def test_unstorable_values_are_refused_with_their_path(
    arguments: dict[str, Any], code: str, path: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        measure_arguments(arguments, LIMITS)
    assert (caught.value.code, caught.value.details["path"]) == (code, path)
    str(caught.value).encode()


def test_nesting_is_allowed_to_the_limit_and_no_deeper() -> None:
    assert measure_arguments(nest_levels(32), LIMITS) > 0
    for levels in (33, 10_000):
        with pytest.raises(InvalidInput) as caught:
            measure_arguments(nest_levels(levels), LIMITS)
        assert caught.value.code == "limits.depth"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(-(2.0**53), 2.0**53)
    | st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.sampled_from("ab/~é"), max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(value=JSON)
def test_ordinary_json_passes(value: Any) -> None:
    assert measure_arguments({"value": value}, Limits()) >= len("value")


def call_rate(rate: Rate, principal: str) -> None:
    rate.require_room(principal)
    rate.count_call(principal)


def test_a_principal_has_its_calls_a_minute_and_others_have_theirs() -> None:
    clock = HandClock()
    rate = Rate(PublishedRate(calls=2), clock.monotonic)
    call_rate(rate, "a")
    call_rate(rate, "a")
    with pytest.raises(Unavailable) as caught:
        call_rate(rate, "a")
    assert caught.value.code == "limits.rate"
    assert caught.value.details["retry_after"] == 60
    call_rate(rate, "b")
    clock.move_by(60 * SECOND)
    call_rate(rate, "a")


@pytest.mark.anyio
async def test_work_that_waits_too_long_is_stopped_and_cleaned_up() -> None:
    cleaned = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    with pytest.raises(Unavailable) as caught:
        await run_within(0.01, work())
    assert caught.value.code == "call.deadline"
    assert caught.value.retryable
    assert cleaned == [True]


@pytest.mark.anyio
async def test_work_that_finishes_in_time_returns_its_answer() -> None:
    async def work() -> int:
        total = 0
        for number in range(3):
            await asyncio.sleep(0)
            total += await asyncio.to_thread(int, number)
        return total

    assert await run_within(5, work()) == 3


@pytest.mark.anyio
async def test_work_raises_its_own_errors_before_and_after_waiting() -> None:
    async def at_once() -> None:
        raise KeyError(1)

    async def later() -> None:
        await asyncio.sleep(0)
        raise TimeoutError

    with pytest.raises(KeyError):
        await run_within(5, at_once())
    with pytest.raises(TimeoutError):
        await run_within(5, later())


@pytest.mark.anyio
async def test_a_cancelled_caller_cancels_the_work() -> None:
    started, stopped = asyncio.Event(), []

    async def work() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            stopped.append(True)
            raise

    task = asyncio.create_task(run_within(60, work()))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stopped == [True]
