"""Cached replies: never older than the last commit that matters, never across callers."""

from dataclasses import dataclass, field, replace

import pytest
from typing_extensions import override

from canonry.gateway.cache import Filling, ReplyCache
from canonry.gateway.replies import success_result
from canonry.gateway.tool import Cached
from canonry.log.folding import ANY, key_hash
from canonry.log.ports.ledger import Sealer, Touched
from canonry.stores.memory import MemoryLedger, MemoryStore
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.values.ids import SpaceId
from canonry.values.moments import SECOND
from tests.gateway.sample import GUEST, KEEPER, LAMP, a_canon, a_gateway

OTHER_LAMP = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
POLICY = Cached(seconds=lambda _, __: 60.0, depends_on=lambda _, __: frozenset({"lamp"}))


@dataclass
class Script(MemoryLedger):
    """A ledger whose touched keys are written by the test."""

    news: list[frozenset[int] | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(MemoryStore(), Sealer(HandClock(), CountingIdentities()))

    @override
    async def touched_since(self, cursor: int, *, limit: int) -> Touched:
        if cursor == 0:
            return Touched(cursor=1, keys=None)
        news, self.news = self.news, []
        if None in news:
            return Touched(cursor=cursor + 1, keys=None)
        keys = frozenset().union(*(each for each in news if each is not None))
        return Touched(cursor=cursor + len(news), keys=keys)


async def fill_entry(cache: ReplyCache, name: str = "a") -> Filling:
    found = await cache.find_reply((name,))
    assert isinstance(found, Filling)
    return found


@pytest.mark.anyio
async def test_a_cached_reply_is_found_until_it_expires() -> None:
    clock = HandClock()
    cache = ReplyCache(Script(), clock.monotonic)
    outcome = success_result({"n": 1})
    cache.keep_reply(await fill_entry(cache), POLICY, {}, outcome)
    assert await cache.find_reply(("a",)) is outcome
    clock.move_by(60 * SECOND)
    await fill_entry(cache)


@pytest.mark.parametrize("touched", [frozenset({key_hash("lamp")}), None, {key_hash(ANY)}])
@pytest.mark.anyio
async def test_a_touched_key_ends_a_reply(touched: frozenset[int] | None) -> None:
    ledger = Script()
    cache = ReplyCache(ledger, HandClock().monotonic)
    cache.keep_reply(await fill_entry(cache), POLICY, {}, success_result({}))
    ledger.news.append(frozenset({key_hash("door")}))
    assert not isinstance(await cache.find_reply(("a",)), Filling)
    ledger.news.append(touched)
    await fill_entry(cache)


@pytest.mark.parametrize("touched", [frozenset({key_hash("lamp")}), None])
@pytest.mark.anyio
async def test_a_reply_is_not_cached_if_its_key_was_touched_meanwhile(
    touched: frozenset[int] | None,
) -> None:
    ledger = Script()
    cache = ReplyCache(ledger, HandClock().monotonic)
    await cache.drop_stale()
    being_made = await fill_entry(cache)
    ledger.news.append(touched)
    cache.abandon_filling(await fill_entry(cache, "b"))
    cache.keep_reply(being_made, POLICY, {}, success_result({}))
    await fill_entry(cache)


@pytest.mark.anyio
async def test_the_oldest_replies_are_dropped_first() -> None:
    cache = ReplyCache(Script(), HandClock().monotonic, entries=2)
    for name in ("a", "b", "c"):
        cache.keep_reply(await fill_entry(cache, name), POLICY, {}, success_result({}))
    await fill_entry(cache, "a")
    assert not isinstance(await cache.find_reply(("b",)), Filling)
    assert not isinstance(await cache.find_reply(("c",)), Filling)


@pytest.mark.anyio
async def test_zero_lifetime_and_very_long_replies_are_not_cached() -> None:
    cache = ReplyCache(Script(), HandClock().monotonic, characters=800)
    never = replace(POLICY, seconds=lambda _, __: 0.0)
    cache.keep_reply(await fill_entry(cache), never, {}, success_result({}))
    await fill_entry(cache)
    cache.keep_reply(await fill_entry(cache), POLICY, {}, success_result({"text": "x" * 200}))
    await fill_entry(cache)


@pytest.mark.anyio
async def test_a_write_through_the_gateway_is_seen_by_the_next_cached_read() -> None:
    gateway = a_gateway()
    for position in (0, 1, 2):
        for _ in range(2):
            outcome = await gateway.call("look", {"lamp_id": LAMP}, KEEPER)
            assert outcome.body == {"position": position}
        await gateway.call("found", {"lamp_id": LAMP}, KEEPER)
    metrics = gateway.audit.metrics
    assert (metrics.cache_hits, metrics.cache_misses) == (3, 3)


@pytest.mark.anyio
async def test_a_write_by_another_process_is_seen_too() -> None:
    canon = a_canon()
    ours, theirs = a_gateway(canon=canon), a_gateway(canon=canon)
    assert (await ours.call("look", {"lamp_id": LAMP}, KEEPER)).body == {"position": 0}
    await theirs.call("found", {"lamp_id": LAMP}, KEEPER)
    assert (await ours.call("look", {"lamp_id": LAMP}, KEEPER)).body == {"position": 1}


@pytest.mark.anyio
async def test_replies_are_not_shared_across_roles_spaces_or_arguments() -> None:
    gateway = a_gateway()
    narrow = replace(KEEPER, spaces=frozenset({SpaceId("s")}))
    for principal in (KEEPER, GUEST, narrow, replace(KEEPER, user="u")):
        await gateway.call("look", {"lamp_id": LAMP}, principal)
    await gateway.call("look", {"lamp_id": OTHER_LAMP}, KEEPER)
    assert gateway.audit.metrics.cache_hits == 0
    await gateway.call("look", {"lamp_id": LAMP}, replace(KEEPER, agent_id="another"))
    assert gateway.audit.metrics.cache_hits == 1
