"""The bars are the trials."""

from __future__ import annotations

import numpy as np

from drawn_studies import X, study, tell_some, texts
from shortlist import plot


def test_bars_are_the_trials() -> None:
    s = tell_some(study(), 60)
    for trial in (batch := s.ask(9))[:4]:
        s.fail(trial, "broken")
    s.cancel(batch[4])
    (ax,) = plot.pulls(s).axes
    order = np.argsort(-s.table()["mean"].to_numpy(), kind="stable")
    bars = {each.get_label(): each for each in ax.containers}
    assert list(bars) == ["told", "pending", "failed"]
    for state, container in bars.items():
        counts = np.bincount([t.arm for t in s.trials if t.state == state], minlength=len(X))
        assert container.datavalues.tolist() == counts[order].tolist()
    assert bars["told"].datavalues.tolist() == s.table()["pulls"].to_numpy()[order].tolist()
    assert all(patch.get_hatch() for patch in bars["pending"])
    starts = [patch.get_x() for patch in bars["pending"]]
    assert starts == bars["told"].datavalues.tolist()
    assert "Pending: 4 (hatched). Failed: 4" in texts(ax.figure)
