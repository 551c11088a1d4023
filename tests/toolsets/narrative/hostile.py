"""Hostile arguments: for a tool's schema, arguments that nearly fit, and values that never do."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

Values = st.SearchStrategy[Any]

TEXTS = st.sampled_from(
    [
        "",
        " ",
        "Ann",
        "ann",
        "\x00",
        "a\ud800b",
        "\u202eevil\u0301",
        "x" * 201,
        "y" * 2_001,
        "z" * 20_000,
        "(a+)+$",
        "*%*%*",
        "' OR 1=1 --",
        "{{7*7}} ${x}",
        'NEAR(a b) AND "',
        "source:",
        "../../etc",
        "LOCATED_IN",
        "2020-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999999+23:59",
        "neo4j_get_entity",
        "batch_call",
        "🜏",
    ]
)
NUMBERS = st.one_of(
    st.sampled_from([0, 1, -1, 0.5, -0.0, 1.5, 5.0, 500, 501, 2**31, 2**53, 2**63, 10**30, 1e308]),
    st.sampled_from([float("nan"), float("inf"), float("-inf")]),
)
INSTANTS = st.sampled_from(
    [
        "2020-01-01T00:00:00Z",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:60Z",
        "2020-02-30T00:00:00Z",
        "2020-01-01",
        "2020-01-01t00:00:00.123456789-00:01",
    ]
)
JUNK = st.one_of(
    st.none(),
    st.booleans(),
    NUMBERS,
    TEXTS,
    st.just([]),
    st.just({}),
    st.just([[[[[[]]]]]]),
    st.just({"a": {"b": [None]}}),
    st.just(["x"] * 600),
)


def deeply_nested(levels: int) -> Any:
    """A list in a list in a list."""
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def arguments_for(schema: Mapping[str, Any], known: Mapping[str, Any]) -> Values:
    """Arguments for a tool; most would be taken but for one or two properties.

    `known` maps the names of properties to values that fit them, such as ids of items that exist,
    or to strategies that draw them.
    """
    return st.one_of(
        _nearly_fitting(schema, known),
        _nearly_fitting(schema, known),
        _nearly_fitting(schema, known),
        st.dictionaries(TEXTS, JUNK, max_size=3),
    )


@st.composite
def _nearly_fitting(
    draw: st.DrawFn, schema: Mapping[str, Any], known: Mapping[str, Any]
) -> dict[str, Any]:
    properties = schema["properties"]
    required = set(schema.get("required", ()))
    arguments = {
        name: draw(fitting_values(name, inner, known))
        for name, inner in properties.items()
        if name in required or draw(st.booleans())
    }
    names = [*properties, "unknown"]
    for name in draw(st.lists(st.sampled_from(names), max_size=2)):
        inner = properties.get(name, {})
        arguments[name] = draw(
            st.one_of(allowed_values(inner, known), allowed_values(inner, known), JUNK)
        )
    for name in draw(st.lists(st.sampled_from(names), max_size=1)):
        if draw(st.integers(0, 4)) == 0:
            arguments.pop(name, None)
    return arguments


def fitting_values(  # noqa: PLR0911 - one case a type
    name: str, schema: Mapping[str, Any], known: Mapping[str, Any]
) -> Values:
    """Draw arguments that a tool most likely takes."""
    if name in known:
        value = known[name]
        return value if isinstance(value, st.SearchStrategy) else st.just(value)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "string":
            return st.just(GOOD_TEXTS.get(schema.get("format", ""), "Something"))
        case "number" | "integer":
            return st.integers(1, max(1, min(5, int(schema.get("maximum", 5)))))
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(fitting_values("", schema["items"], known), min_size=1, max_size=1)
        case "object" if "properties" in schema:
            return st.fixed_dictionaries(
                {
                    key: fitting_values(key, inner, known)
                    for key, inner in schema["properties"].items()
                }
            )
        case _:
            return st.just({})


GOOD_TEXTS = {"date-time": "2020-01-01T00:00:00Z", "uuid": "ffffffff-ffff-ffff-ffff-ffffffffffff"}


def allowed_values(  # noqa: PLR0911 - one case a type
    schema: Mapping[str, Any], known: Mapping[str, Any]
) -> Values:
    """Draw arguments that the schema alone allows, even if they make no sense."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    ids = [value for value in known.values() if isinstance(value, str)]
    match schema.get("type"):
        case "string" if schema.get("format") == "uuid":
            return st.sampled_from([*ids, ids[0].upper(), GOOD_TEXTS["uuid"]])
        case "string" if schema.get("format") == "date-time":
            return INSTANTS
        case "string":
            kinds = st.sampled_from(("source", "scene", "turn", "rule", "rumour"))
            return st.one_of(TEXTS, st.builds("{}:{}".format, kinds, st.sampled_from(ids)))
        case "number" | "integer":
            return NUMBERS
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(allowed_values(schema["items"], known), max_size=3)
        case "object" if "properties" in schema:
            inner = schema["properties"].items()
            return st.fixed_dictionaries(
                {}, optional={k: allowed_values(v, known) for k, v in inner}
            )
        case _:
            return st.one_of(
                st.dictionaries(TEXTS, JUNK, max_size=2), st.just({"deep": deeply_nested(60)})
            )
