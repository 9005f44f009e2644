"""Opening a database: what is ours, what is not, and what is damaged."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import forks
import shortlist
from shortlist.errors import DamagedStorage, ForeignStorage, StorageError, StudyNotFound
from shortlist.storage.opening import study_names
from stored import NewStorage, X, assert_same, begin, edit, result


def test_a_path_is_meant_as_seen_from_where_the_study_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the file is called, and wherever the process goes."""
    (tmp_path / "elsewhere").mkdir()
    for name in ("study.db", "./:memory:", "file:study.db", "a?mode=memory", "x%20y.db"):
        monkeypatch.chdir(tmp_path)
        study = begin(name)
        trial = study.ask()
        os.chdir("elsewhere")
        study.tell(trial, 1.0)
        study.close()
        study.tell(study.ask(), 2.0)
        assert [t.value for t in shortlist.Study.load(tmp_path / name).trials] == [1.0, 2.0]
        assert [t.value for t in shortlist.Study.load(str(study.storage)).trials] == [1.0, 2.0]
        assert study_names(str(study.storage)) == ["study"]
        assert not list((tmp_path / "elsewhere").iterdir())


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Callable[[Path], Path]]:
    """Shows a folder elsewhere, read-only, as a mount does."""
    shown: list[Path] = []

    def show(folder: Path) -> Path:
        place = tmp_path / f"mount-{len(shown)}"
        place.mkdir()
        for step in (["--bind", str(folder), str(place)], ["-o", "remount,ro,bind", str(place)]):
            if subprocess.run(["mount", *step], capture_output=True).returncode:
                pytest.skip("no file system can be mounted here")
        shown.append(place)
        return place

    yield show
    for place in shown:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("left", ["closed", "open", "killed"])
def test_a_study_on_a_read_only_mount_can_be_read(
    left: str, tmp_path: Path, read_only: Callable[[Path], Path]
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    study = begin(str(folder / "study.db"))
    study.run(result, max_evaluations=30, progress=False)
    trial = study.ask()
    if left != "open":
        study.close()
    if left == "killed":
        code = f"import os, shortlist; s = shortlist.Study.load({str(folder / 'study.db')!r})"
        code += f"; s.tell({trial.number}, 1.0); os.kill(os.getpid(), 9)"
        subprocess.run([*forks.python(), "-c", code])
        assert (folder / "study.db-wal").stat().st_size
        study.refresh()
        study.close()
        (folder / "study.db-shm").unlink(missing_ok=True)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    path = read_only(folder) / "study.db"
    loaded = shortlist.Study.load(path)
    assert_same(loaded, study)
    assert study_names(path) == ["study"]
    loaded.refresh()
    for attempt in (
        loaded.ask,
        lambda: loaded.tell(arm=1, value=0.5),
        lambda: begin(str(path)),
        lambda: begin(str(path), name="another"),
    ):
        with pytest.raises(
            StorageError, match="can be read, but not written to: nothing was changed"
        ):
            attempt()
    if left == "open":
        study.tell(trial, 0.5)
        loaded.refresh()
        assert_same(loaded, study)
    else:
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    loaded.close()


HALF_MADE = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 5")
connection.execute("BEGIN")
connection.execute("PRAGMA application_id = 0x53484C54")
connection.execute("CREATE TABLE shortlist_meta (x)")
for _ in range(100):
    connection.execute("INSERT INTO shortlist_meta VALUES (zeroblob(3000))")
os.kill(os.getpid(), 9)  # with pages written, and a journal beside them
"""


@pytest.mark.parametrize("begins_with", [None, bytes(4096), os.urandom(4096)])
def test_a_file_that_was_being_made_when_the_power_failed_is_made_anew(
    begins_with: bytes | None, tmp_path: Path
) -> None:
    path = tmp_path / "study.db"
    subprocess.run([sys.executable, "-c", HALF_MADE, str(path)])
    assert path.stat().st_size > 4096
    assert Path(f"{path}-journal").exists()
    if begins_with is not None:  # the first page had not reached the disk
        with path.open("r+b") as file:
            file.write(begins_with)
    with pytest.raises(StudyNotFound):
        shortlist.Study.load(path)
    assert begin(str(path)).ask().number == 0
    assert len(shortlist.Study.load(path).trials) == 1


@pytest.mark.slow
def test_opening_a_file_twice_in_a_process_keeps_its_locks(tmp_path: Path) -> None:
    """A second look at the file must not drop the locks of the first: its results would be lost."""
    path = tmp_path / "study.db"
    study = begin(str(path))
    trials = study.ask(3)
    shortlist.Study.load(path)
    study_names(path)
    other = f"import shortlist; shortlist.Study.load({str(path)!r}).tell(0, 1.0)"
    subprocess.run([*forks.python(), "-c", other], check=True)
    study.tell(trials[1], 2.0)
    subprocess.run(
        [*forks.python(), "-c", other.replace("tell(0, 1.0)", "tell(2, 3.0)")], check=True
    )
    seen = f"import shortlist; print([t.value for t in shortlist.Study.load({str(path)!r}).trials])"
    out = subprocess.run([*forks.python(), "-c", seen], check=True, capture_output=True, text=True)
    assert out.stdout.split() == ["[1.0,", "2.0,", "3.0]"]


def test_a_file_replaced_by_a_foreign_one_is_seen_as_such(tmp_path: Path) -> None:
    path, other = tmp_path / "study.db", tmp_path / "other.db"
    begin(str(path)).close()
    edit(other, "CREATE TABLE history (url TEXT)")
    with path.open("r+b") as file:  # the same file to the system, with another content
        file.truncate()
        file.write(other.read_bytes())
    before = path.read_bytes()
    with pytest.raises(ForeignStorage):
        begin(str(path))
    assert path.read_bytes() == before


OPEN = """
import sys, shortlist
from shortlist.study.study import Study  # all is loaded before the start
X = {X!r}
print("ready", flush=True)
sys.stdin.readline()
study = Study(X, m=3, sigma=0.4, seed=7, storage=sys.argv[1])
print(study.ask().number)
"""


@pytest.mark.slow
def test_sixteen_processes_open_a_new_study_at_once(new_storage: NewStorage) -> None:
    storage = new_storage()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    start = ["-c", OPEN.format(X=X.tolist()), storage]
    command = [*forks.python(), *start]
    children = [subprocess.Popen(command, text=True, **pipes) for _ in range(16)]  # type: ignore[call-overload]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    said = [child.communicate() for child in children]
    assert [child.returncode for child in children] == [0] * 16, said
    assert sorted(int(out) for out, _ in said) == list(range(16))


@pytest.mark.slow
@pytest.mark.parametrize("kept", [1, 50, 99, 100, 4096, 0.3, 0.6, 0.9])
def test_a_truncated_file_is_refused_and_left_as_it_is(kept: float, file: Path) -> None:
    whole = file.read_bytes()
    size = int(kept * len(whole)) if 0 < kept < 1 else int(kept)
    file.write_bytes(whole[:size])
    before = file.read_bytes()
    with pytest.raises(StorageError) as caught:
        shortlist.Study.load(file)
    assert isinstance(caught.value, DamagedStorage | ForeignStorage)
    with pytest.raises(StorageError):
        begin(str(file))
    assert file.read_bytes() == before


def test_a_byte_that_sqlite_does_not_need_may_be_missing(file: Path) -> None:
    study = shortlist.Study.load(file)
    study.close()
    file.write_bytes(file.read_bytes()[:-1])
    assert shortlist.Study.load(file).fingerprint == study.fingerprint


def test_a_damaged_page_is_refused(file: Path) -> None:
    whole = bytearray(file.read_bytes())
    whole[2 * 4096 : 3 * 4096] = os.urandom(4096)
    file.write_bytes(whole)
    with pytest.raises(DamagedStorage):
        shortlist.Study.load(file)
    assert file.read_bytes() == bytes(whole)


def test_a_foreign_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    text, other, empty = tmp_path / "notes.txt", tmp_path / "other.db", tmp_path / "empty.db"
    text.write_text("x,y\n1,2\n" * 100)
    edit(other, "CREATE TABLE history (url TEXT)")
    empty.touch()
    for path in (text, other):
        before = path.read_bytes()
        for attempt in (lambda p=path: begin(str(p)), lambda p=path: shortlist.Study.load(p)):
            with pytest.raises(ForeignStorage, match=path.name):
                attempt()
        assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty.db", "notes.txt", "other.db"]
    with pytest.raises(StudyNotFound, match="holds no study"):
        shortlist.Study.load(empty)
    with pytest.raises(StudyNotFound, match="there is no file"):
        shortlist.Study.load(tmp_path / "nowhere.db")
    assert not (tmp_path / "nowhere.db").exists()
    with pytest.raises(StorageError, match="is a folder"):
        begin(str(tmp_path))
    with pytest.raises(StorageError, match="there is no folder"):
        begin(str(tmp_path / "no" / "study.db"))
    begin(str(empty)).ask()


@pytest.mark.parametrize(
    "storage",
    ["mysql://host/db", 3, "", "postgresql://[", b"x", ":memory:", "a\x00b", "x" * 5000 + ".db"],
)
def test_a_storage_that_cannot_be(storage: object) -> None:
    with pytest.raises(shortlist.errors.ShortlistError):
        begin(storage)  # type: ignore[arg-type]


def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    with pytest.raises(StorageError, match=r"ann:\*\*\*@127.0.0.1") as caught:
        begin("postgresql://ann:secret@127.0.0.1:1/db")
    assert "secret" not in str(caught.value)
    with pytest.raises(StorageError) as caught:
        begin("postgresql://ann@127.0.0.1:1/db?password=secret")
    assert "secret" not in str(caught.value)
