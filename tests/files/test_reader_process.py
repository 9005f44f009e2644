"""The process that reads files: what becomes of it is an error with the file's name."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import forks
from assays import gctx
from shortlist.errors import InvalidExpression
from shortlist.files import reader_process
from shortlist.repurposing.expression.readers import read_expression, read_gctx

ACTS = {
    "loops": "while True: pass",
    "sleeps": "import time; time.sleep(1000)",
    "crashes": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "recurses": "f = lambda: f(); f()",
    "ends": "import os; os._exit(3)",
    "fills the memory": "x = bytearray(1 << 40)",
    "raises": "raise OSError('cannot synchronously read data')",
    "says too much": "raise KeyError('\\x1b]0;title\\x07' * 5000)",
}


@pytest.mark.slow
@pytest.mark.parametrize("act", ACTS)
def test_whatever_happens_to_the_reader_is_an_error_with_the_files_name(
    act: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SHORTLIST_MAX_SECONDS", "1")
    source = f"def act(request, most, send):\n    {ACTS[act]}\n"
    begin = reader_process.BEGIN.replace(
        "from shortlist.files.reader_process",
        "import types; import shortlist; m = types.ModuleType('shortlist.act'); "
        f"exec({source!r}, m.__dict__); sys.modules['shortlist.act'] = m; "
        "from shortlist.files.reader_process",
    )
    reader_process.end_reading()
    monkeypatch.setattr(reader_process, "BEGIN", begin)
    try:
        for _ in range(2):
            began = time.monotonic()
            with pytest.raises(InvalidExpression, match=r"^file\.h5ad") as caught:
                reader_process.read_in_process(
                    "shortlist.act:act", {}, source="file.h5ad", error=InvalidExpression
                )
            assert time.monotonic() - began < 15.0
            assert len(str(caught.value)) < 600
            assert "\x1b" not in str(caught.value)
    finally:
        reader_process.end_reading()
    monkeypatch.undo()
    assert read_expression(gctx(tmp_path / "good.gctx")).shape == (2, 2)  # the next one is read


@pytest.mark.slow
def test_an_interruption_ends_the_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader_process.end_reading()
    monkeypatch.setattr(reader_process, "BEGIN", "import time; time.sleep(1000)")
    path = gctx(tmp_path / "file.gctx")
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.5, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        read_gctx(path)
    timer.join()
    assert time.monotonic() - began < 10.0
    assert reader_process._CHILD is None


@pytest.mark.slow
def test_the_reader_is_kept_and_a_fork_gets_its_own(tmp_path: Path) -> None:
    path = gctx(tmp_path / "file.gctx")
    read_gctx(path)
    first = reader_process._CHILD
    read_gctx(path)
    assert reader_process._CHILD is first
    code = (
        "import os, sys\nfrom shortlist.repurposing.expression.readers import read_gctx\n"
        "from shortlist.files import reader_process\n"
        f"path = {str(path)!r}\nread_gctx(path)\nbefore = reader_process._CHILD\npid = os.fork()\n"
        "read_gctx(path)\nassert (reader_process._CHILD is before) == (pid != 0)\n"
        "if pid:\n    assert os.waitpid(pid, 0)[1] == 0\n    read_gctx(path)\n"
        "    print('both')\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "both\n", done.stderr


@pytest.mark.slow
def test_the_reader_ends_with_its_parent(tmp_path: Path) -> None:
    code = (
        "import os, signal\nfrom shortlist.repurposing.expression.readers import read_gctx\n"
        "from shortlist.files import reader_process\n"
        f"read_gctx({str(gctx(tmp_path / 'file.gctx'))!r})\n"
        "print(reader_process._CHILD._process.pid, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([*forks.python(), "-c", code], capture_output=True, text=True)
    child = int(done.stdout)
    for _ in range(100):
        stat = Path(f"/proc/{child}/stat")
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.05)
    pytest.fail("it is still there")


def test_the_folder_one_stands_in_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file called h5py.py beside the data is not run."""
    for name in ("h5py", "json", "struct"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w')\n")
    path = gctx(tmp_path / "file.gctx")
    reader_process.end_reading()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert read_gctx(path).expression.shape == (2, 2)
    assert not (tmp_path / "run").exists()
