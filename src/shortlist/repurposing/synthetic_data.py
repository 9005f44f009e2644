"""A whole data set made by code, with a planted truth: for a demo, for tests, for a first try."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.random import Generator

from shortlist.errors import InvalidSetting
from shortlist.files.writing import make_folder, write_file
from shortlist.problem import checked_seed
from shortlist.repurposing.networks.formats import write
from shortlist.repurposing.networks.network import BooleanNetwork
from shortlist.repurposing.screen import DrugScreen

UP, DOWN = 2, 4  # targets of a switch; with its two genes, as many are on as off in either state
CONSTANTS = 8  # genes that nothing moves
OFF, ON, SPREAD = 4.0, 9.0, 0.6  # expression levels
SICK = 0.85  # the share of a patient's modules that are diseased
KINDS = ("decoy", "partial", "inert", "aggravator")


class Module(NamedTuple):
    """A switch of two genes that hold each other on or off, and the genes that follow it."""

    switch: tuple[str, str]
    up: tuple[str, ...]
    down: tuple[str, ...]
    healthy: int  # the value of the switch in health; in disease it is the other

    @property
    def genes(self) -> tuple[str, ...]:
        """All genes of the module, the switch first."""
        return self.switch + self.up + self.down

    def state(self, switch: int) -> dict[str, int]:
        """The module's fixed point with the switch on or off."""
        return dict.fromkeys(self.switch + self.up, switch) | dict.fromkeys(self.down, 1 - switch)


@dataclass(frozen=True, eq=False)
class DataSet:
    """What a screen needs; see ``DrugScreen`` for each of these."""

    networks: tuple[BooleanNetwork, ...]
    patients: pd.DataFrame
    controls: pd.DataFrame
    signatures: pd.DataFrame
    full_signatures: pd.DataFrame
    features: pd.DataFrame
    labels: pd.Series[float]

    def screen(self, **settings: Any) -> DrugScreen:
        """The screen of this data; what is passed takes the place of what is here."""
        own = {
            "features": self.features,
            "full_signatures": self.full_signatures,
            "labels": self.labels,
        }
        return DrugScreen(
            self.networks, self.patients, self.controls, self.signatures, **(own | settings)
        )

    def write(self, folder: str | PathLike[str]) -> list[Path]:
        """Write the data as files that ``shortlist repurpose`` reads; return their paths."""
        folder = make_folder(folder)
        paths = []
        for number, network in enumerate(self.networks, 1):
            paths.append(folder / f"network{number}.bnet")
            write(network, paths[-1])
        tables = ("patients", "controls", "signatures", "full_signatures", "features")
        texts = {name: getattr(self, name).to_csv(index_label="gene") for name in tables}
        texts["labels"] = self.labels.to_csv(header=["label"], index_label="drug")
        return paths + [write_file(folder / f"{k}.csv", v.encode()) for k, v in texts.items()]


def synthetic(
    *,
    drugs: int = 20,
    m: int = 5,
    modules: int = 8,
    patients: int = 12,
    controls: int = 12,
    networks: int = 1,
    background: int = 2000,
    seed: int = 0,
) -> DataSet:
    """A data set with a planted truth: ``m`` drugs that reverse the disease, and others.

    The network consists of modules. Each is a switch, two genes that hold each other on or off,
    and genes that follow it. In a patient most switches are turned over; in a control none is. A
    drug is one of these:

    - a *reverser* sets the switches of all modules but one or two back to health: its signature
      touches few genes, and the network carries them to the rest. These are the ``m`` best;
    - a *partial* drug does so in fewer than half of the modules;
    - a *decoy* sets the genes that follow, all of them, to health and leaves the switches alone:
      by its signature it reverses the disease best, but the network undoes it;
    - an *inert* drug sets genes that affect no others;
    - an *aggravator* sets fewer than half of the switches to disease.

    The decoys are there so that the network matters. That the screen beats the baseline on this
    data is by construction: it shows that the parts work together, but nothing about real drugs.

    Parameters
    ----------
    drugs, m : int
        How many, and how many of them are reversers.
    modules : int
        The modules of the network, at least 5.
    patients, controls : int
        Samples.
    networks : int
        If more than one, an ensemble: in each further network a tenth of the followers follow
        another switch.
    background : int
        Genes outside the network; their histogram is what a profile is binarised by.
    seed : int
        The data depends on it and on nothing else.

    Examples
    --------
    >>> data = synthetic(seed=1)
    >>> data.networks
    (BooleanNetwork(72 genes, 64 edges),)
    >>> data.signatures.shape, int((data.labels > 0).sum())
    ((72, 20), 5)
    """
    for name, value, least in (
        ("m", m, 1),
        ("drugs", drugs, m + 1),
        ("modules", modules, 5),
        ("patients", patients, 2),
        ("controls", controls, 2),
        ("networks", networks, 1),
        ("background", background, 200),
    ):
        if value < least:
            raise InvalidSetting(f"{name} must be at least {least}, got {value}.")
    rng = np.random.default_rng(checked_seed(seed))
    parts = [_module(number, int(rng.integers(2))) for number in range(1, modules + 1)]
    constants = {f"C{i}": i % 2 for i in range(1, CONSTANTS + 1)}
    ensemble = tuple(_network(parts, constants, k, rng) for k in range(networks))
    sick = rng.random((patients, modules)) < SICK
    well = np.zeros((controls, modules), dtype=bool)
    names = [f"B{i}" for i in range(1, background + 1)]
    levels = rng.random(background) < 0.5
    binary, real = _signatures(parts, constants, drugs, m, rng)
    return DataSet(
        networks=ensemble,
        patients=_expression(parts, constants, sick, "patient", names, levels, rng),
        controls=_expression(parts, constants, well, "control", names, levels, rng),
        signatures=binary,
        full_signatures=real,
        features=_switch_features(parts, binary),
        labels=pd.Series(
            {drug: 1.0 if drug.startswith("reverser") else -1.0 for drug in binary.columns}
        ),
    )


def _module(number: int, healthy: int) -> Module:
    targets = [f"M{number}T{i}" for i in range(1, UP + DOWN + 1)]
    return Module((f"M{number}A", f"M{number}B"), tuple(targets[:UP]), tuple(targets[UP:]), healthy)


def _network(
    parts: Sequence[Module], constants: dict[str, int], variant: int, rng: Generator
) -> BooleanNetwork:
    functions: dict[str, str] = {}
    for part in parts:
        a, b = part.switch
        functions |= {a: b, b: a}
        for i, gene in enumerate(part.up + part.down):
            source = part
            if variant and rng.random() < 0.1:
                source = parts[int(rng.integers(len(parts)))]
            regulator = source.switch[i % 2]
            functions[gene] = regulator if gene in part.up else f"!{regulator}"
    return BooleanNetwork(functions | {gene: str(value) for gene, value in constants.items()})


def _expression(
    parts: Sequence[Module],
    constants: dict[str, int],
    sick: np.ndarray,
    what: str,
    names: Sequence[str],
    levels: np.ndarray,
    rng: Generator,
) -> pd.DataFrame:
    """Expression with every gene near one of two levels, genes × samples."""
    columns = {}
    for sample, modules in enumerate(sick, 1):
        state = dict(constants)
        for part, diseased in zip(parts, modules, strict=True):
            state |= part.state(1 - part.healthy if diseased else part.healthy)
        bits = np.concatenate([list(state.values()), levels])
        columns[f"{what} {sample}"] = np.where(bits, ON, OFF) + SPREAD * rng.standard_normal(
            len(bits)
        )
    genes = [*constants, *(gene for part in parts for gene in part.genes), *names]
    return pd.DataFrame(columns, index=genes)


def _signatures(
    parts: Sequence[Module], constants: dict[str, int], drugs: int, m: int, rng: Generator
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Binary and real-valued signatures, genes × drugs, the drugs in random order."""
    kinds = ["reverser"] * m + [KINDS[i % len(KINDS)] for i in range(drugs - m)]
    seen: dict[str, int] = {}
    binary = {}
    for kind in kinds:
        seen[kind] = seen.get(kind, 0) + 1
        binary[f"{kind} {seen[kind]}"] = _signature(kind, parts, constants, rng)
    genes = [*(gene for part in parts for gene in part.genes), *constants]
    order = rng.permutation(drugs)
    table = pd.DataFrame(binary, dtype=float).reindex(genes).iloc[:, order]
    sign = (2.0 * table - 1.0).fillna(0.0)
    strength = rng.normal(1.0, 0.2, table.shape)
    real = sign * strength + 0.15 * rng.standard_normal(table.shape)
    return table, real / np.linalg.norm(real, axis=0)


def _signature(
    kind: str, parts: Sequence[Module], constants: dict[str, int], rng: Generator
) -> dict[str, int]:
    """The genes that a drug sets. Some bystanders are set at random: the network resets them."""
    values: dict[str, int] = {}
    for part in parts:
        for gene in part.up + part.down:
            if kind == "decoy":
                values[gene] = part.state(part.healthy)[gene]
            elif rng.random() < 0.1:
                values[gene] = int(rng.integers(2))
    for gene in rng.permutation(list(constants))[: CONSTANTS // 2].tolist():
        values[gene] = int(rng.integers(2))
    count = 0
    if kind == "reverser":
        count = len(parts) - 1 - int(rng.integers(2))
    elif kind in ("partial", "aggravator"):
        count = 1 + int(rng.integers(len(parts) // 2 - 1))
    for i in rng.permutation(len(parts))[:count]:
        part = parts[i]
        healthy = part.healthy if kind != "aggravator" else 1 - part.healthy
        values |= dict.fromkeys(part.switch, healthy)
    return values


def _switch_features(parts: Sequence[Module], binary: pd.DataFrame) -> pd.DataFrame:
    """The effect of each drug on each switch, from −1 (off) to 1 (on), and a constant."""
    signed = (2.0 * binary - 1.0).fillna(0.0)
    rows = {f"switch {i}": signed.loc[list(part.switch)].mean() for i, part in enumerate(parts, 1)}
    return pd.DataFrame(rows | {"constant": 1.0}).T
