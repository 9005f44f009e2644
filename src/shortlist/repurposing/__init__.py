"""Boolean networks, expression data and drug screens: the paper's application (Appendix B)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shortlist.repurposing.expression.assay import rename_genes
    from shortlist.repurposing.expression.l1000 import read_selection, select_profiles
    from shortlist.repurposing.expression.profiles import (
        binarize_via_histogram,
        cds2_score,
        cosine_score,
        mask,
        quantile_normalize,
        restrict,
    )
    from shortlist.repurposing.expression.readers import read_expression
    from shortlist.repurposing.expression.signatures import (
        binary_direction,
        characteristic_direction,
    )
    from shortlist.repurposing.networks.abstract_network import AbstractNetwork
    from shortlist.repurposing.networks.attractors import Attractor, attractors, module_attractors
    from shortlist.repurposing.networks.dynamics import Dynamics, Walk, Walks, walk
    from shortlist.repurposing.networks.experiment import Experiment, replay
    from shortlist.repurposing.networks.fixed_points import (
        all_fixed_points,
        count_fixed_points,
        reachable_fixed_points,
    )
    from shortlist.repurposing.networks.formats import read, read_abstract, write
    from shortlist.repurposing.networks.formats.rein import read_experiments
    from shortlist.repurposing.networks.inference import Inferred, edge_distances, infer
    from shortlist.repurposing.networks.interactions import (
        Interaction,
        SignedInteraction,
        candidate_network,
        read_string,
        sign_interactions,
    )
    from shortlist.repurposing.networks.network import BooleanNetwork
    from shortlist.repurposing.networks.regulation import Regulation
    from shortlist.repurposing.outcome import Outcome, auc, hit_rate
    from shortlist.repurposing.phenotype import Semantics, predict_phenotype
    from shortlist.repurposing.screen import DrugScreen
    from shortlist.repurposing.synthetic_data import synthetic

# Loaded on first use: whoever works with networks alone does not pay for pandas.
_NAMES = {
    "expression.assay": ("rename_genes",),
    "expression.l1000": ("read_selection", "select_profiles"),
    "expression.profiles": (
        "binarize_via_histogram", "cds2_score", "cosine_score", "mask", "quantile_normalize",
        "restrict",
    ),
    "expression.readers": ("read_expression",),
    "expression.signatures": ("binary_direction", "characteristic_direction"),
    "networks.abstract_network": ("AbstractNetwork",),
    "networks.attractors": ("Attractor", "attractors", "module_attractors"),
    "networks.dynamics": ("Dynamics", "Walk", "Walks", "walk"),
    "networks.experiment": ("Experiment", "replay"),
    "networks.fixed_points": ("all_fixed_points", "count_fixed_points", "reachable_fixed_points"),
    "networks.formats": ("read", "read_abstract", "write"),
    "networks.formats.rein": ("read_experiments",),
    "networks.inference": ("Inferred", "edge_distances", "infer"),
    "networks.interactions": (
        "Interaction", "SignedInteraction", "candidate_network", "read_string", "sign_interactions",
    ),
    "networks.network": ("BooleanNetwork",),
    "networks.regulation": ("Regulation",),
    "outcome": ("Outcome", "auc", "hit_rate"),
    "phenotype": ("Semantics", "predict_phenotype"),
    "screen": ("DrugScreen",),
    "synthetic_data": ("synthetic",),
}  # fmt: skip
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "AbstractNetwork", "Attractor", "BooleanNetwork", "DrugScreen", "Dynamics", "Experiment",
    "Inferred", "Interaction", "Outcome", "Regulation", "Semantics", "SignedInteraction", "Walk",
    "Walks", "all_fixed_points", "attractors", "auc", "binarize_via_histogram", "binary_direction",
    "candidate_network", "cds2_score", "characteristic_direction", "cosine_score",
    "count_fixed_points", "edge_distances", "hit_rate", "infer", "mask", "module_attractors",
    "predict_phenotype", "quantile_normalize", "reachable_fixed_points", "read", "read_abstract",
    "read_experiments", "read_expression", "read_selection", "read_string", "rename_genes",
    "replay", "restrict", "select_profiles", "sign_interactions", "synthetic", "walk", "write",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'shortlist.repurposing' has no attribute {name!r}")
    return getattr(importlib.import_module(f"shortlist.repurposing.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
