"""A merge names what held of the two and may not be true of one."""

import pytest

from tests.toolsets.canon.kit import make_driver

pytestmark = pytest.mark.anyio

TIED = {"kind": "relation", "from": "Odda", "type": "LOCATED_IN", "to": "Mill"}


async def merge_two(*said: str | dict[str, str]) -> str:
    driver = make_driver()
    await driver.call("open", name="Saltmere")
    kinds = {"Odda": "character", "Widow": "character", "Mill": "location", "Ford": "location"}
    made = [{"kind": "entity", "name": n, "type": t, "tags": ["alive"]} for n, t in kinds.items()]
    for each in made[2:]:
        del each["tags"]
    await driver.call("propose", claims=made, said="The cast.")
    for n, one in enumerate(said):
        claim = {"kind": "fact", "says": one} if isinstance(one, str) else one
        await driver.call("tell", scene=f"Night {n}", turns=[{"by": "gm", "text": str(one)}])
        await driver.call("propose", claims=[claim], evidence=[f"Night {n}"])
    reply = await driver.call("decide", verdict="merge", of=["Odda", "Widow"], reason="One woman.")
    return str(reply.get("hint", ""))


@pytest.mark.parametrize(
    ("said", "pair"),
    [
        (("Odda is in the Mill", "Widow is in the Ford"), ("is in the Mill", "is in the Ford")),
        ((TIED, "Widow is in the Ford"), ("located in Mill", "is in the Ford")),
        (("Odda is 31 years old", "Widow is 58 years old"), ("is 31", "is 58")),
        (("Odda has grey eyes", "Widow has green eyes"), ("grey eyes", "green eyes")),
        (("Odda drowned", "Widow is in the Ford"), ("Odda is dead", "Widow is alive")),
        (("Odda was hanged", "Widow lives in the Mill"), ("Odda was hanged", "Widow is alive")),
    ],
)
async def test_a_merge_names_what_may_not_be_true_of_one(
    said: tuple[str, ...], pair: tuple[str, str]
) -> None:
    hint = await merge_two(*said)
    assert hint.startswith("Of one, these may not both be true: "), hint
    assert all(part in hint for part in pair), hint


@pytest.mark.parametrize(
    "said",
    [
        ("Odda is in the Mill", "Widow is in the Mill"),
        ("Odda is tall", "Widow is a weaver"),
        ("Odda was in the Mill last year", "Widow is in the Ford"),
        ("Odda dreams of the Mill", "Widow dreams of the Ford"),
        ("Odda loves the Mill", "Widow loves the Ford"),
        ("Odda will be in the Mill tomorrow", "Widow is in the Ford"),
    ],
)
async def test_a_merge_of_what_agrees_says_no_more(said: tuple[str, ...]) -> None:
    assert await merge_two(*said) == ""
