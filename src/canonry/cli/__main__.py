"""`python -m canonry.cli`: the same as `canonry`, for a Python that is not on the path."""

from canonry.cli.entry import main

main(prog_name="canonry")
