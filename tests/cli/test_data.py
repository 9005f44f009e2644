"""``shortlist data``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import fails, run

REAL = os.environ.get("SHORTLIST_DATA")


needs_data = pytest.mark.skipif(not REAL, reason="SHORTLIST_DATA does not name a folder of data")


def program(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from shortlist.cli.app import main; main()", *map(str, words)],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        timeout=60,
    )


@pytest.mark.slow
def test_data_offline_is_one_line_and_exit_code_3(tmp_path: Path) -> None:
    nobody = "http://127.0.0.1:9"
    offline = {
        "SHORTLIST_DATA": "",
        "SHORTLIST_CACHE": str(tmp_path),
        **dict.fromkeys(("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"), nobody),
        **dict.fromkeys(("no_proxy", "NO_PROXY"), ""),
    }
    done = program("data", "fetch", **offline)
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.startswith("shortlist: epilepsy_scores.csv is not in the cache")
    assert done.stderr.count("\n") == 1
    listed = program("data", "list", **offline)
    assert listed.returncode == 0
    assert listed.stdout.count(" missing ") == 13


def test_data_of_a_mirror_without_files(tmp_path: Path) -> None:
    done = program("data", "path", "model1.net", SHORTLIST_DATA=str(tmp_path))
    assert done.returncode == 3
    assert "GRN/model1.net" in done.stderr
    assert str(tmp_path) in done.stderr


def test_data_path_of_an_unknown_file() -> None:
    fails(run("data", "path", "model2.net"), 2, "did you mean 'model1.net'?")


@needs_data
def test_data_of_a_real_mirror() -> None:
    fetched = run("data", "fetch").stdout.splitlines()
    assert len(fetched) == 14
    assert fetched[-1] == f"13 of 13 files checked, in {REAL} (SHORTLIST_DATA)"
    assert run("data", "fetch", "-q", "model1.net").output == ""
    assert run("data", "list").stdout.count(" here ") == 13
    place = run("data", "path", "epilepsy_scores.csv").stdout.strip()
    assert Path(place).read_text().startswith(",drug_name,score")
