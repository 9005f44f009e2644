"""A study's definition is stored and compared; the user's own code never is."""

from __future__ import annotations

from pathlib import Path

import pytest

import shortlist
from shortlist.arrays import Reals
from shortlist.errors import InvalidSetting, StudyMismatch, StudyNotFound
from shortlist.gifa.round import Round
from shortlist.storage.opening import study_names
from stored import NewStorage, X, assert_same, begin, result


def test_other_settings_are_refused_with_what_differs(new_storage: NewStorage) -> None:
    storage = new_storage()
    study = begin(storage, algorithm="m-LinGapE")
    changed = X.copy()
    changed[2, 1] += 1e-12
    cases: list[tuple[dict[str, object], str]] = [
        ({"sigma": 0.5}, "sigma = 0.4, but sigma = 0.5 was given"),
        ({"m": 2}, "m = 3"),
        ({"delta": 0.1}, "delta"),
        ({"epsilon": 0.1}, "epsilon"),
        ({"S": 3.0}, "S = None"),
        ({"seed": 8}, "seed = 7"),
        ({"lease": 60}, "lease"),
        ({"algorithm": "LinGIFA"}, "algorithm = m-LinGapE"),
        ({"threshold": "heuristic"}, "threshold"),
        ({"arms": list("abcdefgh")}, "an arm 0 in place of 'a'"),
    ]
    for settings_now, words in cases:
        with pytest.raises(StudyMismatch, match=words):
            begin(storage, **{"algorithm": "m-LinGapE", **settings_now})
    for features, words in (
        (changed, "feature 1 of arm 2"),
        (X[:, :2], "columns"),
        (X[:7], "8 arms"),
    ):
        with pytest.raises(StudyMismatch, match=words):
            shortlist.Study(features, m=3, sigma=0.4, seed=7, audit=False, storage=storage)
    with pytest.raises(StudyMismatch, match="a table, not the arms alone"):
        shortlist.Study(arms=range(8), m=3, sigma=0.4, seed=7, audit=False, storage=storage)
    assert begin(storage, seed=None).seed == 7
    other = begin(storage, name="another", sigma=1.0)
    assert study_names(storage) == ["study", "another"]
    with pytest.raises(InvalidSetting, match="holds 2 studies: 'study', 'another'"):
        shortlist.Study.load(storage)
    with pytest.raises(StudyNotFound, match="did you mean 'another'"):
        shortlist.Study.load(storage, "anothr")
    assert shortlist.Study.load(storage, "another").problem.sigma == 1.0
    assert other.trials == study.trials == []


def test_classical_studies_and_names_are_kept(new_storage: NewStorage) -> None:
    storage = new_storage()
    arms = ["ash\n", "<b>", "'; DROP TABLE shortlist_trials; --", "élan", "\x00"]
    study = shortlist.Study(
        arms=arms, m=2, sigma=1.0, algorithm="UGapE", storage=storage, name="'; --"
    )
    study.fail(study.ask(), "no\x00thing \udc80")
    loaded = shortlist.Study.load(storage, "'; --")
    assert loaded.problem.names == tuple(arms)
    assert loaded.trials[0].reason == "nothing \\udc80"
    assert_same(loaded, study)


def test_rules_of_ones_own_are_named_never_stored(tmp_path: Path) -> None:
    path = tmp_path / "own.db"

    def challenger(now: Round) -> Reals:
        return now.marked(now.c)

    own = shortlist.GIFA(selection=challenger)
    study = begin(str(path), algorithm=own)
    study.run(result, max_evaluations=90, progress=False)
    with pytest.raises(InvalidSetting, match=r"with Study\.load\(storage, algorithm="):
        shortlist.Study.load(path)
    with pytest.raises(StudyMismatch):
        shortlist.Study.load(path, algorithm=shortlist.GIFA(stopping="ugape"))
    assert_same(shortlist.Study.load(path, algorithm=own), study)
