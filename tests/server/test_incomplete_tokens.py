"""Tokens that do not say what their bearer may call, or in which spaces: they may call nothing."""

from typing import Any

import pytest

from canonry.app.compose import compose_memory
from canonry.app.load_settings import load_settings
from canonry.app.serving import advice_on
from canonry.assistant import CANON
from canonry.catalog.operator import OPERATOR
from canonry.catalog.toolset import CATALOG
from canonry.gateway.call import Gateway
from canonry.gateway.principal import AGENT_META, Principal
from canonry.gateway.tool import Toolset
from canonry.narrative.toolset import NARRATIVE
from canonry.records.toolset import TRUTH
from canonry.server.identity import principal_of
from canonry.server.options import BearerOptions
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.values.errors import InvalidInput
from canonry.world.toolset import WORLD
from tests.server.test_truth_users import OPTIONS

pytestmark = pytest.mark.anyio
SPACE = "01890a5d-ac96-774b-bcce-b302099a8057"
TOOLSETS = (CANON, NARRATIVE, TRUTH, WORLD, CATALOG, OPERATOR)
RICH = {"sub": "ada", "agent_type": "Reader", "spaces": [SPACE]}
POOR: dict[str, dict[str, Any]] = {
    "neither": {"agent_type": None, "spaces": None},
    "no type": {"agent_type": None},
    "an empty type": {"agent_type": ""},
    "a blank type": {"agent_type": " "},
    "a type that is no text": {"agent_type": ["Reader"]},
    "no spaces": {"spaces": None},
    "no space": {"spaces": []},
    "an empty space": {"spaces": ["", " "]},
    "empty words": {"spaces": " "},
    "spaces that are no texts": {"spaces": {SPACE: True}},
}


def poor_principal(changes: dict[str, Any], options: BearerOptions | None = OPTIONS) -> Principal:
    return principal_of({**RICH, **changes}, options)


@pytest.mark.parametrize("changes", POOR.values(), ids=POOR)
@pytest.mark.parametrize("toolset", TOOLSETS, ids=[each.name for each in TOOLSETS])
async def test_a_token_without_type_or_spaces_gets_no_answers(
    toolset: Toolset, changes: dict[str, Any]
) -> None:
    gateway = Gateway(
        compose_memory(clock=HandClock(), identities=CountingIdentities()), (toolset,)
    )
    offers, poor = gateway.catalogue, poor_principal(changes)
    claim = {AGENT_META: {"agent_type": "Keeper", "spaces": [SPACE]}}

    for meta in (None, claim):
        for kind in (offers.tools, offers.resources, offers.prompts):
            assert gateway.offers_for(kind.values(), poor, meta) == []
        answers = [await gateway.call(name, {}, poor, meta) for name in offers.tools]
        answers += [(await gateway.get_prompt(name, {}, poor, meta))[1] for name in offers.prompts]
        for parts in offers.resources:
            uri = "/".join("x" if part.startswith("{") else part for part in parts)
            answers.append((await gateway.read_resource(uri, poor, meta))[1])
        for answer in answers:
            assert answer.error is not None
            assert "This token names no" in answer.text
        for named in (*offers.prompts, *("/".join(parts) for parts in offers.resources)):
            assert await gateway.complete_value(named, "id", "", poor, meta) == ((), 0)
        assert not getattr(await gateway.browse_resources(None, poor, meta), "entries", ())


async def test_the_refusal_names_the_missing_claim_and_how_to_grant_it() -> None:
    gateway = Gateway(compose_memory(clock=HandClock(), identities=CountingIdentities()), (CANON,))
    answer = await gateway.call("find", {}, poor_principal(POOR["neither"]))

    assert answer.error is not None
    for part in (
        "no agent_type and no spaces",
        '"agent_type": "Reader"',
        "auth.default_agent_type",
        '"spaces": ["<id of a space>"]',
        "auth.default_spaces",
    ):
        assert part in answer.error.message


DEFAULTS = BearerOptions(
    issuer=OPTIONS.issuer,
    audience=OPTIONS.audience,
    resource_url=OPTIONS.resource_url,
    key=OPTIONS.key,
    default_agent_type="Reader",
    default_spaces=("*",),
)


def test_a_default_replaces_a_missing_claim_and_no_empty_one() -> None:
    filled = poor_principal(POOR["neither"], DEFAULTS)
    assert (filled.agent_type, filled.spaces, filled.missing) == ("Reader", None, ())
    own = poor_principal({"agent_type": "Keeper"}, DEFAULTS)
    assert (own.agent_type, own.spaces) == ("Keeper", frozenset({SPACE}))
    for name, changes in POOR.items():
        if name not in {"neither", "no type", "no spaces"}:
            assert poor_principal(changes, DEFAULTS).missing, name


def test_a_token_names_all_spaces_by_a_star_and_ids_in_any_case() -> None:
    assert poor_principal({"spaces": "*"}).spaces is None
    assert poor_principal({"spaces": [SPACE, "*"]}).spaces is None
    assert poor_principal({"spaces": SPACE.upper()}).spaces == frozenset({SPACE})


def test_an_unknown_default_is_refused_at_the_start() -> None:
    given = {
        "http": "127.0.0.1:8000",
        "auth_issuer": OPTIONS.issuer,
        "auth_audience": OPTIONS.audience,
        "auth_jwks_url": "https://issuer.example/keys",
    }
    for changes in ({"auth_default_spaces": ("Home",)}, {"auth_default_agent_type": "Reeder"}):
        with pytest.raises(InvalidInput) as caught:
            advice_on(load_settings({**given, **changes}), (CANON,))
        assert caught.value.code in {"settings.malformed", "agent.unknown"}
    fine = load_settings({**given, "auth_default_agent_type": "Reader", "auth_default_spaces": "*"})
    assert advice_on(fine, (CANON,)) is None
