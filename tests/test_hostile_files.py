"""Files that attack whoever reads them: loops, crashes, bombs, links, endless numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shortlist
from shortlist import repurposing
from shortlist.cli.screen_toml import read_screen_file
from shortlist.errors import DamagedStorage, ShortlistError
from shortlist.repurposing.expression.readers import read_expression
from shortlist.study.plate import read_plate

DIGITS = "9" * 5000


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


ENDLESS = {
    "plate": ("p.csv", f"trial,arm,value\n{DIGITS},a,1\n", read_plate),
    "screen.toml": ("s.toml", f"m = {DIGITS}\n", read_screen_file),
    "noa": ("a.noa", f"rule\nA = {DIGITS}\n", lambda p: repurposing.read(p.with_suffix(".sif"))),
    "net": ("a.net", f"A[]({DIGITS});", repurposing.read_abstract),
    "net, to": ("a.net", f"A[](0..{DIGITS});", repurposing.read_abstract),
    "spec": ("a.spec", f"#E[{DIGITS}] |= $S;$S := {{A = 1}};", repurposing.read_experiments),
    "spec, fixed": ("a.spec", f"fixpoint(#E[{DIGITS}]);", repurposing.read_experiments),
    "GCT": ("a.gct", f"#1.2\n{DIGITS}\t2\nName\tDescription\ta\tb\n", read_expression),
    "deep TOML": ("s.toml", "m = " + "[" * 50_000, read_screen_file),
    "deep tables": ("s.toml", "m = " + "{a=" * 50_000, read_screen_file),
}


@pytest.mark.usefixtures("without_garbage")
@pytest.mark.parametrize("what", ENDLESS)
def test_no_number_is_too_long_and_nothing_too_deep(what: str, tmp_path: Path) -> None:
    name, text, read = ENDLESS[what]
    (tmp_path / "a.sif").write_text("A 1 A\n")
    with pytest.raises(ShortlistError) as caught:
        read(written(tmp_path / name, text))
    assert len(str(caught.value)) < 1000


def test_a_trials_number_has_an_end(tmp_path: Path) -> None:
    from shortlist.cli.study_argument import open_trials

    study = shortlist.Study(np.eye(2), m=1, sigma=0.5, storage=tmp_path / "a.db")
    study.close()
    with pytest.raises(ShortlistError, match="there is no trial") as caught:
        open_trials(str(tmp_path / "a.db"), [DIGITS], None)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("version", [DIGITS, "²", "", "-1"])
def test_a_version_of_the_tables_has_an_end(version: str, tmp_path: Path) -> None:
    import sqlite3
    from contextlib import closing

    place = tmp_path / "a.db"
    shortlist.Study(np.eye(2), m=1, sigma=0.5, storage=place).close()
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute("UPDATE shortlist_meta SET value = ? WHERE key = 'version'", [version])
    with pytest.raises(DamagedStorage, match="not a number"):
        shortlist.Study.load(place)


@pytest.mark.usefixtures("without_garbage")
@pytest.mark.parametrize("choices", ["[" * 100_000, '{"m":' * 100_000, f'{{"m": {DIGITS}}}'])
def test_settings_that_are_too_deep_are_damaged(choices: str) -> None:
    from shortlist.study.definition import Definition

    with pytest.raises(DamagedStorage):
        Definition.read(choices, '["a", "b"]', None)


def test_nul_in_a_screen_file(tmp_path: Path) -> None:
    for key in ("features", "pilot", "storage"):
        text = f'{key} = "a\\u0000b"\nm = 1\nsigma = 1\n'
        if key == "pilot":
            text += 'arms = ["a", "b"]\n'
        described = read_screen_file(written(tmp_path / "s.toml", text))
        with pytest.raises(ShortlistError, match="NUL"):
            described.storage if key == "storage" else (described.settings(), described.pilot())


@pytest.mark.slow
def test_a_user_whose_name_is_not_utf_8(tmp_path: Path) -> None:
    code = (
        "import shortlist\n"
        f"study = shortlist.Study(arms=['a', 'b'], m=1, sigma=1, storage={str(tmp_path / 'a.db')!r})\n"
        "trial = study.ask()\nstudy.tell(trial, 0.5)\nprint(ascii(study.trials[0].worker))\n"
    )
    environment = {os.fsencode(key): os.fsencode(value) for key, value in os.environ.items()}
    environment[b"LOGNAME"] = b"J\xfcrg"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.startswith(b"'J?rg@")
