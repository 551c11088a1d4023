"""Each recent admission of a world counts once, and memory is bounded."""

from canonry.log.commits import Position
from canonry.testing.example_items import uuid_of
from canonry.values.ids import SpaceId
from canonry.values.moments import Instant
from canonry.world.domain.admission.safety import TextFingerprint
from canonry.world.models.services import (
    CONTEXTS_MAX,
    WORLDS_MAX,
    Admissions,
    Admitted,
    RecentAdmissions,
)

WORLD = SpaceId(uuid_of("world"))


def an_admission(proposal: str, *, at: int = 1, content: str = "rain", tokens: int = 5) -> Admitted:
    return Admitted(
        proposal=proposal,
        player="ann",
        at=Instant(at),
        tokens=tokens,
        content=content,
        actions=(f"do {content}",),
        texts=((("Dialogue", "inn"), TextFingerprint.of_text(content)),),
    )


def test_an_admission_reported_twice_counts_once() -> None:
    lately = RecentAdmissions()
    lately.add_admission(an_admission("one"))
    lately.add_admission(an_admission("one"))

    assert lately.spent_by("ann").tokens == [5]
    assert len(lately.known) == 1


def test_a_retracted_text_stays_if_another_repeated_it() -> None:
    lately = RecentAdmissions()
    lately.add_admission(an_admission("one"))
    lately.add_admission(an_admission("two", at=2))

    lately.forget_texts("one")
    assert lately.by_content == {"rain": "two"}
    assert lately.by_action == {"do rain": "two"}

    lately.forget_texts("two")
    assert not lately.by_content
    assert not lately.by_action


def test_an_unknown_text_cannot_be_retracted() -> None:
    lately = RecentAdmissions()
    lately.add_admission(an_admission("one"))

    lately.forget_texts("zed")

    assert lately.by_content == {"rain": "one"}


def test_an_admission_outside_the_window_counts_no_longer() -> None:
    lately = RecentAdmissions()
    lately.add_admission(an_admission("one", at=1, tokens=5))
    lately.add_admission(an_admission("two", at=9, content="snow", tokens=7))

    lately.forget_before(Instant(5))
    assert lately.spent_by("ann").tokens == [7]
    assert lately.instants == [9]
    assert lately.by_content == {"snow": "two"}

    lately.forget_before(Instant(10))
    assert lately.spent_by("ann").tokens == []
    assert not lately.by_player


def test_the_least_recently_used_world_is_reread() -> None:
    admissions = Admissions()
    for number in range(WORLDS_MAX):
        admissions.recent_of(SpaceId(uuid_of(f"{number}"))).position = Position(number)
    assert admissions.recent_of(SpaceId(uuid_of("0"))).position == 0

    admissions.recent_of(WORLD)

    assert admissions.recent_of(SpaceId(uuid_of("0"))).position == 0
    assert admissions.recent_of(SpaceId(uuid_of("2"))).position == 2
    assert admissions.recent_of(SpaceId(uuid_of("1"))).position is None


def test_the_latest_contexts_are_remembered() -> None:
    admissions = Admissions()
    first = admissions.record_context(WORLD, {"number": 0})
    assert admissions.find_context(WORLD, first) == b'{"number":0}'
    for number in range(1, CONTEXTS_MAX):
        admissions.record_context(WORLD, {"number": number})
    assert admissions.find_context(WORLD, first) is not None

    latest = admissions.record_context(WORLD, {"number": CONTEXTS_MAX})

    assert admissions.find_context(WORLD, first) is None
    assert admissions.find_context(WORLD, latest) is not None
