"""`canonry`, as if it were started at an instant: the instant in RFC 3339, then its arguments.

Words such as `last Monday` mean the same day in each run of the tests, because the clock is set.
"""

import sys
import time
from datetime import datetime

_NANOSECONDS = 10**9


def main(instant: str, *arguments: str) -> None:
    """Run the command with its clock moved to `instant`, from which it goes on."""
    clock = time.time_ns
    moved = int(datetime.fromisoformat(instant).timestamp()) * _NANOSECONDS - clock()
    time.time_ns = lambda: clock() + moved
    from canonry.cli.entry import main as command  # noqa: PLC0415 - after the clock has moved

    command(arguments, prog_name="canonry")


if __name__ == "__main__":
    main(*sys.argv[1:])
