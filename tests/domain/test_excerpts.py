"""Excerpts: verbatim, complete, short enough, cut at the best border, and shared at the edges."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from canonry.language.texts.sentences import Cut, Excerpt, Part, cut_excerpts, tokens_in
from tests.strategies import texts

SMALL = Cut(tokens=25, overlap=5)
SENTENCE = "The dragon sleeps on gold. "


def make_excerpts(*parts: Part, how: Cut = SMALL) -> list[Excerpt]:
    return list(cut_excerpts(parts, how))


def texts_of(text: str, how: Cut = SMALL) -> list[str]:
    return [excerpt.text for excerpt in make_excerpts(Part(text=text), how=how)]


WORDY = st.text(alphabet="ab .\n!\u3002\u2022-1)", max_size=2_000)


@given(texts() | WORDY)
def test_every_excerpt_is_a_short_part_of_the_text(text: str) -> None:
    for excerpt in texts_of(text):
        assert excerpt
        assert excerpt in text
        assert tokens_in(excerpt) <= SMALL.tokens


@given(WORDY)
def test_no_text_between_excerpts_is_left_out(text: str) -> None:
    reached = 0
    for excerpt in texts_of(text):
        begin = text.find(excerpt, max(0, reached - 200))
        while text[reached:begin].strip():  # an equal stretch stands earlier in the text
            raise AssertionError((text, excerpt))
        reached = max(reached, begin + len(excerpt))
    assert not text[reached:].strip()


@given(WORDY)
def test_the_cut_is_the_same_each_time(text: str) -> None:
    assert texts_of(text) == texts_of(text)


def test_a_short_text_is_one_excerpt() -> None:
    assert texts_of(" A rule.\n\nAnother. ") == ["A rule.\n\nAnother."]
    assert texts_of(" \n ") == []
    assert make_excerpts() == []


def test_an_excerpt_has_500_tokens_and_shares_50() -> None:
    found = texts_of("".join(f"Dragon number {n} sleeps on gold. " for n in range(1_000)), Cut())

    assert max(map(tokens_in, found)) <= 500
    assert min(map(tokens_in, found)) > 250, "equal pieces rather than a short last one"
    for before, after in pairwise(found):
        shared = max(n for n in range(len(after) + 1) if before.endswith(after[:n]))
        assert 40 <= tokens_in(after[:shared]) <= 60


def test_excerpts_begin_and_end_with_sentences() -> None:
    for excerpt in texts_of(SENTENCE * 20):
        assert excerpt.startswith("The ")
        assert excerpt.endswith("gold.")


def test_a_paragraph_end_is_preferred_to_a_sentence_end() -> None:
    first = "One two three. " * 4
    second = "Four five six. " * 4

    assert texts_of(f"{first.strip()}\n\n{second.strip()}")[0] == first.strip()


def test_an_overlong_sentence_is_not_shared_partially() -> None:
    text = f"You may not strike twice{' in one and the same round' * 5}. It is a rule. "

    assert {excerpt[:7] for excerpt in texts_of(text * 5, Cut(tokens=50, overlap=5))} <= {
        "You may",
        "It is a",
    }


def test_list_items_stay_whole() -> None:
    items = [f"- item number {n} of the list" for n in range(12)]

    for excerpt in texts_of("\n".join(items)):
        assert set(excerpt.splitlines()) <= set(items)


def test_an_overlong_sentence_is_cut_between_words() -> None:
    words = [f"word{n}" for n in range(100)]

    for excerpt in texts_of(" ".join(words)):
        assert set(excerpt.split()) <= set(words)


def test_an_overlong_word_is_cut_too() -> None:
    assert "".join(texts_of("x" * 250)) == "x" * 250


def test_a_script_without_spaces_is_cut_at_its_own_marks() -> None:
    for excerpt in texts_of("\u9f8d\u306f\u5bdd\u3066\u3044\u308b\u3002" * 40):
        assert excerpt.endswith("\u3002")


def test_sections_are_never_mixed() -> None:
    found = make_excerpts(
        Part(text="Fire burns.", section="Fire"), Part(text="Ice.", section="Ice")
    )

    assert found == [
        Excerpt(text="Fire burns.", page=None, section="Fire"),
        Excerpt(text="Ice.", page=None, section="Ice"),
    ]


def test_a_sentence_across_pages_stays_whole_and_is_cited_at_its_start() -> None:
    (found,) = make_excerpts(Part(text="The dragon\n", page=3), Part(text="sleeps.", page=4))

    assert found == Excerpt(text="The dragon\nsleeps.", page=3, section=None)


def test_an_excerpt_is_cited_by_the_page_of_its_new_text() -> None:
    pages = [Part(text=SENTENCE * 3, page=n) for n in range(1, 5)]

    found = [(each.page, each.text) for each in make_excerpts(*pages)]

    assert [page for page, _ in found] == sorted(page or 0 for page, _ in found)
    assert found[0][0] == 1
    assert found[-1][0] == 4


def test_a_page_without_text_is_skipped() -> None:
    found = make_excerpts(Part(text=" ", page=1), Part(text="Text.", page=2))

    assert found == [Excerpt(text="Text.", page=2, section=None)]


def test_a_snippet_never_exceeds_the_limit() -> None:
    assert max(map(len, texts_of(SENTENCE * 20, Cut(characters=40)))) <= 40
