"""The operator as a caller: who sits at the command line sees every space and claims any word."""

from canonry.canon.session.caller import Caller
from canonry.values.provenance import Actor

AGENT_TYPE = "Operator"


def operator(tool: str, *, agent_type: str = AGENT_TYPE) -> Caller:
    """The caller of one command."""
    return Caller(actor=Actor(agent_id="command-line", agent_type=agent_type), tool=tool)
