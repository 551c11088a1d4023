"""Transcripts: how one is cut into scenes and turns, and which turns support a summary."""

from hypothesis import given
from hypothesis import strategies as st

from canonry.narrative.usecases.transcripts import (
    PLAIN_SCENE_TURNS,
    SCENE_TURNS,
    SCENE_TURNS_MAX,
    Summary,
    Transcript,
    TranscriptLine,
    headline_of,
    pieces_of,
    scene_spans,
    supporting_lines,
)


def a_transcript(lines: int, *summaries: tuple[int, int]) -> Transcript:
    return Transcript(
        title="Session 1",
        lines=tuple(TranscriptLine(speakers=("GM",), text=f"Line {n}.") for n in range(lines)),
        summaries=tuple(Summary(start=a, end=b, text=f"From {a} to {b}.") for a, b in summaries),
    )


@given(
    st.integers(1, 900),
    st.lists(st.tuples(st.integers(0, 899), st.integers(0, 899)), max_size=30),
)
def test_every_line_and_every_summary_lies_in_exactly_one_scene(
    lines: int, spans: list[tuple[int, int]]
) -> None:
    inside = [(min(a, b), max(a, b)) for a, b in spans if max(a, b) < lines]
    transcript = a_transcript(lines, *inside)
    scenes = scene_spans(transcript)

    covered = [line for scene in scenes for line in range(scene.start, scene.end + 1)]
    assert covered == list(range(lines))
    assert sorted(n for scene in scenes for n in scene.summaries) == list(range(len(inside)))
    longest = max(scene.end - scene.start + 1 for scene in scenes)
    assert longest <= SCENE_TURNS_MAX + SCENE_TURNS


def test_scenes_end_where_a_summary_ends() -> None:
    scenes = scene_spans(a_transcript(120, (0, 49), (50, 59), (60, 119)))

    assert [(scene.start, scene.end) for scene in scenes] == [(0, 49), (50, 119)]
    assert [scene.summaries for scene in scenes] == [(0,), (1, 2)]


def test_a_long_span_is_divided_and_its_parts_name_their_outcome() -> None:
    scenes = scene_spans(a_transcript(400, (0, 399)))

    assert [(scene.start, scene.end) for scene in scenes] == [(0, 199), (200, 399)]
    assert [scene.title for scene in scenes] == ["Before: From 0 to 399.", "From 0 to 399."]
    assert [(scene.summaries, scene.within) for scene in scenes] == [((), 0), ((0,), None)]


def test_without_summaries_scenes_have_a_fixed_length() -> None:
    scenes = scene_spans(a_transcript(250))

    assert [scene.end - scene.start + 1 for scene in scenes] == [PLAIN_SCENE_TURNS] * 2 + [50]


def test_a_scene_is_named_by_its_first_summary_sentence() -> None:
    assert headline_of('"The gate falls. Everyone runs.') == "The gate falls."
    assert headline_of("word " * 50).endswith(" …")
    assert len(headline_of("word " * 50)) < 100


@given(st.text(min_size=1, max_size=400), st.integers(5, 60))
def test_pieces_fit_and_lose_no_words(text: str, limit: int) -> None:
    pieces = list(pieces_of(text, limit))

    assert all(0 < len(piece) <= limit for piece in pieces if piece)
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_long_text_is_cut_between_sentences() -> None:
    assert list(pieces_of("One two. Three four! Five", 14)) == ["One two.", "Three four!", "Five"]


def test_a_summary_is_supported_by_lines_that_share_its_words() -> None:
    lines = ("The dragon wakes.", "Pass the crisps.", "Its fire burns the bridge.")
    transcript = Transcript(
        title="Session 1",
        lines=tuple(TranscriptLine(speakers=("GM",), text=text) for text in lines),
        summaries=(Summary(start=0, end=2, text="A dragon burns the bridge."),),
    )

    assert supporting_lines(transcript, transcript.summaries[0]) == (0, 2)


def test_a_summary_without_shared_words_cites_the_end_of_its_span() -> None:
    transcript = a_transcript(5, (1, 3))

    assert supporting_lines(transcript, Summary(start=1, end=3, text="Nothing alike")) == (3,)
