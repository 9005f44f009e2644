"""Figures are closed after every test."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as pyplot
import pytest


@pytest.fixture(autouse=True)
def closed_figures() -> Any:
    yield
    pyplot.close("all")
