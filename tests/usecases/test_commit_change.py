"""Committing a change: judged again when it went stale, and done once for one key."""

from dataclasses import replace

import pytest

from canonry.app.compose import compose_memory
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import ATTEMPTS_MAX, Change, commit_change
from canonry.log.commits import ORIGIN
from canonry.log.entries import Made
from canonry.log.folding import ANY
from canonry.log.items.facts import FactDraft
from canonry.testing.clocks import CountingIdentities, HandClock, Scribe, a_caller
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, creation_entries, uuid_of
from canonry.values.errors import BrokenInvariant, Conflict, InvalidInput, Unavailable
from canonry.values.ids import FactId, NewId, SpaceId, is_uuid

pytestmark = pytest.mark.anyio

KEYED = replace(a_caller(), idempotency_key="once")


@pytest.fixture
def canon() -> Canon:
    return compose_memory(clock=HandClock(), identities=CountingIdentities())


class Preparing:
    """Wants one fact; meanwhile others write as often as they are told to."""

    def __init__(self, canon: Canon, statement: str = "mine", disturbed: int = 0) -> None:
        self._scribe = Scribe(canon, "others")
        self._statement = statement
        self._disturbed = disturbed
        self.attempts = 0
        self.ids: set[str] = set()

    async def __call__(self, new_id: NewId) -> Change:
        self.attempts += 1
        fact_id = new_id("fact")
        self.ids.add(fact_id)
        if self.attempts <= self._disturbed:
            await self._scribe.make_items(a_fact(f"other {self.attempts}"))
        fact = a_fact("mine", id=FactId(fact_id), statement=self._statement)
        return Change(entries=creation_entries(fact), reads=frozenset((ANY,)), warnings=("mind",))


async def list_statements(canon: Canon) -> list[str]:
    log = await canon.ledger.read_commits(MIDDLE_EARTH, after=ORIGIN, limit=100)
    items = [e.thing for c in log for e in c.entries if isinstance(e, Made)]
    return [item.statement for item in items if isinstance(item, FactDraft)]


async def test_a_change_is_written_and_reported(canon: Canon) -> None:
    prepare = Preparing(canon)

    receipt = await commit_change(canon, a_caller(), MIDDLE_EARTH, prepare)

    (fact,) = receipt.drafts_made(FactDraft)
    assert (receipt.position, receipt.warnings, receipt.replayed) == (1, ("mind",), False)
    assert is_uuid(receipt.commit_id)
    assert prepare.ids == {fact.id}
    assert set(await canon.state.items_by_id([fact.id])) == {fact.id}


async def test_a_stale_verdict_is_recomputed_with_the_same_ids(canon: Canon) -> None:
    prepare = Preparing(canon, disturbed=2)

    receipt = await commit_change(canon, a_caller(), MIDDLE_EARTH, prepare)

    assert (prepare.attempts, len(prepare.ids), receipt.position) == (3, 1, 3)
    assert await list_statements(canon) == ["other 1", "other 2", "mine"]


async def test_a_caller_that_loses_three_times_judges_exclusively(canon: Canon) -> None:
    """The fourth attempt is exclusive: only the writer itself could still disturb it."""
    prepare = Preparing(canon, disturbed=3)

    receipt = await commit_change(canon, a_caller(), MIDDLE_EARTH, prepare)

    assert (prepare.attempts, receipt.position) == (4, 4)


async def test_attempts_are_bounded(canon: Canon) -> None:
    prepare = Preparing(canon, disturbed=99)

    with pytest.raises(Unavailable) as caught:
        await commit_change(canon, a_caller(), MIDDLE_EARTH, prepare)

    assert (caught.value.code, caught.value.retryable) == ("canon.contended", True)
    assert prepare.attempts == ATTEMPTS_MAX
    assert "mine" not in await list_statements(canon)
    await commit_change(canon, a_caller(), MIDDLE_EARTH, Preparing(canon))


async def test_a_key_makes_a_request_happen_once(canon: Canon) -> None:
    first = await commit_change(canon, KEYED, MIDDLE_EARTH, Preparing(canon, "first"))
    again = Preparing(canon, "second")

    replayed = await commit_change(canon, KEYED, MIDDLE_EARTH, again)

    assert again.attempts == 0
    assert replayed == replace(first, replayed=True, warnings=(), entries=replayed.entries)
    (fact,) = replayed.drafts_made(FactDraft)
    assert isinstance(fact, FactDraft)
    assert fact.statement == "first"
    assert await list_statements(canon) == ["first"]


async def test_a_key_is_independent_for_another_agent_tool_or_space(canon: Canon) -> None:
    other_tool = replace(KEYED, tool="other")
    other_agent = replace(KEYED, actor=replace(KEYED.actor, agent_id="other"))
    for caller in (KEYED, other_tool, other_agent):
        await commit_change(canon, caller, MIDDLE_EARTH, Preparing(canon, caller.tool))
    there = SpaceId(uuid_of("there"))

    receipt = await commit_change(canon, KEYED, there, Preparing(canon))

    assert not receipt.replayed
    assert len(await list_statements(canon)) == 3


async def test_without_a_key_each_request_is_separate(canon: Canon) -> None:
    for _ in range(2):
        await commit_change(canon, a_caller(), MIDDLE_EARTH, Preparing(canon))

    assert await list_statements(canon) == ["mine", "mine"]


async def test_an_empty_change_writes_nothing(canon: Canon) -> None:
    async def prepare(new_id: NewId) -> Change:
        return Change(entries=(), reads=frozenset(), warnings=("already so",))

    receipt = await commit_change(canon, KEYED, MIDDLE_EARTH, prepare)

    assert (receipt.entries, receipt.replayed, receipt.warnings) == ((), True, ("already so",))
    assert await canon.ledger.head_position(MIDDLE_EARTH) == ORIGIN


async def test_an_objection_writes_nothing_and_uses_no_key(canon: Canon) -> None:
    async def object_(new_id: NewId) -> Change:
        raise InvalidInput("fact.wrong", "this cannot be")

    with pytest.raises(InvalidInput):
        await commit_change(canon, KEYED, MIDDLE_EARTH, object_)

    receipt = await commit_change(canon, KEYED, MIDDLE_EARTH, Preparing(canon))
    assert not receipt.replayed


async def test_an_objection_in_an_exclusive_attempt_releases_the_lock(canon: Canon) -> None:
    prepare = Preparing(canon, disturbed=3)

    async def object_late(new_id: NewId) -> Change:
        change = await prepare(new_id)
        if prepare.attempts > 3:
            raise Conflict("fact.conflict", "somebody said otherwise")
        return change

    with pytest.raises(Conflict):
        await commit_change(canon, a_caller(), MIDDLE_EARTH, object_late)

    await commit_change(canon, a_caller(), MIDDLE_EARTH, Preparing(canon))
    assert (await list_statements(canon))[-1] == "mine"


async def test_preparations_of_an_earlier_call_are_not_repeated(canon: Canon) -> None:
    await commit_change(canon, KEYED, MIDDLE_EARTH, Preparing(canon))

    again = await commit_change(canon, KEYED, MIDDLE_EARTH, Preparing(canon))

    assert again.replayed
    with pytest.raises(BrokenInvariant) as unknown:
        again.require_found()
    assert unknown.value.code == "commit.not-prepared"
