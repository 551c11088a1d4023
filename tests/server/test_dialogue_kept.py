"""Dialogue is kept: repeated turns, unfinished turns, and their cost."""

from dataclasses import replace

import pytest

from canonry.canon.session.canon import Canon
from canonry.values.fields import with_changes
from canonry.values.moments import Instant
from canonry.values.policy import ModelTiers
from canonry.world.models.services import Telemetry, WorldServices, usage_report
from canonry.world.usecases.dialogue import recount_usage
from tests.server.speaking_model import answer_calls, answer_of, in_words
from tests.server.test_dialogue import a_table

pytestmark = pytest.mark.anyio


async def test_a_resent_turn_is_answered_as_before_and_kept_once() -> None:
    async with a_table() as table:
        table.model.set_answers(answer_of("Silver, dear."), in_words("Something else."))
        first = await table.speak_turn(correlationId="mine")

        again = await table.speak_turn(correlationId="mine")
        object.__setattr__(
            table.isle.canon.find_service(WorldServices).generated, "_kept", {}
        )  # as after a restart
        after = await table.speak_turn(correlationId="mine")
        other = await table.speak_turn("And the crown?", correlationId="mine")

        assert first["reply"] == again["reply"] == after["reply"] == "Silver, dear."
        assert other["reply"] == "Something else."
        assert len(table.model.asked) == 2
        assert sorted(each["said"] for each in await table.kept_exchanges()) == [
            "And the crown?",
            "What about the bell?",
        ]


async def test_work_left_by_a_restart_is_done_with_the_first_turn() -> None:
    async with a_table() as table:
        table.model.set_answers(in_words("{"))
        await table.turn_of_another_process("Who rang it?")
        assert [each["later"] for each in await table.kept_exchanges()] == [False]

        table.model.set_answers(answer_of("Hello."), answer_of("Olan did."), answer_of("Nobody."))
        await table.speak_turn("Hello?")
        await table.await_settled()

        kept = {
            (each["said"], each["later"]): each["reply"] for each in await table.kept_exchanges()
        }
        assert kept["Who rang it?", True] == "Olan did."
        assert len(kept) == 3
        table.dialogues.resumed.clear()
        await table.speak_turn("And now?")
        await table.await_settled()
        assert len(await table.kept_exchanges()) == 4, "what was done is not done again"


async def test_a_turn_uses_the_model_of_its_tier_and_reports_it() -> None:
    tiers = ModelTiers(cheap="small", rich="large", rich_prices=(0.5, 0.5), hourly_budget=1)

    def tiered(canon: Canon) -> Canon:
        return with_changes(canon, policy=replace(canon.policy, models=tiers))

    async with a_table(tiered) as table:
        table.model.set_answers(
            answer_calls(("get-atmosphere", {})),
            answer_of("Silver."),
            answer_of("You fly to the moon.", "You fly."),
        )
        await table.speak_turn()
        await table.speak_turn("Where now?")

        assert {each["model"] for each in table.model.asked} == {"large"}
        telemetry = table.canon.find_service(WorldServices).telemetry
        rows = {row["eventType"]: row for row in usage_report(telemetry, Instant(0))}
        turn = rows["Agent.Dialogue.Turn"]
        assert (turn["purpose"], turn["model"], turn["toolCalls"]) == ("npc_dialogue", "large", 1)
        assert turn["outcomes"] == {"accepted": 1}
        assert turn["costMicros"] > 0
        assert rows["Agent.Dialogue.Fallback"]["outcomes"] == {"rejected": 1}
        assert rows["Prompt.Cost.BudgetThreshold"]["count"] == 1
        assert rows["MCP.Tool.Invoked"]["count"] == 1

        canon = table.canon.revise_service(WorldServices, telemetry=Telemetry())
        await recount_usage(canon)
        again = {
            row["eventType"]: row
            for row in usage_report(canon.find_service(WorldServices).telemetry, Instant(0))
        }
        for event in ("Agent.Dialogue.Turn", "Agent.Dialogue.Fallback"):
            assert again[event] == rows[event]
