"""Blocks as users meet them: trials, storage, files, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shortlist
from command_line import does, fails, run
from shortlist.errors import InvalidInput, TrialClosed
from shortlist.study.insight.summary import study_words
from shortlist.study.plate import match, read_plate, write_plate

NAMES = [f"q{k}" for k in range(30)]
TABLE = (np.random.default_rng(5).random((5, 30)) < np.linspace(0.9, 0.2, 5)[:, None]).astype(float)


def begun(**settings: Any) -> shortlist.Study:
    given: dict[str, Any] = {"sigma": "bounded", "reward_range": (0, 1), "seed": 3, "m": 1}
    given |= {"arms": list("abcde"), "blocks": NAMES}
    return shortlist.Study(**{**given, **settings})


def score(trial: shortlist.Trial) -> float:
    return float(TABLE[trial.arm, trial.block_index % 30])


def test_a_trial_has_its_block_and_the_seed_of_its_block() -> None:
    study = begun()
    first, second = study.ask(10)[:5], study.trials[5:10]
    assert {trial.block for trial in first} == {first[0].block} != {second[0].block}
    assert first[0].block in NAMES
    assert {trial.seed for trial in first} == {first[0].seed} != {second[0].seed}


def test_without_blocks_there_is_none() -> None:
    study = shortlist.Study(arms=["a", "b"], m=1, sigma=1.0)
    assert study.ask().block is None
    with pytest.raises(InvalidInput, match="has no blocks"):
        study.tell(arm="a", block=3, value=1.0)


def test_stored_studies_keep_their_blocks(tmp_path: Path) -> None:
    study = begun(storage=tmp_path / "a.db")
    study.run(score, max_evaluations=33, progress=False)
    again = shortlist.Study.load(tmp_path / "a.db")
    assert [(t.block, t.seed) for t in again.trials] == [(t.block, t.seed) for t in study.trials]
    alone = begun()
    assert again.run(score, progress=False).names == alone.run(score, progress=False).names
    assert [t.cell for t in again.trials] == [t.cell for t in alone.trials]


def test_a_fork_and_a_batch_ask_for_no_cell_twice(tmp_path: Path) -> None:
    one = begun(storage=tmp_path / "a.db")
    other = shortlist.Study.load(tmp_path / "a.db")
    while not one.done:
        trials = [*one.ask(7), *other.ask(4)]
        for trial in reversed(trials):
            one.tell(trial, score(trial))
        other.refresh()
    cells = [trial.cell for trial in one.trials]
    assert len(set(cells)) == len(cells) <= TABLE.size
    assert other.done
    assert list(one.shortlist.names) == ["a"]


def test_failed_cells_are_asked_for_again() -> None:
    study = begun()
    lost = study.ask()
    study.fail(lost, "no reply")
    study.run(score, progress=False)
    assert [t.state for t in study.trials if t.cell == lost.cell] == ["failed", "told"]


def test_a_cell_has_one_result() -> None:
    study = begun()
    study.tell(arm="b", block="q7", value=1.0)
    with pytest.raises(TrialClosed, match="'b' has its result on block 'q7' already: trial 0"):
        study.tell(arm="b", block="q7", value=0.0)
    assert study.tell(arm="b", block="q7", value=1.0, if_told="same").number == 0
    asked = study.ask()
    assert study.tell(arm=asked.name, block=asked.block, value=1.0).number == asked.number
    with pytest.raises(InvalidInput, match="needs its block"):
        study.tell(arm="b", value=1.0)


def test_what_is_known_is_not_asked_for() -> None:
    study = begun()
    study.tell_unasked([("c", TABLE[2, k], None, f"q{k}") for k in range(30)])
    study.run(score, progress=False)
    assert all(trial.arm != 2 for trial in study.trials if trial.was_asked)
    assert list(study.shortlist.names) == ["a"]


@pytest.mark.parametrize("blocks", [NAMES, "random"])
def test_results_are_carried_over_with_their_blocks(blocks: Any) -> None:
    old = begun(blocks=blocks)
    old.run(score, max_evaluations=25, progress=False)
    new = old.continued(delta=0.2)
    assert [t.block for t in new.trials] == [t.block for t in old.trials]
    new.run(score, progress=False)
    assert new.done
    with pytest.raises(InvalidInput, match="to a study without blocks"):
        old.continued(blocks=None, algorithm="LUCB")


def test_plates_have_a_column_of_blocks(tmp_path: Path) -> None:
    study = begun()
    trials = study.ask(5)
    text = write_plate(study, trials)
    assert text.splitlines()[0].startswith("study,trial,arm,block,")
    filled = "\n".join(line + "1" if k else line for k, line in enumerate(text.splitlines()))
    (tmp_path / "plate.csv").write_text(filled)
    told = match(tmp_path / "plate.csv", read_plate(tmp_path / "plate.csv"), study)
    assert len(study.tell_once(told.results, told.unasked).new) == 5
    (tmp_path / "own.csv").write_text("arm,block,value\na,q3,1\nb,q9,0\n")
    own = match(tmp_path / "own.csv", read_plate(tmp_path / "own.csv"), study)
    assert [t.block for t in study.tell_once(own.results, own.unasked).trials] == ["q3", "q9"]
    (tmp_path / "bad.csv").write_text("arm,block,value\na,q99,1\n")
    with pytest.raises(InvalidInput, match="line 2: unknown block 'q99'"):
        match(tmp_path / "bad.csv", read_plate(tmp_path / "bad.csv"), study)


def test_remaining_is_never_more_than_the_pool() -> None:
    study = begun()
    study.run(score, max_evaluations=30, progress=False)
    left = study.remaining()
    assert left.high is not None
    assert left.low <= left.high <= TABLE.size - study.evaluations


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"algorithm": "LUCB"}, "LUCB knows nothing of blocks"),
        ({"sigma": 0.5, "reward_range": None}, "sigma='bounded'"),
        ({"blocks": ["q1", "q1"]}, "twice"),
        ({"blocks": 1}, "from 2 to"),
        ({"blocks": "randum"}, "did you mean 'random'"),
    ],
)
def test_what_cannot_be_done_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        begun(**settings)


def test_all_pending_is_said() -> None:
    study = begun(blocks=2)
    study.ask(10)
    with pytest.raises(shortlist.errors.BudgetSpent, match=r"trial 0 \('a' on block .*cancel\(0\)"):
        study.ask()
    study.cancel(0)
    assert study.ask().cell == study.trials[0].cell


def test_the_pool_is_the_same_study_or_another(tmp_path: Path) -> None:
    begun(storage=tmp_path / "a.db")
    with pytest.raises(shortlist.errors.StudyMismatch, match="blocks = a pool of 30"):
        begun(storage=tmp_path / "a.db", blocks=40)


def test_a_wider_slack_ends_a_study_that_stalls() -> None:
    def tied(trial: shortlist.Trial) -> float:
        return 0.5 + 0.4 * (trial.block % 2)

    study = begun(blocks="random")
    study.run(tied, max_evaluations=200, progress=False)
    assert not study.done
    study.widen(0.2)
    study.run(tied, max_evaluations=200, progress=False)
    assert study.done
    assert study.shortlist.guarantee.status == "proven"
    assert "up to a difference of 0.2" in str(study.shortlist)


@pytest.mark.parametrize("limits", [(0, 1), (-3, 7), (0.1, 0.7)])
@pytest.mark.parametrize("blocks", [40, "random"])
def test_what_is_certain_is_less_than_the_range_and_ends_the_study(
    blocks: Any, limits: tuple[float, ...]
) -> None:
    low, high = limits
    study = begun(blocks=blocks, reward_range=limits, seed=1)
    certain = None
    while (certain is None or certain.epsilon is None) and study.evaluations < 400:
        study.run(
            lambda t: high if t.arm == t.block % 5 else low, max_evaluations=20, progress=False
        )
        certain = study.shortlist.certain
    assert certain is not None
    assert certain.epsilon is not None
    assert certain.epsilon < high - low
    study.widen(certain.epsilon)
    assert study.done


def test_what_is_certain_of_a_near_tie_shrinks_with_the_blocks() -> None:
    """Two scores of three nearly tie: results on the same block differ by chance.

    Of a pool nothing is certain before its leaders are known.
    """
    scores = np.random.default_rng(3).random((3, 400)) < [[0.8], [0.5], [0.5]]
    study = begun(arms=["a", "b", "c"], m=2, blocks="random", seed=2)
    found = []
    for _ in range(3):
        study.run(
            lambda t: float(scores[t.arm, t.block % 400]), max_evaluations=200, progress=False
        )
        certain = study.shortlist.certain
        assert certain is not None
        assert certain.epsilon is not None
        found.append(certain.epsilon)
    assert found[0] < 1.0
    assert found[-1] <= min(0.36, 0.75 * found[0])
    study.widen(found[-1])
    assert study.done


@pytest.mark.parametrize("blocks", [NAMES, "random"])
@pytest.mark.parametrize("batch", [1, 6])
def test_a_lost_trial_is_asked_for_again(blocks: Any, batch: int, tmp_path: Path) -> None:
    alone = begun(blocks=blocks, epsilon=0.1)
    alone.run(score, progress=False)
    study = begun(blocks=blocks, epsilon=0.1, storage=tmp_path / "a.db")
    lost, said = study.ask(), ""
    while not study.done:
        for trial in study.ask(batch):
            if study.trials[trial.number].state == "pending":
                study.tell(trial, score(trial))
        said += study_words(shortlist.Study.load(tmp_path / "a.db"))
    assert study.trials[lost.number].state == "told"
    assert study.evaluations <= alone.evaluations + 8 * batch + batch
    assert f"trial {lost.number} ({lost.name!r} on block {lost.block!r})" in said
    assert study.shortlist.names == alone.shortlist.names


def test_trials_of_many_workers_are_asked_for_once() -> None:
    study = begun(blocks="random", epsilon=0.05)
    under_way: list[shortlist.Trial] = []
    while not study.done:
        under_way += [study.ask() for _ in range(9 - len(under_way))]
        trial = under_way.pop(study.evaluations % 9)
        study.tell(trial, score(trial))  # raises where it was told before


def test_the_last_cells_of_a_pool_are_asked_for_again_where_they_are_lost() -> None:
    study = begun(blocks=2)
    for number in range(10):
        trial = study.ask()
        if number != 7:
            study.tell(trial, 1.0)
    assert study.ask().number == 7


def told_at_once(study: shortlist.Study) -> None:
    study.tell_unasked([(a, TABLE[a, k], None, f"q{k}") for a in range(5) for k in range(30)])


def told_after_the_stop(study: shortlist.Study) -> None:
    study.run(score, progress=False)
    assert study.evaluations < TABLE.size
    for arm in range(5):
        for block in range(30):
            study.tell(arm=arm, block=f"q{block}", value=TABLE[arm, block], if_told="same")


def reopened(study: shortlist.Study) -> None:
    for _ in range(TABLE.size):
        if study.done:
            study.reopen()
        trial = study.ask()
        study.tell(trial, score(trial))


@pytest.mark.parametrize("fill", [told_at_once, told_after_the_stop, reopened])
def test_an_answer_is_exact_where_every_cell_is_known(fill: Any) -> None:
    study = begun(m=2, epsilon=0.05, delta=0.4)
    fill(study)
    for known in (study, study.continued(delta=0.1)):
        table = known.table()
        for column in ("mean", "lower", "upper"):
            assert table[column].to_numpy() == pytest.approx(TABLE.mean(axis=1), abs=1e-12)
        assert list(table["pulls"]) == [30] * 5
        best = np.argsort(-TABLE.mean(axis=1), kind="stable")[:2]
        assert known.shortlist.arms == best.tolist()
        assert str(known.shortlist).splitlines()[3].startswith("Exact: the 2 best of 5")
        with pytest.raises(shortlist.errors.StudyStopped, match=r"read study.shortlist\.$"):
            known.ask()
        with pytest.raises(InvalidInput, match="nothing to ask"):
            known.reopen()


def test_a_pool_without_a_retired_arm_is_complete() -> None:
    study = begun()
    study.retire("a", reason="sold out")
    told_at_once(study)
    assert study.shortlist.names == ["b"]
    assert study.shortlist.guarantee.first_words == "Exact"


@pytest.mark.parametrize("blocks", [NAMES, "random"])
def test_an_arm_is_retired_at_any_time(blocks: Any) -> None:
    study = begun(blocks=blocks)
    study.run(score, max_evaluations=25, progress=False)
    study.retire("e", reason="too dear")
    study.run(score, progress=False)
    assert study.shortlist.names == ["a"]
    assert study.shortlist.guarantee.status == "proven"
    with pytest.raises(InvalidInput, match="not carried over to a study without blocks"):
        study.continued(blocks=None)


def test_results_are_carried_over_to_their_own_blocks_only() -> None:
    study, alone = begun(), shortlist.Study(arms=["a", "b"], m=1, sigma=1.0)
    study.run(score, max_evaluations=25, progress=False)
    alone.tell(arm="a", value=0.5)
    with pytest.raises(InvalidInput, match=r"on block 'q\d+', which this pool does not have"):
        study.continued(blocks=["q1", "q2"])
    with pytest.raises(InvalidInput, match="the results of the other study are on no blocks"):
        begun(blocks="random").carry_over(alone)
    drawn = begun(blocks="random")
    drawn.run(score, max_evaluations=5, progress=False)
    with pytest.raises(InvalidInput, match="a pool takes the results of a pool only"):
        begun().carry_over(drawn)
    with pytest.raises(InvalidInput, match="a pool takes the results of a pool only"):
        begun().carry_over(alone)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([float("nan"), 1], "got nan"),
        ([None, "a"], "got None"),
        ([True, False], "got True .bool."),
        ([["a", "b"], ["c", "d"]], "got .'a', 'b'. .list."),
        (np.array([["a", "b"], ["c", "d"]]), "shape .2, 2.: give one name"),
        ([1.5, 2.5], "got 1.5 .float."),
        ({"a", "b"}, "a list of their names"),
        (np.array(3.0), "a whole number"),
    ],
)
def test_names_of_blocks_are_texts_or_whole_numbers(names: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        begun(blocks=names)


def test_a_number_of_blocks_may_come_as_an_array() -> None:
    assert begun(blocks=np.array(3)).problem.blocks.number == 3
    assert begun(blocks=np.array([4, 7])).problem.blocks.label(1) == "7"


def test_pools_with_the_same_names_in_another_order_are_told_apart(tmp_path: Path) -> None:
    begun(storage=tmp_path / "a.db")
    with pytest.raises(
        shortlist.errors.StudyMismatch, match="the same with 'q29' in place of 'q0'"
    ):
        begun(storage=tmp_path / "a.db", blocks=NAMES[::-1])


@pytest.mark.parametrize("setting", [{"trust": "guide"}, {"budget": 50}])
@pytest.mark.parametrize("blocks", [NAMES, "random"])
def test_a_guide_and_a_budget_go_with_blocks(blocks: Any, setting: dict[str, Any]) -> None:
    features = np.column_stack([np.ones(5), np.arange(5.0)])
    study = begun(features=features, blocks=blocks, **setting)
    study.run(score, progress=False)
    assert study.shortlist.names == ["a"]


def test_commands_speak_of_pools_and_of_their_options(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    text = 'm = 1\nsigma = "bounded"\nreward_range = [0, 1]\nblocks = "blocks.txt"\narms = ["a", "b"]\n'
    Path("pool.toml").write_text(text)
    Path("blocks.txt").write_text("block\nq1\nq2\n")
    fails(run("new", "pool.toml"), 2, "'block', which is a heading and no name")
    Path("blocks.txt").write_text("q1\nq2\n")
    does("new", "pool.toml")
    assert "the pool has room for 4 trials only" in does("ask", "pool.toml", "-n", 9).stderr
    fails(run("tell", "pool.toml", "--arm", "a", "--value", 1), 2, "give --block NAME")
    fails(run("ask", "pool.toml"), 4, "`shortlist cancel pool.toml 0`")
