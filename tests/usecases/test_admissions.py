"""What worlds have admitted lately: each admission counts once, and memory is bounded."""

from canonry.log.commits import Position
from canonry.testing.things import ident
from canonry.values.ids import SpaceId
from canonry.values.moments import Instant
from canonry.world.domain.admission.safety import SaidBefore
from canonry.world.models.services import CONTEXTS_MAX, WORLDS_MAX, Admissions, Admitted, Lately

WORLD = SpaceId(ident("world"))


def an_admission(proposal: str, *, at: int = 1, content: str = "rain", tokens: int = 5) -> Admitted:
    return Admitted(
        proposal=proposal,
        player="ann",
        at=Instant(at),
        tokens=tokens,
        content=content,
        actions=(f"do {content}",),
        said=((("Dialogue", "inn"), SaidBefore.of(content)),),
    )


def test_an_admission_that_is_told_twice_is_spent_once() -> None:
    lately = Lately()
    lately.add(an_admission("one"))
    lately.add(an_admission("one"))

    assert lately.spent_by("ann").tokens == [5]
    assert len(lately.known) == 1


def test_what_is_unsaid_stands_where_another_said_it_since() -> None:
    lately = Lately()
    lately.add(an_admission("one"))
    lately.add(an_admission("two", at=2))

    lately.unsay("one")
    assert lately.by_content == {"rain": "two"}
    assert lately.by_action == {"do rain": "two"}

    lately.unsay("two")
    assert not lately.by_content
    assert not lately.by_action


def test_what_is_unknown_cannot_be_unsaid() -> None:
    lately = Lately()
    lately.add(an_admission("one"))

    lately.unsay("zed")

    assert lately.by_content == {"rain": "one"}


def test_what_is_too_long_ago_is_spent_no_longer() -> None:
    lately = Lately()
    lately.add(an_admission("one", at=1, tokens=5))
    lately.add(an_admission("two", at=9, content="snow", tokens=7))

    lately.forget_before(Instant(5))
    assert lately.spent_by("ann").tokens == [7]
    assert lately.instants == [9]
    assert lately.by_content == {"snow": "two"}

    lately.forget_before(Instant(10))
    assert lately.spent_by("ann").tokens == []
    assert not lately.by_player


def test_the_world_that_was_asked_for_longest_ago_is_read_anew() -> None:
    admissions = Admissions()
    for number in range(WORLDS_MAX):
        admissions.of(SpaceId(ident(f"{number}"))).position = Position(number)
    assert admissions.of(SpaceId(ident("0"))).position == 0

    admissions.of(WORLD)

    assert admissions.of(SpaceId(ident("0"))).position == 0
    assert admissions.of(SpaceId(ident("2"))).position == 2
    assert admissions.of(SpaceId(ident("1"))).position is None


def test_the_latest_contexts_are_remembered() -> None:
    admissions = Admissions()
    first = admissions.gave_out(WORLD, {"number": 0})
    assert admissions.context(WORLD, first) == b'{"number":0}'
    for number in range(1, CONTEXTS_MAX):
        admissions.gave_out(WORLD, {"number": number})
    assert admissions.context(WORLD, first) is not None

    latest = admissions.gave_out(WORLD, {"number": CONTEXTS_MAX})

    assert admissions.context(WORLD, first) is None
    assert admissions.context(WORLD, latest) is not None
