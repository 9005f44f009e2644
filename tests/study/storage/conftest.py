"""A file with a study in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shortlist.study.storage import opening
from stored import begin, result


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "study.db"
    study = begin(str(path), algorithm="m-LinGapE")
    study.run(result, max_evaluations=120, progress=False)
    study.ask(2)
    study.close()
    opening._OURS.clear()  # as another process would find the file
    return path
