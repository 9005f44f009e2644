"""A search that stops when the m best candidates are certain."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from shortlist import errors

pytest.importorskip("sklearn")
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from shortlist.sklearn import ShortlistSearchCV

X, Y = make_classification(200, 8, n_informative=4, random_state=0)
DEPTHS = {"max_depth": [1, 2, 4, 8], "min_samples_leaf": [1, 60]}


@parametrize_with_checks(
    [
        ShortlistSearchCV(
            LogisticRegression(), {"C": [1e-6, 1.0]}, cv=KFold(2, shuffle=True, random_state=0)
        ),
        ShortlistSearchCV(
            Ridge(), {"alpha": [1e6, 1.0]}, cv=KFold(2, shuffle=True, random_state=0)
        ),
    ]
)
@pytest.mark.filterwarnings("default")  # of scikit-learn, about the odd data it gives
def test_it_is_an_estimator(estimator, check):
    check(estimator)


def test_the_list_is_that_of_a_full_search():
    cv = RepeatedStratifiedKFold(n_splits=4, n_repeats=10, random_state=0)
    tree = DecisionTreeClassifier(random_state=0)
    search = ShortlistSearchCV(tree, DEPTHS, m=3, cv=cv, random_state=0).fit(X, Y)
    full = GridSearchCV(tree, DEPTHS, cv=cv).fit(X, Y).cv_results_
    third = np.sort(full["mean_test_score"])[-3]
    listed = [full["mean_test_score"][full["params"].index(p)] for p in search.listed_params_]
    assert min(listed) >= third
    assert search.n_full_search_ == 8 * 40
    assert search.n_evaluations_ == len(search.results_) < search.n_full_search_
    assert search.cv_results_["n_splits"].sum() == search.n_evaluations_
    assert search.cv_results_["in_shortlist"].sum() == 3
    assert not search.results_.duplicated(["candidate", "split"]).any()
    assert search.score(X, Y) > 0.8
    assert pickle.loads(pickle.dumps(search)).shortlist_.names == search.shortlist_.names


def test_scores_outside_the_range_count_as_its_ends():
    x, y = make_regression(60, 3, noise=1.0, random_state=0)
    folds = ShuffleSplit(6, random_state=0)
    candidates = [{"alpha": 1e9}, {"alpha": 1e-3}]
    search = ShortlistSearchCV(Ridge(), candidates, cv=folds, random_state=0).fit(x, y)
    assert search.best_params_ == {"alpha": 1e-3}
    assert search.results_["score"].min() == 0.0


def test_candidates_that_fail():
    candidates = [{"n_neighbors": 5}, {"n_neighbors": 1000}]
    given = {"cv": 3, "random_state": 0}
    search = ShortlistSearchCV(KNeighborsClassifier(), candidates, error_score=0.0, **given)
    with pytest.warns(Warning, match="failed"):
        search.fit(X, Y)
    assert search.best_params_ == {"n_neighbors": 5}
    with pytest.raises(ValueError, match="n_neighbors"):
        ShortlistSearchCV(KNeighborsClassifier(), candidates, **given).fit(X, Y)


def test_bad_settings():
    with pytest.raises(errors.InvalidSetting, match="2 best of 2 candidates"):
        ShortlistSearchCV(Ridge(), {"alpha": [1, 2]}, m=2).fit(X, Y)
    unfitted = ShortlistSearchCV(Ridge(), {"alpha": [1, 2]}, refit=False)
    assert not hasattr(unfitted, "predict")
    with pytest.raises(NotFittedError):
        ShortlistSearchCV(Ridge(), {"alpha": [1, 2]}).predict(X)
    assert not hasattr(unfitted, "predict_proba")
    assert not hasattr(unfitted, "n_features_in_")
