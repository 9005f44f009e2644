"""What several tests need: a PostgreSQL server, studies in either kind of database, a lab's example."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import forks
import once
from paths import ROOT
from requirements import missing
from server import running_server, server_programs

if TYPE_CHECKING:
    from chromium import Chromium

# Before NumPy is imported. Tests run side by side, and threads of BLAS that wait for a processor
# keep it busy: products of large matrices took six times as long.
assert "numpy" not in sys.modules
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Where several processes test side by side, a comparison that starts a thread for every core makes its
# threads wait for each other. Tests of threads say how many they want.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.cpu_count = lambda: 1

# Folders of tests lie in memory, where there is enough: a commit does not wait for the disk.
MEMORY = Path("/dev/shm")
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 4 * 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# What is loaded and collected stays until the end: the garbage collector need not look at it, neither
# while the tests are collected, where that was a quarter of the time, nor while they run. Then it
# need not look as often as in a program that is to stay small.
gc.disable()


def pytest_configure(config: pytest.Config) -> None:
    # Tests interrupt themselves and programs that they start. Where Ctrl-C was ignored (nohup, cron,
    # background jobs), all of them would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # One server of forks for all processes that test side by side.
    if getattr(config.option, "numprocesses", None) and "PYTEST_XDIST_WORKER" not in os.environ:
        forks.start()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.fixture(autouse=True)
def nothing_left_in_the_repository() -> Iterator[None]:
    """A run that cannot tell its results writes them to the current folder: tests go elsewhere first."""
    yield
    left = list(ROOT.glob(f"*.untold-{os.getpid()}-*.csv"))
    for file in left:
        file.unlink()
    assert not left, "results were left in the repository: monkeypatch.chdir(tmp_path) before"


@pytest.fixture(autouse=True)
def failures_are_final(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits to repeat an evaluation that raised, unless it says ``retries``."""
    loaded = sys.modules.get("shortlist.study.study")
    if loaded is not None:
        monkeypatch.setitem(loaded.Study.run.__kwdefaults__, "retries", 0)


@pytest.fixture
def without_garbage() -> None:
    """For what reaches the recursion limit: garbage of other tests, collected there, cannot be finalized."""
    gc.collect()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """One for all pages that a process of the tests opens; it finds nothing outside this machine."""
    import chromium

    if chromium.program() is None:
        missing("Chromium")
    rules = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    with chromium.Chromium(tmp_path_factory.mktemp("profile"), rules) as opened:
        yield opened


@pytest.fixture
def fresh(browser: Chromium) -> Iterator[Chromium]:
    """The browser with a tab of its own, and nothing noted."""
    browser.tab()
    # What a tab was granted goes with it.
    browser.do("Browser.grantPermissions", permissions=["clipboardReadWrite"])
    browser.screen(1000, 900)
    for notes in (browser.requests, browser.complaints, browser.dialogs):
        notes.clear()
    yield browser
    browser.close_tabs()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a server started for these tests, without a database's name."""
    programs = server_programs()
    if programs is None:
        missing("PostgreSQL")
        return
    with running_server(programs, durable=False) as server:
        yield server.address


@pytest.fixture
def forked_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """HDF5 files are read by forks: a true start, as in test_separate_process.py, takes much longer."""
    from shortlist.files import separate_process

    def run(command: list[str], **how: Any) -> subprocess.CompletedProcess[bytes]:
        assert command[:2] == [sys.executable, "-I"]
        return subprocess.run([*forks.python(), *command[2:]], **how)

    stands_for = SimpleNamespace(run=run, TimeoutExpired=subprocess.TimeoutExpired)
    monkeypatch.setattr(separate_process, "subprocess", stands_for)


@pytest.fixture(scope="session", autouse=True)
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """``once`` has a folder that is new to this run, and the same to all its processes."""
    own = tmp_path_factory.getbasetemp()
    once.FOLDER = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


_NUMBERS = count()


@pytest.fixture(params=["sqlite", "postgres"])
def new_storage(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Makes the name of a storage that is not there yet."""

    def file() -> str:
        return str(tmp_path / f"study-{next(_NUMBERS)}.db")

    if request.param == "sqlite":
        return file
    import psycopg

    address = request.getfixturevalue("postgres")

    def database() -> str:
        name = f"study_{next(_NUMBERS)}"
        for attempt in range(20):
            try:
                with psycopg.connect(f"{address}/postgres", autocommit=True) as connection:
                    connection.execute(f"CREATE DATABASE {name}")
                return f"{address}/{name}"
            except psycopg.OperationalError:
                if attempt == 19:
                    raise
                time.sleep(0.25)
        raise AssertionError

    return database


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The example as it is, begun, or with a plate of five; made once, to be copied."""
    from command_line import SCREEN, does  # it loads NumPy

    home = tmp_path_factory.mktemp("example")
    shutil.copytree(SCREEN, home / "described", ignore=shutil.ignore_patterns("*.db*"))
    shutil.copytree(home / "described", home / "begun")
    toml = home / "begun" / "screen.toml"  # whatever "auto" takes, the tests know these arms
    toml.write_text(f'threshold = "self_normalized"\n{toml.read_text()}')
    does("new", home / "begun" / "screen.toml")
    shutil.copytree(home / "begun", home / "plated")
    plate = home / "plated" / "plate.csv"
    does("ask", home / "plated" / "screen.toml", "-n", 5, "--out", plate)
    return lambda stage: home / stage


def settle(place: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(place, here, dirs_exist_ok=True)
    monkeypatch.chdir(here)
    monkeypatch.delenv("SHORTLIST_STUDY", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    return here


@pytest.fixture
def folder(example: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example, in the current folder."""
    return settle(example("described"), tmp_path, monkeypatch)


@pytest.fixture
def screen(example: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example, begun."""
    return settle(example("begun"), tmp_path, monkeypatch)


@pytest.fixture
def plated(example: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example with five open trials and an empty plate."""
    return settle(example("plated"), tmp_path, monkeypatch)
