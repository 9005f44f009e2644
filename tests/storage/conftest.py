"""A file with a study in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stored import begin, result


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("original") / "study.db"
    study = begin(str(path), algorithm="m-LinGapE")
    study.run(result, max_evaluations=120, progress=False)
    study.ask(2)
    study.close()
    return path


@pytest.fixture
def file(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path))
