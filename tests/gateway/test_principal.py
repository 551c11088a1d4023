"""Identity: bound to the connection, narrowed by `_meta`, set by it only under trust."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.canon.session.caller import Caller
from canonry.gateway.principal import AGENT_META, KEY_META, Principal, identify_caller
from canonry.values.errors import CanonryError, InvalidInput, NotAllowed
from canonry.values.ids import SpaceId
from canonry.values.provenance import Authority

BOUND = Principal(
    agent_id="gm-7",
    agent_type="Narrator",
    user="u",
    spaces=frozenset({SpaceId("a"), SpaceId("b")}),
    authorities=frozenset({Authority.GM, Authority.PLAYER}),
)
OPEN = Principal(trusted=True, authorities=frozenset(Authority))


def identified_caller(principal: Principal, agent: object = None, **meta: Any) -> Caller:
    if agent is not None:
        meta[AGENT_META] = agent
    return identify_caller(principal, meta or None, tool="look")


def identity_error(principal: Principal, agent: object) -> str:
    with pytest.raises(NotAllowed) as caught:
        identified_caller(principal, agent)
    return caught.value.code


def test_without_meta_the_caller_is_the_principal() -> None:
    caller = identified_caller(BOUND)
    assert (caller.actor.agent_id, caller.actor.agent_type) == ("gm-7", "Narrator")
    assert (caller.actor.user, caller.tool) == ("u", "look")
    assert caller.spaces == BOUND.spaces
    assert caller.authorities == BOUND.authorities


def test_an_agent_id_stands_for_a_missing_agent_type() -> None:
    assert identified_caller(Principal(agent_type="Narrator")).actor.agent_id == "Narrator"


@pytest.mark.parametrize("principal", [Principal(), OPEN, Principal(agent_id="x")])
def test_a_call_without_an_agent_type_is_refused_and_names_the_setting(
    principal: Principal,
) -> None:
    with pytest.raises(NotAllowed, match="--agent-type") as caught:
        identified_caller(principal)
    assert caught.value.code == "identity.missing"
    assert "CANONRY_AGENT_TYPE" in caught.value.message


def test_a_trusted_client_names_its_agent_per_call() -> None:
    caller = identified_caller(OPEN, {"agent_id": "orchestrator-001", "agent_type": "Orchestrator"})
    assert caller.actor.agent_id == "orchestrator-001"
    assert caller.actor.agent_type == "Orchestrator"


def test_an_untrusted_client_cannot_name_another_agent() -> None:
    assert identity_error(Principal(), {"agent_type": "CanonKeeper"}) == "identity.untrusted"
    assert identity_error(BOUND, {"agent_id": "somebody-else"}) == "identity.untrusted"


def test_repeating_the_bound_identity_is_allowed() -> None:
    caller = identified_caller(BOUND, {"agent_id": "gm-7", "agent_type": "Narrator"})
    assert caller == identified_caller(BOUND)


@pytest.mark.parametrize("trusted", [False, True])
def test_a_bound_agent_type_cannot_be_changed_even_if_trusted(trusted: bool) -> None:
    bound = Principal(agent_type="Narrator", trusted=trusted)
    assert identity_error(bound, {"agent_type": "CanonKeeper"}) == "identity.type-bound"


def test_an_agent_may_act_through_a_subagent() -> None:
    assert identified_caller(BOUND, {"agent_id": "gm-7/planner"}).actor.agent_id == "gm-7/planner"


def test_meta_narrows_spaces_and_authorities_and_never_widens_them() -> None:
    caller = identified_caller(BOUND, {"spaces": ["b", "c"], "authorities": ["player", "source"]})
    assert caller.spaces == frozenset({SpaceId("b")})
    assert caller.authorities == {Authority.PLAYER}
    caller = identified_caller(OPEN, {"agent_type": "Narrator", "spaces": ["c"]})
    assert caller.spaces == frozenset({SpaceId("c")})


@pytest.mark.parametrize(
    "agent",
    [
        "CanonKeeper",
        ["CanonKeeper"],
        {"agent_id": ""},
        {"agent_id": "a" * 129},
        {"agent_id": "a\nb"},
        {"agent_id": "a\x00b"},
        {"agent_id": "a\ud800b"},
        {"agent_id": 7},
        {"agent_type": ["CanonKeeper"]},
        {"spaces": "a"},
        {"authorities": [1]},
        {"agentType": "CanonKeeper"},
    ],
)
def test_a_malformed_agent_is_refused(agent: object) -> None:
    assert identity_error(OPEN, agent) == "identity.malformed"


def test_an_idempotency_key_identifies_a_retry() -> None:
    assert identified_caller(BOUND, **{KEY_META: "k"}).idempotency_key == "k"
    assert identified_caller(BOUND).idempotency_key is None


@pytest.mark.parametrize("key", ["", "k" * 201, 7, "\ud800", "\x00", ["k"]])
def test_a_malformed_idempotency_key_is_refused_with_its_path(key: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        identified_caller(BOUND, **{KEY_META: key})
    assert caught.value.details["path"] == "/_meta/dev.canonry~1idempotency-key"


NAMES = st.one_of(st.none(), st.text(max_size=5), st.sampled_from(["gm-7", "Narrator", "gm-7/x"]))
LISTS = st.one_of(st.none(), st.lists(st.sampled_from(["a", "b", "c", "gm", "source"]), max_size=3))
AGENTS = st.fixed_dictionaries(
    {}, optional={"agent_id": NAMES, "agent_type": NAMES, "spaces": LISTS, "authorities": LISTS}
)


@given(agent=AGENTS)
def test_no_meta_gives_an_untrusted_caller_more_rights(
    agent: Mapping[str, Any],
) -> None:
    try:
        caller = identified_caller(BOUND, agent)
    except CanonryError:
        return
    assert BOUND.spaces is not None
    assert caller.spaces is not None
    assert BOUND.authorities is not None
    assert caller.spaces <= BOUND.spaces
    assert caller.authorities <= BOUND.authorities
    assert caller.actor.agent_type == BOUND.agent_type
    assert caller.actor.agent_id == "gm-7" or caller.actor.agent_id.startswith("gm-7/")
