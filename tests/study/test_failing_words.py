"""An arm whose evaluations keep failing: it is set aside, and the study goes on or says why not."""

from __future__ import annotations

import ast
import json
import os
import random
import re
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import run as shell
from report_pages import undrawn
from served import client_of
from shortlist import GIFA, Study, errors, report
from shortlist.blocks import Cell
from shortlist.guarantee import BLIND
from shortlist.study.guarantee_parts import conditions
from shortlist.study.running import run as evaluation
from shortlist.study.trial import FAILURES_IN_A_ROW, Trial

K, BATCH, BAD = 8, 4, 2
X = np.random.default_rng(5).standard_normal((K, 3))
MEANS = X @ [1.0, 0.5, -0.3]
NAMES = [f"C{k:02}" for k in range(K)]
SETTINGS: dict[str, Any] = {"m": 2, "sigma": 0.3, "seed": 1, "arms": NAMES}
KINDS: dict[str, dict[str, Any]] = {
    "auto with features": {"features": X},
    "auto": {},
    "LUCB": {"algorithm": "LUCB"},
    "LUCB both arms": {"algorithm": "LUCB both arms"},
    "m-LinGapE": {"features": X, "algorithm": "m-LinGapE"},
    "LinGIFA": {"features": X, "algorithm": "LinGIFA"},
    "guide": {"features": X, "trust": "guide"},
    "budget": {"features": X, "budget": 60},
    "sigma estimated": {"features": X, "sigma": "estimate"},
}
FIRST_ONCE = GIFA(initialization="each", name="each arm once first")
pytestmark = pytest.mark.filterwarnings("ignore::shortlist.errors.ArmSetAside")


def begin(kind: str = "auto", **others: Any) -> Study:
    return Study(**{**SETTINGS, **KINDS[kind], **others})


class Objective:
    """Raises for one arm, from some evaluation of it on, up to another one."""

    def __init__(self, bad: int = BAD, *, after: int = 0, until: float = np.inf) -> None:
        self.bad, self.after, self.until = bad, after, until
        self.made = 0

    def __call__(self, trial: Trial) -> float:
        if trial.arm == self.bad:
            self.made += 1
            if self.after < self.made <= self.until:
                raise RuntimeError("the reader\nis clogged")
        noise = 0.3 * np.random.default_rng(trial.seed).standard_normal()
        return float(MEANS[trial.arm] + noise)


def run(study: Study, objective: Callable[[Trial], float], **how: Any) -> None:
    given = {"max_failures": 10**6, "max_evaluations": 3000, "progress": False, **how}
    study.run(objective, **given)


def failed(study: Study, arm: int = BAD) -> int:
    return sum(trial.state == "failed" and trial.arm == arm for trial in study.trials)


def fail_often(study: Study, arm: int, times: int = FAILURES_IN_A_ROW) -> None:
    """Ask until this arm has failed so often; what else is asked for stays open."""
    while failed(study, arm) < times:
        trial = study.ask()
        if trial.arm == arm:
            study.fail(trial, "dropped")


GAP_INDICES = ("LUCB", "LUCB both arms", "m-LinGapE", "LinGIFA")
CERTIFY = [kind for kind in KINDS if kind not in ("budget", *GAP_INDICES)]


@pytest.mark.parametrize("kind", GAP_INDICES)
def test_gap_indices_need_every_arm_and_say_how_to_go_on(kind: str) -> None:
    study = begin(kind)
    bad = study.ask().arm
    study.cancel(0)
    with pytest.raises(
        errors.OnlyFailingArms, match=re.escape("study.continued(algorithm='auto')")
    ):
        run(study, Objective(bad))
    later = study.continued(algorithm="auto")
    run(later, Objective(bad))
    assert later.done
    assert NAMES[bad] not in later.shortlist.names


@pytest.mark.parametrize("kind", CERTIFY)
def test_a_first_plan_goes_on_without_an_arm_that_fails(kind: str) -> None:
    study = begin(kind)
    bad = study.ask().arm  # one that is certainly wanted
    study.cancel(0)
    with pytest.warns(errors.ArmSetAside, match=NAMES[bad]) as warned:
        run(study, Objective(bad))
    assert study.done
    assert failed(study, bad) == FAILURES_IN_A_ROW
    assert study.posterior.pulls[bad] == 0
    [about] = [each for each in warned if each.category is errors.ArmSetAside]
    assert about.filename == __file__
    said = str(about.message)
    value = f"study.tell(arm={NAMES[bad]!r}, value=…)"
    for words in ("3 failures in a row", "is clogged", "study.readmit()", value):
        assert words in said
    assert "the reader" not in said  # the last line alone
    guarantee = study.shortlist.guarantee.text
    assert f"among the {K - 1} arms that were not retired" in guarantee
    assert f"{NAMES[bad]!r} (3 failures in a row" in guarantee
    assert NAMES[bad] not in study.shortlist.names


@pytest.mark.parametrize("order", ["asked", "completion"])
@pytest.mark.parametrize("kind", CERTIFY)
def test_so_does_one_with_a_pool_of_threads(kind: str, order: str) -> None:
    study = begin(kind)
    bad = study.ask().arm
    study.cancel(0)
    with ThreadPoolExecutor(BATCH) as pool:
        run(study, Objective(bad), executor=pool, batch=BATCH, order=order)
    assert study.done
    assert FAILURES_IN_A_ROW <= failed(study, bad) < FAILURES_IN_A_ROW + BATCH
    assert not study.pending


def test_a_budget_is_not_spent_without_an_arm_that_fails() -> None:
    study = begin("budget")
    study.cancel(study.ask())
    with pytest.raises(errors.OnlyFailingArms, match=re.escape("new_study.carry_over(study)")):
        run(study, Objective(study.trials[0].arm))


def test_who_asks_and_tells_by_hand_goes_on_too() -> None:
    study = begin("auto")
    while not study.done:
        trial = study.ask()
        if trial.arm == BAD:
            study.fail(trial, "dropped")
        else:
            study.tell(trial, Objective(BAD)(trial))
    assert [each.name for each in study.retired] == [NAMES[BAD]]


ON_BLOCKS: dict[str, Any] = {"none": None, "pool": 400, "named": [f"q{k}" for k in range(400)]}
ON_BLOCKS |= {"random": "random"}
RIGHT = (MEANS - MEANS.min()) / (MEANS.max() - MEANS.min()) * 0.6 + 0.2


class Scores:
    """Zeros and ones; one arm always raises, or any evaluation at random."""

    def __init__(self, bad: int | None = None, errors: float = 0.0) -> None:
        self.bad, self.errors, self._random = bad, errors, np.random.default_rng(5)

    def __call__(self, trial: Trial) -> float:
        if trial.arm == self.bad or self._random.random() < self.errors:
            raise OSError("429: too many requests")
        return float(np.random.default_rng([trial.seed, trial.arm]).random() < RIGHT[trial.arm])


def scored(blocks: str, *, features: bool = False, seed: int = 1) -> Study:
    given: dict[str, Any] = {"sigma": "bounded", "reward_range": (0, 1), "epsilon": 0.1}
    given |= {"blocks": ON_BLOCKS[blocks], "features": X if features else None}
    return Study(m=2, arms=NAMES, seed=seed, **given)


@pytest.mark.parametrize("bad", [0, int(np.argmax(MEANS)), K - 1])
@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize("blocks", ON_BLOCKS)
def test_where_one_arm_always_raises_the_others_reach_a_certified_list(
    blocks: str, features: bool, bad: int
) -> None:
    study = scored(blocks, features=features)
    run(study, Scores(bad), max_evaluations=None)
    assert study.done
    if not study.retired:  # with features the others may tell enough of it
        assert features
        assert study.posterior.pulls[bad] == 0
        return
    assert [each.name for each in study.retired] == [NAMES[bad]]
    assert study.shortlist.guarantee.text.startswith("Proven")
    assert f"among the {K - 1} arms that were not retired" in study.shortlist.guarantee.text


@pytest.mark.parametrize(("seed", "bad"), [(1, 1), (1, 5), (2, 5)])
def test_an_arm_that_fails_when_it_is_first_wanted_after_the_first_plan(
    seed: int, bad: int
) -> None:
    features = np.random.default_rng(0).standard_normal((K, 3))
    means = features @ [1.0, 0.5, -0.3]
    means = (means - means.min()) / (means.max() - means.min()) * 0.6 + 0.2
    study = Study(features, m=2, sigma=0.5, epsilon=0.1, seed=seed)

    def measure(trial: Trial) -> float:
        if trial.arm == bad:
            raise OSError("429")
        return float(means[trial.arm] + 0.4 * np.random.default_rng([trial.seed]).normal())

    run(study, measure, max_evaluations=None)
    assert study.done
    if study.retired:
        assert [each.arm for each in study.retired] == [bad]
        assert "is at most δ." in dict(conditions(study))["Retired"]


@pytest.mark.parametrize("share", [0.05, 0.1])
@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize("blocks", ["none", "pool", "random"])
def test_random_errors_end_no_run(
    blocks: str, features: bool, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "FIRST_WAIT", 0.0)
    study = scored(blocks, features=features)
    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.ArmSetAside)
        run(study, Scores(errors=share), retries=3, max_evaluations=None)
    assert study.done
    assert not study.retired
    sentence = dict(conditions(study))["Failures"]
    assert sum(trial.reason is not None for trial in study.trials) > 0.5 * share * study.evaluations
    assert BLIND in sentence


@pytest.mark.parametrize("way", ["readmit", "tell"])
@pytest.mark.parametrize("blocks", ON_BLOCKS)
def test_an_arm_comes_back_as_the_advice_says(blocks: str, way: str) -> None:
    best = int(np.argmax(MEANS))
    study = scored(blocks)
    with pytest.warns(errors.ArmSetAside) as warned:
        run(study, Scores(best), max_evaluations=None)
    assert study.done
    advice = str(warned[0].message)
    call = re.search(
        {"readmit": r"study\.readmit\(\)", "tell": r"study\.tell\([^)]*\)"}[way], advice
    )
    assert call is not None
    first = next(trial for trial in study.trials if trial.arm == best)
    if blocks != "none":
        assert f"on block {first.block!r}" in advice
    result = float(np.random.default_rng([first.seed, best]).random() < RIGHT[best])
    _do(study, call[0].replace("…", repr(result)))
    assert not study.retired
    assert not study.done
    run(study, Scores(), max_evaluations=None)
    assert study.done
    assert NAMES[best] in study.shortlist.names
    assert "is at most δ." in dict(conditions(study))["Came back"]


def _do(study: Study, call: str) -> None:
    """Make the call of an advice, without executing it as code."""
    name, named = re.fullmatch(r"study\.(\w+)\((.*)\)", call).groups()  # type: ignore[union-attr]
    given = ast.parse(f"f({named})", mode="eval").body
    assert isinstance(given, ast.Call)
    getattr(study, name)(**{each.arg: ast.literal_eval(each.value) for each in given.keywords})


def test_who_shares_the_storage_sees_it_leave_and_come_back(tmp_path: Path) -> None:
    place = tmp_path / "study.db"
    study, other = begin(storage=place), Study.load(place)
    for _ in range(2):
        run(study, Objective(BAD), max_evaluations=40)
        other.refresh()
        for each in (study, other, Study.load(place)):
            assert [retired.name for retired in each.retired] == [NAMES[BAD]]
            assert each.shortlist.names == study.shortlist.names
        other.readmit()
        study.refresh()
        for each in (study, other, Study.load(place)):
            assert not each.retired
            assert not each.set_aside
    run(study, Objective(until=0), max_evaluations=None)
    loaded = Study.load(place)
    assert loaded.shortlist.names == study.shortlist.names
    assert loaded.returned == study.returned == [NAMES[BAD], NAMES[BAD]]


def test_without_failures_there_is_nothing_to_ask_for_again() -> None:
    study = begin()
    study.readmit()
    assert not study.returned


@pytest.mark.parametrize("kind", ["auto", "auto with features", "guide", "sigma estimated"])
def test_an_arm_that_fails_later_is_left_out_and_may_come_back(kind: str) -> None:
    """How often it was asked for depends on results, and with that whether it failed."""
    study = begin(kind, sigma=1.0) if kind != "sigma estimated" else begin(kind)
    best = int(np.argmax(MEANS))
    run(study, Objective(best, after=6), max_evaluations=20_000)
    assert study.done
    [retired] = study.retired
    assert retired.name == NAMES[best]
    assert "is clogged" in dict(conditions(study))["Retired"]
    study.readmit()
    assert not study.done
    run(study, Objective(until=0), max_evaluations=20_000)
    assert study.done
    assert "is at most δ." in dict(conditions(study))["Came back"]


@pytest.mark.parametrize("batch", [1, BATCH])
@pytest.mark.parametrize("kind", ["guide", "auto"])
def test_a_run_may_go_on_to_the_answer_among_the_others(kind: str, batch: int) -> None:
    study = begin(kind)
    best = int(np.argmax(MEANS))
    with ThreadPoolExecutor(batch) as pool:
        run(study, Objective(best), executor=pool, batch=batch)
    assert study.done
    assert not study.set_aside
    [retired] = study.retired
    assert (retired.name, retired.failing) == (NAMES[best], True)
    assert FAILURES_IN_A_ROW <= failed(study, best) < FAILURES_IN_A_ROW + batch
    second, third = np.argsort(-MEANS)[1:3]
    assert set(study.shortlist.names) == {NAMES[second], NAMES[third]}
    assert "is clogged" in dict(conditions(study))["Retired"]


def test_where_too_few_arms_would_be_left_none_is_retired() -> None:
    """As when the machine on which all evaluations run is down."""

    def is_down(trial: Trial) -> float:
        raise OSError("no route to host")

    study = begin("auto")
    with pytest.raises(errors.OnlyFailingArms, match="no route to host"):
        run(study, is_down)
    assert not study.retired
    assert len(study.set_aside) == K


def test_a_trial_of_somebody_else_is_waited_for() -> None:
    study = begin("auto")
    study._log.change(lambda change: study._log._open(Cell(0), "initial", change.now, None))
    with pytest.raises(errors.OnlyFailingArms, match="1 pending trial may be told first"):
        run(study, Objective(int(np.argmax(MEANS))))
    assert not study.retired


@pytest.mark.parametrize("kind", ["LUCB", "LUCB both arms"])
def test_an_arm_that_fails_later_does_not_keep_the_others_busy_for_ever(kind: str) -> None:
    """The other arm of a pair takes its place only while that tells something of the pair."""
    study = begin(kind, sigma=3.0)
    bad = int(np.argmax(MEANS))
    with pytest.raises(errors.OnlyFailingArms):
        run(study, Objective(bad, after=30))
    assert failed(study, bad) == FAILURES_IN_A_ROW
    assert study.evaluations < 3000


def test_another_arm_may_do_in_its_place() -> None:
    """Where arms share features, what others tell is enough, and the guarantee says what failed."""
    study = begin("m-LinGapE", algorithm=FIRST_ONCE, sigma=0.5)
    bad = int(np.argmax(MEANS))
    run(study, Objective(bad, after=1))
    assert study.done
    assert failed(study, bad) >= FAILURES_IN_A_ROW
    sentence = dict(conditions(study))["Failures"]
    assert f"no more evaluations were asked for of {NAMES[bad]!r}" in sentence
    assert sentence in study.shortlist.guarantee.text


def test_an_audit_asks_for_an_arm_that_fails_three_times_at_most() -> None:
    study = begin("m-LinGapE", algorithm=FIRST_ONCE, sigma=1.0, intercept=False)
    while not study.audit.plan:
        study.tell(trial := study.ask(), float(MEANS[trial.arm]))
    bad = study.audit.plan[0].arm
    assert sum(cell.arm == bad for cell in study.audit.plan) > FAILURES_IN_A_ROW
    run(study, Objective(bad, after=0))
    audits = [trial for trial in study.trials if trial.cause.origin == "audit"]
    assert sum(trial.arm == bad for trial in audits) <= FAILURES_IN_A_ROW


def _of(study: Study, arm: int) -> Trial:
    """A pending trial of this arm, whatever the study would ask for."""
    return study._log.change(
        lambda change: study._log._open(Cell(arm), "initial", change.now, None)
    )


def test_an_arm_that_fails_twice_and_then_works() -> None:
    study = begin()
    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.ArmSetAside)
        run(study, Objective(until=FAILURES_IN_A_ROW - 1))
    assert study.done
    assert failed(study) == FAILURES_IN_A_ROW - 1
    assert not study.set_aside
    assert "no more evaluations" not in study.shortlist.guarantee.text


@pytest.mark.parametrize("kind", ["auto with features", "LUCB", "guide"])
def test_a_told_result_has_it_asked_for_again(kind: str) -> None:
    study = begin(kind)
    bad = study.ask().arm
    study.cancel(0)
    objective = Objective(bad, until=0)
    fail_often(study, bad)
    assert [failures.last.name for failures in study.set_aside] == [NAMES[bad]]
    study.tell(arm=bad, value=MEANS[bad])
    assert not study.set_aside
    run(study, objective)
    assert study.done
    assert not study.retired
    assert "no more evaluations" not in study.shortlist.guarantee.text


def test_only_failures_in_a_row_count() -> None:
    study = begin()
    for end in ("failed", "failed", "told", "failed", "cancelled", "failed"):
        trial = _of(study, BAD)
        if end == "told":
            study.tell(trial, 0.1)
        else:
            study.fail(trial) if end == "failed" else study.cancel(trial)
        assert not study.set_aside
    with pytest.warns(errors.ArmSetAside):
        study.fail(_of(study, BAD))
    assert [failures.number for failures in study.set_aside] == [FAILURES_IN_A_ROW]
    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.ArmSetAside)  # it was said
        study.fail(_of(study, BAD))


def test_results_that_are_pending_may_change_what_is_wanted() -> None:
    study = begin()
    fail_often(study, 0)
    assert len(study.ask(100)) < 100
    with pytest.raises(errors.OnlyFailingArms, match="pending trials may be told first"):
        study.ask()


def test_asking_for_many_gives_those_of_other_arms() -> None:
    study = begin("LUCB")
    fail_often(study, 0)
    assert 0 not in {trial.arm for trial in study.ask(3)}


def counted(study: Study) -> dict[int, int]:
    """The failures in a row of the arms set aside, from all trials."""
    in_a_row: dict[int, int] = {}
    for trial in sorted(study.trials, key=lambda each: each.closed or 0):
        if trial.state == "failed":
            in_a_row[trial.arm] = in_a_row.get(trial.arm, 0) + 1
        elif trial.state == "told":
            in_a_row[trial.arm] = 0
    return {arm: times for arm, times in in_a_row.items() if times >= FAILURES_IN_A_ROW}


def set_aside(study: Study) -> dict[int, int]:
    return {failures.last.arm: failures.number for failures in study.set_aside}


@pytest.mark.parametrize("seed", range(4))
def test_it_is_a_function_of_the_log(tmp_path: Path, seed: int) -> None:
    """Also where others follow it step by step, or a change is taken back."""
    draw = random.Random(seed)
    study = begin(storage=tmp_path / "study.db")
    other = Study.load(tmp_path / "study.db")
    seen = 0
    for _ in range(60):
        own = draw.choice([study, other])
        trial = _of(own, draw.randrange(3))
        end = draw.choice(["told", "failed", "failed", "failed", "cancelled"])
        if end == "told":
            own.tell(trial, 0.1)
        else:
            own.fail(trial) if end == "failed" else own.cancel(trial)
        before = set_aside(own)
        with pytest.raises(errors.TrialClosed):  # the second is closed: the first stays open
            own.tell_many([(_of(own, draw.randrange(3)), 0.3), (trial, 0.2)])
        assert set_aside(own) == before == counted(own)
        seen += bool(before)
    assert seen > 10
    for each in (study, other):
        each.refresh()
        assert set_aside(each) == set_aside(Study.load(tmp_path / "study.db")) == counted(study)


def _run_stored(place: Path) -> None:
    study = Study.load(place)
    fail_often(study, BAD)
    for trial in study.pending:
        study.cancel(trial)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_another_process_finds_it_set_aside(tmp_path: Path) -> None:
    place = tmp_path / "study.db"
    study = begin(storage=place)
    child = os.fork()
    if child == 0:
        try:
            _run_stored(place)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    study.refresh()
    assert failed(study) == FAILURES_IN_A_ROW
    assert [failures.last.name for failures in study.set_aside] == [NAMES[BAD]]
    study.tell(arm=BAD, value=MEANS[BAD])
    run(study, Objective(until=0))
    assert study.done


def test_the_command_line_says_it(tmp_path: Path) -> None:
    place = tmp_path / "study.db"
    study = begin(storage=place)
    fail_often(study, 0, FAILURES_IN_A_ROW - 1)
    while (trial := study.ask()).arm != 0:
        pass
    said = shell("fail", place, trial.number, "--reason", "the well\nwas empty").output
    words = " ".join(said.split())
    assert "Set aside, and no longer asked for: 'C00' (3 failures in a row" in words
    assert "`shortlist tell" in words
    assert "was empty" in words
    shell("cancel", place, *[each.number for each in study.pending if each.number != trial.number])
    assert "C00" in " ".join(shell("status", place).output.split())
    assert json.loads(shell("status", place, "--json").stdout)["set_aside"] == ["C00"]
    some = shell("ask", place, "-n", 100)
    assert "Set aside" in " ".join(some.stderr.split())
    nothing = shell("ask", place)
    assert nothing.exit_code == 4
    assert "keeps failing: 'C00'" in " ".join(nothing.stderr.split())
    assert shell("tell", place, "--arm", "C00", "--value", 0.1).exit_code == 0
    assert "C00" in shell("ask", place, "-n", 100).stdout


def test_so_does_the_server(tmp_path: Path) -> None:
    study = begin(storage=tmp_path / "study.db")
    fail_often(study, 0)
    with client_of(tmp_path / "study.db") as client:
        assert client.api("status").json()["set_aside"] == ["C00"]
        asked = client.api("ask", {"key": "plate 1", "n": 100}).json()
        assert asked["set_aside"] == ["C00"]
        refused = client.api("ask", {"key": "plate 2", "n": 1})
        assert refused.status_code == 409
        assert refused.json()["kind"] == "OnlyFailingArms"


def test_the_report_has_a_line_of_them() -> None:
    study = begin()
    fail_often(study, 0)
    with undrawn():
        assert "Set aside" not in report.html(begin())
        assert "Set aside" in report.html(study)


@pytest.mark.parametrize("blocks", [30, "random"])
def test_an_arm_that_fails_on_one_block_is_set_aside(blocks: int | str) -> None:
    given = {"sigma": "bounded", "reward_range": (0.0, 1.0), "blocks": blocks, "seed": 0}
    study = Study(arms=["ash", "elm", "oak"], m=1, **given)
    broken, failed = None, 0
    while not study.set_aside:
        for trial in study.ask(6):
            broken = trial.block if broken is None else broken
            if (trial.name, trial.block) == ("ash", broken):
                study.fail(trial, "no answer")
                failed += 1
            else:  # the arm has results on all other blocks
                study.tell(trial, 0.5)
        assert failed <= 3
    assert [failures.last.name for failures in study.set_aside] == ["ash"]
    assert sum(trial.name == "ash" and trial.state == "told" for trial in study.trials) > 2
    study.tell(arm="ash", block=broken, value=0.5)
    assert not study.set_aside
