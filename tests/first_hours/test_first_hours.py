"""Four first hours of 60 calls, by a model that knows only the tool list: are the replies right?

At the time of writing, 239 of the 240 replies are as a person would expect (98 %); the aim is 95 %.
Each of the other 1 says in its script what is wrong with it (`known`). Mend one, and the test asks
to take the mark away; lower `MARKED` with it.
"""

from pathlib import Path

import pytest

from tests.first_hours.hours import WIRES, play_script, steps_of

pytestmark = pytest.mark.anyio

CALLS = 60
MARKED = 0


@pytest.mark.parametrize("name", WIRES)
async def test_the_replies_of_a_first_hour_are_as_expected(name: str, tmp_path: Path) -> None:
    steps = await play_script(name, tmp_path)
    wrong = [step.description for step in steps if step.problems and "known" not in step.script]
    repaired = [
        f"step {step.number} is right now: take `known` away, and lower MARKED"
        for step in steps
        if not step.problems and "known" in step.script
    ]

    assert len(steps) == CALLS
    assert not wrong + repaired, "\n".join([name, *wrong, *repaired])


def test_no_more_replies_are_wrong_than_measured() -> None:
    assert sum("known" in step for name in WIRES for step in steps_of(name)) == MARKED
