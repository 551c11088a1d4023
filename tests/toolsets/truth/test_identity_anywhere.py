"""Identity is the same in every order of arrival, and under any hash seed, time zone and locale."""

import os
import subprocess
import sys
from pathlib import Path

from tests.toolsets.truth import identity_under_seed
from tests.toolsets.truth.identity_under_seed import every_order

ROOT = Path(__file__).parents[3]
PLACES = (
    {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C"},
    {"PYTHONHASHSEED": "1", "TZ": "Pacific/Kiritimati", "LC_ALL": "C.UTF-8"},
    {"PYTHONHASHSEED": "5", "TZ": "America/St_Johns", "LC_ALL": "POSIX"},
)


def test_every_order_of_arrival_gives_the_same_result() -> None:
    for outcomes in every_order():
        assert len(outcomes) > 1
        for other in outcomes[1:]:
            assert other == outcomes[0]


def test_every_seed_time_zone_and_locale_gives_the_same_bytes() -> None:
    program = [sys.executable, "-m", identity_under_seed.__name__]
    started = [
        subprocess.Popen(program, cwd=ROOT, env=os.environ | place, stdout=subprocess.PIPE)
        for place in PLACES
    ]
    said = [each.communicate()[0] for each in started]
    assert [each.returncode for each in started] == [0] * len(PLACES)
    assert len(said[0]) > 1_000
    assert said == [said[0]] * len(PLACES)
