"""The sessions by the plain verbs take fewer calls and tokens than by the contracts' toolsets."""

import pytest

from tests.toolsets.canon.comparing import COMPARED, night_by_contract, night_by_verbs

pytestmark = pytest.mark.anyio


async def test_a_session_with_verbs_takes_less_than_half_the_tokens() -> None:
    plain, tags = await night_by_verbs()
    contract, same = await night_by_contract()

    assert "dead" in tags
    assert "alive" not in tags
    assert set(same) == set(tags)
    assert plain.calls * 2 <= contract.calls, (plain.calls, contract.calls)
    assert plain.characters * 2 <= contract.characters, (plain.characters, contract.characters)
    assert (plain.calls, contract.calls) == (9, 24)


@pytest.mark.parametrize("name", COMPARED)
async def test_both_ways_of_running_a_session_give_the_same_canon(name: str) -> None:
    _, by_verbs, by_contract = COMPARED[name]
    plain, truth = await by_verbs()
    contract, same = await by_contract()

    assert sorted(map(str, [*truth] if isinstance(truth, list) else [truth])) == sorted(
        map(str, [*same] if isinstance(same, list) else [same])
    )
    assert plain.calls <= contract.calls, (plain.calls, contract.calls)
