"""What is admitted becomes true in one commit, once, and what is refused leaves only its record."""

from typing import Any

import pytest

from canonry.gateway.call import Gateway
from canonry.log.entries import Made, ProposalDecided
from canonry.log.items.facts import EventDraft
from canonry.log.items.proposals import Proposal, ProposalStatus
from canonry.testing.clocks import HandClock
from canonry.values.moments import SECOND
from canonry.world.domain.moderation.moderating import Moderation
from canonry.world.models.services import WorldServices
from canonry.world.ports.moderator import Moderator
from canonry.world.toolset import WORLD
from tests.toolsets.world.kit import Isle
from tests.toolsets.world.proposals.adversarial import (
    CURE,
    CURSE,
    DRIP,
    FIGHT,
    GIVE,
    GO,
    MOOD,
    PAY,
    RAT,
    TALK,
    WAY,
    act,
    but,
    envelope,
    generation,
)
from tests.toolsets.world.proposals.kit import fresh, propose, the_isle

pytestmark = pytest.mark.anyio


async def admitted(isle: Isle, *actions: Any, **more: Any) -> Any:
    told = await propose(isle, fresh(envelope(*actions, **more)))
    assert told["outcome"] == "accepted", told
    assert told["commitId"], told
    return told


async def refused(isle: Isle, sent: Any, rule: str, player: str = "ann") -> Any:
    told = await propose(isle, sent, player)
    assert told["outcome"] == "rejected", told
    assert told["rejection"]["rule"] == rule, told
    return told


async def place(isle: Isle, where: str = "inn") -> Any:
    return await isle.call("get-location-context", "Narrative", locationId=where)


async def test_all_of_an_envelope_is_one_commit_with_its_proposal_as_evidence() -> None:
    isle = await the_isle()

    told = await admitted(isle, GIVE, PAY, GO)

    commit = await isle.canon.ledger.find_commit(told["commitId"])
    assert commit is not None
    made = [each.thing for each in commit.entries if isinstance(each, Made)]
    refs = {each.ref for thing in made for each in thing.evidence}  # type: ignore[union-attr]
    assert refs == {told["proposalId"]}
    events = [each for each in made if isinstance(each, EventDraft)]
    assert [each.id for each in events] == told["eventIds"]
    assert [each.title for each in events] == ["Item.Transfer", "Resource.Spent", "Player.Move"]
    decided = [each for each in commit.entries if isinstance(each, ProposalDecided)]
    assert [each.decision.status for each in decided] == [ProposalStatus.ACCEPTED]
    recent = await isle.call("get-recent-events", "World", scope="player", scopeId="ann")
    assert {each["id"] for each in recent} >= set(told["eventIds"])


async def test_the_record_stands_in_the_log_before_anything_is_true() -> None:
    isle = await the_isle()
    before = await isle.canon.ledger.head_position(isle.world)

    told = await admitted(isle, GO)

    record, applied = await isle.canon.ledger.read_commits(isle.world, after=before, limit=10)
    assert [each.thing.id for each in record.entries if isinstance(each, Made)] == [
        told["proposalId"]
    ]
    assert applied.id == told["commitId"]


async def test_a_refusal_is_recorded_and_nothing_else_is_written() -> None:
    isle = await the_isle()
    before = await isle.canon.ledger.head_position(isle.world)

    told = await refused(isle, envelope(but(GO, direction="north")), "exit.unknown")

    (commit,) = await isle.canon.ledger.read_commits(isle.world, after=before, limit=10)
    kinds = [type(each) for each in commit.entries]
    assert kinds == [Made, ProposalDecided]
    assert told["gatesPassed"] == ["schema", "safety"]
    assert told["rejection"] == {
        "gate": "invariants",
        "gateIndex": 3,
        "rule": "exit.unknown",
        "reason": "No exit leads north from there.",
        "path": "/proposedActions/0/params/direction",
        "admissible": "Choose one of the exits of the location: down, out",
        "transient": False,
    }


async def test_a_move_moves_and_takes_its_time() -> None:
    isle = await the_isle()

    await admitted(isle, GO, but(GO, direction="north"))

    told = await isle.call("get-player-context", "World", playerId="ann")
    assert told["location"]["name"] == "Road"
    assert told["player"]["clockTick"] == 50_000_000 + 5_000 + 60_000


async def test_there_and_back_again_leaves_somebody_where_they_were() -> None:
    isle = await the_isle()

    await admitted(isle, GO, but(GO, direction="in"))

    told = await isle.call("get-player-context", "World", playerId="ann")
    assert told["location"]["name"] == "Inn"


async def test_a_part_of_a_stack_is_a_stack_of_its_own() -> None:
    isle = await the_isle()

    await admitted(isle, but(GIVE, itemId="coins", quantity=4, toHolderId="inn"))
    await admitted(isle, but(GIVE, itemId="coins", quantity=6))

    told = await isle.call("get-player-context", "World", playerId="ann")
    assert [each["name"] for each in told["inventory"]] == ["Cup"]


async def test_a_layer_lies_and_takes_the_place_of_another() -> None:
    isle = await the_isle()
    quiet = but(DRIP, layerType="ambient", replaces="song", layerContent="Nobody sings.")

    await admitted(isle, quiet)

    told = await place(isle)
    assert told["ambient"]["valuePreview"] == "Nobody sings."
    before = await isle.call("get-location-context", "Narrative", locationId="inn", tick=49_999_999)
    assert before["ambient"]["valuePreview"].startswith("a song")


async def test_a_layer_of_later_stands_against_another_of_that_time() -> None:
    isle = await the_isle()
    later = but(DRIP, fromTick=60_000_000, toTick=61_000_000)
    await admitted(isle, later)

    await admitted(isle, but(DRIP, toTick=59_999_999, layerContent="It is dry for now."))
    clash = but(DRIP, fromTick=60_500_000, layerContent="Somebody has mopped the floor.")
    await refused(isle, fresh(envelope(clash)), "layer.overlaps")


async def test_a_way_opens_both_ways_and_closes_again() -> None:
    isle = await the_isle()
    await admitted(isle, WAY)
    exits = [each["direction"] for each in (await place(isle, "cellar"))["exits"]]
    assert "north" in exits
    assert "south" in [each["direction"] for each in (await place(isle, "tower"))["exits"]]

    await admitted(
        isle, act("Exit.Remove", "loc:cellar", fromLocationId="cellar", direction="north")
    )

    assert "north" not in [each["direction"] for each in (await place(isle, "cellar"))["exits"]]
    assert "south" not in [each["direction"] for each in (await place(isle, "tower"))["exits"]]
    assert (await admitted(isle, WAY))["outcome"] == "accepted"


async def test_who_has_no_health_left_is_dead_for_all_that_follows() -> None:
    isle = await the_isle()
    kill = {"targetId": "cook", "kind": "damage", "amount": 99}

    await admitted(isle, but(FIGHT, effects=[kill]))

    await refused(isle, fresh(envelope(TALK)), "person.dead")
    loot = act("Item.Transfer", "loc:inn", itemId="key", fromHolderId="cook", toHolderId="ann")
    await admitted(isle, loot)


async def test_healing_adds_and_who_has_no_health_keeps_none() -> None:
    isle = await the_isle()
    heal = {"targetId": "ann", "kind": "heal", "amount": 3}

    await admitted(isle, but(FIGHT, effects=[heal]))
    await admitted(isle, but(PAY, resource="health", amount=12))
    await refused(
        isle, fresh(envelope(but(PAY, resource="health", amount=1))), "resource.too-little"
    )


async def test_conditions_come_and_go_and_pass_with_time() -> None:
    isle = await the_isle()
    await admitted(isle, CURE, but(CURSE, durationMs=1_000))
    await refused(isle, fresh(envelope(CURSE)), "condition.held")

    await isle.call("advance-clock", durationMs=1_000)

    await admitted(isle, CURSE)
    await refused(isle, fresh(envelope(CURE)), "condition.not-held")


async def test_who_appears_is_there() -> None:
    isle = await the_isle()

    await admitted(
        isle,
        but(RAT, factionId="grey-cloaks", tags=["wet"]),
        but(RAT, entityType="item", name="Bone", description="A white bone."),
    )

    told = await place(isle, "cellar")
    assert [each["name"] for each in told["nearbyCharacters"]] == ["Rat"]


async def test_the_same_key_gets_the_first_answer() -> None:
    isle = await the_isle()
    first = await propose(isle, envelope(GO))
    head = await isle.canon.ledger.head_position(isle.world)

    assert await propose(isle, envelope(GO)) == first
    other_id = envelope(GO, proposalId="00000000-0000-4000-8000-00000000a002")
    again = await propose(isle, other_id)
    other_key = await propose(isle, envelope(GO, idempotencyKey="b-key"))

    assert again == {**first, "duplicateOf": first["proposalId"]}
    assert other_key == first
    assert await isle.canon.ledger.head_position(isle.world) == head


async def test_a_key_or_id_for_something_else_is_refused() -> None:
    isle = await the_isle()
    await propose(isle, envelope(DRIP))

    await refused(isle, envelope(MOOD), "duplication.other-content")
    other_key = envelope(MOOD, idempotencyKey="b-key")
    told = await refused(isle, other_key, "duplication.other-content")

    assert told["gatesPassed"] == ["schema", "safety", "invariants"]
    assert told["proposalId"] != other_key["proposalId"]


async def test_a_refused_proposal_sent_again_is_recorded_once() -> None:
    isle = await the_isle()
    first = await refused(isle, envelope(but(GO, direction="north")), "exit.unknown")
    head = await isle.canon.ledger.head_position(isle.world)

    assert await propose(isle, envelope(but(GO, direction="north"))) == first
    assert await isle.canon.ledger.head_position(isle.world) == head


async def test_what_was_refused_may_pass_once_the_world_allows_it() -> None:
    isle = await the_isle()
    north = envelope(but(GO, direction="north"))
    await refused(isle, north, "exit.unknown")
    await isle.call("move", moverId="ann", direction="out")

    told = await propose(isle, north)

    assert told["outcome"] == "accepted"
    assert told["proposalId"] != north["proposalId"]


async def test_the_same_text_is_one_layer() -> None:
    isle = await the_isle()
    first = await propose(isle, fresh(envelope(DRIP)))

    again = await propose(isle, fresh(envelope(but(DRIP, layerContent="  water DRIPS "))))

    assert again["duplicateOf"] == first["proposalId"]
    assert again["outcome"] == "accepted"


async def test_moves_and_spending_may_repeat() -> None:
    isle = await the_isle()
    for _ in range(3):
        await admitted(isle, but(PAY, amount=1))
    await admitted(isle, GO)
    await admitted(isle, but(GO, direction="in"))
    await admitted(isle, GO)


LONG = (
    "The wind howls along the gallery and shakes the old shutters until the whole house groans"
    " like a ship at sea."
)


async def test_nearly_the_same_text_is_refused_for_a_day() -> None:
    clock = HandClock()
    isle = await the_isle(clock)
    await admitted(isle, but(TALK, text=LONG))

    nearly = but(TALK, text=LONG.replace("old shutters", "old shutter"))
    told = await refused(isle, fresh(envelope(nearly)), "duplication.near")
    assert told["gatesPassed"] == ["schema", "safety", "invariants"]

    await admitted(isle, but(TALK, text=LONG.replace("until", "but never until")))
    clock.move_by(86_400 * SECOND + SECOND)
    later = fresh(envelope(nearly, issuedUtc="2025-01-16T00:00:00Z"))
    assert (await propose(isle, later))["outcome"] == "accepted"


def replace_gateway(isle: Isle) -> Isle:
    return Isle(canon=isle.canon, gateway=Gateway(isle.canon, (WORLD,)), world=isle.world)


async def test_an_action_that_was_admitted_is_not_smuggled_in_again() -> None:
    isle = await the_isle()
    await admitted(isle, TALK)

    await refused(isle, fresh(envelope(TALK, MOOD)), "duplication.repeated")


async def test_the_window_of_a_player_slides() -> None:
    clock = HandClock()
    isle = await the_isle(clock)
    for second in range(30):
        await admitted(
            isle, MOOD if second % 2 else act("Ambience.Generate", "loc:yard", locationId="yard")
        )
        clock.move_by(SECOND)

    told = await refused(isle, fresh(envelope(MOOD)), "rate.player")
    assert told["rejection"]["transient"]
    wait = told["rejection"]["retryAfterMs"]
    assert 29_000 < wait <= 30_001
    assert (await propose(isle, fresh(envelope(MOOD)), "bob"))["outcome"] == "accepted"
    clock.move_by(wait * 1_000)
    await admitted(isle, MOOD)
    await refused(isle, fresh(envelope(MOOD)), "rate.player")


async def test_the_tokens_of_an_hour_are_counted() -> None:
    isle = await the_isle()
    model: Any = {"actor": {"kind": "ai"}}
    half = generation(promptTokens=30_000, completionTokens=1_000)
    told = await admitted(isle, but(DRIP, layerContent="Mist hangs."), generation=half, **model)
    kept = await isle.call("get-proposal", "Narrative", proposalId=told["proposalId"])
    assert kept["actionEnvelope"]["generation"]["promptTokens"] == 30_000

    more = fresh(envelope(TALK, generation=half, **model))

    told = await refused(isle, more, "rate.tokens")
    assert told["rejection"]["retryAfterMs"] > 3_590_000


async def test_the_record_of_a_models_proposal_has_the_context_that_it_was_told() -> None:
    isle = await the_isle()
    told = await admitted(isle, DRIP, actor={"kind": "ai"}, generation=generation())

    proposal = (await isle.canon.state.items_by_id((told["proposalId"],)))[told["proposalId"]]

    assert isinstance(proposal, Proposal)
    assert proposal.content["context"]["location"]["name"] == "Inn"


class Prude(Moderator):
    """Flags whatever has a rat in it."""

    async def moderate_text(self, text: str) -> Moderation:
        return Moderation(categories=("spam",) * ("rat" in text.casefold()), policy_version="x")

    async def close(self) -> None:
        return


async def test_a_moderator_takes_the_place_of_the_word_lists() -> None:
    isle = await the_isle()
    isle = replace_gateway(
        Isle(
            canon=isle.canon.revise_service(WorldServices, moderator=Prude()),
            gateway=isle.gateway,
            world=isle.world,
        )
    )

    await refused(isle, envelope(RAT), "safety.spam")


async def test_proposals_are_listed_and_only_those_of_ones_own() -> None:
    isle = await the_isle()
    first = await admitted(isle, MOOD)
    await refused(isle, fresh(envelope(but(GO, direction="north"))), "exit.unknown")

    page = await isle.call("list-proposals", "Canonicality", limit=1)
    rest = await isle.call("list-proposals", "Canonicality", cursor=page["nextCursor"])
    refusals = await isle.call("list-proposals", "World", outcome="rejected", playerId="ann")

    assert [each["proposalId"] for each in page["proposals"]] == [first["proposalId"]]
    assert [each["outcome"] for each in rest["proposals"]] == ["rejected"]
    assert rest["nextCursor"] is None
    assert [each["outcome"] for each in refusals["proposals"]] == ["rejected"]
    assert (await isle.call("list-proposals", "Planner"))["proposals"] == []
    own = {"proposalId": first["proposalId"]}
    assert await isle.call("get-proposal", "Planner", **own) is None
    assert (await isle.call("get-proposal", "Narrative", **own))["proposedBy"] == "Narrative-1"
