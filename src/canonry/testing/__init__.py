"""Tests of backends and toolsets. The package is public, so that other projects can use it."""
