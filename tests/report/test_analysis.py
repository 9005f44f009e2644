"""What takes long is computed once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import matplotlib.pyplot as pyplot
import pytest

from report_pages import played
from shortlist import report
from shortlist.report import analysis, pictures
from shortlist.study.insight import history as histories


@pytest.mark.slow
def test_what_takes_long_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()

    def counted(module: Any, name: str) -> None:
        original = getattr(module, name)

        def call(*args: Any, **more: Any) -> Any:
            calls[name] += 1
            return original(*args, **more)

        monkeypatch.setattr(module, name, call)

    for module in (analysis, histories):
        counted(module, "history")
    counted(analysis, "examine")
    counted(analysis, "remaining")
    study = played()
    study.tell(arm=0, value=0.0)
    monkeypatch.setattr(pictures, "picture", lambda draw, label: (pyplot.close(draw()), ""))
    report.html(study)
    assert calls == {"history": 1, "examine": 1, "remaining": 1}
