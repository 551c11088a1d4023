"""Deterministic simulation: one seed, one schedule, the same defect every time."""

from canonry.testing.simulation.faults import Faults, FaultyLedger, faulty
from canonry.testing.simulation.loop import Simulation, simulate

__all__ = ["Faults", "FaultyLedger", "Simulation", "faulty", "simulate"]
