"""The drug screen: a pull simulates one patient under one drug and scores what comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlist.core.random import run_seed
from shortlist.errors import InvalidExpression, InvalidSetting
from shortlist.problem import checked_seed
from shortlist.repurposing.baseline import cds2_score
from shortlist.repurposing.binarization import binarize_via_histogram
from shortlist.repurposing.direction import binary_direction, characteristic_direction
from shortlist.repurposing.dynamics import Dynamics, Walks
from shortlist.repurposing.expression import restrict
from shortlist.repurposing.intake import (
    aligned_networks,
    checked_features,
    checked_labels,
    checked_signatures,
    drug_index,
    fingerprint,
)
from shortlist.repurposing.network import BooleanNetwork
from shortlist.repurposing.phenotype import Semantics
from shortlist.repurposing.rewards import RewardCache

if TYPE_CHECKING:
    from shortlist.simulation.instances import Instance
    from shortlist.study.study import Study
    from shortlist.study.trial import Trial

SIGMA = 0.5  # half the range of a score in [0, 1]: such noise is ½-sub-Gaussian (Hoeffding)
PATIENT, NETWORK, WALK = range(3)  # what is drawn from a pull's seed
Cases = tuple[NDArray[np.int8], NDArray[np.int8]]


class DrugScreen:
    """An environment: the arms are drugs, and a pull is a simulated treatment (Algorithm 2).

    A pull draws a patient (and a network, if there are several), sets the patient's genes as the
    drug's signature says, lets the network walk to a fixed point, and returns the cosine of that
    state and the differential phenotype D, on the genes that D has. D is 1 for genes that are
    higher in controls than in patients. The score lies in [0, 1]; more is better.

    Parameters
    ----------
    network : BooleanNetwork or sequence of them
        With several, each pull draws one: its reward then reflects that the network is uncertain.
    patients, controls : DataFrame
        Expression, genes × samples, over all genes measured; no value missing.
    signatures : DataFrame
        Genes × drugs: 0 (down), 1 (up) or NaN.
    features : DataFrame, optional
        Features × drugs, for the linear model; by default the signatures on the network's genes,
        with 0.5 for NaN.
    full_signatures : DataFrame, optional
        Genes × drugs, real-valued, for the baseline; by default the signatures as −1 and 1.
    labels : Series or mapping, optional
        Drug → 1 (known to work), −1 (known not to), 0 or missing (unknown). Rewards do not depend
        on them.
    semantics : Semantics, optional
        What a prediction means.
    keep : float
        The share of the disease's genes, the strongest, that the baseline looks at; the paper's
        file has a quarter.
    seed : int
        Of ``study``, ``simulate`` and what is made of it.
    cache : path, optional
        A file to keep rewards in, with their seeds; see ``RewardCache``.

    Attributes
    ----------
    drugs : tuple of str
        The arms, in order.
    differential : Series
        D: gene of the network → 0, 1 or NaN.
    initial : DataFrame
        The binarised patients, genes of the network × patients.
    disease : Series
        CD([patients || controls]), all genes, real-valued.

    Examples
    --------
    >>> from shortlist.repurposing import synthetic
    >>> screen = synthetic(seed=1).screen()
    >>> round(screen.reward("reverser 1", seed=3), 3), round(screen.reward("decoy 1", seed=3), 3)
    (0.921, 0.429)
    """

    def __init__(
        self,
        network: BooleanNetwork | Sequence[BooleanNetwork],
        patients: pd.DataFrame,
        controls: pd.DataFrame,
        signatures: pd.DataFrame,
        *,
        features: pd.DataFrame | None = None,
        full_signatures: pd.DataFrame | None = None,
        labels: pd.Series[float] | Mapping[str, float] | None = None,
        semantics: Semantics | None = None,
        keep: float = 0.25,
        seed: int = 0,
        cache: str | PathLike[str] | None = None,
    ) -> None:
        self.networks = aligned_networks(network)
        genes = self.networks[0].genes
        self.semantics = semantics or Semantics()
        self.seed = checked_seed(seed)
        self.keep = keep
        self.signatures = checked_signatures(signatures, genes)
        self.drugs = tuple(self.signatures.columns)
        self.disease = characteristic_direction(patients, controls)
        self.differential = restrict(
            binary_direction(-self.disease), genes, "the differential phenotype"
        )
        if not self.differential.any():  # NaN is skipped
            raise InvalidExpression(
                "the differential phenotype is 0 on all genes of the network: none is higher in "
                "controls than in patients, and every score would be 0."
            )
        self.initial = pd.DataFrame(
            {
                name: restrict(binarize_via_histogram(profile), genes, f"the patient {name!r}")
                for name, profile in patients.items()
            }
        )
        self.features = checked_features(features, self.signatures)
        self.labels = checked_labels(labels, self.drugs)
        self.full_signatures = full_signatures
        self._dynamics = [Dynamics(each, None, self.semantics.update) for each in self.networks]
        self._places = np.flatnonzero(self.differential.notna())
        self._wanted = self.differential.to_numpy()[self._places]
        self._cases: dict[int, Cases] = {}
        self._cache = None if cache is None else RewardCache(cache, self.fingerprint)

    def __repr__(self) -> str:
        return (
            f"DrugScreen({len(self.drugs)} drugs, {self.initial.shape[1]} patients, "
            f"{len(self.networks)} networks of {len(self.initial)} genes)"
        )

    @cached_property
    def fingerprint(self) -> str:
        """Of all that a reward depends on, but its drug and its seed."""
        return fingerprint(
            self.networks, self.differential, self.initial, self.signatures, self.semantics
        )

    # One pull

    def reward(self, drug: str | int, seed: int) -> float:
        """The score of one simulated treatment; the same for the same drug and seed.

        Parameters
        ----------
        drug : str or int
            Its name, or its place in ``drugs``.
        seed : int
            Draws the patient, the network and the walk.
        """
        index = drug_index(drug, self.drugs)
        seed = checked_seed(seed)
        known = None if self._cache is None else self._cache.get(self.drugs[index], seed)
        if known is not None:
            return known
        states, clamps = self._case(index)
        patient = _drawn(seed, PATIENT) % len(states)
        dynamics = self._dynamics[_drawn(seed, NETWORK) % len(self._dynamics)]
        walks = dynamics.simulate(
            states[[patient]],
            clamps=clamps[[patient]],
            seed=_drawn(seed, WALK),
            max_steps=self.semantics.max_steps,
            workers=1,
        )
        reward = float(self._scores(walks, index)[0, 0])
        if self._cache is not None:
            self._cache.put(self.drugs[index], seed, reward)
        return reward

    def objective(self, trial: Trial) -> float:
        """The reward that a trial of ``study`` asks for: what ``Study.run`` takes."""
        return self.reward(trial.arm, trial.seed)

    # All drugs on all patients

    def simulate(self, repeats: int = 10, workers: int | None = None) -> NDArray[np.float64]:
        """Rewards of every drug on every patient: drugs × patients × walks.

        Parameters
        ----------
        repeats : int
            Walks of each drug, patient and network.
        workers : int, optional
            Threads; by default one a core. The rewards do not depend on it.
        """
        rewards = []
        for index in range(len(self.drugs)):
            states, clamps = self._case(index)
            each = [
                self._scores(
                    dynamics.simulate(
                        states,
                        clamps=clamps,
                        repeats=repeats,
                        seed=_drawn(_drawn(self.seed, index), network),
                        max_steps=self.semantics.max_steps,
                        workers=workers,
                    ),
                    index,
                )
                for network, dynamics in enumerate(self._dynamics)
            ]
            rewards.append(np.concatenate(each, axis=1))
        return np.stack(rewards)

    def rewards(self, repeats: int = 10) -> pd.DataFrame:
        """Mean rewards, drugs × patients, over ``repeats`` walks of each network.

        Examples
        --------
        >>> from shortlist.repurposing import synthetic
        >>> means = synthetic(seed=1).screen().rewards().mean(axis=1)
        >>> means.round(2)[["reverser 1", "partial 1", "decoy 1"]].to_dict()
        {'reverser 1': 0.93, 'partial 1': 0.55, 'decoy 1': 0.41}
        """
        means = self.simulate(repeats).mean(axis=2)
        return pd.DataFrame(means, index=list(self.drugs), columns=self.initial.columns)

    def instance(self, m: int, *, sigma: float = SIGMA, repeats: int = 10) -> Instance:
        """A bandit that answers with simulated rewards, for ``shortlist.compare``.

        Its truth is that of the recorded rewards, ``repeats`` of each drug, patient and network.
        """
        from shortlist.simulation.instances import recorded

        table = self.simulate(repeats).reshape(len(self.drugs), -1).T
        return recorded(self.features.T, table, m=m, sigma=sigma, label="drug screen")

    # The study and the baseline

    def study(
        self,
        m: int,
        *,
        sigma: float = SIGMA,
        classical: bool = False,
        algorithm: str | None = None,
        **settings: Any,
    ) -> Study:
        """A study of these drugs with this screen's seed: ``study.run(screen.objective)``.

        Parameters
        ----------
        m : int
            How many drugs to find.
        sigma : float
            The noise. Rewards lie in [0, 1], so 0.5 is proven whatever their distribution; less
            needs a reason.
        classical : bool
            Whether to leave the features out: nothing is then assumed of the means.
        algorithm : str, optional
            By default m-LinGapE, and LUCB without features.
        **settings
            Of ``Study``: ``delta``, ``epsilon``, ``threshold``, ``S``.
        """
        from shortlist.study.study import Study

        arms: dict[str, Any] = {"arms": self.drugs} if classical else {"features": self.features.T}
        chosen = algorithm or ("LUCB" if classical else "m-LinGapE")
        return Study(m=m, sigma=sigma, algorithm=chosen, seed=self.seed, **arms, **settings)

    def baseline(self) -> pd.Series[float]:
        """The score of L1000 CDS² (Algorithm 3): drug → 1 − cosine(signature, disease).

        Both on the network's genes, of the disease the strongest (``keep``). It is NaN for a drug
        that has no full signature, or none of these genes in it.
        """
        strong = self.disease[binary_direction(self.disease, keep=self.keep).notna()]
        disease = restrict(strong, self.signatures.index, "the disease, for the baseline")
        full = self.full_signatures
        if full is None:
            full = 2.0 * self.signatures - 1.0
        scores = {}
        for drug in self.drugs:
            own = full[drug].reindex(disease.index) if drug in full else pd.Series(dtype=float)
            common = own.notna() & disease.notna() if len(own) else own
            scores[drug] = cds2_score(own, disease) if common.any() else np.nan
        return pd.Series(scores, name="baseline")

    # Inside

    def _case(self, index: int) -> Cases:
        """Initial states and clamps of all patients under one drug, patients × genes."""
        if index not in self._cases:
            signature = self.signatures.iloc[:, index].to_numpy()
            starts = [
                self.semantics.start(self.networks[0], self.initial[patient].to_numpy(), signature)
                for patient in self.initial
            ]
            self._cases[index] = (
                np.stack([state for state, _ in starts]),
                np.stack([clamp for _, clamp in starts]),
            )
        return self._cases[index]

    def _scores(self, walks: Walks, index: int) -> NDArray[np.float64]:
        """The cosine of D and each last state, cases × repeats; 0 where no gene of D's is on."""
        if self.semantics.unsettled == "error" and not walks.reached.all():
            raise InvalidSetting(
                f"a walk under {self.drugs[index]!r} met no fixed point in "
                f"{self.semantics.max_steps} steps, so it has no score: look at attractors(network), "
                "raise max_steps, or take the last state with Semantics(unsettled='last')."
            )
        last = walks.states[..., self._places].astype(np.float64)
        norm = np.sqrt(self._wanted.sum() * np.maximum(last.sum(axis=2), 1.0))
        return np.asarray(last @ self._wanted / norm)


def _drawn(seed: int, purpose: int) -> int:
    with np.errstate(over="ignore"):
        return int(run_seed(np.uint64(seed), purpose))
