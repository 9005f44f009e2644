"""The drug screen: a pull simulates one patient under one drug and scores what comes out.

This is the paper's "GRN simulator" (Algorithm 2).
"""

from __future__ import annotations

import hashlib
import numbers
from collections.abc import Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlist.advice import advise
from shortlist.engine.seeds import run_seeds
from shortlist.errors import (
    InvalidExpression,
    InvalidFeatures,
    InvalidNetwork,
    InvalidSetting,
    unknown_name,
)
from shortlist.problem import checked_seed
from shortlist.repurposing.expression.assay import check_distinct
from shortlist.repurposing.expression.profiles import (
    binarize_via_histogram,
    cds2_score,
    restrict,
    to_numbers,
)
from shortlist.repurposing.expression.signatures import binary_direction, characteristic_direction
from shortlist.repurposing.networks.dynamics import Dynamics
from shortlist.repurposing.networks.network import BooleanNetwork
from shortlist.repurposing.phenotype import Semantics
from shortlist.repurposing.reward_cache import RewardCache

if TYPE_CHECKING:
    from shortlist.simulation.instances import Instance
    from shortlist.study.study import Study
    from shortlist.study.trial import Trial


SIGMA = 0.5  # half the range of a score in [0, 1]: such noise is ½-sub-Gaussian (Hoeffding)
WALKS = "walks 2"  # counted up when the same seed comes to give another walk
TOGETHER = 2**16  # walks simulated at a time: a byte a gene and walk


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
        The seed of ``study`` and ``simulate``.
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
    (0.915, 0.457)
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
        _check_names(patients.columns, "the patients: the sample")
        self.networks = aligned_networks(network)
        genes = self.networks[0].genes
        self.semantics = semantics or Semantics()
        self.seed = checked_seed(seed)
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
        self.full_signatures = checked_full_signatures(full_signatures, self.signatures)
        self._strongest = binary_direction(self.disease, keep=keep).notna()
        self._dynamics = [Dynamics(each, None, self.semantics.update) for each in self.networks]
        self._places = np.flatnonzero(self.differential.notna())
        self._wanted = self.differential.to_numpy()[self._places]
        self._cases: dict[int, tuple[NDArray[np.int8], NDArray[np.int8]]] = {}
        self._cache = None if cache is None else RewardCache(cache, self.fingerprint)

    def __repr__(self) -> str:
        genes, patients = self.initial.shape
        several = "" if len(self.networks) == 1 else f", {len(self.networks)} networks"
        return f"DrugScreen({len(self.drugs)} drugs, {patients} patients, {genes} genes{several})"

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all that a reward depends on, except its drug and its seed."""
        tables = (self.differential, self.initial, self.signatures)
        parts = [WALKS, repr(self.semantics), *(table.to_csv() for table in tables)]
        parts += [
            f"{gene}={each.functions[gene]!r}" for each in self.networks for gene in each.genes
        ]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

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
        if isinstance(drug, numbers.Integral) and 0 <= int(drug) < len(self.drugs):
            index = int(drug)
        elif drug in self.drugs:
            index = self.drugs.index(str(drug))
        else:
            raise unknown_name("drug", drug, _first_drugs(self.drugs))
        seed = checked_seed(seed)
        known = None if self._cache is None else self._cache.get(self.drugs[index], seed)
        if known is not None:
            return known
        patient, network, walk = run_seeds(seed, 3).tolist()
        states, clamps = self._case(index)
        one = [patient % len(states)]
        dynamics = self._dynamics[network % len(self._dynamics)]
        reward = float(self._scores(dynamics, (index,), states[one], clamps[one], seed=walk)[0, 0])
        if self._cache is not None:
            self._cache.put(self.drugs[index], seed, reward)
        return reward

    def objective(self, trial: Trial) -> float:
        """The reward that a trial of ``study`` asks for: what ``Study.run`` takes."""
        return self.reward(trial.arm, trial.seed)

    # All drugs on all patients

    def simulate(self, repeats: int = 10) -> NDArray[np.float64]:
        """Rewards of every drug on every patient: drugs × patients × walks.

        Parameters
        ----------
        repeats : int
            Walks of each drug, patient and network.
        """
        patients = self.initial.shape[1]
        size = max(1, TOGETHER // (patients * repeats))
        shares = [range(len(self.drugs))[i : i + size] for i in range(0, len(self.drugs), size)]
        rewards = []
        for share in shares:
            states, clamps = map(np.concatenate, zip(*map(self._case, share), strict=True))
            seeds = run_seeds(int(run_seeds(self.seed, 1, share[0])[0]), len(self.networks))
            each = [
                self._scores(dynamics, share, states, clamps, seed=seed, repeats=repeats)
                for dynamics, seed in zip(self._dynamics, seeds.tolist(), strict=True)
            ]
            together = np.concatenate(each, axis=1)
            rewards.append(together.reshape(len(share), patients, -1))
        return np.concatenate(rewards)

    def _case(self, drug: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """Initial states and clamps of all patients under one drug, patients × genes."""
        if drug not in self._cases:
            signature = self.signatures.iloc[:, drug].to_numpy()
            starts = [
                self.semantics.start(self.networks[0], self.initial[patient].to_numpy(), signature)
                for patient in self.initial
            ]
            states, clamps = zip(*starts, strict=True)
            self._cases[drug] = np.stack(states), np.stack(clamps)
        return self._cases[drug]

    def _scores(
        self,
        dynamics: Dynamics,
        drugs: Sequence[int],
        states: NDArray[np.int8],
        clamps: NDArray[np.int8],
        **settings: Any,
    ) -> NDArray[np.float64]:
        """The cosine of D and the last state of walks, cases × walks; 0 if no gene of D is on.

        The cases are as many for each of the drugs; the settings those of ``Dynamics.simulate``.
        """
        most = self.semantics.max_steps
        walks = dynamics.simulate(states, clamps=clamps, max_steps=most, **settings)
        if self.semantics.unsettled == "error" and not walks.reached.all():
            case = int(np.flatnonzero(~walks.reached.all(axis=1))[0])
            drug = self.drugs[drugs[case * len(drugs) // len(states)]]
            raise InvalidSetting(
                f"a walk under {drug!r} met no fixed point in {most} steps, so it has "
                "no score: leave this drug out, use a network in which states settle, or let the last "
                f"state count: {advise('take last states')}."
            )
        on = walks.states[..., self._places].sum(axis=2)
        right = walks.states[..., self._places[self._wanted > 0]].sum(axis=2)
        return np.asarray(right / np.sqrt(self._wanted.sum() * np.maximum(on, 1)))

    def rewards(self, repeats: int = 10) -> pd.DataFrame:
        """Mean rewards, drugs × patients, over ``repeats`` walks of each network.

        Examples
        --------
        >>> from shortlist.repurposing import synthetic
        >>> means = synthetic(seed=1).screen().rewards().mean(axis=1)
        >>> means.round(2)[["reverser 1", "partial 1", "decoy 1"]].to_dict()
        {'reverser 1': 0.76, 'partial 1': 0.31, 'decoy 1': 0.21}
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
        sigma: float | str = SIGMA,
        classical: bool = False,
        algorithm: str | None = None,
        **settings: Any,
    ) -> Study:
        """A study of these drugs with this screen's seed: ``study.run(screen.objective)``.

        Parameters
        ----------
        m : int
            How many drugs to find.
        sigma : float or "bounded"
            The noise. Rewards lie in [0, 1], so 0.5 is proven whatever their distribution; less
            needs a reason. ``"bounded"``, with ``reward_range=(0, 1)`` and ``algorithm="auto"``, adapts to
            how little they vary.
        classical : bool
            Whether to leave the features out: nothing is then assumed of the means.
        algorithm : str, optional
            By default m-LinGapE, and LUCB without features.
        **settings
            Settings of ``Study``: ``delta``, ``epsilon``, ``threshold``, ``S``. The model is that of
            the paper, without an intercept, unless ``intercept=True`` is among them.
        """
        from shortlist.study.study import Study

        arms: dict[str, Any] = {"arms": self.drugs} if classical else {"features": self.features.T}
        chosen = algorithm or ("LUCB" if classical else "m-LinGapE")
        settings = {"intercept": False, **arms, **settings}
        return Study(m=m, sigma=sigma, algorithm=chosen, seed=self.seed, **settings)

    def baseline(self) -> pd.Series[float]:
        """The score of L1000 CDS² (Algorithm 3): drug → 1 − cosine(signature, disease).

        Both on the network's genes, of the disease the strongest (``keep``). It is NaN for a drug
        that has no full signature, or none of these genes in it.
        """
        disease = self.disease[self._strongest].reindex(self.full_signatures.index)
        common = self.full_signatures[disease.notna()].notna().any()
        scores = {
            drug: cds2_score(self.full_signatures[drug], disease) if common[drug] else np.nan
            for drug in self.drugs
        }
        return pd.Series(scores, name="baseline")


def aligned_networks(
    network: BooleanNetwork | Sequence[BooleanNetwork],
) -> tuple[BooleanNetwork, ...]:
    """One or more networks over the same genes, all in the order of the first.

    Examples
    --------
    >>> one, other = BooleanNetwork({"A": "B", "B": "A"}), BooleanNetwork({"B": "A", "A": "1"})
    >>> [each.genes for each in aligned_networks([one, other])]
    [('A', 'B'), ('A', 'B')]
    """
    networks = (network,) if isinstance(network, BooleanNetwork) else tuple(network)
    if not networks:
        raise InvalidNetwork("a screen needs at least one network, got none.")
    for each in networks:
        if not isinstance(each, BooleanNetwork):
            raise InvalidNetwork(
                f"expected a BooleanNetwork, got {type(each).__name__}: read a file with "
                "shortlist.repurposing.read."
            )
    genes = networks[0].genes
    for number, each in enumerate(networks[1:], 2):
        odd = set(genes) ^ set(each.genes)
        if odd:
            raise InvalidNetwork(
                f"networks 1 and {number} of the ensemble do not have the same genes: {min(odd)!r} "
                "is in one of them only."
            )
    return tuple(
        each if each.genes == genes else BooleanNetwork({g: each.functions[g] for g in genes})
        for each in networks
    )


def checked_signatures(signatures: pd.DataFrame, genes: Sequence[str]) -> pd.DataFrame:
    """Binary signatures on the network's genes, every drug with a value for one of them."""
    _check_names(signatures.columns, "the signatures: the drug")
    if signatures.shape[1] < 2:
        raise InvalidExpression(
            f"the signatures: {signatures.shape[1]} drugs; expected at least 2 to choose among."
        )
    values = to_numbers(signatures, "the signatures")
    odd = np.argwhere(~np.isnan(values) & (values != 0.0) & (values != 1.0))
    if len(odd):
        gene, drug = odd[0]
        raise InvalidExpression(
            f"the signatures: gene {signatures.index[gene]!r} is {values[gene, drug]:g} under the "
            f"drug {str(signatures.columns[drug])!r}; expected 0, 1 or nothing. "
            "Binarise them first (binary_direction); real-valued ones are full_signatures."
        )
    names = [str(drug) for drug in signatures.columns]
    table = pd.DataFrame(values, index=signatures.index, columns=names)
    return pd.DataFrame(
        {drug: restrict(table[drug], genes, f"the signature of {drug!r}") for drug in names}
    )


def checked_full_signatures(full: pd.DataFrame | None, signatures: pd.DataFrame) -> pd.DataFrame:
    """Real-valued signatures on the network's genes; by default the binary ones as −1 and 1."""
    if full is None:
        return 2.0 * signatures - 1.0
    _check_names(full.columns, "the full signatures: the drug")
    _check_names(full.index, "the full signatures: the gene")
    names = [str(drug) for drug in full.columns]
    table = pd.DataFrame(to_numbers(full, "the full signatures"), full.index, names)
    if not set(names) & set(signatures.columns):
        raise InvalidExpression(
            f"the full signatures have none of the drugs: theirs are {', '.join(_first_drugs(names, 3))}; "
            f"the signatures have {', '.join(_first_drugs(list(signatures.columns), 3))}."
        )
    return table.reindex(index=signatures.index, columns=signatures.columns)


def checked_features(features: pd.DataFrame | None, signatures: pd.DataFrame) -> pd.DataFrame:
    """Features × drugs, the drugs in order; by default the signatures, with 0.5 for nothing."""
    if features is None:
        return signatures.fillna(0.5)
    _check_names(features.columns, "the features: the drug")
    table = features.set_axis([str(drug) for drug in features.columns], axis=1)
    missing = [drug for drug in signatures.columns if drug not in table]
    if missing:
        raise InvalidFeatures(
            f"{len(missing)} of {signatures.shape[1]} drugs have no features, {missing[0]!r} "
            "first: expected one column per drug and one row per feature. Leave these drugs out of the "
            "signatures, or add their features."
        )
    return table[list(signatures.columns)]


def checked_labels(
    labels: pd.Series[float] | Mapping[str, float] | None, drugs: Sequence[str]
) -> pd.Series[float]:
    """Drug → 1 (works), −1 (does not) or 0 (unknown), for every drug.

    Examples
    --------
    >>> checked_labels({"Diazepam": 1}, ["Dmcm", "Diazepam"]).to_dict()
    {'Dmcm': 0.0, 'Diazepam': 1.0}
    >>> checked_labels({"Diazepan": 1}, ["Dmcm", "Diazepam"])
    Traceback (most recent call last):
        ...
    shortlist.errors.UnknownName: unknown drug in the labels 'Diazepan': did you mean 'Diazepam'? Known: Dmcm, Diazepam.
    """
    by_drug = pd.Series({} if labels is None else labels, dtype=object)
    by_drug.index = by_drug.index.map(str).rename(None)
    _check_names(by_drug.index, "the labels: the drug")
    for drug, label in by_drug.items():
        if drug not in drugs:
            raise unknown_name("drug in the labels", drug, _first_drugs(drugs))
        if not (pd.isna(label) or (isinstance(label, numbers.Real) and label in (-1, 0, 1))):
            raise InvalidExpression(
                f"the labels: the drug {drug!r} has {label!r}; expected 1 (known to work), "
                "-1 (known not to) or 0 (unknown)."
            )
    return by_drug.reindex(list(drugs)).astype(float).fillna(0.0).rename("label")


def _check_names(names: pd.Index, what: str) -> None:
    check_distinct(names.map(str), what, ": rename one")


def _first_drugs(drugs: Sequence[str], most: int = 12) -> list[str]:
    return [*drugs[:most], f"… ({len(drugs)} in all)"] if len(drugs) > most else list(drugs)
