"""Tables of other versions are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import shortlist
from shortlist.errors import OtherTables
from stored import begin, edit


@pytest.mark.parametrize(
    ("change", "which"),
    [
        ("UPDATE shortlist_meta SET value = '3'", "another version"),
        ("UPDATE shortlist_meta SET value = 'x'", "another version"),
        (
            "UPDATE shortlist_meta SET key = 'version', value = '6'",
            "an earlier, unreleased version",
        ),
    ],
)
def test_a_file_of_another_version_is_refused_and_left_as_it_is(
    change: str, which: str, file: Path
) -> None:
    edit(file, change)
    before = file.read_bytes()
    for attempt in (lambda: begin(str(file)), lambda: shortlist.Study.load(file)):
        with pytest.raises(
            OtherTables, match=f"{which}.*nothing was changed.*Begin the study again"
        ):
            attempt()
    assert file.read_bytes() == before
