"""The process in which HDF5 files are read: what becomes of it is an error with the file's name."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from assays import gctx
from shortlist.errors import InvalidExpression
from shortlist.files import separate_process
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
def test_whatever_happens_there_is_an_error_with_the_files_name(
    act: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SHORTLIST_MAX_SECONDS", "3")
    source = f"def act(path, memory, samples):\n    {ACTS[act]}\n"
    begin = separate_process.BEGIN.replace(
        "answer()", f"exec({source!r}); from shortlist.files import hdf5; hdf5.read = act; answer()"
    )
    monkeypatch.setattr(separate_process, "BEGIN", begin)
    path = gctx(tmp_path / "file.gctx")
    began = time.monotonic()
    with pytest.raises(InvalidExpression, match=r"file\.gctx") as caught:
        read_gctx(path)
    assert time.monotonic() - began < 15.0
    assert len(str(caught.value)) < 600
    assert "\x1b" not in str(caught.value)
    monkeypatch.undo()
    assert read_expression(path).shape == (2, 2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # not waited for
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_interruption_ends_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    number = tmp_path / "pid"
    wait = f"import os, time; open({str(number)!r}, 'w').write(str(os.getpid())); time.sleep(1000)"
    monkeypatch.setattr(separate_process, "BEGIN", wait)
    path = gctx(tmp_path / "file.gctx")
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(1.0, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        read_gctx(path)
    timer.join()
    assert time.monotonic() - began < 10.0
    stat = Path("/proc", number.read_text(), "stat")
    for _ in range(100):
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.05)
    pytest.fail("it is still there")


def test_a_script_without_a_guard_can_read(tmp_path: Path) -> None:
    """The process must not run the program of its parent again."""
    script = tmp_path / "script.py"
    script.write_text(
        "from shortlist.repurposing import read_expression\nprint('once')\n"
        f"assert read_expression({str(gctx(tmp_path / 'file.gctx'))!r}).shape == (2, 2)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "once\n"


def test_the_folder_one_stands_in_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file called h5py.py beside the data is not run."""
    for name in ("h5py", "json", "struct"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w')\n")
    path = gctx(tmp_path / "file.gctx")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert read_gctx(path).expression.shape == (2, 2)
    assert not (tmp_path / "run").exists()
