"""The interpreter of rules: deterministic, and its configuration says which rules it follows."""

import pytest

from canonry.canon.ports.files import FileType, Reading
from canonry.documents.extraction import RULES_VERSION
from canonry.documents.interpreters.rules import RulesInterpreter
from canonry.language.texts.sentences import Part
from canonry.values.errors import InvalidInput

pytestmark = pytest.mark.anyio

RULES = RulesInterpreter()


async def test_the_same_text_gives_the_same_interpretation() -> None:
    text = "INVOICE\nInvoice Number: A-1\nDue Date: 2024-02-03\nAmount: $5.00\n"
    reading = Reading(kind=FileType.PLAIN, parts=(Part(text=text),), differs=True)
    configuration = RULES.complete_configuration({})

    first = await RULES.interpret_reading(reading, configuration, ())
    second = await RULES.interpret_reading(reading, configuration, ())

    assert first == second
    assert [each.entity_type for each in first.entities] == ["invoice"]
    assert first.warnings == ("The content is text/plain, not the declared type.",)


def test_a_configuration_names_the_rules_and_keeps_other_options() -> None:
    plain = RULES.complete_configuration({})

    assert plain == {
        "provider": "rules",
        "model_id": "rules",
        "temperature": 0,
        "prompt_hash": "",
        "code_version": RULES_VERSION,
    }
    assert (
        RULES.complete_configuration({"provider": "rules", "temperature": 0, "model_id": None})
        == plain
    )
    assert RULES.complete_configuration({"code_version": "x"}) == {
        **plain,
        "asked": {"code_version": "x"},
    }


def test_a_configuration_for_another_interpreter_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        RULES.complete_configuration({"provider": "openai"})

    assert refused.value.code == "interpretation.configuration"
