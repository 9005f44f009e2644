"""Every file that the package writes appears whole or not at all, and never through a link."""

from __future__ import annotations

import ast
import os
import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np
import pytest

import forks
import shortlist
from paths import ROOT
from shortlist import report
from shortlist.errors import InvalidSetting
from shortlist.files.writing import make_folder, new_file, write_file
from shortlist.plot.figure import save
from shortlist.repurposing import BooleanNetwork, synthetic
from shortlist.repurposing import write as write_network
from shortlist.repurposing.reward_cache import RewardCache

matplotlib.use("Agg")
SOURCE = ROOT / "src" / "shortlist"

# Kills itself at the k-th thing that it asks of the file system.
KILLED = """
import os, signal, sys
from pathlib import Path
from shortlist.files.writing import new_file
left = int(sys.argv[2])
def count(event, arguments):
    global left
    if event in ("open", "os.link", "os.rename", "os.remove", "os.chmod"):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(count)
with new_file(sys.argv[1], replace=sys.argv[3] == "replace") as file:
    file.write(b"new" * 1000)
print(left)
"""


@pytest.mark.parametrize("replace", ["replace", "keep"])
def test_a_kill_at_any_moment_leaves_the_old_file_or_the_new_one(
    tmp_path: Path, replace: str
) -> None:
    new = b"new" * 1000
    seen = set()
    for moment in range(1, 20):
        folder = tmp_path / str(moment)
        folder.mkdir()
        place = folder / "plate.csv"
        if replace == "replace":
            place.write_bytes(b"old")
        words = [*forks.python(), "-c", KILLED, str(place), str(moment), replace]
        ended = subprocess.run(words, capture_output=True, text=True)
        found = place.read_bytes() if place.exists() else None
        seen.add(found)
        assert found in ((b"old", new) if replace == "replace" else (None, new))
        # The same command is taken afterwards, unless it was done.
        if found != new:
            with new_file(place, replace=replace == "replace") as file:
                file.write(new)
            assert place.read_bytes() == new
        if ended.returncode == 0:
            break
        assert ended.returncode == -signal.SIGKILL
    else:
        pytest.fail("it asks for more than was thought")
    assert seen == {b"old" if replace == "replace" else None, new}


def test_a_failure_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError), new_file(tmp_path / "a", replace=False) as file:
        file.write(bytes(1 // len(list(tmp_path.glob("*.csv")))))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InvalidSetting, match=r"No space left on device\). Do this\."):  # noqa: SIM117
        with new_file(tmp_path / "a", replace=False, rescue="Do this."):
            pass
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_taken_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    place = tmp_path / "a"
    with pytest.raises(InvalidSetting, match="already exists"):  # noqa: SIM117
        with new_file(place, replace=False):
            place.write_text("theirs")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["theirs"]


def test_without_hard_links_a_file_is_written_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)
    with new_file(tmp_path / "a", replace=False) as file:
        file.write(b"whole")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"whole"]


def test_permissions_are_kept(tmp_path: Path) -> None:
    place = tmp_path / "a"
    place.touch(0o600)
    write_file(place, b"secret")
    assert stat.S_IMODE(place.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["a\0b", "a" * 300, "nowhere/a", "."])
def test_a_name_that_cannot_be_is_an_error_of_ours(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidSetting, match=r"cannot be written|regular file"):
        write_file(f"{tmp_path}/{name}", b"")
    if "\0" in name:
        with pytest.raises(InvalidSetting, match="cannot be made"):
            make_folder(f"{tmp_path}/{name}")


def test_a_device_is_left_alone() -> None:
    with pytest.raises(InvalidSetting, match="not a regular file"):
        write_file("/dev/null", b"")


def results() -> shortlist.Results:
    instance = shortlist.instances.classic(K=3, m=1, omega=1.0, sigma=0.1)
    return shortlist.compare(["LUCB"], instance, runs=2, seed=0)


def study() -> shortlist.Study:
    return shortlist.Study(np.eye(2), m=1, sigma=0.1, seed=0)


# Each writes one file, or the first of several, under the name that it is given.
WRITERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "report": ("a.html", lambda path: report.write(study(), path)),
    "network": ("a.bnet", lambda path: write_network(BooleanNetwork({"A": "A"}), path)),
    "results as CSV": ("a.csv", lambda path: results().to_csv(path)),
    "results as Parquet": ("a.parquet", lambda path: results().to_parquet(path)),
    "picture": (
        "a.png",
        lambda path: save(shortlist.plot.samples(results()), path.with_suffix("")),
    ),
    "rewards": ("a.csv", lambda path: RewardCache(path, "x").put("drug", 1, 0.5)),
    "data set": ("patients.csv", lambda path: synthetic().write(path.parent)),
}


@pytest.mark.parametrize("what", WRITERS)
def test_nothing_is_written_through_a_link(tmp_path: Path, what: str) -> None:
    name, write = WRITERS[what]
    target = tmp_path / "target"
    target.write_text("precious")
    (tmp_path / name).symlink_to(target)
    with pytest.raises(InvalidSetting):
        write(tmp_path / name)
    assert target.read_text() == "precious"
    (tmp_path / name).unlink()
    write(tmp_path / name)
    assert (tmp_path / name).is_file()
    assert not list(tmp_path.glob("*.part"))


# One appends to a file of its own, a line at a time; one fills the draft that Pooch renames.
ALLOWED = {"files/writing.py", "repurposing/reward_cache.py", "data/dataset.py"}


@pytest.mark.slow
def test_there_is_one_writer() -> None:
    """No module opens a file for writing by itself."""
    found = []
    for path in SOURCE.rglob("*.py"):
        where = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or where in ALLOWED:
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            called = node.func.id if isinstance(node.func, ast.Name) else called
            texts = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            texts += [k.value.value for k in node.keywords if isinstance(k.value, ast.Constant)]
            modes = [
                text for text in texts if isinstance(text, str) and set(text) <= set("rwxab+t")
            ]
            if called in ("write_text", "write_bytes", "touch", "mkstemp"):
                found.append((where, node.lineno, called))
            if called == "open" and any(set(mode) & set("wxa+") for mode in modes):
                found.append((where, node.lineno, called))
            if called == "to_csv" and node.args:
                found.append((where, node.lineno, called))
    # SQLite makes its file from an empty one; the cache has a lock and a mark of use, both empty.
    assert {entry[0] for entry in found} <= {"storage/opening.py"}, found
