"""The Characteristic Direction, against its formula."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from shortlist.errors import InvalidExpression, InvalidSetting
from shortlist.repurposing.expression.signatures import binary_direction, characteristic_direction

NAN = float("nan")

genes = st.lists(st.sampled_from([f"G{i}" for i in range(12)]), min_size=1, unique=True)


def plain_direction(a: np.ndarray, b: np.ndarray, gamma: float, standardize: bool) -> np.ndarray:
    """Genes × samples twice; the covariance between genes and its pseudo-inverse, written out."""
    both = np.hstack([a, b])
    if standardize:
        both = np.column_stack([(s - s.mean()) / s.std() for s in both.T])
    a, b = both[:, : a.shape[1]], both[:, a.shape[1] :]
    covariance = np.cov(both)
    rank = np.linalg.matrix_rank(covariance, hermitian=True)
    onto = covariance @ np.linalg.pinv(covariance, hermitian=True, rcond=1e-10)
    shrunk = gamma * covariance + (1 - gamma) * np.trace(covariance) / rank * onto
    inverse = np.linalg.pinv(shrunk, hermitian=True, rcond=1e-10)
    direction = inverse @ (a.mean(axis=1) - b.mean(axis=1))
    return direction / np.linalg.norm(direction)


def groups(seed: int, size: int = 30, n: int = 4) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    index = [f"G{i}" for i in range(size)]
    base = rng.normal(8, 2, size=(size, 1))
    make = lambda shift, name: pd.DataFrame(  # noqa: E731
        base + shift + rng.normal(0, 0.5, size=(size, n)), index, [f"{name}{j}" for j in range(n)]
    )
    return make(rng.normal(0, 1, size=(size, 1)), "a"), make(0.0, "b")


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("gamma", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("shape", [(30, 4), (30, 2), (5, 6)])
def test_direction_is_the_formula(shape: tuple[int, int], gamma: float, standardize: bool) -> None:
    for seed in range(3):
        a, b = groups(seed, *shape)
        ours = characteristic_direction(a, b, gamma=gamma, standardize=standardize)
        plain = plain_direction(a.to_numpy(), b.to_numpy(), gamma, standardize)
        np.testing.assert_allclose(ours, plain, atol=1e-8)


def test_direction_has_its_symmetries() -> None:
    a, b = groups(0)
    direction = characteristic_direction(a, b)
    assert np.linalg.norm(direction) == pytest.approx(1.0)
    pd.testing.assert_series_equal(characteristic_direction(b, a), -direction)
    order = a.sample(frac=1.0, random_state=1).index
    pd.testing.assert_series_equal(characteristic_direction(a.loc[order], b), direction[order])
    # A gene that one group lacks plays no part.
    more = pd.concat([a, pd.DataFrame([[1.0, 2, 3, 4]], ["EXTRA"], a.columns)])
    pd.testing.assert_series_equal(characteristic_direction(more, b), direction)
    means = a.mean(axis=1) - b.mean(axis=1)
    without = characteristic_direction(a, b, gamma=0.0, standardize=False)
    np.testing.assert_allclose(without, means / np.linalg.norm(means))


def test_direction_finds_what_was_changed() -> None:
    _, b = groups(3, size=200, n=8)
    a = b + np.random.default_rng(1).normal(0, 0.1, size=b.shape)
    a.loc["G7"] += 5.0
    a.loc["G9"] -= 5.0
    direction = characteristic_direction(a, b)
    assert direction.nlargest(1).index[0] == "G7"
    assert direction.nsmallest(1).index[0] == "G9"
    two = binary_direction(direction, keep=2 / 200)
    assert two.dropna().to_dict() == {"G7": 1.0, "G9": 0.0}


def test_binary_direction() -> None:
    direction = pd.Series({"a": 0.5, "b": -0.5, "c": 0.0, "d": 0.1, "e": NAN})
    whole = binary_direction(direction).to_dict()
    assert np.isnan(whole.pop("c"))  # it goes neither up nor down
    assert np.isnan(whole.pop("e"))
    assert whole == {"a": 1.0, "b": 0.0, "d": 1.0}
    assert binary_direction(direction, keep=0.25).dropna().to_dict() == {
        "a": 1.0,
        "b": 0.0,
    }  # a tie
    for keep in (0.0, 1.5, NAN):
        with pytest.raises(InvalidSetting, match="keep"):
            binary_direction(direction, keep=keep)
    with pytest.raises(InvalidExpression, match="no gene with a value"):
        binary_direction(direction[["e"]])


def test_groups_that_have_no_direction() -> None:
    a, b = groups(0)
    with pytest.raises(InvalidExpression, match="share no gene"):
        characteristic_direction(a.rename(index=str.lower), b)
    with pytest.raises(InvalidExpression, match="the sample 'b2' is 7 for every gene"):
        characteristic_direction(a, b.assign(b2=7.0))
    with pytest.raises(InvalidExpression, match="same means"):
        characteristic_direction(a, a.copy())
    constant = pd.DataFrame(1.0, a.index, ["c1", "c2"])
    with pytest.raises(InvalidExpression, match="same means"):
        characteristic_direction(constant, constant, standardize=False)
    with pytest.raises(InvalidExpression, match="only the gene 'G0'"):
        characteristic_direction(a[:1], b)
    with pytest.raises(
        InvalidExpression, match="changed samples: gene 'G1' has nan in sample 'a0'"
    ):
        characteristic_direction(a.assign(a0=a["a0"].drop("G1")), b)
    with pytest.raises(InvalidExpression, match="reference samples: 30 genes × 0 samples"):
        characteristic_direction(a, b[[]])
    for gamma in (-0.1, 1.1, NAN):
        with pytest.raises(InvalidSetting, match="gamma"):
            characteristic_direction(a, b, gamma=gamma)
