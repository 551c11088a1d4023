"""A moderator that runs on this machine: it adds to the rules what it learned, and nothing else."""

from collections.abc import AsyncIterator

import pytest

from bench.table.measures import measured_moderation, unlearned
from bench.table.utterances import lines
from canonry.app.compose import compose_memory
from canonry.app.load_settings import load_settings
from canonry.app.recall_models import with_dialogue_models
from canonry.recall.embedders.onnx import MINILM, OnnxEmbedder
from canonry.values.errors import Unavailable
from canonry.world.domain.moderation.moderating import CATEGORIES, moderate_by_words
from canonry.world.models.services import WorldServices
from canonry.world.moderators.likeness import LikenessModerator, load_rows, pieces_of

pytestmark = pytest.mark.anyio

FRESH, STANDS = 0.9, 0.99
VEILED = "trade pics of middle school girls?"


@pytest.fixture
async def moderator() -> AsyncIterator[LikenessModerator]:
    made = LikenessModerator(OnnxEmbedder(threads=1))
    yield made
    await made.close()


async def test_text_without_a_matching_rule_is_flagged_by_the_model(
    moderator: LikenessModerator,
) -> None:
    assert moderate_by_words(VEILED).allowed
    answer = await moderator.moderate_text(VEILED)
    assert answer.categories == ("sexual-minors",)
    assert answer.policy_version == f"{moderate_by_words('').policy_version}+likeness-2"


async def test_rules_apply_whatever_the_model_learned(moderator: LikenessModerator) -> None:
    for text in ("kill yourself", "send nudes"):
        assert await moderator.moderate_text(text) == moderate_by_words(text)


async def test_the_model_judges_unseen_texts_better_than_rules_alone(
    moderator: LikenessModerator,
) -> None:
    result = lines("moderation_second.txt")
    found = await measured_moderation(result, moderator.moderate_text)
    assert found.verdicts > (await measured_moderation(result)).verdicts
    assert found.categories >= FRESH


async def test_legitimate_speech_of_players_and_narrators_passes(
    moderator: LikenessModerator,
) -> None:
    found = [f"ok | {text}" for text in unlearned()]
    assert (await measured_moderation(found, moderator.moderate_text)).verdicts >= STANDS


async def test_one_violation_in_a_long_text_is_found(moderator: LikenessModerator) -> None:
    tale = "The market wakes. Fishwives lay out eels, and a boy sells ribbons. " * 12
    assert (await moderator.moderate_text(tale)).allowed
    assert not (await moderator.moderate_text(f"{tale} {VEILED} {tale}")).allowed


def test_a_text_is_read_in_pieces_of_bounded_size() -> None:
    assert list(dict.fromkeys(pieces_of("short"))) == ["short"]
    assert list(pieces_of("One. Two!")) == ["One. Two!", "One", "Two"]
    assert list(pieces_of(" " * 4_000)) == []
    many = " ".join(f"This is the {number}th thing that they said." for number in range(90))
    for text in ("word " * 1_000, "x" * 4_000, many):
        pieces = list(pieces_of(text))
        assert len(pieces) <= 40
        assert max(map(len, pieces)) <= 300


async def test_only_the_rules_apply_without_the_model() -> None:
    class Away(OnnxEmbedder):
        async def embed(self, *_: object) -> list[bytes]:
            raise Unavailable("embedder.unavailable", "install it")

    moderator = LikenessModerator(Away())
    assert await moderator.moderate_text(VEILED) == moderate_by_words(VEILED)
    assert not (await moderator.moderate_text("kill yourself")).allowed
    await moderator.close()


def test_learned_data_matches_the_current_model_and_categories() -> None:
    known = load_rows()
    assert known.model["digest"] == MINILM.identity.digest
    assert tuple(known.rows) == ("ok", *CATEGORIES)
    assert {len(row) for row in known.rows.values()} == {MINILM.identity.dimensions + 1}


async def test_the_setting_needs_no_endpoint() -> None:
    settings = load_settings({"dialogue_moderator": "local"}, environment={})
    canon = with_dialogue_models(compose_memory(), settings)
    services = canon.find_service(WorldServices)
    assert isinstance(services.moderator, LikenessModerator)
    assert services.speaker is None
    await services.moderator.close()
