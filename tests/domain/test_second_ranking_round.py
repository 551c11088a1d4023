"""The second round: of the first passages those come first that say more than the question."""

from canonry.readmodels.ranking import Asked, figures_of
from canonry.recall.domain.questions import additional_stems, may_reorder, reordered_first
from canonry.values.policy import RankingWeights

ASKED = Asked(terms={"boat": 4.0}, strongest=4.0)
GREETING = ("hey", "boat")
ANSWER = ("sold", "boat", "harbour", "winter")
ECHO = ("harbour", "winter", "cold")
OTHERS = [("rain", "again"), ("cold", "rain")] * 4


def order_passages(*first: tuple[float, tuple[str, ...]], said: float = 0.5) -> list[int]:
    passages = [*(stems for _, stems in first), *OTHERS]
    known = additional_stems(ASKED, {stem for each in passages for stem in each}, ())
    figures = figures_of(passages, among=known)
    return list(reordered_first(ASKED, first, figures, RankingWeights(), overlap=said))


def test_an_informative_passage_ranks_before_a_greeting() -> None:
    assert order_passages((0.9, GREETING), (0.85, ANSWER), (0.4, ECHO))[0] == 1


def test_a_verbatim_repetition_of_the_question_stays_first() -> None:
    assert order_passages((0.9, GREETING), (0.85, ANSWER), (0.4, ECHO), said=1.0) == [0, 1, 2]


def test_a_passage_with_few_asked_words_gains_little() -> None:
    assert order_passages((0.9, GREETING), (0.5, ANSWER), (0.4, ECHO))[0] == 0


def test_a_far_stronger_passage_stays_first() -> None:
    assert order_passages((9.0, GREETING), (0.85, ANSWER), (0.4, ECHO))[0] == 0


def test_passages_with_no_extra_words_keep_their_order() -> None:
    assert order_passages((0.5, ("boat",)), (0.5, ("boat",)), (0.4, ("boat",))) == [0, 1, 2]


def test_a_broad_description_keeps_its_order() -> None:
    broad = Asked(terms={f"word{n}": 1.0 for n in range(200)}, strongest=9.0)
    figures = figures_of([*OTHERS, ANSWER, ECHO])

    first = [(0.9, GREETING), (0.9, ANSWER)]
    assert list(reordered_first(broad, first, figures, RankingWeights(), overlap=0)) == [0, 1]


def test_no_word_is_looked_up_if_the_order_stays() -> None:
    broad = Asked(terms={f"word{n}": 1.0 for n in range(14)}, strongest=9.0)
    nothing = Asked(terms={}, strongest=0.0)

    assert may_reorder(ASKED, RankingWeights(), overlap=0.5)
    assert not may_reorder(ASKED, RankingWeights(), overlap=1.0)
    assert not may_reorder(broad, RankingWeights(), overlap=0.5)
    assert not may_reorder(nothing, RankingWeights(), overlap=0.5)


def test_a_question_without_matching_words_changes_nothing() -> None:
    figures = figures_of([ANSWER, ECHO])
    nothing = Asked(terms={}, strongest=0.0)

    assert list(
        reordered_first(
            nothing, [(0.5, GREETING), (0.4, ANSWER)], figures, RankingWeights(), overlap=0
        )
    ) == [0, 1]


def test_names_stop_words_and_asked_words_are_no_extra_words() -> None:
    said = additional_stems(ASKED, ("boat", "gina", "with", "ox", "harbour"), {"gina"})

    assert said == {"harbour"}
