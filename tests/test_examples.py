"""The examples run without a warning, and their answers are right for their simulated truths."""

from __future__ import annotations

import re
import subprocess

import pytest

import forks
from paths import ROOT

SAID = {
    "ask_tell": "the 3 best of 12, with 95 % confidence",
    "prompts": "Scoring every prompt on every question takes 8,000 evaluations.",
    "plates": "results independent but for a shift that each block shares",
    "queues": "If the noise is normal: the 3 of smallest mean, of 12, up to a difference of 0.05, with 95 % confidence",
    "race": "Race",
    "dataframe": "Forecast: about ",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SAID)
def test_an_example_finds_what_is_true(name: str) -> None:
    script = str(ROOT / "examples" / f"{name}.py")
    done = subprocess.run(
        [*forks.python(), script], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    assert done.stdout.splitlines()[-1] == "right"
    assert SAID[name] in done.stdout
    found = re.search(r"95 % confidence \(([\d,]+) evaluations\)", done.stdout)
    assert found is not None
    assert 0 < int(found[1].replace(",", "")) < 8000
