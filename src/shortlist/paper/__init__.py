"""The paper's experiments as data, and one call that runs them again."""

from __future__ import annotations

from shortlist.paper.experiments import EXPERIMENTS
from shortlist.paper.reproduction import reproduce

__all__ = ["EXPERIMENTS", "reproduce"]
