"""A small part of ``make fuzz``: mutated files of every kind are read or refused."""

from __future__ import annotations

import pytest

import fuzz

pytestmark = pytest.mark.usefixtures("forked_readers")


@pytest.mark.slow
@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_a_mutated_file_is_read_or_refused(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORTLIST_MAX_SECONDS", "5")
    count = round(20 * fuzz.KINDS[kind].share)
    counted, failed, _ = fuzz.cases(kind, range(count), seed=1)
    assert failed == []
    assert counted.total() == count


@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_a_file_that_is_not_mutated_is_read(
    kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Else its mutations would only ever be refused at the first look."""
    one = fuzz.KINDS[kind]
    for whole in one.wholes():
        folder = tmp_path_factory.mktemp("whole")
        for other, content in one.beside.items():
            (folder / other).write_bytes(content)
        (folder / one.name).write_bytes(whole)
        assert one.opened(folder / one.name) is not None
