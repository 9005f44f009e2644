"""Tables of older and newer versions."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
import sqlalchemy

import shortlist
from history import check_replay
from paths import FIXTURES
from shortlist.errors import DamagedStorage, NewerSchema
from shortlist.storage import opening, schema
from stored import NewStorage, assert_same, begin, edit, later, result


def test_a_newer_file_is_refused_and_left_as_it_is(file: Path) -> None:
    edit(file, f"UPDATE shortlist_meta SET value = '{schema.VERSION + 1}' WHERE key = 'version'")
    before = file.read_bytes()
    for attempt in (lambda: begin(str(file)), lambda: shortlist.Study.load(file)):
        with pytest.raises(NewerSchema, match="pip install --upgrade"):
            attempt()
    assert file.read_bytes() == before


def test_an_older_file_is_migrated(
    new_storage: NewStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = new_storage()
    begin(storage).ask()

    def migrate(connection: sqlalchemy.Connection) -> None:
        connection.execute(sqlalchemy.text("ALTER TABLE shortlist_trials ADD COLUMN plate TEXT"))

    def fail(connection: sqlalchemy.Connection) -> None:
        migrate(connection)
        raise RuntimeError("in the middle")

    now = schema.VERSION
    monkeypatch.setattr(schema, "VERSION", now + 1)
    with pytest.raises(DamagedStorage, match=f"there is no migration from version {now}"):
        shortlist.Study.load(storage)
    monkeypatch.setitem(schema.MIGRATIONS, now, fail)
    with pytest.raises(RuntimeError, match="in the middle"):
        shortlist.Study.load(storage)
    # It fails if the first left its column behind.
    monkeypatch.setitem(schema.MIGRATIONS, now, migrate)
    study = shortlist.Study.load(storage)
    assert study.ask().number == 1
    with study._log.storage._connected() as connection:
        assert schema.stored_version(connection) == now + 1


def written(folder: Path, fixture: str) -> Path:
    """A file of studies that an earlier version wrote."""
    path = folder / "study.db"
    connection = sqlite3.connect(path)
    connection.executescript((FIXTURES / fixture).read_text())
    connection.execute(f"PRAGMA application_id = {opening.APPLICATION_ID}")
    connection.close()
    return path


def test_a_continuation_written_by_version_5_is_carried_to_once(tmp_path: Path) -> None:
    """Its copies are known by the trials they are copies of alone, and not by the keys of those."""
    path = written(tmp_path, "studies_version_5.sql")
    old, new = (shortlist.Study.load(path, name) for name in ("old", "new"))
    assert old.fingerprint == "5fb39e82d0a0e43cdca16750950efc13"
    assert new.fingerprint == "37f28559697d41242c6b675acd2fb745"
    assert new.trials[1].keys == (f"{old.mark}, trial 1",)
    old.tell(arm="cedar", value=0.75, key="r.csv, row 2")
    for _ in range(2):
        assert [trial.number for trial in new.carry_over(old)] == [0, 1, 2]
    assert (
        shortlist.Study.load(path, "new").tell(arm="cedar", value=0.75, key="r.csv, row 2")
        == (new.trials[2])
    )
    assert new.evaluations == 3
    check_replay(shortlist.Study.load(path, "new"))


def test_studies_written_by_version_2_go_on_as_they_would_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written by the version before keys and numbered transactions, with all kinds of changes."""
    path = written(tmp_path, "studies_version_2.sql")
    for _ in range(2):
        study, stopped = (shortlist.Study.load(path, name) for name in ("study", "stopped"))
        assert study.fingerprint == "2ebb2669dec3cf1d56f6d8936da8f805"
        assert [t.arm for t in study.trials] == [0, 1, 2, 3, 4, 4, 1, 2, 0, 2, 3, 1, 2, 0, 4]
        assert [t.number for t in study.taken] == [0, 1, 2, 3, 4, 5, 6, 7, 10, 11]
        assert [t.number for t in study.waiting] == [14]
        assert [t.number for t in study.pending] == [12, 13]
        assert stopped.fingerprint == "dc2294a76a4fa814313a0344787d498a"
        assert stopped.done
        assert stopped.shortlist.names == ("y",)
        check_replay(study)
        check_replay(stopped)
    study.tell(12, 0.5)
    study.tell(arm="c", value=0.5, key="late")
    later(monkeypatch, 1e9)
    assert [t.number for t in study.ask(2)] == [13, 16]  # the lease of 13 is over
    check_replay(shortlist.Study.load(path, "study"))


def test_a_server_of_version_2_is_brought_up_to_date(new_storage: NewStorage) -> None:
    storage = new_storage()
    study = begin(storage)
    study.run(result, max_evaluations=20, progress=False)
    with study._log.storage._connected(writing=True) as connection:
        for dropped in ("trials DROP COLUMN key", "trials DROP COLUMN opened_by",
                        "trials DROP COLUMN closed_by", "trials DROP COLUMN other_keys",
                        "events DROP COLUMN made_by",
                        "events DROP COLUMN value", "events DROP COLUMN reason",
                        "studies DROP COLUMN columns"):  # fmt: skip
            connection.execute(sqlalchemy.text(f"ALTER TABLE shortlist_{dropped}"))
        index = "CREATE INDEX shortlist_trials_touched ON shortlist_trials (study, touched)"
        connection.execute(sqlalchemy.text(index))
        connection.execute(sqlalchemy.text("UPDATE shortlist_meta SET value = '2'"))
    study.close()
    loaded = shortlist.Study.load(storage)
    assert_same(loaded, study)
    assert loaded.tell(arm=1, value=0.5, key="k").number == 20
    loaded.correct(20, 0.25, reason="typo")
    check_replay(shortlist.Study.load(storage))
