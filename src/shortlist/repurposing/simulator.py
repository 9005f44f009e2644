"""The "GRN simulator" of the paper (Algorithm 2): a treated patient's state, and its score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlist.errors import InvalidSetting
from shortlist.numerics.random import run_seed
from shortlist.repurposing.dynamics import Dynamics, Walks
from shortlist.repurposing.network import BooleanNetwork
from shortlist.repurposing.phenotype import Semantics

PATIENT, NETWORK, WALK = range(3)  # what is drawn from a pull's seed
Cases = tuple[NDArray[np.int8], NDArray[np.int8]]


class Simulator:
    """Patients under drugs in one network or several, scored against a differential phenotype.

    Parameters
    ----------
    networks : sequence of BooleanNetwork
        Over the same genes in the same order.
    initial, signatures : DataFrame
        Genes of the network × patients, × drugs: 0, 1 or NaN.
    differential : Series
        D: gene of the network → 0, 1 or NaN.
    semantics : Semantics
        What a prediction means.
    """

    def __init__(
        self,
        networks: Sequence[BooleanNetwork],
        initial: pd.DataFrame,
        signatures: pd.DataFrame,
        differential: pd.Series[float],
        semantics: Semantics,
    ) -> None:
        self.initial, self.signatures, self.semantics = initial, signatures, semantics
        self._network = networks[0]
        self._dynamics = [Dynamics(network, None, semantics.update) for network in networks]
        self._places = np.flatnonzero(differential.notna())
        self._wanted = differential.to_numpy()[self._places]
        self._cases: dict[int, Cases] = {}

    def reward(self, drug: int, seed: int) -> float:
        """One walk of one patient in one network, both drawn by the seed."""
        states, clamps = self._case(drug)
        patient = drawn(seed, PATIENT) % len(states)
        dynamics = self._dynamics[drawn(seed, NETWORK) % len(self._dynamics)]
        walks = dynamics.simulate(
            states[[patient]],
            clamps=clamps[[patient]],
            seed=drawn(seed, WALK),
            max_steps=self.semantics.max_steps,
            workers=1,
        )
        return float(self._scores(walks, drug)[0, 0])

    def rewards(
        self, drug: int, repeats: int, seed: int, workers: int | None
    ) -> NDArray[np.float64]:
        """Many walks of every patient in every network, patients × walks."""
        states, clamps = self._case(drug)
        each = [
            dynamics.simulate(
                states,
                clamps=clamps,
                repeats=repeats,
                seed=drawn(seed, number),
                max_steps=self.semantics.max_steps,
                workers=workers,
            )
            for number, dynamics in enumerate(self._dynamics)
        ]
        return np.concatenate([self._scores(walks, drug) for walks in each], axis=1)

    def _case(self, drug: int) -> Cases:
        """Initial states and clamps of all patients under one drug, patients × genes."""
        if drug not in self._cases:
            signature = self.signatures.iloc[:, drug].to_numpy()
            starts = [
                self.semantics.start(self._network, self.initial[patient].to_numpy(), signature)
                for patient in self.initial
            ]
            self._cases[drug] = (
                np.stack([state for state, _ in starts]),
                np.stack([clamp for _, clamp in starts]),
            )
        return self._cases[drug]

    def _scores(self, walks: Walks, drug: int) -> NDArray[np.float64]:
        """The cosine of D and each last state, cases × repeats; 0 where no gene of D's is on."""
        if self.semantics.unsettled == "error" and not walks.reached.all():
            raise InvalidSetting(
                f"a walk under {self.signatures.columns[drug]!r} met no fixed point in "
                f"{self.semantics.max_steps} steps, so it has no score: look at attractors(network), "
                "raise max_steps, or take the last state with Semantics(unsettled='last')."
            )
        last = walks.states[..., self._places].astype(np.float64)
        norm = np.sqrt(self._wanted.sum() * np.maximum(last.sum(axis=2), 1.0))
        return np.asarray(last @ self._wanted / norm)


def drawn(seed: int, purpose: int) -> int:
    """A seed for one purpose, made from another seed."""
    with np.errstate(over="ignore"):
        return int(run_seed(np.uint64(seed), purpose))
