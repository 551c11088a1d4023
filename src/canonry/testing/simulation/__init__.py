"""Deterministic simulation: one seed, one schedule, the same defect every time."""

from canonry.testing.simulation.faults import Faults, FaultyLedger
from canonry.testing.simulation.loop import Simulation, simulate
from canonry.testing.simulation.views import faulty

__all__ = ["Faults", "FaultyLedger", "Simulation", "faulty", "simulate"]
