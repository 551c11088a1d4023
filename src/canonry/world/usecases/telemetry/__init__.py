"""Telemetry of worlds: what their records tell of models, counted again."""
