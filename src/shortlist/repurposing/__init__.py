"""Boolean networks, expression data and drug screens: the paper's application (Appendix B)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shortlist.repurposing.abstract_network import AbstractNetwork as AbstractNetwork
    from shortlist.repurposing.baseline import auc as auc
    from shortlist.repurposing.baseline import cds2_score as cds2_score
    from shortlist.repurposing.baseline import hit_rate as hit_rate
    from shortlist.repurposing.basins import Attractor as Attractor
    from shortlist.repurposing.basins import attractors as attractors
    from shortlist.repurposing.basins import module_attractors as module_attractors
    from shortlist.repurposing.binarization import binarize_via_histogram as binarize_via_histogram
    from shortlist.repurposing.direction import binary_direction as binary_direction
    from shortlist.repurposing.direction import characteristic_direction as characteristic_direction
    from shortlist.repurposing.dynamics import Dynamics as Dynamics
    from shortlist.repurposing.dynamics import Walk as Walk
    from shortlist.repurposing.dynamics import Walks as Walks
    from shortlist.repurposing.dynamics import walk as walk
    from shortlist.repurposing.experiments import Experiment as Experiment
    from shortlist.repurposing.expression import cosine_score as cosine_score
    from shortlist.repurposing.expression import mask as mask
    from shortlist.repurposing.expression import quantile_normalize as quantile_normalize
    from shortlist.repurposing.expression import restrict as restrict
    from shortlist.repurposing.fixed_points import all_fixed_points as all_fixed_points
    from shortlist.repurposing.fixed_points import count_fixed_points as count_fixed_points
    from shortlist.repurposing.fixed_points import reachable_fixed_points as reachable_fixed_points
    from shortlist.repurposing.formats import read as read
    from shortlist.repurposing.formats import read_abstract as read_abstract
    from shortlist.repurposing.formats import write as write
    from shortlist.repurposing.inference import Inferred as Inferred
    from shortlist.repurposing.inference import edge_distances as edge_distances
    from shortlist.repurposing.inference import infer as infer
    from shortlist.repurposing.interactions import SignedInteraction as SignedInteraction
    from shortlist.repurposing.interactions import candidate_network as candidate_network
    from shortlist.repurposing.interactions import sign_interactions as sign_interactions
    from shortlist.repurposing.l1000 import read_selection as read_selection
    from shortlist.repurposing.l1000 import select_profiles as select_profiles
    from shortlist.repurposing.network import BooleanNetwork as BooleanNetwork
    from shortlist.repurposing.outcome import Outcome as Outcome
    from shortlist.repurposing.phenotype import Semantics as Semantics
    from shortlist.repurposing.phenotype import predict_phenotype as predict_phenotype
    from shortlist.repurposing.readers import read_expression as read_expression
    from shortlist.repurposing.readers import rename_genes as rename_genes
    from shortlist.repurposing.regulation import Regulation as Regulation
    from shortlist.repurposing.screen import DrugScreen as DrugScreen
    from shortlist.repurposing.specification import read_experiments as read_experiments
    from shortlist.repurposing.string_database import Interaction as Interaction
    from shortlist.repurposing.string_database import read_string as read_string
    from shortlist.repurposing.synthetic_data import synthetic as synthetic
    from shortlist.repurposing.trajectory import replay as replay

# Loaded on first use: who works with networks alone does not pay for pandas.
_HOMES = {
    "AbstractNetwork": "abstract_network",
    "Attractor": "basins",
    "BooleanNetwork": "network",
    "DrugScreen": "screen",
    "Dynamics": "dynamics",
    "Experiment": "experiments",
    "Inferred": "inference",
    "Interaction": "string_database",
    "Outcome": "outcome",
    "Regulation": "regulation",
    "Semantics": "phenotype",
    "SignedInteraction": "interactions",
    "Walk": "dynamics",
    "Walks": "dynamics",
    "all_fixed_points": "fixed_points",
    "attractors": "basins",
    "auc": "baseline",
    "binarize_via_histogram": "binarization",
    "binary_direction": "direction",
    "candidate_network": "interactions",
    "cds2_score": "baseline",
    "characteristic_direction": "direction",
    "cosine_score": "expression",
    "count_fixed_points": "fixed_points",
    "edge_distances": "inference",
    "hit_rate": "baseline",
    "infer": "inference",
    "mask": "expression",
    "module_attractors": "basins",
    "predict_phenotype": "phenotype",
    "quantile_normalize": "expression",
    "reachable_fixed_points": "fixed_points",
    "read": "formats",
    "read_abstract": "formats",
    "read_experiments": "specification",
    "read_expression": "readers",
    "read_selection": "l1000",
    "read_string": "string_database",
    "rename_genes": "readers",
    "replay": "trajectory",
    "restrict": "expression",
    "select_profiles": "l1000",
    "sign_interactions": "interactions",
    "synthetic": "synthetic_data",
    "walk": "dynamics",
    "write": "formats",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'shortlist.repurposing' has no attribute {name!r}")
    return getattr(importlib.import_module(f"shortlist.repurposing.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
