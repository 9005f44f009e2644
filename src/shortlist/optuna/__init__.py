"""Which of the best trials of an Optuna study are really the best: they are evaluated again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optuna
from optuna.trial import FixedTrial, FrozenTrial, TrialState

from shortlist.errors import InvalidInput, InvalidSetting
from shortlist.problem import whole_number
from shortlist.study.answer import Shortlist
from shortlist.study.study import Study


def retest(
    study: optuna.Study,
    objective: Callable[[Any], float],
    m: int = 3,
    *,
    candidates: int = 20,
    sigma: Any = "estimate",
    max_evaluations: int | None = None,
    progress: bool = True,
    **settings: Any,
) -> Shortlist:
    """The m best of the best trials of a study, by new evaluations, with a guaranteed confidence.

    A search keeps what looked best, and some of that was luck. So the values that the search saw only
    choose the candidates: each is evaluated anew, as often as is needed.

    Parameters
    ----------
    study : optuna.Study
        A study with one objective. Nothing is changed in it.
    objective : callable
        As given to ``study.optimize``. It is called with an ``optuna.trial.FixedTrial``, whose
        ``user_attrs`` have a "seed" for a stochastic objective, and the "block" if there are blocks.
    m : int
        How many to find.
    candidates : int
        How many of the finished trials to evaluate again: those with the best values, equal
        parameters once.
    sigma
        The noise of an evaluation, as for ``Study``; by default it is estimated, which assumes that it is
        normal and the same for all candidates. If it may differ: ``"estimate per arm"``, which takes
        more evaluations. For accuracies: ``"bounded"`` with ``reward_range=(0, 1)``.
    max_evaluations : int, optional
        The largest number of new evaluations.
    progress : bool
        Whether to show a line while it runs.
    **settings
        Other arguments of ``Study``: ``epsilon``, the difference that you do not care about;
        ``delta``, ``reward_range``, ``blocks``, ``seed``, ``storage``.

    Returns
    -------
    Shortlist
        Its ``names`` are the numbers of Optuna's trials.

    Examples
    --------
    >>> import numpy as np
    >>> noise = np.random.default_rng(0)
    >>> def objective(trial):
    ...     x = trial.suggest_float("x", -1.0, 1.0)
    ...     return x**2 + 0.1 * noise.standard_normal()
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> search = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    >>> search.optimize(objective, n_trials=30)
    >>> best = retest(search, objective, m=3, candidates=10, epsilon=0.1, seed=0, progress=False)
    >>> all(abs(search.trials[number].params["x"]) < 0.5 for number in best.names)
    True
    """
    chosen = best_trials(study, whole_number("candidates", candidates, 2))
    if len(chosen) <= m:
        finished = len(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))
        raise InvalidSetting(
            f"the {m} best of {len(chosen)} candidates were asked for, of candidates={candidates} and "
            f"{finished:,} finished trials: ask for fewer, or give more candidates than m, each with "
            "parameters of its own."
        )
    retested = Study(
        arms=[trial.number for trial in chosen],
        m=m,
        sigma=sigma,
        direction="minimize" if _minimizes(study) else "maximize",
        **settings,
    )

    def evaluate(trial: Any) -> float:
        again = FixedTrial(chosen[trial.arm].params, number=chosen[trial.arm].number)
        again.set_user_attr("seed", trial.seed)
        again.set_user_attr("block", trial.block)
        return objective(again)

    return retested.run(evaluate, max_evaluations=max_evaluations, progress=progress)


def best_trials(study: optuna.Study, count: int) -> list[FrozenTrial]:
    """The finished trials of best value, the best first; of equal parameters only the first.

    Examples
    --------
    >>> search = optuna.create_study()
    >>> for x in (0.3, 0.1, 0.1, 0.2):
    ...     search.enqueue_trial({"x": x})
    >>> search.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=4)
    >>> [trial.number for trial in best_trials(search, 2)]
    [1, 3]
    """
    sign = 1.0 if _minimizes(study) else -1.0
    finished = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    chosen: list[FrozenTrial] = []
    for trial in sorted(finished, key=lambda trial: sign * float(trial.values[0])):
        if len(chosen) < count and all(trial.params != other.params for other in chosen):
            chosen.append(trial)
    return chosen


def _minimizes(study: optuna.Study) -> bool:
    """Whether small values are sought; raises if there are several objectives."""
    if len(study.directions) != 1:
        raise InvalidInput(
            f"the study has {len(study.directions)} objectives, and the best few are found for one: "
            "retest a study with one objective."
        )
    return study.direction == optuna.study.StudyDirection.MINIMIZE
