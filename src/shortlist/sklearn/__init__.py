"""Search among candidates for a scikit-learn estimator, until the m best are certain.

A grid search scores every candidate on every split. Here the splits are a pool of blocks: candidates in
doubt are scored on the same splits, and the others are not scored any further.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, Literal, Self

import pandas as pd
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import check_scoring
from sklearn.model_selection import (
    ParameterGrid,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    check_cv,
    cross_val_score,
)
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from shortlist.errors import InvalidSetting
from shortlist.noise.bounded import Bounded
from shortlist.problem import drawn_seed
from shortlist.study.study import Study


def _of_best(method: str) -> Any:
    """A method of the refitted estimator, which is there if the estimator has it."""

    def check(search: ShortlistSearchCV) -> bool:
        getattr(getattr(search, "best_estimator_", search.estimator), method)  # its own error
        return True

    def call(search: ShortlistSearchCV, X: Any) -> Any:
        return getattr(search._fitted, method)(X)

    call.__doc__ = f"What ``{method}`` of the best estimator returns."
    return available_if(check)(call)


FOLDS, REPEATS = 5, 20  # of the splits, where no splitter is given


class ShortlistSearchCV(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
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
    ...     KNeighborsClassifier(),
    ...     {"n_neighbors": [5, 75, 90], "weights": ["uniform"]},
    ...     epsilon=0.01,
    ...     random_state=0,
    ... )
    >>> search.fit(*load_iris(return_X_y=True)).best_params_
    {'n_neighbors': 5, 'weights': 'uniform'}
    >>> search.n_full_search_, search.n_evaluations_ < 150
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
        self.estimator = estimator
        self.candidates = candidates
        self.m = m
        self.cv = cv
        self.scoring = scoring
        self.score_range = score_range
        self.delta = delta
        self.epsilon = epsilon
        self.refit = refit
        self.n_jobs = n_jobs
        self.error_score = error_score
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, **params: Any) -> Self:
        """Score candidates on common splits until the m best are certain, and fit the best of them.

        ``params`` are passed to the estimator's ``fit``; ``groups`` to the splitter.
        """
        candidates = self._listed()
        if y is None and get_tags(self.estimator).target_tags.required:
            raise ValueError(
                f"{type(self.estimator).__name__} requires y to be passed, but the target y is None."
            )
        scorer = check_scoring(self.estimator, scoring=self.scoring)
        seed = drawn_seed() if self.random_state is None else int(self.random_state)
        splits = list(self._splitter(y, seed).split(X, y, groups))
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

        def score(trial: Any) -> float:
            chosen = clone(self.estimator).set_params(**clone(candidates[trial.arm], safe=False))
            [found] = cross_val_score(
                chosen,
                X,
                y,
                scoring=scorer,
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
        self.shortlist_, self.scorer_ = study.shortlist, scorer
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
        listed = [study.problem.index(name) for name in study.shortlist.names]
        self.listed_params_ = [candidates[arm] for arm in listed]
        self.best_index_ = max(listed, key=lambda arm: float(table["mean"].iloc[arm]))
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(table["mean"].iloc[self.best_index_])
        if self.refit:
            chosen = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
            given = (X,) if y is None else (X, y)
            self.best_estimator_ = chosen.fit(*given, **params)
        return self

    def _listed(self) -> list[dict[str, Any]]:
        """The candidates as a list, of two at least."""
        given = self.candidates
        listed = list(map(dict, ParameterGrid(given) if isinstance(given, Mapping) else given))
        if len(listed) <= self.m:
            raise InvalidSetting(
                f"the {self.m} best of {len(listed)} candidates were asked for: give more candidates "
                "than m."
            )
        return listed

    def _splitter(self, y: Any, seed: int) -> Any:
        """What makes the splits: several repetitions, unless a splitter or the splits were given."""
        if self.cv is not None and not isinstance(self.cv, numbers.Integral):
            return check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        folds = FOLDS if self.cv is None else int(self.cv)
        # scikit-learn's own choice between folds that keep the classes' shares and others.
        plain = check_cv(folds, y, classifier=is_classifier(self.estimator))
        stratifies = isinstance(plain, StratifiedKFold)
        repeated = RepeatedStratifiedKFold if stratifies else RepeatedKFold
        return repeated(n_splits=folds, n_repeats=REPEATS, random_state=seed % 2**32)

    predict = _of_best("predict")
    predict_proba = _of_best("predict_proba")
    predict_log_proba = _of_best("predict_log_proba")
    decision_function = _of_best("decision_function")
    transform = _of_best("transform")

    def score(self, X: Any, y: Any = None) -> float:
        """The score of the best estimator on other data."""
        given = (X,) if y is None else (X, y)
        return float(self.scorer_(self._fitted, *given))

    @property
    def _fitted(self) -> Any:
        """The best estimator; raises if it was not fitted."""
        check_is_fitted(self, "best_estimator_", msg="call fit with refit=True first.")
        return self.best_estimator_

    @property
    def classes_(self) -> Any:
        """The classes, if the estimator is a classifier."""
        return self._fitted.classes_

    @property
    def n_features_in_(self) -> int:
        """The number of features that were seen in ``fit``."""
        try:
            return int(self._fitted.n_features_in_)
        except NotFittedError as error:  # as hasattr expects it
            raise AttributeError(str(error)) from error

    def __sklearn_tags__(self) -> Any:
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = own.estimator_type
        tags.classifier_tags = deepcopy(own.classifier_tags)
        tags.regressor_tags = deepcopy(own.regressor_tags)
        tags.target_tags = deepcopy(own.target_tags)
        tags.input_tags.pairwise = own.input_tags.pairwise
        tags.input_tags.sparse = own.input_tags.sparse
        return tags
