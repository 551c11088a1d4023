"""Remembering: what was found out about a value that never changes, by the value itself."""

from canonry.values.provenance import cache_by_identity


def test_an_identical_value_gives_the_identical_result() -> None:
    def spelled(words: tuple[str, ...]) -> list[str]:
        return [*words, "again"]

    found, words = cache_by_identity(spelled), ("one", "two")

    first = found(words)

    assert first == ["one", "two", "again"]
    assert found(words) is first


def test_an_equal_but_distinct_value_has_its_own_result() -> None:
    found = cache_by_identity(list)
    one, equal = {1: "a", 2: "b"}, {1.0: "a", 2.0: "b"}

    assert [type(each) for each in found(one)] == [int, int]
    assert [type(each) for each in found(equal)] == [float, float]


def test_a_result_stays_right_whatever_else_was_asked() -> None:
    found = cache_by_identity(sum)
    kept = [(number, number + 1) for number in range(2_000)]

    assert [found(each) for each in (*kept, *kept)] == [sum(each) for each in (*kept, *kept)]
