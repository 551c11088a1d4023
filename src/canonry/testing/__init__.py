"""What backends and toolsets are proved with; public, so that others can use it."""
