from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import FrozenInstanceError, fields
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import shortlist
from shortlist import errors
from shortlist.gifa.round import Memory, decide
from shortlist.report.methods import _origins
from shortlist.study.guarantee_parts import conditions
from shortlist.study.ledger import Ledger
from shortlist.study.log import Log
from shortlist.study.running.progress import ProgressLine, describe
from shortlist.study.trial import Trial
from shortlist.study.view import more_than_needed

X = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.6], [0.2, 0.9]])
MEANS = X @ [1.0, 0.3]
NAMES = ["ash", "beech", "cedar", "doum"]
ONCE = shortlist.GIFA(initialization="each", name="m-LinGapE, each arm once first")


def study(**settings: object) -> shortlist.Study:
    settings = {"m": 2, "sigma": 0.6, "seed": 1, "arms": NAMES, "algorithm": ONCE, **settings}
    settings.setdefault("intercept", False)
    return shortlist.Study(X, **settings)  # type: ignore[arg-type]


def noisy(seed: int = 0, sigma: float = 0.6):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    return lambda trial: MEANS[trial.arm] + sigma * rng.standard_normal()


def test_ask_tell_to_the_stop() -> None:
    s = study()
    evaluate = noisy()
    while not s.done:
        trial = s.ask()
        assert trial.state == "pending"
        assert trial.name == NAMES[trial.arm]
        told = s.tell(trial, evaluate(trial))
        assert told is s.trials[trial.number]
        assert (told.state, trial.state) == ("told", "pending")
    assert set(s.shortlist) == {"ash", "cedar"}
    assert s.shortlist.names[0] == "ash"
    assert s.shortlist.final
    assert s.shortlist.evaluations == s.evaluations == len(s.trials)
    assert s.statistic is not None
    assert s.statistic <= 0.0
    assert [t.number for t in s.trials] == list(range(len(s.trials)))


def test_the_answer_states_its_guarantee() -> None:
    s = study(epsilon=0.01, delta=0.1, S=1.5)
    assert s.shortlist.guarantee.text.startswith("No guarantee yet")
    assert s.shortlist.names == []
    s.run(noisy(), progress=False)
    words = s.shortlist.guarantee.text
    for piece in (
        "Proven",
        "0.9",
        "ε = 0.01",
        "δ = 0.1",
        "σ = 0.6",
        "S = 1.5",
        "'self_normalized'",
    ):
        assert piece in words
    assert s.shortlist.guarantee.short in str(s.shortlist)
    assert "cedar" in str(s.shortlist)


def test_a_heuristic_threshold_is_called_heuristic() -> None:
    s = study(threshold="heuristic")
    s.run(noisy(), progress=False)
    assert s.shortlist.guarantee.text.startswith(
        "Heuristic: no proof covers this answer, because the"
    )
    assert "Proven" not in s.shortlist.guarantee.text


def test_table() -> None:
    s = study(audit=False)
    before = s.table()
    assert before.index.tolist() == NAMES
    assert list(before.columns) == ["pulls", "mean", "estimate", "lower", "upper", "in_shortlist"]
    assert before["mean"].isna().all()
    assert not before["in_shortlist"].any()
    s.run(noisy(), progress=False)
    table = s.table()
    assert table["pulls"].sum() == s.evaluations
    assert table["in_shortlist"].sum() == 2
    C = s.procedure.engine.threshold(s.posterior)
    width = C * 0.6 * np.sqrt(s.posterior.variances)
    np.testing.assert_allclose(table["upper"] - table["estimate"], width)
    np.testing.assert_allclose(table["estimate"] - table["lower"], width)
    assert np.all((table["lower"] <= MEANS) & (table["upper"] >= MEANS))


def test_why() -> None:
    s = study(audit=False)
    first = s.ask()
    assert s.why(first).b is None
    assert "initial pull" in str(s.why(first))
    s.cancel(first)
    s.run(noisy(), progress=False, max_evaluations=10)
    trial = s.ask()
    reason = s.why(trial.number)
    assert {reason.b, reason.c} <= set(NAMES)
    assert reason.b in s.shortlist
    assert reason.c not in s.shortlist
    assert reason.gap is not None
    assert f"{reason.gap:.4g}" in str(reason)
    extra = s.tell(arm="doum", value=0.4)
    assert "unrequested data" in str(s.why(extra))


def test_pending_trials_shrink_widths_and_leave_means_alone() -> None:
    s = study(audit=False)
    s.run(noisy(), progress=False, max_evaluations=8)
    means, variances = s.posterior.means.copy(), s.posterior.variances.copy()
    batch = s.ask(6)
    assert np.array_equal(s.posterior.means, means)
    assert np.array_equal(s.posterior.variances, variances)
    # The batch is what telling each pending trial its current mean would have led to.
    told = study(audit=False)
    told.run(noisy(), progress=False, max_evaluations=8)
    posterior = told.posterior.copy()
    for trial in batch:
        recipe = told.procedure.engine.recipe  # type: ignore[attr-defined]
        seeds = np.array([told.seed], np.uint64)
        decided = decide(recipe, posterior.fits, seeds, Memory(recipe, 1), stops=False)
        assert trial.arm == decided.arm[0]
        posterior.observe(trial.arm, float(posterior.means[trial.arm]))
        np.testing.assert_allclose(posterior.means, means, rtol=1e-9)
    assert len({trial.arm for trial in batch}) > 1
    assert not s.done


def test_a_batch_larger_than_the_initial_pulls() -> None:
    s = study()
    batch = s.ask(9)
    assert [trial.arm for trial in batch[:4]] == [0, 1, 2, 3]
    counts = np.bincount([trial.arm for trial in batch])
    assert counts.max() - counts.min() <= 1
    for trial in reversed(batch):
        s.tell(trial, MEANS[trial.arm])
    np.testing.assert_allclose(s.posterior.means, MEANS, atol=1e-9)


def test_a_failed_initial_pull_is_asked_again_and_never_imputed() -> None:
    s = study()
    first = s.ask()
    assert s.fail(first, "plate dropped").reason == "plate dropped"
    assert s.posterior.observed == 0
    assert s.ask().arm == first.arm
    assert [t.state for t in s.trials] == ["failed", "pending"]


def test_unasked_data_counts() -> None:
    s = study()
    for arm, name in enumerate(NAMES):
        s.tell(arm=name, value=float(MEANS[arm]))
    assert s.evaluations == 4
    assert s.statistic is not None
    assert "initial" not in str(s.why(s.ask()))


def test_telling_twice() -> None:
    s = study()
    trial = s.ask()
    s.tell(trial, 0.5)
    assert s.tell(trial, 0.7, if_told="ignore").value == 0.5
    assert s.tell(trial, 0.5, if_told="same") is s.trials[0]
    with pytest.raises(errors.TrialClosed, match=r"0\.5 is stored"):
        s.tell(trial, 0.7, if_told="same")
    s.correct(trial, 0.25, reason="mistyped")
    assert s.tell(trial, 0.5, if_told="same").value == 0.25  # told before, and corrected since
    assert s.evaluations == 1
    s.fail(s.ask())
    with pytest.raises(errors.TrialClosed, match="is failed"):
        s.tell(1, 0.5, if_told="same")


def test_a_stop_is_final_unless_reopened() -> None:
    s = study(sigma=0.05)
    s.run(noisy(sigma=0.01), progress=False, max_evaluations=4)
    late = None
    while not s.done:
        batch = s.ask(3)
        for trial in batch:
            if s.done:
                late = trial
            else:
                s.tell(trial, MEANS[trial.arm])
    answer = s.shortlist
    if late is not None:
        s.tell(late, 99.0)
    assert s.shortlist is answer
    s.reopen()
    assert not s.done
    trial = s.ask()
    s.tell(trial, MEANS[trial.arm])
    assert s.evaluations == sum(t.state == "told" for t in s.trials)


def test_results_out_of_order_give_the_same_posterior() -> None:
    s, r = study(), study()
    for one, other in zip(s.ask(8), r.ask(8), strict=True):
        assert one.arm == other.arm
    for number in range(8):
        s.tell(number, MEANS[s.trials[number].arm] + 0.01 * number)
    for number in reversed(range(8)):
        r.tell(number, MEANS[r.trials[number].arm] + 0.01 * number)
    np.testing.assert_allclose(s.posterior.means, r.posterior.means, rtol=1e-9)


def test_both_pulls_the_pair_in_one_round() -> None:
    s = study(algorithm="LUCB both arms")
    s.run(noisy(), progress=False, max_evaluations=40)
    later = s.trials[4:]
    for one, other in list(pairwise(later))[::2]:
        assert one.name == s.why(one).b
        assert other.name == s.why(other).c
        assert s.why(one).gap == s.why(other).gap


def test_same_seed_same_trials_other_seed_other_seeds() -> None:
    one, same, other = study(), study(), study(seed=2)
    for s in (one, same, other):
        s.run(noisy(), progress=False, max_evaluations=30)
    assert [t.arm for t in one.trials] == [t.arm for t in same.trials]
    assert [t.seed for t in one.trials] == [t.seed for t in same.trials]
    assert len({t.seed for t in one.trials + other.trials}) == 60
    assert shortlist.Study(X, 1, sigma=1.0).seed != shortlist.Study(X, 1, sigma=1.0).seed


def test_a_failing_objective_marks_its_trial_and_goes_on_to_the_caller() -> None:
    s = study()

    def broken(trial: object) -> float:
        raise ZeroDivisionError("no reading")

    with pytest.raises(ZeroDivisionError):
        s.run(broken, progress=False)
    assert s.trials[0].state == "failed"
    assert "no reading" in str(s.trials[0].reason)


def test_a_data_frame_names_its_arms() -> None:
    frame = pd.DataFrame(X, index=NAMES, columns=["height", "weight"])
    s = shortlist.Study(frame, 1, sigma=0.1)
    assert s.problem.names == tuple(NAMES)


def test_arms_alone_are_a_classical_bandit() -> None:
    s = shortlist.Study(arms=NAMES, m=1, sigma=0.1, algorithm="LUCB", seed=0)
    assert s.run(lambda trial: MEANS[trial.arm], progress=False).names == ["ash"]
    np.testing.assert_allclose(s.posterior.variances, 1.0 / s.posterior.pulls)
    assert s.shortlist.guarantee.text.startswith("Proven")


def test_the_progress_line_shows_evaluations_statistic_and_shortlist() -> None:
    screen = io.StringIO()
    s = study()
    assert describe(s) == "0 evaluations · initial pulls"
    with ProgressLine(s, True, Console(file=screen, force_terminal=True, width=120)) as line:
        s.run(noisy(), progress=False)
        line.update()
    assert f"{s.evaluations} evaluations" in screen.getvalue()
    assert "→ ε = 0" in screen.getvalue()
    assert "ash, cedar" in screen.getvalue()


def test_no_progress_line_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    study().run(noisy(), max_evaluations=5)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_the_guarantee_says_what_the_way_there_adds_to_it() -> None:
    s = study()
    evaluate = noisy()
    s.fail(s.ask(), "dropped")
    first, second = s.ask(2)
    s.tell(second, evaluate(second))
    s.tell(first, evaluate(first))
    s.tell(arm="ash", value=1.0)
    s.run(evaluate, progress=False)
    words = s.shortlist.guarantee.text
    assert words.startswith("Proven")
    assert "Failed or cancelled: 1" in words
    assert "any result that was known and not yet told" in words
    assert "told without having been asked for: 1" in words
    plain = study()
    plain.run(noisy(), progress=False)
    words = plain.shortlist.guarantee.text
    assert words.startswith(plain.procedure.claim.text)
    assert words.removeprefix(plain.procedure.claim.text).startswith(
        " That the means are linear in the features was tested at"
    )


def test_two_lines_are_as_strong_as_the_test_was_fine() -> None:
    """Where a misfit that was not found can make the list wrong, the answer begins with "If"."""
    answers = {}
    for gap in (0.01, 3.0):
        features = np.array([[0.0], [1.0], [2.0], [2.0 + gap]])
        s = shortlist.Study(features, m=1, sigma=0.1, seed=0, epsilon=0.001)
        generator = np.random.default_rng(0)
        means = features[:, 0]
        s.run(lambda t, w=means, g=generator: w[t.arm] + 0.1 * g.normal(), progress=False)
        answers[gap] = s.shortlist.guarantee
    first, _, second = answers[0.01].short.partition("\n")
    assert first.startswith("If the means are linear in the features: the best of 4,")
    assert "ranks 1 and 2 are 0.01 apart: study.verify() proves the list" in second
    first, _, second = answers[3.0].short.partition("\n")
    assert first.startswith("The best of 4,")
    assert "would have been found)" in second


def test_features_that_speak_against_the_guarantee_are_warned_of_on_creation() -> None:
    features = [[1.0, 0.0], [1.0, 1.0], [1.0, 1.0 + 1e-10], [1.0, 3.0]]
    with pytest.warns(errors.UnhealthyFeatures, match="alike .* 1 and 2,") as warned:
        shortlist.Study(features, m=1, sigma=1.0)
    assert warned[0].filename == __file__
    shortlist.Study(features, m=1, sigma=1.0, algorithm="LUCB")  # looks at no features


def test_a_trial_that_was_handed_out_cannot_be_changed(tmp_path: Path) -> None:
    """An objective that counts from 1 does: the result would go to another arm."""
    for storage in (None, tmp_path / "study.db"):
        s = study(storage=storage)
        handed = [s.ask(), *s.ask(2)]
        s.tell(handed[0], 0.5)
        s.fail(handed[1])
        handed += [*s.trials, *s.pending, *s.taken, s.tell(arm=1, value=0.25)]
        before = s.fingerprint, [copy.copy(trial) for trial in s.trials]
        for trial in handed:
            for field in fields(Trial):
                with pytest.raises(FrozenInstanceError):
                    setattr(trial, field.name, 1)
                with pytest.raises(FrozenInstanceError):
                    delattr(trial, field.name)
            with pytest.raises(FrozenInstanceError):
                trial.arm += 1  # type: ignore[misc]
        assert (s.fingerprint, list(s.trials)) == before
        for name in ("append", "clear", "pop", "sort", "reverse", "extend", "insert", "remove"):
            assert not hasattr(s.trials, name)
            assert not hasattr(s.taken, name)
        with pytest.raises(TypeError):
            s.trials[0] = s.trials[1]  # type: ignore[index]
        s.pending.clear()  # lists of their own
        s.waiting.clear()
        assert [t.number for t in s.pending] == [2]

        def counts_from_one(trial: Trial) -> float:
            trial.arm += 1  # type: ignore[misc]
            return 0.5

        with pytest.raises(FrozenInstanceError):
            s.run(counts_from_one, progress=False)
        s.tell(handed[2], 0.75)
        if storage is not None:
            loaded = shortlist.Study.load(storage, algorithm=ONCE)
            assert [(t.arm, t.value) for t in loaded.trials] == [(t.arm, t.value) for t in s.trials]


def test_a_copy_of_a_trial_is_the_trial() -> None:
    s = study()
    trial = s.ask()
    for twin in (copy.copy(trial), copy.deepcopy(trial), pickle.loads(pickle.dumps(trial))):
        assert twin == trial
        assert type(twin) is Trial
        with pytest.raises(FrozenInstanceError):
            twin.arm = 0  # type: ignore[misc]
    assert s.tell(copy.copy(trial), 1.0) is s.trials[0]


def test_a_study_says_that_it_cannot_be_pickled(tmp_path: Path) -> None:
    """Whoever wants to is told what to send instead, and that works as it is written."""
    path = tmp_path / "study.db"
    for storage, words in ((None, "Create it with storage="), (path, r"Study\.load\(")):
        s = study(storage=storage, algorithm="UGapE")
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(errors.InvalidInput, match=words):
                attempt(s)
    with ProcessPoolExecutor(1) as pool, pytest.raises(errors.InvalidSetting, match="call Study"):
        s.run(s.tell, executor=pool, progress=False)  # type: ignore[arg-type]
    assert shortlist.Study.load(str(path), "study").fingerprint == s.fingerprint


def test_an_arm_is_no_truth_value() -> None:
    s = study()
    for wrong in (True, False, np.True_, 1.0, None, [1]):
        with pytest.raises(errors.InvalidInput):
            s.tell(arm=wrong, value=0.5)  # type: ignore[arg-type]
    assert not s.trials
    assert s.tell(arm=np.int64(1), value=0.5).arm == 1


def test_of_a_long_reason_the_ends_are_kept() -> None:
    s = study()

    def wordy(trial: Trial) -> float:
        raise ValueError("first " + "x" * 10**6 + " last")

    reasons = [s.fail(s.ask(), "first " + "x" * 10**7 + " last").reason]
    with pytest.raises(ValueError, match="first"):
        s.run(wordy, progress=False)
    reasons += [t.reason for t in s.trials if t.state == "failed"][1:]
    for reason in reasons:
        assert reason is not None
        assert len(reason) < 21_000
        assert "first" in reason
        assert reason.rstrip().endswith("last")
        assert "characters are left out here" in reason
    assert len(reasons) == 2


# What algorithms are given, for those who write one themselves.
OF_ALGORITHMS = {
    *("model", "round", "procedure", "fits"),
    *("reduced", "in_own_units", "orthonormal", "relative_noise"),
    "spanning",
}


def arrays_within(thing: object, depth: int = 3) -> Iterator[np.ndarray]:
    """The arrays, tables and lists of arrays that can be reached by public names."""
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, pd.DataFrame):
        yield from (thing[column].to_numpy() for column in thing)
    elif isinstance(thing, list | tuple):
        for each in thing:
            yield from arrays_within(each, depth)
    elif depth and type(thing).__module__.startswith("shortlist"):
        for name in dir(thing):
            if not name.startswith("_") and name not in OF_ALGORITHMS:
                value = getattr(thing, name)
                if not callable(value) or name in ("table", "history", "copy"):
                    made = value() if callable(value) else value
                    yield from arrays_within(made, depth - 1)


@pytest.mark.slow
@pytest.mark.parametrize("stored", [False, True])
def test_what_is_handed_out_cannot_be_used_to_change_a_study(stored: bool, tmp_path: Path) -> None:
    features = np.random.default_rng(3).normal(size=(6, 3))
    means = features.sum(axis=1)

    def begin(name: str) -> shortlist.Study:
        given = {"storage": str(tmp_path / name)} if stored else {}
        return shortlist.Study(features, m=2, sigma=0.3, epsilon=0.3, seed=1, **given)  # type: ignore[arg-type]

    touched, untouched = begin("touched.db"), begin("untouched.db")
    found = 0
    while not untouched.done:
        ours, theirs = touched.ask(), untouched.ask()
        assert (ours.number, ours.arm, ours.seed) == (theirs.number, theirs.arm, theirs.seed)
        for study, trial in ((touched, ours), (untouched, theirs)):
            noise = np.random.default_rng(trial.number).normal()
            study.tell(trial, float(means[trial.arm] + 0.3 * noise))
        if touched.evaluations in (1, 9, 20) or touched.done:
            for array in arrays_within(touched):
                found += 1
                if array.flags.writeable and array.dtype != object:
                    array[...] = 1
    assert touched.done
    assert found > 20
    assert touched.shortlist.names == untouched.shortlist.names
    assert touched.fingerprint == untouched.fingerprint
    assert touched.posterior.means.tobytes() == untouched.posterior.means.tobytes()
    assert touched.posterior.pulls.tobytes() == untouched.posterior.pulls.tobytes()
    pd.testing.assert_frame_equal(touched.shortlist.table, untouched.shortlist.table)
    with pytest.raises(ValueError, match="read-only"):
        touched.problem.features[0, 0] = 1.0


def test_a_request_with_a_key_asks_once_also_from_another_process(tmp_path: Path) -> None:
    place = str(tmp_path / "study.db")
    study = shortlist.Study(arms=["a", "b", "c"], m=1, sigma=0.1, seed=0, storage=place)
    first = [trial.number for trial in study.ask(3, key="plate 1")]
    assert [trial.number for trial in study.ask(2, key="plate 2")] == [3, 4]
    other = shortlist.Study.load(place)
    assert [trial.number for trial in other.ask(3, key="plate 1")] == first == [0, 1, 2]
    study.tell(0, 0.5)
    assert [trial.state for trial in other.ask(3, key="plate 1")] == ["told", "pending", "pending"]
    assert len(other.trials) == 5
    assert other.ask().number == 5  # nobody else's are given out
    with pytest.raises(errors.InvalidInput, match="1 to 200 characters"):
        study.ask(1, key="")


def test_a_trial_given_to_somebody_else_is_no_longer_the_first_asker_s() -> None:
    study = shortlist.Study(arms=["a", "b"], m=1, sigma=0.1, seed=0, lease=1e-6)
    [first] = study.ask(1, key="plate 1")
    assert study.ask(1, key="plate 2")[0].number == first.number
    assert study.ask(1, key="plate 2")[0].number == first.number
    assert study.ask(1, key="plate 1")[0].number == first.number  # over once more, and its again
    assert [trial.worker for trial in study.trials] == ["key plate 1"]


# Results of another study


def carried(storage: Path | None = None) -> tuple[shortlist.Study, shortlist.Study]:
    """A study with a failure, a correction and an open trial, and its continuation."""
    old = study(storage=storage, name="old")
    trials = old.ask(6)
    for trial in (trials[0], trials[2], trials[4]):
        old.tell(trial, 0.5 + trial.number)
    old.fail(trials[1], "the well was empty")
    old.correct(2, 0.25, reason="mistyped")
    return old, old.continued(features=None)


def test_carried_trials_keep_their_numbers_and_failures() -> None:
    old, new = carried()
    states = ["told", "failed", "told", "cancelled", "told"]
    assert [trial.state for trial in new.trials] == states
    assert [trial.arm for trial in new.trials] == [trial.arm for trial in old.trials[:5]]
    assert [trial.value for trial in new.taken] == [0.5, 0.25, 4.5]
    assert new.trials[1].reason == "the well was empty"
    assert "pending in 'old'" in str(new.trials[3].reason)
    assert new.trials[2].corrections == ()  # it is told here as it was when it was carried over
    assert new.trials[4].carried_from == f"{old.mark}, trial 4"
    assert f"carried over from {old.mark}, trial 4" in str(new.why(4))
    assert new.trials_dataframe()["carried_from"][2] == f"{old.mark}, trial 2"
    assert new.ask().number == 5


def test_results_that_come_late_are_carried_once_and_say_their_number() -> None:
    old, new = carried()
    own = new.tell(new.ask(), 0.75)
    old.tell(3, 1.5)
    assert [trial.number for trial in new.carry_over(old)] == [0, 2, 4, 6]
    assert (new.trials[6].value, new.trials[6].carried_from) == (1.5, f"{old.mark}, trial 3")
    assert new.trials[own.number].carried_from is None
    changes = new.changes
    assert [trial.number for trial in new.carry_over(old)] == [0, 2, 4, 6]
    assert new.changes == changes


def test_a_later_correction_is_made_in_both_studies() -> None:
    old, new = carried()
    old.correct(0, 0.125, reason="wrong well")
    assert [(a.value, b.value) for a, b in new.differing(old)] == [(0.5, 0.125)]
    with pytest.warns(errors.GuaranteeInDoubt, match=r"1 result differs.*0\.5 here and 0\.125"):
        new.carry_over(old)
    new.correct(0, 0.125, reason="wrong well")
    assert new.differing(old) == []


def test_results_that_were_corrected_in_both_studies_are_named() -> None:
    old, new = carried()
    old.correct(0, 0.125, reason="wrong well")
    new.correct(0, 0.375, reason="wrong line", arm=new.trials[0].name)
    with pytest.warns(errors.GuaranteeInDoubt, match=r"1 result differs.*0\.375 here and 0\.125"):
        new.carry_over(old)
    assert new.trials[0].value == 0.375


def test_the_guarantee_tells_the_history_of_carried_results(tmp_path: Path) -> None:
    carried(tmp_path / "s.db")
    new = shortlist.Study.load(tmp_path / "s.db", "old, without features")
    found = dict(conditions(new))
    assert "The study 'old' (m-LinGapE" in found["Carried over"]
    assert "had not stopped after 3 evaluations." in found["Carried over"]
    assert "Of its results, 1 had been corrected." in found["Carried over"]
    assert "cancelled: 2;" in found["Failures"]
    assert new.sources[0].name == "old"


def continued(storage: Path | None) -> tuple[shortlist.Study, ...]:
    """A study with a result of its own and one with a key, and two continuations in a row."""
    first = study(storage=storage, name="first")
    first.tell(first.ask(), 0.5)
    first.tell(arm="beech", value=0.25, key="r.csv, row 1")
    second = first.continued(features=None)
    return first, second, second.continued(delta=0.01)


@pytest.mark.parametrize("is_stored", [False, True])
def test_a_continuation_knows_results_by_the_keys_they_had(tmp_path: Path, is_stored: bool) -> None:
    first, second, third = studies = continued(tmp_path / "s.db" if is_stored else None)
    if is_stored:
        studies = tuple(shortlist.Study.load(tmp_path / "s.db", each.name) for each in studies)
    for each in studies:
        assert each.tell(arm="beech", value=0.25, key="r.csv, row 1").number == 1
        with pytest.raises(errors.TrialClosed, match=r"'r\.csv, row 1' was told before"):
            each.tell(arm="beech", value=0.75, key="r.csv, row 1")
        assert each.evaluations == 2
    second, third = studies[1:]
    assert third.trials[1].carried_from == f"{second.mark}, trial 1"
    assert third.trials[1].keys == (
        *(f"{second.mark}, trial 1", f"{first.mark}, trial 1"),
        "r.csv, row 1",
    )
    # Nothing is copied twice, by whichever way it comes.
    for source in (first, second):
        assert [trial.number for trial in third.carry_over(source)] == [0, 1]
    first.correct(1, 0.375, reason="mistyped")
    assert [(own.value, there.value) for own, there in third.differing(first)] == [(0.25, 0.375)]
    assert third.evaluations == 2


def test_a_file_told_to_both_studies_counts_once() -> None:
    first, second = study(name="first"), study(name="second")
    for each in (first, second):
        each.tell(arm="beech", value=0.25, key="r.csv, row 1")
        each.tell(arm="doum", value=0.75, key="r.csv, row 2")
    first.tell(arm="doum", value=0.5, key="r.csv, row 3")
    first.correct(0, 0.375, reason="mistyped")
    for _ in range(2):
        assert [trial.number for trial in second.carry_over(first)] == [0, 1, 2]
    assert second.trials[0].value == 0.25  # told here: another study's correction leaves it alone
    assert second.evaluations == 3


def test_two_files_of_one_name_are_two_files() -> None:
    """Rows that happen to agree count as well: else which results count would depend on their values."""
    first, second, third = (study(name=name) for name in ("first", "second", "third"))
    for each, other in ((first, 0.75), (second, 0.125)):
        each.tell(arm="beech", value=0.25, key="r.csv, row 1")
        each.tell(arm="doum", value=other, key="r.csv, row 2")
    first.correct(0, 0.5, reason="mistyped")
    for source in (first, second, first, second):
        third.carry_over(source)
    assert [trial.value for trial in third.trials] == [0.5, 0.75, 0.25, 0.125]
    for _ in range(2):
        assert [trial.number for trial in second.carry_over(first)] == [2, 3]
    assert second.trials[3].keys == (f"{first.mark}, trial 1", "r.csv, row 2")
    # The results that were told here keep their keys, and their values.
    assert second.tell(arm="doum", value=0.125, key="r.csv, row 2").number == 1
    assert [trial.value for trial in second.trials] == [0.25, 0.125, 0.5, 0.75]


def test_results_that_come_home_count_once() -> None:
    first = study(name="first")
    first.tell(arm="beech", value=0.25)
    first.tell(first.ask(), 0.5)
    free = first.continued(features=None)
    for there in (free, free.continued(delta=0.01)):
        there.tell(arm="doum", value=0.125)
        there.correct(0, 0.375, reason="mistyped")
    for _ in range(2):
        with pytest.warns(errors.GuaranteeInDoubt, match=r"0\.25 here and 0\.375 there"):
            assert len(first.carry_over(there)) == 3
        assert first.evaluations == 3
        assert first.trials[0].value == 0.25


def test_a_key_of_a_copy_is_forgotten_with_a_change_that_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = study(name="first"), study(name="second")
    first.tell(arm="beech", value=0.25, key="r.csv, row 1")
    with monkeypatch.context() as broken:
        broken.setattr(Ledger, "note_source", None)
        with pytest.raises(TypeError):
            second.carry_over(first)
    assert second.tell(arm="beech", value=0.5, key="r.csv, row 1").number == 0


def test_a_study_knows_what_it_was_continued_as(tmp_path: Path) -> None:
    old, _ = carried(tmp_path / "s.db")
    assert old.continuations == ["old, without features"]
    assert shortlist.Study.load(tmp_path / "s.db", "old, without features").continuations == []
    assert study().continuations == []


def noise(trial: Trial) -> float:
    return float(np.random.default_rng(trial.seed).standard_normal())


def asked_seeds(study: shortlist.Study) -> list[int]:
    return [trial.seed for trial in study.trials if trial.was_asked]


def made_again(old: shortlist.Study) -> shortlist.Study:
    """Another study of the same settings, the seed among them, with the results of this one."""
    new = study(storage=old.address, name="again")
    new.carry_over(old)
    return new


CONTINUED: dict[str, Callable[[shortlist.Study], shortlist.Study]] = {
    "without features": lambda old: old.continued(features=None),
    "another epsilon": lambda old: old.continued(epsilon=0.1),
    "another delta": lambda old: old.continued(delta=0.01),
    "the same settings": made_again,
}


@pytest.mark.parametrize("is_stored", [False, True])
@pytest.mark.parametrize("told", [0, 2])
@pytest.mark.parametrize("name", CONTINUED)
def test_no_seed_is_given_out_by_two_studies(
    tmp_path: Path, name: str, told: int, is_stored: bool
) -> None:
    old = study(storage=tmp_path / "s.db" if is_stored else None, name="old")
    for trial in old.ask(6)[:told]:
        old.tell(trial, noise(trial))
    new = CONTINUED[name](old)
    assert [trial.seed for trial in new.trials] == [trial.seed for trial in old.trials[:told]]
    studies = [old, new, *(make(new) for key, make in CONTINUED.items() if key != name)]
    for each in studies:
        each.ask(10)
    seeds = [seed for each in studies for seed in asked_seeds(each)]
    assert len(set(seeds)) == len(seeds) == 6 + 10 * len(studies)
    if is_stored:
        again = shortlist.Study.load(tmp_path / "s.db", new.name)
        assert list(again.trials) == list(new.trials)


def test_a_carrying_over_that_fails_leaves_the_seeds_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second, third = (study(name=name) for name in ("first", "second", "third"))
    first.tell(first.ask(), 0.5)
    with monkeypatch.context() as broken:
        broken.setattr(Log, "_take_news", None)
        with pytest.raises(TypeError):
            second.carry_over(first)
    assert second.ask().seed == third.ask().seed


def test_results_that_two_studies_drew_with_the_same_seed_are_named() -> None:
    first, second = study(name="first"), study(name="second")
    for each in (first, second):
        trial = each.ask()
        each.tell(trial, noise(trial))
    with pytest.warns(errors.GuaranteeInDoubt, match=r"trials 0\) had the same seed.*'first'"):
        second.carry_over(first)
    assert second.ask().seed not in asked_seeds(first)


def test_arms_that_are_unknown_here_matter_only_if_they_have_results() -> None:
    old = study()
    first, second = old.ask(2)
    old.fail(first, "dropped")
    old.tell(second, 0.5)
    others = [name for name in NAMES if name != first.name]
    new = shortlist.Study(arms=others, m=1, sigma=0.6)
    assert [trial.name for trial in new.carry_over(old)] == [second.name]
    assert new.trials[0].carried_from == f"{old.mark}, trial 1"


def test_a_correction_of_another_arm_changes_nothing() -> None:
    s = study()
    trial = s.tell(arm="beech", value=0.5)
    s.tell(arm="doum", value=0.25)
    before = s.fingerprint
    with pytest.raises(errors.InvalidInput, match=r"of 'beech', not of 'doum'.*trials 1"):
        s.correct(trial, 0.75, reason="mistyped", arm="doum")
    with pytest.raises(errors.InvalidInput, match="That arm has no result"):
        s.correct(trial, 0.75, reason="mistyped", arm="ash")
    with pytest.raises(errors.UnknownName, match="did you mean 'beech'"):
        s.correct(trial, 0.75, reason="mistyped", arm="beach")
    assert s.fingerprint == before
    assert s.correct(trial, 0.75, reason="mistyped", arm="beech").value == 0.75


def test_a_storage_alone_points_to_load(tmp_path: Path) -> None:
    study(storage=tmp_path / "s.db")
    with pytest.raises(errors.InvalidSetting, match=r"Study\.load\(storage\)"):
        shortlist.Study(storage=tmp_path / "s.db", sigma=1.0)
    study(storage=tmp_path / "s.db", name="a, b")
    with pytest.raises(
        errors.InvalidSetting, match=r"2 studies: 'study', 'a, b'.*load\(storage, name"
    ):
        shortlist.Study.load(tmp_path / "s.db")


def test_pulls_beyond_the_first_plan_are_not_called_part_of_it() -> None:
    s = study(algorithm="Guess-and-verify")
    planned = len(s.procedure.engine.setup.initial)
    trials = s.ask(planned + 2)
    words = [str(s.why(trial)) for trial in trials]
    assert all("part of the first plan" in each for each in words[:planned])
    assert all("one more pull" in each for each in words[planned:])
    assert "The first" in more_than_needed(s, trials)
    assert more_than_needed(s, trials[:planned]) == ""
    assert more_than_needed(s, s.ask(2)).startswith("Possibly none of these 2")
    s.tell_many((trial, MEANS[trial.arm]) for trial in trials)
    said = _origins(s)[0]
    assert (
        f"{planned} were set beforehand (pulls of the first plan), 2 were asked for before" in said
    )


@pytest.mark.parametrize(
    "algorithm", ["Guess-and-verify", "Guess-and-verify (own results)", "m-LinGapE", "LUCB"]
)
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_after_the_stop_the_table_is_that_of_the_answer(algorithm: str, direction: str) -> None:
    s = study(algorithm=algorithm, sigma=0.3, direction=direction)
    while not s.done:
        assert s.evaluations < 3000
        if s.model.stopped:
            assert s.audit.is_running
            check_listed(s)
        trial = s.ask()
        noise = np.random.default_rng(trial.seed).standard_normal()
        s.tell(trial, float(MEANS[trial.arm] + 0.3 * noise))
    audited = len(s.audit.results)
    assert bool(audited) == (algorithm in ("Guess-and-verify", "m-LinGapE"))
    assert s.table()["pulls"].sum() == s.answered_at
    check_listed(s)
    before = s.table()
    s.tell(arm=1, value=float(MEANS[1]) + 0.4)  # too late to change anything
    pd.testing.assert_frame_equal(s.table(), before, check_exact=True)
    check_listed(s)
    last = s.history().checkpoints
    last = last[last["evaluation"] == s.evaluations].set_index("name")
    pd.testing.assert_frame_equal(last[list(before.columns)], before, check_exact=True)
    given = s.table()
    given.loc[:, "mean"] = 0.0  # a caller may write into what it was given
    pd.testing.assert_frame_equal(s.table(), before, check_exact=True)
    s.reopen()
    assert s.table()["pulls"].sum() == s.evaluations


def check_listed(s: shortlist.Study) -> None:
    """The rows of the shortlist are the same in both tables."""
    table = s.table().loc[s.shortlist.names]
    pd.testing.assert_frame_equal(table, s.shortlist.table, check_exact=True, check_like=True)
