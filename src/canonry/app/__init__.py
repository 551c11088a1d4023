"""The composition root: settings become stores, toolsets and servers."""
