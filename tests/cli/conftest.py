"""A lab's example in the current folder, at three stages."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import SCREEN, does


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The example as it is, begun, or with a plate of five; made once, to be copied."""
    home = tmp_path_factory.mktemp("example")
    shutil.copytree(SCREEN, home / "described", ignore=shutil.ignore_patterns("*.db*"))
    shutil.copytree(home / "described", home / "begun")
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
