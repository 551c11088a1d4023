"""What is kept in memory about proposals and models: admissions, telemetry, tiers and answers."""
