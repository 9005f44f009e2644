"""Search among candidates for a scikit-learn estimator, until the m best are certain.

A grid search scores every candidate on every split. Here the splits are a pool of blocks: candidates in
doubt are scored on the same splits, and the others are not scored any further.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self

import pandas as pd
from joblib import effective_n_jobs
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, ParameterGrid, check_cv, cross_val_score
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed

from shortlist.errors import InvalidSetting
from shortlist.noise.bounded import Bounded
from shortlist.problem import drawn_seed
from shortlist.study.study import Study

FOLDS, REPEATS = 5, 20  # of the splits, where no splitter is given


class ShortlistSearchCV(GridSearchCV):  # type: ignore[misc]
    """Find the m best candidates by cross-validation, with a guaranteed confidence.

    The answer is about the mean score over the splits of ``cv``: the list that a search over all
    candidates and all splits would find, except with probability ``delta``. It takes as many splits
    as are needed to be that certain, and never more than all of them. More splits make the answer
    better, and cost little: by default there are 100, five folds repeated 20 times.

    Parameters
    ----------
    estimator : estimator
        What the candidates are settings of.
    candidates : dict, or iterable of dict
        A grid as for ``GridSearchCV``, or the candidates themselves, each a dictionary of parameters.
    m : int
        How many to find. ``best_estimator_`` is the one of them with the largest mean score.
    cv : int, splitter, iterable of splits, optional
        The splits, which all candidates share. An int is the number of folds, repeated 20 times.
    scoring : str or callable, optional
        One score, larger is better; by default the estimator's own.
    score_range : (low, high)
        Where the scores lie. What is outside is taken for the nearer end: R² below 0 counts as 0.
    delta : float
        The risk of a wrong list.
    epsilon : float
        The difference in mean score that you do not care about.
    refit : bool
        Whether to fit ``best_estimator_`` to all data.
    n_jobs : int, optional
        How many fits at once, as everywhere in scikit-learn.
    error_score : "raise" or float
        The score of a candidate where fitting fails, or that the error is to be raised.
    random_state : int, optional
        For the splits, if ``cv`` is no splitter, and for their order.

    Attributes
    ----------
    shortlist_ : Shortlist
        The answer: ``print(search.shortlist_)``.
    listed_params_ : list of dict
        The m best candidates.
    n_evaluations_, n_full_search_ : int
        The fits that were made, and those that a search over all splits takes.
    results_ : DataFrame
        Every score, in the order in which they were made: candidate, split, score.
    cv_results_ : dict of arrays
        For every candidate: ``params``, ``mean_test_score`` and ``n_splits`` (those it was scored on),
        ``in_shortlist``.
    best_index_, best_params_, best_score_, best_estimator_
        As in ``GridSearchCV``. Which of the listed is the very best is certain only with ``m=1``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> search = ShortlistSearchCV(
    ...     KNeighborsClassifier(), {"n_neighbors": [5, 75, 90]}, epsilon=0.01, random_state=0
    ... )
    >>> search.fit(*load_iris(return_X_y=True)).best_params_
    {'n_neighbors': 5}
    >>> search.n_full_search_, search.n_evaluations_ < 200
    (300, True)
    """

    def __init__(
        self,
        estimator: Any,
        candidates: Mapping[str, Any] | Iterable[Mapping[str, Any]],
        *,
        m: int = 1,
        cv: Any = None,
        scoring: Any = None,
        score_range: tuple[float, float] = (0.0, 1.0),
        delta: float = 0.05,
        epsilon: float = 0.0,
        refit: bool = True,
        n_jobs: int | None = None,
        error_score: float | Literal["raise"] = "raise",
        random_state: int | None = None,
    ) -> None:
        super().__init__(estimator, candidates, scoring=scoring, n_jobs=n_jobs, refit=refit, cv=cv)
        self.error_score = error_score
        self.candidates = candidates
        self.m = m
        self.score_range = score_range
        self.delta = delta
        self.epsilon = epsilon
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, **params: Any) -> Self:
        """Score candidates on common splits until the m best are certain, and fit the best of them.

        ``params`` are passed to the estimator's ``fit``; ``groups`` to the splitter.
        """
        given = self.candidates
        candidates = list(map(dict, ParameterGrid(given) if isinstance(given, Mapping) else given))
        if len(candidates) <= self.m:
            raise InvalidSetting(
                f"the {self.m} best of {len(candidates)} candidates were asked for: give more "
                "candidates than m."
            )
        self.scorer_, self.multimetric_ = check_scoring(self.estimator, scoring=self.scoring), False
        seed = drawn_seed() if self.random_state is None else int(self.random_state)
        splits = self._splits(X, y, groups, seed)
        low, high = self.score_range
        study = Study(
            arms=[f"{k}: {each}" for k, each in enumerate(candidates)],
            m=self.m,
            sigma=Bounded.stated("bounded", (low, high), ()),
            delta=self.delta,
            epsilon=self.epsilon,
            blocks=len(splits),
            seed=seed,
        )

        def settled(arm: int) -> Any:
            return clone(self.estimator).set_params(**clone(candidates[arm], safe=False))

        def score(trial: Any) -> float:
            [found] = cross_val_score(
                settled(trial.arm),
                X,
                y,
                scoring=self.scorer_,
                cv=[splits[trial.block]],
                params=params or None,
                error_score=self.error_score,
            )
            return min(max(float(found), low), high)

        with Parallel(n_jobs=self.n_jobs) as parallel:
            workers = effective_n_jobs(self.n_jobs)
            while not study.done:
                trials = study.ask(workers)
                found = parallel(delayed(score)(trial) for trial in trials)
                study.tell_many(zip(trials, found, strict=True))
        table = study.table()
        self.shortlist_ = study.shortlist
        rows = [(trial.arm, trial.block, trial.value) for trial in study.taken]
        self.results_ = pd.DataFrame(rows, columns=["candidate", "split", "score"])
        self.n_splits_ = len(splits)
        self.n_evaluations_, self.n_full_search_ = study.evaluations, len(candidates) * len(splits)
        self.cv_results_ = {
            "params": candidates,
            "mean_test_score": table["mean"].to_numpy(),
            "n_splits": table["pulls"].to_numpy(),
            "in_shortlist": table["in_shortlist"].to_numpy(),
        }
        self.listed_params_ = [candidates[arm] for arm in study.shortlist.arms]
        self.best_index_ = study.shortlist.arms[0]  # the best estimated mean first
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(table["mean"].iloc[self.best_index_])
        if self.refit:
            self.best_estimator_ = settled(self.best_index_).fit(X, y, **params)
        return self

    def _splits(self, X: Any, y: Any, groups: Any, seed: int) -> list[Any]:
        """The splits: those given, or folds repeated with other shuffles of the data."""
        folds = FOLDS if self.cv is None else self.cv
        cv = check_cv(folds, y, classifier=is_classifier(self.estimator))
        repeated = [cv]
        if isinstance(folds, numbers.Integral):
            seeds = ((seed + k) % 2**32 for k in range(REPEATS))
            repeated = [type(cv)(int(folds), shuffle=True, random_state=each) for each in seeds]
        return [split for each in repeated for split in each.split(X, y, groups)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = get_tags(self.estimator).target_tags.multi_output
        return tags
