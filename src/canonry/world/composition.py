"""Services, staging gates, counters and the erasure hook that worlds add to a canon."""

from canonry.canon.canonization.proposals import StagingGuard
from canonry.canon.maintenance.erase import ErasureHooks
from canonry.canon.session.canon import Canon
from canonry.gateway.audit import CallCounter
from canonry.world.models.services import WorldServices
from canonry.world.rules.srd import SrdRulebook
from canonry.world.toolset.toolset import TelemetryCounter
from canonry.world.usecases.building import leave_behind
from canonry.world.usecases.proposals.admission import WorldStagingGuard


def add_to(canon: Canon) -> Canon:
    """The canon with all that this package adds."""
    leave = (*canon.find_service(ErasureHooks).leave, leave_behind)
    return (
        canon.with_service(WorldServices(rulebook=SrdRulebook()))
        .with_service(WorldStagingGuard(), StagingGuard)
        .with_service(TelemetryCounter(), CallCounter)
        .revise_service(ErasureHooks, leave=leave)
    )
