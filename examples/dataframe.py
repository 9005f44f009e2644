"""The 3 best of 30 configurations in a DataFrame, as in a notebook: the index is that of the table.

Accuracies near 0.8 need no centring: a level that all share is part of the model. Run it with
``python examples/dataframe.py``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import shortlist

M, NOISE, EPSILON = 3, 0.03, 0.01


def main() -> None:
    """Find the best configurations, and show their rows."""
    rng = np.random.default_rng(4)
    runs = pd.DataFrame(
        {
            "depth": rng.integers(2, 9, 30),
            "log_rate": rng.uniform(-4, -1, 30).round(2),
            "dropout": rng.choice([0.0, 0.1, 0.2, 0.4], 30),
        },
        index=rng.permutation(np.arange(100, 130)),  # the numbers of the runs
    )
    truth = 0.8 + 0.01 * runs["depth"] - 0.02 * runs["log_rate"] - 0.1 * runs["dropout"]

    def train(trial: shortlist.Trial) -> float:
        """Train once, and return the accuracy: ``trial.features`` is the row, by its columns."""
        known = trial.features
        accuracy = 0.8 + 0.01 * known["depth"] - 0.02 * known["log_rate"] - 0.1 * known["dropout"]
        return accuracy + NOISE * rng.normal()

    expected = shortlist.forecast(runs, M, sigma=NOISE, epsilon=EPSILON, spread=0.03)
    print(f"Forecast: {expected}")

    study = shortlist.Study(runs, M, sigma=NOISE, epsilon=EPSILON, seed=0)
    print(study.run(train, progress=False))
    print(runs.loc[study.shortlist.names])  # the labels are those of the table

    worst, third = truth.loc[study.shortlist.names].min(), truth.nlargest(M).iloc[-1]
    print("right" if worst >= third - EPSILON else "wrong")


if __name__ == "__main__":
    main()
