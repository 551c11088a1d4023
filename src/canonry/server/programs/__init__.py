"""What is served beside the protocol for programs."""
