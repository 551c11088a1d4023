"""An admitted proposal becomes true in one commit, once; a refused one leaves only its record."""

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
    change_parameters,
    make_act,
    make_envelope,
    make_generation,
)
from tests.toolsets.world.proposals.kit import send_proposal, the_isle, with_new_ids

pytestmark = pytest.mark.anyio


async def admit_proposal(isle: Isle, *actions: Any, **more: Any) -> Any:
    reply = await send_proposal(isle, with_new_ids(make_envelope(*actions, **more)))
    assert reply["outcome"] == "accepted", reply
    assert reply["commitId"], reply
    return reply


async def refuse_proposal(isle: Isle, sent: Any, rule: str, player: str = "ann") -> Any:
    reply = await send_proposal(isle, sent, player)
    assert reply["outcome"] == "rejected", reply
    assert reply["rejection"]["rule"] == rule, reply
    return reply


async def location_of(isle: Isle, where: str = "inn") -> Any:
    return await isle.call("get-location-context", "Narrative", locationId=where)


async def test_an_envelope_is_one_commit_with_its_proposal_as_evidence() -> None:
    isle = await the_isle()

    reply = await admit_proposal(isle, GIVE, PAY, GO)

    commit = await isle.canon.ledger.find_commit(reply["commitId"])
    assert commit is not None
    made = [each.thing for each in commit.entries if isinstance(each, Made)]
    refs = {each.ref for item in made for each in item.evidence}  # type: ignore[union-attr]
    assert refs == {reply["proposalId"]}
    events = [each for each in made if isinstance(each, EventDraft)]
    assert [each.id for each in events] == reply["eventIds"]
    assert [each.title for each in events] == ["Item.Transfer", "Resource.Spent", "Player.Move"]
    decided = [each for each in commit.entries if isinstance(each, ProposalDecided)]
    assert [each.decision.status for each in decided] == [ProposalStatus.ACCEPTED]
    recent = await isle.call("get-recent-events", "World", scope="player", scopeId="ann")
    assert {each["id"] for each in recent} >= set(reply["eventIds"])


async def test_the_record_is_logged_before_its_actions_apply() -> None:
    isle = await the_isle()
    before = await isle.canon.ledger.head_position(isle.world)

    reply = await admit_proposal(isle, GO)

    record, applied = await isle.canon.ledger.read_commits(isle.world, after=before, limit=10)
    assert [each.thing.id for each in record.entries if isinstance(each, Made)] == [
        reply["proposalId"]
    ]
    assert applied.id == reply["commitId"]


async def test_a_refusal_is_recorded_and_nothing_else_is_written() -> None:
    isle = await the_isle()
    before = await isle.canon.ledger.head_position(isle.world)

    reply = await refuse_proposal(
        isle, make_envelope(change_parameters(GO, direction="north")), "exit.unknown"
    )

    (commit,) = await isle.canon.ledger.read_commits(isle.world, after=before, limit=10)
    kinds = [type(each) for each in commit.entries]
    assert kinds == [Made, ProposalDecided]
    assert reply["gatesPassed"] == ["schema", "safety"]
    assert reply["rejection"] == {
        "gate": "invariants",
        "gateIndex": 3,
        "rule": "exit.unknown",
        "reason": "No exit leads north from there.",
        "path": "/proposedActions/0/params/direction",
        "admissible": "Choose one of the exits of the location: down, out",
        "transient": False,
    }


async def test_a_move_changes_the_location_and_takes_time() -> None:
    isle = await the_isle()

    await admit_proposal(isle, GO, change_parameters(GO, direction="north"))

    reply = await isle.call("get-player-context", "World", playerId="ann")
    assert reply["location"]["name"] == "Road"
    assert reply["player"]["clockTick"] == 50_000_000 + 5_000 + 60_000


async def test_a_round_trip_leaves_the_original_location() -> None:
    isle = await the_isle()

    await admit_proposal(isle, GO, change_parameters(GO, direction="in"))

    reply = await isle.call("get-player-context", "World", playerId="ann")
    assert reply["location"]["name"] == "Inn"


async def test_a_part_of_a_stack_is_its_own_stack() -> None:
    isle = await the_isle()

    await admit_proposal(
        isle, change_parameters(GIVE, itemId="coins", quantity=4, toHolderId="inn")
    )
    await admit_proposal(isle, change_parameters(GIVE, itemId="coins", quantity=6))

    reply = await isle.call("get-player-context", "World", playerId="ann")
    assert [each["name"] for each in reply["inventory"]] == ["Cup"]


async def test_a_layer_is_set_and_replaces_another() -> None:
    isle = await the_isle()
    quiet = change_parameters(
        DRIP, layerType="ambient", replaces="song", layerContent="Nobody sings."
    )

    await admit_proposal(isle, quiet)

    reply = await location_of(isle)
    assert reply["ambient"]["valuePreview"] == "Nobody sings."
    before = await isle.call("get-location-context", "Narrative", locationId="inn", tick=49_999_999)
    assert before["ambient"]["valuePreview"].startswith("a song")


async def test_a_later_layer_blocks_another_at_that_time() -> None:
    isle = await the_isle()
    later = change_parameters(DRIP, fromTick=60_000_000, toTick=61_000_000)
    await admit_proposal(isle, later)

    await admit_proposal(
        isle, change_parameters(DRIP, toTick=59_999_999, layerContent="It is dry for now.")
    )
    clash = change_parameters(
        DRIP, fromTick=60_500_000, layerContent="Somebody has mopped the floor."
    )
    await refuse_proposal(isle, with_new_ids(make_envelope(clash)), "layer.overlaps")


async def test_a_way_opens_in_both_directions_and_closes_again() -> None:
    isle = await the_isle()
    await admit_proposal(isle, WAY)
    exits = [each["direction"] for each in (await location_of(isle, "cellar"))["exits"]]
    assert "north" in exits
    assert "south" in [each["direction"] for each in (await location_of(isle, "tower"))["exits"]]

    await admit_proposal(
        isle, make_act("Exit.Remove", "loc:cellar", fromLocationId="cellar", direction="north")
    )

    assert "north" not in [
        each["direction"] for each in (await location_of(isle, "cellar"))["exits"]
    ]
    assert "south" not in [
        each["direction"] for each in (await location_of(isle, "tower"))["exits"]
    ]
    assert (await admit_proposal(isle, WAY))["outcome"] == "accepted"


async def test_a_character_without_health_is_dead_for_later_actions() -> None:
    isle = await the_isle()
    kill = {"targetId": "cook", "kind": "damage", "amount": 99}

    await admit_proposal(isle, change_parameters(FIGHT, effects=[kill]))

    await refuse_proposal(isle, with_new_ids(make_envelope(TALK)), "person.dead")
    loot = make_act("Item.Transfer", "loc:inn", itemId="key", fromHolderId="cook", toHolderId="ann")
    await admit_proposal(isle, loot)


async def test_healing_adds_and_characters_without_health_keep_none() -> None:
    isle = await the_isle()
    heal = {"targetId": "ann", "kind": "heal", "amount": 3}

    await admit_proposal(isle, change_parameters(FIGHT, effects=[heal]))
    await admit_proposal(isle, change_parameters(PAY, resource="health", amount=12))
    await refuse_proposal(
        isle,
        with_new_ids(make_envelope(change_parameters(PAY, resource="health", amount=1))),
        "resource.too-little",
    )


async def test_conditions_begin_end_and_expire() -> None:
    isle = await the_isle()
    await admit_proposal(isle, CURE, change_parameters(CURSE, durationMs=1_000))
    await refuse_proposal(isle, with_new_ids(make_envelope(CURSE)), "condition.held")

    await isle.call("advance-clock", durationMs=1_000)

    await admit_proposal(isle, CURSE)
    await refuse_proposal(isle, with_new_ids(make_envelope(CURE)), "condition.not-held")


async def test_an_appearing_character_is_there() -> None:
    isle = await the_isle()

    await admit_proposal(
        isle,
        change_parameters(RAT, factionId="grey-cloaks", tags=["wet"]),
        change_parameters(RAT, entityType="item", name="Bone", description="A white bone."),
    )

    reply = await location_of(isle, "cellar")
    assert [each["name"] for each in reply["nearbyCharacters"]] == ["Rat"]


async def test_a_repeated_key_gets_the_first_answer() -> None:
    isle = await the_isle()
    first = await send_proposal(isle, make_envelope(GO))
    head = await isle.canon.ledger.head_position(isle.world)

    assert await send_proposal(isle, make_envelope(GO)) == first
    other_id = make_envelope(GO, proposalId="00000000-0000-4000-8000-00000000a002")
    again = await send_proposal(isle, other_id)
    other_key = await send_proposal(isle, make_envelope(GO, idempotencyKey="b-key"))

    assert again == {**first, "duplicateOf": first["proposalId"]}
    assert other_key == first
    assert await isle.canon.ledger.head_position(isle.world) == head


async def test_a_key_or_id_reused_for_another_content_is_refused() -> None:
    isle = await the_isle()
    await send_proposal(isle, make_envelope(DRIP))

    await refuse_proposal(isle, make_envelope(MOOD), "duplication.other-content")
    other_key = make_envelope(MOOD, idempotencyKey="b-key")
    reply = await refuse_proposal(isle, other_key, "duplication.other-content")

    assert reply["gatesPassed"] == ["schema", "safety", "invariants"]
    assert reply["proposalId"] != other_key["proposalId"]


async def test_a_refused_proposal_sent_again_is_recorded_once() -> None:
    isle = await the_isle()
    first = await refuse_proposal(
        isle, make_envelope(change_parameters(GO, direction="north")), "exit.unknown"
    )
    head = await isle.canon.ledger.head_position(isle.world)

    assert (
        await send_proposal(isle, make_envelope(change_parameters(GO, direction="north"))) == first
    )
    assert await isle.canon.ledger.head_position(isle.world) == head


async def test_a_refused_proposal_may_pass_once_the_world_allows_it() -> None:
    isle = await the_isle()
    north = make_envelope(change_parameters(GO, direction="north"))
    await refuse_proposal(isle, north, "exit.unknown")
    await isle.call("move", moverId="ann", direction="out")

    reply = await send_proposal(isle, north)

    assert reply["outcome"] == "accepted"
    assert reply["proposalId"] != north["proposalId"]


async def test_an_identical_text_is_one_layer() -> None:
    isle = await the_isle()
    first = await send_proposal(isle, with_new_ids(make_envelope(DRIP)))

    again = await send_proposal(
        isle, with_new_ids(make_envelope(change_parameters(DRIP, layerContent="  water DRIPS ")))
    )

    assert again["duplicateOf"] == first["proposalId"]
    assert again["outcome"] == "accepted"


async def test_moves_and_spending_may_repeat() -> None:
    isle = await the_isle()
    for _ in range(3):
        await admit_proposal(isle, change_parameters(PAY, amount=1))
    await admit_proposal(isle, GO)
    await admit_proposal(isle, change_parameters(GO, direction="in"))
    await admit_proposal(isle, GO)


LONG = (
    "The wind howls along the gallery and shakes the old shutters until the whole house groans"
    " like a ship at sea."
)


async def test_a_nearly_identical_text_is_refused_for_a_day() -> None:
    clock = HandClock()
    isle = await the_isle(clock)
    await admit_proposal(isle, change_parameters(TALK, text=LONG))

    nearly = change_parameters(TALK, text=LONG.replace("old shutters", "old shutter"))
    reply = await refuse_proposal(isle, with_new_ids(make_envelope(nearly)), "duplication.near")
    assert reply["gatesPassed"] == ["schema", "safety", "invariants"]

    await admit_proposal(
        isle, change_parameters(TALK, text=LONG.replace("until", "but never until"))
    )
    clock.move_by(86_400 * SECOND + SECOND)
    later = with_new_ids(make_envelope(nearly, issuedUtc="2025-01-16T00:00:00Z"))
    assert (await send_proposal(isle, later))["outcome"] == "accepted"


def replace_gateway(isle: Isle) -> Isle:
    return Isle(canon=isle.canon, gateway=Gateway(isle.canon, (WORLD,)), world=isle.world)


async def test_an_admitted_action_is_not_repeated_within_an_envelope() -> None:
    isle = await the_isle()
    await admit_proposal(isle, TALK)

    await refuse_proposal(isle, with_new_ids(make_envelope(TALK, MOOD)), "duplication.repeated")


async def test_the_window_of_a_player_slides() -> None:
    clock = HandClock()
    isle = await the_isle(clock)
    for second in range(30):
        await admit_proposal(
            isle,
            MOOD if second % 2 else make_act("Ambience.Generate", "loc:yard", locationId="yard"),
        )
        clock.move_by(SECOND)

    reply = await refuse_proposal(isle, with_new_ids(make_envelope(MOOD)), "rate.player")
    assert reply["rejection"]["transient"]
    wait = reply["rejection"]["retryAfterMs"]
    assert 29_000 < wait <= 30_001
    assert (await send_proposal(isle, with_new_ids(make_envelope(MOOD)), "bob"))[
        "outcome"
    ] == "accepted"
    clock.move_by(wait * 1_000)
    await admit_proposal(isle, MOOD)
    await refuse_proposal(isle, with_new_ids(make_envelope(MOOD)), "rate.player")


async def test_the_tokens_of_an_hour_are_counted() -> None:
    isle = await the_isle()
    model: Any = {"actor": {"kind": "ai"}}
    half = make_generation(promptTokens=30_000, completionTokens=1_000)
    reply = await admit_proposal(
        isle, change_parameters(DRIP, layerContent="Mist hangs."), generation=half, **model
    )
    kept = await isle.call("get-proposal", "Narrative", proposalId=reply["proposalId"])
    assert kept["actionEnvelope"]["generation"]["promptTokens"] == 30_000

    more = with_new_ids(make_envelope(TALK, generation=half, **model))

    reply = await refuse_proposal(isle, more, "rate.tokens")
    assert reply["rejection"]["retryAfterMs"] > 3_590_000


async def test_a_model_proposals_record_has_the_models_context() -> None:
    isle = await the_isle()
    reply = await admit_proposal(isle, DRIP, actor={"kind": "ai"}, generation=make_generation())

    proposal = (await isle.canon.state.items_by_id((reply["proposalId"],)))[reply["proposalId"]]

    assert isinstance(proposal, Proposal)
    assert proposal.content["context"]["location"]["name"] == "Inn"


class Prude(Moderator):
    """Flags whatever has a rat in it."""

    async def moderate_text(self, text: str) -> Moderation:
        return Moderation(categories=("spam",) * ("rat" in text.casefold()), policy_version="x")

    async def close(self) -> None:
        return


async def test_a_moderator_replaces_the_word_lists() -> None:
    isle = await the_isle()
    isle = replace_gateway(
        Isle(
            canon=isle.canon.revise_service(WorldServices, moderator=Prude()),
            gateway=isle.gateway,
            world=isle.world,
        )
    )

    await refuse_proposal(isle, make_envelope(RAT), "safety.spam")


async def test_callers_list_only_their_own_proposals() -> None:
    isle = await the_isle()
    first = await admit_proposal(isle, MOOD)
    await refuse_proposal(
        isle, with_new_ids(make_envelope(change_parameters(GO, direction="north"))), "exit.unknown"
    )

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
