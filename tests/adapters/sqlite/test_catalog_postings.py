"""Postings find exactly the documents that hold a text, by whatever way they are intersected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.adapters.sqlite.catalog import matching as catalog_matching
from canonry.adapters.sqlite.catalog import postings as catalog_postings
from canonry.adapters.sqlite.catalog.matching import documents_with, places_with
from canonry.adapters.sqlite.catalog.postings import (
    bits_of,
    flags_of,
    head_of,
    key_of,
    long_key_of,
    places_in,
    postings,
    told_otherwise,
)

ALPHABET = "ab\u00df\U0001f409"
TEXTS = st.lists(st.tuples(*[st.text(alphabet=ALPHABET, max_size=20)] * 3), min_size=1, max_size=40)
SOUGHT = st.text(alphabet=ALPHABET, min_size=1, max_size=20)
Texts = list[tuple[str, str, str]]


class Held:
    """The postings of some texts in memory."""

    def __init__(self, texts: Texts) -> None:
        self.texts = texts
        self.size = len(texts)
        self.length = sum(len(part) + 1 for text in texts for part in text)
        self.all = dict(postings(texts, range(len(texts)), len(texts)))
        self.asked: list[int] = []

    def posts(self, key: int) -> bytes | None:
        self.asked.append(key)
        return self.all.get(key)

    def weight(self, key: int) -> int:
        return len(self.all.get(key) or b"")

    def holds(self, document: int, text: str) -> bool:
        return any(text in part for part in self.texts[document])


def holding(texts: Texts, sought: str) -> list[int]:
    return [n for n, text in enumerate(texts) if any(sought in part for part in text)]


def found(held: Held, sought: str) -> list[int]:
    return [int(document) for document in documents_with(sought, held)]


@given(texts=TEXTS, sought=SOUGHT)
def test_a_text_is_found_where_it_stands_and_nowhere_else(texts: Texts, sought: str) -> None:
    assert found(Held(texts), sought) == holding(texts, sought)


@pytest.mark.parametrize(("fewer", "reading"), [(0, 1_000), (1_000, 1_000), (8, 1), (8, 0)])
@given(texts=TEXTS, sought=SOUGHT)
def test_every_way_of_comparing_finds_the_same(
    texts: Texts, sought: str, fewer: int, reading: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalog_matching, "FEWER", fewer)
        patch.setattr(catalog_matching, "READING", reading)
        assert found(Held(texts), sought) == holding(texts, sought)


@given(texts=TEXTS, sought=SOUGHT)
def test_a_hash_that_stands_for_two_grams_misleads_nobody(texts: Texts, sought: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module in (catalog_postings, catalog_matching):
            patch.setattr(module, "long_key_of", lambda gram: -1 - len(gram))
        assert found(Held(texts), sought) == holding(texts, sought)


def test_a_sentence_that_all_share_is_found_by_few_postings() -> None:
    sentence = "this guide may be used by everybody who works here"
    held = Held([(f"{sentence} {n}", "", "") for n in range(100)])

    assert found(held, sentence) == list(range(100))
    assert len(held.asked) <= 5


@given(texts=TEXTS)
def test_longer_grams_stand_where_their_characters_do(texts: Texts) -> None:
    held = Held(texts)
    for key, posts in held.all.items():
        if key < 0:
            gram = posts[: posts.index(b"\0")].decode()
            assert key == long_key_of(gram)
            assert list(places_in(posts, len(head_of(gram)))) == list(places_with(gram, held))


@given(texts=TEXTS)
def test_postings_ascend_by_key_and_none_is_empty(texts: Texts) -> None:
    every = list(postings(texts, range(len(texts)), len(texts)))
    told = [posting for posting in every if posting[0] >= 0]

    assert every[: len(told)] == told, "the longer ones come last"
    keys = [key for key, _ in told]
    assert keys == sorted(set(keys))
    assert all(posts for _, posts in told)


def test_no_text_reaches_into_the_next() -> None:
    held = Held([("ab", "cd", "ef"), ("gh", "", "")])

    assert found(held, "bcd") == []
    assert found(held, "fg") == []


def test_the_key_of_a_shorter_gram_is_smaller() -> None:
    assert key_of("\U0010ffff") < key_of("aa") < key_of("\U0010ffff\U0010ffff") < key_of("aaa")


@given(st.integers(1, 70).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1)))))
def test_bits_come_back_as_flags(given_bits: tuple[int, set[int]]) -> None:
    size, documents = given_bits

    flags = flags_of(bits_of(sorted(documents), size), size)

    assert {n for n in range(size) if flags[n]} == documents


def short(texts: Texts, documents: list[int], size: int) -> list[tuple[int, bytes]]:
    return [posting for posting in postings(texts, documents, size) if posting[0] >= 0]


@given(texts=TEXTS, data=st.data())
def test_only_living_documents_are_compared(texts: Texts, data: st.DataObject) -> None:
    size = len(texts)
    gone = data.draw(st.sets(st.integers(0, size - 1)))
    alive = [n for n in range(size) if n not in gone]
    changed = data.draw(st.sampled_from(alive)) if alive else None
    held = short(texts, list(range(size)), size)
    rest = [texts[n] for n in alive]
    flags = flags_of(bits_of(alive, size), size)

    assert not set(told_otherwise(held, short(rest, alive, size), flags))

    if changed is not None:
        rest[alive.index(changed)] = ("zzz", "", "")
        assert set(told_otherwise(held, short(rest, alive, size), flags)) == {changed}
