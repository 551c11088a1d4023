"""Public sets of conversations: read in their authors' shapes, and counted as they count."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from bench.recall.conversations import Conversation, Said
from bench.recall.public import main, read, recalled
from canonry.values.moments import parse_instant

LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Ben",
            "session_2_date_time": "2:31 pm on 9 May, 2023",
            "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "I sold my boat."}],
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "Hey Ben!"},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a red boat"},
            ],
        },
        "qa": [
            {"question": "What did Ben sell?", "evidence": ["D2:1"], "category": 4},
            {"question": "Which boats?", "evidence": ["D1:2; D:2:01"], "category": 1},
            {"question": "Who flies?", "evidence": [], "category": 5},
        ],
    }
]
LONGMEMEVAL: list[dict[str, Any]] = [
    {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "What do I play?",
        "question_date": "2023/05/30 (Tue) 23:40",
        "answer_session_ids": ["s2"],
        "haystack_session_ids": ["s1", "s2"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 02:21"],
        "haystack_sessions": [
            [{"role": "user", "content": "Hello."}],
            [
                {"role": "user", "content": "I play the harp.", "has_answer": True},
                {"role": "assistant", "content": "A harp has strings.", "has_answer": True},
            ],
        ],
    }
]
LONGMEMEVAL.append({**LONGMEMEVAL[0], "question_id": "q2_abs"})
BEAM: list[dict[str, Any]] = [
    {
        "conversation_id": "1",
        "chat": [
            {
                "batch_number": 1,
                "turns": [
                    [
                        {
                            "role": "user",
                            "id": 0,
                            "time_anchor": "March-15-2024",
                            "index": "1,1",
                            "question_type": "main_question",
                            "content": "I code. ->-> 1,1",
                        },
                        {"role": "assistant", "id": 1, "content": "Good."},
                    ],
                    [{"role": "user", "id": 3, "index": "1,2", "content": "In Python."}],
                ],
            },
            {
                "batch_number": 2,
                "turns": [
                    [
                        {
                            "role": "user",
                            "id": 2,
                            "content": "I paint.",
                            "time_anchor": "April-02-2024",
                        }
                    ],
                    [{"role": "user", "id": 3, "content": "In oil."}],
                ],
            },
        ],
        "probing_questions": repr(
            {
                "abstention": [{"question": "Do I ski?"}],
                "knowledge_update": [
                    {"question": "In what?", "source_chat_ids": {"original_info": [3]}}
                ],
                "event_ordering": [
                    {
                        "question": "What came first?",
                        "source_chat_ids": {"first": [0], "then": [[2]]},
                    }
                ],
            }
        ),
    }
]


def keep_file(folder: Path, name: str, data: Any) -> Path:
    path = folder / name
    lines = "\n".join(map(json.dumps, data)) if name.endswith(".jsonl") else json.dumps(data)
    path.write_text(lines, encoding="utf-8")
    return path


def test_locomo_has_sessions_in_order_with_their_dates(tmp_path: Path) -> None:
    (conversation,) = read("locomo", keep_file(tmp_path, "locomo10.json", LOCOMO))

    assert [turn.thread for turn in conversation.turns] == ["session_1", "session_1", "session_2"]
    assert conversation.turns[1].text == "Look! [a red boat]"
    assert conversation.turns[0].said_at == parse_instant("2023-05-08T00:00:00Z")
    assert [(each.kind, each.answers) for each in conversation.questions] == [
        ("single", frozenset({2})),
        ("several", frozenset({1, 2})),
    ]


def test_longmemeval_has_a_haystack_for_each_answerable_question(
    tmp_path: Path,
) -> None:
    (conversation,) = read("longmemeval", keep_file(tmp_path, "longmemeval_s.json", LONGMEMEVAL))

    assert [turn.text for turn in conversation.turns] == ["Hello.", "I play the harp."]
    assert conversation.questions[0].answers == {1}
    assert conversation.turns[1].said_at == parse_instant("2023-05-21T00:00:00Z")


def test_longmemeval_searches_assistant_turns_if_asked(
    tmp_path: Path,
) -> None:
    (conversation,) = read(
        "longmemeval-both", keep_file(tmp_path, "longmemeval_s.json", LONGMEMEVAL)
    )

    assert [turn.speaker for turn in conversation.turns] == ["user", "user", "assistant"]
    assert conversation.questions[0].answers == {1, 2}


def test_beam_identifies_messages_by_unique_ids(tmp_path: Path) -> None:
    (conversation,) = read("beam", keep_file(tmp_path, "beam.jsonl", BEAM))

    (question,) = conversation.questions
    assert (question.kind, question.answers) == ("event_ordering", frozenset({0, 3}))
    assert [turn.thread for turn in conversation.turns] == ["0", "0", "0", "1", "1"]
    assert conversation.turns[0].text == "I code."
    assert conversation.turns[2].said_at == parse_instant("2024-03-15T00:00:00Z")


@pytest.mark.parametrize("plans", [False, True])
def test_beam_is_read_from_its_repository_and_its_rows(tmp_path: Path, plans: bool) -> None:
    messages = [[m for group in batch["turns"] for m in group] for batch in BEAM[0]["chat"]]
    chat = [{"plan-1": messages[:1]}, {"plan-2": messages[1:]}] if plans else messages
    folder = tmp_path / "1"
    (folder / "probing_questions").mkdir(parents=True)
    keep_file(folder, "chat.json", BEAM[0]["chat"])
    asked = ast.literal_eval(BEAM[0]["probing_questions"])
    keep_file(folder / "probing_questions", "probing_questions.json", asked)

    assert read("beam", tmp_path) == read(
        "beam", keep_file(tmp_path, "rows.json", [{**BEAM[0], "chat": chat}])
    )


def test_sessions_are_ranked_by_their_best_turn() -> None:
    turns = [Said(thread=f"s{n // 2}", place=n, speaker="a", text="") for n in range(40)]
    conversation = Conversation(turns=tuple(turns), questions=())
    order = [*range(20), 39]

    found = recalled(conversation, order, frozenset({0, 38}))

    assert (found.turns, found.every, found.some, found.first) == (0.5, 0, 1, 1)
    assert (found.sessions, found.every_session) == (0.5, 0)
    assert recalled(conversation, [0, 39], frozenset({0, 38})).sessions == 1


def test_gains_are_discounted_as_the_authors_do() -> None:
    turns = [Said(thread="s", place=n, speaker="a", text="") for n in range(9)]
    conversation = Conversation(turns=tuple(turns), questions=())

    assert recalled(conversation, [5, 3], frozenset({3, 5})).ndcg == 1
    assert recalled(conversation, [5, 3], frozenset({3})).ndcg == 1
    assert recalled(conversation, [5, 4, 3], frozenset({3})).ndcg == pytest.approx(0.6309, abs=1e-4)


@pytest.mark.parametrize(("name", "data"), [("locomo", LOCOMO), ("beam", BEAM)])
def test_a_set_is_measured_from_its_file(
    name: str, data: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, str(keep_file(tmp_path, f"{name}.json", data))]) == 0

    assert "several evidence turns (1)" in capsys.readouterr().out
