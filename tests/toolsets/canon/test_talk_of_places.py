"""Facts about places: which can lie in which by their names, and under which circumstances."""

import pytest

from tests.toolsets.canon.talking import start_talk

pytestmark = pytest.mark.anyio

PLACES = ("Bristol", "Leeds", "England", "Scotland", "Tower_of_Leeds")


@pytest.mark.parametrize(
    ("held", "claim", "verdict"),
    [
        ("Ana lives in Bristol", "Ana lives in England", "accepted"),
        ("Ana lives in England", "Ana lives in Bristol", "accepted"),
        ("Ana lives in England", "Ana lives in Scotland", "rejected"),
        ("Ana lives in Bristol", "Ana lives in Leeds", "rejected"),
        ("Ana was born in Leeds", "Ana was born in England", "accepted"),
        ("Ana was born in the Tower of Leeds", "Ana was born in Leeds", "accepted"),
        ("Ana was born in the Tower of Leeds", "Ana was born in Bristol", "rejected"),
        ("In the dark the Key is green", "The Key is white", "accepted"),
        ("In sunlight the Key is green", "In the rain the Key is white", "accepted"),
        ("The Key is green", "The Key is white", "rejected"),
    ],
)
async def test_a_second_value_is_refused_unless_both_can_be(
    held: str, claim: str, verdict: str
) -> None:
    talk = await start_talk(Ana="character", Key="object", **dict.fromkeys(PLACES, "location"))
    assert (await talk.propose_text(held))["verdicts"][0]["verdict"] == "accepted"

    reply = await talk.propose_text(claim)

    assert reply["verdicts"][0]["verdict"] == verdict
    assert "against" not in reply["verdicts"][0] or verdict == "rejected"
