"""Budgets on canonical workloads, as ratios against floors measured in the same run."""
